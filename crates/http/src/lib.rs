//! What operators and their monitoring look at over HTTP: `/metrics`, `/healthz`, `/readyz`, and a page for people; and rows by key.
//!
//! [`server`] has the sockets: one thread with a runtime of its own, so that a slow or hostile client costs no statement anything. It begins
//! before the node reads its data back and ends after that is closed: [`watched`] is what is known of the node in between.
//! [`routes`] leads a request to its answer. What has no password tells neither rows nor statements nor accounts, and changes nothing;
//! the page ([`dashboard`]) shows more to who has logged in, and ends statements. `rest` reads and writes rows, and [`profiles`] tells what the
//! process does, if they are turned on.

pub mod dashboard;
pub mod health;
pub mod metrics;
pub mod peer;
pub mod profiles;
pub mod reply;
mod rest;
pub mod routes;
pub mod server;
pub mod watched;

pub use dashboard::{AccountKey, Accounts, Checking, Login, Questions};
pub use server::HttpServer;
pub use watched::{Stage, Watched};
