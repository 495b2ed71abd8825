//! What operations do, taken from Python once and carried out on one of the client's threads.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use shoal_client::{ReadMode, Result, Session, Transaction, Update, Value};

use crate::answer::Answer;
use crate::arguments::{Key, key, read_mode};
use crate::filter::Filter;
use crate::row::Row;
use crate::scan::{Plan, Visit};
use crate::table::Table;
use crate::value;

/// An operation that has not begun.
#[pyclass(frozen, module = "shoal")]
#[derive(Clone)]
pub struct Work {
    table: shoal_client::Table,
    task: Task,
    /// Asked for one row: the answer is about one.
    is_single: bool,
}

#[derive(Clone)]
enum Task {
    Get {
        keys: Vec<Key>,
        mode: ReadMode,
    },
    GetUnique {
        index: String,
        keys: Vec<Key>,
        mode: ReadMode,
    },
    Visit(Visit),
    Insert {
        columns: Vec<String>,
        rows: Vec<Vec<Value>>,
    },
    Put {
        columns: Vec<String>,
        rows: Vec<Vec<Value>>,
    },
    /// By the primary key, or a unique index.
    Update {
        index: Option<String>,
        keys: Vec<Key>,
        update: Update,
    },
    Delete {
        index: Option<String>,
        keys: Vec<Key>,
    },
}

impl Work {
    pub async fn on_session(self, session: &Session) -> Result<Answer> {
        let table = &self.table;
        let answer = match &self.task {
            Task::Get { keys, .. } if self.is_single => Answer::Row(session.get(table, &keys[0]).await?),
            Task::Get { keys, .. } => Answer::PerhapsRows(session.get_many(table, keys).await?),
            Task::GetUnique { index, keys, .. } => {
                Answer::PerhapsRows(session.get_unique_many(table, index, keys).await?)
            }
            Task::Visit(Visit::Scan(scan)) => Answer::Rows(session.scan(table, scan).await?),
            Task::Visit(Visit::Linked(linked)) => Answer::Tuples(session.linked(linked).await?),
            Task::Insert { columns, rows } => {
                Answer::Number(session.insert_many(table, &names(columns), rows).await?)
            }
            Task::Put { columns, rows } => {
                session.put_many(table, &names(columns), rows).await?;
                Answer::Nothing
            }
            Task::Update { index: None, keys, update } => {
                Answer::Count(session.update_many(table, keys, update).await?)
            }
            Task::Update { index: Some(index), keys, update } => {
                Answer::Count(session.update_unique_many(table, index, keys, update).await?)
            }
            Task::Delete { index: None, keys } => Answer::Count(session.delete_many(table, keys).await?),
            Task::Delete { index: Some(index), keys } => {
                Answer::Count(session.delete_unique_many(table, index, keys).await?)
            }
        };
        Ok(self.narrowed(answer))
    }

    pub async fn in_transaction(self, transaction: &mut Transaction) -> Result<Answer> {
        let table = &self.table;
        let answer = match &self.task {
            Task::Get { keys, mode } if self.is_single => {
                Answer::Row(transaction.get(table, &keys[0], *mode).await?)
            }
            Task::Get { keys, mode } => Answer::PerhapsRows(transaction.get_many(table, keys, *mode).await?),
            Task::GetUnique { index, keys, mode } => {
                Answer::PerhapsRows(transaction.get_unique_many(table, index, keys, *mode).await?)
            }
            Task::Visit(Visit::Scan(scan)) => Answer::Rows(transaction.scan_all(table, scan).await?),
            Task::Visit(Visit::Linked(linked)) => Answer::Tuples(transaction.linked_all(linked).await?),
            Task::Insert { columns, rows } => {
                Answer::Number(transaction.insert_many(table, &names(columns), rows).await?)
            }
            Task::Put { columns, rows } => {
                transaction.put_many(table, &names(columns), rows).await?;
                Answer::Nothing
            }
            Task::Update { index: None, keys, update } => {
                Answer::Count(transaction.update_many(table, keys, update).await?)
            }
            Task::Update { index: Some(index), keys, update } => {
                Answer::Count(transaction.update_unique_many(table, index, keys, update).await?)
            }
            Task::Delete { index: None, keys } => Answer::Count(transaction.delete_many(table, keys).await?),
            Task::Delete { index: Some(index), keys } => {
                Answer::Count(transaction.delete_unique_many(table, index, keys).await?)
            }
        };
        Ok(self.narrowed(answer))
    }

    fn narrowed(&self, answer: Answer) -> Answer {
        match answer {
            Answer::PerhapsRows(mut rows) if self.is_single => Answer::Row(rows.pop().flatten()),
            Answer::Count(count) if self.is_single => Answer::Truth(count == 1),
            other => other,
        }
    }
}

