//! What happens in the cluster, remembered: every node keeps its own events and tells them to the management nodes, which keep and
//! write everybody's.
//!
//! An event is put into memory where it happens, under whatever locks; the cluster's thread sends it on. A management node that
//! is away gets what it has missed when it is back, as far as it is still kept.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use shoal_tls::Identity;
use shoal_types::NodeId;

use crate::base::clock::wall_micros;
use crate::base::cluster_log::{Event, LogWriter, Severity, read_back};
use crate::base::wait::lock;

/// Events that are kept in memory: of this node, and on management nodes of all.
const EVENTS_MAX: usize = 1000;
/// Events in one frame.
const EVENTS_PER_FRAME: usize = 100;
/// What management nodes write if nothing else was said: everything but DEBUG.
const FILTER_DEFAULT: u32 = 0b11_1110;

/// A node's events, and on management nodes everybody's.
pub(crate) struct EventLog {
    /// This node; `None` in a process that is the whole database, which keeps no events.
    me: Option<NodeId>,
    is_management: bool,
    inner: Mutex<Inner>,
    /// Per partition the term in which this node, a witness, was elected.
    witness_terms: Mutex<HashMap<u32, u64>>,
    /// Why nodes were refused, so that one that tries again and again is told of once.
    refusals: Mutex<HashMap<NodeId, String>>,
    /// The newest of those who came without a certificate.
    untrusted: Mutex<Option<String>>,
    /// Bits of the severities that management nodes write and show.
    filter: AtomicU32,
}

#[derive(Default)]
struct Inner {
    own: VecDeque<Event>,
    /// Events that this process has had.
    count: u64,
    /// How many of them each management node has been sent.
    told: HashMap<NodeId, u64>,
    /// Everybody's, on management nodes.
    all: VecDeque<Event>,
    writer: Option<LogWriter>,
}

fn push(events: &mut VecDeque<Event>, event: Event) {
    if events.len() >= EVENTS_MAX {
        events.pop_front();
    }
    events.push_back(event);
}

impl Inner {
    /// On a management node: the event belongs into the cluster's log.
    fn keep(&mut self, event: Event, filter: u32) {
        if event.severity().bit() & filter == 0 {
            return;
        }
        if let Some(writer) = &self.writer {
            writer.write(&event);
        }
        push(&mut self.all, event);
    }
}

impl EventLog {
    pub(crate) fn new(me: Option<NodeId>, is_management: bool) -> EventLog {
        EventLog {
            me,
            is_management,
            inner: Mutex::default(),
            witness_terms: Mutex::default(),
            refusals: Mutex::default(),
            untrusted: Mutex::default(),
            filter: AtomicU32::new(FILTER_DEFAULT),
        }
    }

    pub(crate) fn filter(&self) -> u32 {
        self.filter.load(Ordering::Relaxed)
    }

    pub(crate) fn set_filter(&self, bits: u32) {
        self.filter.store(bits, Ordering::Relaxed);
    }

    /// Something has happened here.
    pub(crate) fn log(&self, severity: Severity, category: &str, text: &str) {
        let Some(me) = self.me else { return };
        match severity {
            Severity::Debug | Severity::Info => tracing::info!("{text}"),
            Severity::Warning => tracing::warn!("{text}"),
            Severity::Error | Severity::Critical | Severity::Alert => tracing::error!("{text}"),
        }
        self.add(Event {
            at_us: wall_micros(),
            node: me.0,
            severity: severity as i32,
            category: category.to_owned(),
            text: text.to_owned(),
        });
    }

    fn add(&self, event: Event) {
        let mut inner = lock(&self.inner);
        inner.count += 1;
        push(&mut inner.own, event.clone());
        if self.is_management {
            inner.keep(event, self.filter());
        }
    }

