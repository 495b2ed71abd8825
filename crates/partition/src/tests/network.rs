//! Several replicas of one partition, their disks, and a network that does what the test says.
//!
//! Time stands still unless the test advances it. Messages go through the codec and arrive in the order they were sent,
//! unless the way is cut. A disk is as fast as the network unless it is told to stall; a crash loses what it has not
//! synced. Only the partition's public face is used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use shoal_types::PartitionId;

use crate::*;

pub(crate) const HEARTBEAT_MS: u64 = 20;
pub(crate) const ELECTION_MS: u64 = 200;

#[derive(Clone, Debug)]
pub(crate) enum Record {
    Entry { index: u64, term: u64, data: Vec<u8> },
    Vote(HardState),
    Start(LogStart),
}

/// What waits for the disk: a number to report and messages to send afterwards.
struct Unsynced {
    number: u64,
    messages: Vec<Message>,
}

pub(crate) struct Site {
    config: PartitionConfig,
    partition: Option<Partition>,
    pub(crate) log: Vec<Record>,
    synced: usize,
    /// What the next sync writes.
    due: usize,
    unsynced: VecDeque<Unsynced>,
    /// When the disk has so many records, all up to the mark is there.
    mark: Option<(usize, DiskMark)>,
    /// The blocks of the newest durable checkpoint.
    pub(crate) checkpoint: Vec<Vec<u8>>,
    lives: u64,
    /// Entries count as persisted in memory, and a crash loses those that were not synced.
    pub(crate) replicated: bool,
    pub(crate) disk_stalls: bool,
    /// How much faster its clock runs, in thousandths, and how far it is ahead.
    pub(crate) drift: u64,
    pub(crate) offset: u64,
    pub(crate) paused: bool,
    pub(crate) committed: Vec<CommitToken>,
    pub(crate) lost: Vec<CommitToken>,
    pub(crate) unknown: Vec<CommitToken>,
    pub(crate) woken: Vec<WaitToken>,
    pub(crate) read_states: Vec<ReadState>,
    pub(crate) leadership: Option<Leadership>,
}

/// A linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

pub(crate) struct Network {
    pub(crate) sites: BTreeMap<u64, Site>,
    pub(crate) now: Millis,
    /// Ways (from, to) on which messages are lost.
    pub(crate) cut: BTreeSet<(u64, u64)>,
    /// Messages that the test keeps back.
    pub(crate) held: Vec<Message>,
    pub(crate) holds: fn(&Message) -> bool,
    on_the_way: VecDeque<Message>,
    /// Makes the network lose, double, delay and reorder messages.
    pub(crate) chaos: Option<Random>,
    late: Vec<Message>,
    /// Messages sent, by kind and way.
    pub(crate) sent: BTreeMap<(u8, u64, u64), u64>,
}

impl Site {
    pub(crate) fn partition(&mut self) -> &mut Partition {
        self.partition.as_mut().expect("the replica is up")
    }

    /// What its clock shows.
    pub(crate) fn clock(&self, now: Millis) -> Millis {
        Millis(now.0 * (1000 + self.drift) / 1000 + self.offset)
    }

    /// Reads checkpoint and log back.
    fn start(&mut self) {
        let mut config = self.config.clone();
        config.amnesia = self.replicated && self.lives > 0;
        config.life = self.lives;
        self.lives += 1;
        config.budget = Arc::new(MemoryBudget::new(1 << 30));
        let mut partition = Partition::new(config);
        for block in &self.checkpoint {
            partition.install_checkpoint_block(block).unwrap();
        }
        for record in &self.log {
            match record {
                Record::Entry { index, term, data } => partition.replay(*index, *term, data).unwrap(),
                Record::Start(start) => partition.recover_from(*start).unwrap(),
                Record::Vote(state) => partition.recover_hard_state(*state).unwrap(),
            }
        }
        partition.start().unwrap();
        (self.partition, self.mark) = (Some(partition), None);
    }

