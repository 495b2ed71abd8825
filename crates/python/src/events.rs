//! Events: committed changes of tables' rows, as objects.
//!
//! A stream's events wait here until they are taken, and waiting for them takes none: whoever is cancelled while he waits, or after it,
//! has lost nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use shoal_client::{ChangeKind, Event, EventStream, Result};
use tokio::sync::watch;

use crate::client::{Shared, closed};
use crate::operation::Operation;
use crate::row::Row;
use crate::table::Table;
use crate::work::Answer;

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nobody wants more of it.
    Closed,
    ClientClosed,
    /// Whoever waited has been told why.
    Failed,
}

/// A stream that is followed.
pub struct Stream {
    /// `None`: it is over. Whoever waits for events has it.
    source: tokio::sync::Mutex<Option<EventStream>>,
    here: Mutex<VecDeque<Event>>,
    end: watch::Sender<Option<End>>,
    client: Weak<Shared>,
    /// Of the process whose threads the client's are.
    process: u32,
}

impl Stream {
    pub fn new(events: EventStream, client: &Arc<Shared>) -> Stream {
        Stream {
            source: tokio::sync::Mutex::new(Some(events)),
            here: Mutex::default(),
            end: watch::Sender::new(None),
            client: Arc::downgrade(client),
            process: std::process::id(),
        }
    }

    /// Ends the stream; those who wait for it hear of it. In a fork it stays what it is: the other process's.
    pub fn end(&self, why: End) {
        if self.process != std::process::id() {
            return;
        }
        self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            end.get_or_insert(why);
            is_first
        });
        self.here.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.let_go();
    }

    /// Gives the source up if all is over. Whoever has it does so himself, when he gives it back.
    fn let_go(&self) {
        if self.end.borrow().is_some()
            && let Ok(mut source) = self.source.try_lock()
        {
            *source = None;
        }
    }

    fn take(&self) -> Option<Event> {
        if self.end.borrow().is_some() {
            return None;
        }
        self.here.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn has_events(&self) -> bool {
        !self.here.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn over(&self) -> Result<bool> {
        match *self.end.borrow() {
            Some(End::ClientClosed) => Err(closed()),
            Some(End::Closed | End::Failed) | None => Ok(false),
        }
    }

    /// Waits until events are here. False: the stream is over.
    async fn ready(&self) -> Result<bool> {
        let mut end = self.end.subscribe();
        // Dropped behind the source's guard.
        let _returned = Returned(self);
        let mut source = self.source.lock().await;
        if self.has_events() {
            return Ok(true);
        }
        let Some(events) = source.as_mut() else { return self.over() };
        let batch = tokio::select! {
            biased;
            // What is waited for holds the channel's lock, and is to be gone before it is looked at again.
            () = async { drop(end.wait_for(Option::is_some).await) } => return self.over(),
            batch = events.next_batch() => batch,
        };
        match batch {
            Ok(batch) => {
                self.here.lock().unwrap_or_else(PoisonError::into_inner).extend(batch);
                Ok(true)
            }
            Err(error) => {
                self.end.send_replace(Some(End::Failed));
                Err(error)
            }
        }
    }

    fn check_process(&self) -> PyResult<()> {
        self.client.upgrade().map_or(Ok(()), |client| client.check_process())
    }
}

/// The source has been given back, by someone who has come to his end or was cancelled.
struct Returned<'s>(&'s Stream);

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Whoever would be told is not in this process.
            std::mem::forget(self.source.get_mut().take());
        }
    }
}

#[pyclass(frozen, module = "shoal")]
pub struct EventsCore {
    stream: Arc<Stream>,
}

impl EventsCore {
    pub fn new(stream: Arc<Stream>) -> EventsCore {
        EventsCore { stream }
    }
}

impl Drop for EventsCore {
    fn drop(&mut self) {
        self.stream.end(End::Closed);
    }
}

#[pymethods]
impl EventsCore {
    /// Waits until events are here. False: the stream is over.
    fn ready(&self) -> PyResult<Operation> {
        self.stream.check_process()?;
        let stream = Arc::clone(&self.stream);
        Ok(Operation::new(async move { stream.ready().await.map(Answer::Truth) }))
    }

