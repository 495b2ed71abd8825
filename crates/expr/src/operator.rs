//! Operators, and as what their operands are taken.

use shoal_types::{Collation, Comparison};

/// What a function's result depends on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependence {
    /// The same arguments always give the same result.
    Nothing,
    /// The statement's clock, zone or session: the same for all rows.
    Statement,
    /// Anything: RAND(), UUID(), SLEEP().
    Volatile,
}

/// Comparisons of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOperator {
    /// `=`
    Equal,
    /// `<=>`: as `=`, but two NULLs are equal and NULL equals nothing else.
    NullSafeEqual,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
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

    /// The comparison of operands that are not NULL.
    #[inline]
    pub fn comparison(self) -> Comparison {
        match self {
            CompareOperator::Equal | CompareOperator::NullSafeEqual => Comparison::Equal,
            CompareOperator::NotEqual => Comparison::NotEqual,
            CompareOperator::Less => Comparison::Less,
            CompareOperator::LessOrEqual => Comparison::LessOrEqual,
            CompareOperator::Greater => Comparison::Greater,
            CompareOperator::GreaterOrEqual => Comparison::GreaterOrEqual,
        }
    }

    /// Whether an ordering of the operands satisfies the operator.
    #[inline]
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        self.comparison().holds(ordering)
    }

    /// As it is written in SQL.
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
    /// As integers of 64 bits, each with its own sign.
    Integer,
    /// As exact numbers.
    Decimal,
    /// As binary floating-point numbers.
    Double,
    /// As texts under this collation.
    Text(Collation),
    /// Dates and datetimes, as datetimes.
    DateTime,
    /// As durations.
    Time,
    /// By JSON's own order of types and values.
    Json,
}

/// Operators that compute with numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: never an integer division.
    Divide,
    /// `DIV`
    IntegerDivide,
    /// `%`
    Modulo,
}

impl ArithmeticOperator {
    /// As it is written in SQL.
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

/// Operators on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOperator {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

impl BitOperator {
    /// As it is written in SQL.
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
    /// 64 bits, signed or not; an overflow is error 1690.
    Integer,
    /// Exact, with a scale.
    Decimal,
    /// Binary floating point.
    Double,
}
