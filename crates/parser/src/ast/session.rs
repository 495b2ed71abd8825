//! SET, transactions, XA, locks, prepared statements.

use super::{Expr, Ident, ObjectName, SystemVariable};

/// One element of a SET statement's list.
#[derive(Debug, Clone, PartialEq)]
pub enum SetAssignment {
    /// `@name = value`.
    UserVariable {
        /// Without the `@`.
        name: String,
        /// What it becomes.
        value: Expr,
    },
    /// `[scope] name = value`. A name without `@@` may also be a local variable of a stored program.
    Variable {
        /// The variable.
        variable: SystemVariable,
        /// What it becomes.
        value: SetValue,
    },
    /// `SET NEW.column = value` in triggers.
    NewColumn {
        /// A column of the row that is written.
        column: Ident,
        /// What it becomes.
        value: Expr,
    },
    /// `NAMES charset [COLLATE collation]`.
    Names {
        /// In lower case; `None`: DEFAULT.
        charset: Option<String>,
        /// In lower case; `None`: the default one of the character set.
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`, in lower case; `None`: DEFAULT.
    CharacterSet(Option<String>),
}

/// The right side of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetValue {
    /// DEFAULT: the global value for a session's variable, the built-in one for a global one.
    Default,
    /// An expression. ON, OFF, ALL, BINARY, ROW, SYSTEM and bare words come as a `Column` (or a string for the reserved
    /// ones).
    Expr(Expr),
}

/// `SET [GLOBAL | SESSION] TRANSACTION characteristics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTransaction {
    /// None: the next transaction only.
    pub scope: Option<super::VariableScope>,
    /// ISOLATION LEVEL; `None`: as it is.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY: Some(true); READ WRITE: Some(false).
    pub read_only: Option<bool>,
}

/// ISOLATION LEVEL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// START TRANSACTION and BEGIN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartTransaction {
    /// WITH CONSISTENT SNAPSHOT: the snapshot is taken now, not at the first read.
    pub consistent_snapshot: bool,
    /// READ ONLY: Some(true); READ WRITE: Some(false).
    pub read_only: Option<bool>,
}

/// What follows COMMIT or ROLLBACK. `None`: the session's `completion_type` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// AND CHAIN: `Some(true)`; AND NO CHAIN: `Some(false)`. Whether another transaction begins.
    pub chain: Option<bool>,
    /// RELEASE: `Some(true)`; NO RELEASE: `Some(false)`. Whether the session ends.
    pub release: Option<bool>,
}

/// `'global' [, 'branch' [, format]]`: the id of a branch of a global transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaId {
    /// The part that all branches of a global transaction share.
    pub global: Vec<u8>,
    /// Empty when not written.
    pub branch: Vec<u8>,
    /// 1 when not written.
    pub format: u64,
}

/// XA statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xa {
    /// `XA START | BEGIN id [JOIN | RESUME]`.
    Start {
        /// The branch.
        id: XaId,
        /// JOIN.
        join: bool,
        /// RESUME.
        resume: bool,
    },
    /// `XA END id [SUSPEND [FOR MIGRATE]]`.
    End {
        /// The branch.
        id: XaId,
        /// SUSPEND.
        suspend: bool,
        /// FOR MIGRATE.
        for_migrate: bool,
    },
    /// `XA PREPARE id`.
    Prepare(XaId),
    /// `XA COMMIT id [ONE PHASE]`.
    Commit {
        /// The branch.
        id: XaId,
        /// ONE PHASE: without an XA PREPARE before.
        one_phase: bool,
    },
    /// `XA ROLLBACK id`.
    Rollback(XaId),
    /// `XA RECOVER [CONVERT XID]`.
    Recover {
        /// CONVERT XID: ids are shown in hexadecimal.
        convert_id: bool,
    },
}

/// `table [[AS] alias] kind` of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLock {
    /// The table.
    pub table: ObjectName,
    /// The only name by which the session may use it then; `None`: its own.
    pub alias: Option<Ident>,
    /// Which lock.
    pub kind: TableLockKind,
}

/// The locks of LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLockKind {
    /// READ.
    Read,
    /// READ LOCAL.
    ReadLocal,
    /// WRITE.
    Write,
    /// LOW_PRIORITY WRITE.
    LowPriorityWrite,
}

/// `PREPARE name FROM source`.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// The prepared statement.
    pub name: Ident,
    /// Its text.
    pub source: PrepareSource,
}

/// Where the text of a prepared statement comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    /// A string literal.
    Text(Vec<u8>),
    /// `@name`, without the `@`.
    UserVariable(String),
}

/// `EXECUTE name [USING @a, ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The prepared statement.
    pub name: Ident,
    /// A user variable for each parameter, without the `@`.
    pub using: Vec<String>,
}
