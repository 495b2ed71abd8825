//! The thread that writes entries, and the queue before it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use crate::entry::Entry;
use crate::file::LogFile;
use crate::settings::Settings;

/// Entries that may wait.
const QUEUE_ENTRIES_MAX: usize = 4096;
/// How long an end waits for entries to be written, and for room in the queue.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
const STOP_AGAIN_AFTER: Duration = Duration::from_millis(5);
const TITLE: &str = "error log";

/// Entries that no file took; they are on stderr instead.
static NOT_IN_FILE: AtomicU64 = AtomicU64::new(0);

pub(crate) fn lost() -> u64 {
    NOT_IN_FILE.load(Ordering::Relaxed)
}

/// What the thread does.
pub(crate) enum Message {
    Entry(Arc<Entry>),
    Open(Box<Sinks>),
    Reopen,
    /// Nothing: whoever sent it waits for what came before it.
    Sync,
    /// Ends the thread.
    Stop,
}

/// A message, and who waits until it is done.
type Queued = (Message, Option<SyncSender<()>>);

/// Shared by all who have entries.
#[derive(Clone)]
pub(crate) struct Writer(SyncSender<Queued>);

impl Writer {
    /// # Errors
    /// The file cannot be opened, or there is no thread to be had.
    pub(crate) fn start(settings: &Settings) -> io::Result<Writer> {
        let sinks = Sinks::open(settings)?;
        let (sender, queue) = sync_channel(QUEUE_ENTRIES_MAX);
        std::thread::Builder::new().name("error-log".to_owned()).spawn(move || run(&queue, sinks))?;
        Ok(Writer(sender))
    }

    /// # Errors
    /// The file cannot be opened, and nothing has changed.
    pub(crate) fn open(&self, settings: &Settings) -> io::Result<()> {
        let sinks = Sinks::open(settings)?;
        self.command(Message::Open(Box::new(sinks)), None);
        Ok(())
    }

    /// False: too many wait already.
    pub(crate) fn send(&self, message: Message) -> bool {
        match self.0.try_send((message, None)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// Waits until it is done, or so long.
    pub(crate) fn command(&self, message: Message, patience: Option<Duration>) {
        let (done, answer) = sync_channel(1);
        let queued = (message, Some(done));
        match patience {
            Some(patience) => {
                if self.0.try_send(queued).is_ok() {
                    let _ = answer.recv_timeout(patience);
                }
            }
            None => {
                if self.0.send(queued).is_ok() {
                    let _ = answer.recv();
                }
            }
        }
    }

    /// Writes what waits, unless the disk or who reads stderr stands still: the process has to end.
    pub(crate) fn stop(self) {
        let deadline = Instant::now() + STOP_PATIENCE;
        let (done, answer) = sync_channel(1);
        let mut queued = (Message::Stop, Some(done));
        while let Err(TrySendError::Full(back)) = self.0.try_send(queued) {
            if Instant::now() >= deadline {
                return;
            }
            queued = back;
            std::thread::sleep(STOP_AGAIN_AFTER);
        }
        let _ = answer.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Where entries go.
pub(crate) struct Sinks {
    text: Option<Sink>,
    json: Option<Sink>,
}

enum Sink {
    Stderr,
    File(LogFile),
}

impl Sinks {
    fn open(settings: &Settings) -> io::Result<Sinks> {
        let open = |path: Option<std::path::PathBuf>| match path {
            None => Ok(Sink::Stderr),
            Some(path) => LogFile::open(TITLE, &path, String::new()).map(Sink::File).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot write '{}': {error}", path.display()))
            }),
        };
        Ok(Sinks {
            text: settings.text.then(|| open(settings.file.clone())).transpose()?,
            json: settings.json.then(|| open(settings.json_file())).transpose()?,
        })
    }

    fn write(&mut self, entry: &Entry) {
        if let Some(sink) = &mut self.text {
            sink.write(&entry.text_line());
        }
        if let Some(sink) = &mut self.json {
            sink.write(&entry.json_line());
        }
    }

    fn reopen(&mut self) {
        for sink in [&mut self.text, &mut self.json].into_iter().flatten() {
            if let Sink::File(file) = sink {
                file.reopen();
            }
        }
    }
}

impl Sink {
    fn write(&mut self, line: &str) {
        match self {
            Sink::Stderr => to_stderr(line),
            Sink::File(file) => {
                if !file.append(line.as_bytes()) {
                    NOT_IN_FILE.fetch_add(1, Ordering::Relaxed);
                    to_stderr(line);
                }
            }
        }
    }
}

/// One write, as other processes may write there too. Where nobody can read it nothing can be done about that.
pub(crate) fn to_stderr(line: &str) {
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

fn run(queue: &Receiver<Queued>, mut sinks: Sinks) {
    while let Ok((message, done)) = queue.recv() {
        let ends = matches!(message, Message::Stop);
        match message {
            Message::Entry(entry) => sinks.write(&entry),
            Message::Open(other) => sinks = *other,
            Message::Reopen => sinks.reopen(),
            Message::Sync | Message::Stop => {}
        }
        if let Some(done) = done {
            let _ = done.send(());
        }
        if ends {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::entry::Priority;

    fn entry(text: &str) -> Message {
        let text = text.to_owned();
        Message::Entry(Arc::new(Entry {
            at_us: 1,
            connection: 0,
            priority: Priority::Note,
            subsystem: "Server",
            text,
        }))
    }

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn entries_go_to_both_files_and_to_new_ones_after_a_rotation() {
        let directory = tempfile::tempdir().unwrap();
        let services = "log_sink_internal; log_sink_json";
        let settings = Settings::of("shoal.log", services, "3", directory.path()).unwrap();
        let writer = Writer::start(&settings).unwrap();
        assert!(writer.send(entry("one")));
        writer.command(Message::Sync, None);
        let (text, json) = (directory.path().join("shoal.log"), directory.path().join("shoal.log.00.json"));
        assert!(read(&text).ends_with("[Note] [MY-000000] [Server] one\n"), "{}", read(&text));
        assert!(read(&json).contains(r#""msg":"one""#), "{}", read(&json));
        let old = directory.path().join("old");
        std::fs::rename(&text, &old).unwrap();
        writer.command(Message::Reopen, None);
        assert!(writer.send(entry("two")));
        writer.stop();
        assert!(!read(&old).contains("two") && read(&text).contains("two"));
        assert_eq!(read(&json).lines().count(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_and_nothing_changes() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings::of("shoal.log", "log_sink_internal", "3", directory.path()).unwrap();
        let writer = Writer::start(&settings).unwrap();
        let elsewhere = Settings { file: Some("/no/such/directory/x.err".into()), ..settings };
        let error = writer.open(&elsewhere).unwrap_err().to_string();
        assert!(error.contains("/no/such/directory/x.err"), "{error}");
        assert!(writer.send(entry("three")));
        writer.stop();
        assert!(read(&directory.path().join("shoal.log")).contains("three"));
    }
}
