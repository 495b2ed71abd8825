//! Events: committed changes of tables' rows, as objects.

use std::sync::Arc;

use pyo3::prelude::*;
use shoal_client::{ChangeKind, Event};

use crate::answer::Answer;
use crate::operation::Operation;
use crate::row::Row;
use crate::stream::{End, Stream};
use crate::table::Table;

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
        self.stream.is_over()
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
