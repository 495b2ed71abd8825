//! `[ndbd]`: sizes of pools and counts of objects. NDB reserves them; Shoal allocates what is needed out of DataMemory.

use super::Effect::{self, None};
use super::SectionKind::Data;
use super::{KIB, MAX, MAX_32, MIB, Parameter, TIB, number};

const NO_QUOTA: Effect =
    None("nothing is counted ahead; rows, tables and indexes fit as long as DataMemory lasts");
const NO_POOL: Effect = None("there is no fixed pool; transactions and scans take memory as they need it");
const NO_BUFFER: Effect = None("buffers are as large as what is in them");
const NO_STATISTICS: Effect = None("statistics are kept up to date in the index itself");
const ONLINE_BUILDS: Effect = None("index builds choose their own batches");

pub(super) const TABLE: &[Parameter] = &[
    // Objects of the dictionary.
    number(Data, "MaxNoOfAttributes", "1000", (32, MAX), NO_QUOTA),
    number(Data, "MaxNoOfTables", "128", (8, 20_320), NO_QUOTA),
    number(Data, "MaxNoOfOrderedIndexes", "128", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfUniqueHashIndexes", "64", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfIndexes", "128", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfTriggers", "768", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfSubscriptions", "0", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfSubscribers", "0", (0, MAX), NO_QUOTA),
    number(Data, "MaxNoOfConcurrentSubOperations", "256", (0, MAX), NO_QUOTA),
    number(Data, "StringMemory", "25", (0, MAX), NO_QUOTA),
    // Transactions and scans in flight.
    number(Data, "MaxNoOfConcurrentTransactions", "4096", (32, MAX), NO_POOL),
    number(Data, "MaxNoOfConcurrentOperations", "32K", (32, MAX), NO_POOL),
    number(Data, "MaxNoOfLocalOperations", "", (32, MAX), NO_POOL),
    number(Data, "MaxDMLOperationsPerTransaction", "4294967295", (32, MAX_32), NO_POOL),
    number(Data, "MaxNoOfConcurrentIndexOperations", "8K", (0, MAX), NO_POOL),
    number(Data, "MaxNoOfFiredTriggers", "4000", (0, MAX), NO_POOL),
    number(Data, "MaxNoOfConcurrentScans", "256", (2, 500), NO_POOL),
    number(Data, "MaxNoOfLocalScans", "", (32, MAX), NO_POOL),
    number(Data, "MaxParallelScansPerFragment", "256", (1, MAX), NO_POOL),
    number(Data, "BatchSizePerLocalScan", "256", (1, 992), NO_POOL),
    number(Data, "TransactionMemory", "0", (0, 16 * TIB), NO_POOL),
    number(Data, "ReservedConcurrentTransactions", "", (0, MAX), NO_POOL),
    number(Data, "ReservedConcurrentOperations", "", (0, MAX), NO_POOL),
    number(Data, "ReservedConcurrentIndexOperations", "", (0, MAX), NO_POOL),
    number(Data, "ReservedConcurrentScans", "", (0, MAX), NO_POOL),
    number(Data, "ReservedFiredTriggers", "", (0, MAX), NO_POOL),
    number(Data, "ReservedLocalScans", "", (0, MAX), NO_POOL),
    number(Data, "ReservedTransactionBufferMemory", "", (0, MAX), NO_POOL),
    // Buffers.
    number(Data, "TransactionBufferMemory", "1M", (KIB, MAX), NO_BUFFER),
    number(Data, "LongMessageBuffer", "64M", (512 * KIB, MAX), NO_BUFFER),
    number(Data, "SharedGlobalMemory", "128M", (0, 64 * TIB), NO_BUFFER),
    number(Data, "UndoIndexBuffer", "2M", (MIB, MAX), NO_BUFFER),
    number(Data, "UndoDataBuffer", "16M", (MIB, MAX), NO_BUFFER),
    // Indexes and reorganisation.
    number(Data, "IndexStatAutoCreate", "0", (0, 1), NO_STATISTICS),
    number(Data, "IndexStatAutoUpdate", "0", (0, 1), NO_STATISTICS),
    number(Data, "IndexStatSaveSize", "32768", (0, MAX), NO_STATISTICS),
    number(Data, "IndexStatSaveScale", "100", (0, MAX), NO_STATISTICS),
    number(Data, "IndexStatTriggerPct", "100", (0, MAX), NO_STATISTICS),
    number(Data, "IndexStatTriggerScale", "100", (0, MAX), NO_STATISTICS),
    number(Data, "IndexStatUpdateDelay", "60", (0, MAX), NO_STATISTICS),
    number(Data, "BuildIndexThreads", "128", (0, 128), ONLINE_BUILDS),
    number(Data, "MaxUIBuildBatchSize", "64", (16, 512), ONLINE_BUILDS),
    number(Data, "MaxFKBuildBatchSize", "64", (16, 512), ONLINE_BUILDS),
    number(Data, "MaxReorgBuildBatchSize", "64", (16, 512), ONLINE_BUILDS),
];
