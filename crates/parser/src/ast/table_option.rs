//! Options of tables and partitions, and the values of options that are kept by name.

use super::{Ident, ObjectName};

/// STORAGE: where NDB keeps a table or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMedium {
    /// DEFAULT.
    Default,
    /// DISK.
    Disk,
    /// MEMORY.
    Memory,
}

/// Table options that have a meaning of their own come typed, the rest by their upper-case name.
#[derive(Debug, Clone, PartialEq)]
pub enum TableOption {
    /// ENGINE, also `STORAGE ENGINE` in a partition.
    Engine(String),
    /// SECONDARY_ENGINE; `None`: NULL.
    SecondaryEngine(Option<String>),
    /// AUTO_INCREMENT: the first number that is given.
    AutoIncrement(u64),
    /// `[DEFAULT] CHARACTER SET`, in lower case; `default` for DEFAULT.
    Charset(String),
    /// `[DEFAULT] COLLATE`, in lower case.
    Collate(String),
    /// COMMENT.
    Comment(Vec<u8>),
    /// MAX_ROWS.
    MaxRows(u64),
    /// MIN_ROWS.
    MinRows(u64),
    /// AVG_ROW_LENGTH, in bytes.
    AverageRowLength(u64),
    /// ROW_FORMAT, in upper case.
    RowFormat(String),
    /// KEY_BLOCK_SIZE, in bytes.
    KeyBlockSize(u64),
    /// TABLESPACE.
    Tablespace(Ident),
    /// STORAGE.
    Storage(StorageMedium),
    /// UNION, the tables of a MERGE table.
    Union(Vec<ObjectName>),
    /// START TRANSACTION, which CREATE TABLE .. SELECT has in MySQL's binary log.
    StartTransaction,
    /// CHECKSUM, DELAY_KEY_WRITE, PACK_KEYS, STATS_PERSISTENT, COMPRESSION, ENCRYPTION, DATA DIRECTORY, CONNECTION, PASSWORD,
    /// INSERT_METHOD, AUTOEXTEND_SIZE, ENGINE_ATTRIBUTE ...
    Other {
        /// In upper case.
        name: String,
        /// What is written behind the name.
        value: OptionValue,
    },
}

/// The value of an option that is kept by name; what it means belongs to the reader of the option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// An integer, also with K, M, G or T behind it: powers of 1024.
    Integer(u64),
    /// A number with a point, as written.
    Decimal(String),
    /// A string.
    Text(Vec<u8>),
    /// A bare word, in upper case.
    Word(String),
}
