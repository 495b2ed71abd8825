//! The log of this process: the newest entries in memory, and where they go.

use std::io;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::entry::Entry;
use crate::ring::Ring;
use crate::settings::{Settings, VERBOSITY_DEFAULT};
use crate::writer::{self, Message, Writer};

/// Entries that wait for [`configure`].
const EARLY_ENTRIES_MAX: usize = 1000;
/// Who tells the last words of a process waits so long for them to be written: its end must not be held up by a disk.
const LAST_WORDS_PATIENCE: Duration = Duration::from_millis(100);

const TEXT_ON_STDERR: u8 = 1;
const JSON_ON_STDERR: u8 = 2;

static LOG: OnceLock<ErrorLog> = OnceLock::new();

/// The process's error log.
struct ErrorLog {
    verbosity: AtomicU8,
    entries: Ring<Entry>,
    /// When the newest entry came, in microseconds since 1970; 0: there has been none.
    newest_us: AtomicI64,
    lost: AtomicU64,
    /// What stderr gets: bits.
    stderr: AtomicU8,
    output: Mutex<Output>,
}

enum Output {
    /// Nobody has said yet where entries go.
    Waiting(Vec<Arc<Entry>>),
    Writing(Writer),
    /// The process is about to end: entries go to stderr, at once.
    Ended,
}

/// The newest entries, and what became of the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Entries in memory.
    pub entries: usize,
    /// Bytes of their texts.
    pub bytes: usize,
    /// Those that had to make room.
    pub expired: u64,
    /// When the newest one came, in microseconds since 1970; 0: there has been none.
    pub newest_us: i64,
    /// Entries that never reached their file: too many came at once, or it could not be written.
    pub lost: u64,
}

/// There is a log from now on; false: there was one.
pub(crate) fn begin() -> bool {
    let log = ErrorLog {
        verbosity: AtomicU8::new(VERBOSITY_DEFAULT),
        entries: Ring::default(),
        newest_us: AtomicI64::new(0),
        lost: AtomicU64::new(0),
        stderr: AtomicU8::new(TEXT_ON_STDERR),
        output: Mutex::new(Output::Waiting(Vec::new())),
    };
    LOG.set(log).is_ok()
}

/// An entry has come, on whatever thread, which goes on at once: unless the process ends behind it, and it is written before (`is_last`).
pub(crate) fn add(entry: Entry, is_last: bool) {
    if let Some(log) = LOG.get() {
        log.add(entry, is_last);
    }
}

/// Says where entries go, at the start or later; those that have waited come first.
///
/// # Errors
/// The file cannot be opened: entries go where they went before.
pub fn configure(settings: &Settings) -> io::Result<()> {
    let Some(log) = LOG.get() else { return Ok(()) };
    let writing = match &*log.lock_output() {
        Output::Writing(writer) => Some(writer.clone()),
        _ => None,
    };
    match writing {
        // The writer itself may have something to tell meanwhile, so the lock is not held.
        Some(writer) => writer.open(settings)?,
        None => log.begin(settings)?,
    }
    log.verbosity.store(settings.verbosity, Ordering::Relaxed);
    let bit = |is_on: bool, bit: u8| if is_on && settings.file.is_none() { bit } else { 0 };
    log.stderr.store(bit(settings.text, TEXT_ON_STDERR) | bit(settings.json, JSON_ON_STDERR), Ordering::Relaxed);
    Ok(())
}

/// FLUSH ERROR LOGS: everything so far is in its file, and its name is opened again.
pub fn reopen() {
    with_writer(|writer| writer.command(Message::Reopen, None));
}

/// The process is about to end: what waits is written.
pub fn stop() {
    let Some(log) = LOG.get() else { return };
    let output = std::mem::replace(&mut *log.lock_output(), Output::Ended);
    match output {
        Output::Waiting(early) => early.iter().for_each(|entry| writer::to_stderr(&entry.text_line())),
        Output::Writing(writer) => writer.stop(),
        Output::Ended => {}
    }
}

/// Entries are lines of text on stderr; so they are before anybody has said otherwise.
pub fn is_text_on_stderr() -> bool {
    stderr_has(TEXT_ON_STDERR)
}

/// Entries are JSON on stderr.
pub fn is_json_on_stderr() -> bool {
    stderr_has(JSON_ON_STDERR)
}

fn stderr_has(bit: u8) -> bool {
    LOG.get().map_or(TEXT_ON_STDERR, |log| log.stderr.load(Ordering::Relaxed)) & bit != 0
}

/// The newest entries, the oldest first.
pub fn entries() -> Vec<Arc<Entry>> {
    LOG.get().map(|log| log.entries.entries()).unwrap_or_default()
}

/// What status variables tell.
pub fn figures() -> Figures {
    let Some(log) = LOG.get() else { return Figures::default() };
    let (entries, bytes, expired) = log.entries.figures();
    Figures {
        entries,
        bytes,
        expired,
        newest_us: log.newest_us.load(Ordering::Relaxed),
        lost: log.lost.load(Ordering::Relaxed) + writer::lost(),
    }
}

fn with_writer(work: impl FnOnce(&Writer)) {
    let Some(log) = LOG.get() else { return };
    let writer = match &*log.lock_output() {
        Output::Writing(writer) => writer.clone(),
        _ => return,
    };
    work(&writer);
}

impl ErrorLog {
    fn lock_output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the writer with what has waited for it.
    fn begin(&self, settings: &Settings) -> io::Result<()> {
        let mut output = self.lock_output();
        if let Output::Waiting(early) = &mut *output {
            let writer = Writer::start(settings)?;
            let early = early.drain(..).filter(|entry| entry.priority.is_shown_at(settings.verbosity));
            early.for_each(|entry| self.lost_unless(writer.send(Message::Entry(entry))));
            *output = Output::Writing(writer);
        }
        Ok(())
    }

    fn add(&self, entry: Entry, is_last: bool) {
        if !entry.priority.is_shown_at(self.verbosity.load(Ordering::Relaxed)) {
            return;
        }
        let entry = Arc::new(entry);
        self.newest_us.store(entry.at_us, Ordering::Relaxed);
        self.entries.push(&entry, entry.text.len());
        // The lock is not held while somebody waits for the disk.
        let writer = match &mut *self.lock_output() {
            Output::Waiting(early) if early.len() < EARLY_ENTRIES_MAX => return early.push(entry),
            Output::Waiting(_) => return self.lost_unless(false),
            Output::Ended => return writer::to_stderr(&entry.text_line()),
            Output::Writing(writer) => writer.clone(),
        };
        self.lost_unless(writer.send(Message::Entry(entry)));
        if is_last {
            writer.command(Message::Sync, Some(LAST_WORDS_PATIENCE));
        }
    }

    fn lost_unless(&self, is_sent: bool) {
        if !is_sent {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
