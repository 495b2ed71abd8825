//! `[system]`, `[computer]`, `[ndb_mgmd]` and `[mysqld]` (or `[api]`).

use super::Effect::{self, None};
use super::SectionKind::{Api, Computer, Management, System};
use super::{GIB, KIB, MAX, MIB, PORT_MAX, Parameter, USED, choice, flag, number, text};

const MAJORITY: Effect =
    None("a majority decides who goes on; management nodes have the third vote, SQL nodes have none");
const BUFFERS_GROW: Effect = None("buffers of connections grow as they are needed, up to a bound");
const OWN_BATCHES: Effect = None("batches are sized by what fits into one round trip");
const RECONNECTS: Effect = None("nodes connect again by themselves, at once and then twice a second");
const ONE_HEARTBEAT: Effect = None("HeartbeatIntervalDbDb holds for all nodes");
const WAN: Effect = None("connections adapt to the network by themselves");
const DOMAINS: Effect = None("node groups follow the order of the ids, or NodeGroup");
const NOT_TRACED: Effect = None("there are no trace files");

pub(super) const TABLE: &[Parameter] = &[
    text(System, "Name", "", USED),
    number(System, "PrimaryMGMNode", "0", (0, MAX), None("management nodes elect their leader")),
    number(System, "ConfigGenerationNumber", "0", (0, MAX), None("nodes compare what their files say")),
    text(Computer, "Id", "", USED),
    text(Computer, "HostName", "", USED),
    number(Management, "NodeId", "", (1, 255), USED),
    text(Management, "HostName", "localhost", USED),
    text(Management, "ExecuteOnComputer", "", USED),
    number(Management, "PortNumber", "1186", (0, PORT_MAX), USED),
    number(
        Management,
        "PortNumberStats",
        "",
        (0, PORT_MAX),
        None("SHOW and STATUS of the management client tell the figures"),
    ),
    text(Management, "DataDir", ".", USED),
    text(
        Management,
        "LogDestination",
        "",
        None("the cluster log is kept by the management nodes, and messages go to stderr"),
    ),
    number(Management, "MaxNoOfSavedEvents", "100", (0, MAX), None("the cluster log is kept whole")),
    number(Management, "ArbitrationRank", "1", (0, 2), MAJORITY),
    number(Management, "ArbitrationDelay", "0", (0, MAX), MAJORITY),
    number(Management, "HeartbeatIntervalMgmdMgmd", "1500", (100, MAX), ONE_HEARTBEAT),
    text(Management, "HeartbeatThreadPriority", "", ONE_HEARTBEAT),
    number(Management, "ExtraSendBufferMemory", "0", (0, 32 * GIB), BUFFERS_GROW),
    number(Management, "TotalSendBufferMemory", "0", (256 * KIB, MAX), BUFFERS_GROW),
    number(Management, "LocationDomainId", "", (0, 16), DOMAINS),
    flag(Management, "wan", "false", WAN),
    flag(Management, "RequireTls", "false", USED),
    flag(Management, "RequireCertificate", "false", USED),
    number(Management, "__debug_mixology_level", "0", (0, MAX), NOT_TRACED),
    number(Api, "NodeId", "", (1, 255), USED),
    text(Api, "HostName", "", USED),
    text(Api, "ExecuteOnComputer", "", USED),
    number(Api, "ArbitrationRank", "0", (0, 2), MAJORITY),
    number(Api, "ArbitrationDelay", "0", (0, MAX), MAJORITY),
    number(Api, "BatchByteSize", "16K", (KIB, MIB), OWN_BATCHES),
    number(Api, "BatchSize", "256", (1, 992), OWN_BATCHES),
    number(Api, "MaxScanBatchSize", "256K", (32 * KIB, 16 * MIB), OWN_BATCHES),
    text(Api, "ConnectionMap", "", None("SQL nodes connect to all data nodes")),
    number(Api, "ExtraSendBufferMemory", "0", (0, 32 * GIB), BUFFERS_GROW),
    number(Api, "TotalSendBufferMemory", "0", (256 * KIB, MAX), BUFFERS_GROW),
    number(Api, "LocationDomainId", "", (0, 16), DOMAINS),
    flag(Api, "AutoReconnect", "true", RECONNECTS),
    number(Api, "ConnectBackoffMaxTime", "1500", (0, MAX), RECONNECTS),
    number(Api, "StartConnectBackoffMaxTime", "0", (0, MAX), RECONNECTS),
    text(Api, "HeartbeatThreadPriority", "", ONE_HEARTBEAT),
    choice(Api, "DefaultOperationRedoProblemAction", &["queue", "abort"], None("a commit waits for the log")),
    number(Api, "DefaultHashMapSize", "0", (0, 3840), None("rows are spread over 4096 buckets")),
    flag(Api, "wan", "false", WAN),
    flag(Api, "RequireTls", "false", USED),
    flag(Api, "RequireCertificate", "false", USED),
    number(Api, "ApiVerbose", "", (0, 100), NOT_TRACED),
    number(Api, "__debug_mixology_level", "0", (0, MAX), NOT_TRACED),
];
