//! The tree of a typed expression.
//!
//! An [`Expr`] is immutable once built: the builder (`build`) has checked argument counts, derived the result type and
//! collation, folded constants and chosen how operands are compared. Evaluation (`eval`) only follows those choices.
//! An expression knows no tables: columns are positions in the input row, values of outer queries and of scalar
//! subqueries are parameter slots that the executor fills.
//!
//! Operators that need not evaluate all their arguments, or that have fast paths, are variants of [`Operation`]; all others are
//! [`Function`]s of the registry (`functions`), which get their arguments evaluated.

use std::sync::Arc;

use shoal_types::{BaseType, Collation, IntervalUnit, Result, SqlType, Value};

use crate::build_context::BuildContext;
use crate::coercibility::{Coercibility, coercibility_of_column, coercibility_of_literal};
use crate::context::EvalContext;
use crate::like::LikePattern;
use crate::membership::ConstantSet;
use crate::operator::{ArithmeticOperator, BitOperator, Comparator, CompareOperator, Dependence, NumberClass};

/// How deep calls may nest. Evaluation and dropping recurse, so this bounds the stack they need.
pub const MAX_DEPTH: u16 = 400;

/// A typed expression. Cheap to move; cloning copies the calls but shares big constant data.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant of the statement.
    Literal(Box<Literal>),
    /// A value of `EvalContext::parameters`: a `?`, an outer query's column or a subquery's result.
    Parameter(Box<Parameter>),
    /// A column of the input row.
    Column(Box<ColumnRef>),
    /// An operator or function with its arguments.
    Call(Box<Call>),
}

/// A constant with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// Of the type, or NULL.
    pub value: Value,
    /// What the value is taken to be.
    pub sql_type: SqlType,
    /// Texts are coercible, numbers weaker, NULL the weakest.
    pub coercibility: Coercibility,
}

/// A slot of `EvalContext::parameters`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Position in `EvalContext::parameters`.
    pub index: usize,
    /// What its values are taken to be.
    pub sql_type: SqlType,
    /// Its value may be NULL.
    pub nullable: bool,
    /// Of what the slot stands for.
    pub coercibility: Coercibility,
    /// The type is a guess until the parameter meets another operand, whose type it then takes.
    pub untyped: bool,
    /// It stands for a constant of the statement, not for a column of a query around.
    pub is_constant: bool,
    /// What the statement calls it, if that is not `?`: a variable of a stored program.
    pub name: Option<Arc<str>>,
}

/// A column of the input row.
#[derive(Clone, Debug)]
pub struct ColumnRef {
    /// In the input row.
    pub position: usize,
    /// The column's declared type.
    pub sql_type: SqlType,
    /// Its value may be NULL, by its declaration or as the inner side of an outer join.
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
    /// What is done.
    pub operation: Operation,
    /// In the order that the operation says.
    pub arguments: Vec<Expr>,
    /// Of the result.
    pub sql_type: SqlType,
    /// The result may be NULL.
    pub nullable: bool,
    /// Of the result, where it meets other texts.
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

/// Built once from constant arguments; follows from them, so it takes no part in equality.
#[derive(Clone, Debug, Default)]
pub(crate) enum CallData {
    #[default]
    None,
    Like(Arc<LikePattern>),
    Set(Arc<ConstantSet>),
}

impl Expr {
    /// A constant whose coercibility follows from its value and type.
    pub fn literal(value: Value, sql_type: SqlType) -> Expr {
        let coercibility = coercibility_of_literal(&value, &sql_type);
        Expr::Literal(Box::new(Literal { value, sql_type, coercibility }))
    }

    /// The literal NULL.
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
        Expr::typed_parameter(index, sql_type, nullable, coercibility, false)
    }

    /// The same of what stands for a constant of the statement.
    pub fn constant_parameter(index: usize, sql_type: SqlType, coercibility: Coercibility) -> Expr {
        Expr::typed_parameter(index, sql_type, true, coercibility, true)
    }

