//! Rows: a mapping by columns' names and a tuple of values in one.

use pyo3::exceptions::{PyAttributeError, PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySlice, PyString, PyTuple};

use crate::value;

/// A row: `row["name"]`, `row.name`, `row[0]`; iterating yields the values, and `dict(row)` is a dict.
///
/// Its values are decoded when they are asked for.
#[pyclass(frozen, module = "shoal", sequence)]
pub struct Row {
    pub row: shoal_client::Row,
}

impl Row {
    fn value<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Bound<'py, PyAny>> {
        let found = self.row.value(position).zip(self.row.shape().types().get(position));
        let (value, sql_type) = found.ok_or_else(|| PyIndexError::new_err("the row has not so many columns"))?;
        value::to_python(py, &value, sql_type)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.row.names().iter().position(|one| one.eq_ignore_ascii_case(name))
    }

    fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values = self.row.values();
        let values = values.iter().zip(self.row.shape().types());
        let values = values.map(|(value, sql_type)| value::to_python(py, value, sql_type));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }
}

#[pymethods]
impl Row {
    fn __len__(&self) -> usize {
        self.row.names().len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.cast::<PyString>() {
            let name = name.to_cow()?;
            let position = self.position(&name).ok_or_else(|| PyKeyError::new_err(name.into_owned()))?;
            return self.value(py, position);
        }
        if key.is_instance_of::<PySlice>() {
            return self.tuple(py)?.into_any().get_item(key);
        }
        let position = key.cast::<PyInt>()?.extract::<isize>()?;
        let count = self.__len__() as isize;
        let position = if position < 0 { position + count } else { position };
        self.value(py, usize::try_from(position).unwrap_or(usize::MAX))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let position = self.position(name);
        let position =
            position.ok_or_else(|| PyAttributeError::new_err(format!("the row has no column {name}")))?;
        self.value(py, position)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.tuple(py)?.try_iter()?.into_any())
    }

    /// The columns' names.
    fn keys(&self) -> Vec<String> {
        self.row.names().to_vec()
    }

    /// The columns' values.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.tuple(py)
    }

    /// Names and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.as_dict(py).map(|dict| dict.items())
    }

    /// The column's value, or the default if the row has no such column.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.position(name) {
            Some(position) => self.value(py, position),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// A dict, as `dict(row)` is.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.row.names().iter().zip(self.tuple(py)?) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The values as a tuple.
    fn as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.tuple(py)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Row>() {
            let same_names = self.row.names() == other.get().row.names();
            return Ok(same_names && self.tuple(py)?.eq(other.get().tuple(py)?)?);
        }
        match other.is_instance_of::<PyDict>() {
            true => self.as_dict(py)?.eq(other),
            false => self.tuple(py)?.eq(other),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.tuple(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = self.row.names().iter().zip(self.tuple(py)?);
        let shown = shown.map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
        Ok(format!("Row({})", shown.collect::<PyResult<Vec<_>>>()?.join(", ")))
    }

    /// Rows go through queues and into files as dicts do: without the cluster that they are from.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        Ok((py.import("builtins")?.getattr("dict")?, (self.as_dict(py)?,)))
    }
}
