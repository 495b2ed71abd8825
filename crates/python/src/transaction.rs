//! Transactions: what is asked of one that is open.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::arguments::read_mode;
use crate::blob::BlobCore;
use crate::open::Open;
use crate::operation::Operation;
use crate::scan::{Cursor, Plan};
use crate::table::Table;
use crate::work::Work;

/// A point to roll back to.
#[pyclass(frozen, module = "shoal")]
pub struct Savepoint {
    savepoint: shoal_client::Savepoint,
}

#[pyclass(frozen, module = "shoal")]
pub struct TransactionCore {
    open: Arc<Open>,
}

impl TransactionCore {
    pub fn new(open: Arc<Open>) -> TransactionCore {
        TransactionCore { open }
    }
}

#[pymethods]
impl TransactionCore {
    fn start(&self, work: &Work) -> PyResult<Operation> {
        self.open.check_process()?;
        let (open, work) = (Arc::clone(&self.open), work.clone());
        Ok(Operation::new(
            async move { open.run(move |transaction| Box::pin(work.in_transaction(transaction))).await },
        ))
    }

    fn scan(&self, plan: &Plan) -> PyResult<Cursor> {
        self.open.check_process()?;
        Ok(Cursor::of_transaction(&self.open, plan))
    }

    /// A value to be read and written in pieces; None if there is no such row.
    fn blob(
        &self,
        table: &Table,
        key: &Bound<'_, PyAny>,
        column: String,
        lock: Option<&str>,
        wait: &str,
    ) -> PyResult<Operation> {
        self.open.check_process()?;
        BlobCore::opening(&self.open, table, key, column, read_mode(lock, wait)?)
    }

    fn commit(&self) -> PyResult<Operation> {
        self.open.check_process()?;
        let open = Arc::clone(&self.open);
        Ok(Operation::new(async move { open.commit().await.map(|()| Answer::Nothing) }))
    }

    /// Waits for nothing but the operation that is under way.
    fn rollback(&self) -> PyResult<Operation> {
        self.open.check_process()?;
        let open = Arc::clone(&self.open);
        Ok(Operation::new(async move {
            open.rollback().await;
            Ok(Answer::Nothing)
        }))
    }

    /// Rolls back without waiting, not even for the operation that is under way.
    fn abandon(&self) {
        if self.open.check_process().is_ok() {
            self.open.abandon();
        }
    }

    fn savepoint(&self) -> PyResult<Operation> {
        self.open.check_process()?;
        let open = Arc::clone(&self.open);
        Ok(Operation::new(async move {
            let taken = open.run(|transaction| Box::pin(async { Ok(transaction.savepoint()) })).await;
            taken.map(|savepoint| Answer::object(Savepoint { savepoint }))
        }))
    }

    fn rollback_to(&self, savepoint: &Savepoint) -> PyResult<Operation> {
        self.open.check_process()?;
        let (open, savepoint) = (Arc::clone(&self.open), savepoint.savepoint.clone());
        Ok(Operation::new(async move {
            let back = open.run(move |transaction| {
                Box::pin(async move {
                    transaction.rollback_to(&savepoint);
                    Ok(Answer::Nothing)
                })
            });
            back.await
        }))
    }
}
