//!

pub(crate) mod gossip;
pub(crate) mod join;
pub(crate) mod links;
pub(crate) mod peers;
pub mod remote;
pub(crate) mod requests;
pub(crate) mod routes;
