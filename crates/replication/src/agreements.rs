//! What the voters of partitions agree on when a crash may have taken what they had promised: see `shoal_partition::Agreement`.

use std::collections::BTreeMap;

use shoal_partition::{Agreement, Incarnation, Partition, ReplicaReport};
use shoal_planted::{Bug, is_planted};
use shoal_types::Result;

/// The agreements that a node knows of, this process among those who have made them.
#[derive(Default)]
pub struct Agreements {
    known: BTreeMap<u32, Agreement>,
}

impl Agreements {
    /// All of them, by partition, to be told to the other nodes.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Agreement)> {
        self.known.iter().map(|(&partition, agreement)| (partition, agreement))
    }

    /// The newest one of a partition.
    pub fn of(&self, partition: u32) -> Option<&Agreement> {
        self.known.get(&partition)
    }

    /// The voters of a partition have agreed on where they go on. If the replica gives up its log with that, the directory says so
    /// (`Promises::give_up_log`). False: nothing is to be done. Otherwise the replica here is to be
    /// settled.
    ///
    /// # Errors
    /// The replica cannot go on.
    pub fn take(&mut self, id: u32, replica: &mut Partition, agreement: &Agreement) -> Result<bool> {
        // One that was overtaken by a later one is told on for a while.
        let known = self.of(id);
        if known.is_some_and(|known| known.overtakes(agreement)) {
            return Ok(false);
        }
        let is_known = known.is_some_and(|known| !agreement.overtakes(known) && known.newest >= agreement.newest);
        if is_known && !replica.is_amnesiac() {
            return Ok(false);
        }
        replica.forget_amnesia(agreement)?;
        self.known.insert(id, agreement.clone());
        Ok(true)
    }
}

/// What this process tells of one of its replicas, if that has something to tell. `is_new`: its data directory is.
pub fn report(
    replica: &Partition,
    is_new: bool,
    others: &[(Incarnation, &ReplicaReport)],
) -> Option<ReplicaReport> {
    replica.report(is_new, others.iter().map(|&(life, _)| life).collect())
}

/// What the voters of a partition agree on, if they do: from its replica here, and from what the other voters, as far as they are
/// connected, have told in their present lives.
pub fn agree(
    me: Incarnation,
    replica: &Partition,
    is_new: bool,
    others: &[(Incarnation, &ReplicaReport)],
) -> Option<Agreement> {
    let config = replica.config();
    let wanted = match is_planted(Bug::AgreeWithoutAll) {
        true => config.voters.len() / 2 + 1,
        false => config.voters.len(),
    };
    if others.len() + 1 < wanted {
        return None;
    }
    let own = replica.report(is_new, Vec::new())?;
    Agreement::of(me, &own, others, config.witness)
}

/// What others have agreed on counts here if it names this very process.
pub fn concerns(agreement: &Agreement, me: Incarnation) -> bool {
    agreement.incarnations.contains(&me)
}
