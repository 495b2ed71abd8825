//! A client for programs of many threads: its own threads read the links, and callers hand them what is to be done.
//!
//! A job is a piece of asynchronous code that is shipped to one of the client's threads and runs there to its end, with as many
//! operations in it as it wants: the hop between threads is paid once for all of them. Each thread runs a bounded number of jobs, and
//! a bounded number waits for it; a caller beyond that waits himself.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use shoal_txn::{Isolation, ReadMode};
use shoal_types::{Error, Outcome, Result, Value};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::core::Core;
use crate::events::{Event, EventOptions, Events};
use crate::linked::{Linked, Tuple};
use crate::options::Options;
use crate::row::Row;
use crate::runtime;
use crate::scan::Scan;
use crate::session::Session;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::write::Update;

/// A future of a client's thread.
pub type LocalFuture<'t, T> = Pin<Box<dyn Future<Output = T> + 't>>;

type Job = Box<dyn FnOnce(Session) -> LocalFuture<'static, ()> + Send>;
type Operation = Box<dyn for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, ()> + Send>;

/// The operations that a client has, as transactions of their own, and an open transaction as well; `run` gives them the transaction.
macro_rules! operations {
    ($run:ident, $($reference:tt)+) => {
        /// The rows that a scan finds, all at once.
        pub async fn scan($($reference)+ self, table: &Table, scan: Scan) -> Result<Vec<Row>> {
            let table = table.clone();
            self.$run(move |transaction| Box::pin(async move { transaction.scan_all(&table, &scan).await })).await
        }

        /// All tuples of linked operations.
        pub async fn linked($($reference)+ self, linked: Linked) -> Result<Vec<Tuple>> {
            self.$run(move |transaction| Box::pin(async move { transaction.linked_all(&linked).await })).await
        }

        /// `columns` empty: all of them.
        pub async fn insert_many(
            $($reference)+ self,
            table: &Table,
            columns: &[&str],
            rows: Vec<Vec<Value>>,
        ) -> Result<Option<u64>> {
            let table = table.clone();
            let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
            self.$run(move |transaction| {
                Box::pin(async move {
                    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                    transaction.insert_many(&table, &columns, &rows).await
                })
            })
            .await
        }

        /// Changes the rows with these primary keys, and counts those that were there and fulfilled the update's
        /// condition.
        pub async fn update_many(
            $($reference)+ self,
            table: &Table,
            keys: Vec<Vec<Value>>,
            update: Update,
        ) -> Result<u64> {
            let table = table.clone();
            self.$run(move |transaction| {
                Box::pin(async move { transaction.update_many(&table, &keys, &update).await })
            })
            .await
        }

        /// The same by the keys of a unique index.
        pub async fn update_unique_many(
            $($reference)+ self,
            table: &Table,
            index: &str,
            keys: Vec<Vec<Value>>,
            update: Update,
        ) -> Result<u64> {
            let (table, index) = (table.clone(), index.to_owned());
            self.$run(move |transaction| {
                Box::pin(async move { transaction.update_unique_many(&table, &index, &keys, &update).await })
            })
            .await
        }

        /// Deletes the rows with these primary keys, and counts those that were there.
        pub async fn delete_many($($reference)+ self, table: &Table, keys: Vec<Vec<Value>>) -> Result<u64> {
            let table = table.clone();
            self.$run(move |transaction| Box::pin(async move { transaction.delete_many(&table, &keys).await })).await
        }

        /// The same by the keys of a unique index.
        pub async fn delete_unique_many(
            $($reference)+ self,
            table: &Table,
            index: &str,
            keys: Vec<Vec<Value>>,
        ) -> Result<u64> {
            let (table, index) = (table.clone(), index.to_owned());
            self.$run(move |transaction| {
                Box::pin(async move { transaction.delete_unique_many(&table, &index, &keys).await })
            })
            .await
        }
    };
}

/// A client that any thread may use. Cheap to clone; the last one closes it.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<Core>,
    queues: Vec<mpsc::Sender<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    turn: AtomicUsize,
}

/// The client's threads are gone before the job was done.
fn closed() -> Error {
    Error::unknown("this client is closed").with_outcome(Outcome::Unknown)
}

