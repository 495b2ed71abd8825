//! Arguments that several operations take: keys, and how rows are read.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use shoal_client::{LockMode, LockWait, ReadMode, Value};

use crate::value;

pub type Key = Vec<Value>;

/// `lock`: None, "shared" or "exclusive"; `wait`: "wait", "nowait" or "skip locked".
pub fn read_mode(lock: Option<&str>, wait: &str) -> PyResult<ReadMode> {
    let lock = match lock {
        None => None,
        Some("shared") => Some(LockMode::Shared),
        Some("exclusive") => Some(LockMode::Exclusive),
        Some(other) => {
            return Err(PyValueError::new_err(format!("lock={other:?}: it is \"shared\" or \"exclusive\"")));
        }
    };
    let wait = match wait {
        "wait" => LockWait::Wait,
        "nowait" => LockWait::NoWait,
        "skip locked" => LockWait::SkipLocked,
        other => {
            let message = format!("wait={other:?}: it is \"wait\", \"nowait\" or \"skip locked\"");
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(ReadMode { lock, wait })
}

/// A tuple or a list is a key of several columns, anything else of one.
pub fn key(key: &Bound<'_, PyAny>) -> PyResult<Key> {
    match key.is_instance_of::<PyTuple>() || key.is_instance_of::<PyList>() {
        true => key.try_iter()?.map(|part| value::from_python(&part?)).collect(),
        false => Ok(vec![value::from_python(key)?]),
    }
}
