//! The tree of a typed expression.
//!
//! An [`Expr`] is immutable once built: the builder (`build`) has checked argument counts, derived the result type and
//! collation, folded constants and chosen how operands are compared. Evaluation (`eval`) only follows those choices.
//! An expression knows no tables: columns are positions in the input row, values of outer queries and of scalar
//! subqueries are parameter slots that the executor fills.

use std::sync::Arc;

use shoal_types::{BaseType, Collation, SqlType, Value};

use crate::collate::{self, Coercibility};
use crate::functions::Function;
use crate::operation::{CallData, Operation};

/// How deep calls may nest. Evaluation and dropping recurse, so this bounds the stack they need.
pub const MAX_DEPTH: u16 = 400;

/// A typed expression. Cheap to move; cloning copies the calls but shares big constant data.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Literal(Box<Literal>),
    /// A value of `EvalContext::parameters`: a `?`, an outer query's column or a subquery's result.
    Parameter(Box<Parameter>),
    Column(Box<ColumnRef>),
    Call(Box<Call>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    pub value: Value,
    pub sql_type: SqlType,
    pub coercibility: Coercibility,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub index: usize,
    pub sql_type: SqlType,
    pub nullable: bool,
    pub coercibility: Coercibility,
    /// The type is a guess until the parameter meets another operand, whose type it then takes.
    pub untyped: bool,
}

/// A column of the input row.
#[derive(Clone, Debug)]
pub struct ColumnRef {
    pub position: usize,
    pub sql_type: SqlType,
    pub nullable: bool,
    /// For messages only: `` `db`.`table`.`column` `` or an alias.
    pub name: Arc<str>,
}

impl PartialEq for ColumnRef {
    fn eq(&self, other: &ColumnRef) -> bool {
        self.position == other.position && self.sql_type == other.sql_type && self.nullable == other.nullable
    }
}

/// An operator or function with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub operation: Operation,
    pub arguments: Vec<Expr>,
    pub sql_type: SqlType,
    pub nullable: bool,
    pub coercibility: Coercibility,
    /// The collation that the arguments share, where it matters.
    pub collation: Collation,
    /// Prepared from constant arguments: a compiled pattern, the set of an IN list.
    pub(crate) data: CallData,
    pub(crate) depth: u16,
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.operation == other.operation
            && self.arguments == other.arguments
            && self.sql_type == other.sql_type
            && self.nullable == other.nullable
    }
}

impl Expr {
    pub fn literal(value: Value, sql_type: SqlType) -> Expr {
        let coercibility = Literal::coercibility_of(&value, &sql_type);
        Expr::Literal(Box::new(Literal { value, sql_type, coercibility }))
    }

    pub fn null() -> Expr {
        Expr::literal(Value::Null, SqlType::null())
    }

    /// TRUE or FALSE. Unlike the integers 1 and 0 they become true and false in JSON.
    pub fn boolean(truth: bool) -> Expr {
        let sql_type = SqlType { length: 1, ..SqlType::new(BaseType::TinyInt) };
        Expr::literal(Value::from(truth), sql_type)
    }

    /// An integer as it was written.
    pub fn integer(number: i64) -> Expr {
        let length = number.to_string().len() as u32;
        Expr::literal(Value::Int(number), SqlType { length, ..SqlType::bigint(false) })
    }

    /// A string literal of a collation.
    pub fn string(text: impl Into<Vec<u8>>, collation: Collation) -> Expr {
        let text = text.into();
        let length = collation.charset().char_count(&text) as u32;
        Expr::literal(Value::Str(text), SqlType::varchar(length, collation))
    }

    /// A hexadecimal or bit literal (`0x41`, `X'41'`, `b'1000001'`): bytes among strings, an unsigned integer among
    /// numbers.
    pub fn hexadecimal(bytes: impl Into<Vec<u8>>) -> Expr {
        let bytes = bytes.into();
        let sql_type = SqlType::varchar(bytes.len() as u32, Collation::BINARY);
        // Ordinary strings are never unsigned: that tells a hexadecimal literal from them, as in MySQL.
        Expr::literal(Value::Str(bytes), SqlType { unsigned: true, ..sql_type })
    }

    /// Turns a hexadecimal literal into the number that it is in a numeric context.
    pub fn hexadecimal_as_number(&mut self) {
        let Expr::Literal(literal) = self else {
            return;
        };
        if let (Value::Str(bytes), true) = (&literal.value, literal.sql_type.unsigned) {
            let tail = &bytes[bytes.len().saturating_sub(8)..];
            let number = tail.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            *self = Expr::literal(Value::UInt(number), SqlType::bigint(true));
        }
    }

    /// Yields a truth value rather than a number: a comparison, a logical operator, TRUE or FALSE.
    pub fn is_boolean(&self) -> bool {
        match self {
            Expr::Literal(literal) => literal.sql_type.base == BaseType::TinyInt && literal.sql_type.length == 1,
            Expr::Call(call) => call.operation.is_boolean(),
            _ => false,
        }
    }