    /// The newest events that this node knows of, the oldest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Event> {
        let inner = lock(&self.inner);
        let events = if self.is_management { &inner.all } else { &inner.own };
        let mut events: Vec<Event> = events.iter().cloned().collect();
        // They came in the order of their arrival.
        events.sort_by_key(|event| event.at_us);
        events.split_off(events.len().saturating_sub(count))
    }

    /// Sends a management node what it has not been sent; `send` is false if there is no link.
    pub(crate) fn tell(&self, to: NodeId, mut send: impl FnMut(&[Event]) -> bool) {
        let mut inner = lock(&self.inner);
        let kept_from = inner.count - inner.own.len() as u64;
        let mut told = inner.told.get(&to).copied().unwrap_or(0).max(kept_from);
        while told < inner.count {
            let first = (told - kept_from) as usize;
            let events: Vec<Event> = inner.own.iter().skip(first).take(EVENTS_PER_FRAME).cloned().collect();
            if !send(&events) {
                break;
            }
            told += events.len() as u64;
        }
        inner.told.insert(to, told);
    }

    /// Events of another node. Only management nodes keep them.
    pub(crate) fn receive(&self, from: NodeId, events: Vec<Event>) {
        if !self.is_management {
            return;
        }
        let filter = self.filter();
        let mut inner = lock(&self.inner);
        for mut event in events {
            event.node = from.0;
            inner.keep(event, filter);
        }
    }

    /// On a management node: begins to write the cluster's log, and knows again what is in it.
    pub(crate) fn open_file(&self, directory: &Path) {
        let Some(me) = self.me.filter(|_| self.is_management) else { return };
        let mut inner = lock(&self.inner);
        let early = std::mem::take(&mut inner.all);
        inner.all.extend(read_back(directory, me));
        match LogWriter::start(directory, me) {
            Ok(writer) => {
                early.iter().for_each(|event| writer.write(event));
                inner.writer = Some(writer);
            }
            Err(error) => tracing::warn!(%error, "the cluster log is not written: no thread for it"),
        }
        early.into_iter().for_each(|event| push(&mut inner.all, event));
    }

    /// Everything that was logged is in the file.
    pub(crate) fn close_file(&self) {
        let writer = lock(&self.inner).writer.take();
        drop(writer);
    }

    /// A node, or a client, may not take part.
    pub(crate) fn note_refused(&self, node: NodeId, reason: &str) {
        let told = lock(&self.refusals).insert(node, reason.to_owned());
        if told.as_deref() == Some(reason) {
            return;
        }
        let who = if node == shoal_transport::CLIENT { "A client".into() } else { format!("Node {node}") };
        self.log(Severity::Warning, "connection", &format!("{who} was refused: {reason}"));
    }

    /// Somebody has come without a certificate of the cluster. What it claims to be is not proven.
    pub(crate) fn note_untrusted(&self, claimed: Option<Identity>, reason: &str) {
        let who = claimed.map_or_else(|| "a stranger".to_owned(), |identity| identity.to_string());
        let text = format!("What says that it is {who} was refused: {reason}");
        // Told once, like other refusals, until something else is refused.
        if lock(&self.untrusted).replace(text.clone()).as_ref() != Some(&text) {
            self.log(Severity::Warning, "connection", &text);
        }
    }

    pub(crate) fn forget_refusal(&self, node: NodeId) {
        lock(&self.refusals).remove(&node);
        *lock(&self.untrusted) = None;
    }

    /// A witness that was elected tells it once a term.
    pub(crate) fn note_witness(&self, partition: u32, term: u64) {
        let known = lock(&self.witness_terms).insert(partition, term);
        if known != Some(term) {
            let text = format!(
                "Arbitration: elected as the witness of partition {partition} (term {term}); hands over to the replica \
                 that is left as soon as it has everything"
            );
            self.log(Severity::Warning, "arbitration", &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str, at_us: u64) -> Event {
        Event { at_us, node: 1, severity: Severity::Info as i32, category: "test".into(), text: text.into() }
    }

    #[test]
    fn a_management_node_that_was_away_gets_what_it_missed_as_far_as_it_is_kept() {
        let log = EventLog::new(Some(NodeId(1)), false);
        let to = NodeId(3);
        for number in 0..3 {
            log.add(event(&number.to_string(), number));
        }
        log.tell(to, |_| false);
        let mut got = Vec::new();
        let mut take = |events: &[Event]| {
            got.extend(events.iter().map(|event| event.at_us));
            true
        };
        log.tell(to, &mut take);
        log.tell(to, &mut take);
        for number in 3..3 + EVENTS_MAX as u64 + 5 {
            log.add(event(&number.to_string(), number));
        }
        log.tell(to, &mut take);
        let expected: Vec<u64> = (0..3).chain(8..1008).collect();
        assert_eq!(got, expected, "the five that were dropped meanwhile are missing");
    }

    #[test]
    fn events_are_shown_by_their_time_and_filtered_by_severity() {
        let log = EventLog::new(Some(NodeId(1)), true);
        log.add(event("second", 2));
        log.add(event("first", 1));
        log.add(Event { severity: Severity::Debug as i32, ..event("debug", 3) });
        let texts = |log: &EventLog, count| -> Vec<String> {
            log.newest(count).into_iter().map(|event| event.text).collect()
        };
        assert_eq!(texts(&log, 10), ["first", "second"]);
        assert_eq!(texts(&log, 1), ["second"]);
        log.set_filter(0);
        log.add(event("not wanted", 4));
        assert_eq!(texts(&log, 10), ["first", "second"]);
    }
}
