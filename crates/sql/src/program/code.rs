//! A compiled program: steps, and what they refer to.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::Program;
use shoal_parser::ast;
use shoal_types::SqlType;

use super::computed::{Computed, Planned};
use super::condition::HandlerFor;
use super::place::Target;
use crate::resolve::Locals;
use crate::resolve::locals::LocalRow;
use crate::variables::sql_mode::SqlModes;

/// A program that is ready to run.
pub struct Compiled {
    pub source: Arc<Program>,
    pub modes: SqlModes,
    pub parameters: Vec<Parameter>,
    /// The slot that a function's result is converted in.
    pub result: Option<usize>,
    /// Types of all slots. Those of CASE operands are known when they are computed.
    pub types: RefCell<Rc<[SqlType]>>,
    /// Names of all slots, for messages.
    pub names: Vec<Rc<str>>,
    /// NEW and OLD.
    pub rows: Rc<[LocalRow]>,
    pub steps: Vec<Step>,
    /// For each step, where a CONTINUE handler goes on that was called for it.
    pub resume: Vec<usize>,
    pub blocks: Vec<BlockCode>,
    pub cursors: Vec<CursorCode>,
}

#[derive(Clone)]
pub struct Parameter {
    pub name: Rc<str>,
    pub direction: ast::ParameterDirection,
    pub slot: usize,
}

/// BEGIN ... END.
#[derive(Default)]
pub struct BlockCode {
    pub handlers: Vec<HandlerCode>,
    /// Its cursors, which are closed at its end.
    pub cursors: std::ops::Range<usize>,
    /// The step behind it.
    pub end: usize,
}

pub struct HandlerCode {
    pub conditions: Vec<HandlerFor>,
    /// EXIT, not CONTINUE.
    pub exits: bool,
    /// The first step of its body, which ends with `EndHandler`.
    pub start: usize,
}

pub struct CursorCode {
    pub query: Planned,
}

/// The variables in sight at some place.
pub type Scope = Rc<[(Rc<str>, usize)]>;

pub enum Step {
    /// SET of a variable.
    Assign {
        target: Target,
        value: Computed,
    },
    /// DO.
    Compute(Computed),
    /// Keeps the operand of a CASE.
    Keep {
        slot: usize,
        value: Computed,
    },
    JumpUnless {
        condition: Computed,
        to: usize,
    },
    Jump(usize),
    /// SELECT ... INTO variables.
    Select {
        query: Planned,
        into: Vec<Target>,
    },
    /// A statement that reads or changes rows. What it reads goes to the client.
    Run(Planned),
    Call {
        procedure: ast::ObjectName,
        arguments: Vec<Argument>,
    },
    /// What else there is: definitions, transactions, SHOW ...
    Other {
        statement: ast::Statement,
        scope: Scope,
    },
    Open(usize),
    Fetch {
        cursor: usize,
        into: Vec<Target>,
    },
    Close(usize),
    Enter(usize),
    /// Out of so many blocks.
    Leave(usize),
    Return(Computed),
    Signal(Box<SignalCode>),
    Diagnostics(Box<DiagnosticsCode>),
    CaseNotFound,
    EndHandler,
    /// The end of a function, which has to return before.
    NoReturn,
}

pub struct SignalCode {
    pub resignal: bool,
    pub state: Option<[u8; 5]>,
    pub items: Vec<(String, Computed)>,
}

pub struct DiagnosticsCode {
    pub stacked: bool,
    /// CONDITION n.
    pub number: Option<Computed>,
    pub items: Vec<(Target, String)>,
}

/// An argument of CALL.
pub struct Argument {
    pub value: Computed,
    /// What an OUT parameter's value goes to, if it can.
    pub target: Option<Target>,
}

impl Compiled {
    /// A program that does nothing.
    pub fn empty(source: Arc<Program>, types: Vec<SqlType>) -> Compiled {
        Compiled {
            source,
            modes: SqlModes::default(),
            parameters: Vec::new(),
            result: None,
            names: types.iter().map(|_| Rc::from("?")).collect(),
            types: RefCell::new(types.into()),
            rows: Rc::from([]),
            steps: Vec::new(),
            resume: Vec::new(),
            blocks: Vec::new(),
            cursors: Vec::new(),
        }
    }

    pub fn types(&self) -> Rc<[SqlType]> {
        Rc::clone(&self.types.borrow())
    }

    /// It was compiled for a table with these columns.
    pub fn has_row(&self, row: &[(String, SqlType)]) -> bool {
        let Some(known) = self.rows.first() else { return true };
        let types = self.types.borrow();
        let mut pairs = known.columns.iter().zip(&types[known.first..]).zip(row);
        known.columns.len() == row.len()
            && pairs.all(|((name, known), (other, sql_type))| name == other && known == sql_type)
    }

    /// Looks at what is in sight in a scope.
    pub fn with_locals<T>(&self, scope: &Scope, look: impl FnOnce(&Locals<'_>) -> T) -> T {
        look(&Locals { variables: scope, rows: &self.rows, types: &self.types() })
    }
}
