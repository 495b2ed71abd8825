//! ALTER TABLE, DROP TABLE, CREATE INDEX, DROP INDEX.

use super::{
    CharsetChoice, Check, ColumnDefinition, Expr, ForeignKey, Ident, KeyDefinition, ObjectName, OrderItem,
    PartitionDefinition, PartitionNames, Partitioning, TableOption,
};

/// `ALTER TABLE name actions`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// In the order they are written; they take effect together.
    pub actions: Vec<AlterTableAction>,
    /// ALGORITHM; `None`: the best one there is.
    pub algorithm: Option<AlterAlgorithm>,
    /// LOCK; `None`: as few as possible.
    pub lock: Option<AlterLock>,
    /// WITH VALIDATION: `Some(true)`; WITHOUT VALIDATION: `Some(false)`.
    pub validation: Option<bool>,
}

/// How a table is changed. What cannot be done so is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterAlgorithm {
    /// DEFAULT: the best one there is.
    Default,
    /// COPY: all rows go into a second table.
    Copy,
    /// INPLACE: the table is changed where it lies.
    InPlace,
    /// INSTANT: only the definition changes.
    Instant,
}

/// What others may do to the table meanwhile. What cannot be granted is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterLock {
    /// DEFAULT: as much as possible.
    Default,
    /// NONE: read and write.
    None,
    /// SHARED: read.
    Shared,
    /// EXCLUSIVE: nothing.
    Exclusive,
}

/// Where a column goes; without it a new one goes last and an old one stays.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnPosition {
    /// FIRST.
    First,
    /// `AFTER column`.
    After(Ident),
}

