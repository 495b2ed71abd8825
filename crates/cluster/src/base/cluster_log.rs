//! The cluster log as a file, on management nodes: one line an event, in NDB's format, a few files of bounded size.
//!
//! `2026-11-22 03:00:00 [MgmtSrvr] INFO     -- Node 1: Node 2 Connected`. A thread of its own writes, so that a slow disk holds up
//! nobody. A line that cannot be written is lost; the events in memory are not.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use shoal_types::NodeId;

/// As large as NDB's by default, and as many.
const FILE_BYTES_MAX: u64 = 1_000_000;
const FILES_MAX: u32 = 6;
/// So much of the newest file is read back at a start.
const READ_BACK_BYTES: u64 = 64 << 10;
const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S";
const SOURCE: &str = "[MgmtSrvr]";

/// How grave an event is, as NDB's cluster log grades it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Severity {
    /// For who looks into the software itself.
    Debug = 0,
    /// As it should be.
    Info = 1,
    /// Something to look at before it becomes an error.
    Warning = 2,
    /// Something did not work.
    Error = 3,
    /// Something that keeps a node from its work.
    Critical = 4,
    /// To be put right at once.
    Alert = 5,
}

impl Severity {
    /// The least grave first.
    pub const ALL: [Severity; 6] =
        [Severity::Debug, Severity::Info, Severity::Warning, Severity::Error, Severity::Critical, Severity::Alert];

    /// As it stands in the log and in CLUSTERLOG's filter.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Critical => "CRITICAL",
            Severity::Alert => "ALERT",
        }
    }

    /// Its place in a set of severities.
    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Something that happened, for CLUSTERLOG.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    /// Microseconds since 1970, by the clock of the node that saw it.
    #[prost(uint64, tag = "1")]
    pub at_us: u64,
    /// The id of the node that saw it.
    #[prost(uint32, tag = "2")]
    pub node: u32,
    /// A [`Severity`]'s number.
    #[prost(enumeration = "Severity", tag = "3")]
    pub severity: i32,
    /// A word or two on what it concerns.
    #[prost(string, tag = "4")]
    pub category: String,
    /// One line for people.
    #[prost(string, tag = "5")]
    pub text: String,
}

impl Event {
    /// Who saw it.
    pub fn node_id(&self) -> NodeId {
        NodeId(self.node)
    }

    /// The local time, to the second.
    pub fn time(&self) -> String {
        let at = Timestamp::from_microsecond(i64::try_from(self.at_us).unwrap_or(0)).unwrap_or_default();
        at.to_zoned(TimeZone::system()).strftime(TIME_FORMAT).to_string()
    }

    /// The event as a line of the log, without its end.
    pub fn line(&self) -> String {
        // One line, whatever the text.
        let text = self.text.replace(['\n', '\r'], " ");
        format!("{} {SOURCE} {:8} -- Node {}: {text}", self.time(), self.severity().name(), self.node)
    }

    /// The event of such a line; lines do not keep the category.
    fn parse(line: &str) -> Option<Event> {
        let (time, rest) = line.split_once(SOURCE)?;
        let time = DateTime::strptime(TIME_FORMAT, time.trim()).ok()?.to_zoned(TimeZone::system()).ok()?;
        let (severity, rest) = rest.split_once("-- Node ")?;
        let severity = Severity::ALL.into_iter().find(|known| known.name() == severity.trim())?;
        let (node, text) = rest.split_once(": ")?;
        Some(Event {
            at_us: u64::try_from(time.timestamp().as_microsecond()).ok()?,
            node: node.parse().ok()?,
            severity: severity as i32,
            category: String::new(),
            text: text.to_owned(),
        })
    }
}

