//! Random transactions against a model that is too simple to be wrong: maps of rows, one copy for each commit.
//!
//! Checked: snapshot reads and scans see exactly the committed state of their timestamp and the transaction's own
//! writes; locking reads see the newest state, and what a locking scan has passed cannot change before its
//! transaction ends (no phantoms); savepoints restore exactly; no two transactions write one row, unless the first one's commit
//! is in the log already, or makes another's rows while they are on their way; nothing that a transaction without writes has seen is under way when it ends; replaying any
//! prefix of the log, or a checkpoint written meanwhile, gives the state of that moment; and when all is over, no
//! lock, workspace or old version is left and the memory accounts are even.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::*;

/// Parts are told of as well.
const NOBODY: CommitToken = CommitToken(0);

/// More than slots in a chunk.
const WAVE_ROWS: i32 = 70;

type Rows = BTreeMap<i32, TestRow>;

/// One random instruction.
type Op = (u8, u8, i32, i32, u8);

struct Scan {
    view: ReadView,
    cursor: Cursor,
    index: IndexId,
    range: KeyBounds,
    direction: Direction,
    lock: Option<LockRequest>,
    limit: usize,
    shown: Vec<TestRow>,
}

enum Work {
    Insert(TestRow),
    Update(TestRow),
    Delete(i32),
    Get { id: i32, view: ReadView, lock: Option<LockRequest> },
    Scan(Box<Scan>),
}

struct Client {
    transaction: TransactionId,
    snapshot: u64,
    own: Vec<(i32, Option<TestRow>)>,
    savepoint: Option<(SavepointMark, usize)>,
    /// Waits with this work.
    blocked: Option<Work>,
    committing: Option<u64>,
    /// Transactions whose versions it has seen under its locks before they were applied.
    seen_in_flight: Vec<TransactionId>,
}

struct Checkpoint {
    cursor: CheckpointCursor,
    blocks: Vec<Vec<u8>>,
    expected: Rows,
}

struct Model {
    bed: Bed,
    clients: Vec<Option<Client>>,
    /// The state after each commit timestamp, and the log index that made it.
    history: Vec<(u64, Rows)>,
    at_index: Vec<(u64, Rows)>,
    checkpoint: Option<Checkpoint>,
    /// Transactions that have ended, slice by slice, and may not be gone.
    ending: Vec<TransactionId>,
    hashed: bool,
}

fn merged(base: &Rows, own: &[(i32, Option<TestRow>)]) -> Rows {
    let mut rows = base.clone();
    for (id, row) in own {
        match row {
            Some(row) => rows.insert(*id, row.clone()),
            None => rows.remove(id),
        };
    }
    rows
}

impl Model {
    fn new(method: IndexMethod) -> Model {
        let mut bed = Bed::with(schema(method), 1 << 30);
        bed.partition.config.slice_writes = 2;
        bed.in_slices = true;
        Model {
            bed,
            clients: (0..4).map(|_| None).collect(),
            history: vec![(0, Rows::new())],
            at_index: Vec::new(),
            checkpoint: None,
            ending: Vec::new(),
            hashed: method == IndexMethod::Hash,
        }
    }

    fn applied(&self) -> &Rows {
        &self.history.last().unwrap().1
    }

    /// What a snapshot must see: commits under way with earlier timestamps included.
    fn committed_at(&self, snapshot: u64) -> Rows {
        let mut rows = self.history.iter().rev().find(|(timestamp, _)| *timestamp <= snapshot).unwrap().1.clone();
        let mut under_way: Vec<_> =
            self.clients.iter().flatten().filter(|client| client.committing.is_some()).collect();
        under_way.sort_by_key(|client| client.committing);
        for client in under_way.into_iter().filter(|client| client.committing <= Some(snapshot)) {
            rows = merged(&rows, &client.own);
        }
        rows
    }

