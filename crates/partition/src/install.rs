//! Replacing a follower's state at run time by a checkpoint of another replica.
//!
//! A follower that lacks entries which the leader no longer keeps (`Outputs::wants_checkpoint` at the leader) is sent a
//! checkpoint beside Raft's messages. The whole walk, for the callers on both sides:
//!
//! 1. leader: `begin_checkpoint`, and [`Partition::pin_log`] at the cursor's index, so that the entries behind it stay;
//! 2. follower: [`Partition::begin_install`]; the leader's blocks, in order, go to `install_checkpoint_block` and into a
//!    checkpoint file of the follower's own;
//! 3. follower: when the last block has come and the file is durable, [`Partition::finish_install`]. Raft tells the
//!    leader, whose next entries follow the checkpoint;
//! 4. leader: [`Partition::unpin_log`] when the follower has caught up with the checkpoint, or has gone away.
//!
//! The first block is refused if the checkpoint is not newer than what the follower holds; nothing has changed then. Whoever
//! makes the file durable before it installs it asks first ([`Partition::check_news`]): a file that is not installed must not
//! take the place of newer ones.
//! With it the old rows go. A stream that ends early leaves the follower without rows to serve or lead with, though its
//! log and vote are as good as ever. The leader may not notice, so the follower's node then asks the leader's node for
//! another stream ([`Partition::is_installing`] says so), or restarts from its old checkpoint.
//!
//! Entries that Raft finds committed meanwhile wait; those behind the checkpoint are applied at the end.

use shoal_types::{Error, Result};

use crate::api::SavepointMark;
use crate::checkpoint::CheckpointHead;
use crate::decision::TwoPhase;
use crate::installing::Installing;
use crate::locks::LockTable;
use crate::partition::Partition;
use crate::ranges::RangeLockTable;

impl Partition {
    /// Gets ready for the blocks of a checkpoint, from the first one on. A follower may also begin again.
    pub fn begin_install(&mut self) -> Result<()> {
        self.group.begin_install()?;
        let Installing { replaced, held_back, .. } = std::mem::take(&mut self.installing);
        self.installing = Installing { running: true, replaced, held_back, ..Installing::default() };
        self.pump()
    }

    /// All blocks have come, and the checkpoint that they make is durable here. Goes on as a follower behind it.
    pub fn finish_install(&mut self) -> Result<()> {
        if !self.installing.running || !self.installing.ended {
            return Err(Error::unknown("the checkpoint ends too early; send it again from the beginning"));
        }
        let held_back = std::mem::take(&mut self.installing).held_back;
        self.group.finish_install(self.applied_index, self.applied_term)?;
        if let Some(last) = held_back.last() {
            let (index, term) = (last.index, last.term);
            for entry in &held_back {
                self.apply_committed(entry)?;
            }
            self.group.applied(index, term)?;
        }
        self.pump()
    }

    /// Rows are being replaced: there is nothing to read here.
    pub fn is_installing(&self) -> bool {
        self.installing.running
    }

    /// The stream has ended early. True if the state is as it was before; otherwise the rows are gone and another stream
    /// must be asked for.
    pub fn abort_install(&mut self) -> Result<bool> {
        if !self.installing.running {
            return Ok(true);
        }
        if self.installing.replaced.is_some() {
            return Ok(false);
        }
        self.group.abort_install();
        for entry in std::mem::take(&mut self.installing).held_back {
            self.apply_committed(&entry)?;
            self.group.applied(entry.index, entry.term)?;
        }
        self.pump()?;
        Ok(true)
    }

    /// Keeps the entries behind `index` in memory while a checkpoint is on its way to another replica.
    pub fn pin_log(&mut self, index: u64) {
        self.group.pin_log(index);
    }

    /// Ends one [`Partition::pin_log`] of this index.
    pub fn unpin_log(&mut self, index: u64) {
        self.group.unpin_log(index);
    }

    /// Would the checkpoint that begins so be installed? Between `begin_install` and the first block the answer stays true: what
    /// is applied waits.
    ///
    /// # Errors
    /// It is another partition's, or holds no more than what is here.
    pub fn check_news(&self, head: &CheckpointHead) -> Result<()> {
        let id = self.config.id;
        if head.partition != id {
            return Err(Error::unknown(format!(
                "the checkpoint of partition {} was given to {id}",
                head.partition
            )));
        }
        // Without rows the same entry's will do as well.
        let lost_rows = self.installing.replaced;
        let applied = lost_rows.unwrap_or(self.applied_index);
        if head.index < applied || (head.index == applied && lost_rows.is_none()) {
            return Err(Error::unknown(format!(
                "the checkpoint of partition {id} at entry {} is no news: entry {applied} is applied here",
                head.index
            )));
        }
        Ok(())
    }

    /// Makes room for the state of this checkpoint.
    pub(crate) fn begin_state(&mut self, head: &CheckpointHead) -> Result<()> {
        if !self.installing.running {
            let id = self.config.id;
            if head.partition != id {
                return Err(Error::unknown(format!(
                    "the checkpoint of partition {} was given to {id}",
                    head.partition
                )));
            }
            if self.applied_index != 0 || !self.fragments.is_empty() {
                return Err(Error::unknown(
                    "internal: a checkpoint can only be installed into an empty partition",
                ));
            }
            return self.group.recover_from(head.index, head.term);
        }
        self.check_news(head)?;
        self.installing.replaced.get_or_insert(self.applied_index);
        self.clear_state(head.index, head.term);
        Ok(())
    }

    /// Forgets rows, transactions and locks; everybody who waits is woken.
    fn clear_state(&mut self, index: u64, term: u64) {
        self.epoch += 1;
        self.go_on_to_the_end();
        self.settle_proposals(index, term);
        let mut woken = Vec::new();
        for (_, mut transaction) in self.transactions.drain() {
            self.config.budget.release(transaction.truncate(SavepointMark(0)));
            self.config.budget.release_work(transaction.work_reserved);
            woken.extend(transaction.waits.iter().map(|&(token, _)| token));
            woken.append(&mut transaction.apply_waiters);
        }
        woken.sort_unstable();
        self.outputs.woken.append(&mut woken);
        self.locks = LockTable::default();
        self.ranges = RangeLockTable::default();
        self.grants.clear();
        let fragments = self.fragments.drain().map(|(_, fragment)| fragment);
        for fragment in fragments.chain(self.retired.drain(..)) {
            self.config.budget.release(fragment.bytes());
        }
        self.two_phase = TwoPhase::default();
        self.parts.clear();
        self.abandoned.clear();
        self.pins.clear();
        self.garbage.clear();
    }

    /// A checkpoint that was begun must be whole before anything else goes on.
    pub(crate) fn check_installed(&self) -> Result<()> {
        if self.installing.begun && !self.installing.ended {
            return Err(Error::unknown("the checkpoint ends too early"));
        }
        Ok(())
    }
}
