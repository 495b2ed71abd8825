//! CREATE TABLE: columns, keys, constraints.

use super::{
    DataType, DuplicateHandling, Expr, Ident, ObjectName, Partitioning, Query, StorageMedium, TableOption,
};

/// `CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (..) options [PARTITION BY ..] [query]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS: a table that is there already is left as it is, with a note.
    pub if_not_exists: bool,
    /// The table.
    pub name: ObjectName,
    /// CREATE TABLE .. LIKE: nothing else is set then.
    pub like: Option<ObjectName>,
    /// In order. Columns of `query` that are not among them come behind.
    pub columns: Vec<ColumnDefinition>,
    /// PRIMARY KEY, UNIQUE, INDEX and so on, as elements of their own; those at a column are in its definition.
    pub keys: Vec<KeyDefinition>,
    /// FOREIGN KEY elements.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK elements; those at a column are in its definition.
    pub checks: Vec<Check>,
    /// ENGINE, COMMENT and so on, in the order they are written. The last one of a name counts.
    pub options: Vec<TableOption>,
    /// PARTITION BY.
    pub partitioning: Option<Partitioning>,
    /// IGNORE or REPLACE before the query.
    pub duplicates: DuplicateHandling,
    /// `[AS] SELECT ..`, whose rows the table starts with.
    pub query: Option<Box<Query>>,
}

/// `name type attributes`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// The column's name.
    pub name: Ident,
    /// The type; a COLLATE among the attributes is in it.
    pub data_type: DataType,
    /// NOT NULL: `Some(false)`; NULL: `Some(true)`.
    pub nullable: Option<bool>,
    /// A literal, NOW(n), or an expression in parentheses (`default_is_expression`).
    pub default: Option<Expr>,
    /// The default is in parentheses.
    pub default_is_expression: bool,
    /// ON UPDATE CURRENT_TIMESTAMP(n), with n.
    pub on_update_now: Option<u32>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// `[PRIMARY] KEY` at the column.
    pub primary_key: bool,
    /// `UNIQUE [KEY]` at the column.
    pub unique_key: bool,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// `[GENERATED ALWAYS] AS (..)`.
    pub generated: Option<GeneratedColumn>,
    /// VISIBLE: `Some(true)`; INVISIBLE: `Some(false)`.
    pub visible: Option<bool>,
    /// SRID, the spatial reference system of the column's values.
    pub srid: Option<u64>,
    /// STORAGE, an attribute of NDB.
    pub storage: Option<StorageMedium>,
    /// COLUMN_FORMAT, an attribute of NDB.
    pub column_format: Option<ColumnFormat>,
    /// REFERENCES written at the column: parsed and ignored by MySQL.
    pub references: Option<ForeignKeyReference>,
    /// CHECK at the column.
    pub checks: Vec<Check>,
    /// ENGINE_ATTRIBUTE, a JSON text for the storage engine.
    pub engine_attribute: Option<Vec<u8>>,
    /// SECONDARY_ENGINE_ATTRIBUTE.
    pub secondary_engine_attribute: Option<Vec<u8>>,
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedColumn {
    /// What computes the column.
    pub expr: Expr,
    /// The source between the parentheses.
    pub text: Vec<u8>,
    /// STORED: the value lies in the row. VIRTUAL is the default.
    pub stored: bool,
}

/// COLUMN_FORMAT of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFormat {
    /// DEFAULT.
    Default,
    /// FIXED.
    Fixed,
    /// DYNAMIC.
    Dynamic,
}

/// `[CONSTRAINT [name]] kind [name] (parts) options`, or what CREATE INDEX says.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDefinition {
    /// The words that begin it.
    pub kind: KeyKind,
    /// CONSTRAINT name; only PRIMARY KEY and UNIQUE may carry one.
    pub constraint: Option<Ident>,
    /// The index's name. `None`: the server makes one; a primary key has none.
    pub name: Option<Ident>,
    /// At least one.
    pub parts: Vec<KeyPart>,
    /// USING, COMMENT and so on.
    pub options: KeyOptions,
}

/// The kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// `UNIQUE [INDEX | KEY]`.
    Unique,
    /// INDEX and KEY.
    Index,
    /// `FULLTEXT [INDEX | KEY]`.
    FullText,
    /// `SPATIAL [INDEX | KEY]`.
    Spatial,
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyPart {
    /// The column, or an expression.
    pub expr: KeyPartExpr,
    /// DESC.
    pub descending: bool,
}

/// What a part of a key is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPartExpr {
    /// `column` or `column(n)`.
    Column {
        /// The column.
        name: Ident,
        /// Characters of a text, bytes of a binary string; `None`: all of it.
        prefix_length: Option<u64>,
    },
    /// `(expr)`: a functional key part.
    Expression(Expr),
}

/// Options behind a key's parts, and USING before them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyOptions {
    /// USING BTREE and so on; `None`: the engine's own.
    pub method: Option<IndexMethod>,
    /// KEY_BLOCK_SIZE, in bytes.
    pub block_size: Option<u64>,
    /// WITH PARSER, of a full-text index.
    pub parser: Option<Ident>,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// VISIBLE: `Some(true)`; INVISIBLE: `Some(false)`.
    pub visible: Option<bool>,
    /// ENGINE_ATTRIBUTE, a JSON text for the storage engine.
    pub engine_attribute: Option<Vec<u8>>,
    /// SECONDARY_ENGINE_ATTRIBUTE.
    pub secondary_engine_attribute: Option<Vec<u8>>,
}

/// The word behind USING.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMethod {
    /// BTREE.
    BTree,
    /// RTREE.
    RTree,
    /// HASH.
    Hash,
}

/// `[CONSTRAINT [name]] FOREIGN KEY [index_name] (columns) REFERENCES ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// The constraint's name; `None`: the server makes one.
    pub constraint: Option<Ident>,
    /// The name for the index behind it, if none of that name is there.
    pub index_name: Option<Ident>,
    /// The columns of this table.
    pub columns: Vec<Ident>,
    /// What they refer to.
    pub reference: ForeignKeyReference,
}

/// `REFERENCES table (columns) [MATCH ..] [ON DELETE ..] [ON UPDATE ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKeyReference {
    /// The parent table.
    pub table: ObjectName,
    /// The columns of the parent.
    pub columns: Vec<Ident>,
    /// MATCH.
    pub match_kind: Option<MatchKind>,
    /// What a delete in the parent does; `None`: NO ACTION.
    pub on_delete: Option<ReferentialAction>,
    /// What a change of the parent's key does; `None`: NO ACTION.
    pub on_update: Option<ReferentialAction>,
}

/// The word behind MATCH, which MySQL reads and ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// FULL.
    Full,
    /// PARTIAL.
    Partial,
    /// SIMPLE.
    Simple,
}

/// What happens to the rows that refer to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferentialAction {
    /// RESTRICT: the statement fails.
    Restrict,
    /// CASCADE: they are deleted or changed as well.
    Cascade,
    /// SET NULL.
    SetNull,
    /// NO ACTION: the same as RESTRICT in MySQL.
    NoAction,
    /// SET DEFAULT.
    SetDefault,
}

/// `[CONSTRAINT [name]] CHECK (expr) [[NOT] ENFORCED]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The constraint's name; `None`: the server makes one.
    pub name: Option<Ident>,
    /// A condition that is false for no row of the table.
    pub expr: Expr,
    /// The source between the parentheses.
    pub text: Vec<u8>,
    /// ENFORCED, the default.
    pub enforced: bool,
}
