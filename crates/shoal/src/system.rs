//! What the operating system is asked for: memory that is not swapped out, threads that stay on their processors.

use rustix::mm::{MlockAllFlags, mlockall};

/// Keeps the process's memory, present and to come, from being swapped out.
pub fn lock_memory() -> Result<(), String> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|error| {
        format!(
            "LockPagesInMainMemory: {}; allow it with `ulimit -l unlimited`, or leave the parameter out",
            std::io::Error::from(error)
        )
    })
}

/// Keeps the calling thread on one processor. By libc, as rustix does it only with a feature that nothing else asks for.
pub fn stay_on(cpu: u32) -> Result<(), String> {
    // SAFETY: a CPU set is plain bits, all of which may be zero.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu as usize >= libc::CPU_SETSIZE as usize {
        return Err(format!("LockExecuteThreadToCPU: there is no CPU {cpu}"));
    }
    // SAFETY: the number is within the set, as was checked.
    unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    // SAFETY: the set lives through the call and its size is given; 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } {
        0 => Ok(()),
        _ => Err(format!("LockExecuteThreadToCPU: CPU {cpu}: {}", std::io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_not_there_is_refused_and_one_that_is_is_kept() {
        assert!(stay_on(u32::MAX).unwrap_err().contains("no CPU"));
        assert!(stay_on(1000).is_err());
        std::thread::spawn(|| stay_on(0).unwrap()).join().unwrap();
    }
}