    fn tick(&mut self, now: Millis) {
        let Some(partition) = self.partition.as_mut() else { return };
        partition.tick(now).unwrap();
        if let Some((_, mark)) = self.mark.take_if(|(records, _)| *records <= self.synced) {
            partition.note_on_disk(mark);
        }
        self.mark = self.mark.or(partition.disk_mark().map(|mark| (self.log.len(), mark)));
    }

    /// Takes the outputs; true if there were any. Appends what may be sent at once.
    fn drain(&mut self, messages: &mut Vec<Message>) -> bool {
        let Some(partition) = self.partition.as_mut() else { return false };
        let outputs = partition.outputs();
        self.committed.append(&mut outputs.committed);
        self.lost.append(&mut outputs.lost);
        self.unknown.append(&mut outputs.unknown);
        self.woken.append(&mut outputs.woken);
        self.read_states.append(&mut outputs.read_states);
        self.leadership = outputs.leadership.take().or(self.leadership);
        let moved =
            outputs.must_persist() || !outputs.messages.is_empty() || !outputs.messages_after_persist.is_empty();
        let must_sync = outputs.must_sync();
        self.log.extend(outputs.log_start.take().map(Record::Start));
        self.log.extend(outputs.hard_state.take().map(Record::Vote));
        self.log.extend(outputs.append.drain(..).map(|entry| Record::Entry {
            index: entry.index(),
            term: entry.term(),
            data: entry.data().to_vec(),
        }));
        messages.append(&mut outputs.messages);
        if moved {
            let messages = std::mem::take(&mut outputs.messages_after_persist);
            if must_sync || !self.replicated {
                self.due = self.log.len();
            }
            self.unsynced.push_back(Unsynced { number: outputs.number, messages });
        }
        moved
    }

    /// The disk has written everything; true if there was something. Appends what may be sent now.
    fn sync(&mut self, messages: &mut Vec<Message>) -> bool {
        self.synced = self.due;
        let batches = std::mem::take(&mut self.unsynced);
        let moved = !batches.is_empty();
        for mut batch in batches {
            self.partition().persisted(batch.number).unwrap();
            messages.append(&mut batch.messages);
        }
        moved
    }
}

impl Network {
    /// Replicas 1 to `voters`.
    pub(crate) fn new(voters: u64) -> Network {
        Network::with(|replica| PartitionConfig {
            replica,
            voters: (1..=voters).collect(),
            timing: Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap(),
            ..PartitionConfig::single(PartitionId(3), Arc::new(MemoryBudget::new(1 << 30)))
        })
    }

    pub(crate) fn with(config: impl Fn(u64) -> PartitionConfig) -> Network {
        let mut network = Network {
            sites: BTreeMap::new(),
            now: Millis(1_000_000),
            cut: BTreeSet::new(),
            held: Vec::new(),
            holds: |_| false,
            on_the_way: VecDeque::new(),
            chaos: None,
            late: Vec::new(),
            sent: BTreeMap::new(),
        };
        for replica in config(1).voters {
            let mut site = Site {
                config: config(replica),
                partition: None,
                log: Vec::new(),
                synced: 0,
                due: 0,
                unsynced: VecDeque::new(),
                mark: None,
                checkpoint: Vec::new(),
                lives: 0,
                replicated: false,
                disk_stalls: false,
                drift: 0,
                offset: 0,
                paused: false,
                committed: Vec::new(),
                lost: Vec::new(),
                unknown: Vec::new(),
                woken: Vec::new(),
                read_states: Vec::new(),
                leadership: None,
            };
            site.start();
            network.sites.insert(replica, site);
        }
        network
    }

    pub(crate) fn site(&mut self, replica: u64) -> &mut Site {
        self.sites.get_mut(&replica).unwrap()
    }

    pub(crate) fn at(&mut self, replica: u64) -> &mut Partition {
        self.site(replica).partition()
    }

    pub(crate) fn is_up(&self, replica: u64) -> bool {
        self.sites[&replica].partition.is_some()
    }

