//! Expressions as SQL text, for messages and EXPLAIN.

use std::fmt::{self, Display, Formatter, Write};

use shoal_types::Value;

use crate::context::printable;
use crate::expr::{Call, Expr, Operation};

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal) => match &literal.value {
                Value::Null => f.write_str("NULL"),
                Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Float(_) | Value::Decimal(_) => {
                    f.write_str(&String::from_utf8_lossy(&literal.value.to_text()))
                }
                other => write!(f, "'{}'", printable(&other.as_text())),
            },
            Expr::Parameter(parameter) => f.write_str(parameter.name.as_deref().unwrap_or("?")),
            Expr::Column(column) if column.name.is_empty() => write!(f, "column {}", column.position),
            Expr::Column(column) => f.write_str(&column.name),
            Expr::Call(call) => call.fmt(f),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments.as_slice();
        let negation = |negated: bool| if negated { "not " } else { "" };
        match (&self.operation, arguments) {
            (Operation::And, _) => infix(f, " and ", arguments),
            (Operation::Or, _) => infix(f, " or ", arguments),
            (Operation::Xor, _) => infix(f, " xor ", arguments),
            (Operation::Not, [argument]) => write!(f, "(not {argument})"),
            (Operation::Compare(operator, _), [left, right]) => {
                write!(f, "({left} {} {right})", operator.symbol())
            }
            (Operation::Arithmetic(operator, _), [left, right]) => {
                write!(f, "({left} {} {right})", operator.symbol())
            }
            (Operation::Bits(operator), [left, right]) => write!(f, "({left} {} {right})", operator.symbol()),
            (Operation::Negate(_), [argument]) => write!(f, "-({argument})"),
            (Operation::BitNot, [argument]) => write!(f, "~({argument})"),
            (Operation::Between { negated, .. }, [value, low, high]) => {
                write!(f, "({value} {}between {low} and {high})", negation(*negated))
            }
            (Operation::In { negated, .. }, [value, members @ ..]) => {
                write!(f, "({value} {}in ", negation(*negated))?;
                list(f, members)?;
                f.write_char(')')
            }
            (Operation::IsNull { negated }, [argument]) => write!(f, "({argument} is {}null)", negation(*negated)),
            (Operation::IsTruth { truth, negated }, [argument]) => {
                write!(f, "({argument} is {}{truth})", negation(*negated))
            }
            (Operation::Like { negated, .. }, [text, pattern, ..]) => {
                write!(f, "({text} {}like {pattern})", negation(*negated))
            }
            (Operation::Convert { explicit: true }, [argument]) => write!(f, "cast({argument})"),
            (Operation::Convert { explicit: false }, [argument]) => argument.fmt(f),
            (Operation::OfElements, [predicate, ..]) => predicate.fmt(f),
            (Operation::Collate, [argument]) => write!(f, "({argument} collate {})", self.sql_type.collation),
            (Operation::AddInterval { unit, subtract }, [start, amount]) => {
                let sign = if *subtract { '-' } else { '+' };
                write!(f, "({start} {sign} interval {amount} {unit:?})")
            }
            (Operation::UserVariable(name), _) => write!(f, "(@{name})"),
            (Operation::AssignVariable(name), [value]) => write!(f, "(@{name}:={value})"),
            (Operation::NullIf(_), [left, right, ..]) => write!(f, "nullif({left},{right})"),
            (operation, _) => {
                f.write_str(&name(operation))?;
                list(f, arguments)
            }
        }
    }
}

fn name(operation: &Operation) -> String {
    match operation {
        Operation::Function(function) => function.name.to_ascii_lowercase(),
        Operation::Case | Operation::CaseOf(_) => "case".to_owned(),
        Operation::If => "if".to_owned(),
        Operation::Coalesce => "coalesce".to_owned(),
        Operation::Extract(unit) => format!("extract {unit:?} from "),
        Operation::TimestampDifference(unit) => format!("timestampdiff {unit:?} "),
        other => format!("{other:?}").to_ascii_lowercase(),
    }
}

fn infix(f: &mut Formatter<'_>, separator: &str, arguments: &[Expr]) -> fmt::Result {
    f.write_char('(')?;
    separated(f, separator, arguments)?;
    f.write_char(')')
}

fn list(f: &mut Formatter<'_>, arguments: &[Expr]) -> fmt::Result {
    infix(f, ",", arguments)
}

fn separated(f: &mut Formatter<'_>, separator: &str, arguments: &[Expr]) -> fmt::Result {
    for (position, argument) in arguments.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        argument.fmt(f)?;
    }
    Ok(())
}
