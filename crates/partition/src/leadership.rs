//! Leading and following: when this replica serves, and what becomes of transactions when it stops leading.
//!
//! A transaction joins a partition at its leader, with its first lock or write, and lives there in memory until its
//! writes are in the log. A replica that stops leading therefore drops all transactions that are still active and
//! wakes whoever waits, so that nobody waits for something that cannot come; operations then get a transient error.
//! Proposals stay: whether they are committed is known once a committed entry has taken their place or gone past it.
//!
//! What the caller has to do: ask [`Partition::check_serves`] before each operation and again when a waiting one is
//! woken, and refuse operations of a transaction that joined in another term than [`Partition::term`].

use raft::eraftpb::{Message, MessageType};
use shoal_planted::{Bug, is_planted};
use shoal_types::{Result, TransactionId};

use crate::agreement::{Agreement, Incarnation, LogEnd, Memory, ReplicaReport};
use crate::api::*;
use crate::decision::Decision;
use crate::group::ReadKind;
use crate::partition::Partition;
use crate::time::Millis;
use crate::workspace::State;

impl Partition {
    /// Everything handed out up to this [`Outputs::number`] is durable.
    ///
    /// [`Outputs::number`]: crate::Outputs::number
    pub fn persisted(&mut self, number: u64) -> Result<()> {
        self.group.persisted(number)?;
        self.pump()
    }

    /// Time passes. Call it about every [`Timing::tick_ms`]. A group of one does not need it.
    ///
    /// [`Timing::tick_ms`]: crate::Timing::tick_ms
    pub fn tick(&mut self, now: Millis) -> Result<()> {
        self.group.tick(now, &mut self.outputs)?;
        if is_planted(Bug::GuessAbort) && self.group.is_established() {
            for (transaction, _) in self.in_doubt() {
                self.propose_decision(transaction, Decision::Abort, CommitToken(u64::MAX))?;
            }
        }
        self.pump()
    }

    /// Whether the replica `sender` can have sent this: what is refused, with an error that [says so](Error::is_spoilt), is not to be
    /// stepped. It is not all that a message may get wrong: a replica that takes itself for the leader of a later term is
    /// believed, with all that it says is committed.
    pub fn check_message(&self, sender: u64, message: &Message) -> Result<()> {
        self.group.check(sender, message)
    }

    /// Takes another replica's message. One from outside the group, or that Raft cannot use, is ignored. An error is fatal for
    /// this replica, as it is from `persisted` and `tick`: nothing that the outputs hold may be done, and the process
    /// must stop.
    pub fn step_message(&mut self, message: Message) -> Result<()> {
        self.group.step(message)?;
        self.pump()
    }

    /// Where a leader's log ends as far as it counts here, from memory or from the disk; `None` if nobody has to know what is on the
    /// disk, because the group has no witness. When everything that was appended to the log by now is durable, the caller gives
    /// it [back](Partition::note_on_disk).
    pub fn disk_mark(&self) -> Option<DiskMark> {
        self.group.disk_mark()
    }

    /// Everything up to the mark is on this node's disk.
    pub fn note_on_disk(&mut self, mark: DiskMark) {
        self.group.note_on_disk(mark);
    }

    /// Asks for the index that a linearizable read must see applied; answered in [`Outputs::read_states`], or never:
    /// the caller asks again after a while.
    ///
    /// [`Outputs::read_states`]: crate::Outputs::read_states
    pub fn read_index(&mut self, context: Vec<u8>) -> Result<()> {
        self.group.read_index(ReadKind::Caller, &context)?;
        self.pump()
    }

    /// The group has this one replica: it leads as soon as it has started, and serves always.
    pub fn is_single(&self) -> bool {
        self.group.is_single()
    }

    /// What this replica is in its group just now.
    pub fn role(&self) -> Role {
        self.group.role()
    }

    /// This replica leads; whether it may serve is a matter of its lease.
    pub fn is_leader(&self) -> bool {
        self.group.is_leader()
    }

    /// The replica that leads, as far as is known here.
    pub fn leader(&self) -> Option<u64> {
        self.group.leader()
    }

    /// The newest term that this replica knows of.
    pub fn term(&self) -> u64 {
        self.group.term()
    }

    /// Reads and writes here are those of the one true leader: it leads, has applied everything from before its term,
    /// and its lease holds.
    pub fn serves(&self, now: Millis) -> bool {
        self.group.serves(now) && !self.is_broken()
    }

    /// The transient error for what only a serving leader may do, if this is none.
    pub fn check_serves(&self, now: Millis) -> Result<()> {
        if self.serves(now) { Ok(()) } else { Err(self.group.refusal()) }
    }

