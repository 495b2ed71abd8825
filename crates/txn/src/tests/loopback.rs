//! Links without a network: the nodes of a cluster in one process, whose calls run the other node's server at once.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use shoal_cluster::{Call, Node, Place, Remote, RequestError};
use shoal_types::{NodeId, Timestamp};

use crate::Server;

/// Where the suite's partitions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All here; no frames.
    Local,
    /// All on another node.
    Remote,
    /// Those with odd numbers on another node.
    Mixed,
}

impl Mode {
    /// The mode of a suite, by a path of a module in it.
    pub fn of(module_path: &str) -> Mode {
        match module_path.split("::").find(|name| ["all_here", "all_elsewhere", "mixed"].contains(name)) {
            Some("all_elsewhere") => Mode::Remote,
            Some("mixed") => Mode::Mixed,
            Some(_) => Mode::Local,
            None => panic!("{module_path} belongs to no suite"),
        }
    }
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotSent,
    /// The link breaks before the request arrives, or after it was executed.
    LostBefore,
    LostAfter,
    /// It breaks after the request was executed, and nothing arrives from then on.
    Cut,
}

/// To whom, and the frame.
pub type Request = (NodeId, Vec<u8>);

/// All nodes' servers, and what goes wrong between them.
#[derive(Default)]
pub struct Network {
    servers: Mutex<HashMap<NodeId, Weak<Server>>>,
    /// What happens to the call of this number.
    fault: Mutex<Option<(u64, Fault)>>,
    calls: AtomicU64,
    version: AtomicU64,
    /// Nothing arrives.
    is_cut: AtomicBool,
    /// Requests, when they are recorded.
    pub requests: Mutex<Option<Vec<Request>>>,
    /// Peers of everybody that never answer: they come first.
    silent: Mutex<Vec<NodeId>>,
}

impl Network {
    pub fn add(&self, node: NodeId, server: &Arc<Server>) {
        self.servers.lock().unwrap().insert(node, Arc::downgrade(server));
    }

    /// How many calls there have been.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The `number`th call from now on (the first is 0) meets a fault.
    pub fn break_call(&self, number: u64, fault: Fault) {
        *self.fault.lock().unwrap() = Some((self.calls() + number, fault));
    }

    pub fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }

    pub fn add_silent(&self, node: NodeId) {
        self.silent.lock().unwrap().push(node);
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    fn server(&self, node: NodeId) -> Option<Arc<Server>> {
        self.servers.lock().unwrap().get(&node).and_then(Weak::upgrade)
    }
}

/// One node's links.
pub struct Loopback {
    pub network: Arc<Network>,
    pub node: NodeId,
    pub peers: Vec<NodeId>,
    pub place: Box<dyn Fn(u32) -> Place + Send + Sync>,
    pub single_groups: bool,
}

impl Loopback {
    fn execute(&self, to: NodeId, request: &[u8]) -> Option<Pin<Box<dyn Future<Output = Vec<u8>>>>> {
        if self.network.is_cut.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(requests) = &mut *self.network.requests.lock().unwrap() {
            requests.push((to, request.to_vec()));
        }
        let mut reply = Vec::new();
        let server = self.network.server(to)?;
        // As frames do, which bring their senders' clocks.
        let (here, there) = (self.network.server(self.node), Arc::clone(&server));
        if let Some(here) = &here {
            there.node().clock().observe(here.node().clock().latest());
        }
        let served = server.serve(self.node, request, &mut reply);
        Some(Box::pin(async move {
            let reply = served.reply(reply).await;
            if let Some(here) = here {
                here.node().clock().observe(there.node().clock().latest());
            }
            reply
        }))
    }
}

impl Remote for Loopback {
    fn node(&self) -> NodeId {
        self.node
    }

    fn place(&self, partition: u32) -> Place {
        (self.place)(partition)
    }

    fn peers(&self) -> Vec<NodeId> {
        if self.network.is_cut.load(Ordering::Relaxed) {
            return Vec::new();
        }
        [self.network.silent.lock().unwrap().clone(), self.peers.clone()].concat()
    }

    fn has_single_groups(&self) -> bool {
        self.single_groups
    }

    fn call(&self, to: NodeId, request: &[u8]) -> Call {
        if self.network.silent.lock().unwrap().contains(&to) {
            return Box::pin(std::future::pending());
        }
        let number = self.network.calls.fetch_add(1, Ordering::Relaxed);
        let fault = self.network.fault.lock().unwrap().filter(|&(at, _)| at == number).map(|(_, fault)| fault);
        let running = match fault {
            Some(Fault::NotSent) => return Box::pin(std::future::ready(Err(RequestError::NotSent))),
            Some(Fault::LostBefore) => return Box::pin(std::future::ready(Err(RequestError::Lost))),
            Some(Fault::LostAfter | Fault::Cut) | None => self.execute(to, request),
        };
        let network = Arc::clone(&self.network);
        Box::pin(async move {
            let reply = running.ok_or(RequestError::NotSent)?.await;
            if fault == Some(Fault::Cut) {
                network.cut(true);
            }
            match fault {
                Some(_) => Err(RequestError::Lost),
                None => Ok(reply),
            }
        })
    }

    fn send(&self, to: NodeId, request: &[u8]) -> bool {
        self.execute(to, request).is_some()
    }

    fn misplaced(&self, _partition: u32, _node: NodeId, _hint: Option<NodeId>) {
        self.network.version.fetch_add(1, Ordering::Relaxed);
    }

    fn map_version(&self) -> u64 {
        self.network.version.load(Ordering::Relaxed)
    }

    fn map_changed(&self, seen: u64) -> Pin<Box<dyn Future<Output = ()>>> {
        match self.map_version() == seen {
            true => Box::pin(std::future::pending()),
            false => Box::pin(std::future::ready(())),
        }
    }
}

/// Gives the node links to itself under another name, by the suite's mode.
pub fn connect(node: &Arc<Node>, mode: Mode) -> Option<(Arc<Server>, Arc<Network>)> {
    let (here, there) = (NodeId(1), NodeId(2));
    let place: Box<dyn Fn(u32) -> Place + Send + Sync> = match mode {
        Mode::Local => return None,
        Mode::Remote => Box::new(move |_| Place::Remote(there)),
        Mode::Mixed => {
            Box::new(move |partition| if partition % 2 == 1 { Place::Remote(there) } else { Place::Local })
        }
    };
    let network = Arc::new(Network::default());
    let server = Server::new(Arc::clone(node));
    network.add(there, &server);
    // Its snapshots are this node's own.
    node.note_peer_horizon(there, Timestamp::MAX);
    let single_groups = true;
    let links = Loopback { network: Arc::clone(&network), node: here, peers: vec![there], place, single_groups };
    node.set_remote(Arc::new(links));
    Some((server, network))
}
