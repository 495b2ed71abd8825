//! Operators, by precedence climbing.
//!
//! Precedence follows MySQL's grammar, not only the manual's table: predicates (IN, LIKE, BETWEEN, REGEXP) bind tighter than comparisons and do
//! not chain; the right side of `:=` takes everything.

use super::{EXPRESSION_HEIGHT_MAX, Parser, Result};
use crate::ast::{BinaryOperator, Expr, FunctionCall, Ident, IntervalUnit, Quantifier, TruthTest, UnaryOperator};
use crate::lexer::TokenKind;
use crate::{ParseErrorKind, ParserMode};

/// Binding powers; a higher one binds tighter.
pub(super) mod power {
    pub const LOWEST: u8 = 0;
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADDITIVE: u8 = 10;
    pub const MULTIPLICATIVE: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    pub const CONCAT: u8 = 13;
    pub const UNARY: u8 = 14;
    pub const BANG: u8 = 15;
    pub const COLLATE: u8 = 16;
}

/// What stands between operands, or behind one.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOperator),
    Comparison(BinaryOperator),
    And,
    Or,
    /// IS.
    Is,
    /// IN, LIKE, BETWEEN, REGEXP behind an optional NOT.
    Predicate {
        negated: bool,
        word: Predicate,
    },
    SoundsLike,
    MemberOf,
    Collate,
}

#[derive(Clone, Copy)]
enum Predicate {
    In,
    Like,
    Between,
    Regexp,
}

