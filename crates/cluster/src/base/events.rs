//! What happens in the cluster, remembered: every node keeps its own events and tells them to the management nodes, which keep and
//! write everybody's.
//!
//! An event is put into memory where it happens, under whatever locks; the cluster's thread sends it on. A management node that
//! is away gets what it has missed when it is back, as far as it is still kept.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use prost::Message;
use shoal_partition::Millis;
use shoal_types::NodeId;

use crate::base::clock::wall_micros;
use crate::base::cluster_log::{Event, LogWriter, Severity, read_back};
use crate::base::topology::Leaders;
use crate::base::wait::lock;
use crate::management::view::ranges;
use crate::membership::links::FRAME_EVENTS;
use crate::membership::peers::Cluster;
use crate::node::{Node, PartitionGuard};

/// Events that are kept in memory: of this node, and on management nodes of all.
const EVENTS_MAX: usize = 1000;
/// Events in one frame.
const EVENTS_PER_FRAME: usize = 100;
/// What management nodes write if nothing else was said: everything but DEBUG.
const FILTER_DEFAULT: u32 = 0b11_1110;

#[derive(Clone, PartialEq, prost::Message)]
struct EventBatch {
    #[prost(message, repeated, tag = "1")]
    events: Vec<Event>,
}

/// A node's events, and on management nodes everybody's.
pub(crate) struct EventLog {
    inner: Mutex<Inner>,
    leaders: Mutex<LeaderWatch>,
    /// Per partition the term in which this node, a witness, was elected.
    witness_terms: Mutex<HashMap<u32, u64>>,
    /// Why nodes were refused, so that one that tries again and again is told of once.
    refusals: Mutex<HashMap<NodeId, String>>,
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

impl Default for EventLog {
    fn default() -> EventLog {
        EventLog {
            inner: Mutex::default(),
            leaders: Mutex::default(),
            witness_terms: Mutex::default(),
            refusals: Mutex::default(),
            filter: AtomicU32::new(FILTER_DEFAULT),
        }
    }
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
    pub(crate) fn filter(&self) -> u32 {
        self.filter.load(Ordering::Relaxed)
    }

    pub(crate) fn set_filter(&self, bits: u32) {
        self.filter.store(bits, Ordering::Relaxed);
    }

    fn log(&self, event: Event, is_management: bool) {
        let mut inner = lock(&self.inner);
        inner.count += 1;
        push(&mut inner.own, event.clone());
        if is_management {
            inner.keep(event, self.filter());
        }
    }

    /// The newest events that this node knows of, the oldest first.
    pub(crate) fn newest(&self, count: usize, is_management: bool) -> Vec<Event> {
        let inner = lock(&self.inner);
        let events = if is_management { &inner.all } else { &inner.own };
        let mut events: Vec<Event> = events.iter().cloned().collect();
        // They came in the order of their arrival.
        events.sort_by_key(|event| event.at_us);
        events.split_off(events.len().saturating_sub(count))
    }

    /// Sends a management node what it has not been sent; `send` is false if there is no link.
    fn tell(&self, to: NodeId, mut send: impl FnMut(&[Event]) -> bool) {
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
}

impl Node {
    pub(crate) fn log_event(&self, category: &str, text: &str) {
        self.log_event_as(Severity::Info, category, text);
    }

    pub(crate) fn log_event_as(&self, severity: Severity, category: &str, text: &str) {
        let Some(cluster) = &self.cluster else { return };
        tracing::info!(category, text);
        let event = Event {
            at_us: wall_micros(),
            node: cluster.options.me.0,
            severity: severity as i32,
            category: category.to_owned(),
            text: text.to_owned(),
        };
        cluster.events.log(event, cluster.options.roles().management);
    }

