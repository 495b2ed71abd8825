//! Expressions: syntax to typed trees.

use shoal_expr::functions::json_scalar::Response;
use shoal_expr::{BuildContext, Coercibility, CompareOperator, Expr, build};
use shoal_parser::ast::{self, BinaryOperator, LiteralValue, TruthTest, UnaryOperator};
use shoal_types::{Charset, Collation, Decimal, Error, ErrorCode, Result, SqlType, Value};

use super::Resolver;
use super::row_subquery::RowComparison;
use crate::client_text;

impl<'a> Resolver<'a> {
    pub fn build(&self) -> &'a BuildContext<'a> {
        &self.environment.build
    }

    /// Resolves an expression of the present block, in the clause that `BlockState::clause` names.
    pub fn expression(&mut self, expression: &ast::Expr) -> Result<Expr> {
        let context = self.build();
        match expression {
            ast::Expr::Literal(literal) => self.literal(literal),
            ast::Expr::Parameter(ordinal) => Ok(self.parameter(*ordinal as usize)),
            ast::Expr::Column(name) => self.column(name),
            ast::Expr::Default(column) => self.default_value(column.as_deref()),
            ast::Expr::InsertedValue(column) => self.inserted_value(column),
            ast::Expr::UserVariable(name) => {
                self.names_variables = true;
                let sql_type = self.environment.variables.user_variable_type(name);
                self.user_variables.push((name.to_lowercase(), sql_type.clone()));
                build::user_variable(name, sql_type, context)
            }
            ast::Expr::AssignUserVariable { name, value } => {
                self.uncacheable = true;
                let value = self.expression(value)?;
                build::assign_variable(name, value, context)
            }
            ast::Expr::SystemVariable(variable) => {
                self.uncacheable = true;
                self.names_variables = true;
                self.environment.variables.system_variable(variable)
            }
            ast::Expr::Unary { operator, operand } => self.unary(*operator, operand),
            ast::Expr::Binary { operator, left, right } => self.binary(*operator, left, right),
            ast::Expr::And(operands) => {
                let operands = self.and_operands(operands)?;
                build::and(operands, context)
            }
            ast::Expr::Or(operands) => {
                let operands = self.or_operands(operands)?;
                build::or(operands, context)
            }
            ast::Expr::Like { operand, pattern, escape, negated } => {
                let (operand, pattern) = (self.expression(operand)?, self.expression(pattern)?);
                let escape = escape.as_ref().map(|escape| self.expression(escape)).transpose()?;
                build::like(operand, pattern, escape, *negated, context)
            }
            ast::Expr::Regexp { operand, pattern, negated } => {
                let (operand, pattern) = (self.expression(operand)?, self.expression(pattern)?);
                build::regexp(operand, pattern, *negated, context)
            }
            ast::Expr::Between { operand, low, high, negated } => {
                let operand = self.expression(operand)?;
                let (low, high) = (self.expression(low)?, self.expression(high)?);
                let built = build::between(operand, low, high, *negated, context)?;
                self.note_temporal(&built);
                Ok(built)
            }
            ast::Expr::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ast::Expr::Is { operand, test, negated } => {
                let operand = self.expression(operand)?;
                match test {
                    TruthTest::Null | TruthTest::Unknown => build::is_null(operand, *negated, context),
                    TruthTest::True => build::is_truth(operand, true, *negated, context),
                    TruthTest::False => build::is_truth(operand, false, *negated, context),
                }
            }
            ast::Expr::Case(case) => self.case(case),
            ast::Expr::Function(call) => self.function(call),
            ast::Expr::GroupConcat(concat) => self.group_concat(concat),
            ast::Expr::Window(call) => self.window_call(call),
            ast::Expr::Match(_) => Err(Error::unsupported("MATCH ... AGAINST")),
            ast::Expr::Row(_) => Err(operand_columns(1)),
            ast::Expr::InSubquery { operand, query, negated } => {
                match (&**operand, self.in_subquery(operand, query, *negated)) {
                    (ast::Expr::Subquery(left), Err(error)) if error.is(ErrorCode::OperandColumns) => {
                        self.row_subquery(left, &RowComparison::In { query, negated: *negated })
                    }
                    (_, resolved) => resolved,
                }
            }
            ast::Expr::Exists(query) => self.exists(query),
            ast::Expr::Subquery(query) => self.scalar_subquery(query),
            ast::Expr::Quantified { operator, quantifier, left, query } => {
                self.quantified(*operator, *quantifier, left, query)
            }
            other => self.special_form(other),
        }
    }

