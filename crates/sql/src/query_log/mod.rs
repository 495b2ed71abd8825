//! The slow query log and the general log, as MySQL 8.4 has them, and the audit log.
//!
//! Sessions measure their statements (`session/logged.rs`) and leave entries here. What they look at first is one number
//! ([`QueryLogs::bits`]), so that logs which are off cost a load. Entries for a file go through a bounded queue to a thread of their
//! own (`writer`); those for tables into a bounded ring in memory, which `mysql.slow_log` and
//! `mysql.general_log` show. Nothing of a statement waits for a disk but the SET GLOBAL and FLUSH of an operator.
//!
//! - `format`: the entries, and the files' format; `secrets`: statements without their passwords.
//! - `settings`: what the variables say. `trace`: whose request a statement belongs to.

mod audit;
mod format;
pub mod secrets;
pub mod settings;
pub mod trace;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use shoal_error_log::Ring;
use tokio::sync::oneshot;

pub use audit::{AuditClass, AuditEntry};
pub use format::{GeneralEntry, SlowEntry, SlowExtra};
use settings::{AUDIT, GENERAL, SLOW, TO_FILE, TO_TABLE};
pub use writer::Log;
use writer::{Message, Queue};

use crate::variables::Globals;

/// The logs of one SQL node.
#[derive(Default)]
pub struct QueryLogs {
    bits: AtomicU32,
    /// The port and the directory of the data: known when the server listens, and logs begin then.
    place: OnceLock<(u16, PathBuf)>,
    queue: Arc<Queue>,
    writer: Mutex<Option<JoinHandle<()>>>,
    stopped: AtomicBool,
    /// Held over a change of settings: what is open follows them in their order.
    pub changing: tokio::sync::Mutex<()>,
    pub slow_rows: Ring<SlowEntry>,
    pub general_rows: Ring<GeneralEntry>,
}

impl QueryLogs {
    /// The bits of `settings` as they are now.
    #[inline]
    pub fn bits(&self) -> u32 {
        self.bits.load(Ordering::Relaxed)
    }

    /// The server is about to listen: logs that the configuration turns on begin. A file that cannot be opened is named in the
    /// error log and tried again.
    pub fn start(&self, port: u16, data_dir: &Path, globals: &Globals) {
        let _ = self.place.set((port, data_dir.to_owned()));
        let bits = settings::bits(globals);
        for log in Log::ALL {
            if writes_file(log, bits) {
                let _ = self.open(log, globals, None);
            }
        }
        self.bits.store(bits, Ordering::Release);
    }

    /// Where a log's file lies; `None` before the server listens.
    pub fn path(&self, log: Log, globals: &Globals) -> Option<PathBuf> {
        let variable = match log {
            Log::Slow => "slow_query_log_file",
            Log::General => "general_log_file",
            Log::Audit => "audit_log_file",
        };
        let (_, data_dir) = self.place.get()?;
        Some(settings::path(log, &globals.named_text(variable), data_dir))
    }

    /// Follows a SET GLOBAL; the old settings go on if this fails.
    ///
    /// # Errors
    /// A file that is to be written from now on cannot be opened.
    pub async fn change(&self, old: &Globals, new: &Globals) -> io::Result<()> {
        let (old_bits, bits) = (self.bits(), settings::bits(new));
        for log in Log::ALL {
            let moves =
                self.path(log, old) != self.path(log, new) || log == Log::Audit && rotates_otherwise(old, new);
            if writes_file(log, bits) && (moves || !writes_file(log, old_bits)) {
                let (done, opened) = oneshot::channel();
                self.open(log, new, Some(done))?;
                opened.await.map_err(|_| io::Error::other("the logs' writer has ended"))??;
            }
        }
        self.bits.store(bits, Ordering::Release);
        for log in Log::ALL {
            if !writes_file(log, bits) && writes_file(log, old_bits) {
                self.queue.send(Message::Close(log));
            }
        }
        Ok(())
    }

    fn open(&self, log: Log, globals: &Globals, done: Option<oneshot::Sender<io::Result<()>>>) -> io::Result<()> {
        let (Some(path), Some((port, _))) = (self.path(log, globals), self.place.get()) else {
            return Err(io::Error::other("the server does not listen yet"));
        };
        self.start_writer()?;
        let program =
            std::env::current_exe().map_or_else(|_| "/shoal".to_owned(), |path| path.display().to_string());
        let (header, rotate_at_bytes) = match log {
            Log::Audit => (String::new(), settings::audit_rotation(globals)),
            Log::Slow | Log::General => (format::header(&program, *port), 0),
        };
        self.queue.send(Message::Open { log, path, header, rotate_at_bytes, done });
        Ok(())
    }

    fn start_writer(&self) -> io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stopped.load(Ordering::Acquire) {
            return Err(io::Error::other("the server is shutting down"));
        }
        if writer.is_none() {
            let queue = Arc::clone(&self.queue);
            *writer =
                Some(std::thread::Builder::new().name("query-log".to_owned()).spawn(move || writer::run(&queue))?);
        }
        Ok(())
    }

    /// FLUSH LOGS, for one log: everything so far is in its file, and its name is opened again.
    pub async fn reopen(&self, log: Log) {
        if !writes_file(log, self.bits()) {
            return;
        }
        let (done, reopened) = oneshot::channel();
        self.queue.send(Message::Reopen { log, done });
        // An error is that of a writer that has ended with the server.
        let _ = reopened.await;
    }

    pub fn slow(&self, entry: SlowEntry) {
        let bytes = entry.text.len();
        self.keep(entry, bytes, &self.slow_rows, Message::Slow);
    }

    pub fn general(&self, entry: GeneralEntry) {
        let bytes = entry.text.len();
        self.keep(entry, bytes, &self.general_rows, Message::General);
    }

    pub fn audit(&self, entry: AuditEntry) {
        self.queue.send(Message::Audit(entry));
    }

    /// An entry goes where `log_output` says. `bytes`: of its text.
    fn keep<T>(&self, entry: T, bytes: usize, rows: &Ring<T>, message: impl FnOnce(Arc<T>) -> Message) {
        let entry = Arc::new(entry);
        let bits = self.bits();
        if bits & TO_TABLE != 0 {
            rows.push(&entry, bytes);
        }
        if bits & TO_FILE != 0 {
            self.queue.send(message(entry));
        }
    }

    /// Entries that never reached their file: the queue was full, or the file could not be written.
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// The server ends: what waits is written.
    pub fn stop(&self) {
        self.bits.store(0, Ordering::Release);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopped.store(true, Ordering::Release);
        if let Some(writer) = writer.take() {
            self.queue.send(Message::Stop);
            let _ = writer.join();
        }
    }
}

impl Drop for QueryLogs {
    fn drop(&mut self) {
        self.stop();
    }
}

fn writes_file(log: Log, bits: u32) -> bool {
    let switch = match log {
        Log::Slow => SLOW,
        Log::General => GENERAL,
        Log::Audit => return bits & AUDIT != 0,
    };
    bits & switch != 0 && bits & TO_FILE != 0
}

fn rotates_otherwise(old: &Globals, new: &Globals) -> bool {
    settings::audit_rotation(old) != settings::audit_rotation(new)
}
