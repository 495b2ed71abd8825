//! Operators as the syntax tree names them.

use shoal_types::Result;

use super::arithmetic::{arithmetic, bit_not, bits, negate};
use super::logic::xor;
use super::{BuildContext, and, binary_cast, comparison, function, not, or};
use crate::expr::Expr;
use crate::operator::{ArithmeticOperator, BitOperator, CompareOperator};

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// DIV
    IntegerDivide,
    /// `%` and MOD
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `=`
    Equal,
    /// `<=>`
    NullSafeEqual,
    /// `<>` and `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// AND and `&&`
    And,
    /// OR, and `||` without PIPES_AS_CONCAT
    Or,
    /// XOR
    Xor,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
    /// SOUNDS LIKE
    SoundsLike,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// NOT and `!`
    Not,
    /// `-`
    Minus,
    /// `+`, which changes nothing.
    Plus,
    /// `~`
    BitNot,
    /// BINARY expr: the string with the binary collation.
    Binary,
}

/// Builds a call by MySQL's rules for the operands' types and collations. Errors: operands that do not go together, a
/// tree that is too deep.
pub fn binary(operator: BinaryOperator, left: Expr, right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    use BinaryOperator as B;
    match operator {
        B::Add => arithmetic(ArithmeticOperator::Add, left, right, ctx),
        B::Subtract => arithmetic(ArithmeticOperator::Subtract, left, right, ctx),
        B::Multiply => arithmetic(ArithmeticOperator::Multiply, left, right, ctx),
        B::Divide => arithmetic(ArithmeticOperator::Divide, left, right, ctx),
        B::IntegerDivide => arithmetic(ArithmeticOperator::IntegerDivide, left, right, ctx),
        B::Modulo => arithmetic(ArithmeticOperator::Modulo, left, right, ctx),
        B::BitAnd => bits(BitOperator::And, left, right, ctx),
        B::BitOr => bits(BitOperator::Or, left, right, ctx),
        B::BitXor => bits(BitOperator::Xor, left, right, ctx),
        B::ShiftLeft => bits(BitOperator::ShiftLeft, left, right, ctx),
        B::ShiftRight => bits(BitOperator::ShiftRight, left, right, ctx),
        B::Equal => comparison(CompareOperator::Equal, left, right, ctx),
        B::NullSafeEqual => comparison(CompareOperator::NullSafeEqual, left, right, ctx),
        B::NotEqual => comparison(CompareOperator::NotEqual, left, right, ctx),
        B::Less => comparison(CompareOperator::Less, left, right, ctx),
        B::LessOrEqual => comparison(CompareOperator::LessOrEqual, left, right, ctx),
        B::Greater => comparison(CompareOperator::Greater, left, right, ctx),
        B::GreaterOrEqual => comparison(CompareOperator::GreaterOrEqual, left, right, ctx),
        B::And => and(vec![left, right], ctx),
        B::Or => or(vec![left, right], ctx),
        B::Xor => xor(left, right, ctx),
        B::Concat => function("CONCAT", vec![left, right], ctx),
        B::SoundsLike => {
            let (left, right) = (function("SOUNDEX", vec![left], ctx)?, function("SOUNDEX", vec![right], ctx)?);
            comparison(CompareOperator::Equal, left, right, ctx)
        }
    }
}

/// Builds a call by MySQL's rules for the operand's type. Errors as [`binary`].
pub fn unary(operator: UnaryOperator, operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    match operator {
        UnaryOperator::Not => not(operand, ctx),
        UnaryOperator::Minus => negate(operand, ctx),
        UnaryOperator::Plus => Ok(operand),
        UnaryOperator::BitNot => bit_not(operand, ctx),
        UnaryOperator::Binary => binary_cast(operand, ctx),
    }
}