    fn client(&mut self, slot: usize) -> &mut Client {
        if self.clients[slot].is_none() {
            let transaction = self.bed.begin();
            let snapshot = self.bed.clock;
            self.clients[slot] = Some(Client {
                transaction,
                snapshot,
                own: Vec::new(),
                savepoint: None,
                blocked: None,
                committing: None,
                seen_in_flight: Vec::new(),
            });
        }
        self.clients[slot].as_mut().unwrap()
    }

    fn newest_of(&self, slot: usize, id: i32) -> Option<TestRow> {
        let client = self.clients[slot].as_ref().unwrap();
        merged(&self.committed_at(u64::MAX), &client.own).remove(&id)
    }

    /// Nobody else may have a write of this row that is not in the log.
    fn check_exclusive(&mut self, slot: usize, id: i32) {
        let mut in_flight = Vec::new();
        for (other, client) in self.clients.iter().enumerate() {
            let Some(client) = client.as_ref().filter(|_| other != slot) else { continue };
            if client.own.iter().any(|(written, _)| *written == id) {
                assert!(client.committing.is_some(), "row {id} written twice");
                in_flight.push(client.transaction);
            }
        }
        self.client(slot).seen_in_flight.extend(in_flight);
    }

    /// Runs work to its end, or leaves it with its client, waiting.
    fn run(&mut self, slot: usize, work: Work) {
        let transaction = self.client(slot).transaction;
        let finished = match work {
            Work::Insert(ref row) => match self.bed.insert(transaction, row) {
                Step::Ready(duplicate) => {
                    self.check_exclusive(slot, row.id);
                    assert_eq!(duplicate, self.newest_of(slot, row.id));
                    if duplicate.is_none() {
                        self.client(slot).own.push((row.id, Some(row.clone())));
                    }
                    true
                }
                Step::Wait(blocked) => self.check_blocked(slot, &blocked),
            },
            Work::Update(ref row) => match self.bed.update(transaction, row) {
                Step::Ready(found) => {
                    self.check_exclusive(slot, row.id);
                    assert_eq!(found, self.newest_of(slot, row.id).is_some());
                    if found {
                        self.client(slot).own.push((row.id, Some(row.clone())));
                    }
                    true
                }
                Step::Wait(blocked) => self.check_blocked(slot, &blocked),
            },
            Work::Delete(id) => match self.bed.delete(transaction, id) {
                Step::Ready(found) => {
                    self.check_exclusive(slot, id);
                    assert_eq!(found, self.newest_of(slot, id).is_some());
                    if found {
                        self.client(slot).own.push((id, None));
                    }
                    true
                }
                Step::Wait(blocked) => self.check_blocked(slot, &blocked),
            },
            Work::Get { id, ref view, lock } => match self.bed.get(view, id, lock) {
                Step::Ready(found) => {
                    let base = match lock {
                        Some(_) => {
                            self.check_exclusive(slot, id);
                            self.committed_at(u64::MAX)
                        }
                        None => self.committed_at(view.snapshot.0),
                    };
                    assert_eq!(found, merged(&base, &self.client(slot).own).remove(&id));
                    true
                }
                Step::Wait(blocked) => self.check_blocked(slot, &blocked),
            },
            Work::Scan(mut scan) => {
                let Scan { view, cursor, lock, limit, shown, .. } = &mut *scan;
                match self.bed.scan(view, cursor, *lock, *limit, shown) {
                    Step::Ready(()) => self.check_scan(slot, &scan),
                    Step::Wait(blocked) => {
                        self.check_blocked(slot, &blocked);
                        self.client(slot).blocked = Some(Work::Scan(scan));
                    }
                }
                return;
            }
        };
        if !finished {
            self.client(slot).blocked = Some(work);
        }
    }

