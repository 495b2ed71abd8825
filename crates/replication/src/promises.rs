//! What a data directory remembers of its replicas' promises, because their logs cannot tell: whether anything that was promised may have
//! been lost.

use shoal_planted::{Bug, is_planted};

/// To be made durable whenever it changes, before anything that follows from the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The replicas here have taken part in their groups: what they have promised counts.
    pub initialised: bool,
    /// The last process here ended in good order, and everything was durable then.
    pub clean: bool,
    /// Replicas may have acknowledged what is only in memory, or in a log that they have given up. Durable before the first such
    /// acknowledgement and before a log is given up, and until all of it is on the disk, or the replicas have caught up with what a
    /// crash took or they gave up.
    pub from_memory: bool,
}

impl Promises {
    /// Those of a new directory: none.
    pub const NONE: Promises = Promises { initialised: false, clean: true, from_memory: false };

    /// A process begins, which acknowledges `from_memory` or not. Returns whether its replicas are amnesiac: promises may be lost, because
    /// the directory is a new one, or because the process that crashed acknowledged from memory. How this one does has no say in that.
    pub fn begin_process(&mut self, from_memory: bool) -> bool {
        let did_before = match is_planted(Bug::AmnesiaByPresentDurability) {
            true => from_memory,
            false => self.from_memory,
        };
        let amnesia = !self.initialised || (!self.clean && did_before);
        self.clean = false;
        // Replicas that have not caught up are as amnesiac in the next process.
        self.from_memory = amnesia || from_memory;
        amnesia
    }

    /// Acknowledgements come from memory from now on. False: so they do already.
    pub fn acknowledge_from_memory(&mut self) -> bool {
        !std::mem::replace(&mut self.from_memory, true)
    }

    /// A replica here gives up its log, and with it what it has promised from the disk as well. False: nothing has changed.
    pub fn give_up_log(&mut self) -> bool {
        !std::mem::replace(&mut self.from_memory, true)
    }

    /// Acknowledgements come from the disk, which has all that was acknowledged before. `is_whole`: no replica here is amnesiac.
    /// False: nothing has changed.
    pub fn acknowledge_from_disk(&mut self, is_whole: bool) -> bool {
        let changes = self.from_memory && is_whole;
        self.from_memory &= !is_whole;
        changes
    }

    /// No replica here is amnesiac any more, and in this process all acknowledgements come `from_memory`, or all from the disk, which has
    /// what was acknowledged otherwise. False: nothing has changed.
    pub fn note_whole(&mut self, from_memory: bool) -> bool {
        let known = Promises { initialised: true, from_memory, ..*self };
        std::mem::replace(self, known) != known
    }

    /// The process ends in good order, and everything is durable.
    pub fn end_process(&mut self, is_whole: bool) {
        // Whoever has not caught up with what an earlier process has lost leaves that to the next one.
        self.clean = is_whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_after_one_that_gave_up_a_log_is_amnesiac() {
        let known = Promises { initialised: true, ..Promises::NONE };
        let mut promises = known;
        assert!(!promises.begin_process(false));
        assert!(promises.give_up_log() && !promises.give_up_log());
        // Neither a crash nor a change of durability forgets it before the replicas have caught up.
        assert!(!promises.acknowledge_from_disk(false));
        let mut after_crash = promises;
        assert!(after_crash.begin_process(false));
        promises.end_process(false);
        assert!(promises.begin_process(false));
        promises.note_whole(false);
        promises.end_process(true);
        assert!(!promises.begin_process(false));
    }

    #[test]
    fn amnesia_follows_from_how_the_process_that_crashed_acknowledged_not_from_the_present_one() {
        let mut promises = Promises::NONE;
        assert!(promises.begin_process(false), "the directory is a new one");
        assert!(promises.note_whole(false));
        // A crash loses nothing of what was acknowledged from the disk, whatever the next process does.
        assert!(!promises.begin_process(true));
        // It does of what came from memory, even if the next process acknowledges from the disk; and so for the one after that, until
        // the replicas have caught up.
        assert!(promises.begin_process(false));
        assert!(promises.begin_process(false));
        assert!(!promises.acknowledge_from_disk(false));
        assert!(promises.begin_process(false));
        assert!(promises.note_whole(false));
        assert!(!promises.begin_process(false));
    }

    #[test]
    fn after_a_stop_in_good_order_nothing_is_lost() {
        let mut promises = Promises::NONE;
        promises.begin_process(true);
        promises.note_whole(true);
        promises.end_process(true);
        assert!(!promises.begin_process(true));
        assert!(!promises.acknowledge_from_memory());
        assert!(promises.acknowledge_from_disk(true));
        assert!(!promises.begin_process(false));
    }
}