/// One change of ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    /// `ADD [COLUMN] definition [FIRST | AFTER ..]`. A list in parentheses comes as several actions.
    AddColumn {
        /// The new column.
        column: Box<ColumnDefinition>,
        /// `None`: last.
        position: Option<ColumnPosition>,
    },
    /// ADD PRIMARY KEY, UNIQUE, INDEX and so on.
    AddKey(KeyDefinition),
    /// ADD FOREIGN KEY.
    AddForeignKey(ForeignKey),
    /// ADD CHECK.
    AddCheck(Check),
    /// `CHANGE [COLUMN] old_name definition [FIRST | AFTER ..]`.
    ChangeColumn {
        /// The name until now.
        old_name: Ident,
        /// The whole definition, with the name from now on.
        column: Box<ColumnDefinition>,
        /// `None`: where it is.
        position: Option<ColumnPosition>,
    },
    /// `MODIFY [COLUMN] definition [FIRST | AFTER ..]`.
    ModifyColumn {
        /// The whole definition, with the name the column has.
        column: Box<ColumnDefinition>,
        /// `None`: where it is.
        position: Option<ColumnPosition>,
    },
    /// `RENAME COLUMN from TO to`.
    RenameColumn {
        /// The name until now.
        from: Ident,
        /// The name from now on.
        to: Ident,
    },
    /// `ALTER [COLUMN] column SET DEFAULT default`.
    SetColumnDefault {
        /// The column.
        column: Ident,
        /// A literal, or an expression.
        default: Expr,
        /// The default is in parentheses.
        is_expression: bool,
    },
    /// `ALTER [COLUMN] column DROP DEFAULT`.
    DropColumnDefault {
        /// The column.
        column: Ident,
    },
    /// `ALTER [COLUMN] column SET VISIBLE | INVISIBLE`.
    SetColumnVisible {
        /// The column.
        column: Ident,
        /// VISIBLE.
        visible: bool,
    },
    /// `DROP [COLUMN] column`.
    DropColumn(Ident),
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// `DROP INDEX | KEY name`.
    DropIndex(Ident),
    /// `DROP FOREIGN KEY name`.
    DropForeignKey(Ident),
    /// `DROP CHECK name`.
    DropCheck(Ident),
    /// `DROP CONSTRAINT name`: of whatever kind it is.
    DropConstraint(Ident),
    /// `RENAME INDEX | KEY from TO to`.
    RenameIndex {
        /// The name until now.
        from: Ident,
        /// The name from now on.
        to: Ident,
    },
    /// `ALTER INDEX index VISIBLE | INVISIBLE`.
    SetIndexVisible {
        /// The index.
        index: Ident,
        /// VISIBLE.
        visible: bool,
    },
    /// `ALTER CHECK | CONSTRAINT name [NOT] ENFORCED`.
    SetConstraintEnforced {
        /// The constraint.
        name: Ident,
        /// ENFORCED.
        enforced: bool,
    },
    /// `RENAME [TO | AS] name`.
    RenameTable(ObjectName),
    /// `CONVERT TO CHARACTER SET charset [COLLATE collation]`: the columns' texts as well.
    ConvertCharset {
        /// The character set to convert to.
        charset: CharsetChoice,
        /// In lower case; `None`: the default one of the character set.
        collation: Option<String>,
    },
    /// `ORDER BY columns`.
    OrderBy(Vec<OrderItem>),
    /// ENABLE KEYS.
    EnableKeys,
    /// DISABLE KEYS.
    DisableKeys,
    /// FORCE: the table is built again as it is.
    Force,
    /// Options of the table.
    Options(Vec<TableOption>),
    /// DISCARD TABLESPACE.
    DiscardTablespace,
    /// IMPORT TABLESPACE.
    ImportTablespace,
    /// PARTITION BY.
    PartitionBy(Partitioning),
    /// REMOVE PARTITIONING.
    RemovePartitioning,
    /// `ADD PARTITION (definitions)` and `ADD PARTITION PARTITIONS n`.
    AddPartitions {
        /// Empty with a count.
        definitions: Vec<PartitionDefinition>,
        /// PARTITIONS n.
        count: Option<u64>,
    },
    /// `DROP PARTITION names`.
    DropPartitions(Vec<Ident>),
    /// `COALESCE PARTITION n`: n fewer.
    CoalescePartition(u64),
    /// `REORGANIZE PARTITION [names INTO (definitions)]`.
    ReorganizePartitions {
        /// Empty: all, as they are.
        names: Vec<Ident>,
        /// What they become; empty with the names.
        into: Vec<PartitionDefinition>,
    },
    /// `EXCHANGE PARTITION partition WITH TABLE table [WITH | WITHOUT VALIDATION]`.
    ExchangePartition {
        /// The partition.
        partition: Ident,
        /// The table whose rows it changes places with.
        table: ObjectName,
        /// WITH VALIDATION: `Some(true)`; WITHOUT VALIDATION: `Some(false)`.
        validation: Option<bool>,
    },
    /// `TRUNCATE PARTITION names`.
    TruncatePartitions(PartitionNames),
    /// `ANALYZE PARTITION names`.
    AnalyzePartitions(PartitionNames),
    /// `CHECK PARTITION names options`.
    CheckPartitions {
        /// The partitions.
        names: PartitionNames,
        /// As those of CHECK TABLE.
        options: Vec<String>,
    },
    /// `OPTIMIZE PARTITION names`.
    OptimizePartitions(PartitionNames),
    /// `REBUILD PARTITION names`.
    RebuildPartitions(PartitionNames),
    /// `REPAIR PARTITION names options`.
    RepairPartitions {
        /// The partitions.
        names: PartitionNames,
        /// As those of REPAIR TABLE.
        options: Vec<String>,
    },
    /// `DISCARD PARTITION names TABLESPACE`.
    DiscardPartitionTablespace(PartitionNames),
    /// `IMPORT PARTITION names TABLESPACE`.
    ImportPartitionTablespace(PartitionNames),
    /// SECONDARY_LOAD.
    SecondaryLoad,
    /// SECONDARY_UNLOAD.
    SecondaryUnload,
}

/// `DROP [TEMPORARY] TABLE [IF EXISTS] names [RESTRICT | CASCADE]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropTable {
    /// TEMPORARY: temporary tables alone.
    pub temporary: bool,
    /// IF EXISTS: what is not there gives a note, not an error.
    pub if_exists: bool,
    /// At least one.
    pub names: Vec<ObjectName>,
    /// RESTRICT or CASCADE.
    pub behavior: Option<DropBehavior>,
}

/// What MySQL accepts behind DROP and ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropBehavior {
    /// RESTRICT.
    Restrict,
    /// CASCADE.
    Cascade,
}

/// `CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX name ON table (parts) ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// `Unique`, `Index`, `FullText` or `Spatial`, with a name.
    pub key: KeyDefinition,
    /// The table.
    pub table: ObjectName,
    /// ALGORITHM; `None`: the best one there is.
    pub algorithm: Option<AlterAlgorithm>,
    /// LOCK; `None`: as few as possible.
    pub lock: Option<AlterLock>,
}

/// `DROP INDEX name ON table ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropIndex {
    /// The index; `PRIMARY` for the primary key.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// ALGORITHM; `None`: the best one there is.
    pub algorithm: Option<AlterAlgorithm>,
    /// LOCK; `None`: as few as possible.
    pub lock: Option<AlterLock>,
}
