//! What transactions have left behind whose coordinators, or whose links, are gone; without I/O.
//!
//! - One that has neither prepared nor begun to commit ([`Resolver::orphans`]): its coordinator is asked whether it still runs. It is
//!   rolled back if that says no, or is not reached: work that waited here when the last way to its coordinator was lost may have begun
//!   the transaction again behind the roll back.
//! - A prepared one that waits for a decision ([`Resolver::in_doubt`]): its home is asked, and what that answers is decided
//!   ([`decision_learnt`]). A participant that has committed tells the home so.
//! - A decision at its home that somebody has not confirmed ([`Resolver::undelivered`]): the participants are told again, the coordinator
//!   is asked whether it still runs. What everybody has confirmed is forgotten (`Partition::propose_forget`).
//!
//! All of this is for the caller to begin from time to time, for the partitions that it serves: only what was there the time before is
//! seen to, since nearly everything settles by itself as long as its coordinator is reached. Each step may be repeated, and may stop anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use shoal_partition::{Decision, HomeOutcome, Partition, Unconfirmed};
use shoal_planted::{Bug, is_planted};
use shoal_types::{NodeId, PartitionId, TransactionId};

/// A transaction that is prepared in a partition, and the home that decides about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InDoubt {
    /// Where it is prepared.
    pub partition: PartitionId,
    /// Which one.
    pub transaction: TransactionId,
    /// Who decides.
    pub home: PartitionId,
}

/// Transactions that have been here for a while, and have neither prepared nor begun to commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Their coordinators are to be asked whether they still run.
    pub doubtful: Vec<TransactionId>,
    /// Their coordinators are not reached: they are to be rolled back.
    pub lost: Vec<TransactionId>,
}

/// A decision that the home has not had confirmed by all.
#[derive(Clone, Debug)]
pub struct Undelivered {
    /// Who has decided.
    pub home: PartitionId,
    /// What, and who has not confirmed it.
    pub decision: Unconfirmed,
}

/// What the rounds before have found.
#[derive(Default)]
pub struct Resolver {
    active: BTreeSet<TransactionId>,
    in_doubt: BTreeSet<InDoubt>,
    undelivered: BTreeSet<(PartitionId, TransactionId)>,
}

impl Resolver {
    /// Transactions of these nodes (`is_of`) that have neither prepared nor begun to commit in partitions that are served here. To be
    /// called with all those partitions, one after the other.
    pub fn orphans<P: Deref<Target = Partition>>(
        &mut self,
        partitions: impl Iterator<Item = P>,
        is_of: impl Fn(NodeId) -> bool,
        is_reached: impl Fn(NodeId) -> bool,
    ) -> Orphans {
        let mut found = BTreeSet::new();
        for partition in partitions {
            found.extend(
                partition.active_transactions().into_iter().filter(|transaction| is_of(transaction.node())),
            );
        }
        let before = std::mem::replace(&mut self.active, found);
        let orphans = self.active.intersection(&before).copied();
        let (doubtful, lost) = orphans.partition(|transaction| is_reached(transaction.node()));
        Orphans { doubtful, lost }
    }

    /// Prepared transactions whose homes are to be asked: at once where the coordinator's node is none of those that are reached, as it
    /// tells nobody of its decision.
    pub fn in_doubt<P: Deref<Target = Partition>>(
        &mut self,
        partitions: impl Iterator<Item = P>,
        is_reached: impl Fn(NodeId) -> bool,
    ) -> Vec<InDoubt> {
        let mut found = BTreeSet::new();
        for partition in partitions {
            let id = partition.config().id;
            let in_doubt = partition.in_doubt().into_iter();
            found.extend(in_doubt.map(|(transaction, home)| InDoubt { partition: id, transaction, home }));
        }
        let before = std::mem::replace(&mut self.in_doubt, found);
        let is_due = |one: &&InDoubt| before.contains(one) || !is_reached(one.transaction.node());
        self.in_doubt.iter().filter(is_due).copied().collect()
    }

    /// Decisions that participants are to be told again.
    pub fn undelivered<P: Deref<Target = Partition>>(
        &mut self,
        partitions: impl Iterator<Item = P>,
    ) -> Vec<Undelivered> {
        let mut found = Vec::new();
        for partition in partitions {
            let home = partition.config().id;
            found.extend(partition.unconfirmed().into_iter().map(|decision| Undelivered { home, decision }));
        }
        let keys = found.iter().map(|one| (one.home, one.decision.transaction)).collect();
        let before = std::mem::replace(&mut self.undelivered, keys);
        found.retain(|one| before.contains(&(one.home, one.decision.transaction)));
        found
    }
}

/// Transactions by their coordinators' nodes, each once.
pub fn by_coordinator(
    transactions: impl IntoIterator<Item = TransactionId>,
) -> BTreeMap<NodeId, BTreeSet<TransactionId>> {
    let mut by_node: BTreeMap<NodeId, BTreeSet<TransactionId>> = BTreeMap::new();
    for transaction in transactions {
        by_node.entry(transaction.node()).or_default().insert(transaction);
    }
    by_node
}

