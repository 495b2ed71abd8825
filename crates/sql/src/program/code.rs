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
use super::scope::{Scope, Slots};
use super::settings::ProgramSettings;
use crate::variables::sql_mode::SqlModes;

/// A program that is ready to run.
pub struct Compiled {
    pub source: Arc<Program>,
    /// With their key.
    pub settings: (ProgramSettings, u64),
    pub parameters: Vec<Parameter>,
    /// The slot that a function's result is converted in.
    pub result: Option<usize>,
    pub slots: Rc<Slots>,
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
    Call(CallStep),
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

/// CALL.
pub struct CallStep {
    pub procedure: ast::ObjectName,
    pub arguments: Vec<Argument>,
    /// The procedure, and the version of the dictionary that it was found in.
    pub known: RefCell<Option<(u64, Arc<Program>)>>,
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
    /// A program that does nothing, with slots of these types.
    pub fn empty(source: Arc<Program>, types: Vec<SqlType>) -> Compiled {
        Compiled {
            settings: ProgramSettings::keyed(&source, SqlModes::default()),
            source,
            parameters: Vec::new(),
            result: None,
            slots: Rc::new(Slots::of(types)),
            steps: Vec::new(),
            resume: Vec::new(),
            blocks: Vec::new(),
            cursors: Vec::new(),
        }
    }
}
