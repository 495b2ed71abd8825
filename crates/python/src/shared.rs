//! What a client's Python objects share: the client, and what is to end with it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use shoal_client::{Client, EventOptions, Isolation, Result};

use crate::error::closed;
use crate::open::Open;
use crate::origin::Origin;
use crate::stream::{End, Stream};

/// What a client's Python objects share.
pub struct Shared {
    /// `None`: it is closed.
    client: Mutex<Option<Client>>,
    /// Closing waits for the client's threads, and these for the transactions and streams.
    transactions: Mutex<Vec<Weak<Open>>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    origin: Arc<Origin>,
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
    pub fn new(client: Client) -> Shared {
        Shared {
            client: Mutex::new(Some(client)),
            transactions: Mutex::default(),
            streams: Mutex::default(),
            origin: Arc::new(Origin::here()),
        }
    }

    pub fn client(&self) -> Result<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(closed)
    }

    /// # Errors
    /// This process is a fork of the one that the client is in.
    pub fn check_process(&self) -> PyResult<()> {
        self.origin.check()
    }

    /// Begins a transaction, which ends when the client is closed.
    pub async fn begin(self: &Arc<Self>, isolation: Isolation) -> Result<Arc<Open>> {
        let begun = self.client()?.begin(isolation).await?;
        let open = Arc::new(Open::new(begun, &self.origin));
        remember(&self.transactions, &open);
        if self.client().is_err() {
            // It was closed meanwhile, without knowing of this.
            open.abandon();
        }
        Ok(open)
    }

    /// Follows tables until the client is closed.
    pub async fn follow(
        self: &Arc<Self>,
        tables: Vec<shoal_client::Table>,
        options: EventOptions,
    ) -> Result<Arc<Stream>> {
        let followed: Vec<&shoal_client::Table> = tables.iter().collect();
        let events = self.client()?.events(&followed, options).await?;
        let stream = Arc::new(Stream::new(events, &self.origin));
        remember(&self.streams, &stream);
        if self.client().is_err() {
            stream.end(End::ClientClosed);
        }
        Ok(stream)
    }

    pub fn close(&self) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        let transactions = std::mem::take(&mut *self.transactions.lock().unwrap_or_else(PoisonError::into_inner));
        for open in transactions.iter().filter_map(Weak::upgrade) {
            open.abandon();
        }
        let streams = std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        for stream in streams.iter().filter_map(Weak::upgrade) {
            stream.end(End::ClientClosed);
        }
        match self.origin.is_here() {
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
