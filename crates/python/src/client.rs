//! A client, for both faces.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shoal_client::{Client, EventOptions, Isolation, Options, Transporter};

use crate::answer::Answer;
use crate::error::raised;
use crate::events::EventsCore;
use crate::operation::{Operation, cancellable, unless_cancelled};
use crate::scan::{Cursor, Plan};
use crate::shared::Shared;
use crate::table::Table;
use crate::transaction::TransactionCore;
use crate::work::Work;

#[pyclass(frozen, module = "shoal")]
pub struct ClientCore {
    shared: Arc<Shared>,
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
        Ok(Operation::new(async move {
            let open = shared.begin(isolation).await?;
            Ok(Answer::object(TransactionCore::new(open)))
        }))
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
        Ok(Operation::new(async move {
            let stream = shared.follow(tables, options).await?;
            Ok(Answer::object(EventsCore::new(stream)))
        }))
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
        Ok(Answer::object(ClientCore { shared: Arc::new(Shared::new(client)) }))
    }))
}
