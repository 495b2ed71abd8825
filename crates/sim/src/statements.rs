//! Statements on tables that refer to each other: the product's code for foreign keys, whose reads and writes are operations of a transaction, one after the other.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use shoal_foreign_keys::{
    ForeignKeys, Gone, Host, KeyBounds, LockMode, ScanLock, WrittenRow, delete_children, lock_parents,
    update_children,
};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, PartitionId, Result, TableId};

use crate::knobs::Knobs;
use crate::message::Operation;
use crate::random::Random;
use crate::rows::Row;
use crate::sights::Sight;
use crate::tables::*;

const PARENTS_THERE: u64 = 3;
const CHILDREN_THERE: u64 = 5;

/// What a statement does with one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    Insert(TableId, Row),
    Delete(TableId, i32),
    /// The row with this id becomes another one, perhaps under another id.
    Change(TableId, i32, Row),
}

impl Statement {
    pub fn draw(random: &mut Random) -> Statement {
        let table = match random.below(9) {
            0..3 => PARENT,
            3..5 => RESTRICTING,
            5 => FORGETTING,
            6 => GRANDCHILD,
            _ => FOLLOWING,
        };
        let parent = match random.one_in(8) {
            true => NO_PARENT,
            false => random.below(if table == GRANDCHILD { CHILDREN_THERE } else { PARENTS_THERE }) as i32,
        };
        let ids = if table == PARENT { PARENTS_THERE } else { CHILDREN_THERE };
        let (id, new_id) = (random.below(ids) as i32, random.below(ids) as i32);
        let parent = if table == PARENT { NO_PARENT } else { parent };
        match random.below(8) {
            0..4 => Statement::Insert(table, (id, parent)),
            4..6 => Statement::Delete(table, id),
            6 => Statement::Change(table, id, (id, parent)),
            _ => Statement::Change(table, id, (new_id, parent)),
        }
    }
}

/// What an operation has found.
#[derive(Clone, Debug)]
pub enum Found {
    /// `k` of a row, if it is there.
    Row(Option<i32>),
    /// Ids of children.
    Children(Vec<i32>),
}

/// What passes between a statement and whoever carries its operations out.
#[derive(Default)]
struct Exchange {
    wanted: Option<(PartitionId, Operation)>,
    found: Option<Found>,
    has_cascaded: bool,
}

/// The statements of a transaction, as far as they have come.
pub struct Program {
    running: Pin<Box<dyn Future<Output = Result<()>>>>,
    exchange: Rc<RefCell<Exchange>>,
}

impl Program {
    pub fn new(knobs: Rc<Knobs>, statements: Vec<Statement>) -> Program {
        let exchange = Rc::default();
        let mut session = Session { knobs, exchange: Rc::clone(&exchange), database: Database::default() };
        let running = async move {
            for statement in statements {
                session.execute(statement).await?;
            }
            Ok(())
        };
        Program { running: Box::pin(running), exchange }
    }

    /// Goes on with what its operation has found; yields the next operation, if there is one. Errors: what it is refused with.
    pub fn go_on(&mut self, found: Option<Found>) -> Result<Option<(PartitionId, Operation)>> {
        self.exchange.borrow_mut().found = found;
        match self.running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome.map(|()| None),
            Poll::Pending => Ok(self.exchange.borrow_mut().wanted.take()),
        }
    }

    /// Rows have gone or changed with their parents.
    pub fn has_cascaded(&self) -> bool {
        self.exchange.borrow().has_cascaded
    }
}

/// What a statement that is refused shows of the code for foreign keys.
pub fn sight_of(refusal: &Error) -> Option<Sight> {
    match () {
        () if refusal.is(ErrorCode::NoReferencedRow) => Some(Sight::ChildRefused),
        () if refusal.is(ErrorCode::RowIsReferenced) => Some(Sight::ParentKept),
        () => None,
    }
}

/// A scan for children: in these partitions, of these parents.
pub struct Scan {
    table: TableId,
    lock: ScanLock,
    left: Vec<(PartitionId, i32)>,
}

struct Session {
    knobs: Rc<Knobs>,
    exchange: Rc<RefCell<Exchange>>,
    database: Database,
}

impl Session {
    /// Has an operation carried out.
    async fn ask(&mut self, partition: PartitionId, operation: Operation) -> Found {
        self.exchange.borrow_mut().wanted = Some((partition, operation));
        poll_fn(|_| match self.exchange.borrow_mut().found.take() {
            Some(found) => Poll::Ready(found),
            None => Poll::Pending,
        })
        .await
    }

    async fn read(&mut self, table: TableId, id: i32, lock: Option<LockMode>) -> Option<i32> {
        let operation = Operation::ReadRow(table, id, lock);
        match self.ask(self.knobs.partition_of(id), operation).await {
            Found::Row(found) => found,
            Found::Children(_) => None,
        }
    }

