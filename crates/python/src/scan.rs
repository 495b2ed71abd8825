//! Scans, batch by batch.

use std::sync::Arc;

use pyo3::prelude::*;
use shoal_client::{Isolation, Result, Rows, Scan};
use tokio::sync::Mutex;

use crate::client::Shared;
use crate::filter::Filter;
use crate::operation::Operation;
use crate::table::Table;
use crate::transaction::Open;
use crate::work::{self, Answer};

/// What a scan visits.
#[pyclass(frozen, module = "shoal")]
pub struct ScanPlan {
    pub table: shoal_client::Table,
    pub scan: Scan,
}

#[pyfunction]
#[pyo3(signature = (table, *, index, equal, from_, after, up_to, before, ordered, descending, limit, filter, columns,
    lock, wait))]
// One keyword each, which only `shoal/_scan.py` gives.
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
) -> PyResult<ScanPlan> {
    let mut scan = Scan::new().mode(work::read_mode(lock, wait)?);
    if let Some(index) = index {
        scan = scan.index(index);
    }
    for (bound, set) in [
        (equal, Scan::equal as fn(Scan, Vec<shoal_client::Value>) -> Scan),
        (from_, Scan::from),
        (after, Scan::after),
        (up_to, Scan::up_to),
        (before, Scan::before),
    ] {
        if let Some(bound) = bound {
            scan = set(scan, work::key(bound)?);
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
    Ok(ScanPlan { table: table.table.clone(), scan })
}

enum Source {
    /// A transaction of its own, from the first batch to the last.
    Client(Arc<Shared>),
    Transaction(Arc<Open>),
}

enum State {
    Fresh,
    Under(Arc<Open>, Box<Rows>),
    Done,
}

struct Walk {
    table: shoal_client::Table,
    scan: Scan,
    source: Source,
    state: Mutex<State>,
}

/// A scan in progress.
#[pyclass(frozen, module = "shoal")]
pub struct Cursor {
    walk: Arc<Walk>,
}

impl Cursor {
    fn new(plan: &ScanPlan, source: Source) -> Cursor {
        let (table, scan) = (plan.table.clone(), plan.scan.clone());
        Cursor { walk: Arc::new(Walk { table, scan, source, state: Mutex::new(State::Fresh) }) }
    }

    pub fn of_client(client: &Arc<Shared>, plan: &ScanPlan) -> Cursor {
        Cursor::new(plan, Source::Client(Arc::clone(client)))
    }

    pub fn of_transaction(transaction: &Arc<Open>, plan: &ScanPlan) -> Cursor {
        Cursor::new(plan, Source::Transaction(Arc::clone(transaction)))
    }
}

impl Walk {
    /// The next rows; none: the scan is at its end. Whatever fails ends it, and so does being cancelled.
    async fn next(&self) -> Result<Answer> {
        let mut state = self.state.lock().await;
        let (open, rows) = match std::mem::replace(&mut *state, State::Done) {
            State::Done => return Ok(Answer::Rows(Vec::new())),
            State::Under(open, rows) => (open, Some(rows)),
            State::Fresh => match &self.source {
                Source::Client(client) => (client.begin(Isolation::ReadCommitted).await?, None),
                Source::Transaction(open) => (Arc::clone(open), None),
            },
        };
        let (table, scan) = (self.table.clone(), self.scan.clone());
        let step = open.run(move |transaction| {
            Box::pin(async move {
                let mut rows = match rows {
                    Some(rows) => rows,
                    None => Box::new(transaction.scan(&table, &scan)?),
                };
                let batch = rows.next_batch(transaction).await?;
                Ok((rows, batch))
            })
        });
        let (rows, batch) = step.await?;
        if !batch.is_empty() {
            *state = State::Under(open, rows);
        }
        Ok(Answer::Rows(batch))
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
