//! The last words of a process that cannot go on.

use std::io::Write;

/// Into the error log; where there is none, on stderr. Who reads it may have gone: that must not stop an end.
pub(crate) fn report(text: &str) {
    if tracing::dispatcher::has_been_set() {
        tracing::error!(last_words = true, "{text}");
    } else {
        // One write: other threads may be at it too.
        let _ = std::io::stderr().write_all(format!("shoal: {text}\n").as_bytes());
    }
}
