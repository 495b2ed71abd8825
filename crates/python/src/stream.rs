//! A stream of events that is followed.
//!
//! Its events wait here until they are taken, and waiting for them takes none: whoever is cancelled while he waits, or after it,
//! has lost nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use shoal_client::{Event, EventStream, Result};
use tokio::sync::watch;

use crate::error::closed;
use crate::origin::Origin;

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nobody wants more of it.
    Closed,
    ClientClosed,
    /// Whoever waited has been told why.
    Failed,
}

/// A stream that is followed.
pub struct Stream {
    /// `None`: it is over. Whoever waits for events has it.
    source: tokio::sync::Mutex<Option<EventStream>>,
    here: Mutex<VecDeque<Event>>,
    end: watch::Sender<Option<End>>,
    client: Weak<Origin>,
    origin: Origin,
}

impl Stream {
    pub fn new(events: EventStream, client: &Arc<Origin>) -> Stream {
        Stream {
            source: tokio::sync::Mutex::new(Some(events)),
            here: Mutex::default(),
            end: watch::Sender::new(None),
            client: Arc::downgrade(client),
            origin: Origin::here(),
        }
    }

    /// Ends the stream; those who wait for it hear of it. In a fork it stays what it is: the other process's.
    pub fn end(&self, why: End) {
        if !self.origin.is_here() {
            return;
        }
        self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            end.get_or_insert(why);
            is_first
        });
        self.here.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.let_go();
    }

    /// Gives the source up if all is over. Whoever has it does so himself, when he gives it back.
    fn let_go(&self) {
        if self.end.borrow().is_some()
            && let Ok(mut source) = self.source.try_lock()
        {
            *source = None;
        }
    }

    pub fn take(&self) -> Option<Event> {
        if self.end.borrow().is_some() {
            return None;
        }
        self.here.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn has_events(&self) -> bool {
        !self.here.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub fn is_over(&self) -> bool {
        self.end.borrow().is_some()
    }

    fn over(&self) -> Result<bool> {
        match *self.end.borrow() {
            Some(End::ClientClosed) => Err(closed()),
            Some(End::Closed | End::Failed) | None => Ok(false),
        }
    }

    /// Waits until events are here. False: the stream is over.
    pub async fn ready(&self) -> Result<bool> {
        let mut end = self.end.subscribe();
        // Dropped behind the source's guard.
        let _returned = Returned(self);
        let mut source = self.source.lock().await;
        if self.has_events() {
            return Ok(true);
        }
        let Some(events) = source.as_mut() else { return self.over() };
        let batch = tokio::select! {
            biased;
            // What is waited for holds the channel's lock, and is to be gone before it is looked at again.
            () = async { drop(end.wait_for(Option::is_some).await) } => return self.over(),
            batch = events.next_batch() => batch,
        };
        match batch {
            Ok(batch) => {
                self.here.lock().unwrap_or_else(PoisonError::into_inner).extend(batch);
                Ok(true)
            }
            Err(error) => {
                self.end.send_replace(Some(End::Failed));
                Err(error)
            }
        }
    }

    pub fn check_process(&self) -> PyResult<()> {
        self.client.upgrade().map_or(Ok(()), |client| client.check())
    }
}

/// The source has been given back, by someone who has come to his end or was cancelled.
struct Returned<'s>(&'s Stream);

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            // Whoever would be told is not in this process.
            std::mem::forget(self.source.get_mut().take());
        }
    }
}
