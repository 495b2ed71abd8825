//! Evaluation of expressions over a row.
//!
//! `eval` yields a value of the expression's type (or NULL); `eval_bool` yields its truth without making a value, which
//! is what filters use. Comparisons of columns with constants read the row in place and allocate nothing.

use std::cmp::Ordering;

use shoal_types::{Result, Value, truth};

use crate::compare::FastInteger;
use crate::compare::{compare_operands, compare_values, compare_with_value, fast_integer, fast_text};
use crate::context::EvalContext;
use crate::convert::plain_integer;
use crate::expr::{Call, CallData, Expr, Function, Operation};
use crate::membership::Membership;
use crate::operator::{ArithmeticOperator, Comparator, CompareOperator};
use crate::row_source::RowSource;
use crate::{arithmetic, cast, convert, interval, like};

/// Functions with at most this many arguments get them on the stack.
const STACK_ARGUMENTS: usize = 4;

impl Expr {
    /// The value of the expression for a row.
    pub fn eval<R: RowSource + ?Sized>(&self, row: &R, ctx: &mut EvalContext<'_>) -> Result<Value> {
        match self {
            Expr::Literal(literal) => Ok(literal.value.clone()),
            Expr::Parameter(parameter) => Ok(ctx.parameters.get(parameter.index).cloned().unwrap_or_default()),
            Expr::Column(column) => Ok(row.value(column.position, ctx.zone)),
            Expr::Call(call) => eval_call(call, row, ctx),
        }
    }

    /// The truth of the expression for a row; `None` is NULL.
    pub fn eval_bool<R: RowSource + ?Sized>(&self, row: &R, ctx: &mut EvalContext<'_>) -> Result<Option<bool>> {
        match self {
            Expr::Call(call) => match truth_of_call(call, row, ctx)? {
                Some(truth) => Ok(truth.into()),
                None => convert::to_truth(&eval_call(call, row, ctx)?, ctx),
            },
            _ => match fast_integer(self, row, ctx.parameters) {
                Some(FastInteger::Null) => Ok(None),
                Some(FastInteger::Signed(number)) => Ok(Some(number != 0)),
                Some(FastInteger::Unsigned(number)) => Ok(Some(number != 0)),
                None => convert::to_truth(&self.eval(row, ctx)?, ctx),
            },
        }
    }

    /// Whether the expression is true for a row: NULL counts as false.
    pub fn accepts<R: RowSource + ?Sized>(&self, row: &R, ctx: &mut EvalContext<'_>) -> Result<bool> {
        Ok(self.eval_bool(row, ctx)? == Some(true))
    }

    /// The value of an expression without columns.
    pub fn eval_constant(&self, ctx: &mut EvalContext<'_>) -> Result<Value> {
        self.eval(&crate::row_source::NoRow, ctx)
    }
}

/// The truth of an operator that yields a truth value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Unknown,
}

impl From<Truth> for Option<bool> {
    fn from(truth: Truth) -> Option<bool> {
        match truth {
            Truth::True => Some(true),
            Truth::False => Some(false),
            Truth::Unknown => None,
        }
    }
}

impl From<Option<bool>> for Truth {
    fn from(truth: Option<bool>) -> Truth {
        match truth {
            Some(true) => Truth::True,
            Some(false) => Truth::False,
            None => Truth::Unknown,
        }
    }
}

impl Truth {
    fn negated_if(self, negated: bool) -> Truth {
        match (self, negated) {
            (Truth::True, true) => Truth::False,
            (Truth::False, true) => Truth::True,
            (truth, _) => truth,
        }
    }

    fn into_value(self) -> Value {
        match self {
            Truth::True => Value::Int(1),
            Truth::False => Value::Int(0),
            Truth::Unknown => Value::Null,
        }
    }
}

