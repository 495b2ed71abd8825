//! Linked operations: what is asked for, built operation by operation.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use shoal_client::Key;

use crate::filter::Filter;
use crate::scan::{Plan, Visit, scan_of};
use crate::table::Table;
use crate::{arguments, value};

/// A column of an earlier operation's rows as a part of a key: `link("customer")`, or `link("customer", 0)` of the first operation.
#[pyclass(frozen, module = "shoal", name = "link")]
pub struct KeyLink {
    column: String,
    operation: Option<usize>,
}

#[pymethods]
impl KeyLink {
    #[new]
    #[pyo3(signature = (column, operation=None))]
    fn new(column: String, operation: Option<usize>) -> KeyLink {
        KeyLink { column, operation }
    }

    #[getter]
    fn column(&self) -> &str {
        &self.column
    }

    /// `None`: the operation just before.
    #[getter]
    fn operation(&self) -> Option<usize> {
        self.operation
    }

    fn __repr__(&self) -> String {
        match self.operation {
            Some(operation) => format!("link({:?}, {operation})", self.column),
            None => format!("link({:?})", self.column),
        }
    }
}

/// Operations whose rows are the keys of the next one's. It is not changed by what is linked to it: that makes another one.
#[pyclass(frozen, module = "shoal")]
pub struct Linked {
    /// The first operation's.
    table: shoal_client::Table,
    linked: shoal_client::Linked,
    operations: usize,
}

/// What an operation shows of its rows.
fn chosen(
    linked: shoal_client::Linked,
    filter: Option<&Filter>,
    columns: Option<Vec<String>>,
) -> shoal_client::Linked {
    let linked = match filter {
        Some(filter) => linked.filter(filter.inner.clone()),
        None => linked,
    };
    match columns {
        Some(columns) => linked.columns(&columns.iter().map(String::as_str).collect::<Vec<_>>()),
        None => linked,
    }
}

impl Linked {
    fn first(table: &Table, linked: shoal_client::Linked) -> Linked {
        Linked { table: table.table.clone(), linked, operations: 1 }
    }

    /// A tuple or a list is a key of several columns; each is a value, or a column of an earlier operation.
    fn key(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Key>> {
        let part = |part: &Bound<'_, PyAny>| match part.cast::<KeyLink>() {
            Ok(link) => {
                let link = link.get();
                Ok(Key::column(link.operation.unwrap_or(self.operations - 1), &link.column))
            }
            Err(_) => value::from_python(part).map(Key::Value),
        };
        match given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
            true => given.try_iter()?.map(|one| part(&one?)).collect(),
            false => Ok(vec![part(given)?]),
        }
    }

    fn then(
        &self,
        linked: shoal_client::Linked,
        left: bool,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> Linked {
        let linked = if left { linked.left() } else { linked };
        Linked {
            table: self.table.clone(),
            linked: chosen(linked, filter, columns),
            operations: self.operations + 1,
        }
    }
}

#[pymethods]
impl Linked {
    /// Begins with the rows of a scan.
    #[staticmethod]
    #[pyo3(signature = (table, *, index=None, equal=None, from_=None, after=None, up_to=None, before=None, ordered=false,
        descending=false, limit=None, filter=None, columns=None))]
    // One keyword each, as a scan has them.
    #[expect(clippy::too_many_arguments)]
    fn scan(
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
    ) -> PyResult<Linked> {
        let bounds = [equal, from_, after, up_to, before];
        let scan = scan_of(index, bounds, ordered, descending, limit, filter, columns)?;
        Ok(Linked::first(table, shoal_client::Linked::scan(&table.table, scan)))
    }

    /// Begins with the row that has this primary key.
    #[staticmethod]
    #[pyo3(signature = (table, key, *, filter=None, columns=None))]
    fn get(
        table: &Table,
        key: &Bound<'_, PyAny>,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Linked> {
        let linked = shoal_client::Linked::get(&table.table, arguments::key(key)?);
        Ok(Linked::first(table, chosen(linked, filter, columns)))
    }

    /// Begins with the row that has this key of a unique index.
    #[staticmethod]
    #[pyo3(signature = (table, index, key, *, filter=None, columns=None))]
    fn get_unique(
        table: &Table,
        index: &str,
        key: &Bound<'_, PyAny>,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Linked> {
        let linked = shoal_client::Linked::get_unique(&table.table, index, arguments::key(key)?);
        Ok(Linked::first(table, chosen(linked, filter, columns)))
    }

    /// For each row so far the row that has this primary key: one round trip for a batch.
    #[pyo3(signature = (table, key, *, left=false, filter=None, columns=None))]
    fn then_get(
        &self,
        table: &Table,
        key: &Bound<'_, PyAny>,
        left: bool,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Linked> {
        let linked = self.linked.clone().then_get(&table.table, self.key(key)?);
        Ok(self.then(linked, left, filter, columns))
    }

    /// For each row so far the row that has this key of a unique index: two round trips for a batch.
    #[pyo3(signature = (table, index, key, *, left=false, filter=None, columns=None))]
    fn then_get_unique(
        &self,
        table: &Table,
        index: &str,
        key: &Bound<'_, PyAny>,
        left: bool,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Linked> {
        let linked = self.linked.clone().then_get_unique(&table.table, index, self.key(key)?);
        Ok(self.then(linked, left, filter, columns))
    }

    /// For each row so far the rows whose leading columns in the index have these values.
    #[pyo3(signature = (table, index, key, *, left=false, filter=None, columns=None))]
    fn then_scan(
        &self,
        table: &Table,
        index: &str,
        key: &Bound<'_, PyAny>,
        left: bool,
        filter: Option<&Filter>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Linked> {
        let linked = self.linked.clone().then_scan(&table.table, index, self.key(key)?);
        Ok(self.then(linked, left, filter, columns))
    }

    fn __repr__(&self) -> String {
        format!("<shoal.Linked {} operations>", self.operations)
    }
}

#[pyfunction]
pub fn linked_plan(linked: &Linked, lock: Option<&str>, wait: &str) -> PyResult<Plan> {
    let with_locks = linked.linked.clone().mode(arguments::read_mode(lock, wait)?);
    Ok(Plan { table: linked.table.clone(), visit: Visit::Linked(with_locks) })
}
