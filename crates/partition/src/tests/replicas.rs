//! Groups of three: the same code with more voters.

use super::*;

/// Three replicas of one partition; messages and fsyncs take no time, but a replica can be cut off.
struct Cluster {
    replicas: Vec<Partition>,
    cut_off: Vec<bool>,
    committed: Vec<Vec<CommitToken>>,
    lost: Vec<Vec<CommitToken>>,
    codec: Codec,
    clock: u64,
}

impl Cluster {
    fn new() -> Cluster {
        let replica = |id| {
            let config = PartitionConfig { replica: id, voters: vec![1, 2, 3], ..single(1 << 30) };
            let mut partition = Partition::new(config);
            partition.start().unwrap();
            partition
        };
        Cluster {
            replicas: (1..=3).map(replica).collect(),
            cut_off: vec![false; 3],
            committed: vec![Vec::new(); 3],
            lost: vec![Vec::new(); 3],
            codec: Codec::new(&schema(IndexMethod::BTree)),
            clock: 1,
        }
    }

    /// Persists and delivers until nothing moves.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for from in 0..3 {
                let replica = &mut self.replicas[from];
                let outputs = replica.outputs();
                let number = outputs.number;
                let must_persist = outputs.must_persist();
                outputs.append.clear();
                outputs.hard_state = None;
                if must_persist {
                    replica.persisted(number).unwrap();
                }
                let outputs = replica.outputs();
                self.committed[from].append(&mut outputs.committed);
                self.lost[from].append(&mut outputs.lost);
                let messages: Vec<_> =
                    outputs.messages.drain(..).chain(outputs.messages_after_persist.drain(..)).collect();
                moved |= must_persist || !messages.is_empty();
                for message in messages {
                    let to = message.to as usize - 1;
                    if !self.cut_off[from] && !self.cut_off[to] {
                        self.replicas[to].step_message(message).unwrap();
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Time passes until one replica that is not cut off leads.
    fn elect(&mut self) -> usize {
        for _ in 0..200 {
            for replica in &mut self.replicas {
                replica.tick().unwrap();
            }
            self.settle();
            let leads = |id: &usize| self.replicas[*id].is_leader() && !self.cut_off[*id];
            if let Some(leader) = (0..3).find(leads) {
                return leader;
            }
        }
        panic!("no leader after 200 ticks");
    }

    fn insert(&mut self, at: usize, transaction: u64, row: &TestRow) {
        let bytes = self.codec.encode(row);
        let transaction = TransactionId(transaction);
        assert!(self.replicas[at].insert(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
        self.clock += 1;
        let start =
            self.replicas[at].propose_commit(transaction, Timestamp(self.clock), CommitToken(transaction.0));
        assert_eq!(start.unwrap(), CommitStart::Proposed);
    }
}

#[test]
fn followers_apply_what_the_leader_commits() {
    let mut cluster = Cluster::new();
    let leader = cluster.elect();
    let schema = Arc::new(schema(IndexMethod::BTree));
    cluster.replicas[leader].create_fragment(schema, CommitToken(1)).unwrap();
    cluster.settle();
    for id in 0..20 {
        cluster.insert(leader, 100 + id as u64, &row(id, id));
    }
    cluster.settle();
    assert_eq!(cluster.committed[leader].len(), 21);
    // The commit index travels with the next heartbeat.
    cluster.elect();
    for _ in 0..4 {
        for replica in &mut cluster.replicas {
            replica.tick().unwrap();
        }
        cluster.settle();
    }
    let expected: Vec<TestRow> = (0..20).map(|id| row(id, id)).collect();
    for replica in &mut cluster.replicas {
        assert_eq!(all_rows(replica), expected);
        assert_eq!(replica.activity(), Activity { old_versions: 0, ..Activity::default() });
    }
}

#[test]
fn a_proposal_that_only_a_deposed_leader_had_is_lost_and_rolled_back() {
    let mut cluster = Cluster::new();
    let old_leader = cluster.elect();
    let schema = Arc::new(schema(IndexMethod::BTree));
    cluster.replicas[old_leader].create_fragment(schema, CommitToken(1)).unwrap();
    cluster.settle();

    cluster.cut_off[old_leader] = true;
    cluster.insert(old_leader, 50, &row(1, 1));
    cluster.settle();
    let new_leader = cluster.elect();
    assert_ne!(new_leader, old_leader);
    cluster.insert(new_leader, 60, &row(2, 2));
    cluster.settle();
    assert_eq!(cluster.committed[new_leader], [CommitToken(60)]);

    cluster.cut_off[old_leader] = false;
    for _ in 0..6 {
        for replica in &mut cluster.replicas {
            replica.tick().unwrap();
        }
        cluster.settle();
    }
    assert_eq!(cluster.lost[old_leader], [CommitToken(50)]);
    assert_eq!(all_rows(&mut cluster.replicas[old_leader]), [row(2, 2)]);
    let activity = cluster.replicas[old_leader].activity();
    assert_eq!((activity.transactions, activity.row_locks), (0, 0));
    let bytes = cluster.replicas[old_leader].usage(TABLE).unwrap().bytes;
    assert_eq!(cluster.replicas[old_leader].config().budget.used_bytes(), bytes);
}

#[test]
fn a_follower_refuses_proposals_and_answers_read_index_through_the_leader() {
    let mut cluster = Cluster::new();
    let leader = cluster.elect();
    let follower = (leader + 1) % 3;
    let schema = Arc::new(schema(IndexMethod::BTree));
    assert!(cluster.replicas[follower].create_fragment(schema.clone(), CommitToken(1)).is_err());
    cluster.replicas[leader].create_fragment(schema, CommitToken(1)).unwrap();
    cluster.settle();
    cluster.replicas[follower].read_index(b"who".to_vec()).unwrap();
    cluster.settle();
    let states = std::mem::take(&mut cluster.replicas[follower].outputs().read_states);
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].context, b"who");
    assert_eq!(states[0].index, cluster.replicas[leader].applied_index());
}
