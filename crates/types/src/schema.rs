//! What a table looks like: columns, keys, partitioning. Shared by the SQL layer, the dictionary and partitions.

use crate::sql_type::SqlType;
use crate::value::Value;
use crate::{Collation, IndexId, TableId};

/// A table, or the hidden table behind a global unique index.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSchema {
    /// Never reused in a cluster.
    pub id: TableId,
    /// Raised by every change of this table's definition.
    pub version: u32,
    /// Of the table, by its name.
    pub database: String,
    /// Without the database.
    pub name: String,
    /// In their order in rows; a hidden key comes last.
    pub columns: Vec<Column>,
    /// `indexes[0]` is the primary key. A table declared without one gets the hidden column
    /// [`HIDDEN_KEY_COLUMN`] as its last column and primary key.
    pub indexes: Vec<Index>,
    /// Columns whose values choose the partition; a subset of the primary key's columns, in key order.
    pub partition_columns: Vec<usize>,
    /// CHECK constraints, as they were declared.
    pub checks: Vec<CheckConstraint>,
    /// FOREIGN KEY constraints, of which this table is the child.
    pub foreign_keys: Vec<ForeignKey>,
    /// How rows lie that were written before columns came or went, oldest first; see `row::past`.
    pub past_rows: Vec<PastRows>,
    /// Of CREATE TABLE, behind the column list.
    pub options: TableOptions,
}

/// Rows of an earlier version of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRows {
    /// Of the columns that they have: how wide each is, `None` if that is said by the row.
    pub widths: Vec<Option<u8>>,
    /// Where the table's columns are in them.
    pub columns: Vec<PastColumn>,
}

/// A column of a table in rows of an earlier version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastColumn {
    /// Its position among their columns.
    At(usize),
    /// It is not in them: the stored bytes that it has in all of them; `None`: NULL.
    Value(Option<Vec<u8>>),
}

/// A FOREIGN KEY: every row whose columns are all not NULL has a row in the parent table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Unique in the child's database.
    pub name: String,
    /// Names of the child's columns.
    pub columns: Vec<String>,
    /// The parent's database and name. It may be missing: then no row has a parent.
    pub parent: (String, String),
    /// Names of the parent's columns, which a unique key consists of.
    pub parent_columns: Vec<String>,
    /// What becomes of rows whose parent is deleted.
    pub on_delete: ReferentialAction,
    /// What becomes of rows whose parent gets another key.
    pub on_update: ReferentialAction,
}

/// What a change of a parent does to the rows that refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferentialAction {
    /// It is refused. The default.
    #[default]
    NoAction,
    /// The same, written out.
    Restrict,
    /// They are deleted, or get the new key.
    Cascade,
    /// Their columns become NULL.
    SetNull,
}

impl ReferentialAction {
    /// As in SQL.
    pub fn text(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
        }
    }
}

/// A condition that is false for no row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckConstraint {
    /// Unique in the table's database.
    pub name: String,
    /// Its SQL text, as MySQL writes it.
    pub expression: String,
    /// Not NOT ENFORCED.
    pub enforced: bool,
}

/// The name of the hidden BIGINT UNSIGNED key of a table that was declared without a primary key.
pub const HIDDEN_KEY_COLUMN: &str = "$PK";

/// What the names of the hidden columns that functional key parts are begin with.
pub const FUNCTIONAL_COLUMN_PREFIX: &str = "!hidden!";

/// What CREATE TABLE says behind the column list.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// The engine's name as the user wrote it, for SHOW CREATE TABLE; all map to the memory store.
    pub engine: String,
    /// The default of columns that name none.
    pub collation: Collation,
    /// COMMENT; empty if there is none.
    pub comment: String,
    /// The next AUTO_INCREMENT value that the definition asked for (at least 1).
    pub auto_increment: u64,
    /// `PARTITION BY KEY (...)` was written; `partitions` is the PARTITIONS clause, 0 if none.
    pub partitioned_by_key: bool,
    /// The PARTITIONS clause; 0 if there is none.
    pub partitions: u32,
    /// ROW_FORMAT, MAX_ROWS and other options that are kept and shown but have no effect: name, value.
    pub other: Vec<(String, String)>,
    /// Seconds since 1970, for information_schema.
    pub created_at_s: u64,
}

impl TableOptions {
    /// Of an engine, and nothing else.
    pub fn new(engine: impl Into<String>, collation: Collation) -> TableOptions {
        TableOptions {
            engine: engine.into(),
            collation,
            comment: String::new(),
            auto_increment: 1,
            partitioned_by_key: false,
            partitions: 0,
            other: Vec::new(),
            created_at_s: 0,
        }
    }
}

/// A column, as it was declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As it was written; names are compared without regard to case.
    pub name: String,
    /// With length, sign, collation and labels.
    pub sql_type: SqlType,
    /// Not NOT NULL, and not part of the primary key.
    pub nullable: bool,
    /// What a new row gets that leaves the column out.
    pub default: ColumnDefault,
    /// A new row gets the next number. At most one column of a table has it.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// COMMENT; empty if there is none.
    pub comment: String,
    /// INVISIBLE: `SELECT *` leaves it out.
    pub invisible: bool,
    /// Not nameable by users at all: the hidden key, or what a functional key part computes.
    pub hidden: bool,
    /// GENERATED ALWAYS AS: the expression's SQL text, and whether it is STORED (else VIRTUAL).
    pub generated: Option<(String, bool)>,
    /// What a multi-valued key part computes is an array of these: the column keeps its distinct elements as
    /// [`crate::array_elements`], and the index has an entry for each.
    pub array_of: Option<SqlType>,
}

