//! Expressions.

use std::fmt::{self, Display, Formatter};

use super::{comma_list, join, write_hex, write_string};
use crate::ast::{
    BinaryOperator, Case, Cast, Expr, FunctionCall, GroupConcat, JsonResponse, JsonValue, Literal, LiteralValue,
    Match, MatchMode, Quantifier, SystemVariable, TemporalKind, TrimSide, TruthTest, UnaryOperator, VariableScope,
    WeightString,
};
use crate::quote::quote_identifier;

impl Display for Expr {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal) => write!(formatter, "{literal}"),
            Expr::Parameter(_) => formatter.write_str("?"),
            Expr::Column(column) => write!(formatter, "{column}"),
            Expr::Default(None) => formatter.write_str("default"),
            Expr::Default(Some(column)) => write!(formatter, "default({column})"),
            Expr::InsertedValue(column) => write!(formatter, "values({column})"),
            Expr::UserVariable(name) => write!(formatter, "@{}", quote_identifier(name)),
            Expr::AssignUserVariable { name, value } => {
                write!(formatter, "(@{}:={value})", quote_identifier(name))
            }
            Expr::SystemVariable(variable) => write!(formatter, "{variable}"),
            Expr::Unary { operator, operand } => write_unary(formatter, *operator, operand),
            Expr::Binary { operator, left, right } => write!(formatter, "({left} {} {right})", operator.symbol()),
            Expr::And(operands) => write_chain(formatter, operands, " and "),
            Expr::Or(operands) => write_chain(formatter, operands, " or "),
            Expr::Row(fields) => {
                formatter.write_str("row(")?;
                comma_list(formatter, fields)?;
                formatter.write_str(")")
            }
            Expr::Exists(query) => write!(formatter, "exists({query})"),
            Expr::Subquery(query) => write!(formatter, "({query})"),
            Expr::Case(case) => write!(formatter, "{case}"),
            Expr::Function(call) => write!(formatter, "{call}"),
            Expr::GroupConcat(call) => write!(formatter, "{call}"),
            Expr::Window(call) => write!(formatter, "{call}"),
            Expr::Cast(cast) => write!(formatter, "{cast}"),
            Expr::Collate { operand, collation } => write!(formatter, "({operand} collate {})", collation.value),
            Expr::WeightString(call) => write!(formatter, "{call}"),
            Expr::Match(search) => write!(formatter, "{search}"),
            Expr::JsonExtract { column, path, unquote } => {
                write!(formatter, "{column}{}{path}", if *unquote { "->>" } else { "->" })
            }
            Expr::JsonValue(call) => write!(formatter, "{call}"),
            Expr::Temporal { kind, text } => {
                write!(formatter, "{}", temporal_keyword(*kind))?;
                write_string(formatter, text)
            }
            _ => self.write_predicate(formatter),
        }
    }
}