fn names(columns: &[String]) -> Vec<&str> {
    columns.iter().map(String::as_str).collect()
}

// ---- From Python ----

/// One key, or with `is_single` false a list of them.
fn keys(given: &Bound<'_, PyAny>, is_single: bool) -> PyResult<Vec<Key>> {
    match is_single {
        true => Ok(vec![key(given)?]),
        false => given.try_iter()?.map(|one| key(&one?)).collect(),
    }
}

/// Columns and values of rows that are mappings by columns' names, all of the same columns, or sequences of values.
fn rows(given: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<(Vec<String>, Vec<Vec<Value>>)> {
    let (mut columns, mut rows) = (columns, Vec::new());
    for row in given.try_iter()? {
        let row = row?;
        if row.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("a row is a mapping or a sequence, not a str"));
        }
        let is_row = row.is_instance_of::<Row>();
        if !is_row && row.cast::<PyMapping>().is_err() {
            rows.push(row.try_iter()?.map(|value| value::from_python(&value?)).collect::<PyResult<_>>()?);
            continue;
        }
        let row = if is_row { row.call_method0("as_dict")? } else { row };
        let dict = match row.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            Err(_) => PyDict::from_sequence(&row.call_method0("items")?)?,
        };
        let names = match &columns {
            Some(names) => names,
            None => columns.insert(dict.keys().extract()?),
        };
        let different = || {
            let message = format!("row {} has not the columns {}", rows.len() + 1, names.join(", "));
            PyValueError::new_err(message)
        };
        if dict.len() != names.len() {
            return Err(different());
        }
        let mut values = Vec::with_capacity(names.len());
        for name in names {
            values.push(value::from_python(&dict.get_item(name)?.ok_or_else(different)?)?);
        }
        rows.push(values);
    }
    Ok((columns.unwrap_or_default(), rows))
}

fn work(table: &Table, task: Task, is_single: bool) -> Work {
    Work { table: table.table.clone(), task, is_single }
}

#[pyfunction]
pub fn get(
    table: &Table,
    key: &Bound<'_, PyAny>,
    is_single: bool,
    lock: Option<&str>,
    wait: &str,
) -> PyResult<Work> {
    let task = Task::Get { keys: keys(key, is_single)?, mode: read_mode(lock, wait)? };
    Ok(work(table, task, is_single))
}

#[pyfunction]
pub fn get_unique(
    table: &Table,
    index: String,
    key: &Bound<'_, PyAny>,
    is_single: bool,
    lock: Option<&str>,
    wait: &str,
) -> PyResult<Work> {
    let task = Task::GetUnique { index, keys: keys(key, is_single)?, mode: read_mode(lock, wait)? };
    Ok(work(table, task, is_single))
}

#[pyfunction]
pub fn scan_all(plan: &Plan) -> Work {
    Work { table: plan.table.clone(), task: Task::Visit(plan.visit.clone()), is_single: false }
}

#[pyfunction]
pub fn insert(table: &Table, given: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Work> {
    let (columns, rows) = rows(given, columns)?;
    Ok(work(table, Task::Insert { columns, rows }, false))
}

#[pyfunction]
pub fn put(table: &Table, given: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Work> {
    let (columns, rows) = rows(given, columns)?;
    Ok(work(table, Task::Put { columns, rows }, false))
}

#[pyfunction]
pub fn update(
    table: &Table,
    key: &Bound<'_, PyAny>,
    is_single: bool,
    set: Option<&Bound<'_, PyDict>>,
    add: Option<&Bound<'_, PyDict>>,
    only_if: Option<&Filter>,
    index: Option<String>,
) -> PyResult<Work> {
    let mut update = Update::new();
    for (name, new) in set.into_iter().flat_map(|set| set.iter()) {
        update = update.set(name.cast::<PyString>()?.to_cow()?.as_ref(), value::from_python(&new)?);
    }
    for (name, number) in add.into_iter().flat_map(|add| add.iter()) {
        update = update.add(name.cast::<PyString>()?.to_cow()?.as_ref(), value::from_python(&number)?);
    }
    if let Some(condition) = only_if {
        update = update.only_if(condition.inner.clone());
    }
    Ok(work(table, Task::Update { index, keys: keys(key, is_single)?, update }, is_single))
}

#[pyfunction]
pub fn delete(table: &Table, key: &Bound<'_, PyAny>, is_single: bool, index: Option<String>) -> PyResult<Work> {
    Ok(work(table, Task::Delete { index, keys: keys(key, is_single)? }, is_single))
}