    /// The next event that is here; `None`: there is none yet.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.stream.check_process()?;
        self.stream.take().map(|event| to_python(py, event)).transpose()
    }

    fn close(&self) {
        self.stream.end(End::Closed);
    }

    #[getter]
    fn is_over(&self) -> bool {
        self.stream.end.borrow().is_some()
    }
}

fn to_python(py: Python<'_>, event: Event) -> PyResult<Bound<'_, PyAny>> {
    Ok(match event {
        Event::Change(change) => Bound::new(py, Change::new(change))?.into_any(),
        Event::Complete(timestamp) => Bound::new(py, Complete { timestamp: timestamp.0 })?.into_any(),
        Event::Gap { after, reason } => {
            let reason = match reason {
                shoal_client::Gap::Compacted => "compacted",
                shoal_client::Gap::Lost => "lost",
                shoal_client::Gap::Unreadable => "unreadable",
            };
            Bound::new(py, Gap { after: after.0, reason })?.into_any()
        }
        Event::Altered(table) => Bound::new(py, Altered { table })?.into_any(),
        Event::Dropped(table) => Bound::new(py, Dropped { table })?.into_any(),
    })
}

/// A committed change of a row.
#[pyclass(frozen, module = "shoal")]
pub struct Change {
    change: shoal_client::Change,
}

impl Change {
    fn new(change: shoal_client::Change) -> Change {
        Change { change }
    }
}

#[pymethods]
impl Change {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("table", "kind", "row")
    }

    #[getter]
    fn table(&self) -> Table {
        Table { table: self.change.table.clone() }
    }

    /// "insert", "update" or "delete".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.change.kind {
            ChangeKind::Insert => "insert",
            ChangeKind::Update => "update",
            ChangeKind::Delete => "delete",
        }
    }

    /// The row as it is afterwards. Of one that was deleted the columns of its primary key.
    #[getter]
    fn row(&self) -> Row {
        Row { row: self.change.row.clone() }
    }

    /// When it was committed: greater is later.
    #[getter]
    fn timestamp(&self) -> u64 {
        self.change.timestamp.0
    }

    /// Changes of one transaction have the same.
    #[getter]
    fn transaction(&self) -> u64 {
        self.change.transaction.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let row = Bound::new(py, self.row())?.repr()?;
        Ok(format!(
            "Change({}, {:?}, {row}, timestamp={})",
            name(&self.change.table),
            self.kind(),
            self.timestamp()
        ))
    }
}

fn name(table: &shoal_client::Table) -> String {
    format!("{}.{}", table.database(), table.name())
}

/// Every change that was committed up to here has come.
#[pyclass(frozen, module = "shoal")]
pub struct Complete {
    #[pyo3(get)]
    timestamp: u64,
}

#[pymethods]
impl Complete {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("timestamp",)
    }

    fn __repr__(&self) -> String {
        format!("Complete({})", self.timestamp)
    }
}

/// Changes may be missing, after this timestamp and before this event: read the tables again.
#[pyclass(frozen, module = "shoal")]
pub struct Gap {
    #[pyo3(get)]
    after: u64,
    /// "compacted": it was read too slowly. "lost": all who had it in memory crashed. "unreadable": it cannot be told.
    #[pyo3(get)]
    reason: &'static str,
}

#[pymethods]
impl Gap {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("after", "reason")
    }

    fn __repr__(&self) -> String {
        format!("Gap({}, {:?})", self.after, self.reason)
    }
}

/// The table has a new definition, by which rows are shown from now on.
#[pyclass(frozen, module = "shoal")]
pub struct Altered {
    table: shoal_client::Table,
}

#[pymethods]
impl Altered {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("table",)
    }

    #[getter]
    fn table(&self) -> Table {
        Table { table: self.table.clone() }
    }

    fn __repr__(&self) -> String {
        format!("Altered({})", name(&self.table))
    }
}

/// The table was dropped, truncated, or altered so that its rows were copied: no more of its changes come.
#[pyclass(frozen, module = "shoal")]
pub struct Dropped {
    table: shoal_client::Table,
}

#[pymethods]
impl Dropped {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("table",)
    }

    #[getter]
    fn table(&self) -> Table {
        Table { table: self.table.clone() }
    }

    fn __repr__(&self) -> String {
        format!("Dropped({})", name(&self.table))
    }
}
