//! ALTER TABLE, DROP TABLE, CREATE INDEX, DROP INDEX.

use super::{
    CharsetChoice, Check, ColumnDefinition, Expr, ForeignKey, Ident, KeyDefinition, ObjectName, OrderItem,
    PartitionDefinition, PartitionNames, Partitioning, TableOption,
};

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
        charset: CharsetChoice,
        collation: Option<String>,
    },
    /// ORDER BY columns.
    OrderBy(Vec<OrderItem>),
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
