//! What transactions and readers do with rows, at the leader. An operation that has to wait has changed nothing, and is done again from its
//! beginning.

use shoal_partition::*;
use shoal_types::{NodeId, PartitionId, Result, Timestamp, TransactionId};

use crate::message::{Operation, Part, Reply, Told};
use crate::process::{Env, Process};
use crate::rows::*;
use crate::server::Served;

const ROWS_PER_SCAN: usize = 64;
/// A follower is told about so much at a time.
const FOLLOW_BYTES: usize = 300;

fn ids_between(first: i32, end: i32) -> KeyBounds {
    KeyBounds {
        start: std::ops::Bound::Included(key(first).to_vec()),
        end: std::ops::Bound::Excluded(key(end).to_vec()),
    }
}

impl Process {
    pub fn work(
        &mut self,
        part: &Part,
        term: u64,
        operation: Operation,
        mark: Option<i32>,
        token: WaitToken,
    ) -> Result<Served> {
        let id = part.transaction;
        if let Operation::ListShared(list) | Operation::ListNewest(list) = operation {
            let lock = LockRequest { mode: LockMode::Shared, policy: LockPolicy::Wait, lock_gaps: true };
            let lock = matches!(operation, Operation::ListShared(_)).then_some(lock);
            let Step::Ready(elements) = self.read_list(part, list, lock, token)? else { return Ok(Served::Waits) };
            let has_joined = lock.is_some() || part.term != 0;
            let writes = if has_joined { self.partition(part.partition).savepoint(id).0 } else { 0 };
            return Ok(Served::Reply(Reply::List(if has_joined { term } else { 0 }, writes, elements)));
        }
        if let Operation::ReadChildren(table, parent, mode) = operation {
            let Step::Ready(children) = self.read_children(part, (table, parent), mode, token)? else {
                return Ok(Served::Waits);
            };
            let writes = self.partition(part.partition).savepoint(id).0;
            return Ok(Served::Reply(Reply::List(term, writes, children)));
        }
        let value = match self.operate(part, operation, token)? {
            Step::Wait(_) => return Ok(Served::Waits),
            Step::Ready(Ok(value)) => value,
            Step::Ready(Err(refusal)) => return Ok(Served::Reply(Reply::Refused(refusal.into()))),
        };
        if let Some(mark) = mark {
            let row = self.codec.encode((MARKS + mark, mark));
            let marked = self.partition(part.partition).insert(id, TABLE, &row, token)?;
            assert!(matches!(marked, Step::Ready(WriteOutcome::Done)), "nobody else writes this mark");
        }
        // A transaction that has only read without locks has not joined.
        let has_joined = part.term != 0 || !matches!(operation, Operation::ReadRow(_, _, None));
        let writes = if has_joined { self.partition(part.partition).savepoint(id).0 } else { 0 };
        Ok(Served::Reply(Reply::Worked(if has_joined { term } else { 0 }, writes, value)))
    }

    /// Carries out all operations and proposes the commit. If one has to wait, all begin again.
    pub fn batch(
        &mut self,
        env: &mut Env<'_>,
        asker: (NodeId, u64),
        part: &Part,
        (operations, mark): (&[Operation], i32),
        token: WaitToken,
    ) -> Result<Served> {
        let (id, partition) = (part.transaction, part.partition);
        for &operation in operations {
            match self.operate(part, operation, token)? {
                Step::Ready(Ok(_)) => {}
                Step::Ready(Err(refusal)) => {
                    self.partition(partition).rollback(id);
                    return Ok(Served::Reply(Reply::Refused(refusal.into())));
                }
                Step::Wait(_) => {
                    self.partition(partition).rollback_to(id, SavepointMark(0));
                    return Ok(Served::Waits);
                }
            }
        }
        let row = self.codec.encode((MARKS + mark, mark));
        let marked = self.partition(partition).insert(id, TABLE, &row, token)?;
        assert!(matches!(marked, Step::Ready(WriteOutcome::Done)), "nobody else writes this mark");
        let writes = self.partition(partition).savepoint(id).0;
        let term = self.partition(partition).term();
        self.commit(env, asker, &Part { term, writes, ..*part })
    }