impl Expr {
    fn write_predicate(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Like { operand, pattern, escape, negated } => {
                write!(formatter, "({operand} {}like {pattern}", not(*negated))?;
                if let Some(escape) = escape {
                    write!(formatter, " escape {escape}")?;
                }
                formatter.write_str(")")
            }
            Expr::Regexp { operand, pattern, negated } => {
                write!(formatter, "({operand} {}regexp {pattern})", not(*negated))
            }
            Expr::Between { operand, low, high, negated } => {
                write!(formatter, "({operand} {}between {low} and {high})", not(*negated))
            }
            Expr::InList { operand, list, negated } => {
                write!(formatter, "({operand} {}in (", not(*negated))?;
                comma_list(formatter, list)?;
                formatter.write_str("))")
            }
            Expr::InSubquery { operand, query, negated } => {
                write!(formatter, "({operand} {}in ({query}))", not(*negated))
            }
            Expr::Is { operand, test, negated } => {
                let test = match test {
                    TruthTest::Null => "null",
                    TruthTest::True => "true",
                    TruthTest::False => "false",
                    TruthTest::Unknown => "unknown",
                };
                write!(formatter, "({operand} is {}{test})", not(*negated))
            }
            Expr::MemberOf { value, array } => write!(formatter, "({value} member of ({array}))"),
            Expr::Quantified { operator, quantifier, left, query } => {
                let quantifier = match quantifier {
                    Quantifier::Any => "any",
                    Quantifier::All => "all",
                };
                write!(formatter, "({left} {} {quantifier} ({query}))", operator.symbol())
            }
            _ => self.write_special_call(formatter),
        }
    }

    /// Calls with a syntax of their own.
    fn write_special_call(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::ConvertUsing { operand, charset } => {
                write!(formatter, "convert({operand} using {})", charset.value)
            }
            Expr::Char { arguments, charset } => {
                formatter.write_str("char(")?;
                comma_list(formatter, arguments)?;
                if let Some(charset) = charset {
                    write!(formatter, " using {}", charset.value)?;
                }
                formatter.write_str(")")
            }
            Expr::DateArithmetic { date, amount, unit, subtract } => {
                let sign = if *subtract { '-' } else { '+' };
                write!(formatter, "({date} {sign} interval {amount} {})", unit.keyword().to_lowercase())
            }
            Expr::TimestampAdd { unit, amount, timestamp } => {
                write!(formatter, "timestampadd({},{amount},{timestamp})", unit.keyword())
            }
            Expr::TimestampDiff { unit, from, to } => {
                write!(formatter, "timestampdiff({},{from},{to})", unit.keyword())
            }
            Expr::Extract { unit, operand } => {
                write!(formatter, "extract({} from {operand})", unit.keyword().to_lowercase())
            }
            Expr::Trim { side, pattern, operand } => {
                let side = match side {
                    TrimSide::Both => "both",
                    TrimSide::Leading => "leading",
                    TrimSide::Trailing => "trailing",
                };
                match pattern {
                    None if side == "both" => write!(formatter, "trim({operand})"),
                    None => write!(formatter, "trim({side} from {operand})"),
                    Some(pattern) => write!(formatter, "trim({side} {pattern} from {operand})"),
                }
            }
            Expr::GetFormat { kind, name } => {
                let kind = match kind {
                    TemporalKind::Timestamp => "datetime",
                    kind => temporal_keyword(*kind),
                };
                write!(formatter, "get_format({kind},{name})")
            }
            // Every other variant has been written by the callers.
            _ => Err(fmt::Error),
        }
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn temporal_keyword(kind: TemporalKind) -> &'static str {
    match kind {
        TemporalKind::Date => "date",
        TemporalKind::Time => "time",
        TemporalKind::Timestamp => "timestamp",
    }
}

fn write_chain(formatter: &mut Formatter<'_>, operands: &[Expr], word: &str) -> fmt::Result {
    formatter.write_str("(")?;
    join(formatter, operands, word, |formatter, operand| write!(formatter, "{operand}"))?;
    formatter.write_str(")")
}

fn write_unary(formatter: &mut Formatter<'_>, operator: UnaryOperator, operand: &Expr) -> fmt::Result {
    match operator {
        UnaryOperator::Not => write!(formatter, "(not({operand}))"),
        UnaryOperator::Binary => write!(formatter, "(binary {operand})"),
        UnaryOperator::BitNot => write!(formatter, "~{operand}"),
        UnaryOperator::Plus => write!(formatter, "+{operand}"),
        // Two minus signs would start a comment.
        UnaryOperator::Minus if matches!(operand, Expr::Unary { .. }) => write!(formatter, "-({operand})"),
        UnaryOperator::Minus => write!(formatter, "-{operand}"),
    }
}

impl BinaryOperator {
    /// The operator as SHOW CREATE writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::IntegerDivide => "DIV",
            BinaryOperator::Modulo => "%",
            BinaryOperator::BitAnd => "&",
            BinaryOperator::BitOr => "|",
            BinaryOperator::BitXor => "^",
            BinaryOperator::ShiftLeft => "<<",
            BinaryOperator::ShiftRight => ">>",
            BinaryOperator::Equal => "=",
            BinaryOperator::NullSafeEqual => "<=>",
            BinaryOperator::NotEqual => "<>",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::Xor => "xor",
            BinaryOperator::Concat => "||",
            BinaryOperator::SoundsLike => "sounds like",
        }
    }
}

impl Display for Literal {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let introducer = |formatter: &mut Formatter<'_>, charset: &Option<String>| match charset {
            Some(charset) => write!(formatter, "_{charset}"),
            None => Ok(()),
        };
        match &self.value {
            LiteralValue::Null => formatter.write_str("NULL"),
            LiteralValue::Boolean(value) => write!(formatter, "{value}"),
            LiteralValue::Integer(value) => write!(formatter, "{value}"),
            LiteralValue::Decimal(text) | LiteralValue::Float(text) => formatter.write_str(text),
            LiteralValue::String(string) => {
                let in_hexadecimal = std::str::from_utf8(&string.bytes).is_err();
                if string.national && !in_hexadecimal {
                    formatter.write_str("N")?;
                }
                introducer(formatter, &string.introducer)?;
                if string.introducer.is_some() && in_hexadecimal {
                    formatter.write_str(" ")?;
                }
                write_string(formatter, &string.bytes)
            }
            LiteralValue::Hex(binary) => {
                introducer(formatter, &binary.introducer)?;
                if binary.introducer.is_some() {
                    formatter.write_str(" ")?;
                }
                write_hex(formatter, &binary.bytes)
            }
            LiteralValue::Bit(binary) => {
                introducer(formatter, &binary.introducer)?;
                if binary.introducer.is_some() {
                    formatter.write_str(" ")?;
                }
                formatter.write_str("b'")?;
                for byte in &binary.bytes {
                    write!(formatter, "{byte:08b}")?;
                }
                formatter.write_str("'")
            }
        }
    }
}

