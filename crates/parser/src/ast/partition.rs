//! PARTITION BY and lists of partitions.

use super::{Expr, Ident, TableOption};

/// `PARTITION BY method [PARTITIONS n] [SUBPARTITION BY ..] [(definitions)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    /// How a row's partition follows from its columns.
    pub method: PartitionMethod,
    /// PARTITIONS n.
    pub partition_count: Option<u64>,
    /// SUBPARTITION BY.
    pub subpartition: Option<Subpartitioning>,
    /// The definitions; empty: not written.
    pub partitions: Vec<PartitionDefinition>,
}

/// How rows are spread over partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expr)`.
    Hash {
        /// LINEAR: powers of two instead of a remainder.
        linear: bool,
        /// An integer.
        expr: Expr,
    },
    /// `[LINEAR] KEY [ALGORITHM = n] (columns)`.
    Key {
        /// LINEAR: powers of two instead of a remainder.
        linear: bool,
        /// 1 or 2, the hash function; `None`: 2.
        algorithm: Option<u64>,
        /// Empty: the primary key.
        columns: Vec<Ident>,
    },
    /// `RANGE (expr)`.
    Range(Expr),
    /// `RANGE COLUMNS (columns)`.
    RangeColumns(Vec<Ident>),
    /// `LIST (expr)`.
    List(Expr),
    /// `LIST COLUMNS (columns)`.
    ListColumns(Vec<Ident>),
}

/// `SUBPARTITION BY method [SUBPARTITIONS n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Subpartitioning {
    /// `Hash` or `Key`.
    pub method: PartitionMethod,
    /// SUBPARTITIONS n, for each partition.
    pub count: Option<u64>,
}

/// `PARTITION name [VALUES ..] options [(subpartitions)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDefinition {
    /// The partition's name.
    pub name: Ident,
    /// VALUES, for RANGE and LIST.
    pub values: Option<PartitionValues>,
    /// ENGINE, COMMENT and so on.
    pub options: Vec<TableOption>,
    /// Empty: not written.
    pub subpartitions: Vec<SubpartitionDefinition>,
}

/// `SUBPARTITION name options`.
#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionDefinition {
    /// The subpartition's name.
    pub name: Ident,
    /// ENGINE, COMMENT and so on.
    pub options: Vec<TableOption>,
}

/// Which rows a partition takes.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// `VALUES LESS THAN (..)`: one bound a column; `None` is MAXVALUE.
    LessThan(Vec<Option<Expr>>),
    /// `VALUES IN (..)`: rows of values; of one value each unless LIST COLUMNS has several.
    In(Vec<Vec<Expr>>),
}

/// The partitions a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionNames {
    /// ALL.
    All,
    /// `p0, p1, ..`.
    Names(Vec<Ident>),
}
