//! CREATE TABLE: columns, keys, constraints.

use super::{
    DataType, DuplicateHandling, Expr, Ident, ObjectName, Partitioning, Query, StorageMedium, TableOption,
};

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
    pub duplicates: DuplicateHandling,
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
