//! How much of a script is done, for somebody who waits for it at a terminal.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes less time needs no explanation.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// A bar that appears when a script takes long.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    /// For the standard input, if that is a file and somebody watches.
    pub fn of_input() -> Option<Progress> {
        let input = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        let facts = File::from(input).metadata().ok()?;
        if !facts.is_file() || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(Some(facts.len()), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("statements {bar:40} {bytes}/{total_bytes} {eta}") {
            bar.set_style(style);
        }
        Some(Progress { bar, begun: Instant::now() })
    }

    /// So many more bytes of the script are read.
    pub fn add(&self, bytes: usize) {
        if self.bar.is_hidden() && self.begun.elapsed() > SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes as u64);
    }

    /// Writes something else where the bar is.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
