//! What operators see and command: [`command`] reads commands, `state` and `view` tell how things are, `operate` changes them,
//! [`client`] is the other end, `observed` what programs are shown of this node, `operators` how pages for people ask other nodes. `event_frames` brings what happened to the management nodes, which write it.

pub mod client;
pub mod command;
mod commands;
mod event_frames;
mod leader_events;
pub mod observed;
pub mod observed_locks;
mod operate;
mod operators;
mod ready;
mod state;
pub(crate) mod view;
#[cfg(test)]
mod view_tests;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use shoal_types::{Error, NodeId, Result};

use crate::base::wait::lock;
use crate::dictionary::Dictionary;
use crate::management::leader_events::LeaderWatch;
pub use crate::membership::messages::Stop;
pub use operators::OperatorAnswers;

/// The layer above the dictionary.
pub struct Management {
    dictionary: Dictionary,
    commanded: Commanded,
    leaders: Mutex<LeaderWatch>,
    /// Clients are served.
    serving: AtomicBool,
    mysql_address: OnceLock<String>,
}

impl Deref for Management {
    type Target = Dictionary;

    #[inline]
    fn deref(&self) -> &Dictionary {
        &self.dictionary
    }
}

/// What a management command may want of the process; the command line sets it.
pub trait Process: Send + Sync + 'static {
    /// Begins to end the process in an orderly way, with exit status 0.
    fn stop(&self, how: Stop);
}

/// What management commands have set in motion on this node.
#[derive(Default)]
struct Commanded {
    process: OnceLock<Arc<dyn Process>>,
    operators: OnceLock<Arc<dyn OperatorAnswers>>,
    node_rows: OnceLock<Arc<dyn OperatorAnswers>>,
    /// The node stops when the answer that says so has been sent.
    soon: Mutex<Option<Stop>>,
    stopping: Mutex<Option<Stop>>,
}

impl Commanded {
    fn stop_soon(&self, how: Stop) -> Result<()> {
        if self.process.get().is_none() {
            return Err(Error::unknown("this process cannot be stopped from here; end it as it was started"));
        }
        *lock(&self.soon) = Some(how);
        Ok(())
    }

    /// The node is stopping, because of a command.
    fn stopping(&self) -> Option<Stop> {
        *lock(&self.stopping)
    }
}

impl Management {
    pub(crate) fn new(dictionary: Dictionary) -> Management {
        Management {
            dictionary,
            commanded: Commanded::default(),
            leaders: Mutex::default(),
            serving: AtomicBool::new(false),
            mysql_address: OnceLock::new(),
        }
    }

    /// Clients are served from now on, at this address if this node has sessions.
    pub fn set_serving(&self, mysql_address: Option<String>) {
        if let Some(address) = mysql_address {
            let _ = self.mysql_address.set(address);
        }
        self.serving.store(true, Ordering::Release);
        self.log_event("startup", concat!("Started (version ", env!("CARGO_PKG_VERSION"), ")"));
    }

    pub(crate) fn is_started(&self) -> bool {
        self.serving.load(Ordering::Acquire)
    }

    pub(crate) fn mysql_address(&self) -> String {
        self.mysql_address.get().cloned().unwrap_or_default()
    }

    /// How the node stops, because of a command.
    fn stopping(&self) -> Option<Stop> {
        self.commanded.stopping()
    }

    /// A command asks for the end of this process; see [`Management::stop_if_asked`].
    pub(crate) fn stop_soon(&self, how: Stop) -> Result<()> {
        self.commanded.stop_soon(how)
    }

    /// Another node does not want this one: a node that nobody knows yet ends with that reason.
    pub(crate) fn refused_by(&self, _peer: NodeId, reason: &str) {
        let Some(cluster) = self.cluster() else { return };
        if !self.is_started() && cluster.peers_up().is_empty() {
            self.stop(reason);
        }
    }

    /// How management commands end the process. Once.
    pub fn set_process(&self, process: Arc<dyn Process>) {
        let _ = self.commanded.process.set(process);
    }

    /// Stops if a command has asked for it; after its answer has left.
    pub(crate) fn stop_if_asked(&self) {
        let Some(cluster) = self.cluster() else { return };
        let Some(how) = lock(&self.commanded.soon).take() else { return };
        *lock(&self.commanded.stopping) = Some(how);
        let what = if how == Stop::Restart { "Restart initiated" } else { "Node shutdown initiated" };
        self.log_event("shutdown", what);
        self.forward_events();
        if let Some(transport) = cluster.transport() {
            transport.flush();
        }
        if let Some(process) = self.commanded.process.get() {
            process.stop(how);
        }
    }

    /// Before an orderly stop: others lead what this node leads, as far as there are any.
    pub fn hand_over_leaders(&self) {
        if self.cluster().is_none() {
            return;
        }
        self.begin_draining();
        if self.commanded.stopping().is_none() {
            self.log_event("shutdown", "Node shutdown initiated by a signal");
            self.forward_events();
        }
        self.hand_over_all();
    }
}
