//! SET, transactions, XA, locks, prepared statements.

use super::{Expr, Ident, ObjectName, SystemVariable};

/// One element of a SET statement's list.
#[derive(Debug, Clone, PartialEq)]
pub enum SetAssignment {
    UserVariable {
        name: String,
        value: Expr,
    },
    /// `name = value` without `@@` may also be a local variable of a stored program.
    Variable {
        variable: SystemVariable,
        value: SetValue,
    },
    /// `SET NEW.column = value` in triggers.
    NewColumn {
        column: Ident,
        value: Expr,
    },
    /// SET NAMES; None: DEFAULT.
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// SET CHARACTER SET; None: DEFAULT.
    CharacterSet(Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetValue {
    Default,
    /// ON, OFF, ALL, BINARY, ROW, SYSTEM and bare words come as a `Column` (or a string for the reserved ones).
    Expr(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTransaction {
    /// None: the next transaction only.
    pub scope: Option<super::VariableScope>,
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY: Some(true); READ WRITE: Some(false).
    pub read_only: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// START TRANSACTION and BEGIN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartTransaction {
    pub consistent_snapshot: bool,
    /// READ ONLY: Some(true); READ WRITE: Some(false).
    pub read_only: Option<bool>,
}

/// What follows COMMIT or ROLLBACK. None: the session's `completion_type` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaId {
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
    pub format: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xa {
    Start { id: XaId, join: bool, resume: bool },
    End { id: XaId, suspend: bool, for_migrate: bool },
    Prepare(XaId),
    Commit { id: XaId, one_phase: bool },
    Rollback(XaId),
    Recover { convert_id: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLock {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub kind: TableLockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
    LowPriorityWrite,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    pub name: Ident,
    pub source: PrepareSource,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    Text(Vec<u8>),
    UserVariable(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    pub name: Ident,
    /// User variable names after USING.
    pub using: Vec<String>,
}