    fn typed_parameter(
        index: usize,
        sql_type: SqlType,
        nullable: bool,
        coercibility: Coercibility,
        is_constant: bool,
    ) -> Expr {
        let (untyped, name) = (false, None);
        Expr::Parameter(Box::new(Parameter {
            index,
            sql_type,
            nullable,
            coercibility,
            untyped,
            is_constant,
            name,
        }))
    }

    /// A parameter as messages call it.
    pub fn called(mut self, name: &str) -> Expr {
        if let Expr::Parameter(parameter) = &mut self {
            parameter.name = Some(Arc::from(name));
        }
        self
    }

    /// Of the values that it yields.
    pub fn sql_type(&self) -> &SqlType {
        match self {
            Expr::Literal(literal) => &literal.sql_type,
            Expr::Parameter(parameter) => &parameter.sql_type,
            Expr::Column(column) => &column.sql_type,
            Expr::Call(call) => &call.sql_type,
        }
    }

    /// It may yield NULL.
    pub fn nullable(&self) -> bool {
        match self {
            Expr::Literal(literal) => literal.value.is_null(),
            Expr::Parameter(parameter) => parameter.nullable,
            Expr::Column(column) => column.nullable,
            Expr::Call(call) => call.nullable,
        }
    }

    /// How strongly its collation counts where it meets other texts.
    pub fn coercibility(&self) -> Coercibility {
        match self {
            Expr::Literal(literal) => literal.coercibility,
            Expr::Parameter(parameter) => parameter.coercibility,
            Expr::Column(column) => coercibility_of_column(&column.sql_type),
            Expr::Call(call) => call.coercibility,
        }
    }

    /// It is a constant, and NULL.
    pub fn is_null_literal(&self) -> bool {
        matches!(self, Expr::Literal(literal) if literal.value.is_null())
    }

    /// The value of a bare constant.
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

