//! The transport between real sockets on loopback.

mod common;
mod failures;
mod links;
mod raw;
mod strangers;
