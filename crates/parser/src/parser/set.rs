//! SET in all its forms.

use super::{Parser, Result};
use crate::ast::{
    Expr, IsolationLevel, Literal, LiteralValue, SetAssignment, SetTransaction, SetValue, Statement,
    StringLiteral, SystemVariable, VariableScope,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// SET, the word taken.
    pub(super) fn set(&mut self) -> Result<Statement> {
        match self.upper().as_str() {
            "PASSWORD" => {
                self.advance();
                return self.set_password();
            }
            "ROLE" if !self.peeks_assign() => {
                self.advance();
                return self.role_selection().map(Statement::SetRole);
            }
            "DEFAULT" if self.peek_is(1, "ROLE") => return self.set_default_role(),
            "RESOURCE" if self.peek_is(1, "GROUP") => {
                self.expect_all(&["RESOURCE", "GROUP"])?;
                return self.set_resource_group();
            }
            "TRANSACTION" if !self.peeks_assign() => return self.set_transaction(None),
            "GLOBAL" | "SESSION" | "LOCAL" if self.peek_is(1, "TRANSACTION") => {
                let transaction_next = !matches!(self.peek(2).kind, TokenKind::Equal | TokenKind::Assign);
                if transaction_next {
                    let scope = self.variable_scope_word();
                    self.advance();
                    return self.set_transaction(scope);
                }
            }
            _ => {}
        }
        self.comma_list(Self::set_assignment).map(Statement::Set)
    }

    fn peeks_assign(&self) -> bool {
        matches!(self.peek(1).kind, TokenKind::Equal | TokenKind::Assign)
    }

    fn set_default_role(&mut self) -> Result<Statement> {
        self.expect_all(&["DEFAULT", "ROLE"])?;
        let roles = self.role_selection()?;
        self.expect("TO")?;
        let to = self.account_list()?;
        Ok(Statement::SetDefaultRole { roles, to })
    }

    fn set_transaction(&mut self, scope: Option<VariableScope>) -> Result<Statement> {
        self.expect("TRANSACTION")?;
        let mut transaction = SetTransaction { scope, isolation: None, read_only: None };
        loop {
            if transaction.isolation.is_none() && self.eat("ISOLATION") {
                self.expect("LEVEL")?;
                transaction.isolation = Some(self.isolation_level()?);
            } else if transaction.read_only.is_none() {
                transaction.read_only = Some(self.access_mode()?);
            } else {
                return Err(self.unexpected());
            }
            if !self.eat_kind(TokenKind::Comma) {
                return Ok(Statement::SetTransaction(transaction));
            }
        }
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        if self.eat("SERIALIZABLE") {
            Ok(IsolationLevel::Serializable)
        } else if self.eat("REPEATABLE") {
            self.expect("READ")?;
            Ok(IsolationLevel::RepeatableRead)
        } else {
            self.expect("READ")?;
            if self.eat("COMMITTED") {
                return Ok(IsolationLevel::ReadCommitted);
            }
            self.expect("UNCOMMITTED")?;
            Ok(IsolationLevel::ReadUncommitted)
        }
    }

    /// READ ONLY (true) or READ WRITE (false).
    pub(super) fn access_mode(&mut self) -> Result<bool> {
        self.expect("READ")?;
        let read_only = self.eat("ONLY");
        if !read_only {
            self.expect("WRITE")?;
        }
        Ok(read_only)
    }

    /// One element of SET's list.
    pub(super) fn set_assignment(&mut self) -> Result<SetAssignment> {
        if let Some(name) = self.optional_user_variable()? {
            self.expect_assign()?;
            let value = self.expr()?;
            return Ok(SetAssignment::UserVariable { name, value });
        }
        if self.at_kind(TokenKind::AtAt) {
            let variable = self.system_variable()?;
            return self.assign_variable(variable);
        }
        match self.upper().as_str() {
            "NAMES" if !self.peeks_assign() => {
                self.advance();
                return self.set_names();
            }
            "CHARACTER" | "CHAR" if self.peek_is(1, "SET") => {
                self.expect_any(&["CHARACTER", "CHAR"])?;
                self.expect("SET")?;
                return self.set_character_set();
            }
            "CHARSET" if !self.peeks_assign() => {
                self.advance();
                return self.set_character_set();
            }
            "NEW" if self.in_routine && self.peek(1).kind == TokenKind::Dot => {
                self.advance();
                self.advance();
                let column = self.take_ident()?;
                self.expect_assign()?;
                let value = self.expr()?;
                return Ok(SetAssignment::NewColumn { column, value });
            }
            _ => {}
        }
        // A scope word is a variable's name when an assignment or a dot follows it.
        let scope = if self.peeks_assign() { None } else { self.variable_scope_word() };
        if scope.is_some() {
            self.advance();
        }
        let (component, name) = self.variable_name()?;
        self.assign_variable(SystemVariable { scope, component, name })
    }

    fn assign_variable(&mut self, variable: SystemVariable) -> Result<SetAssignment> {
        self.expect_assign()?;
        let value = self.set_value()?;
        Ok(SetAssignment::Variable { variable, value })
    }

    fn set_value(&mut self) -> Result<SetValue> {
        let ends_value = matches!(self.peek(1).kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Comma);
        if ends_value && self.eat("DEFAULT") {
            return Ok(SetValue::Default);
        }
        // Words that are reserved and yet values.
        if ends_value && self.at_any(&["ON", "ALL", "BINARY", "ROW", "SYSTEM"]) {
            let word = self.advance();
            let bytes = self.bytes_of(&word).to_vec();
            let text = StringLiteral { bytes, introducer: None, national: false };
            return Ok(SetValue::Expr(Expr::Literal(Literal {
                value: LiteralValue::String(text),
                ordinal: None,
            })));
        }
        self.expr().map(SetValue::Expr)
    }

    /// What follows NAMES.
    fn set_names(&mut self) -> Result<SetAssignment> {
        if self.eat("DEFAULT") {
            return Ok(SetAssignment::Names { charset: None, collation: None });
        }
        let charset = Some(self.charset_name()?);
        let collation = if self.eat("COLLATE") { Some(self.collation_name()?) } else { None };
        Ok(SetAssignment::Names { charset, collation })
    }

    fn set_character_set(&mut self) -> Result<SetAssignment> {
        if self.eat("DEFAULT") {
            return Ok(SetAssignment::CharacterSet(None));
        }
        let charset = self.charset_name()?;
        Ok(SetAssignment::CharacterSet(Some(charset)))
    }
}
