//! Where rows of a query go: to the client, into memory, into a set.

use shoal_types::row::RowRef;
use shoal_types::{Result, TimeZone, Value};

use std::rc::Rc;

use super::LocalFuture;
use super::memory::{Held, StatementMemory, row_bytes};
use crate::frontend::{ResultColumn, ResultSink};

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

/// Takes the rows of a query.
pub trait RowConsumer {
    fn push(&mut self, row: &[Value]) -> Result<Flow>;

    /// A stored row whose columns at `projection` are the result row.
    fn push_stored(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<Flow> {
        let values: Vec<Value> = projection.iter().map(|&column| row.value(column, zone)).collect();
        self.push(&values)
    }

    /// There is enough to send: `flush` is to be called before more rows come.
    fn wants_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// Bytes that may wait in the reply buffer before the executor sends them.
const FLUSH_THRESHOLD_BYTES: usize = 64 * 1024;

/// Sends rows to the client.
pub struct ToSink<'a, S: ResultSink> {
    pub sink: &'a mut S,
    pub columns: &'a [ResultColumn],
    /// The definitions of the columns were sent: from then on the statement cannot begin again.
    pub begun: &'a mut bool,
    pub rows_sent: u64,
    /// What large rows take in the reply until it is sent.
    pub held: Held,
}

/// A row of more bytes is counted while it is in the reply.
const LARGE_ROW_BYTES: usize = 64 << 10;
/// A reply grows by doubling.
const REPLY_FACTOR: usize = 2;

impl<S: ResultSink> ToSink<'_, S> {
    /// Before the first row, or at the end when there was none.
    pub fn begin(&mut self) -> Result<()> {
        if !std::mem::replace(self.begun, true) {
            self.sink.columns(self.columns)?;
        }
        Ok(())
    }

    #[inline]
    fn hold(&mut self, bytes: usize) -> Result<()> {
        if bytes > LARGE_ROW_BYTES { self.held.add(REPLY_FACTOR * bytes) } else { Ok(()) }
    }
}

impl<S: ResultSink> RowConsumer for ToSink<'_, S> {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        self.begin()?;
        self.rows_sent += 1;
        self.hold(row.iter().map(Value::heap_bytes).sum())?;
        self.sink.row(row)?;
        Ok(Flow::Continue)
    }

    fn push_stored(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<Flow> {
        self.begin()?;
        self.rows_sent += 1;
        self.hold(row.bytes().len())?;
        self.sink.stored_row(row, projection, zone)?;
        Ok(Flow::Continue)
    }

    fn wants_flush(&self) -> bool {
        self.sink.buffered_bytes() >= FLUSH_THRESHOLD_BYTES
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<()>> {
        Box::pin(async {
            self.sink.flush().await?;
            self.held.shrink_to(0);
            Ok(())
        })
    }
}

/// Keeps rows in memory.
pub struct Collect {
    pub rows: Vec<Vec<Value>>,
    /// No more than this many are wanted.
    pub limit: Option<usize>,
    /// What the rows take.
    pub held: Held,
}

impl Collect {
    pub fn new(memory: &Rc<StatementMemory>) -> Collect {
        Collect { rows: Vec::new(), limit: None, held: Held::new(memory) }
    }
}

/// What a row that is kept takes besides its values: its place in a list that grows.
const ROW_PLACE_BYTES: usize = 2 * size_of::<Vec<Value>>();

impl RowConsumer for Collect {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        let row = row.to_vec();
        self.held.add(row_bytes(&row) + ROW_PLACE_BYTES)?;
        self.rows.push(row);
        Ok(if self.limit.is_some_and(|limit| self.rows.len() >= limit) { Flow::Stop } else { Flow::Continue })
    }
}
