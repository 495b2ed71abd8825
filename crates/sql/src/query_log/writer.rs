//! The thread that writes the logs, and the queue before it.
//!
//! Sessions leave entries in the queue and go on; they never wait for a disk. The queue is bounded in bytes: what does not fit is
//! lost and counted. Commands of operators (open, close, open again) take their turns among the entries.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use shoal_error_log::LogFile;
use tokio::sync::oneshot;

use super::audit::{AuditEntry, write_audit};
use super::format::{GeneralEntry, SlowEntry, write_general, write_slow};

/// An entry is taken while less than this waits.
const QUEUE_BYTES_MAX: usize = 16 << 20;
/// What an entry takes besides its text.
const ENTRY_BYTES: usize = 256;
/// Formatted entries are written when there are so many bytes, or when no others wait.
const WRITE_BYTES: usize = 256 << 10;

/// One of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    Slow,
    General,
    Audit,
}

impl Log {
    pub const ALL: [Log; 3] = [Log::Slow, Log::General, Log::Audit];

    fn title(self) -> &'static str {
        match self {
            Log::Slow => "slow query log",
            Log::General => "general log",
            Log::Audit => "audit log",
        }
    }
}

/// What the writer does.
pub enum Message {
    Slow(Arc<SlowEntry>),
    General(Arc<GeneralEntry>),
    Audit(AuditEntry),
    /// Writes this file from now on. Without anybody to answer, a file that cannot be opened is tried again later.
    Open {
        log: Log,
        path: PathBuf,
        header: String,
        /// Put aside when it is so large; 0: never.
        rotate_at_bytes: u64,
        done: Option<oneshot::Sender<io::Result<()>>>,
    },
    Close(Log),
    /// FLUSH LOGS.
    Reopen {
        log: Log,
        done: oneshot::Sender<()>,
    },
    /// Ends the thread.
    Stop,
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<Message>,
    /// Of the entries among them.
    bytes: usize,
    writer_sleeps: bool,
}

/// What waits for the writer.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    lost: AtomicU64,
}

impl Queue {
    /// Entries that were never written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub fn send(&self, message: Message) {
        let bytes = match &message {
            Message::Slow(entry) => entry.text.len() + ENTRY_BYTES,
            Message::General(entry) => entry.text.len() + ENTRY_BYTES,
            Message::Audit(entry) => entry.text.len() + ENTRY_BYTES,
            _ => 0,
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > 0 && waiting.bytes >= QUEUE_BYTES_MAX {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.bytes += bytes;
        waiting.messages.push_back(message);
        if std::mem::take(&mut waiting.writer_sleeps) {
            self.filled.notify_one();
        }
    }

    fn take(&self) -> VecDeque<Message> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.messages.is_empty() {
            waiting.writer_sleeps = true;
            waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.bytes = 0;
        std::mem::take(&mut waiting.messages)
    }
}

/// A log as the writer has it.
#[derive(Default)]
struct Written {
    file: Option<LogFile>,
    buffer: Vec<u8>,
    buffered: u64,
    /// The database of the last entry.
    database: String,
}

impl Written {
    fn write_out(&mut self, queue: &Queue) {
        if self.buffer.is_empty() {
            return;
        }
        if !self.file.as_mut().is_some_and(|file| file.append(&self.buffer)) {
            queue.lost.fetch_add(self.buffered, Ordering::Relaxed);
        }
        self.buffer.clear();
        self.buffer.shrink_to(WRITE_BYTES);
        self.buffered = 0;
    }

    fn added(&mut self, queue: &Queue) {
        self.buffered += 1;
        if self.buffer.len() >= WRITE_BYTES {
            self.write_out(queue);
        }
    }
}

/// Writes until it is told to stop.
pub fn run(queue: &Arc<Queue>) {
    let [mut slow, mut general, mut audit] = std::array::from_fn(|_| Written::default());
    loop {
        for message in queue.take() {
            match message {
                Message::Slow(entry) => {
                    write_slow(&entry, &mut slow.database, &mut slow.buffer);
                    slow.added(queue);
                }
                Message::General(entry) => {
                    write_general(&entry, &mut general.buffer);
                    general.added(queue);
                }
                Message::Audit(entry) => {
                    write_audit(&entry, &mut audit.buffer);
                    audit.added(queue);
                }
                Message::Open { log, path, header, rotate_at_bytes, done } => {
                    let written = of(log, &mut slow, &mut general, &mut audit);
                    written.write_out(queue);
                    let opened = match done.is_some() {
                        true => LogFile::open(log.title(), &path, header),
                        false => Ok(LogFile::unopened(log.title(), &path, header)),
                    };
                    let outcome = opened.map(|mut file| {
                        file.rotate_at(rotate_at_bytes);
                        if done.is_none() {
                            file.reopen();
                        }
                        *written = Written { file: Some(file), ..Written::default() };
                    });
                    if let Some(done) = done {
                        let _ = done.send(outcome);
                    }
                }
                Message::Close(log) => {
                    let written = of(log, &mut slow, &mut general, &mut audit);
                    written.write_out(queue);
                    *written = Written::default();
                }
                Message::Reopen { log, done } => {
                    let written = of(log, &mut slow, &mut general, &mut audit);
                    written.write_out(queue);
                    written.database.clear();
                    if let Some(file) = &mut written.file {
                        file.reopen();
                    }
                    let _ = done.send(());
                }
                Message::Stop => {
                    slow.write_out(queue);
                    general.write_out(queue);
                    audit.write_out(queue);
                    return;
                }
            }
        }
        slow.write_out(queue);
        general.write_out(queue);
        audit.write_out(queue);
    }
}

fn of<'a>(log: Log, slow: &'a mut Written, general: &'a mut Written, audit: &'a mut Written) -> &'a mut Written {
    match log {
        Log::Slow => slow,
        Log::General => general,
        Log::Audit => audit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_the_queue_is_lost_and_counted() {
        let queue = Queue::default();
        for _ in 0..20 {
            let text = vec![b'x'; 1 << 20];
            queue.send(Message::General(Arc::new(GeneralEntry {
                at: 0,
                user_host: String::new(),
                connection: 1,
                command: "Query",
                text,
            })));
        }
        assert_eq!(queue.lost(), 4);
        assert_eq!(queue.take().len(), 16);
        queue.send(Message::Stop);
        assert_eq!(queue.take().len(), 1);
    }
}
