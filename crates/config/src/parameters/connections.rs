//! `[tcp]`, `[shm]` and `[sci]`: connections between nodes.

use super::Effect::{self, None, Refused};
use super::SectionKind::{Sci, SharedMemory, Tcp};
use super::{GIB, KIB, MAX, PORT_MAX, Parameter, USED, flag, number, text};

const BY_ITSELF: Effect = None("nodes of one host share memory by themselves, unless UseShm=0");
const BUFFERS_GROW: Effect = None("buffers of connections grow as they are needed, up to a bound");
const CHECKED: Effect = None("every frame between nodes has a checksum");
const NODE_ADDRESS: Effect = None("a node has one address for all others, its HostName");
const SYSTEM_CHOOSES: Effect = None("the system chooses the sizes of its socket buffers");
const BOTH_DIRECTIONS: Effect = None("who connects to whom follows from the nodes' roles and ids");
const NO_SIGNALS: Effect = None("there are no signals and no trace files");

pub(super) const TABLE: &[Parameter] = &[
    text(Tcp, "NodeId1", "", USED),
    text(Tcp, "NodeId2", "", USED),
    text(Tcp, "HostName1", "", NODE_ADDRESS),
    text(Tcp, "HostName2", "", NODE_ADDRESS),
    // The base of the data nodes' ports in older files.
    number(Tcp, "PortNumber", "", (0, PORT_MAX), USED),
    number(Tcp, "Group", "55", (0, 200), BOTH_DIRECTIONS),
    number(Tcp, "NodeIdServer", "", (1, 255), BOTH_DIRECTIONS),
    text(Tcp, "NodeId1_System", "", BOTH_DIRECTIONS),
    text(Tcp, "NodeId2_System", "", BOTH_DIRECTIONS),
    text(Tcp, "Proxy", "", BOTH_DIRECTIONS),
    flag(Tcp, "SendSignalId", "true", NO_SIGNALS),
    flag(Tcp, "Checksum", "false", CHECKED),
    flag(Tcp, "PreSendChecksum", "false", CHECKED),
    number(Tcp, "SendBufferMemory", "16M", (64 * KIB, MAX), USED),
    number(Tcp, "ReceiveBufferMemory", "2M", (16 * KIB, MAX), BUFFERS_GROW),
    number(Tcp, "OverloadLimit", "0", (0, MAX), BUFFERS_GROW),
    number(Tcp, "TCP_SND_BUF_SIZE", "0", (0, 2 * GIB), SYSTEM_CHOOSES),
    number(Tcp, "TCP_RCV_BUF_SIZE", "0", (0, 2 * GIB), SYSTEM_CHOOSES),
    number(Tcp, "TCP_MAXSEG_SIZE", "0", (0, 2 * GIB), SYSTEM_CHOOSES),
    flag(Tcp, "TcpBind_INADDR_ANY", "false", None("nodes listen on all addresses of their host")),
    number(
        Tcp,
        "TcpSpinTime",
        "0",
        (0, 2000),
        None("threads sleep when they have nothing to do and wake at once"),
    ),
    number(Tcp, "PreferIPVersion", "4", (4, 6), None("the resolver's order of addresses is taken")),
    flag(
        Tcp,
        "AllowUnresolvedHostNames",
        "false",
        None("a name that cannot be resolved is tried again when connecting"),
    ),
    flag(Tcp, "RequireLinkTls", "false", Refused("it follows from the RequireTls of the two nodes; set it there")),
    text(SharedMemory, "NodeId1", "", USED),
    text(SharedMemory, "NodeId2", "", USED),
    text(SharedMemory, "HostName1", "", BY_ITSELF),
    text(SharedMemory, "HostName2", "", BY_ITSELF),
    number(SharedMemory, "PortNumber", "0", (0, PORT_MAX), BY_ITSELF),
    number(SharedMemory, "Group", "35", (0, 200), BY_ITSELF),
    number(SharedMemory, "NodeIdServer", "", (1, 255), BY_ITSELF),
    text(SharedMemory, "NodeId1_System", "", BY_ITSELF),
    text(SharedMemory, "NodeId2_System", "", BY_ITSELF),
    flag(SharedMemory, "SendSignalId", "false", BY_ITSELF),
    flag(SharedMemory, "Checksum", "true", BY_ITSELF),
    flag(SharedMemory, "PreSendChecksum", "false", BY_ITSELF),
    number(SharedMemory, "Signum", "", (0, MAX), BY_ITSELF),
    number(SharedMemory, "ShmKey", "", (0, MAX), BY_ITSELF),
    number(SharedMemory, "ShmSize", "4M", (64 * KIB, MAX), BY_ITSELF),
    number(SharedMemory, "ShmSpinTime", "0", (0, 2000), BY_ITSELF),
    number(SharedMemory, "OverloadLimit", "0", (0, MAX), BY_ITSELF),
    number(SharedMemory, "SendBufferMemory", "2M", (64 * KIB, MAX), BY_ITSELF),
    text(Sci, "NodeId1", "", USED),
    text(Sci, "NodeId2", "", USED),
    text(Sci, "HostName1", "", BY_ITSELF),
    text(Sci, "HostName2", "", BY_ITSELF),
    number(Sci, "PortNumber", "0", (0, PORT_MAX), BY_ITSELF),
    number(Sci, "Group", "15", (0, 200), BY_ITSELF),
    number(Sci, "NodeIdServer", "", (1, 255), BY_ITSELF),
    number(Sci, "Host1SciId0", "", (0, MAX), BY_ITSELF),
    number(Sci, "Host1SciId1", "0", (0, MAX), BY_ITSELF),
    number(Sci, "Host2SciId0", "", (0, MAX), BY_ITSELF),
    number(Sci, "Host2SciId1", "0", (0, MAX), BY_ITSELF),
    text(Sci, "NodeId1_System", "", BY_ITSELF),
    text(Sci, "NodeId2_System", "", BY_ITSELF),
    flag(Sci, "SendSignalId", "true", BY_ITSELF),
    flag(Sci, "Checksum", "false", BY_ITSELF),
    flag(Sci, "PreSendChecksum", "false", BY_ITSELF),
    number(Sci, "SendLimit", "8K", (128, 32 * KIB), BY_ITSELF),
    number(Sci, "SharedBufferSize", "1M", (64 * KIB, MAX), BY_ITSELF),
    number(Sci, "OverloadLimit", "0", (0, MAX), BY_ITSELF),
];
