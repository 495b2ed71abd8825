//! The operators of an expression and what the builder prepared for them.
//!
//! Operators that need not evaluate all their arguments, or that have fast paths, are variants of [`Operation`];
//! all others are [`Function`]s of the registry, which get their arguments evaluated.

use std::sync::Arc;

use shoal_types::{Collation, IntervalUnit};

use crate::functions::Function;
use crate::like::LikePattern;
use crate::membership::ConstantSet;

#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Two or more arguments.
    And,
    Or,
    Xor,
    Not,
    Compare(CompareOperator, Comparator),
    /// value, low, high.
    Between {
        negated: bool,
        low: Comparator,
        high: Comparator,
    },
    /// value, candidates. One comparator a candidate.
    In {
        negated: bool,
        comparators: Arc<[Comparator]>,
    },
    IsNull {
        negated: bool,
    },
    /// IS [NOT] TRUE and IS [NOT] FALSE.
    IsTruth {
        truth: bool,
        negated: bool,
    },
    /// text, pattern, and perhaps an escape.
    Like {
        negated: bool,
        collation: Collation,
    },
    Arithmetic(ArithmeticOperator, NumberClass),
    Negate(NumberClass),
    Bits(BitOperator),
    BitNot,
    /// condition, result, condition, result, ..., else.
    Case,
    /// operand, candidate, result, candidate, result, ..., else. One comparator a candidate.
    CaseOf(Arc<[Comparator]>),
    If,
    /// IFNULL and COALESCE.
    Coalesce,
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
        unit: IntervalUnit,
        subtract: bool,
    },
    Extract(IntervalUnit),
    /// TIMESTAMPDIFF.
    TimestampDifference(IntervalUnit),
    UserVariable(Arc<str>),
    AssignVariable(Arc<str>),
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

    pub fn needs_session(&self) -> bool {
        match self {
            Operation::UserVariable(_) | Operation::AssignVariable(_) => true,
            Operation::Function(function) => function.session,
            _ => false,
        }
    }
}

/// What a function's result depends on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependence {
    Nothing,
    /// The statement's clock, zone or session: the same for all rows.
    Statement,
    /// Anything: RAND(), UUID(), SLEEP().
    Volatile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOperator {
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl CompareOperator {
    /// The operator for exchanged operands.
    pub fn mirrored(self) -> CompareOperator {
        match self {
            CompareOperator::Less => CompareOperator::Greater,
            CompareOperator::LessOrEqual => CompareOperator::GreaterOrEqual,
            CompareOperator::Greater => CompareOperator::Less,
            CompareOperator::GreaterOrEqual => CompareOperator::LessOrEqual,
            same => same,
        }
    }

    /// The operator that is true where this one is false (NULL apart); `<=>` has none.
    pub fn negated(self) -> Option<CompareOperator> {
        Some(match self {
            CompareOperator::Equal => CompareOperator::NotEqual,
            CompareOperator::NotEqual => CompareOperator::Equal,
            CompareOperator::Less => CompareOperator::GreaterOrEqual,
            CompareOperator::LessOrEqual => CompareOperator::Greater,
            CompareOperator::Greater => CompareOperator::LessOrEqual,
            CompareOperator::GreaterOrEqual => CompareOperator::Less,
            CompareOperator::NullSafeEqual => return None,
        })
    }

    /// Whether an ordering of the operands satisfies the operator.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            CompareOperator::Equal | CompareOperator::NullSafeEqual => ordering.is_eq(),
            CompareOperator::NotEqual => ordering.is_ne(),
            CompareOperator::Less => ordering.is_lt(),
            CompareOperator::LessOrEqual => ordering.is_le(),
            CompareOperator::Greater => ordering.is_gt(),
            CompareOperator::GreaterOrEqual => ordering.is_ge(),
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            CompareOperator::Equal => "=",
            CompareOperator::NullSafeEqual => "<=>",
            CompareOperator::NotEqual => "<>",
            CompareOperator::Less => "<",
            CompareOperator::LessOrEqual => "<=",
            CompareOperator::Greater => ">",
            CompareOperator::GreaterOrEqual => ">=",
        }
    }
}

/// As what two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    Integer,
    Decimal,
    Double,
    Text(Collation),
    /// Dates and datetimes, as datetimes.
    DateTime,
    Time,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
}

impl ArithmeticOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOperator::Add => "+",
            ArithmeticOperator::Subtract => "-",
            ArithmeticOperator::Multiply => "*",
            ArithmeticOperator::Divide => "/",
            ArithmeticOperator::IntegerDivide => "DIV",
            ArithmeticOperator::Modulo => "%",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOperator {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

impl BitOperator {
    pub fn symbol(self) -> &'static str {
        match self {
            BitOperator::And => "&",
            BitOperator::Or => "|",
            BitOperator::Xor => "^",
            BitOperator::ShiftLeft => "<<",
            BitOperator::ShiftRight => ">>",
        }
    }
}

/// In which kind of number arithmetic is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberClass {
    Integer,
    Decimal,
    Double,
}

/// Built once from constant arguments; follows from them, so it takes no part in equality.
#[derive(Clone, Debug, Default)]
pub(crate) enum CallData {
    #[default]
    None,
    Like(Arc<LikePattern>),
    Set(Arc<ConstantSet>),
}
