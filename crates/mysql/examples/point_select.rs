//! The protocol server with a fixed answer behind it, for `sysbench oltp_point_select run`: what the protocol alone costs.
//!
//! `cargo run --release -p shoal-mysql --example point_select [PORT]`, then
//! `sysbench oltp_point_select --mysql-host=127.0.0.1 --mysql-port=PORT --mysql-user=root --threads=8 run`.
//! It runs until it is killed. The line it prints names the port.

#[path = "../tests/mysql/common/mod.rs"]
mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::fake::{Fake, State};
use shoal_mysql::{Listeners, Options, bind_tcp, start};

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let tcp = bind_tcp(SocketAddr::from(([127, 0, 0, 1], port)))?;
    println!("point_select is ready: mysql {}", tcp.local_addr()?);
    let listeners = Listeners { tcp: vec![tcp], unix: Vec::new(), ..Listeners::default() };
    let state = State { connections_max: 100_000, ..State::default() };
    let _server = start(Arc::new(Fake::new(state)), listeners, Options::default())?;
    loop {
        std::thread::park();
    }
}
