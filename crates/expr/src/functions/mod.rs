//! The functions that are called by name and get all their arguments evaluated.
//!
//! Each file holds one group as a table of [`Function`]s: name, number of arguments, how the result type follows from
//! the arguments, and the code. The registry is the concatenation of the tables.

use std::collections::HashMap;
use std::sync::OnceLock;

use shoal_types::{Result, Value};

use crate::context::EvalContext;
use crate::expr::Call;
use crate::operation::Dependence;

mod argument;
mod choice;
mod date;
mod date_format;
mod date_parse;
pub(crate) mod derive;
mod hash;
mod information;
mod json;
mod json_change;
mod json_search;
mod network;
mod numeric;
mod regular;
mod text;
mod text_format;
mod text_search;
mod time;

pub(crate) use derive::{Derivation, ResultType};

pub(crate) type DeriveFunction = fn(&mut Derivation<'_>) -> Result<ResultType>;
pub(crate) type EvaluateFunction = fn(&Call, &mut [Value], &mut EvalContext<'_>) -> Result<Value>;

/// Any number of arguments from the least on.
pub(crate) const MANY: usize = usize::MAX;

/// A function of the registry.
pub struct Function {
    /// In upper case.
    pub name: &'static str,
    pub arguments_min: usize,
    pub arguments_max: usize,
    pub dependence: Dependence,
    /// Needs a session.
    pub session: bool,
    /// NULL for any NULL argument, without running the code.
    nulls_propagate: bool,
    derive: DeriveFunction,
    evaluate: EvaluateFunction,
}

impl Function {
    pub(crate) const fn new(
        name: &'static str,
        arguments_min: usize,
        arguments_max: usize,
        derive: DeriveFunction,
        evaluate: EvaluateFunction,
    ) -> Function {
        Function {
            name,
            arguments_min,
            arguments_max,
            dependence: Dependence::Nothing,
            session: false,
            nulls_propagate: true,
            derive,
            evaluate,
        }
    }

    /// The code sees NULL arguments.
    pub(crate) const fn takes_nulls(mut self) -> Function {
        self.nulls_propagate = false;
        self
    }

    /// Depends on the statement's clock, time zone or settings.
    pub(crate) const fn of_statement(mut self) -> Function {
        self.dependence = Dependence::Statement;
        self
    }

    pub(crate) const fn volatile(mut self) -> Function {
        self.dependence = Dependence::Volatile;
        self
    }

    pub(crate) const fn of_session(mut self) -> Function {
        self.session = true;
        self
    }

    pub(crate) fn derive(&self, derivation: &mut Derivation<'_>) -> Result<ResultType> {
        (self.derive)(derivation)
    }

    pub(crate) fn call(&self, call: &Call, arguments: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
        if self.nulls_propagate && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.evaluate)(call, arguments, ctx)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const TABLES: &[&[Function]] = &[
    numeric::TABLE,
    text::TABLE,
    text_format::TABLE,
    text_search::TABLE,
    regular::TABLE,
    choice::TABLE,
    hash::TABLE,
    network::TABLE,
    information::TABLE,
    date::TABLE,
    date_format::TABLE,
    date_parse::TABLE,
    time::TABLE,
    json::TABLE,
    json_change::TABLE,
    json_search::TABLE,
];

/// Every function of the registry.
pub fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The function of this name (any case), if there is one.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| all().map(|function| (function.name, function)).collect());
    by_name.get(name.to_ascii_uppercase().as_str()).copied()
}
