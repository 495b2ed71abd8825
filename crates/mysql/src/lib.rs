//! The MySQL client/server protocol: the interface that ordinary MySQL clients use.
//!
//! A connection is one task on one worker thread and never moves. It reads a packet in place, hands the statement to
//! the SQL layer ([`shoal_sql::frontend`]), which writes rows straight into the connection's output buffer, and answers
//! with one write. The protocol server knows packets, passwords and sockets; it knows nothing of statements.
//!
//! - [`server`]: listeners, workers, stopping.
//! - `connection`, `login`, `commands`: one client's life.
//! - `handshake`, `auth`: who a client is.
//! - `parameters`, `result`: values in and out.
//! - `packet`, `stream`, `encryption`, `compression`, `worker`: bytes, sockets, and what a worker's connections share.

#![warn(missing_docs)]

mod acceptor;
mod auth;
mod commands;
mod compression;
mod connection;
mod constants;
mod encryption;
mod handshake;
mod login;
mod packet;
mod parameters;
#[cfg(test)]
mod properties;
mod proxy;
mod refusal;
mod result;
pub mod server;
mod socket;
mod stream;
mod worker;

pub use auth::{Authenticator, Claim};
pub use proxy::ProxyNetworks;
pub use server::{Keepalive, Listeners, Options, ReservedAddress, Server, bind_tcp, start, start_workers};
