//! Tables and indexes: CREATE, ALTER, DROP, RENAME, TRUNCATE.

use super::{DataType, Expr, Ident, ObjectName, OptionValue, Query};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    /// CREATE TABLE .. LIKE: nothing else is set then.
    pub like: Option<ObjectName>,
    pub columns: Vec<ColumnDefinition>,
    pub keys: Vec<KeyDefinition>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub options: Vec<TableOption>,
    pub partitioning: Option<Partitioning>,
    /// IGNORE or REPLACE before the query.
    pub duplicates: super::DuplicateHandling,
    pub query: Option<Box<Query>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: Ident,
    pub data_type: DataType,
    /// NOT NULL: Some(false); NULL: Some(true).
    pub nullable: Option<bool>,
    /// A literal, NOW(n), or an expression in parentheses (`default_is_expression`).
    pub default: Option<Expr>,
    pub default_is_expression: bool,
    /// ON UPDATE CURRENT_TIMESTAMP(n), with n.
    pub on_update_now: Option<u32>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique_key: bool,
    pub comment: Option<Vec<u8>>,
    pub generated: Option<GeneratedColumn>,
    /// VISIBLE: Some(true); INVISIBLE: Some(false).
    pub visible: Option<bool>,
    pub srid: Option<u64>,
    pub storage: Option<StorageMedium>,
    pub column_format: Option<ColumnFormat>,
    /// REFERENCES written at the column: parsed and ignored by MySQL.
    pub references: Option<ForeignKeyReference>,
    pub checks: Vec<Check>,
    pub engine_attribute: Option<Vec<u8>>,
    pub secondary_engine_attribute: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedColumn {
    pub expr: Expr,
    /// The source between the parentheses.
    pub text: Vec<u8>,
    pub stored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageMedium {
    Default,
    Disk,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFormat {
    Default,
    Fixed,
    Dynamic,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeyDefinition {
    pub kind: KeyKind,
    /// CONSTRAINT name; only PRIMARY KEY and UNIQUE may carry one.
    pub constraint: Option<Ident>,
    pub name: Option<Ident>,
    pub parts: Vec<KeyPart>,
    pub options: KeyOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Primary,
    Unique,
    Index,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeyPart {
    pub expr: KeyPartExpr,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum KeyPartExpr {
    Column { name: Ident, prefix_length: Option<u64> },
    Expression(Expr),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyOptions {
    pub method: Option<IndexMethod>,
    pub block_size: Option<u64>,
    pub parser: Option<Ident>,
    pub comment: Option<Vec<u8>>,
    /// VISIBLE: Some(true); INVISIBLE: Some(false).
    pub visible: Option<bool>,
    pub engine_attribute: Option<Vec<u8>>,
    pub secondary_engine_attribute: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMethod {
    BTree,
    RTree,
    Hash,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    pub constraint: Option<Ident>,
    pub index_name: Option<Ident>,
    pub columns: Vec<Ident>,
    pub reference: ForeignKeyReference,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKeyReference {
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub match_kind: Option<MatchKind>,
    pub on_delete: Option<ReferentialAction>,
    pub on_update: Option<ReferentialAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Full,
    Partial,
    Simple,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferentialAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: Option<Ident>,
    pub expr: Expr,
    /// The source between the parentheses.
    pub text: Vec<u8>,
    pub enforced: bool,
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

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub actions: Vec<AlterTableAction>,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
    /// WITH VALIDATION: Some(true); WITHOUT VALIDATION: Some(false).
    pub validation: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterAlgorithm {
    Default,
    Copy,
    InPlace,
    Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterLock {
    Default,
    None,
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    AddColumn {
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    AddKey(KeyDefinition),
    AddForeignKey(ForeignKey),
    AddCheck(Check),
    ChangeColumn {
        old_name: Ident,
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    ModifyColumn {
        column: Box<ColumnDefinition>,
        position: Option<ColumnPosition>,
    },
    RenameColumn {
        from: Ident,
        to: Ident,
    },
    SetColumnDefault {
        column: Ident,
        default: Expr,
        is_expression: bool,
    },
    DropColumnDefault {
        column: Ident,
    },
    SetColumnVisible {
        column: Ident,
        visible: bool,
    },
    DropColumn(Ident),
    DropPrimaryKey,
    DropIndex(Ident),
    DropForeignKey(Ident),
    /// DROP CHECK name.
    DropCheck(Ident),
    /// DROP CONSTRAINT name: of whatever kind it is.
    DropConstraint(Ident),
    RenameIndex {
        from: Ident,
        to: Ident,
    },
    SetIndexVisible {
        index: Ident,
        visible: bool,
    },
    /// ALTER CHECK / ALTER CONSTRAINT name [NOT] ENFORCED.
    SetConstraintEnforced {
        name: Ident,
        enforced: bool,
    },
    RenameTable(ObjectName),
    ConvertCharset {
        charset: super::CharsetChoice,
        collation: Option<String>,
    },
    /// ORDER BY columns.
    OrderBy(Vec<super::OrderItem>),
    EnableKeys,
    DisableKeys,
    /// ALTER TABLE .. FORCE.
    Force,
    Options(Vec<TableOption>),
    DiscardTablespace,
    ImportTablespace,
    PartitionBy(Partitioning),
    RemovePartitioning,
    AddPartitions {
        definitions: Vec<PartitionDefinition>,
        count: Option<u64>,
    },
    DropPartitions(Vec<Ident>),
    CoalescePartition(u64),
    /// REORGANIZE PARTITION [names INTO (definitions)].
    ReorganizePartitions {
        names: Vec<Ident>,
        into: Vec<PartitionDefinition>,
    },
    ExchangePartition {
        partition: Ident,
        table: ObjectName,
        validation: Option<bool>,
    },
    TruncatePartitions(PartitionNames),
    AnalyzePartitions(PartitionNames),
    CheckPartitions {
        names: PartitionNames,
        options: Vec<String>,
    },
    OptimizePartitions(PartitionNames),
    RebuildPartitions(PartitionNames),
    RepairPartitions {
        names: PartitionNames,
        options: Vec<String>,
    },
    DiscardPartitionTablespace(PartitionNames),
    ImportPartitionTablespace(PartitionNames),
    SecondaryLoad,
    SecondaryUnload,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    Names(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropTable {
    pub temporary: bool,
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    pub behavior: Option<DropBehavior>,
}

/// RESTRICT and CASCADE, which MySQL accepts and ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropBehavior {
    Restrict,
    Cascade,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// `Unique`, `Index`, `FullText` or `Spatial`.
    pub key: KeyDefinition,
    pub table: ObjectName,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropIndex {
    pub name: Ident,
    pub table: ObjectName,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}
