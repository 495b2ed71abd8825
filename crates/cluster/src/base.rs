//!

pub(crate) mod clock;
pub(crate) mod cluster_log;
pub(crate) mod events;
pub(crate) mod machine_memory;
pub(crate) mod options;
pub(crate) mod panics;
pub(crate) mod router;
pub(crate) mod throttle;
pub(crate) mod topology;
pub(crate) mod wait;
