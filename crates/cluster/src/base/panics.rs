//! A panic is a bug. What it leaves half done decides how far it reaches.
//!
//! One in a session ends that session, whose transaction is rolled back. One while a partition is held, or a lock of the node, may
//! have left state half changed that others share: the process stops before the lock is released to anybody, as it does when a
//! thread ends without which nothing goes on. Its data is in the log, and the other nodes take over.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;
use std::sync::LockResult;

use crate::base::options::FATAL_EXIT_CODE;
use crate::base::report::report;

/// Threads without which the node hangs: the log's, and those that make time pass.
const VITAL_THREADS: [&str; 6] =
    ["shoal-log-writer", "shoal-log-keeper", "shoal-cluster", "shoal-keeper", "shoal-slices", "shoal-locks"];

/// From now on every panic of the process is reported with its backtrace in the error log, and one in a
/// thread that the node cannot do without ends the process. For programs whose process is the node's.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        report_panic(panic);
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| VITAL_THREADS.contains(&name)) {
            end_process(&format!("the thread {} panicked", thread.name().unwrap_or_default()));
        }
    }));
}

fn report_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    report(&format!("internal error in thread {name}: {panic}\n{}", Backtrace::force_capture()));
}

fn end_process(reason: &str) -> ! {
    report(&format!("stopping: {reason}"));
    std::process::exit(FATAL_EXIT_CODE)
}

/// What a lock of the node guards. Had whoever held it panicked, the process ends.
pub(crate) fn held<T>(locked: LockResult<T>) -> T {
    match locked {
        Ok(guard) => guard,
        Err(_) => end_process("a thread panicked while it held a lock of the node"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::base::options::NodeOptions;
    use crate::node::Node;

    /// Names the way in which a child process, this program started again, is to panic.
    const CHILD: &str = "SHOAL_TEST_PANIC";

    fn open(directory: &std::path::Path) -> NodeOptions {
        NodeOptions {
            data_memory: Some(64 << 20),
            background_work: false,
            partitions: Some(2),
            ..NodeOptions::new(directory)
        }
    }

    /// Not a check of its own: what the child processes of `ends_the_process` do.
    #[test]
    fn child() {
        let Ok(how) = std::env::var(CHILD) else { return };
        report_panics();
        let directory = tempfile::tempdir().unwrap();
        let node = Node::open(open(directory.path())).unwrap();
        let panicking = std::thread::Builder::new();
        let panicking = match how.as_str() {
            "partition" => panicking.spawn(move || {
                let _guard = node.partition(1);
                panic!("on purpose");
            }),
            "vital" => panicking.name("shoal-keeper".into()).spawn(|| panic!("on purpose")),
            _ => panicking.spawn(|| panic!("on purpose")),
        };
        let _ = panicking.unwrap().join();
    }

    fn child_that_panics(how: &str) -> (Option<i32>, String) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "base::panics::tests::child", "--nocapture"]).env(CHILD, how);
        let output = child.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    fn a_panic_under_a_partition_ends_the_process_with_reason_and_backtrace() {
        for (how, reason) in [
            ("partition", "a thread panicked while it held partition 1"),
            ("vital", "the thread shoal-keeper panicked"),
        ] {
            let (code, text) = child_that_panics(how);
            assert_eq!(code, Some(FATAL_EXIT_CODE), "{text}");
            assert!(text.contains("on purpose"), "{text}");
            assert!(text.contains(&format!("shoal: stopping: {reason}")), "{text}");
            // A frame of the thread that panicked.
            assert!(text.contains("base::panics::tests::child"), "{text}");
        }
    }

    #[test]
    fn a_panic_elsewhere_is_reported_and_the_process_goes_on() {
        let (code, text) = child_that_panics("session");
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("on purpose") && !text.contains("stopping"), "{text}");
    }

    #[test]
    fn the_node_has_stopped_before_the_partition_is_released() {
        let directory = tempfile::tempdir().unwrap();
        let reasons: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = Arc::clone(&reasons);
        let on_fatal = Arc::new(move |reason: &str| told.lock().unwrap().push(reason.to_owned()));
        let node = Node::open(NodeOptions { on_fatal, ..open(directory.path()) }).unwrap();
        let holder = Arc::clone(&node);
        let held = std::thread::spawn(move || {
            let _guard = holder.partition(0);
            panic!("on purpose");
        });
        assert!(held.join().is_err());
        assert!(node.is_stopped());
        assert_eq!(*reasons.lock().unwrap(), ["a thread panicked while it held partition 0"]);
    }
}
