//! Transactions, savepoints, XA.

use super::{Parser, Result};
use crate::ast::{Completion, StartTransaction, Statement, Xa, XaId};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// START TRANSACTION, the words taken.
    pub(super) fn start_transaction(&mut self) -> Result<Statement> {
        let mut start = StartTransaction::default();
        if !self.at_end() {
            loop {
                if self.eat("WITH") {
                    self.expect_all(&["CONSISTENT", "SNAPSHOT"])?;
                    start.consistent_snapshot = true;
                } else if start.read_only.is_none() {
                    start.read_only = Some(self.access_mode()?);
                } else {
                    return Err(self.unexpected());
                }
                if !self.eat_kind(TokenKind::Comma) {
                    break;
                }
            }
        }
        Ok(Statement::StartTransaction(start))
    }

    /// COMMIT and ROLLBACK, the word taken.
    pub(super) fn end_transaction(&mut self, commit: bool) -> Result<Statement> {
        self.eat("WORK");
        if !commit && self.eat("TO") {
            self.eat("SAVEPOINT");
            return self.ident().map(Statement::RollbackToSavepoint);
        }
        let mut completion = Completion::default();
        if self.eat("AND") {
            completion.chain = Some(!self.eat("NO"));
            self.expect("CHAIN")?;
        }
        if self.eat("RELEASE") {
            completion.release = Some(true);
        } else if self.eat("NO") {
            self.expect("RELEASE")?;
            completion.release = Some(false);
        }
        if completion.chain == Some(true) && completion.release == Some(true) {
            return Err(self.unexpected());
        }
        Ok(if commit { Statement::Commit(completion) } else { Statement::Rollback(completion) })
    }

    /// XA, the word taken.
    pub(super) fn xa(&mut self) -> Result<Statement> {
        let xa = match self.any_word()?.as_str() {
            "START" | "BEGIN" => {
                let id = self.xa_id()?;
                let join = self.eat("JOIN");
                let resume = !join && self.eat("RESUME");
                Xa::Start { id, join, resume }
            }
            "END" => {
                let id = self.xa_id()?;
                let suspend = self.eat("SUSPEND");
                let for_migrate = suspend && self.eat("FOR");
                if for_migrate {
                    self.expect("MIGRATE")?;
                }
                Xa::End { id, suspend, for_migrate }
            }
            "PREPARE" => Xa::Prepare(self.xa_id()?),
            "COMMIT" => {
                let id = self.xa_id()?;
                let one_phase = self.eat("ONE");
                if one_phase {
                    self.expect("PHASE")?;
                }
                Xa::Commit { id, one_phase }
            }
            "ROLLBACK" => Xa::Rollback(self.xa_id()?),
            "RECOVER" => {
                let convert_id = self.eat("CONVERT");
                if convert_id {
                    self.expect("XID")?;
                }
                Xa::Recover { convert_id }
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Xa(xa))
    }

    /// `gtrid [, bqual [, format]]`.
    fn xa_id(&mut self) -> Result<XaId> {
        let mut id = XaId { global: self.text_or_binary()?, branch: Vec::new(), format: 1 };
        if self.eat_kind(TokenKind::Comma) {
            id.branch = self.text_or_binary()?;
            if self.eat_kind(TokenKind::Comma) {
                id.format = self.integer()?;
            }
        }
        Ok(id)
    }
}