    /// On a management node: begins to write the cluster's log, and knows again what is in it.
    pub(crate) fn open_cluster_log(&self) {
        let Some(cluster) = self.cluster.as_ref().filter(|cluster| cluster.options.roles().management) else {
            return;
        };
        let directory = self.options.cluster_log_dir.as_ref().unwrap_or(&self.options.data_dir);
        let me = cluster.options.me;
        let mut inner = lock(&cluster.events.inner);
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
    pub(crate) fn close_cluster_log(&self) {
        if let Some(cluster) = &self.cluster {
            let writer = lock(&cluster.events.inner).writer.take();
            drop(writer);
        }
    }

    /// Tells the management nodes what they do not know. Takes no lock of the cluster's but the events' own.
    pub(crate) fn forward_events(&self) {
        let Some(cluster) = &self.cluster else { return };
        let others = cluster.options.nodes.iter().filter(|node| node.roles.management);
        for node in others.filter(|node| node.id != cluster.options.me) {
            cluster.events.tell(node.id, |events| {
                let batch = EventBatch { events: events.to_vec() };
                cluster.send(node.id, 0, FRAME_EVENTS, |buffer| {
                    // A vector grows as needed: encoding into it cannot fail.
                    let _ = batch.encode(buffer);
                })
            });
        }
    }

    /// Events of another node.
    pub(crate) fn hear_events(&self, from: NodeId, payload: &[u8]) {
        let (Some(cluster), Ok(batch)) = (&self.cluster, EventBatch::decode(payload)) else { return };
        if !cluster.options.roles().management {
            return;
        }
        let filter = cluster.events.filter();
        let mut inner = lock(&cluster.events.inner);
        for mut event in batch.events {
            event.node = from.0;
            inner.keep(event, filter);
        }
    }

    /// A node, or a client, may not take part.
    pub(crate) fn note_refused(&self, node: NodeId, reason: &str) {
        let Some(cluster) = &self.cluster else { return };
        let told = lock(&cluster.events.refusals).insert(node, reason.to_owned());
        if told.as_deref() == Some(reason) {
            return;
        }
        let who = if node == shoal_transport::CLIENT { "A client".into() } else { format!("Node {node}") };
        self.log_event_as(Severity::Warning, "connection", &format!("{who} was refused: {reason}"));
    }

    pub(crate) fn forget_refusal(&self, node: NodeId) {
        if let Some(cluster) = &self.cluster {
            lock(&cluster.events.refusals).remove(&node);
        }
    }

    /// A witness that was elected tells it once a term.
    pub(crate) fn note_witness(&self, partition: u32, guard: &PartitionGuard<'_>) {
        let Some(cluster) = self.cluster.as_ref().filter(|_| guard.is_witness() && guard.is_leader()) else {
            return;
        };
        let known = lock(&cluster.events.witness_terms).insert(partition, guard.term());
        if known != Some(guard.term()) {
            let text = format!(
                "Arbitration: elected as the witness of partition {partition} (term {}); hands over to the replica \
                 that is left as soon as it has everything",
                guard.term()
            );
            self.log_event_as(Severity::Warning, "arbitration", &text);
        }
    }

    /// Tells of the partitions that this node has come to lead.
    pub(crate) fn watch_leaders(&self, cluster: &Cluster) {
        let partitions = cluster.options.partition_count();
        let changes =
            lock(&cluster.events.leaders).look(self.now(), cluster.options.me, partitions + 1, &cluster.leaders);
        for (severity, text) in describe_changes(&changes, cluster.options.me, partitions) {
            self.log_event_as(severity, "leader", &text);
        }
    }
}

/// A partition that this node leads from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeaderChange {
    partition: u32,
    before: Option<NodeId>,
    /// As far as this node has seen it.
    without_leader_ms: u64,
}

/// Who led what at the last look.
#[derive(Default)]
struct LeaderWatch {
    seen: Vec<SeenLeader>,
}

#[derive(Clone, Default)]
struct SeenLeader {
    now: Option<NodeId>,
    /// The last one that there was.
    last: Option<NodeId>,
    lost_at: Option<Millis>,
}

impl LeaderWatch {
    fn look(&mut self, now: Millis, me: NodeId, partitions: u32, leaders: &Leaders) -> Vec<LeaderChange> {
        self.seen.resize(partitions as usize, SeenLeader::default());
        let mut changes = Vec::new();
        for (partition, seen) in self.seen.iter_mut().enumerate() {
            let partition = partition as u32;
            let leader = leaders.of(partition);
            if leader == seen.now {
                continue;
            }
            seen.now = leader;
            match leader {
                None => seen.lost_at = Some(now),
                Some(leader) => {
                    let lost_at = seen.lost_at.take();
                    let before = seen.last.replace(leader);
                    if leader == me {
                        let without_leader_ms = lost_at.map_or(0, |lost_at| now.0.saturating_sub(lost_at.0));
                        changes.push(LeaderChange { partition, before, without_leader_ms });
                    }
                }
            }
        }
        changes
    }
}

/// One sentence for all partitions that came from one node.
fn describe_changes(changes: &[LeaderChange], me: NodeId, meta_partition: u32) -> Vec<(Severity, String)> {
    let mut by_leader: BTreeMap<Option<NodeId>, Vec<&LeaderChange>> = BTreeMap::new();
    for change in changes {
        by_leader.entry(change.before).or_default().push(change);
    }
    let describe = |(before, changes): (Option<NodeId>, Vec<&LeaderChange>)| {
        let is_meta = |change: &&LeaderChange| change.partition == meta_partition;
        let numbers: Vec<u32> =
            changes.iter().filter(|change| !is_meta(change)).map(|one| one.partition).collect();
        let mut what = Vec::new();
        match numbers.len() {
            0 => {}
            1 => what.push(format!("partition {}", numbers[0])),
            _ => what.push(format!("partitions {}", ranges(&numbers))),
        }
        if changes.iter().any(is_meta) {
            what.push("the dictionary".to_owned());
        }
        let outage_ms = changes.iter().map(|change| change.without_leader_ms).max().unwrap_or(0);
        let what = what.join(" and ");
        match (before, outage_ms) {
            (None, _) => (Severity::Info, format!("Leads {what} now: the first leader that is known here")),
            (Some(node), ms) if node == me => {
                let text =
                    format!("Leads {what} again: could not confirm it to the other nodes in time for {ms} ms");
                (Severity::Warning, text)
            }
            (Some(node), 0) => (Severity::Info, format!("Leads {what} now: taken over from Node {node}")),
            (Some(node), ms) => {
                let text =
                    format!("Leads {what} now: Node {node} led before; {ms} ms without a leader, as seen here");
                (Severity::Info, text)
            }
        }
    };
    by_leader.into_iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str, at_us: u64) -> Event {
        Event { at_us, node: 1, severity: Severity::Info as i32, category: "test".into(), text: text.into() }
    }