impl Client {
    /// As [`LocalClient::connect`](crate::LocalClient::connect).
    pub async fn connect(addresses: &str, options: Options) -> Result<Client> {
        let (ready, connected) = oneshot::channel();
        let addresses = addresses.to_owned();
        // Joining blocks, and a caller's thread is not to be blocked.
        let thread = std::thread::Builder::new().name("shoal-connect".into()).spawn(move || {
            // Whoever has gone away does not want it any more.
            let _ = ready.send(Client::start(&addresses, &options));
        });
        thread.map_err(|error| Error::unknown(format!("cannot start a thread: {error}")))?;
        let client = connected.await.map_err(|_| closed())??;
        let core = Arc::clone(&client.inner.core);
        client.run_on(0, move |_| async move { core.wait_until_ready().await }).await?;
        Ok(client)
    }

    fn start(addresses: &str, options: &Options) -> Result<Client> {
        let workers = options.workers.max(1);
        let core = Arc::new(Core::join(addresses, options, workers)?);
        let (mut queues, mut threads) = (Vec::with_capacity(workers), Vec::with_capacity(workers));
        for worker in 0..workers {
            let (sender, jobs) = mpsc::channel(options.jobs_max.max(1));
            let shared = Arc::clone(&core);
            let thread = std::thread::Builder::new()
                .name(format!("shoal-client-{worker}"))
                .spawn(move || serve(&shared, worker, jobs))
                .map_err(|error| Error::unknown(format!("cannot start a thread: {error}")))?;
            queues.push(sender);
            threads.push(thread);
        }
        let inner = Inner { core, queues, threads: Mutex::new(threads), turn: AtomicUsize::new(0) };
        Ok(Client { inner: Arc::new(inner) })
    }

    /// A table by the names of its database and its own. An error if there is none.
    pub fn table(&self, database: &str, name: &str) -> Result<Table> {
        self.inner.core.table(database, name)
    }

    /// Runs a job on one of the client's threads; they take turns.
    pub async fn run<F, R, T>(&self, job: F) -> Result<T>
    where
        F: FnOnce(Session) -> R + Send + 'static,
        R: Future<Output = Result<T>> + 'static,
        T: Send + 'static,
    {
        let turn = self.inner.turn.fetch_add(1, Ordering::Relaxed);
        self.run_on(turn % self.inner.queues.len(), job).await
    }

    /// The same on this one of them.
    pub async fn run_on<F, R, T>(&self, worker: usize, job: F) -> Result<T>
    where
        F: FnOnce(Session) -> R + Send + 'static,
        R: Future<Output = Result<T>> + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |session| {
            let running = job(session);
            Box::pin(async move {
                // A caller that has gone away does not want it any more.
                let _ = answer.send(running.await);
            })
        });
        let not_begun = |_| closed().with_outcome(Outcome::NotCommitted);
        self.inner.queues[worker].send(job).await.map_err(not_begun)?;
        answered.await.map_err(|_| closed())?
    }

    /// Begins a transaction that stays on one of the client's threads. It takes the place of a job there as long as it lasts.
    pub async fn begin(&self, isolation: Isolation) -> Result<ClientTransaction> {
        let (operations, mut wanted) = mpsc::channel::<Operation>(1);
        let (begun, has_begun) = oneshot::channel();
        let job: Job = Box::new(move |session| {
            Box::pin(async move {
                let mut transaction = session.begin(isolation);
                let _ = begun.send(());
                while let Some(operation) = wanted.recv().await {
                    operation(&mut transaction).await;
                }
            })
        });
        self.next_queue().send(job).await.map_err(|_| closed().with_outcome(Outcome::NotCommitted))?;
        has_begun.await.map_err(|_| closed())?;
        Ok(ClientTransaction { operations })
    }

    /// As [`Session::events`]. The stream takes the place of a job on one of the client's threads as long as it lasts.
    pub async fn events(&self, tables: &[&Table], options: EventOptions) -> Result<EventStream> {
        let tables: Vec<Table> = tables.iter().map(|&table| table.clone()).collect();
        let (sender, batches) = mpsc::channel(1);
        let (begun, has_begun) = oneshot::channel();
        let job: Job = Box::new(move |session| {
            Box::pin(async move {
                let tables: Vec<&Table> = tables.iter().collect();
                match session.events(&tables, options).await {
                    Ok(events) => {
                        let _ = begun.send(Ok(()));
                        pass_on(events, sender).await;
                    }
                    // Whoever has gone away does not want it any more.
                    Err(error) => drop(begun.send(Err(error))),
                }
            })
        });
        self.next_queue().send(job).await.map_err(|_| closed().with_outcome(Outcome::NotCommitted))?;
        has_begun.await.map_err(|_| closed())??;
        Ok(EventStream { batches, here: VecDeque::new() })
    }

    fn next_queue(&self) -> &mpsc::Sender<Job> {
        let turn = self.inner.turn.fetch_add(1, Ordering::Relaxed);
        &self.inner.queues[turn % self.inner.queues.len()]
    }

    /// The row with this primary key, in its newest committed version.
    pub async fn get(&self, table: &Table, key: Vec<Value>) -> Result<Option<Row>> {
        let table = table.clone();
        self.run(move |session| async move { session.get(&table, &key).await }).await
    }

    /// The rows with these primary keys, in the keys' order: one round trip. `None` where there is no row.
    pub async fn get_many(&self, table: &Table, keys: Vec<Vec<Value>>) -> Result<Vec<Option<Row>>> {
        let table = table.clone();
        self.run(move |session| async move { session.get_many(&table, &keys).await }).await
    }

    async fn run_in_own<T: Send + 'static>(
        &self,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.run(move |session| async move { operation(&mut session.auto()).await }).await
    }

    operations!(run_in_own, &);
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.core.close();
        self.queues.clear();
        let own = std::thread::current().id();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A job may hold the last handle.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