    /// Of a call; empty for everything else.
    pub fn arguments(&self) -> &[Expr] {
        match self {
            Expr::Call(call) => &call.arguments,
            _ => &[],
        }
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

/// What a call does with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Two or more arguments.
    And,
    /// Two or more arguments.
    Or,
    /// Two arguments.
    Xor,
    /// One argument.
    Not,
    /// Two arguments, compared as the comparator says.
    Compare(CompareOperator, Comparator),
    /// value, low, high.
    Between {
        /// NOT BETWEEN.
        negated: bool,
        /// For value and low.
        low: Comparator,
        /// For value and high.
        high: Comparator,
    },
    /// value, candidates. One comparator a candidate.
    In {
        /// NOT IN.
        negated: bool,
        /// In the candidates' order.
        comparators: Arc<[Comparator]>,
    },
    /// IS [NOT] NULL.
    IsNull {
        /// IS NOT NULL.
        negated: bool,
    },
    /// IS [NOT] TRUE and IS [NOT] FALSE.
    IsTruth {
        /// TRUE rather than FALSE.
        truth: bool,
        /// IS NOT.
        negated: bool,
    },
    /// text, pattern, and perhaps an escape.
    Like {
        /// NOT LIKE.
        negated: bool,
        /// Under which characters are the same.
        collation: Collation,
    },
    /// Two arguments, computed in this kind of number.
    Arithmetic(ArithmeticOperator, NumberClass),
    /// Minus.
    Negate(NumberClass),
    /// Two arguments, as unsigned integers of 64 bits or as binary strings.
    Bits(BitOperator),
    /// `~`
    BitNot,
    /// condition, result, condition, result, ..., else.
    Case,
    /// operand, candidate, result, candidate, result, ..., else. One comparator a candidate.
    CaseOf(Arc<[Comparator]>),
    /// condition, yes, no.
    If,
    /// IFNULL and COALESCE.
    Coalesce,
    /// NULLIF: the first argument, or NULL if both are equal.
    NullIf(Comparator),
    /// The argument as the call's type. Implicit conversions between branches of CASE and the like.
    Convert {
        /// CAST truncates silently where an implicit conversion is exact by construction.
        explicit: bool,
    },
    /// Relabels a string with the call's collation (COLLATE), without touching its bytes.
    Collate,
    /// Temporal value, amount.
    AddInterval {
        /// Of the amount.
        unit: IntervalUnit,
        /// DATE_SUB rather than DATE_ADD.
        subtract: bool,
    },
    /// EXTRACT(unit FROM argument).
    Extract(IntervalUnit),
    /// TIMESTAMPDIFF.
    TimestampDifference(IntervalUnit),
    /// `@name`, without arguments.
    UserVariable(Arc<str>),
    /// `@name := argument`.
    AssignVariable(Arc<str>),
    /// predicate, column, elements: yields what the predicate does. It can be true only for rows whose array, which the hidden column
    /// of a multi-valued key part keeps, has one of the elements.
    OfElements,
    /// A function of the registry.
    Function(&'static Function),
}

impl Operation {
    /// Same arguments, same result, within one execution; no side effects.
    pub fn is_stable(&self) -> bool {
        match self {
            Operation::UserVariable(_) | Operation::AssignVariable(_) => false,
            Operation::Function(function) => function.dependence <= Dependence::Statement,
            _ => true,
        }
    }

    /// Same arguments, same result, always.
    pub fn is_pure(&self) -> bool {
        match self {
            Operation::UserVariable(_) | Operation::AssignVariable(_) => false,
            Operation::Function(function) => function.dependence == Dependence::Nothing,
            _ => true,
        }
    }

    /// Yields 0, 1 or NULL and nothing else.
    pub fn is_boolean(&self) -> bool {
        matches!(
            self,
            Operation::And
                | Operation::Or
                | Operation::Xor
                | Operation::Not
                | Operation::Compare(..)
                | Operation::Between { .. }
                | Operation::In { .. }
                | Operation::IsNull { .. }
                | Operation::IsTruth { .. }
                | Operation::Like { .. }
        )
    }

    /// It fails where there is no session: at data nodes.
    pub fn needs_session(&self) -> bool {
        match self {
            Operation::UserVariable(_) | Operation::AssignVariable(_) => true,
            Operation::Function(function) => function.session,
            _ => false,
        }
    }
}

pub(crate) type DeriveFunction = fn(&mut Derivation<'_>) -> Result<ResultType>;
pub(crate) type EvaluateFunction = fn(&Call, &mut [Value], &mut EvalContext<'_>) -> Result<Value>;

/// A function of the registry.
pub struct Function {
    /// In upper case.
    pub name: &'static str,
    /// Fewer are error 1582.
    pub arguments_min: usize,
    /// More are error 1582.
    pub arguments_max: usize,
    /// What its result depends on besides its arguments.
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

/// The arguments of a call while its type is derived. A function may convert its arguments here.
pub(crate) struct Derivation<'a> {
    pub name: &'static str,
    pub arguments: &'a mut Vec<Expr>,
    pub ctx: &'a BuildContext<'a>,
}

/// The type of a call.
pub(crate) struct ResultType {
    pub sql_type: SqlType,
    pub nullable: bool,
    pub coercibility: Coercibility,
    /// The collation that the arguments share.
    pub collation: Collation,
}

impl ResultType {
    /// May be NULL even if no argument is.
    pub fn nullable(mut self) -> ResultType {
        self.nullable = true;
        self
    }

    pub fn not_null(mut self) -> ResultType {
        self.nullable = false;
        self
    }

    pub fn with_collation(mut self, collation: Collation) -> ResultType {
        self.collation = collation;
        self
    }

    pub fn system_constant(mut self) -> ResultType {
        self.coercibility = Coercibility::SysConst;
        self
    }
}
