//! What transactions do with rows of the tables that refer to each other, at the leader.

use shoal_foreign_keys::ScanLock;
use shoal_partition::*;
use shoal_types::key::successor;
use shoal_types::{IndexId, PartitionId, Result, TableId, Timestamp};

use crate::message::{Operation, Part, Reply};
use crate::process::Process;
use crate::rows::{PRIMARY, Row, key};
use crate::server::Served;
use crate::tables::{TABLES, TableRow, decode_row};

const BY_PARENT: IndexId = IndexId(1);
const ROWS_PER_SCAN: usize = 64;

/// As the product's at READ COMMITTED, where nothing but the code for foreign keys itself closes gaps.
fn request(mode: LockMode, lock_gaps: bool) -> LockRequest {
    LockRequest { mode, policy: LockPolicy::Wait, lock_gaps }
}

impl Process {
    /// Yields `k` of the row that was read, or why the operation is refused.
    pub fn operate_on_table(
        &mut self,
        part: &Part,
        operation: Operation,
        token: WaitToken,
    ) -> Result<Step<Result<Option<i32>, &'static str>>> {
        let (id, partition) = (part.transaction, part.partition);
        let step = match operation {
            Operation::ReadRow(table, row, lock) => {
                let view = ReadView::newest(Some(id), token);
                let step = self.partition(partition).get(
                    &view,
                    table,
                    &key(row),
                    lock.map(|mode| request(mode, false)),
                )?;
                return Ok(step.map(|found| Ok(found.map(decode_row).map(|(_, k)| k))));
            }
            Operation::PutRow(table, row) => {
                let bytes = self.database.table(table).encode(row);
                self.partition(partition).put(id, table, &bytes, token)?
            }
            Operation::InsertRow(table, row) => {
                let bytes = self.database.table(table).encode(row);
                self.partition(partition).insert(id, table, &bytes, token)?
            }
            Operation::RemoveRow(table, row) => self.partition(partition).delete(id, table, &key(row), token)?,
            _ => return Ok(Step::Ready(Err("it is no operation on such a table"))),
        };
        Ok(step.map(|outcome| match outcome {
            WriteOutcome::Done => Ok(None),
            _ => Err("there is such a row"),
        }))
    }

    /// Ids of the rows that refer to a parent, all of them locked.
    pub fn read_children(
        &mut self,
        part: &Part,
        (table, parent): (TableId, i32),
        lock: ScanLock,
        token: WaitToken,
    ) -> Result<Step<Vec<i32>>> {
        // Behind the byte that says that it is not NULL.
        let start = [&[1], &key(parent)[..]].concat();
        let end = successor(&start).unwrap_or_default();
        let bounds = KeyBounds { start: std::ops::Bound::Included(start), end: std::ops::Bound::Excluded(end) };
        let mut cursor = Cursor::new(table, BY_PARENT, bounds, Direction::Forward);
        let view = ReadView::newest(Some(part.transaction), token);
        let mut children = Vec::new();
        loop {
            let step = self.partition(part.partition).scan(
                &view,
                &mut cursor,
                Some(request(lock.mode, lock.closes_gaps)),
                ROWS_PER_SCAN,
                &mut |row| {
                    children.push(decode_row(row).0);
                    VisitAnswer::Continue
                },
            )?;
            match step {
                Step::Ready(ScanState::Done) => return Ok(Step::Ready(children)),
                Step::Ready(ScanState::More) => {}
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            }
        }
    }

    /// All rows of these tables in a partition, as of a snapshot.
    pub fn scan_tables(
        &mut self,
        id: PartitionId,
        snapshot: Timestamp,
        rows: Vec<Row>,
        token: WaitToken,
    ) -> Result<Served> {
        let view = ReadView { snapshot, ..ReadView::newest(None, token) };
        match rows_of_tables(self.partition(id), &view)? {
            Step::Ready(beside) => Ok(Served::Reply(Reply::Rows(rows, beside))),
            Step::Wait(_) => Ok(Served::Waits),
        }
    }
}

/// All rows of the tables that refer to each other.
pub fn rows_of_tables(partition: &mut Partition, view: &ReadView) -> Result<Step<Vec<TableRow>>> {
    let mut rows = Vec::new();
    for table in TABLES {
        // Whoever has not led for long may still have to make it.
        if partition.schema(table).is_none() {
            continue;
        }
        let mut cursor = Cursor::new(table, PRIMARY, KeyBounds::ALL, Direction::Forward);
        loop {
            let step = partition.scan(view, &mut cursor, None, ROWS_PER_SCAN, &mut |row| {
                rows.push((table, decode_row(row)));
                VisitAnswer::Continue
            })?;
            match step {
                Step::Ready(ScanState::Done) => break,
                Step::Ready(ScanState::More) => {}
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            }
        }
    }
    Ok(Step::Ready(rows))
}
