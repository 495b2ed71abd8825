//! Stored programs: procedures, functions, triggers, events and the statements inside them.

use super::Statement;
use crate::ast::{AccountName, DataType, Expr, Ident, IntervalUnit, IntoTarget, ObjectName, Query, SqlSecurity};

/// CREATE PROCEDURE and CREATE FUNCTION.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    pub definer: Option<AccountName>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub parameters: Vec<RoutineParameter>,
    /// None for a procedure.
    pub returns: Option<DataType>,
    pub characteristics: RoutineCharacteristics,
    pub body: RoutineStatement,
    /// The source of the body.
    pub body_text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParameter {
    pub direction: ParameterDirection,
    pub name: Ident,
    pub data_type: DataType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterDirection {
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RoutineCharacteristics {
    pub comment: Option<Vec<u8>>,
    pub language: Option<String>,
    pub deterministic: Option<bool>,
    pub data_access: Option<DataAccess>,
    pub security: Option<SqlSecurity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    pub function: bool,
    pub name: ObjectName,
    pub characteristics: RoutineCharacteristics,
}

/// CREATE [AGGREGATE] FUNCTION name RETURNS .. SONAME ..
#[derive(Debug, Clone, PartialEq)]
pub struct CreateLoadableFunction {
    pub aggregate: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    /// STRING, INTEGER, REAL or DECIMAL.
    pub returns: String,
    pub library: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    pub definer: Option<AccountName>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub time: TriggerTime,
    pub event: TriggerEvent,
    pub table: ObjectName,
    pub order: Option<TriggerOrder>,
    pub body: RoutineStatement,
    pub body_text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerTime {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerOrder {
    Follows(Ident),
    Precedes(Ident),
}

/// CREATE EVENT and ALTER EVENT; what ALTER leaves out is None.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDefinition {
    pub definer: Option<AccountName>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub schedule: Option<EventSchedule>,
    /// ON COMPLETION PRESERVE: Some(true); NOT PRESERVE: Some(false).
    pub preserve: Option<bool>,
    pub rename_to: Option<ObjectName>,
    pub status: Option<EventStatus>,
    pub comment: Option<Vec<u8>>,
    pub body: Option<RoutineStatement>,
    pub body_text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventSchedule {
    At(Expr),
    Every { amount: Expr, unit: IntervalUnit, starts: Option<Expr>, ends: Option<Expr> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    Enable,
    Disable,
    DisableOnReplica,
}

/// A statement inside a stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineStatement {
    /// An ordinary SQL statement.
    Sql(Box<Statement>),
    Block(Box<Block>),
    If {
        /// (condition, statements) of IF and each ELSEIF.
        branches: Vec<(Expr, Vec<RoutineStatement>)>,
        otherwise: Option<Vec<RoutineStatement>>,
    },
    Case {
        operand: Option<Expr>,
        branches: Vec<(Expr, Vec<RoutineStatement>)>,
        otherwise: Option<Vec<RoutineStatement>>,
    },
    Loop {
        label: Option<Ident>,
        body: Vec<RoutineStatement>,
    },
    While {
        label: Option<Ident>,
        condition: Expr,
        body: Vec<RoutineStatement>,
    },
    Repeat {
        label: Option<Ident>,
        body: Vec<RoutineStatement>,
        until: Expr,
    },
    Leave(Ident),
    Iterate(Ident),
    Return(Expr),
    OpenCursor(Ident),
    FetchCursor {
        cursor: Ident,
        into: Vec<Ident>,
    },
    CloseCursor(Ident),
}

/// `[label:] BEGIN declarations statements END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub label: Option<Ident>,
    pub declarations: Vec<Declaration>,
    pub statements: Vec<RoutineStatement>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    Variables { names: Vec<Ident>, data_type: DataType, default: Option<Expr> },
    Condition { name: Ident, value: ConditionValue },
    Cursor { name: Ident, query: Box<Query> },
    Handler { action: HandlerAction, conditions: Vec<ConditionValue>, body: Box<RoutineStatement> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerAction {
    Continue,
    Exit,
    Undo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    ErrorCode(u64),
    SqlState(Vec<u8>),
    Named(Ident),
    SqlWarning,
    NotFound,
    SqlException,
}

/// SIGNAL and RESIGNAL.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub resignal: bool,
    /// `SqlState` or `Named`; may be absent in RESIGNAL.
    pub condition: Option<ConditionValue>,
    /// (item name in upper case, value).
    pub items: Vec<(String, Expr)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    /// The condition number for `CONDITION n`; None for statement information.
    pub condition: Option<Expr>,
    /// (target, item name in upper case).
    pub items: Vec<(IntoTarget, String)>,
}
