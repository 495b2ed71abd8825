//! Statements that change or move rows.

use super::{
    ColumnName, Expr, FieldFormat, Ident, Limit, LineFormat, ObjectName, OrderItem, Query, TableReference, With,
};

/// Words behind INSERT, REPLACE and LOAD DATA that MySQL heeds for MyISAM tables alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePriority {
    /// LOW_PRIORITY.
    Low,
    /// HIGH_PRIORITY.
    High,
    /// DELAYED.
    Delayed,
    /// LOAD DATA CONCURRENT.
    Concurrent,
}

/// `INSERT [INTO] table (columns) VALUES ..` and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The text of `/*+ .. */` hints, without the comment marks.
    pub hints: Option<Vec<u8>>,
    /// REPLACE.
    pub replace: bool,
    /// LOW_PRIORITY and its kin.
    pub priority: Option<WritePriority>,
    /// IGNORE: errors of single rows are warnings.
    pub ignore: bool,
    /// The table.
    pub table: ObjectName,
    /// `PARTITION (p0, ..)`: a row of any other is an error; empty: all.
    pub partitions: Vec<Ident>,
    /// The column list; None when there was none, which means all columns. `SET a = 1` fills it too.
    pub columns: Option<Vec<ColumnName>>,
    /// The rows.
    pub source: InsertSource,
    /// `AS new [(columns)]`: the name of the row that was to be inserted.
    pub row_alias: Option<Ident>,
    /// Names for its columns; empty: their own.
    pub row_alias_columns: Vec<Ident>,
    /// ON DUPLICATE KEY UPDATE; empty: a duplicate is an error.
    pub on_duplicate: Vec<Assignment>,
}

/// Where the rows of INSERT come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), ..` and `SET ..`. An empty row takes every default.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`, `TABLE ..`, `VALUES ROW(..)`.
    Query(Box<Query>),
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// What is set.
    pub column: ColumnName,
    /// To what; `DEFAULT` is an expression here.
    pub value: Expr,
}

/// `UPDATE tables SET .. WHERE ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The text of `/*+ .. */` hints, without the comment marks.
    pub hints: Option<Vec<u8>>,
    /// WITH before the statement.
    pub with: Option<With>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// IGNORE: errors of single rows are warnings.
    pub ignore: bool,
    /// One plain table, or several and joins (multi-table form, without ORDER BY and LIMIT).
    pub tables: Vec<TableReference>,
    /// SET, at least one; from left to right.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub selection: Option<Expr>,
    /// The order in which rows are changed.
    pub order_by: Vec<OrderItem>,
    /// How many rows at most; without an offset.
    pub limit: Option<Limit>,
}

/// `DELETE FROM .. WHERE ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The text of `/*+ .. */` hints, without the comment marks.
    pub hints: Option<Vec<u8>>,
    /// WITH before the statement.
    pub with: Option<With>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// QUICK.
    pub quick: bool,
    /// IGNORE: errors of single rows are warnings.
    pub ignore: bool,
    /// Whose rows.
    pub target: DeleteTarget,
    /// WHERE.
    pub selection: Option<Expr>,
    /// The order in which rows are deleted; with one table alone.
    pub order_by: Vec<OrderItem>,
    /// How many rows at most; with one table alone, without an offset.
    pub limit: Option<Limit>,
}

/// The tables of a DELETE.
#[derive(Debug, Clone, PartialEq)]
pub enum DeleteTarget {
    /// `DELETE FROM table [[AS] alias] [PARTITION (..)]`.
    Single {
        /// The table.
        table: ObjectName,
        /// Its name in the statement; `None`: its own.
        alias: Option<Ident>,
        /// Empty: all.
        partitions: Vec<Ident>,
    },
    /// `DELETE t1, t2 FROM ..` and `DELETE FROM t1, t2 USING ..`.
    Multiple {
        /// The tables, or their aliases, whose rows are deleted.
        tables: Vec<ObjectName>,
        /// The tables that are read.
        from: Vec<TableReference>,
    },
}

/// `LOAD DATA | XML INFILE 'path' INTO TABLE table ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    /// LOAD XML.
    pub xml: bool,
    /// LOW_PRIORITY or CONCURRENT.
    pub priority: Option<WritePriority>,
    /// LOCAL: the file is the client's.
    pub local: bool,
    /// The file.
    pub path: Vec<u8>,
    /// IGNORE or REPLACE before INTO TABLE.
    pub duplicates: DuplicateHandling,
    /// The table.
    pub table: ObjectName,
    /// `PARTITION (p0, ..)`: a row of any other is an error; empty: all.
    pub partitions: Vec<Ident>,
    /// CHARACTER SET of the file, in lower case; `None`: `character_set_database`.
    pub charset: Option<String>,
    /// LOAD XML's ROWS IDENTIFIED BY.
    pub row_tag: Option<Vec<u8>>,
    /// FIELDS.
    pub fields: FieldFormat,
    /// LINES.
    pub lines: LineFormat,
    /// `IGNORE n LINES`: how many at the start of the file are left out.
    pub ignore_lines: u64,
    /// Columns and variables that take the file's fields; empty: all columns.
    pub targets: Vec<LoadTarget>,
    /// SET.
    pub assignments: Vec<Assignment>,
}

/// What takes a field of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadTarget {
    /// A column.
    Column(ColumnName),
    /// `@name`, without the `@`.
    UserVariable(String),
}

/// What becomes of a row whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateHandling {
    /// The statement fails.
    Error,
    /// IGNORE: the new row is left out.
    Ignore,
    /// REPLACE: the old row is deleted.
    Replace,
}

/// `CALL procedure(arguments)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The procedure.
    pub procedure: ObjectName,
    /// In order; empty without parentheses too.
    pub arguments: Vec<Expr>,
}

/// HANDLER: rows of a table one by one.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a statement holds one, in a box")]
pub enum Handler {
    /// `HANDLER table OPEN [[AS] alias]`.
    Open {
        /// The table.
        table: ObjectName,
        /// The handler's name; `None`: the table's.
        alias: Option<Ident>,
    },
    /// `HANDLER table READ .. [WHERE ..] [LIMIT ..]`.
    Read {
        /// The handler's name.
        table: ObjectName,
        /// Which rows.
        read: HandlerRead,
        /// WHERE.
        selection: Option<Expr>,
        /// `None`: one row.
        limit: Option<Limit>,
    },
    /// `HANDLER table CLOSE`.
    Close {
        /// The handler's name.
        table: ObjectName,
    },
}

/// What HANDLER .. READ reads.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerRead {
    /// Without an index: FIRST or NEXT of the table's own order.
    Scan(HandlerMove),
    /// `index FIRST | NEXT | PREV | LAST`.
    Index {
        /// The index.
        index: Ident,
        /// Where in it.
        to: HandlerMove,
    },
    /// `index operator (values)`.
    Key {
        /// The index.
        index: Ident,
        /// Where to begin.
        operator: HandlerOperator,
        /// Of the index's first columns.
        values: Vec<Expr>,
    },
}

/// Where HANDLER .. READ goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerMove {
    /// FIRST.
    First,
    /// NEXT.
    Next,
    /// PREV.
    Previous,
    /// LAST.
    Last,
}

/// Where HANDLER .. READ begins within an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerOperator {
    /// `=`.
    Equal,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}
