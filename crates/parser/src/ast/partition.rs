//! PARTITION BY and lists of partitions.

use super::{Expr, Ident, TableOption};

#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    pub method: PartitionMethod,
    pub partition_count: Option<u64>,
    pub subpartition: Option<Subpartitioning>,
    pub partitions: Vec<PartitionDefinition>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    Hash {
        linear: bool,
        expr: Expr,
    },
    /// No columns: the primary key.
    Key {
        linear: bool,
        algorithm: Option<u64>,
        columns: Vec<Ident>,
    },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Subpartitioning {
    /// `Hash` or `Key`.
    pub method: PartitionMethod,
    pub count: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDefinition {
    pub name: Ident,
    pub values: Option<PartitionValues>,
    pub options: Vec<TableOption>,
    pub subpartitions: Vec<SubpartitionDefinition>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionDefinition {
    pub name: Ident,
    pub options: Vec<TableOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// One bound a column; None is MAXVALUE.
    LessThan(Vec<Option<Expr>>),
    /// Rows of values; of one value each unless LIST COLUMNS has several.
    In(Vec<Vec<Expr>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    Names(Vec<Ident>),
}