    fn send(&mut self, messages: Vec<Message>) {
        for message in messages {
            let mut bytes = Vec::new();
            encode_message(&message, &mut bytes);
            let message = decode_message(&bytes).unwrap();
            *self.sent.entry((message.msg_type as u8, message.from, message.to)).or_default() += 1;
            if (self.holds)(&message) {
                self.held.push(message);
            } else {
                self.on_the_way.push_back(message);
            }
        }
    }

    /// Lets the messages that were held go, and holds no more.
    pub(crate) fn release(&mut self) {
        self.holds = |_| false;
        self.on_the_way.extend(self.held.drain(..));
        self.settle();
    }

    /// Writes and delivers until nothing moves.
    pub(crate) fn settle(&mut self) {
        loop {
            let mut moved = false;
            let mut messages = Vec::new();
            for site in self.sites.values_mut().filter(|site| site.partition.is_some() && !site.paused) {
                moved |= site.drain(&mut messages);
                if !site.disk_stalls {
                    moved |= site.sync(&mut messages);
                }
            }
            self.send(messages);
            if !moved && self.on_the_way.is_empty() {
                return;
            }
            while let Some(message) = self.on_the_way.pop_front() {
                match self.chaos.as_mut().map(|random| random.below(40)) {
                    Some(0) => {}
                    Some(1..4) => self.late.push(message),
                    Some(4) => {
                        self.late.push(message.clone());
                        self.deliver(message);
                    }
                    _ => self.deliver(message),
                }
            }
        }
    }

    fn deliver_late(&mut self) {
        let Some(random) = &mut self.chaos else { return };
        let mut index = 0;
        while index < self.late.len() {
            if random.one_in(4) {
                self.on_the_way.push_back(self.late.swap_remove(index));
            } else {
                index += 1;
            }
        }
    }

    fn deliver(&mut self, message: Message) {
        if self.cut.contains(&(message.from, message.to)) {
            return;
        }
        let site = self.sites.get_mut(&message.to).unwrap();
        if site.paused {
            let later = if self.chaos.is_some() { &mut self.late } else { &mut self.held };
            later.push(message);
        } else if let Some(partition) = site.partition.as_mut() {
            // What another asks its leader is passed on.
            let sender = if message.from == message.to { message.to % 3 + 1 } else { message.from };
            partition.check_message(sender, &message).unwrap();
            partition.step_message(message).unwrap();
        }
    }

    /// Time passes.
    pub(crate) fn advance(&mut self, ms: u64) {
        let tick_ms = Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap().tick_ms();
        let end = self.now.plus(ms);
        while self.now < end {
            self.now = self.now.plus(tick_ms).min(end);
            let now = self.now;
            for site in self.sites.values_mut().filter(|site| !site.paused) {
                site.tick(site.clock(now));
            }
            self.deliver_late();
            self.settle();
        }
    }

    /// The replica that serves now.
    pub(crate) fn server(&mut self) -> Option<u64> {
        let now = self.now;
        let serving =
            |site: &Site| site.partition.as_ref().is_some_and(|partition| partition.serves(site.clock(now)));
        let servers: Vec<u64> = self.sites.iter().filter(|(_, site)| serving(site)).map(|(&id, _)| id).collect();
        assert!(servers.len() <= 1, "{servers:?} all serve");
        servers.first().copied()
    }

    /// Time passes until a replica serves.
    pub(crate) fn elect(&mut self) -> u64 {
        self.elect_other_than(0)
    }

    /// Time passes until another replica than `old` serves.
    pub(crate) fn elect_other_than(&mut self, old: u64) -> u64 {
        for _ in 0..400 {
            if let Some(server) = self.server().filter(|&server| server != old) {
                return server;
            }
            self.advance(HEARTBEAT_MS / 2);
        }
        let states: Vec<_> = self.sites.iter_mut().map(|(id, site)| (*id, site.leadership)).collect();
        panic!("nobody serves after 4 s: {states:?}");
    }

