//! Checked sections to a cluster: who is there, under which id, on which host and port, and what holds for all.

mod nodes;
mod rules;
mod threads;

use std::path::Path;

use crate::check::{self, Section, Setting, Value};
use crate::cluster::{ClusterConfig, Durability};
use crate::defect::{ConfigError, Defect, Findings};
use crate::parameters::SectionKind;
use crate::text;

/// Partitions per data node when nothing is said about its threads: NDB's default number of execution threads.
const EXECUTION_THREADS_DEFAULT: u32 = 2;
/// More partitions per node make range scans dearer and bring nothing.
const PARTITIONS_PER_NODE_DEFAULT_MAX: u32 = 8;
const HEARTBEAT_MS_DEFAULT: u64 = 100;
/// NDB waits for many seconds by default; an election after tens of seconds of silence is no failover.
const HEARTBEAT_MS_MAX: u64 = 500;
const HEARTBEATS_PER_ELECTION_TIMEOUT: u64 = 10;
const HEARTBEATS_PER_ELECTION_TIMEOUT_MIN: u64 = 4;
const PARTITIONS_MAX: u64 = 1024;

/// All sections, ready to be asked.
pub(crate) struct Sections {
    all: Vec<Section>,
}

impl Sections {
    fn of(&self, kind: SectionKind) -> impl Iterator<Item = &Section> {
        self.all.iter().filter(move |section| section.kind == kind && !section.is_default)
    }

    fn default_setting(&self, kind: SectionKind, name: &str) -> Option<&Setting> {
        let defaults = self.all.iter().filter(|section| section.kind == kind && section.is_default);
        defaults.filter_map(|section| section.get(name)).next()
    }

    /// What holds in a section: its own value, or that of its kind.
    fn setting<'a>(&'a self, section: &'a Section, name: &str) -> Option<&'a Setting> {
        section.get(name).or_else(|| self.default_setting(section.kind, name))
    }

    /// A setting that holds for the whole cluster although it may be written anywhere: the first that is found, and a
    /// defect where another section disagrees.
    fn common(&self, kind: SectionKind, name: &str, findings: &mut Findings) -> Option<&Setting> {
        let mut found =
            self.all.iter().filter(|section| section.kind == kind).filter_map(|section| section.get(name));
        let first = found.next()?;
        for other in found.filter(|other| other.value != first.value) {
            let message = format!(
                "{name} differs from line {}; it holds for the whole cluster, give it once in [{} default]",
                first.line,
                kind.word()
            );
            findings.defect(other.line, message);
        }
        Some(first)
    }

    fn common_number(&self, kind: SectionKind, name: &str, findings: &mut Findings) -> Option<(u64, usize)> {
        self.common(kind, name, findings).and_then(|setting| Some((setting.number()?, setting.line)))
    }
}

impl Setting {
    fn number(&self) -> Option<u64> {
        match &self.value {
            Value::Number(number) => Some(*number),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }

    fn flag(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(flag) => Some(*flag),
            Value::Number(_) | Value::Text(_) => None,
        }
    }

    /// Text that says something.
    fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if !text.is_empty() => Some(text),
            Value::Text(_) | Value::Number(_) | Value::Bool(_) => None,
        }
    }
}

impl ClusterConfig {
    /// The configuration that a `config.ini` describes. Errors: all that is wrong with it.
    pub fn parse(text: &str) -> Result<ClusterConfig, ConfigError> {
        cluster(text)
    }

    /// The same from a file.
    pub fn read(path: &Path) -> Result<ClusterConfig, ConfigError> {
        let whole_file = |message| ConfigError { defects: vec![Defect { line: 0, message }] };
        let bytes =
            std::fs::read(path).map_err(|error| whole_file(format!("cannot read {}: {error}", path.display())))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| whole_file(format!("{} is not UTF-8 text; save it as such", path.display())))?;
        ClusterConfig::parse(&text)
    }
}

fn cluster(text: &str) -> Result<ClusterConfig, ConfigError> {
    let mut findings = Findings::default();
    let raw = text::sections(text, &mut findings);
    let sections = Sections { all: check::sections(raw, &mut findings) };
    let nodes = nodes::nodes(&sections, &mut findings);
    let system = SectionKind::System;
    let name =
        sections.common(system, "Name", &mut findings).and_then(Setting::text).unwrap_or("shoal").to_owned();
    let data = SectionKind::Data;
    let replicas = sections.common_number(data, "NoOfReplicas", &mut findings).map_or(2, |(count, _)| count);
    let (heartbeat_ms, election_timeout_ms) = times(&sections, &mut findings);
    let lock_wait = sections.common_number(data, "TransactionDeadlockDetectionTimeout", &mut findings);
    let checkpoints = sections.common_number(data, "TimeBetweenGlobalCheckpoints", &mut findings);
    let durability = match sections.common(data, "CommitDurability", &mut findings).and_then(Setting::text) {
        Some("replicated") => Durability::Replicated,
        _ => Durability::Disk,
    };
    let mut config = ClusterConfig {
        name,
        nodes,
        replicas: replicas as u32,
        heartbeat_ms,
        election_timeout_ms,
        lock_wait_timeout_ms: lock_wait.map(|(ms, _)| ms),
        durability,
        global_checkpoint_interval_ms: checkpoints.map_or(2000, |(ms, _)| ms),
        partitions: 0,
        connection_pool: 0,
        send_buffer_bytes: None,
        notes: Vec::new(),
    };
    let per_node = default_partitions_per_node(&config);
    config.partitions = partitions(&sections, &config, per_node, &mut findings);
    config.connection_pool = connection_pool(&sections, per_node, &mut findings);
    config.send_buffer_bytes =
        sections.common_number(SectionKind::Tcp, "SendBufferMemory", &mut findings).map(|(bytes, _)| bytes);
    repeated_defaults(&sections, &mut findings);
    rules::check(&sections, &config, &mut findings);
    config.notes = findings.finish()?;
    Ok(config)
}