impl Column {
    /// A column that is NOT NULL, visible, and has nothing else.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Column {
        Column {
            name: name.into(),
            sql_type,
            nullable: false,
            default: ColumnDefault::None,
            auto_increment: false,
            on_update_now: false,
            comment: String::new(),
            invisible: false,
            hidden: false,
            generated: None,
            array_of: None,
        }
    }

    /// What a functional key part computes.
    pub fn is_functional(&self) -> bool {
        self.hidden && self.generated.is_some()
    }
}

/// What a column gets in a new row that leaves it out.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// No DEFAULT clause: NULL for a nullable column, an error (1364) or the implicit default otherwise.
    None,
    /// A constant, already of the column's type. `Value::Null` for DEFAULT NULL.
    Value(Value),
    /// CURRENT_TIMESTAMP with the column's fsp.
    Now,
    /// An expression default: `DEFAULT (expr)`, its SQL text.
    Expression(String),
}

/// How an index finds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexMethod {
    /// Only a hash index: equality on the whole key.
    Hash,
    /// Ordered; primary keys have a hash index beside it.
    BTree,
}

/// An index, the primary key among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Never reused within a table; 0 is the primary key.
    pub id: IndexId,
    /// "PRIMARY" for the primary key.
    pub name: String,
    /// In the order of the key.
    pub columns: Vec<IndexColumn>,
    /// No two rows have the same key; NULL is equal to nothing. Always so for the primary key.
    pub unique: bool,
    /// USING HASH or BTREE.
    pub method: IndexMethod,
    /// INVISIBLE: the optimizer does not choose it; it is kept up to date all the same.
    pub invisible: bool,
    /// A definition is making it of the rows that are there, beside those who write: users do not know it yet, and nobody reads it.
    pub building: bool,
    /// COMMENT; empty if there is none.
    pub comment: String,
    /// The hidden table that keeps a unique secondary index globally unique.
    pub unique_table: Option<TableId>,
}

impl Index {
    /// An index over whole columns, ascending.
    pub fn new(
        id: IndexId,
        name: impl Into<String>,
        columns: &[usize],
        unique: bool,
        method: IndexMethod,
    ) -> Index {
        let whole = |&column: &usize| IndexColumn { column, prefix_length: 0, descending: false };
        Index {
            id,
            name: name.into(),
            columns: columns.iter().map(whole).collect(),
            unique,
            method,
            invisible: false,
            building: false,
            comment: String::new(),
            unique_table: None,
        }
    }
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexColumn {
    /// Position in `TableSchema::columns`.
    pub column: usize,
    /// Characters (bytes for binary strings) of a prefix key part; 0 = the whole column.
    pub prefix_length: u32,
    /// DESC: greater values come first.
    pub descending: bool,
}

impl TableSchema {
    /// The first index; every table has one.
    pub fn primary_key(&self) -> &Index {
        &self.indexes[0]
    }

    /// Position of a column by its name, without regard to case.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.hidden && column.name.eq_ignore_ascii_case(name))
    }

    /// An index by its name, without regard to case.
    pub fn index_by_name(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| !index.building && index.name.eq_ignore_ascii_case(name))
    }

    /// The indexes that users know.
    pub fn declared_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().skip(usize::from(self.has_hidden_key())).filter(|index| !index.building)
    }

    /// Where a column of this definition was in rows of a definition with fewer past versions; `None`: it was not there.
    pub fn column_before(&self, older: &TableSchema, column: usize) -> Option<usize> {
        match self.past_rows.get(older.past_rows.len()) {
            None => Some(column),
            Some(rows) => match rows.columns.get(column) {
                Some(PastColumn::At(position)) => Some(*position),
                _ => None,
            },
        }
    }

    /// An index of this definition has the same parts as one of an older definition had, wherever their columns are.
    pub fn keeps_parts(&self, older: &TableSchema, before: &Index, index: &Index) -> bool {
        let same = |(before, part): (&IndexColumn, &IndexColumn)| {
            self.column_before(older, part.column) == Some(before.column)
                && (part.prefix_length, part.descending) == (before.prefix_length, before.descending)
        };
        before.columns.len() == index.columns.len() && before.columns.iter().zip(&index.columns).all(same)
    }

    /// The table was declared without a primary key.
    pub fn has_hidden_key(&self) -> bool {
        self.columns.last().is_some_and(|column| column.hidden && !column.is_functional())
    }

    /// Some key part is multi-valued: the index has an entry for each element of an array.
    pub fn is_multi_valued(&self, index: &Index) -> bool {
        index.columns.iter().any(|part| self.columns[part.column].array_of.is_some())
    }

    /// The index that a functional key part's column belongs to.
    pub fn index_of_functional(&self, column: usize) -> Option<&Index> {
        self.indexes.iter().find(|index| index.columns.iter().any(|part| part.column == column))
    }

    /// Position of the AUTO_INCREMENT column in `columns`.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }

    /// Columns that `SELECT *` shows.
    pub fn visible_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().enumerate().filter(|(_, column)| !column.hidden && !column.invisible).map(|(i, _)| i)
    }
}
