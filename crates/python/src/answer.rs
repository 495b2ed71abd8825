//! What operations come to, on its way to Python.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use shoal_client::Tuple;

use crate::row::Row;

type MakeObject = Box<dyn for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send>;

/// What an operation came to.
pub enum Answer {
    Nothing,
    Row(Option<shoal_client::Row>),
    PerhapsRows(Vec<Option<shoal_client::Row>>),
    Rows(Vec<shoal_client::Row>),
    Tuples(Vec<Tuple>),
    Number(Option<u64>),
    Count(u64),
    Truth(bool),
    Bytes(Option<Vec<u8>>),
    /// Made when the interpreter is at hand.
    Object(MakeObject),
}

impl Answer {
    /// An object that other operations are asked of.
    pub fn object<T>(object: T) -> Answer
    where
        T: PyClass + Into<PyClassInitializer<T>> + Send + 'static,
    {
        Answer::Object(Box::new(move |py| Ok(Bound::new(py, object)?.into_any())))
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let row = |row: Option<shoal_client::Row>| match row {
            Some(row) => Ok(Bound::new(py, Row { row })?.into_any()),
            None => Ok(py.None().into_bound(py)),
        };
        Ok(match self {
            Answer::Nothing => py.None().into_bound(py),
            Answer::Row(found) => row(found)?,
            Answer::PerhapsRows(rows) => {
                PyList::new(py, rows.into_iter().map(row).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Answer::Rows(rows) => {
                let rows = rows.into_iter().map(|one| row(Some(one))).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, rows)?.into_any()
            }
            Answer::Tuples(tuples) => {
                let tuple =
                    |rows: Tuple| PyTuple::new(py, rows.into_iter().map(row).collect::<PyResult<Vec<_>>>()?);
                PyList::new(py, tuples.into_iter().map(tuple).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Answer::Number(number) => number.into_pyobject(py)?.into_any(),
            Answer::Count(count) => count.into_pyobject(py)?.into_any(),
            Answer::Truth(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
            Answer::Bytes(Some(bytes)) => PyBytes::new(py, &bytes).into_any(),
            Answer::Bytes(None) => py.None().into_bound(py),
            Answer::Object(make) => make(py)?,
        })
    }
}
