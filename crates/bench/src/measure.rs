//! What all benchmarks share, whatever they measure.
//!
//! - `progress`: the bar, and lines that stay above it. `interrupt`: Ctrl-C ends a benchmark in order.
//! - `latency`: how long things took, as percentiles. `results`: medians, and two files side by side. `facts`: the machine.
//! - `page`: an HTML page with bars and curves, in one file. `poll`: many sockets on one thread.
//!
//! *Must not know* what is measured.

pub mod facts;
pub mod interrupt;
pub mod latency;
pub mod page;
pub mod poll;
pub mod progress;
pub mod results;
