//! Membership: which nodes there are, what each is known to be and to lead, and the ways to them.
//!
//! It knows frames, not what replicas, definitions or commands do with them: requests are [`messages`], and what answers them stands above
//! ([`answers::Answers`]).

pub(crate) mod answers;
pub(crate) mod detours;
pub(crate) mod frames;
pub(crate) mod gossip;
pub(crate) mod handed_out;
pub(crate) mod join;
pub(crate) mod links;
pub(crate) mod messages;
pub(crate) mod peers;
pub mod remote;
pub(crate) mod requests;
pub(crate) mod routes;