    async fn execute(&mut self, statement: Statement) -> Result<()> {
        let (Statement::Insert(id, _) | Statement::Delete(id, _) | Statement::Change(id, ..)) = statement;
        let table = Arc::clone(self.database.table(id));
        let keys = ForeignKeys::of(&self.database, &table);
        let keys = keys.expect("each of these tables refers to another, or is referred to");
        match statement {
            Statement::Insert(_, row) => {
                let new = table.encode(row);
                let written = [WrittenRow { new: &new, old: None }];
                refused(lock_parents(self, &keys, &table, &written).await?)?;
                self.ask(self.knobs.partition_of(row.0), Operation::InsertRow(id, row)).await;
                self.run_trigger(id, 1).await;
            }
            Statement::Delete(_, row) => {
                let Some(k) = self.read(id, row, Some(LockMode::Exclusive)).await else { return Ok(()) };
                let old = table.encode((row, k));
                delete_children(self, &keys, &table, &[old], &mut Gone::default()).await?;
                self.ask(self.knobs.partition_of(row), Operation::RemoveRow(id, row)).await;
                self.run_trigger(id, -1).await;
            }
            Statement::Change(_, row, after) => {
                let Some(k) = self.read(id, row, Some(LockMode::Exclusive)).await else { return Ok(()) };
                let (old, new) = (table.encode((row, k)), table.encode(after));
                let written = [WrittenRow { new: &new, old: Some(&old) }];
                refused(lock_parents(self, &keys, &table, &written).await?)?;
                let changes = [(old, new)];
                update_children(self, &keys, &table, &changes).await?;
                self.write(id, (row, k), Some(after)).await;
            }
        }
        Ok(())
    }

    /// What a trigger after INSERT or DELETE does.
    async fn run_trigger(&mut self, table: TableId, rows: i32) {
        if table == RESTRICTING {
            self.ask(self.knobs.partition_of(COUNTED), Operation::Add(COUNTED, rows)).await;
        }
    }

    async fn write(&mut self, table: TableId, old: Row, new: Option<Row>) {
        match new {
            Some(new) if new.0 == old.0 => {
                self.ask(self.knobs.partition_of(new.0), Operation::PutRow(table, new)).await;
            }
            _ => {
                self.ask(self.knobs.partition_of(old.0), Operation::RemoveRow(table, old.0)).await;
                if let Some(new) = new {
                    self.ask(self.knobs.partition_of(new.0), Operation::InsertRow(table, new)).await;
                }
            }
        }
    }
}

fn refused(outcomes: Vec<Option<Error>>) -> Result<()> {
    outcomes.into_iter().flatten().next().map_or(Ok(()), Err)
}

/// The integer at the end of a memcomparable key.
fn id_at_end(key: &[u8]) -> i32 {
    let (_, last) = key.split_last_chunk::<4>().expect("keys of these tables end with an INT");
    (u32::from_be_bytes(*last) ^ 0x8000_0000) as i32
}

impl Host<Database> for Session {
    type Scan = Scan;

    async fn are_there(
        &mut self,
        table: &Arc<Definition>,
        _: usize,
        keys: &[Vec<u8>],
        lock: Option<LockMode>,
    ) -> Result<Vec<bool>> {
        let mut present = Vec::new();
        for key in keys {
            present.push(self.read(table.id(), id_at_end(key), lock).await.is_some());
        }
        Ok(present)
    }

    fn scan(&mut self, table: &Arc<Definition>, _: usize, ranges: Vec<KeyBounds>, lock: ScanLock) -> Scan {
        let of = |partition: PartitionId| ranges.iter().map(move |(start, _)| (partition, id_at_end(start)));
        Scan { table: table.id(), lock, left: self.knobs.data_partitions().flat_map(of).collect() }
    }

    async fn next(&mut self, scan: &mut Scan, show: &mut dyn FnMut(RowRef<'_>)) -> Result<bool> {
        let Some((partition, parent)) = scan.left.pop() else { return Ok(false) };
        let operation = Operation::ReadChildren(scan.table, parent, scan.lock);
        let found = self.ask(partition, operation).await;
        let table = Arc::clone(self.database.table(scan.table));
        if let Found::Children(ids) = found {
            for id in ids {
                show(table.layout.row(&table.encode((id, parent))));
            }
        }
        Ok(!scan.left.is_empty())
    }

    async fn replace(&mut self, table: &Arc<Definition>, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        for (old, new) in changes {
            self.exchange.borrow_mut().has_cascaded = true;
            let (old, new) = (table.decode(old), new.as_ref().map(|new| table.decode(new)));
            self.write(table.id(), old, new).await;
        }
        Ok(())
    }
}
