//! How long a thread has its core while others want it too.
//!
//! Linux from 6.12 on takes a thread's wish for the length of its slices (sched(7): EEVDF; `sched_runtime` of sched_setattr(2)). A worker's
//! statements are shorter than the default slice by a factor of a hundred, so where clients, workers and background threads share cores,
//! whoever has short slices is on a core sooner after it has been woken, and leaves it sooner to the clients that it has just answered.

use std::io;
use std::mem::size_of;

/// The shortest that Linux gives.
const SLICE_NS: u64 = 100_000;

/// Asks for short slices for the current thread. Older systems, and threads of other scheduling classes, are left as they are.
///
/// # Errors
/// What the system says; nothing has changed then.
#[cfg(target_os = "linux")]
pub fn shorten() -> io::Result<()> {
    let size = u32::try_from(size_of::<libc::sched_attr>()).map_err(io::Error::other)?;
    let mut attributes = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    const THIS_THREAD: libc::c_int = 0;
    const NO_FLAGS: libc::c_uint = 0;
    // SAFETY: the system writes at most `size` bytes, which `attributes` has, and any bytes make a `sched_attr`.
    let got = unsafe {
        libc::syscall(libc::SYS_sched_getattr, THIS_THREAD, &raw mut attributes, size as libc::c_uint, NO_FLAGS)
    };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    if attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    attributes.size = size;
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: the system reads `size` bytes of `attributes`.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS) };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn shorten() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_priority_when_its_slices_become_short() {
        let body = || {
            let nice = rustix::process::nice(3).unwrap();
            shorten().unwrap();
            // Linux keeps it by thread.
            assert_eq!(rustix::process::getpriority_process(None).unwrap(), nice);
        };
        std::thread::spawn(body).join().unwrap();
    }
}
