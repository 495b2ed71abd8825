//! The client's errors as Python's exceptions, which `shoal._errors` defines.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use shoal_types::{Error, ErrorCode, Outcome};

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let outcome = match error.outcome() {
        Outcome::NotCommitted => "not committed",
        Outcome::Committed => "committed",
        Outcome::Unknown => "unknown",
    };
    let state = String::from_utf8_lossy(error.sqlstate());
    let make = MAKE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("shoal._errors")?.getattr("make")?.unbind()));
    let arguments = (error.errno(), state, error.message(), outcome, error.rolls_back_transaction());
    match make.and_then(|make| make.bind(py).call1(arguments)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(broken) => broken,
    }
}

/// What was asked for makes no sense here, whatever the cluster says.
pub fn misused(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::WrongArguments, message)
}

/// The client was closed before the operation, or meanwhile.
pub fn closed() -> Error {
    Error::unknown("this client is closed")
}

/// The client's threads are the parent's.
pub fn forked(parent: u32) -> PyErr {
    PyRuntimeError::new_err(format!(
        "this client was connected by process {parent}, of which this one is a fork: its threads and links stayed there; connect \
         again in this process"
    ))
}
