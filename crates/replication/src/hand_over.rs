//! Handing a partition over to another leader, between transactions.
//!
//! A transaction ends with the leader that it has joined. So from the moment in which another one is wanted no new transaction joins the
//! partition, those that have are waited for, and then the leader resigns. Where nothing presses, transactions that take too long win.
//!
//! Transactions that hold something elsewhere may still join for a moment, and those that are as old as that for as long as it takes: if two
//! that are waited for each wanted to join the partition of the other, or wanted what a newer one holds that waits here, all would stay
//! until time is up. Whoever holds nothing can wait.

use shoal_partition::{Millis, Partition};
use shoal_types::NodeId;

/// How long transactions are waited for.
const DRAIN_MS: u64 = 300;
/// For so long transactions may still join that have joined another partition.
const OPEN_MS: u64 = 100;
/// How long a successor may take before transactions may join again.
const SUCCESSION_MS: u64 = 1_000;

/// A partition on its way to another leader: as long as this is there no transaction may join it here.
#[derive(Clone, Copy, Debug)]
pub struct HandOver {
    to: NodeId,
    since: Millis,
    until: Millis,
    presses: bool,
    /// The leader has resigned.
    resigned: bool,
}

/// What has become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOver {
    /// Transactions that had joined are not done yet.
    Waits,
    /// The leader has resigned just now: the partition is to be settled.
    Resigned,
    /// There is nothing more to do; transactions may join where the leader is.
    Over,
}

impl HandOver {
    /// `presses`: transactions that take too long are lost; otherwise they keep the leader. `None`: there is nothing to hand over, or not
    /// to this node.
    pub fn begin(partition: &Partition, to: NodeId, presses: bool, now: Millis) -> Option<HandOver> {
        let can = !partition.is_single() && partition.is_leader() && partition.is_caught_up(u64::from(to.0));
        can.then(|| HandOver { to, since: now, until: now.plus(DRAIN_MS), presses, resigned: false })
    }

    /// A transaction may join that has joined its first partition, wherever that is, so many milliseconds ago; 0: it has joined none.
    pub fn admits(&self, joined_for_ms: u64, now: Millis) -> bool {
        joined_for_ms > 0 && joined_for_ms.saturating_add(OPEN_MS) >= now.since(self.since)
    }

    /// It presses now, if it did not.
    pub fn press(&mut self, presses: bool) {
        self.presses |= presses;
    }

    /// To be called from time to time: the leader resigns when no transaction is left, or is to be waited for.
    pub fn go_on(&mut self, partition: &mut Partition, now: Millis) -> HandedOver {
        if !partition.is_leader() {
            return HandedOver::Over;
        }
        let is_late = now >= self.until;
        if !self.resigned && (partition.active_transactions().is_empty() || is_late && self.presses) {
            // Refused if the successor is not fit any more: then it has not come when that is looked at.
            let _ = partition.transfer_leader(u64::from(self.to.0));
            (self.resigned, self.until) = (true, now.plus(SUCCESSION_MS));
            return HandedOver::Resigned;
        }
        if is_late { HandedOver::Over } else { HandedOver::Waits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transactions_that_hold_something_elsewhere_may_join() {
        let since = Millis(1000);
        let handing_over =
            HandOver { to: NodeId(2), since, until: since.plus(DRAIN_MS), presses: true, resigned: false };
        assert!(!handing_over.admits(0, Millis(1000)), "it begins here and now");
        assert!(!handing_over.admits(0, Millis(1050)));
        assert!(handing_over.admits(1, Millis(1000)));
        assert!(handing_over.admits(50, Millis(1150)), "as old as what may still join");
        assert!(handing_over.admits(10, Millis(1100)), "it holds something elsewhere");
        assert!(!handing_over.admits(10, Millis(1150)), "for too short a time");
        assert!(handing_over.admits(60_000, Millis(1299)));
    }
}
