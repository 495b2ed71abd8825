//! Options of tables and partitions, and the values of options that are kept by name.

use super::{Ident, ObjectName};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMedium {
    Default,
    Disk,
    Memory,
}

/// Table options that have a meaning of their own come typed, the rest by their upper-case name.
#[derive(Debug, Clone, PartialEq)]
pub enum TableOption {
    Engine(String),
    SecondaryEngine(Option<String>),
    AutoIncrement(u64),
    Charset(String),
    Collate(String),
    Comment(Vec<u8>),
    MaxRows(u64),
    MinRows(u64),
    AverageRowLength(u64),
    RowFormat(String),
    KeyBlockSize(u64),
    Tablespace(Ident),
    Storage(StorageMedium),
    Union(Vec<ObjectName>),
    StartTransaction,
    /// CHECKSUM, DELAY_KEY_WRITE, PACK_KEYS, STATS_PERSISTENT, COMPRESSION, ENCRYPTION, DATA DIRECTORY, CONNECTION, PASSWORD,
    /// INSERT_METHOD, AUTOEXTEND_SIZE, ENGINE_ATTRIBUTE ...
    Other {
        name: String,
        value: OptionValue,
    },
}

/// `NAME` or `NAME = value` where the value's meaning belongs to the reader of the option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Integer(u64),
    Decimal(String),
    Text(Vec<u8>),
    Word(String),
}
