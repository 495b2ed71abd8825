//! What every layer may use: clocks, waiting, options, the configured topology, events, and what a panic ends.

pub(crate) mod clock;
pub(crate) mod cluster_log;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod machine_memory;
pub(crate) mod options;
pub(crate) mod panics;
pub(crate) mod report;
pub(crate) mod router;
pub(crate) mod throttle;
pub(crate) mod topology;
pub(crate) mod wait;
