//! What operators and their monitoring look at over HTTP: `/metrics`, `/healthz`, `/readyz`.
//!
//! [`server`] has the sockets: one thread with a runtime of its own, so that a slow or hostile client costs no statement anything. It begins
//! before the node reads its data back and ends after that is closed: [`watched`] is what is known of the node in between.
//! [`routes`] leads a request to its answer. Nothing here changes anything, and no answer tells rows, statements or accounts.

pub mod health;
pub mod metrics;
pub mod reply;
pub mod routes;
pub mod server;
pub mod watched;

pub use server::HttpServer;
pub use watched::{Stage, Watched};
