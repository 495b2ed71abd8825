//! Tables.

use pyo3::prelude::*;

use crate::error::raised;

/// A table of the cluster; it follows changes of its definition.
#[pyclass(frozen, module = "shoal")]
pub struct Table {
    pub table: shoal_client::Table,
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

    fn __repr__(&self) -> String {
        let columns = self.table.columns().map_or_else(|_| "dropped".to_owned(), |columns| columns.join(", "));
        format!("<shoal.Table {}.{} ({columns})>", self.table.database(), self.table.name())
    }
}