impl Display for SystemVariable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("@@")?;
        match self.scope {
            None => {}
            Some(VariableScope::Global) => formatter.write_str("global.")?,
            Some(VariableScope::Session) => formatter.write_str("session.")?,
            Some(VariableScope::Persist) => formatter.write_str("persist.")?,
            Some(VariableScope::PersistOnly) => formatter.write_str("persist_only.")?,
        }
        if let Some(component) = &self.component {
            write!(formatter, "{component}.")?;
        }
        write!(formatter, "{}", self.name)
    }
}

impl Display for Case {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("(case ")?;
        if let Some(operand) = &self.operand {
            write!(formatter, "{operand} ")?;
        }
        for (condition, value) in &self.branches {
            write!(formatter, "when {condition} then {value} ")?;
        }
        if let Some(otherwise) = &self.otherwise {
            write!(formatter, "else {otherwise} ")?;
        }
        formatter.write_str("end)")
    }
}

impl Display for FunctionCall {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(formatter, "{schema}.{}", self.name)?;
        } else if self.name.quoted {
            write!(formatter, "{}", self.name)?;
        } else {
            formatter.write_str(&self.name.value.to_lowercase())?;
        }
        formatter.write_str(if self.distinct { "(distinct " } else { "(" })?;
        if self.star {
            formatter.write_str("*")?;
        }
        comma_list(formatter, &self.arguments)?;
        formatter.write_str(")")
    }
}

impl Display for GroupConcat {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.distinct { "group_concat(distinct " } else { "group_concat(" })?;
        comma_list(formatter, &self.arguments)?;
        if !self.order_by.is_empty() {
            formatter.write_str(" order by ")?;
            comma_list(formatter, &self.order_by)?;
        }
        if let Some(separator) = &self.separator {
            formatter.write_str(" separator ")?;
            write_string(formatter, separator)?;
        }
        formatter.write_str(")")
    }
}

impl Display for Cast {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "cast({}", self.operand)?;
        if let Some(zone) = &self.at_time_zone {
            formatter.write_str(" at time zone ")?;
            write_string(formatter, zone)?;
        }
        formatter.write_str(" as ")?;
        self.data_type.write_for_cast(formatter)?;
        formatter.write_str(if self.array { " array)" } else { ")" })
    }
}

impl Display for WeightString {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "weight_string({}", self.operand)?;
        if let Some((binary, length)) = self.as_type {
            write!(formatter, " as {}({length})", if binary { "binary" } else { "char" })?;
        }
        formatter.write_str(")")
    }
}

impl Display for Match {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("(match (")?;
        comma_list(formatter, &self.columns)?;
        let mode = match self.mode {
            MatchMode::NaturalLanguage => "",
            MatchMode::NaturalLanguageWithQueryExpansion => " in natural language mode with query expansion",
            MatchMode::Boolean => " in boolean mode",
            MatchMode::QueryExpansion => " with query expansion",
        };
        write!(formatter, ") against ({}{mode}))", self.against)
    }
}

impl Display for JsonValue {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "json_value({},{}", self.document, self.path)?;
        if let Some(returning) = &self.returning {
            formatter.write_str(" returning ")?;
            returning.write_for_cast(formatter)?;
        }
        write_responses(formatter, &self.on_empty, &self.on_error)?;
        formatter.write_str(")")
    }
}

pub(super) fn write_responses(
    formatter: &mut Formatter<'_>,
    on_empty: &Option<JsonResponse>,
    on_error: &Option<JsonResponse>,
) -> fmt::Result {
    for (response, event) in [(on_empty, "empty"), (on_error, "error")] {
        match response {
            None => {}
            Some(JsonResponse::Null) => write!(formatter, " null on {event}")?,
            Some(JsonResponse::Error) => write!(formatter, " error on {event}")?,
            Some(JsonResponse::Default(value)) => write!(formatter, " default {value} on {event}")?,
        }
    }
    Ok(())
}