    /// All ways from and to the replica.
    pub(crate) fn isolate(&mut self, replica: u64) {
        for other in self.sites.keys().copied().filter(|&other| other != replica) {
            self.cut.insert((replica, other));
            self.cut.insert((other, replica));
        }
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    /// The process ends at once; the disk keeps what it has synced.
    pub(crate) fn crash(&mut self, replica: u64) {
        let site = self.site(replica);
        site.partition = None;
        site.log.truncate(site.synced);
        site.due = site.synced;
        site.unsynced.clear();
        site.paused = false;
        let of_others = |message: &Message| message.from != replica && message.to != replica;
        self.on_the_way.retain(of_others);
        self.late.retain(of_others);
    }

    /// A crashed replica's data directory is gone; it knows that it starts with a new one.
    pub(crate) fn lose_everything(&mut self, replica: u64) {
        let site = self.site(replica);
        site.log.clear();
        site.checkpoint.clear();
        (site.synced, site.due) = (0, 0);
        site.replicated = true;
    }

    /// The first records of a replica's log are gone.
    pub(crate) fn cut_log(&mut self, replica: u64, records: usize) {
        let site = self.site(replica);
        site.log.drain(..records);
        (site.synced, site.due) = (site.log.len(), site.log.len());
    }

    /// Everybody's disk writes what is there, whether it has to or not.
    pub(crate) fn sync_all(&mut self) {
        let up = |site: &&mut Site| site.partition.is_some() && !site.paused;
        for site in self.sites.values_mut().filter(up) {
            (site.due, site.synced) = (site.log.len(), site.log.len());
        }
    }

    /// The others get proof that the replica's process is gone.
    pub(crate) fn announce_death(&mut self, replica: u64) {
        for site in self.sites.values_mut() {
            if let Some(partition) = site.partition.as_mut() {
                partition.peer_died(replica).unwrap();
            }
        }
        self.settle();
    }

    /// The others have lost their links to the replica and cannot know why.
    pub(crate) fn announce_loss(&mut self, replica: u64) {
        for (_, site) in self.sites.iter_mut().filter(|&(&other, _)| other != replica) {
            if let Some(partition) = site.partition.as_mut() {
                partition.peer_lost(replica).unwrap();
            }
        }
        self.settle();
    }

    pub(crate) fn restart(&mut self, replica: u64) {
        self.site(replica).start();
        self.settle();
    }

    /// A checkpoint of `from` is streamed to `to`, made durable there and installed.
    pub(crate) fn stream_checkpoint(&mut self, from: u64, to: u64, block_bytes: usize) {
        let mut cursor = self.at(from).begin_checkpoint();
        self.at(from).pin_log(cursor.index());
        self.at(to).begin_install().unwrap();
        let mut blocks = Vec::new();
        loop {
            let mut block = Vec::new();
            if !self.at(from).next_checkpoint_block(&mut cursor, block_bytes, &mut block).unwrap() {
                break;
            }
            self.at(to).install_checkpoint_block(&block).unwrap();
            blocks.push(block);
            self.advance(HEARTBEAT_MS / 2);
        }
        self.site(to).checkpoint = blocks;
        self.at(to).finish_install().unwrap();
        self.settle();
        self.at(from).unpin_log(cursor.index());
        self.at(from).end_checkpoint(cursor);
    }

    /// Makes a checkpoint of the replica's present state durable.
    pub(crate) fn checkpoint(&mut self, replica: u64) {
        let partition = self.at(replica);
        let mut cursor = partition.begin_checkpoint();
        let mut block = Vec::new();
        while partition.next_checkpoint_block(&mut cursor, 1 << 20, &mut block).unwrap() {}
        partition.end_checkpoint(cursor);
        self.site(replica).checkpoint = vec![block];
    }

    /// Lets a paused replica go on: first its clock, then what has arrived meanwhile.
    pub(crate) fn resume(&mut self, replica: u64) {
        let now = self.sites[&replica].clock(self.now);
        self.site(replica).paused = false;
        self.at(replica).tick(now).unwrap();
        let held = std::mem::take(&mut self.held);
        self.on_the_way.extend(held);
        self.settle();
    }

    pub(crate) fn sent(&self, kind: raft::eraftpb::MessageType, from: u64, to: u64) -> u64 {
        self.sent.get(&(kind as u8, from, to)).copied().unwrap_or(0)
    }
}
