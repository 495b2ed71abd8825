//!

pub(crate) mod deadlock;
pub(crate) mod flush;
pub(crate) mod identity;
pub(crate) mod slices;
pub(crate) mod snapshot;