    pub fn expressions(&mut self, expressions: &[ast::Expr]) -> Result<Vec<Expr>> {
        expressions.iter().map(|expression| self.expression(expression)).collect()
    }

    /// Forms with a syntax of their own that are functions underneath.
    fn special_form(&mut self, expression: &ast::Expr) -> Result<Expr> {
        let context = self.build();
        match expression {
            ast::Expr::MemberOf { value, array } => {
                let (value, array) = (self.expression(value)?, self.expression(array)?);
                build::member_of(value, array, context)
            }
            ast::Expr::Cast(cast) => {
                if cast.array {
                    return Err(Error::unsupported(
                        "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in \
                         general expressions",
                    ));
                }
                if cast.at_time_zone.is_some() {
                    return Err(Error::unsupported("CAST(... AT TIME ZONE ...)"));
                }
                let operand = self.expression(&cast.operand)?;
                let target =
                    crate::ddl::column_type::cast_type(&cast.data_type, context.settings.collation_connection)?;
                build::cast(operand, target, context)
            }
            ast::Expr::ConvertUsing { operand, charset } => {
                let operand = self.expression(operand)?;
                build::convert_using(operand, Charset::resolve(&charset.value)?, context)
            }
            ast::Expr::Char { arguments, charset } => {
                let arguments = self.expressions(arguments)?;
                if charset.as_ref().is_some_and(|charset| charset.value.eq_ignore_ascii_case("utf16")) {
                    return build::utf16_char_function(arguments, context);
                }
                let charset = charset.as_ref().map(|charset| Charset::resolve(&charset.value)).transpose()?;
                build::char_function(arguments, charset, context)
            }
            ast::Expr::Collate { operand, collation } => {
                let operand = self.expression(operand)?;
                build::collate(operand, Collation::resolve(&collation.value)?, context)
            }
            ast::Expr::DateArithmetic { date, amount, unit, subtract } => {
                let (date, amount) = (self.expression(date)?, self.expression(amount)?);
                build::add_interval(date, amount, interval_unit(*unit), *subtract, context)
            }
            ast::Expr::TimestampAdd { unit, amount, timestamp } => {
                let (amount, timestamp) = (self.expression(amount)?, self.expression(timestamp)?);
                build::timestamp_add(interval_unit(*unit), amount, timestamp, context)
            }
            ast::Expr::TimestampDiff { unit, from, to } => {
                let (from, to) = (self.expression(from)?, self.expression(to)?);
                build::timestamp_difference(interval_unit(*unit), from, to, context)
            }
            ast::Expr::Extract { unit, operand } => {
                let operand = self.expression(operand)?;
                build::extract(interval_unit(*unit), operand, context)
            }
            ast::Expr::Trim { side, pattern, operand } => {
                let side = match side {
                    ast::TrimSide::Both => build::TrimSide::Both,
                    ast::TrimSide::Leading => build::TrimSide::Leading,
                    ast::TrimSide::Trailing => build::TrimSide::Trailing,
                };
                let operand = self.expression(operand)?;
                let pattern = pattern.as_ref().map(|pattern| self.expression(pattern)).transpose()?;
                build::trim(side, pattern, operand, context)
            }
            ast::Expr::GetFormat { kind, name } => {
                let name = self.expression(name)?;
                build::date_format_name(temporal_kind(*kind), name, context)
            }
            ast::Expr::WeightString(form) => {
                let operand = self.expression(&form.operand)?;
                let as_type = form.as_type.map(|(binary, length)| {
                    let length = u32::try_from(length).unwrap_or(u32::MAX);
                    if binary {
                        build::WeightStringType::Binary(length)
                    } else {
                        build::WeightStringType::Char(length)
                    }
                });
                build::weight_string(operand, as_type, context)
            }
            ast::Expr::JsonExtract { column, path, unquote } => {
                let (document, path) = (self.column(column)?, self.literal(path)?);
                build::json_extract(document, path, *unquote, context)
            }
            ast::Expr::JsonValue(form) => self.json_value(form),
            ast::Expr::Temporal { kind, text } => build::temporal_literal(temporal_kind(*kind), text, context),
            _ => Err(Error::unsupported("this expression")),
        }
    }

