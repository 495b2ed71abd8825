//! What nodes tell each other a few times a second, and at once when it changes: what they lead, what they reach, what they
//! remember, and how they are.

use shoal_partition::{Agreement, Incarnation, LogEnd, Memory, ReplicaReport};

/// A process of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NodeIncarnation {
    #[prost(uint64, tag = "1")]
    pub node: u64,
    #[prost(uint64, tag = "2")]
    pub incarnation: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredReport {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint64, tag = "2")]
    pub start: u64,
    #[prost(uint64, tag = "3")]
    pub term: u64,
    #[prost(uint64, tag = "4")]
    pub index: u64,
    #[prost(message, repeated, tag = "5")]
    pub heard: Vec<NodeIncarnation>,
    #[prost(bool, tag = "6")]
    pub whole: bool,
    #[prost(bool, tag = "7")]
    pub new: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredAgreement {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint64, tag = "2")]
    pub term: u64,
    #[prost(uint64, tag = "3")]
    pub index: u64,
    #[prost(message, repeated, tag = "4")]
    pub incarnations: Vec<NodeIncarnation>,
    /// `Agreement::worthless`.
    #[prost(message, optional, tag = "5")]
    pub worthless: Option<StoredLogEnd>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct StoredLogEnd {
    #[prost(uint64, tag = "1")]
    pub term: u64,
    #[prost(uint64, tag = "2")]
    pub index: u64,
}

pub(crate) fn stored(incarnations: &[Incarnation]) -> Vec<NodeIncarnation> {
    incarnations.iter().map(|&(node, incarnation)| NodeIncarnation { node, incarnation }).collect()
}

pub(crate) fn stored_agreement(partition: u32, agreement: &Agreement) -> StoredAgreement {
    let LogEnd { term, index } = agreement.newest;
    let worthless = agreement.worthless.map(|LogEnd { term, index }| StoredLogEnd { term, index });
    StoredAgreement { partition, term, index, incarnations: stored(&agreement.incarnations), worthless }
}

pub(crate) fn agreement_of(told: &StoredAgreement) -> Agreement {
    Agreement {
        incarnations: incarnations(&told.incarnations),
        newest: LogEnd { term: told.term, index: told.index },
        worthless: told.worthless.map(|StoredLogEnd { term, index }| LogEnd { term, index }),
    }
}

pub(crate) fn report_of(told: &StoredReport) -> ReplicaReport {
    let memory = match (told.whole, told.new) {
        (true, _) => Memory::Whole,
        (false, true) => Memory::New,
        (false, false) => Memory::Amnesiac,
    };
    let end = LogEnd { term: told.term, index: told.index };
    ReplicaReport { memory, start: told.start, end, heard: incarnations(&told.heard) }
}

pub(crate) fn incarnations(stored: &[NodeIncarnation]) -> Vec<Incarnation> {
    stored.iter().map(|one| (one.node, one.incarnation)).collect()
}

/// What nodes tell each other.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Gossip {
    #[prost(message, repeated, tag = "1")]
    pub reports: Vec<StoredReport>,
    #[prost(message, repeated, tag = "9")]
    pub agreements: Vec<StoredAgreement>,
    #[prost(uint64, tag = "2")]
    pub catalog_version: u64,
    /// Partitions that the sender leads, and since which terms.
    #[prost(uint32, repeated, tag = "4")]
    pub leads: Vec<u32>,
    #[prost(uint64, repeated, tag = "5")]
    pub terms: Vec<u64>,
    #[prost(bool, tag = "6")]
    pub started: bool,
    #[prost(string, tag = "7")]
    pub mysql: String,
    #[prost(string, tag = "8")]
    pub version: String,
    /// The nodes that the sender has links to.
    #[prost(message, repeated, tag = "10")]
    pub links: Vec<NodeIncarnation>,
    #[prost(bool, tag = "11")]
    pub disk_is_full: bool,
}