    /// A column of the input row. `name` is used in messages.
    pub fn column(position: usize, sql_type: SqlType, nullable: bool, name: &str) -> Expr {
        Expr::Column(Box::new(ColumnRef { position, sql_type, nullable, name: Arc::from(name) }))
    }

    /// A slot of `EvalContext::parameters` whose type is known: an outer column, a subquery's result, a literal of a
    /// cached plan.
    pub fn parameter(index: usize, sql_type: SqlType, nullable: bool, coercibility: Coercibility) -> Expr {
        Expr::Parameter(Box::new(Parameter { index, sql_type, nullable, coercibility, untyped: false }))
    }

    pub fn sql_type(&self) -> &SqlType {
        match self {
            Expr::Literal(literal) => &literal.sql_type,
            Expr::Parameter(parameter) => &parameter.sql_type,
            Expr::Column(column) => &column.sql_type,
            Expr::Call(call) => &call.sql_type,
        }
    }

    pub fn nullable(&self) -> bool {
        match self {
            Expr::Literal(literal) => literal.value.is_null(),
            Expr::Parameter(parameter) => parameter.nullable,
            Expr::Column(column) => column.nullable,
            Expr::Call(call) => call.nullable,
        }
    }

    pub fn coercibility(&self) -> Coercibility {
        match self {
            Expr::Literal(literal) => literal.coercibility,
            Expr::Parameter(parameter) => parameter.coercibility,
            Expr::Column(column) => collate::coercibility_of_column(&column.sql_type),
            Expr::Call(call) => call.coercibility,
        }
    }

    pub fn is_null_literal(&self) -> bool {
        matches!(self, Expr::Literal(literal) if literal.value.is_null())
    }

    pub fn as_literal(&self) -> Option<&Value> {
        match self {
            Expr::Literal(literal) => Some(&literal.value),
            _ => None,
        }
    }

    /// The position of a bare column.
    pub fn as_column(&self) -> Option<usize> {
        match self {
            Expr::Column(column) => Some(column.position),
            _ => None,
        }
    }

    /// Yields the same value for every row of one execution: no columns, nothing random, no side effects.
    /// Parameters count as constant.
    pub fn is_constant(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Column(_) => false,
            Expr::Call(call) => call.operation.is_stable(),
            _ => true,
        })
    }

    /// Yields the same value whenever and wherever it is evaluated: constant, and free of parameters, the clock, the
    /// time zone and the session. Such an expression is folded when it is built.
    pub fn is_foldable(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Column(_) | Expr::Parameter(_) => false,
            Expr::Call(call) => call.operation.is_pure(),
            Expr::Literal(_) => true,
        })
    }

    /// Gives the same value for the same row within one execution, so it can be evaluated once, later or elsewhere.
    pub fn is_deterministic(&self) -> bool {
        self.all(&mut |expr| match expr {
            Expr::Call(call) => call.operation.is_stable(),
            _ => true,
        })
    }

    /// Needs `EvalContext::session` (user variables, DATABASE(), SLEEP(), RAND() ...): not to be sent to a data node.
    pub fn needs_session(&self) -> bool {
        !self.all(&mut |expr| match expr {
            Expr::Call(call) => !call.operation.needs_session(),
            _ => true,
        })
    }

    /// `test` holds for this expression and everything below it.
    pub fn all(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) && self.arguments().iter().all(|argument| argument.all(test))
    }

    /// Calls `visit` for this expression and everything below it, parents first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        for argument in self.arguments() {
            argument.walk(visit);
        }
    }

    pub fn arguments(&self) -> &[Expr] {
        match self {
            Expr::Call(call) => &call.arguments,
            _ => &[],
        }
    }

    /// Rebuilds the tree from the leaves up: `change` sees each expression after its arguments were changed. The
    /// replacement of an expression must have its type.
    pub fn transform(self, change: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        match self {
            Expr::Call(mut call) => {
                call.arguments =
                    std::mem::take(&mut call.arguments).into_iter().map(|arg| arg.transform(change)).collect();
                change(Expr::Call(call))
            }
            leaf => change(leaf),
        }
    }

    /// Moves every column to the position that `position` gives for its present one.
    pub fn map_columns(self, position: &mut dyn FnMut(usize) -> usize) -> Expr {
        self.transform(&mut |expr| match expr {
            Expr::Column(mut column) => {
                column.position = position(column.position);
                Expr::Column(column)
            }
            other => other,
        })
    }

    /// The positions of the columns it reads, ascending, each once.
    pub fn columns_used(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Column(column) = expr {
                columns.push(column.position);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The parameter slots it reads, ascending, each once.
    pub fn parameters_used(&self) -> Vec<usize> {
        let mut parameters = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Parameter(parameter) = expr {
                parameters.push(parameter.index);
            }
        });
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }

    /// The function it calls at the top, if it is a call of one.
    pub fn function(&self) -> Option<&'static Function> {
        match self {
            Expr::Call(call) => match call.operation {
                Operation::Function(function) => Some(function),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn depth(&self) -> u16 {
        match self {
            Expr::Call(call) => call.depth,
            _ => 1,
        }
    }
}
