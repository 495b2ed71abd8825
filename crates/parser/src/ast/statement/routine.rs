//! Stored programs: procedures, functions, triggers, events and the statements inside them.

use super::Statement;
use crate::ast::{AccountName, DataType, Expr, Ident, IntervalUnit, IntoTarget, ObjectName, Query, SqlSecurity};

/// CREATE PROCEDURE and CREATE FUNCTION.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    /// DEFINER; `None`: the current user.
    pub definer: Option<AccountName>,
    /// IF NOT EXISTS: a routine that is there already gives a warning, not an error.
    pub if_not_exists: bool,
    /// The routine.
    pub name: ObjectName,
    /// In order.
    pub parameters: Vec<RoutineParameter>,
    /// Their source.
    pub parameters_text: Vec<u8>,
    /// RETURNS of a function; `None` for a procedure.
    pub returns: Option<DataType>,
    /// Its source; empty for a procedure.
    pub returns_text: Vec<u8>,
    /// COMMENT, DETERMINISTIC and so on.
    pub characteristics: RoutineCharacteristics,
    /// What it does.
    pub body: RoutineStatement,
    /// The source of the body.
    pub body_text: Vec<u8>,
}

/// `[IN | OUT | INOUT] name type`.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParameter {
    /// Which way the value goes; those of functions are `In`.
    pub direction: ParameterDirection,
    /// The parameter.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
}

/// Which way a parameter's value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterDirection {
    /// IN, the default: to the procedure.
    In,
    /// OUT: from it.
    Out,
    /// INOUT: both.
    InOut,
}

/// What stands before the body; `None`: not written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RoutineCharacteristics {
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// LANGUAGE, in upper case; SQL is the only one MySQL has built in.
    pub language: Option<String>,
    /// DETERMINISTIC: `Some(true)`; NOT DETERMINISTIC: `Some(false)`.
    pub deterministic: Option<bool>,
    /// What it does with data, by its own word.
    pub data_access: Option<DataAccess>,
    /// SQL SECURITY.
    pub security: Option<SqlSecurity>,
}

/// What a routine says it does with data. MySQL does not check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataAccess {
    /// CONTAINS SQL.
    ContainsSql,
    /// NO SQL.
    NoSql,
    /// READS SQL DATA.
    ReadsSqlData,
    /// MODIFIES SQL DATA.
    ModifiesSqlData,
}

/// `ALTER PROCEDURE | FUNCTION name characteristics`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    /// ALTER FUNCTION.
    pub function: bool,
    /// The routine.
    pub name: ObjectName,
    /// What changes.
    pub characteristics: RoutineCharacteristics,
}

/// `CREATE [AGGREGATE] FUNCTION [IF NOT EXISTS] name RETURNS .. SONAME 'library'`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateLoadableFunction {
    /// AGGREGATE.
    pub aggregate: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The function.
    pub name: Ident,
    /// STRING, INTEGER, REAL or DECIMAL.
    pub returns: String,
    /// The file with it.
    pub library: Vec<u8>,
}

/// `CREATE TRIGGER [IF NOT EXISTS] name time event ON table FOR EACH ROW [order] body`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    /// DEFINER; `None`: the current user.
    pub definer: Option<AccountName>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The trigger.
    pub name: ObjectName,
    /// Before or after the row is changed.
    pub time: TriggerTime,
    /// By which change.
    pub event: TriggerEvent,
    /// The table.
    pub table: ObjectName,
    /// Its place among the triggers of the same time and event; `None`: the last.
    pub order: Option<TriggerOrder>,
    /// What it does.
    pub body: RoutineStatement,
    /// The source of the body.
    pub body_text: Vec<u8>,
}

/// When a trigger runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerTime {
    /// BEFORE.
    Before,
    /// AFTER.
    After,
}

/// The change that a trigger runs for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT, and the new rows of REPLACE and LOAD DATA.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE, and the old rows of REPLACE.
    Delete,
}

/// A trigger's place among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerOrder {
    /// `FOLLOWS name`.
    Follows(Ident),
    /// `PRECEDES name`.
    Precedes(Ident),
}

/// `CREATE | ALTER EVENT name ON SCHEDULE .. DO body`; what ALTER leaves out is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDefinition {
    /// DEFINER; `None`: the current user.
    pub definer: Option<AccountName>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The event.
    pub name: ObjectName,
    /// ON SCHEDULE.
    pub schedule: Option<EventSchedule>,
    /// ON COMPLETION PRESERVE: Some(true); NOT PRESERVE: Some(false).
    pub preserve: Option<bool>,
    /// RENAME TO.
    pub rename_to: Option<ObjectName>,
    /// ENABLE or DISABLE.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// DO.
    pub body: Option<RoutineStatement>,
    /// The source of the body; empty without one.
    pub body_text: Vec<u8>,
}

/// When an event runs.
#[derive(Debug, Clone, PartialEq)]
pub enum EventSchedule {
    /// `AT time`: once.
    At(Expr),
    /// `EVERY amount unit [STARTS ..] [ENDS ..]`.
    Every {
        /// How many units lie between two runs.
        amount: Expr,
        /// The unit of the amount.
        unit: IntervalUnit,
        /// `None`: now.
        starts: Option<Expr>,
        /// `None`: never.
        ends: Option<Expr>,
    },
}

