//! A client that lives on the thread that calls it: links are read where the answers are wanted, without a hop.

use std::ops::Deref;
use std::sync::Arc;

use shoal_cluster::worker_loop::WorkerLoop;
use shoal_types::{Error, Result};

use crate::core::Core;
use crate::options::Options;
use crate::runtime;
use crate::session::Session;

/// A client of one thread. Nothing happens outside `block_on`: a program that stays away for longer than the cluster's heartbeats
/// allow loses its links and the transactions that are open, and gets new links when it comes back. Programs with much else to do
/// take a [`Client`](crate::Client).
pub struct LocalClient {
    session: Session,
    core: Arc<Core>,
    worker_loop: WorkerLoop,
}

impl LocalClient {
    /// Joins the cluster that the nodes at these addresses (`HOST:PORT`, separated by commas) belong to.
    ///
    /// # Errors
    /// 1297 if nobody answers in time; 1203 if no place for a client is free.
    pub fn connect(addresses: &str, options: Options) -> Result<LocalClient> {
        let core = Arc::new(Core::join(addresses, &options, 1)?);
        let worker_loop = runtime::worker_loop(&core.options)
            .map_err(|error| Error::unknown(format!("the client's thread cannot start: {error}")))?;
        let client = LocalClient { session: Session::new(&core), core, worker_loop };
        client.worker_loop.block_on(&*client.core.node, async {
            client.core.start_worker(0);
            client.core.wait_until_ready().await
        })?;
        Ok(client)
    }

    /// Runs a future, and with it everything that this client has under way.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.worker_loop.block_on(&*self.core.node, future)
    }
}

impl Deref for LocalClient {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        self.core.close();
        // The links' tasks say good-bye and end.
        self.worker_loop.block_on(&*self.core.node, async {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
    }
}