    fn check_blocked(&self, slot: usize, blocked: &Blocked) -> bool {
        assert!(!blocked.holders.is_empty());
        let own = self.clients[slot].as_ref().unwrap().transaction;
        for holder in &blocked.holders {
            assert_ne!(*holder, own);
            let is_client = self.clients.iter().flatten().any(|client| client.transaction == *holder);
            assert!(is_client || self.ending.contains(holder));
        }
        false
    }

    fn check_scan(&mut self, slot: usize, scan: &Scan) {
        let base = match scan.lock {
            Some(_) => self.applied().clone(),
            None => self.committed_at(scan.view.snapshot.0),
        };
        let codec = &self.bed.codec;
        let inside = |row: &TestRow| crate::ranges::range_contains(&scan.range, &codec.entry_key(scan.index, row));
        let own = &self.clients[slot].as_ref().unwrap().own;
        let mut expected: Vec<TestRow> = merged(&base, own).into_values().filter(inside).collect();
        if !(self.hashed && scan.index == PRIMARY) {
            let keys: Vec<_> = scan.shown.iter().map(|row| codec.entry_key(scan.index, row)).collect();
            assert!(keys.is_sorted_by(|one, other| match scan.direction {
                Direction::Forward => one <= other,
                Direction::Backward => one >= other,
            }));
        }
        let mut shown = scan.shown.clone();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected, "index {} lock {:?}", scan.index, scan.lock);
    }

    fn scan_work(&mut self, slot: usize, (_, _, low, high, choice): Op, lock: Option<LockRequest>) -> Work {
        let index = IndexId(u32::from(choice) % 3);
        let low_row =
            TestRow { id: low.min(high), k: Some(low.min(high)), name: NAMES[low as usize % NAMES.len()] };
        let high_row =
            TestRow { id: low.max(high), k: Some(low.max(high)), name: NAMES[high as usize % NAMES.len()] };
        let bound = |kind: u8, row: &TestRow| match kind % 3 {
            0 => Bound::Included(self.bed.codec.entry_key(index, row)),
            1 => Bound::Excluded(self.bed.codec.entry_key(index, row)),
            _ => Bound::Unbounded,
        };
        let mut range = KeyBounds { start: bound(choice / 3, &low_row), end: bound(choice / 9, &high_row) };
        if self.hashed && index == PRIMARY {
            range = KeyBounds::ALL;
        }
        let direction = if choice & 64 == 0 { Direction::Forward } else { Direction::Backward };
        let client = self.client(slot);
        let view = ReadView {
            snapshot: Timestamp(client.snapshot),
            token: WaitToken(client.transaction.0),
            ..newest(client.transaction)
        };
        let cursor = Cursor::new(TABLE, index, range.clone(), direction);
        let limit = 1 + usize::from(choice % 4);
        Work::Scan(Box::new(Scan { view, cursor, index, range, direction, lock, limit, shown: Vec::new() }))
    }

    fn step(&mut self, op: Op) {
        let (what, slot, id, k, choice) = op;
        let slot = usize::from(slot) % self.clients.len();
        let name = NAMES[usize::from(choice) % NAMES.len()];
        let row = TestRow { id, k: (k < 6).then_some(k), name };
        match what % 27 {
            20 => self.persist(),
            21 => self.bed.partition.set_gc_horizon(Timestamp(self.oldest_snapshot())),
            22 => drop(self.bed.partition.collect_garbage(usize::from(choice) % 8)),
            18 if choice & 4 == 0 => self.go_on(),
            23 => self.advance_checkpoint(),
            24 => drop(self.bed.partition.compact(1 + usize::from(choice))),
            _ => {}
        }
        let client = self.client(slot);
        if client.committing.is_some() || client.blocked.is_some() {
            self.resolve_deadlock();
            return;
        }
        let (transaction, snapshot) = (client.transaction, client.snapshot);
        match what % 27 {
            0..=3 => self.run(slot, Work::Insert(row)),
            4..=6 => self.run(slot, Work::Update(row)),
            7..=8 => self.run(slot, Work::Delete(id)),
            9 => {
                let view = ReadView { snapshot: Timestamp(snapshot), ..newest(transaction) };
                self.run(slot, Work::Get { id, view, lock: None });
            }
            10 => self.run(slot, Work::Get { id, view: newest(transaction), lock: Some(EXCLUSIVE) }),
            11 | 12 => {
                let work = self.scan_work(slot, op, None);
                self.run(slot, work);
            }
            13 => {
                let mode = if choice & 1 == 0 { LockMode::Shared } else { LockMode::Exclusive };
                let work = self.scan_work(slot, op, Some(LockRequest { mode, ..EXCLUSIVE }));
                self.run(slot, work);
            }
            14 => {
                let mark = self.bed.partition.savepoint(transaction);
                let client = self.client(slot);
                client.savepoint = Some((mark, client.own.len()));
            }
            15 => {
                if let Some((mark, length)) = self.client(slot).savepoint {
                    self.client(slot).own.truncate(length);
                    self.bed.partition.rollback_to(transaction, mark);
                }
            }
            16..=18 => {
                let parts = [0, 1, usize::MAX][usize::from(choice) % 3];
                if self.log_parts(slot, parts) && choice & 8 != 0 {
                    self.rollback(slot);
                } else {
                    self.log_parts(slot, usize::MAX);
                    self.commit(slot);
                }
            }
            19 => self.rollback(slot),
            25 => self.wave(slot, choice % 2, |id, name| Work::Insert(TestRow { id, k: Some(id % 6), name })),
            26 => self.wave(slot, choice % 2, |id, name| match id % 8 {
                0 => Work::Update(TestRow { id, k: Some(7), name }),
                _ => Work::Delete(id),
            }),
            _ => {}
        }
        self.wake();
        self.resolve_deadlock();
    }

    /// Work on so many rows that their slots take more than a chunk, until something is in the way.
    fn wave(&mut self, slot: usize, number: u8, work: impl Fn(i32, &'static str) -> Work) {
        let first = 100 + WAVE_ROWS * i32::from(number);
        for id in first..first + WAVE_ROWS {
            if self.client(slot).blocked.is_none() {
                self.run(slot, work(id, NAMES[id as usize % NAMES.len()]));
            }
        }
    }

    fn oldest_snapshot(&self) -> u64 {
        self.clients.iter().flatten().map(|client| client.snapshot).min().unwrap_or(self.bed.clock)
    }

    fn commit(&mut self, slot: usize) {
        let transaction = self.client(slot).transaction;
        if !self.bed.partition.has_writes(transaction) {
            while self.bed.partition.await_predecessors(transaction, WaitToken(transaction.0)).is_some() {
                self.persist();
            }
            let under_way = |id: &TransactionId| {
                self.clients
                    .iter()
                    .flatten()
                    .any(|client| client.committing.is_some() && client.transaction == *id)
            };
            assert!(!self.clients[slot].as_ref().unwrap().seen_in_flight.iter().any(under_way));
        }
        match self.bed.propose(transaction) {
            CommitStart::Proposed => {
                let clock = self.bed.clock;
                self.client(slot).committing = Some(clock);
            }
            CommitStart::ReadOnly => {
                self.ending.push(transaction);
                let before = self.applied().clone();
                assert_eq!(merged(&before, &self.client(slot).own), before);
                self.clients[slot] = None;
            }
        }
    }

    /// Has so many parts of what the client has written in the log. False: there is nothing to log in parts.
    fn log_parts(&mut self, slot: usize, count: usize) -> bool {
        let transaction = self.client(slot).transaction;
        let mut logged = 0;
        while logged < count
            && let Some(part) = self.bed.partition.next_part(transaction, 20)
        {
            self.bed.partition.propose_part(transaction, part, NOBODY).unwrap();
            logged += 1;
            if logged % 2 == 0 {
                self.persist();
            }
        }
        self.bed.drain();
        logged > 0
    }

    /// A slice of what is left to do.
    fn go_on(&mut self) {
        self.bed.partition.go_on();
        self.bed.drain();
        self.note_gone();
        self.wake();
    }

    fn note_gone(&mut self) {
        for token in std::mem::take(&mut self.bed.committed).into_iter().filter(|&token| token != NOBODY) {
            assert!(
                self.ending.iter().any(|id| id.0 == token.0),
                "told twice, or of something that is not committed"
            );
        }
        let partition = &self.bed.partition;
        self.ending.retain(|&id| partition.transaction(id).is_some());
    }

    fn rollback(&mut self, slot: usize) {
        let transaction = self.client(slot).transaction;
        self.ending.push(transaction);
        self.bed.partition.rollback(transaction);
        self.bed.drain();
        self.clients[slot] = None;
    }

    fn persist(&mut self) {
        self.bed.persist();
        // Large ones are told of when they are rows; for whoever reads they are there at once.
        let mut committed: Vec<usize> =
            (0..self.clients.len()).filter(|&slot| self.commit_of(slot).is_some()).collect();
        committed.sort_unstable_by_key(|&slot| self.commit_of(slot));
        for slot in committed {
            let client = self.clients[slot].take().unwrap();
            let rows = merged(self.applied(), &client.own);
            self.ending.push(client.transaction);
            self.history.push((client.committing.unwrap(), rows));
        }
        self.note_gone();
        let rows = self.applied().clone();
        self.at_index.push((self.bed.partition.applied_index(), rows));
        self.wake();
    }

    fn commit_of(&self, slot: usize) -> Option<u64> {
        self.clients[slot].as_ref().and_then(|client| client.committing)
    }

    /// Runs again what was woken, until nothing is.
    fn wake(&mut self) {
        while let Some(token) = self.bed.woken.pop() {
            let is_it = |client: &Option<Client>| client.as_ref().is_some_and(|c| c.transaction.0 == token.0);
            if let Some(slot) = self.clients.iter().position(is_it)
                && let Some(work) = self.client(slot).blocked.take()
            {
                self.run(slot, work);
            }
        }
    }

    /// If everybody waits for somebody who waits, one has to go.
    fn resolve_deadlock(&mut self) {
        while let Some(victim) = self.find_cycle() {
            self.rollback(victim);
            self.wake();
        }
    }

    /// A client that waits, transitively, for itself.
    fn find_cycle(&self) -> Option<usize> {
        let edges = self.bed.partition.wait_edges();
        self.clients.iter().position(|client| {
            let Some(client) = client else { return false };
            let mut reached = vec![client.transaction];
            let mut next = 0;
            while next < reached.len() {
                let waiting = reached[next];
                for WaitEdge { blocker: holder, .. } in edges.iter().filter(|edge| edge.waiter == waiting) {
                    if *holder == client.transaction {
                        return true;
                    }
                    if !reached.contains(holder) {
                        reached.push(*holder);
                    }
                }
                next += 1;
            }
            false
        })
    }

    fn advance_checkpoint(&mut self) {
        let Some(mut checkpoint) = self.checkpoint.take() else {
            let cursor = self.bed.partition.begin_checkpoint();
            self.checkpoint = Some(Checkpoint { cursor, blocks: Vec::new(), expected: self.applied().clone() });
            return;
        };
        let mut block = Vec::new();
        let more = self.bed.partition.next_checkpoint_block(&mut checkpoint.cursor, 60, &mut block).unwrap();
        if more {
            checkpoint.blocks.push(block);
            self.checkpoint = Some(checkpoint);
        } else {
            self.check_checkpoint(checkpoint);
        }
    }

    fn check_checkpoint(&mut self, checkpoint: Checkpoint) {
        let mut copy = Partition::new(single(1 << 30));
        for block in &checkpoint.blocks {
            copy.install_checkpoint_block(block).unwrap();
        }
        let expected: Vec<TestRow> = checkpoint.expected.into_values().collect();
        assert_eq!(all_rows(&mut copy), expected);
        let mut again = Vec::new();
        let mut cursor = copy.begin_checkpoint();
        while copy.next_checkpoint_block(&mut cursor, 1 << 20, &mut again).unwrap() {}
        assert_eq!(again, checkpoint.blocks.concat(), "equal states, different checkpoints");
        for (index, term, data) in &self.bed.log[..self.bed.partition.applied_index() as usize] {
            copy.replay(*index, *term, data).unwrap();
        }
        assert_eq!(all_rows(&mut copy), self.applied().values().cloned().collect::<Vec<_>>());
        self.bed.partition.end_checkpoint(checkpoint.cursor);
    }

    /// Ends everything and checks that nothing is left behind.
    fn finish(mut self) {
        for _ in 0..20 {
            self.persist();
            while self.bed.partition.has_ending() {
                self.go_on();
            }
            for slot in 0..self.clients.len() {
                match &self.clients[slot] {
                    Some(client) if client.committing.is_none() && client.blocked.is_none() => self.commit(slot),
                    _ => {}
                }
                self.wake();
                self.resolve_deadlock();
            }
        }
        assert!(self.clients.iter().all(|client| client.is_none()), "somebody waits for ever");
        while self.checkpoint.is_some() {
            self.advance_checkpoint();
        }
        self.bed.partition.set_gc_horizon(Timestamp(self.bed.clock));
        while self.bed.partition.collect_garbage(3) > 0 {}
        self.bed.partition.collect_garbage(usize::MAX);
        assert_eq!(self.bed.partition.activity(), Activity::default());
        let expected: Vec<TestRow> = self.applied().values().cloned().collect();
        assert_eq!(self.bed.all(), expected);
        assert!(self.bed.partition.ranges.is_empty());
        let budget = self.bed.partition.config().budget.clone();
        assert_eq!(budget.used_bytes(), self.bed.partition.usage(TABLE).unwrap().bytes);
        self.check_replay();
        self.delete_everything();
        assert_eq!(budget.used_bytes(), 0);
        let fragment = &self.bed.partition.fragments[&TABLE];
        assert!(fragment.ordered.iter().all(|index| index.tree.first().is_none()), "index entries without rows");
    }

    fn check_replay(&mut self) {
        let mut copy = Partition::new(single(1 << 30));
        let mut states = self.at_index.iter();
        let mut next = states.next();
        for (index, term, data) in &self.bed.log {
            copy.replay(*index, *term, data).unwrap();
            while let Some((at, rows)) = next.filter(|(at, _)| at == index) {
                assert_eq!(all_rows(&mut copy), rows.values().cloned().collect::<Vec<_>>(), "log index {at}");
                next = states.next();
            }
        }
        assert_eq!(copy.usage(TABLE).map(|usage| usage.rows), Some(self.applied().len() as u64));
    }

    fn delete_everything(&mut self) {
        let transaction = self.bed.begin();
        for id in self.applied().keys().copied().collect::<Vec<_>>() {
            assert!(matches!(self.bed.delete(transaction, id), Step::Ready(true)));
        }
        self.bed.commit(transaction);
        self.bed.partition.go_on_to_the_end();
        self.bed.partition.set_gc_horizon(Timestamp(self.bed.clock));
        self.bed.partition.collect_garbage(usize::MAX);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_transactions_do_what_the_model_does(
        operations in prop::collection::vec((any::<u8>(), 0u8..4, 0i32..8, 0i32..8, any::<u8>()), 1..250),
        hashed in any::<bool>(),
    ) {
        let mut model = Model::new(if hashed { IndexMethod::Hash } else { IndexMethod::BTree });
        for operation in operations {
            model.step(operation);
        }
        model.finish();
    }
}