/// The truth of a call of a truth-valued operator; `None` for any other operator.
#[inline]
fn truth_of_call<R: RowSource + ?Sized>(call: &Call, row: &R, ctx: &mut EvalContext<'_>) -> Result<Option<Truth>> {
    let arguments = call.arguments.as_slice();
    let truth = match (&call.operation, arguments) {
        (Operation::Compare(operator, comparator), [left, right]) => {
            compare(*operator, *comparator, left, right, row, ctx)?
        }
        (Operation::Between { negated, low, high }, [value, least, most]) => {
            between(value, (*low, least), (*high, most), row, ctx)?.negated_if(*negated)
        }
        (Operation::And, _) => conjunction(arguments, true, row, ctx)?,
        (Operation::Or, _) => conjunction(arguments, false, row, ctx)?,
        (Operation::Not, [argument]) => Truth::from(argument.eval_bool(row, ctx)?).negated_if(true),
        (Operation::Xor, [left, right]) => match (left.eval_bool(row, ctx)?, right.eval_bool(row, ctx)?) {
            (Some(left), Some(right)) => Truth::from(Some(left != right)),
            _ => Truth::Unknown,
        },
        (Operation::In { negated, comparators }, [value, members @ ..]) => {
            member_of_list(call, value, members, comparators, row, ctx)?.negated_if(*negated)
        }
        (Operation::IsNull { negated }, [argument]) => {
            let is_null = match argument {
                Expr::Column(column) => row.is_null(column.position),
                other => other.eval(row, ctx)?.is_null(),
            };
            Truth::from(Some(is_null != *negated))
        }
        (Operation::IsTruth { truth, negated }, [argument]) => {
            let holds = argument.eval_bool(row, ctx)? == Some(*truth);
            Truth::from(Some(holds != *negated))
        }
        (Operation::Like { negated, collation }, [text, pattern, escape @ ..]) => {
            like(call, *collation, text, pattern, escape.first(), row, ctx)?.negated_if(*negated)
        }
        _ => return Ok(None),
    };
    Ok(Some(truth))
}

#[inline]
fn compare<R: RowSource + ?Sized>(
    operator: CompareOperator,
    comparator: Comparator,
    left: &Expr,
    right: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    if operator == CompareOperator::NullSafeEqual {
        return null_safe_equal(comparator, left, right, row, ctx);
    }
    if comparator == Comparator::Integer
        && let Some(left) = fast_integer(left, row, ctx.parameters)
        && let Some(right) = fast_integer(right, row, ctx.parameters)
    {
        return Ok(Truth::from(left.compare(right).map(|ordering| operator.holds(ordering))));
    }
    let ordering = compare_operands(comparator, left, right, row, ctx)?;
    Ok(Truth::from(ordering.map(|ordering| operator.holds(ordering))))
}

fn null_safe_equal<R: RowSource + ?Sized>(
    comparator: Comparator,
    left: &Expr,
    right: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    let first = left.eval(row, ctx)?;
    let second = right.eval(row, ctx)?;
    Ok(Truth::from(Some(if first.is_null() || second.is_null() {
        first.is_null() && second.is_null()
    } else {
        compare_values(comparator, &first, &second, ctx)? == Some(Ordering::Equal)
    })))
}

#[inline]
fn between<R: RowSource + ?Sized>(
    value: &Expr,
    low: (Comparator, &Expr),
    high: (Comparator, &Expr),
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    if let (Comparator::Integer, Comparator::Integer) = (low.0, high.0)
        && let Some(value) = fast_integer(value, row, ctx.parameters)
        && let Some(least) = fast_integer(low.1, row, ctx.parameters)
        && let Some(most) = fast_integer(high.1, row, ctx.parameters)
    {
        let at_least = value.compare(least).map(Ordering::is_ge);
        return Ok(both(at_least, value.compare(most).map(Ordering::is_le)));
    }
    let (at_least, at_most) = if let Expr::Call(_) = value {
        let value = value.eval(row, ctx)?;
        if value.is_null() {
            return Ok(Truth::Unknown);
        }
        let at_least = compare_with_value(low.0, &value, low.1, row, ctx)?.map(Ordering::is_ge);
        (at_least, compare_with_value(high.0, &value, high.1, row, ctx)?.map(Ordering::is_le))
    } else {
        let at_least = compare_operands(low.0, value, low.1, row, ctx)?.map(Ordering::is_ge);
        if at_least == Some(false) {
            return Ok(Truth::False);
        }
        (at_least, compare_operands(high.0, value, high.1, row, ctx)?.map(Ordering::is_le))
    };
    Ok(both(at_least, at_most))
}

fn both(first: Option<bool>, second: Option<bool>) -> Truth {
    match (first, second) {
        (Some(false), _) | (_, Some(false)) => Truth::False,
        (Some(true), Some(true)) => Truth::True,
        _ => Truth::Unknown,
    }
}

/// AND (`all`) or OR of any number of terms, left to right, ending as soon as the result is certain.
fn conjunction<R: RowSource + ?Sized>(
    terms: &[Expr],
    all: bool,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    truth::conjunction(all, terms.iter().map(|term| term.eval_bool(row, ctx))).map(Truth::from)
}