/// The thread that writes the file. Dropped, it has written everything.
pub(crate) struct LogWriter {
    lines: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl LogWriter {
    pub(crate) fn start(directory: &Path, node: NodeId) -> std::io::Result<LogWriter> {
        let path = log_path(directory, node);
        let (lines, receiver) = channel();
        let write = move || write_lines(&path, &receiver);
        let thread = std::thread::Builder::new().name("shoal-clog".into()).spawn(write)?;
        Ok(LogWriter { lines: Some(lines), thread: Some(thread) })
    }

    pub(crate) fn write(&self, event: &Event) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(event.line() + "\n");
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn log_path(directory: &Path, node: NodeId) -> PathBuf {
    directory.join(format!("shoal_{node}_cluster.log"))
}

/// The events at the end of a log that another process has written.
pub(crate) fn read_back(directory: &Path, node: NodeId) -> Vec<Event> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log_path(directory, node))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ_BACK_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(READ_BACK_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().filter_map(Event::parse).collect()
}

fn write_lines(path: &Path, lines: &Receiver<String>) {
    let mut file = None;
    let mut failed = false;
    for line in lines {
        match write_line(path, &mut file, &line) {
            Ok(()) => failed = false,
            Err(error) if !failed => {
                tracing::warn!(path = %path.display(), %error, "the cluster log cannot be written");
                failed = true;
            }
            Err(_) => {}
        }
    }
}

fn write_line(path: &Path, open: &mut Option<(File, u64)>, line: &str) -> std::io::Result<()> {
    if open.as_ref().is_some_and(|(_, length)| length + line.len() as u64 > FILE_BYTES_MAX) {
        *open = None;
        rotate(path)?;
    }
    let (file, length) = match open {
        Some(open) => open,
        None => {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            let length = file.metadata()?.len();
            open.insert((file, length))
        }
    };
    file.write_all(line.as_bytes())?;
    *length += line.len() as u64;
    Ok(())
}

/// `log.5` becomes `log.6`, and so on to `log`, which becomes `log.1`.
fn rotate(path: &Path) -> std::io::Result<()> {
    let numbered = |number: u32| PathBuf::from(format!("{}.{number}", path.display()));
    for number in (1..FILES_MAX).rev() {
        match fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, numbered(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event {
        Event {
            at_us: 1_800_000_000_000_000,
            node: 2,
            severity: Severity::Warning as i32,
            category: "connection".into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_line_looks_like_ndb_s_and_is_read_back() {
        let line = event("Node 3 Disconnected: it said\nfarewell").line();
        assert!(line.ends_with(" [MgmtSrvr] WARNING  -- Node 2: Node 3 Disconnected: it said farewell"), "{line}");
        let read = Event::parse(&line).unwrap();
        let expected = event("Node 3 Disconnected: it said farewell");
        assert_eq!((read.at_us, read.node, read.severity), (expected.at_us, expected.node, expected.severity));
        assert_eq!(read.text, expected.text);
        for damaged in [
            "",
            "2026-01-01",
            "x [MgmtSrvr] INFO -- Node 1: y",
            "2026-01-01 00:00:00 [MgmtSrvr] LOUD -- Node 1: y",
        ] {
            assert!(Event::parse(damaged).is_none(), "{damaged}");
        }
    }

    #[test]
    fn the_log_is_bounded_and_keeps_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let node = NodeId(3);
        let writer = LogWriter::start(directory.path(), node).unwrap();
        let long = "x".repeat(10_000);
        for number in 0..1000 {
            writer.write(&event(&format!("{number} {long}")));
        }
        writer.write(&event("the last"));
        drop(writer);
        let files: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap()).collect();
        assert_eq!(files.len(), FILES_MAX as usize + 1);
        assert!(files.iter().all(|file| file.metadata().unwrap().len() <= FILE_BYTES_MAX));
        let newest = read_back(directory.path(), node);
        assert_eq!(newest.last().unwrap().text, "the last");
        assert!(newest[newest.len() - 2].text.starts_with("999 "));
        // A later process goes on in the same file.
        let writer = LogWriter::start(directory.path(), node).unwrap();
        writer.write(&event("one more"));
        drop(writer);
        let texts: Vec<String> = read_back(directory.path(), node).into_iter().map(|event| event.text).collect();
        assert_eq!(texts[texts.len() - 2..], ["the last", "one more"]);
    }

    #[test]
    fn a_log_that_cannot_be_written_holds_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(log_path(directory.path(), NodeId(1))).unwrap();
        let writer = LogWriter::start(directory.path(), NodeId(1)).unwrap();
        writer.write(&event("lost"));
        drop(writer);
        assert!(read_back(directory.path(), NodeId(1)).is_empty());
    }
}