    /// Hands leadership to another data replica: proposals are refused from now on, and as soon as it has all
    /// entries it is told to take over. If it does not within an election timeout, this replica goes on, or steps
    /// down if the other may have been told.
    pub fn transfer_leader(&mut self, to: u64) -> Result<()> {
        self.group.transfer_leader(to)?;
        self.pump()
    }

    /// There is proof that the replica's process is gone, so that it neither leads nor serves any more. If it led,
    /// the others elect a new leader at once. See [`Outputs`] for the order that this keeps with messages.
    ///
    /// [`Outputs`]: crate::Outputs
    pub fn peer_died(&mut self, replica: u64) -> Result<()> {
        self.group.peer_lost(replica, true)?;
        self.pump()
    }

    /// The way to the replica is broken: its process is gone, or lives behind a broken line. If it led, its lease is waited for and then
    /// others elect a new leader, unless they hear from it before. Must be told to all replicas that know it, or some
    /// of them count on the leader until it has been silent for an election timeout.
    pub fn peer_lost(&mut self, replica: u64) -> Result<()> {
        self.group.peer_lost(replica, false)?;
        self.pump()
    }

    /// This replica may have lost the end of its log and has not caught up yet: it neither votes nor campaigns.
    pub fn is_amnesiac(&self) -> bool {
        self.group.is_amnesiac()
    }

    /// What this replica tells the others, having heard of these lives, while it knows of no leader or is amnesiac. Its
    /// data directory is new if it `is_new`.
    pub fn report(&self, is_new: bool, heard: Vec<Incarnation>) -> Option<ReplicaReport> {
        let memory = match self.is_amnesiac() {
            _ if self.group.is_single() => return None,
            false if self.leader().is_some() => return None,
            false => Memory::Whole,
            true if is_new => Memory::New,
            true => Memory::Amnesiac,
        };
        let (index, term) = self.last_index();
        Some(ReplicaReport { memory, start: self.first_index() - 1, end: LogEnd { term, index }, heard })
    }

    /// With this agreement the replica, a witness, gives up its log, and so what it has promised: that must be noted durably first, for its
    /// next life to know that it is amnesiac.
    pub fn gives_up_log(&self, agreement: &Agreement) -> bool {
        self.group.gives_up_log(agreement)
    }

    /// An agreement that names this replica's life has been reached or heard of, for the first time unless the replica is
    /// amnesiac. With the newest log it is like any other from now on; with less it votes for such a log and stays amnesiac until
    /// it has caught up.
    pub fn forget_amnesia(&mut self, agreement: &Agreement) -> Result<()> {
        if self.group.forget_amnesia(agreement, &mut self.outputs)? {
            (self.applied_index, self.applied_term) = (0, 0);
        }
        self.pump()
    }

    /// What the leader knows of all replicas; empty elsewhere.
    pub fn replica_progress(&self) -> Vec<ReplicaProgress> {
        let known = |&replica: &u64| {
            let (matched, active) = self.group.progress(replica)?;
            Some(ReplicaProgress { replica, matched, active, is_witness: self.config.witness == Some(replica) })
        };
        self.config.voters.iter().filter_map(known).collect()
    }

    /// No entries are on their way before those of this message: by whichever path it goes, it overtakes none. Messages that
    /// overtake others are allowed, but entries that do are refused and sent again.
    pub fn may_change_path(&self, message: &Message) -> bool {
        message.msg_type != MessageType::MsgAppend
            || self.group.progress(message.to).is_some_and(|(matched, _)| matched == message.index)
    }

    /// The leader knows that the replica is alive and holds everything committed.
    pub fn is_caught_up(&self, replica: u64) -> bool {
        let commit = self.group.commit_index();
        self.group.progress(replica).is_some_and(|(matched, active)| active && matched >= commit)
    }

    /// After each turn: has this replica begun or ceased to lead?
    pub(crate) fn note_leadership(&mut self) {
        let leading = self.group.leading();
        if leading != self.led_term {
            if self.led_term != 0 {
                self.drop_active_transactions();
            }
            self.led_term = leading;
        }
    }

    fn drop_active_transactions(&mut self) {
        let active = self.transactions.iter().filter(|(_, transaction)| transaction.state == State::Active);
        let mut active: Vec<TransactionId> = active.map(|(&id, _)| id).collect();
        active.sort_unstable();
        for id in active {
            self.rollback(id);
        }
        // Snapshot readers that wait for commits whose fate may take long to be known.
        let mut waiters = Vec::new();
        for transaction in self.transactions.values_mut() {
            waiters.append(&mut transaction.apply_waiters);
        }
        waiters.sort_unstable();
        self.outputs.woken.append(&mut waiters);
    }
}