fn member_of_list<R: RowSource + ?Sized>(
    call: &Call,
    value: &Expr,
    members: &[Expr],
    comparators: &[Comparator],
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    if let CallData::Set(set) = &call.data {
        let found = if let Some(Some(text)) = fast_text(value, row, ctx.parameters) {
            let mut scratch = std::mem::take(&mut ctx.scratch);
            let found = set.find_text(text, &mut scratch);
            ctx.scratch = scratch;
            found
        } else if let Some(number) = fast_integer(value, row, ctx.parameters) {
            match number {
                FastInteger::Null => return Ok(Truth::Unknown),
                FastInteger::Signed(number) => set.find_integer(i128::from(number)),
                FastInteger::Unsigned(number) => set.find_integer(i128::from(number)),
            }
        } else {
            match value.eval(row, ctx)? {
                Value::Null => return Ok(Truth::Unknown),
                Value::Str(text) => set.find_text(&text, &mut Vec::new()),
                other => plain_integer(&other).and_then(|number| set.find_integer(number)),
            }
        };
        match found {
            Some(Membership::Yes) => return Ok(Truth::True),
            Some(Membership::No) => return Ok(Truth::False),
            Some(Membership::Unknown) => return Ok(Truth::Unknown),
            None => {}
        }
    }
    let value = value.eval(row, ctx)?;
    if value.is_null() {
        return Ok(Truth::Unknown);
    }
    let mut unknown = false;
    for (member, comparator) in members.iter().zip(comparators) {
        match compare_with_value(*comparator, &value, member, row, ctx)? {
            Some(Ordering::Equal) => return Ok(Truth::True),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Truth::Unknown } else { Truth::False })
}

fn like<R: RowSource + ?Sized>(
    call: &Call,
    collation: shoal_types::Collation,
    text: &Expr,
    pattern: &Expr,
    escape: Option<&Expr>,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Truth> {
    let matches = |text: &[u8], ctx: &mut EvalContext<'_>| -> Result<Truth> {
        if let CallData::Like(pattern) = &call.data {
            return Ok(Truth::from(Some(pattern.matches(text))));
        }
        let pattern = pattern.eval(row, ctx)?;
        if pattern.is_null() {
            return Ok(Truth::Unknown);
        }
        let escape = match escape {
            Some(escape) => convert::into_text(escape.eval(row, ctx)?),
            None if ctx.settings.sql_mode.no_backslash_escapes => Vec::new(),
            None => b"\\".to_vec(),
        };
        let escape = like::escape_character(&escape, collation)?;
        let compiled = like::LikePattern::new(&convert::text(&pattern), escape, collation);
        Ok(Truth::from(Some(compiled.matches(text))))
    };
    match fast_text(text, row, ctx.parameters) {
        Some(Some(text)) => matches(text, ctx),
        Some(None) => Ok(Truth::Unknown),
        None => match text.eval(row, ctx)? {
            Value::Null => Ok(Truth::Unknown),
            value => matches(&convert::text(&value), ctx),
        },
    }
}

/// An operand of arithmetic. A quotient keeps the digits that its type does not show, so that (1/3)*3 is 1.
fn eval_operand<R: RowSource + ?Sized>(operand: &Expr, row: &R, ctx: &mut EvalContext<'_>) -> Result<Value> {
    if let Expr::Call(call) = operand
        && let (Operation::Arithmetic(operator @ ArithmeticOperator::Divide, class), [left, right]) =
            (&call.operation, call.arguments.as_slice())
    {
        let (left, right) = (eval_operand(left, row, ctx)?, eval_operand(right, row, ctx)?);
        return arithmetic::evaluate(*operator, *class, call, &left, &right, ctx);
    }
    operand.eval(row, ctx)
}

