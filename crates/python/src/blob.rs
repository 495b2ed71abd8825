//! Long values in pieces.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use shoal_client::{Blob, ReadMode, Result};

use crate::answer::Answer;
use crate::arguments;
use crate::open::Open;
use crate::operation::Operation;
use crate::table::Table;

/// A value of a row, in a transaction.
#[pyclass(frozen, module = "shoal")]
pub struct BlobCore {
    open: Arc<Open>,
    blob: Arc<Mutex<Blob>>,
}

/// What is done to a value.
enum Change {
    WriteAt(u64, Vec<u8>),
    Append(Vec<u8>),
    Truncate(u64),
    SetNull,
    Clear,
}

impl BlobCore {
    fn parts(&self) -> (Arc<Open>, Blob) {
        let blob = self.blob.lock().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&self.open), blob.clone())
    }

    /// Opens a value; the operation yields None if there is no such row.
    pub fn opening(
        open: &Arc<Open>,
        table: &Table,
        key: &Bound<'_, PyAny>,
        column: String,
        mode: ReadMode,
    ) -> PyResult<Operation> {
        let (open, table, key) = (Arc::clone(open), table.table.clone(), arguments::key(key)?);
        Ok(Operation::new(async move {
            let found = open.run(move |transaction| {
                Box::pin(async move { transaction.blob(&table, &key, &column, mode).await })
            });
            let found = found.await?;
            let blob = found.map(|blob| BlobCore { open, blob: Arc::new(Mutex::new(blob)) });
            Ok(blob.map_or(Answer::Nothing, Answer::object))
        }))
    }

    fn change(&self, change: Change) -> Operation {
        let (open, mut blob) = self.parts();
        let known = Arc::clone(&self.blob);
        Operation::new(async move {
            let done = open.run(move |transaction| {
                Box::pin(async move {
                    match change {
                        Change::WriteAt(position, bytes) => blob.write_at(transaction, position, &bytes).await,
                        Change::Append(bytes) => blob.append(transaction, &bytes).await,
                        Change::Truncate(length) => blob.truncate(transaction, length).await,
                        Change::SetNull => blob.set_null(transaction).await,
                        Change::Clear => blob.clear(transaction).await,
                    }?;
                    Ok(blob)
                })
            });
            // What it has done once for the row need not be done again.
            let done = done.await?;
            *known.lock().unwrap_or_else(PoisonError::into_inner) = done;
            Ok(Answer::Nothing)
        })
    }
}

#[pymethods]
impl BlobCore {
    /// None: the value is NULL.
    fn length(&self) -> Operation {
        let (open, blob) = self.parts();
        Operation::new(async move {
            let length: Result<_> =
                open.run(move |transaction| Box::pin(async move { blob.length(transaction).await })).await;
            length.map(Answer::Number)
        })
    }

    /// Fewer bytes where the value ends; None: it is NULL.
    fn read_at(&self, position: u64, length: usize) -> Operation {
        let (open, blob) = self.parts();
        Operation::new(async move {
            let bytes: Result<_> = open
                .run(move |transaction| Box::pin(async move { blob.read_at(transaction, position, length).await }))
                .await;
            bytes.map(Answer::Bytes)
        })
    }

    fn write_at(&self, position: u64, bytes: Vec<u8>) -> Operation {
        self.change(Change::WriteAt(position, bytes))
    }

    fn append(&self, bytes: Vec<u8>) -> Operation {
        self.change(Change::Append(bytes))
    }

    fn truncate(&self, length: u64) -> Operation {
        self.change(Change::Truncate(length))
    }

    fn set_null(&self) -> Operation {
        self.change(Change::SetNull)
    }

    fn clear(&self) -> Operation {
        self.change(Change::Clear)
    }
}
