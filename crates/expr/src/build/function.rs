//! Calls of functions by name.

use shoal_types::{Error, ErrorCode, Result};

use super::arithmetic::arithmetic;
use super::{BuildContext, control, is_null, make_call};
use crate::expr::{Expr, Operation};
use crate::functions::{self, Derivation, Function};
use crate::operator::ArithmeticOperator;

/// Functions that are operators in disguise: name, least and greatest number of arguments.
const AS_OPERATORS: &[(&str, usize, usize)] = &[
    ("IF", 3, 3),
    ("IFNULL", 2, 2),
    ("NULLIF", 2, 2),
    ("COALESCE", 1, usize::MAX),
    ("ISNULL", 1, 1),
    ("MOD", 2, 2),
];

/// A function of the registry that only a special syntax may call.
const UNNAMEABLE: &[&str] = &["MEMBER OF", "GET_FORMAT", "CHAR USING UTF16"];

/// There is a built-in function of this name (any case) that [`function`] builds. Aggregates are not among them.
pub fn is_function(name: &str) -> bool {
    functions::find(name).is_some() || AS_OPERATORS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// `name(arguments)`. Errors: no such function (1305), wrong number of arguments (1582), and whatever the function
/// finds wrong with its arguments.
pub fn function(name: &str, arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let operator = AS_OPERATORS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    if let Some((known, least, most)) = operator {
        check_count(name, arguments.len(), *least, *most)?;
        return as_operator(known, arguments, ctx);
    }
    if UNNAMEABLE.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Err(unknown_function(name, ctx));
    }
    special(name, arguments, ctx)
}

/// Like [`function`], with the names that have a syntax of their own.
pub(crate) fn special(name: &str, arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let function = functions::find(name).ok_or_else(|| unknown_function(name, ctx))?;
    check_count(name, arguments.len(), function.arguments_min, function.arguments_max)?;
    call(function, arguments, ctx)
}

pub(crate) fn call(function: &'static Function, mut arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut derivation = Derivation { name: function.name, arguments: &mut arguments, ctx };
    let result = function.derive(&mut derivation)?;
    make_call(Operation::Function(function), arguments, result, ctx)
}

fn check_count(name: &str, count: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::WrongParamcountToNativeFct,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    ))
}

/// Error 1305, or 1046 when there is no database to look in.
fn unknown_function(name: &str, ctx: &BuildContext<'_>) -> Error {
    let shown = match ctx.database {
        Some(database) => format!("{database}.{name}"),
        None => name.to_owned(),
    };
    Error::new(ErrorCode::SpDoesNotExist, format!("FUNCTION {shown} does not exist"))
}

fn as_operator(name: &str, arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().unwrap_or_else(Expr::null);
    match name {
        "IF" => control::if_else(next(), next(), next(), ctx),
        "IFNULL" => control::if_null(next(), next(), ctx),
        "NULLIF" => control::null_if(next(), next(), ctx),
        "ISNULL" => is_null(next(), false, ctx),
        "MOD" => arithmetic(ArithmeticOperator::Modulo, next(), next(), ctx),
        _ => control::coalesce(arguments.collect(), ctx),
    }
}
