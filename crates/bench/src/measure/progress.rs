//! The bar, and lines that stay above it.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new(steps: u64) -> Progress {
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} eta {eta}  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress { bar }
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    pub fn doing(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// A line that stays, with a bar or without one.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
