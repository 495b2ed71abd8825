//! Ctrl-C ends the benchmark in order: sysbench is stopped, servers are killed, folders removed, results written.
//!
//! The handler only sets a flag, which is all that a signal handler may safely do here.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM ask for an orderly end.
pub fn install() -> io::Result<()> {
    let handler = on_signal as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        if unsafe { libc::signal(signal, handler as libc::sighandler_t) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