/// Heartbeat interval and election timeout.
fn times(sections: &Sections, findings: &mut Findings) -> (u64, u64) {
    let heartbeat = sections.common_number(SectionKind::Data, "HeartbeatIntervalDbDb", findings);
    let mut heartbeat_ms = heartbeat.map_or(HEARTBEAT_MS_DEFAULT, |(ms, _)| ms);
    if let Some((ms, line)) = heartbeat.filter(|(ms, _)| *ms > HEARTBEAT_MS_MAX) {
        heartbeat_ms = HEARTBEAT_MS_MAX;
        let message = format!(
            "HeartbeatIntervalDbDb={ms} is taken as {HEARTBEAT_MS_MAX}: a leader that falls silent is replaced after \
             {HEARTBEATS_PER_ELECTION_TIMEOUT} intervals; leave it out for {HEARTBEAT_MS_DEFAULT} ms"
        );
        findings.note(line, message);
    }
    let election = sections.common_number(SectionKind::Data, "ElectionTimeout", findings);
    if let Some((ms, line)) = election {
        let least = HEARTBEATS_PER_ELECTION_TIMEOUT_MIN * heartbeat_ms;
        if ms < least {
            let message = format!(
                "ElectionTimeout={ms} is shorter than {HEARTBEATS_PER_ELECTION_TIMEOUT_MIN} heartbeats of \
                 {heartbeat_ms} ms; give at least {least} or lower HeartbeatIntervalDbDb"
            );
            findings.defect(line, message);
        }
    }
    (heartbeat_ms, election.map_or(heartbeat_ms * HEARTBEATS_PER_ELECTION_TIMEOUT, |(ms, _)| ms))
}

/// As many as a data node has threads: each of them finds work of its own, and a scan dives into no more than that.
/// The file decides and not the machine, so that every node comes to the same number.
fn default_partitions_per_node(config: &ClusterConfig) -> u32 {
    let threads = config.data_nodes().filter_map(|node| node.execution_threads).max();
    threads.unwrap_or(EXECUTION_THREADS_DEFAULT).clamp(1, PARTITIONS_PER_NODE_DEFAULT_MAX)
}

fn partitions(sections: &Sections, config: &ClusterConfig, per_node: u32, findings: &mut Findings) -> u32 {
    let data = SectionKind::Data;
    let given = sections.common_number(data, "NoOfPartitions", findings);
    let given_per_node = sections.common_number(data, "PartitionsPerNode", findings);
    if let (Some((_, line)), Some((_, other))) = (given, given_per_node) {
        findings.defect(line, format!("give NoOfPartitions or PartitionsPerNode (line {other}), not both"));
    }
    if let Some((count, _)) = given {
        return count as u32;
    }
    let nodes = config.node_groups().iter().map(Vec::len).sum::<usize>() as u64;
    let count = nodes * given_per_node.map_or(u64::from(per_node), |(count, _)| count);
    if count > PARTITIONS_MAX {
        let line = given_per_node.map_or(0, |(_, line)| line);
        findings.defect(
            line,
            format!("{count} partitions are too many; lower PartitionsPerNode, the limit is {PARTITIONS_MAX}"),
        );
    }
    count.min(PARTITIONS_MAX) as u32
}

/// Connections between a pair of nodes: as asked for, else as many as a data node has partitions of its own to lead.
fn connection_pool(sections: &Sections, per_node: u32, findings: &mut Findings) -> u32 {
    let tcp = sections.common_number(SectionKind::Tcp, "ConnectionPool", findings);
    let api = sections.common_number(SectionKind::Api, "ConnectionPool", findings);
    let transporters = sections.common_number(SectionKind::Data, "NodeGroupTransporters", findings);
    let given = [tcp, api, transporters].into_iter().flatten().map(|(count, _)| count).find(|count| *count > 0);
    given.map_or(per_node, |count| count as u32)
}

/// A kind may have several sections of defaults, as long as they do not repeat each other. They hold for all sections of
/// the kind, wherever they stand.
fn repeated_defaults(sections: &Sections, findings: &mut Findings) {
    let mut seen: Vec<(SectionKind, &Setting)> = Vec::new();
    for section in sections.all.iter().filter(|section| section.is_default) {
        for setting in section.settings() {
            match seen.iter().find(|(kind, other)| *kind == section.kind && other.name == setting.name) {
                Some((_, first)) => {
                    let message =
                        format!("{} has a default already, in line {}; give it once", setting.name, first.line);
                    findings.defect(setting.line, message);
                }
                None => seen.push((section.kind, setting)),
            }
        }
        let kind = section.kind;
        if sections.of(kind).any(|other| other.line < section.line) {
            let message = format!(
                "[{} default] stands behind sections that it holds for as well; NDB would not apply it to them",
                section.word
            );
            findings.note(section.line, message);
        }
    }
}
