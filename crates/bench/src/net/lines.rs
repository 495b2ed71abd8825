//! The parts, one module each.

pub mod allocators;
pub mod compression;
pub mod connects;
pub mod idle;
pub mod observed;
pub mod pictures;
pub mod threads;
pub mod tls;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of this process and of the servers that it starts.
const FILES_MAX: u64 = 65_536;

/// As many open files as the system grants, at most what the parts need.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let more = Rlimit { current: Some(FILES_MAX), maximum: limit.maximum.map(|most| most.max(FILES_MAX)) };
    if limit.current.is_some_and(|current| current < FILES_MAX) && setrlimit(Resource::Nofile, more).is_err() {
        // Beyond its own bound nobody but root goes; if that fails, what there is has to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// How many files may be open at once.
pub fn file_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(FILES_MAX)
}
