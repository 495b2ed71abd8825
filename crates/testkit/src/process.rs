//! Facts about another process, and signals to it.
//!
//! CPU time comes from the process's own CPU clock: nanoseconds over all threads, ended ones included.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, kill_process, kill_process_group};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Terminate,
    Kill,
    Pause,
    Continue,
}

impl Signal {
    fn number(self) -> rustix::process::Signal {
        match self {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Pause => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}

fn pid(process: u32) -> io::Result<Pid> {
    Pid::from_raw(process as i32).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Sends `signal` to the process.
pub fn signal(process: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process(pid(process)?, signal.number())?)
}

/// Sends `signal` to all processes of the group that `leader` leads.
pub fn signal_group(leader: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process_group(pid(leader)?, signal.number())?)
}

/// User and system time that the process has used since it started.
pub fn cpu_time(process: u32) -> io::Result<Duration> {
    let mut clock = 0;
    // By libc, as rustix has no clocks of other processes.
    // SAFETY: `clock` is a valid place to write to.
    let result = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) };
    if result != 0 {
        return Err(io::Error::from_raw_os_error(result));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Resident memory of the process in bytes.
pub fn resident_bytes(process: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| io::Error::other(format!("process {process} shows no VmRSS")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_process_grows_with_work() {
        let process = std::process::id();
        let before = cpu_time(process).unwrap();
        let mut sum = 0u64;
        while cpu_time(process).unwrap() - before < Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn resident_memory_of_this_process_is_plausible() {
        let bytes = resident_bytes(std::process::id()).unwrap();
        assert!((100 * 1024..64 << 30).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error() {
        // Above every value that Linux allows for pid_max.
        let nobody = (1 << 22) + 1;
        assert!(cpu_time(nobody).is_err());
        assert!(resident_bytes(nobody).is_err());
    }
}
