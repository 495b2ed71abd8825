//! Scans and linked operations, batch by batch.

use std::sync::Arc;

use pyo3::prelude::*;
use shoal_client::{Isolation, Linked, LinkedRows, Result, Rows, Scan, Transaction};
use tokio::sync::Mutex;

use crate::answer::Answer;
use crate::arguments::{key, read_mode};
use crate::filter::Filter;
use crate::open::Open;
use crate::operation::Operation;
use crate::shared::Shared;
use crate::table::Table;

/// What a scan, or linked operations, visit.
#[pyclass(frozen, module = "shoal")]
pub struct Plan {
    /// Of linked operations the first one's.
    pub table: shoal_client::Table,
    pub visit: Visit,
}

#[derive(Clone)]
pub enum Visit {
    Scan(Scan),
    Linked(Linked),
}

#[pyfunction]
#[pyo3(signature = (table, *, index, equal, from_, after, up_to, before, ordered, descending, limit, filter, columns,
    lock, wait))]
// One keyword each, which only the two faces give.
#[expect(clippy::too_many_arguments)]
pub fn scan_plan(
    table: &Table,
    index: Option<&str>,
    equal: Option<&Bound<'_, PyAny>>,
    from_: Option<&Bound<'_, PyAny>>,
    after: Option<&Bound<'_, PyAny>>,
    up_to: Option<&Bound<'_, PyAny>>,
    before: Option<&Bound<'_, PyAny>>,
    ordered: bool,
    descending: bool,
    limit: Option<u64>,
    filter: Option<&Filter>,
    columns: Option<Vec<String>>,
    lock: Option<&str>,
    wait: &str,
) -> PyResult<Plan> {
    let bounds = [equal, from_, after, up_to, before];
    let scan = scan_of(index, bounds, ordered, descending, limit, filter, columns)?;
    Ok(Plan { table: table.table.clone(), visit: Visit::Scan(scan.mode(read_mode(lock, wait)?)) })
}

/// `bounds`: `equal`, `from`, `after`, `up_to` and `before`.
pub fn scan_of(
    index: Option<&str>,
    bounds: [Option<&Bound<'_, PyAny>>; 5],
    ordered: bool,
    descending: bool,
    limit: Option<u64>,
    filter: Option<&Filter>,
    columns: Option<Vec<String>>,
) -> PyResult<Scan> {
    let mut scan = Scan::new();
    if let Some(index) = index {
        scan = scan.index(index);
    }
    let setters: [fn(Scan, Vec<shoal_client::Value>) -> Scan; 5] =
        [Scan::equal, Scan::from, Scan::after, Scan::up_to, Scan::before];
    for (bound, set) in bounds.into_iter().zip(setters) {
        if let Some(bound) = bound {
            scan = set(scan, key(bound)?);
        }
    }
    if ordered {
        scan = scan.ordered();
    }
    if descending {
        scan = scan.descending();
    }
    if let Some(limit) = limit {
        scan = scan.limit(limit);
    }
    if let Some(filter) = filter {
        scan = scan.filter(filter.inner.clone());
    }
    if let Some(columns) = columns {
        scan = scan.columns(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    }
    Ok(scan)
}

enum Source {
    /// A transaction of its own, from the first batch to the last.
    Client(Arc<Shared>),
    Transaction(Arc<Open>),
}

/// The rows of a visit that has begun.
enum Steps {
    Scan(Box<Rows>),
    Linked(Box<LinkedRows>),
}

impl Steps {
    fn begin(table: &shoal_client::Table, visit: &Visit, transaction: &mut Transaction) -> Result<Steps> {
        Ok(match visit {
            Visit::Scan(scan) => Steps::Scan(Box::new(transaction.scan(table, scan)?)),
            Visit::Linked(linked) => Steps::Linked(Box::new(transaction.linked(linked)?)),
        })
    }

    /// The next batch, and whether there is one.
    async fn next(&mut self, transaction: &mut Transaction) -> Result<(Answer, bool)> {
        match self {
            Steps::Scan(rows) => {
                let batch = rows.next_batch(transaction).await?;
                let is_more = !batch.is_empty();
                Ok((Answer::Rows(batch), is_more))
            }
            Steps::Linked(rows) => {
                let batch = rows.next_batch(transaction).await?;
                let is_more = !batch.is_empty();
                Ok((Answer::Tuples(batch), is_more))
            }
        }
    }
}

enum State {
    Fresh,
    Under(Arc<Open>, Steps),
    Done,
}

struct Walk {
    table: shoal_client::Table,
    visit: Visit,
    source: Source,
    state: Mutex<State>,
}

/// A visit in progress.
#[pyclass(frozen, module = "shoal")]
pub struct Cursor {
    walk: Arc<Walk>,
}

impl Cursor {
    fn new(plan: &Plan, source: Source) -> Cursor {
        let (table, visit) = (plan.table.clone(), plan.visit.clone());
        Cursor { walk: Arc::new(Walk { table, visit, source, state: Mutex::new(State::Fresh) }) }
    }

    pub fn of_client(client: &Arc<Shared>, plan: &Plan) -> Cursor {
        Cursor::new(plan, Source::Client(Arc::clone(client)))
    }

    pub fn of_transaction(transaction: &Arc<Open>, plan: &Plan) -> Cursor {
        Cursor::new(plan, Source::Transaction(Arc::clone(transaction)))
    }
}

impl Walk {
    /// The next rows; none: that was all. Whatever fails ends it, and so does being cancelled.
    async fn next(&self) -> Result<Answer> {
        let mut state = self.state.lock().await;
        let (open, steps) = match std::mem::replace(&mut *state, State::Done) {
            State::Done => return Ok(Answer::Rows(Vec::new())),
            State::Under(open, steps) => (open, Some(steps)),
            State::Fresh => match &self.source {
                Source::Client(client) => (client.begin(Isolation::ReadCommitted).await?, None),
                Source::Transaction(open) => (Arc::clone(open), None),
            },
        };
        let (table, visit) = (self.table.clone(), self.visit.clone());
        let step = open.run(move |transaction| {
            Box::pin(async move {
                let mut steps = match steps {
                    Some(steps) => steps,
                    None => Steps::begin(&table, &visit, transaction)?,
                };
                let (batch, is_more) = steps.next(transaction).await?;
                Ok((steps, batch, is_more))
            })
        });
        let (steps, batch, is_more) = step.await?;
        if is_more {
            *state = State::Under(open, steps);
        }
        Ok(batch)
    }
}

#[pymethods]
impl Cursor {
    /// A list of the next rows; an empty one at the end.
    fn next(&self) -> Operation {
        let walk = Arc::clone(&self.walk);
        Operation::new(async move { walk.next().await })
    }

    /// Ends the scan where it is.
    fn close(&self) {
        if let Ok(mut state) = self.walk.state.try_lock() {
            *state = State::Done;
        }
    }
}
