//! Where processor time is spent: the system sends a signal (SIGPROF) whenever the process has used another hundredth of a second of it, to
//! the thread that runs, and the handler of the crate `pprof` notes that thread's stack.
//!
//! A handler may run in the middle of anything, so it takes no memory and no lock that others hold: stacks are walked by tables that were read
//! beforehand, words of a stack are read after the system has said that they can be, and of two threads that are hit at once one goes
//! without. Names are looked up afterwards, on the thread of the profile.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use pprof::{ProfilerGuard, Report};

use super::format;

/// Above a million a second the interval rounds to nothing, which arms no timer.
const FREQUENCY_OF_NO_TIMER: i32 = 2_000_000;
const SIGPROF: i32 = rustix::process::Signal::PROF.as_raw();

/// What the process does for so long, in the format of pprof or as a picture. It ends early when nobody is there any more for `is_given_up`.
///
/// # Errors
/// The system's, in words.
pub fn profile(
    span: Duration,
    frequency: i32,
    is_picture: bool,
    is_given_up: &Receiver<()>,
) -> Result<Vec<u8>, String> {
    let failed = |error: pprof::Error| format!("cannot take a profile: {error}");
    prepare().map_err(failed)?;
    let guard = ProfilerGuard::new(frequency).map_err(failed)?;
    if is_given_up.recv_timeout(span) == Err(RecvTimeoutError::Disconnected) {
        return Err("nobody waits for the profile".into());
    }
    let report = guard.report().build().map_err(failed)?;
    drop(guard);
    // Tables of the whole program, which nobody needs before the next profile.
    backtrace::clear_symbol_cache();
    if is_picture { flame_graph(&report) } else { format::encode(&report) }
}

/// Has the handler run once on this thread. What it needs it makes when it runs first, and for that it takes memory and locks: here, where
/// nothing is interrupted, and not in the middle of somebody's allocation.
fn prepare() -> pprof::Result<()> {
    let _without_timer = ProfilerGuard::new(FREQUENCY_OF_NO_TIMER)?;
    Ok(signal_hook::low_level::raise(SIGPROF)?)
}

fn flame_graph(report: &Report) -> Result<Vec<u8>, String> {
    let mut picture = Vec::new();
    report.flamegraph(&mut picture).map_err(|error| format!("cannot draw the profile: {error}"))?;
    if picture.is_empty() {
        // Nothing to draw: nobody has used a hundredth of a second.
        picture.extend_from_slice(
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"><text y=\"20\">the process was idle</text></svg>",
        );
    }
    Ok(picture)
}
