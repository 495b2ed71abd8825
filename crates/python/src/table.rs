//! Tables.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;

use crate::error::raised;

/// A table of the cluster; it follows changes of its definition.
#[pyclass(frozen, module = "shoal")]
pub struct Table {
    pub table: shoal_client::Table,
}

impl Table {
    fn names(&self) -> (&str, &str) {
        (self.table.database(), self.table.name())
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    #[getter]
    fn database(&self) -> &str {
        self.table.database()
    }

    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.table.columns().map_err(|error| raised(py, &error))
    }

    /// Of the same names.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Table>().is_ok_and(|other| self.names() == other.get().names())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.names().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let columns = self.table.columns().map_or_else(|_| "dropped".to_owned(), |columns| columns.join(", "));
        format!("<shoal.Table {}.{} ({columns})>", self.table.database(), self.table.name())
    }
}
