//! The error log: what the server has to tell whoever runs it.
//!
//! Crates say it by `tracing`; a program that is a server installs this crate as the one who listens ([`install`]), and says later
//! where entries go ([`configure`]): until then they wait. An entry goes into a bounded ring in memory, which
//! `performance_schema.error_log` shows, and through a bounded queue to a thread that writes: to stderr or to a file, as text in
//! MySQL's format, as JSON lines, or both. Nobody waits for a disk but who tells the last
//! words of a process that ends.
//!
//! - `log`: what is kept and where entries go; `entry`: entries and their formats; `settings`: what MySQL's variables say.
//! - `subscriber`: events of `tracing` become entries.
//! - `writer`: the thread. `file`: one log's file; `ring`: the newest entries of a log. Both serve the logs of statements as well.
//!
//! There is one error log a process, as there is one subscriber to its events. *Must not know* what entries are about.

mod entry;
mod file;
mod log;
mod ring;
mod settings;
mod subscriber;
mod writer;

pub use entry::{Entry, Priority, moment};
pub use file::LogFile;
pub use log::{Figures, configure, entries, figures, is_json_on_stderr, is_text_on_stderr, reopen, stop};
pub use ring::Ring;
pub use settings::{Settings, VERBOSITY_DEFAULT, service_names, services};

/// From now on events of this process are entries. They wait until [`configure`] says where they go.
pub fn install() {
    if log::begin() {
        // There is another subscriber only in programs that are no server.
        let _ = tracing::subscriber::set_global_default(subscriber::Subscriber);
    }
}
