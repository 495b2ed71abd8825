//! What the system says of this process.

use std::path::Path;

use super::text::{Kind, Text};

/// Of the times in /proc/PID/stat: a constant of Linux's interface, whatever its kernel counts in.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn write(text: &mut Text) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    if let Some(seconds) = cpu_seconds(&read("/proc/self/stat")) {
        text.one(
            "shoal_process_cpu_seconds_total",
            Kind::Counter,
            "Processor time of the process, its system calls included.",
            seconds,
        );
    }
    let status = read("/proc/self/status");
    if let Some(threads) = status_number(&status, "Threads:") {
        text.gauge("shoal_process_threads", "Threads of the process.", threads);
    }
    if let Some(kilobytes) = status_number(&status, "VmRSS:") {
        text.gauge("shoal_process_resident_bytes", "Memory that the process has of the system.", kilobytes << 10);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        text.gauge("shoal_process_open_files", "Open files and sockets.", open.count());
    }
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        text.gauge("shoal_process_open_files_limit", "How many there may be.", limit);
    }
}

/// Bytes free, and in all, of the file system that a directory is on; nothing if the system does not say.
pub fn disk(directory: &Path) -> (u64, u64) {
    rustix::fs::statvfs(directory)
        .map_or((0, 0), |system| (system.f_bavail * system.f_frsize, system.f_blocks * system.f_frsize))
}

/// Seconds of processor time, and bytes of memory.
pub fn cpu_and_resident() -> (f64, u64) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpu_s = cpu_seconds(&read("/proc/self/stat")).unwrap_or(0.0);
    (cpu_s, status_number(&read("/proc/self/status"), "VmRSS:").unwrap_or(0) << 10)
}

/// Of /proc/PID/stat. The name of the program may hold anything, so fields are counted behind its last parenthesis.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
    Some((fields.next()? + fields.next()?) as f64 / TICKS_PER_SECOND)
}

fn status_number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_confuses_nothing() {
        let stat = "17 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 1000 4096 3 x";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("nothing"), None);
        assert_eq!(status_number("Name:\tx\nVmRSS:\t  12 kB\nThreads:\t3\n", "VmRSS:"), Some(12));
        assert_eq!(status_number("", "VmRSS:"), None);
    }
}
