//! All other sections.

use super::SectionKind::{Api, Computer, Management, SharedMemory, System, Tcp};
use super::{Parameter, USED, number, text};

pub(super) const TABLE: &[Parameter] = &[
    text(System, "Name", "", USED),
    text(Computer, "Id", "", USED),
    text(Computer, "HostName", "", USED),
    number(Management, "NodeId", "", (1, 255), USED),
    text(Management, "HostName", "localhost", USED),
    text(Management, "ExecuteOnComputer", "", USED),
    number(Management, "PortNumber", "1186", (1, 65_535), USED),
    text(Management, "DataDir", ".", USED),
    number(Api, "NodeId", "", (1, 255), USED),
    text(Api, "HostName", "", USED),
    text(Api, "ExecuteOnComputer", "", USED),
    text(Tcp, "NodeId1", "", USED),
    text(Tcp, "NodeId2", "", USED),
    text(SharedMemory, "NodeId1", "", USED),
    text(SharedMemory, "NodeId2", "", USED),
];
