//! HANDLER.

use super::{Parser, Result};
use crate::ast::{Handler, HandlerMove, HandlerOperator, HandlerRead, Statement};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// HANDLER, the word taken.
    pub(super) fn handler(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        let handler = if self.eat("OPEN") {
            let alias = self.optional_table_alias()?;
            Handler::Open { table, alias }
        } else if self.eat("CLOSE") {
            Handler::Close { table }
        } else {
            self.expect("READ")?;
            let read = self.handler_read()?;
            let selection = self.optional_where()?;
            let limit = self.optional_limit()?;
            Handler::Read { table, read, selection, limit }
        };
        Ok(Statement::Handler(Box::new(handler)))
    }

    fn handler_read(&mut self) -> Result<HandlerRead> {
        // FIRST and NEXT are also possible index names.
        let scan = matches!(self.peek(1).kind, TokenKind::End | TokenKind::Semicolon)
            || self.peek_is(1, "WHERE")
            || self.peek_is(1, "LIMIT");
        if scan {
            let to = self.handler_move()?;
            return match to {
                HandlerMove::First | HandlerMove::Next => Ok(HandlerRead::Scan(to)),
                _ => Err(self.unexpected()),
            };
        }
        let index = self.index_name()?;
        let operator = match self.token.kind {
            TokenKind::Equal => HandlerOperator::Equal,
            TokenKind::Less => HandlerOperator::Less,
            TokenKind::LessOrEqual => HandlerOperator::LessOrEqual,
            TokenKind::Greater => HandlerOperator::Greater,
            TokenKind::GreaterOrEqual => HandlerOperator::GreaterOrEqual,
            _ => {
                let to = self.handler_move()?;
                return Ok(HandlerRead::Index { index, to });
            }
        };
        self.advance();
        let values = self.exprs_in_parens()?;
        Ok(HandlerRead::Key { index, operator, values })
    }

    fn handler_move(&mut self) -> Result<HandlerMove> {
        let to = match self.upper().as_str() {
            "FIRST" => HandlerMove::First,
            "NEXT" => HandlerMove::Next,
            "PREV" => HandlerMove::Previous,
            "LAST" => HandlerMove::Last,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(to)
    }
}
