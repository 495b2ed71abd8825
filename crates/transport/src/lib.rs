//! The transport: byte channels between nodes.
//!
//! A pair of nodes keeps a few links, called lanes: TCP connections, or shared memory where both run on one host; lane k is read on worker k of both processes. On a link travel
//! frames (`frame`): one-way messages, and calls with their replies. Any thread may send; what a worker's thread appends
//! between two sleeps leaves in one write. Frames are handled where they are read, with no task or thread between.
//!
//! Invariants:
//! - Frames of one lane arrive in the order in which they were sent, once or not at all. Nothing is sent twice.
//! - A call ends: with the peer's reply, or with an error that says whether the peer may have seen it.
//! - All links of a peer lead to one process of it (incarnation). That a process is dead is only said with proof.
//! - A peer that sends what no node sends is kept away for a while (`cut_off`).
//! - Bytes from the network are bounded before memory is spent on them, and never reach an assertion.
//! - Where certificates are required, every link through a network is encrypted and leads to the node that its certificate names (`trust`).
//!
//! What it does not do: know partitions, find leaders, retry, make certificates.

#![warn(missing_docs)]

mod accept_thread;
mod call;
mod calls;
mod client;
mod cut_off;
mod dial;
mod frame;
mod handler;
mod handshake;
mod hello;
mod input;
pub mod line_speed;
mod options;
mod outbox;
mod output;
mod peer;
mod proof;
mod responder;
mod ring;
mod served;
mod shared;
mod socket;
pub mod time_slice;
mod tls;
mod transport;
mod trust;
pub mod worker_loop;

pub use call::Call;
pub use calls::{CallError, Reply};
pub use client::{Client, ClientError};
pub use frame::{HEADER_BYTES, PAYLOAD_BYTES_MAX};
pub use handler::Handler;
pub use hello::{
    CLIENT, CLUSTER_NAME_BYTES_MAX, DETAILS_BYTES_MAX, Hello, LANES_MAX, NODE_ID_MAX, PROTOCOL_VERSION,
};
pub use options::{PeerAddress, TransportOptions};
pub use peer::{Block, PeerState};
pub use responder::{Cancelled, Responder};
pub use shared::look_in_passing;
pub use socket::Transporter;
pub use transport::Transport;
