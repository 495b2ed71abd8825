//! Window functions and window specifications.

use super::expression::power;
use super::{Parser, Result};
use crate::ast::{
    Expr, FrameBound, FrameUnit, Ident, NamedWindow, WindowCall, WindowFrame, WindowReference, WindowSpecification,
};
use crate::lexer::TokenKind;

/// Functions that make no sense without OVER.
#[rustfmt::skip]
pub(super) const WINDOW_ONLY: &[&str] = &[
    "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "LAG", "LAST_VALUE", "LEAD", "NTH_VALUE", "NTILE", "PERCENT_RANK", "RANK",
    "ROW_NUMBER",
];

impl Parser<'_> {
    /// `function` with the OVER clause that may follow it.
    #[inline(never)]
    pub(super) fn optional_over(&mut self, function: Expr, upper: &str) -> Result<Expr> {
        let window_only = WINDOW_ONLY.contains(&upper);
        let mut from_last = false;
        let mut ignore_nulls = false;
        if window_only {
            if upper == "NTH_VALUE" && self.eat("FROM") {
                from_last = self.at("LAST");
                self.expect_any(&["FIRST", "LAST"])?;
            }
            if self.at_any(&["RESPECT", "IGNORE"]) {
                ignore_nulls = self.at("IGNORE");
                self.advance();
                self.expect("NULLS")?;
            }
            if !self.at("OVER") {
                return Err(self.unexpected());
            }
        }
        if !self.eat("OVER") {
            return Ok(function);
        }
        let over = if self.at_kind(TokenKind::LeftParen) {
            WindowReference::Specification(self.window_specification()?)
        } else {
            WindowReference::Name(self.ident()?)
        };
        Ok(Expr::Window(Box::new(WindowCall { function, from_last, ignore_nulls, over })))
    }

    /// `WINDOW name AS (..), ..`, the keyword taken.
    pub(super) fn named_window(&mut self) -> Result<NamedWindow> {
        let name = self.ident()?;
        self.expect("AS")?;
        let specification = self.window_specification()?;
        Ok(NamedWindow { name, specification })
    }

    fn window_specification(&mut self) -> Result<WindowSpecification> {
        self.expect_kind(TokenKind::LeftParen)?;
        let base: Option<Ident> = self.optional_ident()?;
        let mut partition_by = Vec::new();
        if self.eat("PARTITION") {
            self.expect("BY")?;
            partition_by = self.comma_list(Self::expr)?;
        }
        let order_by = self.optional_order_by()?;
        let frame = self.optional_frame()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(WindowSpecification { base, partition_by, order_by, frame })
    }

    fn optional_frame(&mut self) -> Result<Option<WindowFrame>> {
        let unit = match self.upper().as_str() {
            "ROWS" => FrameUnit::Rows,
            "RANGE" => FrameUnit::Range,
            "GROUPS" => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let (start, end) = if self.eat("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect("AND")?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        let exclude = self.optional_exclusion()?;
        Ok(Some(WindowFrame { unit, start, end, exclude }))
    }

    /// `EXCLUDE CURRENT ROW | GROUP | TIES | NO OTHERS`.
    fn optional_exclusion(&mut self) -> Result<bool> {
        if !self.eat("EXCLUDE") {
            return Ok(false);
        }
        if !self.eat_pair("CURRENT", "ROW") && !self.eat_pair("NO", "OTHERS") {
            self.expect_any(&["GROUP", "TIES"])?;
        }
        Ok(true)
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_pair("CURRENT", "ROW") {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat("UNBOUNDED") {
            let preceding = self.at("PRECEDING");
            self.expect_any(&["PRECEDING", "FOLLOWING"])?;
            return Ok(if preceding { FrameBound::UnboundedPreceding } else { FrameBound::UnboundedFollowing });
        }
        let (amount, unit) = if self.eat("INTERVAL") {
            let amount = self.expr()?;
            (amount, Some(self.interval_unit()?))
        } else {
            (self.expression(power::UNARY)?, None)
        };
        let preceding = self.at("PRECEDING");
        self.expect_any(&["PRECEDING", "FOLLOWING"])?;
        Ok(if preceding { FrameBound::Preceding(amount, unit) } else { FrameBound::Following(amount, unit) })
    }
}
