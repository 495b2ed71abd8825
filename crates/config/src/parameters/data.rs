//! `[ndbd]`: the data nodes.

use super::SectionKind::Data;
use super::{Parameter, USED, flag, number, text};

pub(super) const TABLE: &[Parameter] = &[
    number(Data, "NodeId", "", (1, 144), USED),
    text(Data, "HostName", "localhost", USED),
    text(Data, "ExecuteOnComputer", "", USED),
    number(Data, "ServerPort", "", (1, 65_535), USED),
    number(Data, "NoOfReplicas", "2", (1, 4), USED),
    number(Data, "NodeGroup", "", (0, 65_536), USED),
    text(Data, "DataDir", ".", USED),
    text(Data, "FileSystemPath", "", USED),
    number(Data, "DataMemory", "98M", (1 << 20, 16 << 40), USED),
    number(Data, "PartitionsPerNode", "2", (1, 32), USED),
    number(Data, "MaxNoOfExecutionThreads", "2", (1, 72), USED),
    number(Data, "LockPagesInMainMemory", "0", (0, 2), USED),
    text(Data, "LockExecuteThreadToCPU", "", USED),
    number(Data, "HeartbeatIntervalDbDb", "5000", (10, super::MAX), USED),
    number(Data, "ArbitrationTimeout", "7500", (10, super::MAX), USED),
    number(Data, "TransactionDeadlockDetectionTimeout", "1200", (50, super::MAX), USED),
    number(Data, "TimeBetweenGlobalCheckpoints", "2000", (20, 32_000), USED),
    number(Data, "FragmentLogFileSize", "16M", (4 << 20, 1 << 30), USED),
    number(Data, "NodeGroupTransporters", "0", (0, 32), USED),
    flag(Data, "Diskless", "false", super::Effect::None("rows are always logged")),
];