    fn json_value(&mut self, form: &ast::JsonValue) -> Result<Expr> {
        let context = self.build();
        let (document, path) = (self.expression(&form.document)?, self.expression(&form.path)?);
        let returning = form
            .returning
            .as_ref()
            .map(|data_type| crate::ddl::column_type::cast_type(data_type, context.settings.collation_connection));
        let responses = [self.json_response(&form.on_empty)?, self.json_response(&form.on_error)?];
        build::json_value(document, path, returning.transpose()?, responses, context)
    }

    fn json_response(&mut self, written: &Option<ast::JsonResponse>) -> Result<(Response, Option<Expr>)> {
        Ok(match written {
            None | Some(ast::JsonResponse::Null) => (Response::Null, None),
            Some(ast::JsonResponse::Error) => (Response::Error, None),
            Some(ast::JsonResponse::Default(value)) => (Response::Default, Some(self.expression(value)?)),
        })
    }

    pub fn literal(&mut self, literal: &ast::Literal) -> Result<Expr> {
        let context = self.build();
        if let Some(ordinal) = literal.ordinal {
            return Ok(self.parameter(ordinal as usize));
        }
        literal_expression(context, &literal.value)
    }

    /// A `?`, or a literal that the plan cache made one.
    pub fn parameter(&mut self, ordinal: usize) -> Expr {
        match self.environment.parameter_types.and_then(|types| types.get(ordinal)) {
            Some(sql_type) => bound_parameter(ordinal, sql_type),
            None => build::untyped_parameter(ordinal, self.build()),
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &ast::Expr) -> Result<Expr> {
        let operand = self.expression(operand)?;
        let operator = match operator {
            UnaryOperator::Not => build::UnaryOperator::Not,
            UnaryOperator::Minus => build::UnaryOperator::Minus,
            UnaryOperator::Plus => build::UnaryOperator::Plus,
            UnaryOperator::BitNot => build::UnaryOperator::BitNot,
            UnaryOperator::Binary => build::UnaryOperator::Binary,
        };
        build::unary(operator, operand, self.build())
    }

    fn binary(&mut self, operator: BinaryOperator, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        let context = self.build();
        if let Some(comparison) = comparison(operator) {
            if let (Some(left_fields), Some(right_fields)) = (row_fields(left), row_fields(right)) {
                let (left, right) = self.row_pair(left_fields, right_fields)?;
                return build::row_comparison(comparison, left, right, context);
            }
            match (left, right) {
                (ast::Expr::Row(fields), ast::Expr::Subquery(query)) => {
                    return self.row_and_subquery(comparison, fields, query);
                }
                (ast::Expr::Subquery(query), ast::Expr::Row(fields)) => {
                    return self.row_and_subquery(comparison.mirrored(), fields, query);
                }
                (ast::Expr::Subquery(left), ast::Expr::Subquery(right)) => match self.scalar_subquery(left) {
                    Err(error) if error.is(ErrorCode::OperandColumns) => {
                        return self.row_subquery(left, &RowComparison::With(operator, right));
                    }
                    left => {
                        let right = self.scalar_subquery(right)?;
                        return build::binary(binary_operator(operator), left?, right, context);
                    }
                },
                _ => {}
            }
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let built = build::binary(binary_operator(operator), left, right, context)?;
        self.note_temporal(&built);
        Ok(built)
    }

    /// The fields of two rows of one shape; rows inside them are taken apart as well. Errors: 1241.
    fn row_pair(&mut self, left: &[ast::Expr], right: &[ast::Expr]) -> Result<(Vec<Expr>, Vec<Expr>)> {
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        let (mut lefts, mut rights) = (Vec::with_capacity(left.len()), Vec::with_capacity(left.len()));
        for (left, right) in left.iter().zip(right) {
            match (row_fields(left), row_fields(right)) {
                (Some(left), Some(right)) => {
                    let (inner_left, inner_right) = self.row_pair(left, right)?;
                    lefts.extend(inner_left);
                    rights.extend(inner_right);
                }
                (None, None) => {
                    lefts.push(self.expression(left)?);
                    rights.push(self.expression(right)?);
                }
                (fields, _) => return Err(operand_columns(fields.map_or(1, <[ast::Expr]>::len))),
            }
        }
        Ok((lefts, rights))
    }

    /// Remembers the text parameters of a comparison of dates.
    fn note_temporal(&mut self, built: &Expr) {
        use shoal_expr::{Comparator, Operation};
        let Expr::Call(call) = built else { return };
        let temporal = match &call.operation {
            Operation::Compare(_, comparator) => *comparator == Comparator::DateTime,
            Operation::Between { low, high, .. } => *low == Comparator::DateTime || *high == Comparator::DateTime,
            _ => false,
        };
        if temporal {
            self.temporal_parameters.extend(call.arguments.iter().flat_map(Expr::parameters_used));
        }
    }

    fn in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let context = self.build();
        if let (ast::Expr::Subquery(query), Some(ast::Expr::Row(_))) = (operand, list.first()) {
            let rows = list.iter().map(|row| match row_fields(row) {
                Some(fields) => self.row_and_subquery(CompareOperator::Equal, fields, query),
                None => Err(operand_columns(1)),
            });
            let any = build::or(rows.collect::<Result<Vec<Expr>>>()?, context)?;
            return if negated { build::unary(build::UnaryOperator::Not, any, context) } else { Ok(any) };
        }
        let Some(fields) = row_fields(operand) else {
            let operand = self.expression(operand)?;
            let list = self.expressions(list)?;
            return build::in_list(operand, list, negated, context);
        };
        let is_nested = fields.iter().any(|field| matches!(field, ast::Expr::Row(_)));
        let mut left = if is_nested { Vec::new() } else { self.expressions(fields)? };
        let mut rows = Vec::with_capacity(list.len());
        for candidate in list {
            let Some(candidate) = row_fields(candidate).filter(|candidate| candidate.len() == fields.len()) else {
                return Err(operand_columns(fields.len()));
            };
            rows.push(if is_nested {
                let row;
                (left, row) = self.row_pair(fields, candidate)?;
                row
            } else {
                self.expressions(candidate)?
            });
        }
        build::row_in_list(left, rows, negated, context)
    }

    fn function(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        let name = call.name.value.to_ascii_lowercase();
        if let Some(schema) = &call.schema {
            let found = self.stored_function(Some(&schema.value), call)?;
            return found.ok_or_else(|| {
                let message = format!("FUNCTION {}.{} does not exist", schema.value, call.name.value);
                Error::new(ErrorCode::SpDoesNotExist, message)
            });
        }
        if name == "grouping" {
            return self.grouping_call(call);
        }
        if let Some(aggregate) = self.aggregate_call(&name, call)? {
            return Ok(aggregate);
        }
        if !build::is_function(&name)
            && let Some(found) = self.stored_function(None, call)?
        {
            return Ok(found);
        }
        let arguments = self.arguments_of(&name, &call.arguments)?;
        build::function(&name, arguments, self.build())
    }
}

/// A value that the client bound, or a literal of a cached plan.
pub fn bound_parameter(ordinal: usize, sql_type: &SqlType) -> Expr {
    let coercibility = match sql_type.base {
        shoal_types::BaseType::Null => Coercibility::Ignorable,
        _ if sql_type.is_string() => Coercibility::Coercible,
        _ => Coercibility::Numeric,
    };
    Expr::constant_parameter(ordinal, sql_type.clone(), coercibility)
}

/// A constant as written. Strings are in the connection's character set unless they carry an introducer.
pub fn literal_expression(context: &BuildContext<'_>, literal: &LiteralValue) -> Result<Expr> {
    Ok(match literal {
        LiteralValue::Null => Expr::null(),
        LiteralValue::Boolean(truth) => Expr::boolean(*truth),
        LiteralValue::Integer(number) => integer_literal(*number),
        LiteralValue::Decimal(text) => {
            let decimal = Decimal::parse(text.as_bytes()).value;
            let sql_type = SqlType::decimal(u32::from(decimal.precision()), decimal.scale());
            Expr::literal(Value::Decimal(decimal), sql_type)
        }
        LiteralValue::Float(text) => {
            let number: f64 = text.parse().unwrap_or(f64::INFINITY);
            if !number.is_finite() {
                let message = format!("Illegal double '{text}' value found during parsing");
                return Err(Error::new(ErrorCode::IllegalValueForType, message));
            }
            Expr::literal(Value::Double(number), SqlType::double())
        }
        LiteralValue::String(text) => {
            let charset = match (&text.introducer, text.national) {
                (Some(name), _) => Some(Charset::resolve(name)?),
                (None, true) => Some(Charset::Utf8mb3),
                (None, false) => None,
            };
            let collation = charset.map_or(context.settings.collation_connection, Charset::default_collation);
            let bytes = match charset {
                None => client_text::string(&text.bytes, &context.settings),
                // N'...' is converted; an introducer takes the bytes for what it says.
                Some(charset) if text.introducer.is_none() => {
                    Charset::convert(&text.bytes, Charset::Utf8mb4, charset).bytes.into_owned()
                }
                Some(_) => client_text::introduced(&text.bytes, &context.settings),
            };
            string_literal(bytes, collation)
        }
        LiteralValue::Hex(literal) | LiteralValue::Bit(literal) => match &literal.introducer {
            Some(name) => string_literal(literal.bytes.clone(), Charset::resolve(name)?.default_collation()),
            None => Expr::hexadecimal(literal.bytes.clone()),
        },
    })
}

pub fn integer_literal(number: u64) -> Expr {
    let length = number.checked_ilog10().map_or(1, |digits| digits + 1);
    match i64::try_from(number) {
        Ok(signed) => Expr::literal(Value::Int(signed), SqlType { length: length + 1, ..SqlType::bigint(false) }),
        Err(_) => Expr::literal(Value::UInt(number), SqlType { length, ..SqlType::bigint(true) }),
    }
}

/// A string of `collation`'s character set.
pub fn string_literal(bytes: Vec<u8>, collation: Collation) -> Expr {
    let length = collation.charset().char_count(&bytes) as u32;
    Expr::literal(Value::Str(bytes), SqlType::varchar(length, collation))
}

/// The value and type of a literal, for binding it to a cached plan.
pub fn literal_value(context: &BuildContext<'_>, literal: &LiteralValue) -> Result<(Value, SqlType)> {
    let expression = literal_expression(context, literal)?;
    let value = expression.as_literal().cloned().unwrap_or_default();
    Ok((value, expression.sql_type().clone()))
}

pub fn comparison(operator: BinaryOperator) -> Option<shoal_expr::CompareOperator> {
    Some(match operator {
        BinaryOperator::Equal => CompareOperator::Equal,
        BinaryOperator::NullSafeEqual => CompareOperator::NullSafeEqual,
        BinaryOperator::NotEqual => CompareOperator::NotEqual,
        BinaryOperator::Less => CompareOperator::Less,
        BinaryOperator::LessOrEqual => CompareOperator::LessOrEqual,
        BinaryOperator::Greater => CompareOperator::Greater,
        BinaryOperator::GreaterOrEqual => CompareOperator::GreaterOrEqual,
        _ => return None,
    })
}

fn binary_operator(operator: BinaryOperator) -> build::BinaryOperator {
    use build::BinaryOperator as To;
    match operator {
        BinaryOperator::Add => To::Add,
        BinaryOperator::Subtract => To::Subtract,
        BinaryOperator::Multiply => To::Multiply,
        BinaryOperator::Divide => To::Divide,
        BinaryOperator::IntegerDivide => To::IntegerDivide,
        BinaryOperator::Modulo => To::Modulo,
        BinaryOperator::BitAnd => To::BitAnd,
        BinaryOperator::BitOr => To::BitOr,
        BinaryOperator::BitXor => To::BitXor,
        BinaryOperator::ShiftLeft => To::ShiftLeft,
        BinaryOperator::ShiftRight => To::ShiftRight,
        BinaryOperator::Equal => To::Equal,
        BinaryOperator::NullSafeEqual => To::NullSafeEqual,
        BinaryOperator::NotEqual => To::NotEqual,
        BinaryOperator::Less => To::Less,
        BinaryOperator::LessOrEqual => To::LessOrEqual,
        BinaryOperator::Greater => To::Greater,
        BinaryOperator::GreaterOrEqual => To::GreaterOrEqual,
        BinaryOperator::Xor => To::Xor,
        BinaryOperator::Concat => To::Concat,
        BinaryOperator::SoundsLike => To::SoundsLike,
    }
}

fn temporal_kind(kind: ast::TemporalKind) -> build::TemporalKind {
    match kind {
        ast::TemporalKind::Date => build::TemporalKind::Date,
        ast::TemporalKind::Time => build::TemporalKind::Time,
        ast::TemporalKind::Timestamp => build::TemporalKind::Timestamp,
    }
}

fn row_fields(expression: &ast::Expr) -> Option<&[ast::Expr]> {
    match expression {
        ast::Expr::Row(fields) => Some(fields),
        _ => None,
    }
}

pub fn operand_columns(count: usize) -> Error {
    Error::new(ErrorCode::OperandColumns, format!("Operand should contain {count} column(s)"))
}

pub fn interval_unit(unit: ast::IntervalUnit) -> shoal_types::IntervalUnit {
    use ast::IntervalUnit as From;
    use shoal_types::IntervalUnit as To;
    match unit {
        From::Microsecond => To::Microsecond,
        From::Second => To::Second,
        From::Minute => To::Minute,
        From::Hour => To::Hour,
        From::Day => To::Day,
        From::Week => To::Week,
        From::Month => To::Month,
        From::Quarter => To::Quarter,
        From::Year => To::Year,
        From::SecondMicrosecond => To::SecondMicrosecond,
        From::MinuteMicrosecond => To::MinuteMicrosecond,
        From::MinuteSecond => To::MinuteSecond,
        From::HourMicrosecond => To::HourMicrosecond,
        From::HourSecond => To::HourSecond,
        From::HourMinute => To::HourMinute,
        From::DayMicrosecond => To::DayMicrosecond,
        From::DaySecond => To::DaySecond,
        From::DayMinute => To::DayMinute,
        From::DayHour => To::DayHour,
        From::YearMonth => To::YearMonth,
    }
}
