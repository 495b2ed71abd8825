//! `[ndbd]`: what data nodes keep on disk.

use super::Effect::{self, None, Refused};
use super::SectionKind::Data;
use super::{GIB, KIB, MAX, MAX_32, MIB, Parameter, TIB, USED, choice, flag, number, text};

const LOG_GROWS: Effect = None("the log grows as it is needed and is cut behind every checkpoint");
const BY_LOG_GROWTH: Effect =
    None("a checkpoint is written when the log has grown enough, without stopping anything");
const NO_BACKUP: Effect = None("there is no online backup");
const IN_MEMORY: Effect = None("tables are kept in memory, with log and checkpoints in DataDir");
const DIRECT: Effect = None("how the log is flushed is found out at the start");
const OWN_RECOVERY: Effect = None("recovery and catching up choose their own degree of parallelism");

pub(super) const TABLE: &[Parameter] = &[
    text(Data, "DataDir", ".", USED),
    text(Data, "FileSystemPath", "", USED),
    flag(
        Data,
        "Diskless",
        "false",
        None("rows are always logged; CommitDurability=replicated takes the disk out of a commit's way"),
    ),
    number(
        Data,
        "EncryptedFileSystem",
        "0",
        (0, 1),
        Refused("files are not encrypted; put DataDir on an encrypted file system and leave it out"),
    ),
    // The log.
    number(Data, "FragmentLogFileSize", "16M", (4 * MIB, GIB), USED),
    number(Data, "NoOfFragmentLogFiles", "16", (3, MAX), LOG_GROWS),
    number(Data, "NoOfFragmentLogParts", "4", (1, 32), LOG_GROWS),
    choice(Data, "InitFragmentLogFiles", &["sparse", "full"], LOG_GROWS),
    number(Data, "RedoBuffer", "32M", (MIB, MAX), LOG_GROWS),
    number(Data, "RedoOverCommitLimit", "20", (0, MAX), LOG_GROWS),
    number(Data, "RedoOverCommitCounter", "3", (0, MAX), LOG_GROWS),
    flag(Data, "EnableRedoControl", "true", LOG_GROWS),
    // Checkpoints.
    number(Data, "TimeBetweenLocalCheckpoints", "20", (0, 31), BY_LOG_GROWTH),
    number(Data, "MaxLCPStartDelay", "0", (0, 600), BY_LOG_GROWTH),
    number(Data, "LcpScanProgressTimeout", "60", (0, MAX), BY_LOG_GROWTH),
    flag(Data, "EnablePartialLcp", "true", BY_LOG_GROWTH),
    number(Data, "RecoveryWork", "60", (25, 100), BY_LOG_GROWTH),
    number(Data, "InsertRecoveryWork", "40", (0, 70), BY_LOG_GROWTH),
    flag(Data, "CompressedLCP", "false", BY_LOG_GROWTH),
    number(Data, "DiskCheckpointSpeed", "10M", (MIB, MAX), BY_LOG_GROWTH),
    number(Data, "DiskCheckpointSpeedInRestart", "100M", (MIB, MAX), BY_LOG_GROWTH),
    number(Data, "NoOfDiskPagesToDiskAfterRestartTUP", "40", (1, MAX), BY_LOG_GROWTH),
    number(Data, "NoOfDiskPagesToDiskAfterRestartACC", "20", (1, MAX), BY_LOG_GROWTH),
    number(Data, "NoOfDiskPagesToDiskDuringRestartTUP", "40", (1, MAX), BY_LOG_GROWTH),
    number(Data, "NoOfDiskPagesToDiskDuringRestartACC", "20", (1, MAX), BY_LOG_GROWTH),
    number(Data, "MaxDiskWriteSpeed", "20M", (MIB, TIB), USED),
    number(Data, "MinDiskWriteSpeed", "10M", (MIB, TIB), None("MaxDiskWriteSpeed alone bounds checkpoints")),
    number(
        Data,
        "MaxDiskWriteSpeedOtherNodeRestart",
        "50M",
        (MIB, TIB),
        None("MaxDiskWriteSpeed alone bounds checkpoints"),
    ),
    number(
        Data,
        "MaxDiskWriteSpeedOwnRestart",
        "200M",
        (MIB, TIB),
        None("MaxDiskWriteSpeed alone bounds checkpoints"),
    ),
    // Files.
    number(Data, "DiskSyncSize", "4M", (32 * KIB, MAX), DIRECT),
    flag(Data, "ODirect", "false", DIRECT),
    flag(Data, "ODirectSyncFlag", "false", DIRECT),
    number(Data, "DiskIOThreadPool", "2", (0, MAX), DIRECT),
    number(Data, "MaxNoOfOpenFiles", "0", (0, MAX), DIRECT),
    number(Data, "InitialNoOfOpenFiles", "27", (20, MAX), DIRECT),
    // Restarts.
    flag(Data, "TwoPassInitialNodeRestartCopy", "true", OWN_RECOVERY),
    number(Data, "MaxParallelCopyInstances", "0", (0, 64), OWN_RECOVERY),
    flag(Data, "__at_restart_skip_indexes", "false", OWN_RECOVERY),
    flag(Data, "__at_restart_skip_fks", "false", OWN_RECOVERY),
    // Tables on disk.
    text(Data, "FileSystemPathDD", "", IN_MEMORY),
    text(Data, "FileSystemPathDataFiles", "", IN_MEMORY),
    text(Data, "FileSystemPathUndoFiles", "", IN_MEMORY),
    text(Data, "InitialLogFileGroup", "", IN_MEMORY),
    text(Data, "InitialTablespace", "", IN_MEMORY),
    number(Data, "DiskPageBufferMemory", "64M", (4 * MIB, 16 * TIB), IN_MEMORY),
    number(Data, "DiskPageBufferEntries", "64", (1, MAX_32), IN_MEMORY),
    flag(Data, "DiskDataUsingSameDisk", "true", IN_MEMORY),
    number(Data, "MaxDiskDataLatency", "0", (0, 8000), IN_MEMORY),
    number(Data, "__disk_data_format", "1", (0, 1), IN_MEMORY),
    // Backup.
    text(Data, "BackupDataDir", "", NO_BACKUP),
    number(Data, "BackupDiskWriteSpeedPct", "50", (0, 90), NO_BACKUP),
    number(Data, "BackupMemory", "32M", (0, MAX), NO_BACKUP),
    number(Data, "BackupDataBufferSize", "16M", (512 * KIB, MAX), NO_BACKUP),
    number(Data, "BackupLogBufferSize", "16M", (2 * MIB, MAX), NO_BACKUP),
    number(Data, "BackupWriteSize", "256K", (32 * KIB, MAX), NO_BACKUP),
    number(Data, "BackupMaxWriteSize", "1M", (256 * KIB, MAX), NO_BACKUP),
    number(Data, "BackupReportFrequency", "0", (0, MAX), NO_BACKUP),
    number(Data, "ParallelBackups", "1", (1, 1), NO_BACKUP),
    flag(Data, "CompressedBackup", "false", NO_BACKUP),
    number(Data, "EnableMultithreadedBackup", "1", (0, 1), NO_BACKUP),
    // Without backups every one of them is encrypted.
    number(Data, "RequireEncryptedBackup", "0", (0, 1), NO_BACKUP),
];