/// A plain call.
pub(super) fn call(name: Ident, arguments: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall { schema: None, name, distinct: false, star: false, arguments }))
}

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.expression(power::LOWEST)
    }

    /// `( expr, .. )`.
    pub(super) fn exprs_in_parens(&mut self) -> Result<Vec<Expr>> {
        self.paren_list(Self::expr)
    }

    /// An expression whose operators bind at least as tight as `minimum`. Leaves `self.height` at least at the expression's height.
    pub(super) fn expression(&mut self, minimum: u8) -> Result<Expr> {
        self.enter(|parser| {
            let outer = std::mem::replace(&mut parser.height, 0);
            let left = parser.prefix(minimum)?;
            parser.height += 1;
            let expr = parser.resume(left, minimum)?;
            parser.height = parser.height.max(outer);
            Ok(expr)
        })
    }

    /// Goes on behind `left`, whose height is `self.height`.
    pub(super) fn resume(&mut self, mut left: Expr, minimum: u8) -> Result<Expr> {
        let mut height = self.height;
        // What binds tighter than the operator before has been taken by that operator's right side.
        let mut ceiling = u8::MAX;
        while let Some((operator, power)) = self.infix_operator() {
            if power < minimum || power > ceiling {
                break;
            }
            self.height = 0;
            let grows = !matches!((operator, &left), (Infix::And, Expr::And(_)) | (Infix::Or, Expr::Or(_)));
            left = self.infix(left, operator, power)?;
            height = if grows { height.max(self.height) + 1 } else { height.max(self.height + 1) };
            if height > EXPRESSION_HEIGHT_MAX {
                return Err(self.error_of(ParseErrorKind::TooNested));
            }
            ceiling = if power == power::PREDICATE { power - 1 } else { power };
        }
        self.height = height;
        Ok(left)
    }

    /// The operator at the current token, which is not taken.
    fn infix_operator(&self) -> Option<(Infix, u8)> {
        use BinaryOperator::*;
        let binary = |operator, power| Some((Infix::Binary(operator), power));
        let comparison = |operator| Some((Infix::Comparison(operator), power::COMPARISON));
        match self.token.kind {
            TokenKind::Equal => comparison(Equal),
            TokenKind::NullSafeEqual => comparison(NullSafeEqual),
            TokenKind::NotEqual => comparison(NotEqual),
            TokenKind::Less => comparison(Less),
            TokenKind::LessOrEqual => comparison(LessOrEqual),
            TokenKind::Greater => comparison(Greater),
            TokenKind::GreaterOrEqual => comparison(GreaterOrEqual),
            TokenKind::Plus => binary(Add, power::ADDITIVE),
            TokenKind::Minus => binary(Subtract, power::ADDITIVE),
            TokenKind::Star => binary(Multiply, power::MULTIPLICATIVE),
            TokenKind::Slash => binary(Divide, power::MULTIPLICATIVE),
            TokenKind::Percent => binary(Modulo, power::MULTIPLICATIVE),
            TokenKind::Pipe => binary(BitOr, power::BIT_OR),
            TokenKind::Ampersand => binary(BitAnd, power::BIT_AND),
            TokenKind::Caret => binary(BitXor, power::BIT_XOR),
            TokenKind::ShiftLeft => binary(ShiftLeft, power::SHIFT),
            TokenKind::ShiftRight => binary(ShiftRight, power::SHIFT),
            TokenKind::AmpersandAmpersand => Some((Infix::And, power::AND)),
            TokenKind::PipePipe if self.mode.contains(ParserMode::PIPES_AS_CONCAT) => {
                binary(Concat, power::CONCAT)
            }
            TokenKind::PipePipe => Some((Infix::Or, power::OR)),
            TokenKind::Word => self.infix_word(),
            _ => None,
        }
    }

    fn infix_word(&self) -> Option<(Infix, u8)> {
        use BinaryOperator::*;
        let upper = self.upper();
        let predicate = |negated, word| Some((Infix::Predicate { negated, word }, power::PREDICATE));
        match upper.as_str() {
            "AND" => Some((Infix::And, power::AND)),
            "OR" => Some((Infix::Or, power::OR)),
            "XOR" => Some((Infix::Binary(Xor), power::XOR)),
            "IS" => Some((Infix::Is, power::COMPARISON)),
            "DIV" => Some((Infix::Binary(IntegerDivide), power::MULTIPLICATIVE)),
            "MOD" => Some((Infix::Binary(Modulo), power::MULTIPLICATIVE)),
            "COLLATE" => Some((Infix::Collate, power::COLLATE)),
            "IN" => predicate(false, Predicate::In),
            "LIKE" => predicate(false, Predicate::Like),
            "BETWEEN" => predicate(false, Predicate::Between),
            "REGEXP" | "RLIKE" => predicate(false, Predicate::Regexp),
            "NOT" if self.peek_is(1, "IN") => predicate(true, Predicate::In),
            "NOT" if self.peek_is(1, "LIKE") => predicate(true, Predicate::Like),
            "NOT" if self.peek_is(1, "BETWEEN") => predicate(true, Predicate::Between),
            "NOT" if self.peek_is(1, "REGEXP") || self.peek_is(1, "RLIKE") => predicate(true, Predicate::Regexp),
            "SOUNDS" if self.peek_is(1, "LIKE") => Some((Infix::SoundsLike, power::PREDICATE)),
            "MEMBER" if self.peek_is(1, "OF") || self.peek(1).kind == TokenKind::LeftParen => {
                Some((Infix::MemberOf, power::PREDICATE))
            }
            _ => None,
        }
    }

    /// Takes the operator and what follows it.
    #[inline(never)]
    fn infix(&mut self, left: Expr, operator: Infix, power: u8) -> Result<Expr> {
        self.advance();
        match operator {
            Infix::Binary(operator @ (BinaryOperator::Add | BinaryOperator::Subtract)) if self.at("INTERVAL") => {
                self.interval_operand(left, operator)
            }
            Infix::Binary(operator) => {
                let right = self.expression(power + 1)?;
                Ok(binary(operator, left, right))
            }
            Infix::Comparison(operator) => self.comparison(left, operator),
            Infix::And => {
                let right = self.expression(power::AND + 1)?;
                let mut operands = match left {
                    Expr::And(operands) => operands,
                    left => vec![left],
                };
                operands.push(right);
                Ok(Expr::And(operands))
            }
            Infix::Or => {
                let right = self.expression(power::OR + 1)?;
                let mut operands = match left {
                    Expr::Or(operands) => operands,
                    left => vec![left],
                };
                operands.push(right);
                Ok(Expr::Or(operands))
            }
            Infix::Is => self.truth_test(left),
            Infix::Predicate { negated, word } => {
                if negated {
                    self.advance();
                }
                self.predicate(left, word, negated)
            }
            Infix::SoundsLike => {
                self.expect("LIKE")?;
                let right = self.expression(power::BIT_OR)?;
                Ok(binary(BinaryOperator::SoundsLike, left, right))
            }
            Infix::MemberOf => {
                self.eat("OF");
                self.expect_kind(TokenKind::LeftParen)?;
                let array = Box::new(self.expr()?);
                self.expect_kind(TokenKind::RightParen)?;
                let value = Box::new(left);
                Ok(Expr::MemberOf { value, array })
            }
            Infix::Collate => {
                let collation = self.charset_ident()?;
                let operand = Box::new(left);
                Ok(Expr::Collate { operand, collation })
            }
        }
    }

    #[inline(never)]
    fn comparison(&mut self, left: Expr, operator: BinaryOperator) -> Result<Expr> {
        let quantifier = if self.at_any(&["ANY", "SOME"]) {
            Some(Quantifier::Any)
        } else if self.at("ALL") {
            Some(Quantifier::All)
        } else {
            None
        };
        match quantifier {
            // ANY and SOME are names unless a parenthesis follows.
            Some(quantifier) if self.peek(1).kind == TokenKind::LeftParen => {
                self.advance();
                Ok(Expr::Quantified { operator, quantifier, left: Box::new(left), query: self.query_in_parens()? })
            }
            _ => {
                let right = self.expression(power::COMPARISON + 1)?;
                Ok(binary(operator, left, right))
            }
        }
    }

    #[inline(never)]
    fn truth_test(&mut self, left: Expr) -> Result<Expr> {
        let negated = self.eat("NOT");
        let test = match self.upper().as_str() {
            "NULL" => TruthTest::Null,
            "TRUE" => TruthTest::True,
            "FALSE" => TruthTest::False,
            "UNKNOWN" => TruthTest::Unknown,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Expr::Is { operand: Box::new(left), test, negated })
    }

    #[inline(never)]
    fn predicate(&mut self, left: Expr, word: Predicate, negated: bool) -> Result<Expr> {
        let operand = Box::new(left);
        match word {
            Predicate::In => self.in_predicate(operand, negated),
            Predicate::Like => {
                let pattern = Box::new(self.expression(power::BIT_OR)?);
                let escape =
                    if self.eat("ESCAPE") { Some(Box::new(self.expression(power::UNARY)?)) } else { None };
                Ok(Expr::Like { operand, pattern, escape, negated })
            }
            Predicate::Between => {
                let low = Box::new(self.expression(power::BIT_OR)?);
                self.expect("AND")?;
                let high = Box::new(self.expression(power::PREDICATE)?);
                Ok(Expr::Between { operand, low, high, negated })
            }
            Predicate::Regexp => {
                let pattern = Box::new(self.expression(power::BIT_OR)?);
                Ok(Expr::Regexp { operand, pattern, negated })
            }
        }
    }

    #[inline(never)]
    fn in_predicate(&mut self, operand: Box<Expr>, negated: bool) -> Result<Expr> {
        if self.peeks_query_in_parens() {
            let query = self.query_in_parens()?;
            return Ok(Expr::InSubquery { operand, query, negated });
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let first = self.expr()?;
        let query = match first {
            Expr::Subquery(query) if self.at_query_continuation() => self.continue_query(query)?,
            // IN ((SELECT ..)) is a subquery in MySQL too.
            Expr::Subquery(query) if self.at_kind(TokenKind::RightParen) => query,
            first => {
                let list = self.rest_of_list(first)?;
                return Ok(Expr::InList { operand, list, negated });
            }
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::InSubquery { operand, query, negated })
    }

    /// The expressions behind `first` up to the closing parenthesis.
    fn rest_of_list(&mut self, first: Expr) -> Result<Vec<Expr>> {
        let mut list = vec![first];
        while self.eat_kind(TokenKind::Comma) {
            list.push(self.expr()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(list)
    }

    /// NOT, which is an operand of AND, OR, XOR and NOT alone unless HIGH_NOT_PRECEDENCE makes it `!`.
    #[inline(never)]
    pub(super) fn not_operator(&mut self, minimum: u8) -> Result<Expr> {
        let operand_power = if self.mode.contains(ParserMode::HIGH_NOT_PRECEDENCE) {
            power::BANG
        } else if minimum <= power::NOT {
            power::NOT
        } else {
            return Err(self.unexpected());
        };
        self.advance();
        self.unary(UnaryOperator::Not, operand_power)
    }

    /// The operand of a prefix operator that has been taken.
    #[inline(never)]
    pub(super) fn unary(&mut self, operator: UnaryOperator, operand_power: u8) -> Result<Expr> {
        let operand = Box::new(self.expression(operand_power)?);
        Ok(Expr::Unary { operator, operand })
    }

    /// What follows `left +` or `left -` when it starts with INTERVAL.
    #[inline(never)]
    fn interval_operand(&mut self, left: Expr, operator: BinaryOperator) -> Result<Expr> {
        match self.interval()? {
            Interval::Amount(amount, unit) => Ok(Expr::DateArithmetic {
                date: Box::new(left),
                amount: Box::new(amount),
                unit,
                subtract: operator == BinaryOperator::Subtract,
            }),
            Interval::Call(call) => {
                self.height += 1;
                let right = self.resume(call, power::ADDITIVE + 1)?;
                Ok(binary(operator, left, right))
            }
        }
    }

    /// `INTERVAL amount unit`, or a call of the function INTERVAL.
    pub(super) fn interval(&mut self) -> Result<Interval> {
        let name = self.take_ident()?;
        let amount = if self.at_kind(TokenKind::LeftParen) && !self.peeks_query_in_parens() {
            let mut arguments = self.exprs_in_parens()?;
            match arguments.pop() {
                Some(only) if arguments.is_empty() => {
                    // The parenthesis may be only the start of the amount: INTERVAL (1) + 2 DAY.
                    self.height += 1;
                    self.resume(only, power::LOWEST)?
                }
                last => {
                    arguments.extend(last);
                    return Ok(Interval::Call(call(name, arguments)));
                }
            }
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Interval::Amount(amount, unit))
    }
}

pub(super) enum Interval {
    Amount(Expr, IntervalUnit),
    Call(Expr),
}

pub(super) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
}
