//! Operators of expressions.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `NOT` and `!`.
    Not,
    Minus,
    Plus,
    BitNot,
    /// The `BINARY` operator.
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Xor,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    SoundsLike,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruthTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}
