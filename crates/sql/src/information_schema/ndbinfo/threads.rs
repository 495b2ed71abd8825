//! Threads of the process, as the system counts them.

use std::fs;

use shoal_types::Value;

use super::super::cell::row;
use super::this_node::me;
use crate::server::Server;

const DIRECTORY: &str = "/proc/self/task";
/// Linux counts processor time in these for programs, on whatever machine.
const MICROS_PER_TICK: u64 = 10_000;

struct Thread {
    id: u64,
    name: String,
    user_us: Option<u64>,
    system_us: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    waited: Option<u64>,
    preempted: Option<u64>,
}

/// In the order of their ids, which is about that in which they began.
fn threads_of_process() -> Vec<Thread> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let mut ids: Vec<u64> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    // A thread may end before it is looked at.
    ids.into_iter().filter_map(thread).collect()
}

fn thread(id: u64) -> Option<Thread> {
    let read = |name: &str| fs::read_to_string(format!("{DIRECTORY}/{id}/{name}"));
    let name = read("comm").ok()?.trim_end().to_owned();
    let stat = read("stat").unwrap_or_default();
    let status = read("status").unwrap_or_default();
    Some(of_files(id, name, &stat, &status))
}

fn of_files(id: u64, name: String, stat: &str, status: &str) -> Thread {
    // The name stands in parentheses and may have any letters.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    // proc(5) counts from 1, and two fields come before these.
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<u64>().ok());
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse::<u64>().ok()
    };
    Thread {
        id,
        name,
        minor_faults: field(10),
        major_faults: field(12),
        user_us: field(14).map(|ticks| ticks * MICROS_PER_TICK),
        system_us: field(15).map(|ticks| ticks * MICROS_PER_TICK),
        waited: line("voluntary_ctxt_switches"),
        preempted: line("nonvoluntary_ctxt_switches"),
    }
}

/// What threads are for, by the beginning of their names.
fn description(name: &str) -> &'static str {
    const KNOWN: [(&str, &str); 14] = [
        ("mysql-accept", "connections of MySQL clients"),
        ("mysql-", "sessions, and links to other nodes"),
        ("shoal-log", "the write-ahead log"),
        ("shoal-cluster", "signs of life, elections, the dictionary"),
        ("shoal-clog", "the cluster log"),
        ("shoal-keeper", "checkpoints, garbage, memory"),
        ("shoal-slices", "large transactions bit by bit"),
        ("shoal-locks", "deadlocks, and waits that last too long"),
        ("shoal-accept", "connections of other nodes"),
        ("hs-", "connections of HandlerSocket clients"),
        ("http", "operators' HTTP"),
        ("query-log", "the logs of statements"),
        ("error-log", "the error log"),
        ("tokio-rt-worker", "what would hold up a worker"),
    ];
    KNOWN.iter().find(|(start, _)| name.starts_with(start)).map_or("", |(_, what)| what)
}

pub(super) fn threads(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let make = |(number, thread): (usize, Thread)| row![node, number, &thread.name, description(&thread.name)];
    threads_of_process().into_iter().enumerate().map(make).collect()
}

pub(super) fn threadstat(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let now_ms = (server.clock_micros() / 1000).unsigned_abs();
    let make = |(number, thread): (usize, Thread)| {
        let mut row = row![node, number, &thread.name];
        row.extend(std::iter::repeat_n(Value::Null, 7));
        row.extend(row![
            thread.id,
            now_ms,
            thread.user_us,
            thread.system_us,
            thread.minor_faults,
            thread.major_faults,
            thread.waited,
            thread.preempted
        ]);
        row
    };
    threads_of_process().into_iter().enumerate().map(make).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_any_name() {
        let stat = "7 (a) b) c) S 1 7 7 0 -1 4194560 11 0 22 0 33 44 0 0 20 0 1 0 9 0 0\n";
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t55\nnonvoluntary_ctxt_switches:\t66\n";
        let thread = of_files(7, "a".to_owned(), stat, status);
        assert_eq!((thread.minor_faults, thread.major_faults), (Some(11), Some(22)));
        assert_eq!((thread.user_us, thread.system_us), (Some(330_000), Some(440_000)));
        assert_eq!((thread.waited, thread.preempted), (Some(55), Some(66)));
        assert_eq!(of_files(7, String::new(), "", "").user_us, None);
    }

    #[test]
    fn this_thread_is_among_them() {
        let named = std::thread::Builder::new().name("looked-at".to_owned());
        let found = named.spawn(|| threads_of_process().iter().any(|thread| thread.name == "looked-at"));
        assert!(found.unwrap().join().unwrap());
    }
}
