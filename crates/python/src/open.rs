//! A transaction that is open. Its operations run one after the other, however many wait; one that is cancelled ends the
//! transaction, because nobody has heard what became of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use shoal_client::{ClientTransaction, Error, LocalFuture, Result, Transaction};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::misused;
use crate::operation::{cancellable, unless_cancelled};
use crate::origin::Origin;

/// A transaction that has begun.
pub struct Open {
    /// `None`: it is over.
    transaction: Arc<Mutex<Option<ClientTransaction>>>,
    /// It is to end as soon as nobody uses it.
    is_abandoned: AtomicBool,
    client: Weak<Origin>,
}

/// The use of a transaction by one operation. Dropped before the operation's end, it ends the transaction.
struct Use {
    open: Arc<Open>,
    guard: OwnedMutexGuard<Option<ClientTransaction>>,
    is_complete: bool,
}

impl Drop for Use {
    fn drop(&mut self) {
        if !self.is_complete {
            self.open.is_abandoned.store(true, Ordering::Release);
        }
        if self.open.is_abandoned.load(Ordering::Acquire) {
            *self.guard = None;
        }
    }
}

/// An operation of the transaction was cancelled, or all of it was given up.
fn ended() -> Error {
    Error::unknown("this transaction was rolled back: an operation of it was cancelled, or its client closed")
        .rolling_back_transaction()
}

/// The transaction has been committed or rolled back before.
fn over() -> Error {
    misused("this transaction is over")
}

impl Open {
    pub fn new(transaction: ClientTransaction, client: &Arc<Origin>) -> Open {
        Open {
            transaction: Arc::new(Mutex::new(Some(transaction))),
            is_abandoned: AtomicBool::new(false),
            client: Arc::downgrade(client),
        }
    }

    /// Rolls back, now or when the operation that is under way ends.
    pub fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Release);
        if let Ok(mut transaction) = self.transaction.try_lock() {
            *transaction = None;
        }
    }

    pub fn check_process(&self) -> PyResult<()> {
        self.client.upgrade().map_or(Ok(()), |client| client.check())
    }

    fn why_over(&self) -> Error {
        if self.is_abandoned.load(Ordering::Acquire) { ended() } else { over() }
    }

    async fn enter(self: &Arc<Self>) -> Use {
        let guard = Arc::clone(&self.transaction).lock_owned().await;
        Use { open: Arc::clone(self), guard, is_complete: false }
    }

    /// Runs an operation in the transaction.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let mut used = self.enter().await;
        let Some(transaction) = used.guard.as_mut() else {
            used.is_complete = true;
            return Err(self.why_over());
        };
        let (_waiter, cancelled) = cancellable();
        let result = transaction
            .run(move |transaction| Box::pin(unless_cancelled(cancelled, operation(transaction))))
            .await;
        used.is_complete = true;
        result
    }

    pub async fn commit(self: &Arc<Self>) -> Result<()> {
        let mut used = self.enter().await;
        let transaction = used.guard.take();
        used.is_complete = true;
        drop(used);
        let transaction = transaction.ok_or_else(|| self.why_over())?;
        transaction.commit().await
    }

    pub async fn rollback(self: &Arc<Self>) {
        let mut used = self.enter().await;
        *used.guard = None;
        used.is_complete = true;
    }
}
