//! `[ndbd]`: identity, processes, threads and times of the data nodes.

use super::Effect::None;
use super::SectionKind::Data;
use super::{GIB, KIB, MAX, MIB, PORT_MAX, Parameter, SPIN_METHODS, TIB, USED, choice, flag, number, text};

const ALIKE_THREADS: super::Effect = None("all threads are alike, and the system schedules them");
const EVENT_LOOP: super::Effect =
    None("threads wait for events; SchedulerSpinTimer says how long they do so awake");
const ONE_HEARTBEAT: super::Effect = None("HeartbeatIntervalDbDb holds for all nodes");
const MAJORITY_STARTS: super::Effect =
    None("a partition is served as soon as a majority of its replicas is there");
const LOG_TO_STDERR: super::Effect = None("messages of all kinds go to the cluster log and to stderr");
const BUFFERS_GROW: super::Effect = None("buffers of connections grow as they are needed, up to a bound");
const NO_EPOCHS: super::Effect = None("there are no epochs; every commit has a timestamp of its own");
const NO_WATCHDOG: super::Effect =
    None("there is no watchdog; a node that stops answering is replaced by the others");
const NOT_TRACED: super::Effect = None("there are no trace files");

pub(super) const TABLE: &[Parameter] = &[
    // Who and where.
    number(Data, "NodeId", "", (1, 144), USED),
    text(Data, "HostName", "localhost", USED),
    text(Data, "ExecuteOnComputer", "", USED),
    number(Data, "ServerPort", "", (1, PORT_MAX), USED),
    flag(Data, "TcpBind_INADDR_ANY", "false", None("nodes listen on all addresses of their host")),
    number(Data, "NoOfReplicas", "2", (1, 4), USED),
    number(Data, "NodeGroup", "", (0, 65_536), USED),
    number(Data, "LocationDomainId", "", (0, 16), None("node groups follow the order of the ids, or NodeGroup")),
    number(Data, "PartitionsPerNode", "2", (1, 32), USED),
    flag(Data, "ClassicFragmentation", "true", None("PartitionsPerNode alone says how many partitions there are")),
    number(Data, "DefaultHashMapSize", "0", (0, 3840), None("rows are spread over 4096 buckets")),
    number(Data, "NodeGroupTransporters", "0", (0, 32), USED),
    // Memory as a whole.
    number(Data, "DataMemory", "98M", (MIB, 16 * TIB), USED),
    number(Data, "IndexMemory", "0", (0, TIB), USED),
    number(Data, "LockPagesInMainMemory", "0", (0, 2), USED),
    number(
        Data,
        "Numa",
        "1",
        (0, 1),
        None("memory is placed by the system; start the node under numactl to change that"),
    ),
    number(Data, "LateAlloc", "1", (0, 1), None("memory is taken as it is needed")),
    number(Data, "MaxAllocate", "32M", (MIB, GIB), None("memory is taken as it is needed")),
    number(Data, "MinFreePct", "5", (0, 100), None("DataMemory is the budget as it is written")),
    // Threads.
    number(Data, "MaxNoOfExecutionThreads", "2", (1, 1024), USED),
    text(Data, "ThreadConfig", "", USED),
    flag(
        Data,
        "AutomaticThreadConfig",
        "false",
        None("without MaxNoOfExecutionThreads the nodes of a host share its cores, a thread for each"),
    ),
    number(Data, "NumCPUs", "0", (0, 1024), USED),
    text(Data, "LockExecuteThreadToCPU", "", USED),
    number(Data, "LockMaintThreadsToCPU", "", (0, 65_535), None("background work runs wherever a CPU is free")),
    flag(Data, "RealtimeScheduler", "false", ALIKE_THREADS),
    number(Data, "__ndbmt_lqh_workers", "", (1, 32), ALIKE_THREADS),
    number(Data, "__ndbmt_lqh_threads", "", (1, 32), ALIKE_THREADS),
    flag(Data, "__ndbmt_classic", "false", ALIKE_THREADS),
    number(Data, "SchedulerExecutionTimer", "50", (0, 11_000), EVENT_LOOP),
    number(Data, "SchedulerSpinTimer", "200", (0, 500), USED),
    number(Data, "SchedulerResponsiveness", "5", (0, 10), EVENT_LOOP),
    choice(Data, "SpinMethod", SPIN_METHODS, USED),
    number(Data, "__sched_scan_priority", "6", (1, 16), EVENT_LOOP),
    number(Data, "MaxSendDelay", "0", (0, 11_000), EVENT_LOOP),
    // Failures.
    number(Data, "HeartbeatIntervalDbDb", "5000", (10, MAX), USED),
    number(Data, "HeartbeatIntervalDbApi", "1500", (100, MAX), ONE_HEARTBEAT),
    number(
        Data,
        "HeartbeatOrder",
        "0",
        (0, 65_535),
        None("every leader sends heartbeats to its followers; there is no circle"),
    ),
    number(Data, "ConnectCheckIntervalDelay", "0", (0, MAX), None("a majority decides who is alive")),
    number(Data, "KeepAliveSendInterval", "60000", (0, MAX), ONE_HEARTBEAT),
    number(Data, "ApiFailureHandlingTimeout", "600", (0, MAX), ONE_HEARTBEAT),
    choice(Data, "Arbitration", &["Default", "Disabled", "WaitExternal"], None("a majority decides who goes on")),
    number(Data, "ArbitrationTimeout", "7500", (10, MAX), None("a majority decides who goes on")),
    flag(
        Data,
        "StopOnError",
        "true",
        None("a node that met a fatal error ends; whoever started it starts it again"),
    ),
    number(Data, "RestartOnErrorInsert", "2", (0, 4), None("there are no error inserts")),
    number(Data, "MaxStartFailRetries", "3", (0, MAX), None("whoever starts the node says how often it is tried")),
    number(Data, "StartFailRetryDelay", "0", (0, MAX), None("whoever starts the node says how often it is tried")),
    number(Data, "StartPartialTimeout", "30000", (0, MAX), MAJORITY_STARTS),
    number(Data, "StartPartitionedTimeout", "0", (0, MAX), MAJORITY_STARTS),
    number(Data, "StartFailureTimeout", "0", (0, MAX), MAJORITY_STARTS),
    number(Data, "StartNoNodeGroupTimeout", "15000", (0, MAX), MAJORITY_STARTS),
    number(
        Data,
        "RestartSubscriberConnectTimeout",
        "120000",
        (0, MAX),
        None("SQL nodes find their way back by themselves"),
    ),
    number(Data, "TimeBetweenWatchDogCheck", "6000", (70, MAX), NO_WATCHDOG),
    number(Data, "TimeBetweenWatchDogCheckInitial", "6000", (70, MAX), NO_WATCHDOG),
    flag(Data, "WatchDogImmediateKill", "false", NO_WATCHDOG),
    flag(
        Data,
        "CrashOnCorruptedTuple",
        "true",
        None("what is read back from disk is checked always, and a bad checksum stops the node"),
    ),
    // Transactions.
    number(Data, "TransactionDeadlockDetectionTimeout", "1200", (50, MAX), USED),
    number(
        Data,
        "TransactionInactiveTimeout",
        "4294967039",
        (0, MAX),
        None("a transaction lives as long as its session; see wait_timeout"),
    ),
    number(
        Data,
        "TimeBetweenInactiveTransactionAbortCheck",
        "1000",
        (1000, MAX),
        None("a transaction lives as long as its session; see wait_timeout"),
    ),
    number(Data, "TimeBetweenGlobalCheckpoints", "2000", (20, 32_000), USED),
    number(
        Data,
        "TimeBetweenGlobalCheckpointsTimeout",
        "120000",
        (10, MAX),
        None("a disk that stops answering is reported by its first failed write"),
    ),
    number(Data, "TimeBetweenEpochs", "100", (0, 32_000), NO_EPOCHS),
    number(Data, "TimeBetweenEpochsTimeout", "0", (0, 256_000), NO_EPOCHS),
    number(Data, "MaxBufferedEpochs", "100", (0, 100_000), NO_EPOCHS),
    number(Data, "MaxBufferedEpochBytes", "26214400", (26_214_400, MAX), NO_EPOCHS),
    // Connections.
    flag(Data, "UseShm", "true", USED),
    number(Data, "ExtraSendBufferMemory", "0", (0, 32 * GIB), BUFFERS_GROW),
    number(Data, "TotalSendBufferMemory", "0", (256 * KIB, MAX), BUFFERS_GROW),
    flag(Data, "RequireTls", "false", USED),
    flag(Data, "RequireCertificate", "false", USED),
    // What is told.
    number(Data, "LogLevelStartup", "1", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelShutdown", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelStatistic", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelCheckpoint", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelNodeRestart", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelConnection", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelCongestion", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelError", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelInfo", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "LogLevelBackup", "0", (0, 15), LOG_TO_STDERR),
    number(Data, "MemReportFrequency", "0", (0, MAX), LOG_TO_STDERR),
    number(Data, "StartupStatusReportFrequency", "0", (0, MAX), LOG_TO_STDERR),
    number(Data, "EventLogBufferSize", "8192", (0, 64 * KIB), LOG_TO_STDERR),
    number(Data, "MaxNoOfSavedMessages", "25", (0, MAX), NOT_TRACED),
    number(Data, "DictTrace", "", (0, 100), NOT_TRACED),
    number(Data, "__debug_mixology_level", "0", (0, MAX), NOT_TRACED),
];
