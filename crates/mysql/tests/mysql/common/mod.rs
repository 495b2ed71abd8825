//! What the tests of the protocol server share: a stand-in for the SQL layer, and a client that shows raw packets.

#![allow(dead_code)]

pub mod fake;
pub mod raw;

use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_mysql::server::WorkerStart;
use shoal_mysql::{Listeners, Options, Server, bind_tcp, start};

use fake::{Fake, State};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the fake behind it; stops when dropped.
pub struct Running {
    pub fake: Arc<Fake>,
    pub port: u16,
    /// The Unix socket.
    pub socket: PathBuf,
    server: Option<Server<Fake>>,
}

impl Running {
    pub fn start() -> Running {
        Running::with(State::default())
    }

    pub fn with(state: State) -> Running {
        Running::with_workers(state, None)
    }

    /// `on_worker_start`: what else lives on the workers' threads.
    pub fn with_workers(state: State, on_worker_start: Option<WorkerStart>) -> Running {
        let fake = Arc::new(Fake::new(state));
        let tcp = bind_tcp(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        let port = tcp.local_addr().expect("bound").port();
        let socket = std::env::temp_dir().join(format!("shoal-mysql-{}-{port}.sock", std::process::id()));
        let unix = UnixListener::bind(&socket).expect("a free path");
        let listeners = Listeners { tcp: vec![tcp], unix: vec![unix], ..Listeners::default() };
        let options = Options { workers: 2, on_worker_start, ..Options::default() };
        let server = start(Arc::clone(&fake), listeners, options).expect("threads");
        Running { fake, port, socket, server: Some(server) }
    }

    /// Stops the server now, on another thread if the caller wants to watch.
    pub fn take_server(&mut self) -> Server<Fake> {
        self.server.take().expect("not stopped before")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(Duration::ZERO);
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Waits for a condition that must come true.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::yield_now();
    }
}