    #[test]
    fn a_management_node_that_was_away_gets_what_it_missed_as_far_as_it_is_kept() {
        let log = EventLog::default();
        let to = NodeId(3);
        for number in 0..3 {
            log.log(event(&number.to_string(), number), false);
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
            log.log(event(&number.to_string(), number), false);
        }
        log.tell(to, &mut take);
        let expected: Vec<u64> = (0..3).chain(8..1008).collect();
        assert_eq!(got, expected, "the five that were dropped meanwhile are missing");
    }

    #[test]
    fn events_are_shown_by_their_time_and_filtered_by_severity() {
        let log = EventLog::default();
        log.log(event("second", 2), true);
        log.log(event("first", 1), true);
        log.log(Event { severity: Severity::Debug as i32, ..event("debug", 3) }, true);
        let texts = |log: &EventLog, count| -> Vec<String> {
            log.newest(count, true).into_iter().map(|event| event.text).collect()
        };
        assert_eq!(texts(&log, 10), ["first", "second"]);
        assert_eq!(texts(&log, 1), ["second"]);
        log.set_filter(0);
        log.log(event("not wanted", 4), true);
        assert_eq!(texts(&log, 10), ["first", "second"]);
    }

    #[test]
    fn a_change_of_leaders_is_told_by_the_one_that_leads_with_the_time_between() {
        let (me, other) = (NodeId(2), NodeId(1));
        let leaders = Leaders::new(3);
        let mut watch = LeaderWatch::default();
        leaders.learn(0, other, 1);
        leaders.learn(1, other, 1);
        leaders.learn(2, me, 1);
        let first = watch.look(Millis(10), me, 3, &leaders);
        let describe = |changes: &[LeaderChange]| -> Vec<String> {
            describe_changes(changes, me, 2).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(describe(&first), ["Leads the dictionary now: the first leader that is known here"]);
        leaders.forget_node(other);
        assert!(watch.look(Millis(100), me, 3, &leaders).is_empty());
        leaders.learn(0, me, 2);
        leaders.learn(1, me, 2);
        let changes = watch.look(Millis(320), me, 3, &leaders);
        assert_eq!(
            describe(&changes),
            ["Leads partitions 0-1 now: Node 1 led before; 220 ms without a leader, as seen here"]
        );
        leaders.learn(1, other, 3);
        assert!(watch.look(Millis(400), me, 3, &leaders).is_empty());
        leaders.learn(1, me, 4);
        let back = watch.look(Millis(500), me, 3, &leaders);
        assert_eq!(describe(&back), ["Leads partition 1 now: taken over from Node 1"]);
        leaders.forget(1, me);
        assert!(watch.look(Millis(600), me, 3, &leaders).is_empty());
        leaders.learn(1, me, 5);
        let again = watch.look(Millis(650), me, 3, &leaders);
        assert_eq!(
            describe(&again),
            ["Leads partition 1 again: could not confirm it to the other nodes in time for 50 ms"]
        );
        assert!(watch.look(Millis(501), me, 3, &leaders).is_empty());
    }
}