/// What a participant in doubt decides when its home has answered so. `None`: nothing yet.
pub fn decision_learnt(outcome: HomeOutcome) -> Option<Decision> {
    match outcome {
        HomeOutcome::Committed(timestamp) => Some(Decision::Commit(timestamp)),
        HomeOutcome::Aborted => Some(Decision::Abort),
        HomeOutcome::InFlight => is_planted(Bug::TakeInFlightForAborted).then_some(Decision::Abort),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shoal_partition::{CommitToken, MemoryBudget, PartitionConfig, Step, WaitToken};
    use shoal_types::row::RowLayout;
    use shoal_types::schema::TableOptions;
    use shoal_types::{
        BaseType, Collation, Column, Index, IndexId, IndexMethod, SqlType, TableId, TableSchema, TimeZone,
        Timestamp, Value,
    };

    use super::*;
    use crate::{End, PartHere, propose_end};

    const TRANSACTION: TransactionId = TransactionId(2 << 52 | 7);

    fn partition() -> Partition {
        let budget = Arc::new(MemoryBudget::new(1 << 20));
        let mut partition = Partition::new(PartitionConfig::single(PartitionId(0), budget));
        partition.start().unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        partition
    }

    #[test]
    fn only_what_was_there_the_time_before_is_asked_about() {
        let mut partition = partition();
        let mut resolver = Resolver::default();
        let mut orphans = |partition: &Partition| {
            let orphans = resolver.orphans(std::iter::once(partition), |_| true, |_| true);
            assert_eq!(orphans.lost, []);
            orphans.doubtful
        };
        assert_eq!(orphans(&partition), []);
        partition.join(TRANSACTION).unwrap();
        assert_eq!(orphans(&partition), []);
        assert_eq!(orphans(&partition), [TRANSACTION]);
        partition.rollback(TRANSACTION);
        assert_eq!(orphans(&partition), []);
        assert_eq!(by_coordinator([TRANSACTION]).into_keys().collect::<Vec<_>>(), [NodeId(2)]);
    }

    /// Its node was left out of those that are asked, and its locks were held until it came back.
    #[test]
    fn what_is_left_of_a_node_that_is_not_reached_is_lost() {
        let mut partition = partition();
        let mut resolver = Resolver::default();
        partition.join(TRANSACTION).unwrap();
        let mut orphans = |me, reached| {
            let partition = std::iter::once(&partition);
            resolver.orphans(partition, |node| node != NodeId(me), |node| node == NodeId(reached))
        };
        assert_eq!(orphans(1, 3), Orphans::default());
        assert_eq!(orphans(1, 3), Orphans { lost: vec![TRANSACTION], ..Orphans::default() });
        assert_eq!(orphans(1, 2), Orphans { doubtful: vec![TRANSACTION], ..Orphans::default() });
        // It knows of its own what it does.
        assert_eq!(orphans(2, 3), Orphans::default());
    }

    /// Everybody who read what such a transaction had written once waited for a quarter of a second more.
    #[test]
    fn what_a_node_has_prepared_that_is_not_reached_is_asked_about_at_once() {
        let mut partition = partition();
        let column = Column::new("id", SqlType::new(BaseType::Int));
        let schema = TableSchema {
            id: TableId(1),
            version: 1,
            database: "d".into(),
            name: "t".into(),
            columns: vec![Column { nullable: false, ..column }],
            indexes: vec![Index::new(IndexId(0), "PRIMARY", &[0], true, IndexMethod::BTree)],
            partition_columns: vec![0],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            past_rows: Vec::new(),
            options: TableOptions::new("NDB", Collation::default()),
        };
        let mut row = Vec::new();
        RowLayout::new(vec![SqlType::new(BaseType::Int)])
            .encode(&[Value::Int(1)], &TimeZone::UTC, &mut row)
            .unwrap();
        partition.create_fragment(Arc::new(schema), CommitToken(0)).unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        partition.join(TRANSACTION).unwrap();
        assert!(matches!(partition.insert(TRANSACTION, TableId(1), &row, WaitToken(0)), Ok(Step::Ready(_))));
        partition.propose_prepare(TRANSACTION, PartitionId(1), Timestamp(1 << 20), 1, CommitToken(1)).unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        let expected = InDoubt { partition: PartitionId(0), transaction: TRANSACTION, home: PartitionId(1) };
        let mut resolver = Resolver::default();
        assert_eq!(resolver.in_doubt(std::iter::once(&partition), |_| true), []);
        assert_eq!(resolver.in_doubt(std::iter::once(&partition), |_| true), [expected]);
        assert_eq!(
            Resolver::default().in_doubt(std::iter::once(&partition), |node| node != NodeId(2)),
            [expected]
        );
    }

    #[test]
    fn a_part_that_is_not_what_its_coordinator_takes_it_for_is_not_ended() {
        let mut partition = partition();
        partition.join(TRANSACTION).unwrap();
        let term = partition.term();
        let mut end = |term, writes| {
            let part = PartHere { transaction: TRANSACTION, term, writes };
            propose_end(&mut partition, part, End::Commit, Timestamp(1 << 20), CommitToken(1)).unwrap()
        };
        assert!(end(term, 1).is_none(), "a write is missing");
        assert!(end(term + 1, 0).is_none(), "another leader staged it");
        assert!(end(term, 0).is_some());
    }
}
