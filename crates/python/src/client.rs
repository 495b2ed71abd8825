//! A client, for both faces.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shoal_client::{Client, Error, EventOptions, Isolation, Options, Result, Transporter};

use crate::error::{forked, raised};
use crate::events::{End, Stream};
use crate::operation::{Operation, cancellable, unless_cancelled};
use crate::scan::{Cursor, Plan};
use crate::table::Table;
use crate::transaction::Open;
use crate::work::{Answer, Work};

/// What a client's Python objects share.
pub struct Shared {
    /// `None`: it is closed.
    client: Mutex<Option<Client>>,
    /// Closing waits for the client's threads, and these for the transactions and streams.
    transactions: Mutex<Vec<Weak<Open>>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    /// Of the process whose threads the client's are.
    process: u32,
}

pub fn closed() -> Error {
    Error::unknown("this client is closed")
}

/// Notes what is to end with the client; forgets what has ended before.
fn remember<T>(all: &Mutex<Vec<Weak<T>>>, one: &Arc<T>) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() == all.capacity() {
        all.retain(|one| one.strong_count() > 0);
    }
    all.push(Arc::downgrade(one));
}

impl Shared {
    fn new(client: Client) -> Shared {
        Shared {
            client: Mutex::new(Some(client)),
            transactions: Mutex::default(),
            streams: Mutex::default(),
            process: std::process::id(),
        }
    }

    pub fn client(&self) -> Result<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)
    }

    /// # Errors
    /// This process is a fork of the one that the client is in.
    pub fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() { Ok(()) } else { Err(forked(self.process)) }
    }

    /// Begins a transaction, which ends when the client is closed.
    pub async fn begin(self: &Arc<Self>, isolation: Isolation) -> Result<Arc<Open>> {
        let begun = self.client()?.begin(isolation).await?;
        let open = Arc::new(Open::new(begun, self));
        remember(&self.transactions, &open);
        if self.client().is_err() {
            // It was closed meanwhile, without knowing of this.
            open.abandon();
        }
        Ok(open)
    }

    /// Follows tables until the client is closed.
    async fn follow(
        self: &Arc<Self>,
        tables: Vec<shoal_client::Table>,
        options: EventOptions,
    ) -> Result<Arc<Stream>> {
        let followed: Vec<&shoal_client::Table> = tables.iter().collect();
        let events = self.client()?.events(&followed, options).await?;
        let stream = Arc::new(Stream::new(events, self));
        remember(&self.streams, &stream);
        if self.client().is_err() {
            stream.end(End::ClientClosed);
        }
        Ok(stream)
    }

    fn close(&self) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        let transactions = std::mem::take(&mut *self.transactions.lock().unwrap_or_else(PoisonError::into_inner));
        for open in transactions.iter().filter_map(Weak::upgrade) {
            open.abandon();
        }
        let streams = std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        for stream in streams.iter().filter_map(Weak::upgrade) {
            stream.end(End::ClientClosed);
        }
        match self.process == std::process::id() {
            true => drop(client),
            // Its threads are not in this process, and its links are the other's.
            false => std::mem::forget(client),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

#[pyclass(frozen, module = "shoal")]
pub struct ClientCore {
    shared: Arc<Shared>,
}

impl ClientCore {
    pub fn new(shared: Arc<Shared>) -> ClientCore {
        ClientCore { shared }
    }
}

fn isolation_of(name: &str) -> PyResult<Isolation> {
    match name {
        "read committed" => Ok(Isolation::ReadCommitted),
        "repeatable read" => Ok(Isolation::RepeatableRead),
        "serializable" => Ok(Isolation::Serializable),
        other => {
            let message =
                format!("isolation={other:?}: it is \"read committed\", \"repeatable read\" or \"serializable\"");
            Err(PyValueError::new_err(message))
        }
    }
}

#[pymethods]
impl ClientCore {
    fn table(&self, py: Python<'_>, database: &str, name: &str) -> PyResult<Table> {
        self.shared.check_process()?;
        let table = self.shared.client().and_then(|client| client.table(database, name));
        table.map(|table| Table { table }).map_err(|error| raised(py, &error))
    }

    /// An operation that is a transaction of its own.
    fn start(&self, work: &Work) -> PyResult<Operation> {
        self.shared.check_process()?;
        let (shared, work) = (Arc::clone(&self.shared), work.clone());
        Ok(Operation::new(async move {
            let client = shared.client()?;
            let (_waiter, cancelled) = cancellable();
            let job = |session: shoal_client::Session| async move {
                unless_cancelled(cancelled, work.on_session(&session)).await
            };
            client.run(job).await
        }))
    }

    fn begin(&self, isolation: &str) -> PyResult<Operation> {
        self.shared.check_process()?;
        let (shared, isolation) = (Arc::clone(&self.shared), isolation_of(isolation)?);
        Ok(Operation::new(async move { shared.begin(isolation).await.map(Answer::Begun) }))
    }

    fn scan(&self, plan: &Plan) -> PyResult<Cursor> {
        self.shared.check_process()?;
        Ok(Cursor::of_client(&self.shared, plan))
    }

    /// Follows tables from the operation's end on.
    fn events(&self, tables: Vec<PyRef<'_, Table>>, window_bytes: usize) -> PyResult<Operation> {
        self.shared.check_process()?;
        let shared = Arc::clone(&self.shared);
        let tables = tables.iter().map(|table| table.table.clone()).collect();
        let options = EventOptions { window_bytes };
        Ok(Operation::new(async move { shared.follow(tables, options).await.map(Answer::Following) }))
    }

    /// Ends the client's threads and links, its transactions and its streams.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.shared.close());
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.shared.client().is_err()
    }
}

/// Joins the cluster.
#[pyfunction]
// Python's faces give all of them.
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (addresses, workers, jobs_max, lock_wait_timeout, connect_timeout, spin, transporter, tls_search_path))]
pub fn connect(
    addresses: String,
    workers: usize,
    jobs_max: usize,
    lock_wait_timeout: Duration,
    connect_timeout: Duration,
    spin: Duration,
    transporter: &str,
    tls_search_path: Option<PathBuf>,
) -> PyResult<Operation> {
    let transporter = match transporter {
        "tcp" => Transporter::Tcp,
        "unix" => Transporter::Unix,
        "shm" => Transporter::SharedMemory,
        other => {
            let message = format!("transporter={other:?}: it is \"shm\", \"unix\" or \"tcp\"");
            return Err(PyValueError::new_err(message));
        }
    };
    let options =
        Options { transporter, tls_search_path, spin, lock_wait_timeout, connect_timeout, workers, jobs_max };
    Ok(Operation::new(async move {
        let client = Client::connect(&addresses, options).await?;
        Ok(Answer::Connected(Arc::new(Shared::new(client))))
    }))
}