fn eval_call<R: RowSource + ?Sized>(call: &Call, row: &R, ctx: &mut EvalContext<'_>) -> Result<Value> {
    if let Some(truth) = truth_of_call(call, row, ctx)? {
        return Ok(truth.into_value());
    }
    match (&call.operation, call.arguments.as_slice()) {
        (Operation::Arithmetic(operator, class), [left, right]) => {
            let (left, right) = (eval_operand(left, row, ctx)?, eval_operand(right, row, ctx)?);
            let value = arithmetic::evaluate(*operator, *class, call, &left, &right, ctx)?;
            Ok(arithmetic::at_type_scale(value, &call.sql_type))
        }
        (Operation::Negate(class), [argument]) => {
            let value = argument.eval(row, ctx)?;
            arithmetic::negate(*class, call, &value, ctx)
        }
        (Operation::Bits(operator), [left, right]) => {
            let left = left.eval(row, ctx)?;
            let right = right.eval(row, ctx)?;
            arithmetic::bits(*operator, call, &left, &right, ctx)
        }
        (Operation::BitNot, [argument]) => {
            let value = argument.eval(row, ctx)?;
            arithmetic::bit_not(call, &value, ctx)
        }
        (Operation::Convert { explicit }, [argument]) => {
            let value = argument.eval(row, ctx)?;
            cast::convert(value, argument, &call.sql_type, *explicit, ctx)
        }
        (Operation::Collate, [argument]) => argument.eval(row, ctx),
        (Operation::OfElements, [predicate, ..]) => predicate.eval(row, ctx),
        (Operation::AddInterval { unit, subtract }, [start, amount]) => {
            let start = start.eval(row, ctx)?;
            let amount = amount.eval(row, ctx)?;
            interval::add(call, &start, &amount, *unit, *subtract, ctx)
        }
        (Operation::Extract(unit), [argument]) => {
            let value = argument.eval(row, ctx)?;
            interval::extract(*unit, &value, ctx)
        }
        (Operation::TimestampDifference(unit), [from, to]) => {
            let from = from.eval(row, ctx)?;
            let to = to.eval(row, ctx)?;
            interval::difference(*unit, &from, &to, ctx)
        }
        (Operation::UserVariable(name), _) => {
            let value = ctx.session()?.user_variable(name).map(|(value, _)| value);
            Ok(value.unwrap_or_default())
        }
        (Operation::AssignVariable(name), [argument]) => {
            let value = argument.eval(row, ctx)?;
            ctx.session()?.set_user_variable(name, value.clone(), call.sql_type.clone());
            Ok(value)
        }
        (Operation::Function(function), arguments) => eval_function(function, call, arguments, row, ctx),
        _ => eval_choice(call, row, ctx),
    }
}

/// The operators that evaluate some of their arguments only.
fn eval_choice<R: RowSource + ?Sized>(call: &Call, row: &R, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let arguments = call.arguments.as_slice();
    match (&call.operation, arguments) {
        (Operation::If, [condition, yes, no]) => {
            let chosen = if condition.accepts(row, ctx)? { yes } else { no };
            chosen.eval(row, ctx)
        }
        (Operation::Coalesce, _) => {
            for argument in arguments {
                let value = argument.eval(row, ctx)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(Value::Null)
        }
        // The third argument is the first one again, converted to the type of the result.
        (Operation::NullIf(comparator), [left, right, result]) => {
            if compare_operands(*comparator, left, right, row, ctx)? == Some(Ordering::Equal) {
                return Ok(Value::Null);
            }
            result.eval(row, ctx)
        }
        (Operation::Case, _) => {
            let mut pairs = arguments.chunks_exact(2);
            for pair in &mut pairs {
                if pair[0].accepts(row, ctx)? {
                    return pair[1].eval(row, ctx);
                }
            }
            pairs.remainder().first().map_or(Ok(Value::Null), |otherwise| otherwise.eval(row, ctx))
        }
        (Operation::CaseOf(comparators), [operand, rest @ ..]) => {
            let value = operand.eval(row, ctx)?;
            let mut pairs = rest.chunks_exact(2);
            for (pair, comparator) in (&mut pairs).zip(comparators.iter()) {
                if compare_with_value(*comparator, &value, &pair[0], row, ctx)? == Some(Ordering::Equal) {
                    return pair[1].eval(row, ctx);
                }
            }
            match rest.len() % 2 {
                1 => rest[rest.len() - 1].eval(row, ctx),
                _ => Ok(Value::Null),
            }
        }
        _ => Err(shoal_types::Error::unknown("internal: an operator got the wrong number of operands")),
    }
}

fn eval_function<R: RowSource + ?Sized>(
    function: &Function,
    call: &Call,
    arguments: &[Expr],
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Value> {
    if arguments.len() <= STACK_ARGUMENTS {
        let mut values: [Value; STACK_ARGUMENTS] = Default::default();
        for (slot, argument) in values.iter_mut().zip(arguments) {
            *slot = argument.eval(row, ctx)?;
        }
        return function.call(call, &mut values[..arguments.len()], ctx);
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(argument.eval(row, ctx)?);
    }
    function.call(call, &mut values, ctx)
}