    /// What was committed behind a place, a little at a time.
    pub fn changes(&mut self, id: PartitionId, place: Option<LogEnd>) -> Result<(LogEnd, Vec<Told>), Gap> {
        let mut told = Vec::new();
        let owned = |writes: Vec<LoggedWrite<'_>>| writes.iter().map(OwnedWrite::of).collect();
        let mut see = |change: LoggedChange<'_>| {
            told.extend(match change {
                LoggedChange::Committed { transaction, timestamp, writes } => {
                    Some(Told::Committed(transaction, timestamp, owned(writes)))
                }
                LoggedChange::Prepared { transaction, writes } => Some(Told::Prepared(transaction, owned(writes))),
                LoggedChange::Decided { transaction, commit } => Some(Told::Decided(transaction, commit)),
                LoggedChange::Dropped(table) => Some(Told::Dropped(table)),
                LoggedChange::Altered { .. } => None,
            });
        };
        let partition = self.partition(id);
        let place = match place {
            None => partition.begin_to_follow(&[TABLE], &mut see)?,
            Some(place) => partition.follow(place, &[TABLE], FOLLOW_BYTES, &mut see)?.place,
        };
        Ok((place, told))
    }

    /// Yields what `k` was before, or why the operation is refused.
    fn operate(
        &mut self,
        part: &Part,
        operation: Operation,
        token: WaitToken,
    ) -> Result<Step<Result<Option<i32>, &'static str>>> {
        let (id, view) = (part.transaction, ReadView::newest(Some(part.transaction), token));
        let lock = |mode| Some(LockRequest { mode, policy: LockPolicy::Wait, lock_gaps: true });
        let (row, mode) = match operation {
            Operation::Add(row, _) | Operation::Put((row, _)) | Operation::Remove(row) => {
                (row, LockMode::Exclusive)
            }
            Operation::ReadExclusive(row) => (row, LockMode::Exclusive),
            Operation::ReadShared(row) => (row, LockMode::Shared),
            Operation::Insert(row) => return self.insert(part, row, token),
            Operation::ReadRange(first, end) => return self.read_range(part, first, end, token),
            Operation::RollBackTo(mark) => {
                self.partition(part.partition).rollback_to(id, SavepointMark(mark));
                return Ok(Step::Ready(Ok(None)));
            }
            Operation::Push(list, element) => {
                let (first, end) = list_range(list);
                let newest = self.newest_between(part.partition, Some(id), first, end)?;
                let row = (newest.map_or(first, |(id, _)| id) + 1, element);
                let inserted = self.insert(part, row, token)?;
                return Ok(inserted.map(|outcome| outcome.map(|_| newest.map(|(_, k)| k))));
            }
            Operation::ListShared(_) | Operation::ListNewest(_) => {
                return Ok(Step::Ready(Err("a list is read in another way")));
            }
            Operation::ReadRow(..)
            | Operation::PutRow(..)
            | Operation::InsertRow(..)
            | Operation::RemoveRow(..)
            | Operation::ReadChildren(..) => return self.operate_on_table(part, operation, token),
            Operation::Append(made_by) => {
                let newest = self.newest_between(part.partition, None, VERSIONS, MARKS)?;
                let newest = newest.map_or(VERSIONS, |(id, _)| id);
                return self.insert(part, (newest + 1, made_by), token);
            }
        };
        let before = match self.partition(part.partition).get(&view, TABLE, &key(row), lock(mode))? {
            Step::Ready(found) => found.map(decode).map(|(_, k)| k),
            Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
        };
        let after = match operation {
            Operation::Add(_, amount) => match before.unwrap_or(0) + amount {
                ..0 => return Ok(Step::Ready(Err("there is not enough"))),
                0 => None,
                after => Some(after),
            },
            Operation::Put((_, k)) => Some(k),
            Operation::Remove(_) => None,
            _ => return Ok(Step::Ready(Ok(before))),
        };
        let bytes = self.codec.encode((row, after.unwrap_or(0)));
        let partition = self.partition(part.partition);
        let step = match after {
            Some(_) => partition.put(id, TABLE, &bytes, token)?,
            None if before.is_none() => return Ok(Step::Ready(Ok(before))),
            None => partition.delete(id, TABLE, &key(row), token)?,
        };
        match step {
            // Somebody has read the range under locks that the row would be new in.
            Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            Step::Ready(outcome) => assert!(matches!(outcome, WriteOutcome::Done), "the row is locked"),
        }
        Ok(Step::Ready(Ok(before)))
    }

    fn insert(
        &mut self,
        part: &Part,
        row: Row,
        token: WaitToken,
    ) -> Result<Step<Result<Option<i32>, &'static str>>> {
        let bytes = self.codec.encode(row);
        let step = self.partition(part.partition).insert(part.transaction, TABLE, &bytes, token)?;
        Ok(step.map(|outcome| match outcome {
            WriteOutcome::Done => Ok(None),
            _ => Err("there is such a row"),
        }))
    }

    /// Yields a number that differs if the rows do.
    fn read_range(
        &mut self,
        part: &Part,
        first: i32,
        end: i32,
        token: WaitToken,
    ) -> Result<Step<Result<Option<i32>, &'static str>>> {
        let mut cursor = Cursor::new(TABLE, PRIMARY, ids_between(first, end), Direction::Forward);
        let view = ReadView::newest(Some(part.transaction), token);
        let lock = LockRequest { mode: LockMode::Shared, policy: LockPolicy::Wait, lock_gaps: true };
        let mut found = 0i32;
        loop {
            let step = self.partition(part.partition).scan(
                &view,
                &mut cursor,
                Some(lock),
                ROWS_PER_SCAN,
                &mut |row| {
                    let (id, k) = decode(row);
                    found = found.wrapping_mul(1_000_003).wrapping_add(id.wrapping_mul(8191) ^ k);
                    VisitAnswer::Continue
                },
            )?;
            match step {
                Step::Ready(ScanState::Done) => return Ok(Step::Ready(Ok(Some(found)))),
                Step::Ready(ScanState::More) => {}
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            }
        }
    }

    /// The elements of a list, in the order in which they were appended.
    fn read_list(
        &mut self,
        part: &Part,
        list: i32,
        lock: Option<LockRequest>,
        token: WaitToken,
    ) -> Result<Step<Vec<i32>>> {
        let (first, end) = list_range(list);
        let mut cursor = Cursor::new(TABLE, PRIMARY, ids_between(first, end), Direction::Forward);
        let view = ReadView::newest(Some(part.transaction), token);
        let mut elements = Vec::new();
        loop {
            let step =
                self.partition(part.partition).scan(&view, &mut cursor, lock, ROWS_PER_SCAN, &mut |row| {
                    elements.push(decode(row).1);
                    VisitAnswer::Continue
                })?;
            match step {
                Step::Ready(ScanState::Done) => return Ok(Step::Ready(elements)),
                Step::Ready(ScanState::More) => {}
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            }
        }
    }

    /// The row with the greatest id from `first` to before `end`, without locks.
    fn newest_between(
        &mut self,
        id: PartitionId,
        transaction: Option<TransactionId>,
        first: i32,
        end: i32,
    ) -> Result<Option<Row>> {
        let mut cursor = Cursor::new(TABLE, PRIMARY, ids_between(first, end), Direction::Backward);
        let mut newest = None;
        let view = ReadView::newest(transaction, WaitToken(0));
        self.partition(id).scan(&view, &mut cursor, None, 1, &mut |row| {
            newest = Some(decode(row));
            VisitAnswer::Stop
        })?;
        Ok(newest)
    }

    pub fn scan(&mut self, id: PartitionId, snapshot: Timestamp, term: u64, token: WaitToken) -> Result<Served> {
        self.observe(snapshot);
        let partition = self.partition(id);
        if term != 0 && partition.term() != term {
            return Ok(Served::Reply(Reply::Lost));
        }
        if snapshot < partition.oldest_snapshot() {
            return Ok(Served::Reply(Reply::Refused("the snapshot is too old".into())));
        }
        let view = ReadView { snapshot, ..ReadView::newest(None, token) };
        let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
        let mut rows = Vec::new();
        loop {
            let step = partition.scan(&view, &mut cursor, None, ROWS_PER_SCAN, &mut |row| {
                rows.push(decode(row));
                VisitAnswer::Continue
            })?;
            match step {
                Step::Ready(ScanState::Done) => return self.scan_tables(id, snapshot, rows, token),
                Step::Ready(ScanState::More) => {}
                Step::Wait(_) => return Ok(Served::Waits),
            }
        }
    }
}
