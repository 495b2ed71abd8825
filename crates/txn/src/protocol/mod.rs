//! What a coordinator and the node that leads a partition say to each other: requests and replies as bytes.
//!
//! One frame is one request about one partition, or about one transaction. The request that does the work
//! ([`Work`]) stages any number of writes and then reads, scans, commits or prepares: so the writes of a statement and the commit
//! behind them are one round trip. Frames are made by functions that append to a buffer (`put_...`) and read by
//! functions that borrow from it; reading checks every length and never panics, whatever the bytes are.
//!
//! **Nothing is lost unnoticed.** Whatever a transaction has done at a leader (locks, staged writes) is lost when the
//! leader changes. So work for a transaction carries the leader's term in which the transaction joined there (0: it has not) and
//! the number of writes it has staged there. If they are not what the leader knows, it refuses ([`Status::Lost`]), and
//! the transaction must end. Every reply tells both.
//!
//! Integers are little-endian; byte strings follow their u32 length; a list is its u32 count and its items. The format is
//! not kept between versions: the handshake of two nodes makes sure that both speak the same.

mod follow;
mod kinds;
mod lock;
mod reply;
mod request;
mod slice;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use follow::*;
pub(crate) use reply::*;
pub(crate) use request::*;
pub use slice::{ColumnSlice, SLICE_BYTES_MAX, Sliced};
pub(crate) use slice::{SliceOf, put_then_slice};
pub(crate) use wire::{FrameReader, List, malformed, put_bytes, put_list, put_u32, put_u64};