/// Whether an event runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// ENABLE.
    Enable,
    /// DISABLE.
    Disable,
    /// DISABLE ON REPLICA, DISABLE ON SLAVE.
    DisableOnReplica,
}

/// A statement inside a stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineStatement {
    /// An ordinary SQL statement.
    Sql(Box<Statement>),
    /// `BEGIN .. END`.
    Block(Box<Block>),
    /// `IF .. THEN .. [ELSEIF ..] [ELSE ..] END IF`.
    If {
        /// (condition, statements) of IF and each ELSEIF.
        branches: Vec<(Expr, Vec<RoutineStatement>)>,
        /// ELSE.
        otherwise: Option<Vec<RoutineStatement>>,
    },
    /// `CASE [operand] WHEN .. THEN .. [ELSE ..] END CASE`.
    Case {
        /// `None`: the branches have conditions, not values to compare with.
        operand: Option<Expr>,
        /// (WHEN, THEN), at least one.
        branches: Vec<(Expr, Vec<RoutineStatement>)>,
        /// ELSE; `None`: no branch that fits is an error.
        otherwise: Option<Vec<RoutineStatement>>,
    },
    /// `[label:] LOOP .. END LOOP`.
    Loop {
        /// For LEAVE and ITERATE.
        label: Option<Ident>,
        /// The statements, until one leaves the loop.
        body: Vec<RoutineStatement>,
    },
    /// `[label:] WHILE condition DO .. END WHILE`.
    While {
        /// For LEAVE and ITERATE.
        label: Option<Ident>,
        /// Tested before each turn.
        condition: Expr,
        /// The statements of a turn.
        body: Vec<RoutineStatement>,
    },
    /// `[label:] REPEAT .. UNTIL until END REPEAT`.
    Repeat {
        /// For LEAVE and ITERATE.
        label: Option<Ident>,
        /// The statements of a turn.
        body: Vec<RoutineStatement>,
        /// Tested after each turn; true ends the loop.
        until: Expr,
    },
    /// `LEAVE label`: out of the block or loop.
    Leave(Ident),
    /// `ITERATE label`: the loop's next turn.
    Iterate(Ident),
    /// `RETURN expr`, in functions.
    Return(Expr),
    /// `OPEN cursor`.
    OpenCursor(Ident),
    /// `FETCH [[NEXT] FROM] cursor INTO names`.
    FetchCursor {
        /// The cursor.
        cursor: Ident,
        /// A local variable for each column.
        into: Vec<Ident>,
    },
    /// `CLOSE cursor`.
    CloseCursor(Ident),
}

/// `[label:] BEGIN declarations statements END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// For LEAVE.
    pub label: Option<Ident>,
    /// DECLARE, which come first.
    pub declarations: Vec<Declaration>,
    /// In order.
    pub statements: Vec<RoutineStatement>,
}

/// DECLARE.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// `DECLARE names type [DEFAULT default]`.
    Variables {
        /// At least one.
        names: Vec<Ident>,
        /// The type of all of them.
        data_type: DataType,
        /// `None`: NULL.
        default: Option<Expr>,
    },
    /// `DECLARE name CONDITION FOR value`.
    Condition {
        /// A name for the condition.
        name: Ident,
        /// An error's number or SQLSTATE.
        value: ConditionValue,
    },
    /// `DECLARE name CURSOR FOR query`.
    Cursor {
        /// The cursor.
        name: Ident,
        /// What it reads.
        query: Box<Query>,
    },
    /// `DECLARE action HANDLER FOR conditions body`.
    Handler {
        /// What follows the body.
        action: HandlerAction,
        /// What it handles; at least one.
        conditions: Vec<ConditionValue>,
        /// What it does.
        body: Box<RoutineStatement>,
    },
}

/// What follows when a handler has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerAction {
    /// CONTINUE: the statement after the one that failed.
    Continue,
    /// EXIT: the end of the block that declares the handler.
    Exit,
    /// UNDO, which MySQL reads and refuses.
    Undo,
}

/// A condition of DECLARE or SIGNAL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    /// MySQL's number of an error.
    ErrorCode(u64),
    /// `SQLSTATE [VALUE] 'xxxxx'`.
    SqlState(Vec<u8>),
    /// A condition that is declared.
    Named(Ident),
    /// SQLWARNING: SQLSTATEs that begin with 01.
    SqlWarning,
    /// NOT FOUND: SQLSTATEs that begin with 02.
    NotFound,
    /// SQLEXCEPTION: all other errors.
    SqlException,
}

/// `SIGNAL | RESIGNAL [condition] [SET item = value, ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// RESIGNAL: the error that is being handled.
    pub resignal: bool,
    /// `SqlState` or `Named`; may be absent in RESIGNAL.
    pub condition: Option<ConditionValue>,
    /// (item name in upper case, value).
    pub items: Vec<(String, Expr)>,
}

/// `GET [CURRENT | STACKED] DIAGNOSTICS [CONDITION n] target = item, ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    /// STACKED: of the error that is being handled.
    pub stacked: bool,
    /// The condition number for `CONDITION n`; None for statement information.
    pub condition: Option<Expr>,
    /// (target, item name in upper case).
    pub items: Vec<(IntoTarget, String)>,
}