/// A transaction of a [`Client`]. Dropped before it is committed, it is rolled back.
pub struct ClientTransaction {
    operations: mpsc::Sender<Operation>,
}

impl ClientTransaction {
    /// Runs operations in the transaction, on the thread where it is.
    pub async fn run<T: Send + 'static>(
        &mut self,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let operation: Operation = Box::new(move |transaction| {
            Box::pin(async move {
                let _ = answer.send(operation(transaction).await);
            })
        });
        self.operations.send(operation).await.map_err(|_| closed().with_outcome(Outcome::NotCommitted))?;
        answered.await.map_err(|_| closed().with_outcome(Outcome::NotCommitted))?
    }

    /// The row with this primary key. As [`Transaction::get`].
    pub async fn get(&mut self, table: &Table, key: Vec<Value>, mode: ReadMode) -> Result<Option<Row>> {
        let table = table.clone();
        self.run(move |transaction| Box::pin(async move { transaction.get(&table, &key, mode).await })).await
    }

    operations!(run, &mut);

    /// As [`Transaction::commit`].
    pub async fn commit(self) -> Result<()> {
        let (answer, answered) = oneshot::channel();
        let operation: Operation = Box::new(move |transaction| {
            Box::pin(async move {
                let _ = answer.send(transaction.commit_here().await);
            })
        });
        self.operations.send(operation).await.map_err(|_| closed().with_outcome(Outcome::NotCommitted))?;
        answered.await.map_err(|_| closed())?
    }
}

/// The events of a [`Client`](Client::events). Dropped, it is over.
pub struct EventStream {
    batches: mpsc::Receiver<Result<Vec<Event>>>,
    here: VecDeque<Event>,
}

impl EventStream {
    /// As [`Events::next`].
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.here.pop_front() {
                return Ok(event);
            }
            self.here = self.receive().await?.into();
        }
    }

    /// The next event and those that have come with it. It may be given up and called again: nothing is lost.
    pub async fn next_batch(&mut self) -> Result<Vec<Event>> {
        match self.here.is_empty() {
            true => self.receive().await,
            false => Ok(self.here.drain(..).collect()),
        }
    }

    async fn receive(&mut self) -> Result<Vec<Event>> {
        self.batches.recv().await.ok_or_else(closed)?
    }
}

/// Batches are no larger than what the window lets come at a time; one waits here, one there.
async fn pass_on(mut events: Events, sender: mpsc::Sender<Result<Vec<Event>>>) {
    loop {
        let batch = tokio::select! {
            batch = events.next_batch() => batch,
            () = sender.closed() => return,
        };
        let is_end = batch.is_err();
        if sender.send(batch).await.is_err() || is_end {
            return;
        }
    }
}

/// One of the client's threads.
fn serve(core: &Arc<Core>, worker: usize, mut jobs: mpsc::Receiver<Job>) {
    // Without a loop the thread ends, and callers hear that the client is closed.
    let Ok(worker_loop) = runtime::worker_loop(&core.options) else { return };
    let session = Session::new(core);
    worker_loop.block_on(&*core.node, async {
        core.start_worker(worker);
        let places = Arc::new(Semaphore::new(core.options.jobs_max.max(1)));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await
            && let Some(job) = jobs.recv().await
        {
            let running = job(session.clone());
            tokio::task::spawn_local(async move {
                running.await;
                drop(place);
            });
        }
    });
}
