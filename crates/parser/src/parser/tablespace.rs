//! Tablespaces and logfile groups.

use super::{Parser, Result};
use crate::ast::{DefinitionAction, Ident, OptionValue, Statement, Tablespace, TablespaceChange, TablespaceKind};
use crate::lexer::TokenKind;

/// Options with a size or a number.
#[rustfmt::skip]
const SIZE_OPTIONS: &[&str] = &[
    "INITIAL_SIZE", "AUTOEXTEND_SIZE", "MAX_SIZE", "EXTENT_SIZE", "UNDO_BUFFER_SIZE", "REDO_BUFFER_SIZE", "NODEGROUP",
    "FILE_BLOCK_SIZE",
];

impl Parser<'_> {
    /// [UNDO] TABLESPACE or LOGFILE GROUP behind CREATE, ALTER or DROP, when one is there.
    pub(super) fn optional_tablespace(&mut self, action: DefinitionAction) -> Result<Option<Statement>> {
        let kind = if self.eat_pair("UNDO", "TABLESPACE") {
            TablespaceKind::UndoTablespace
        } else if self.eat("TABLESPACE") {
            TablespaceKind::Tablespace
        } else if self.eat_pair("LOGFILE", "GROUP") {
            TablespaceKind::LogfileGroup
        } else {
            return Ok(None);
        };
        let name: Ident = self.ident()?;
        let mut tablespace = Tablespace {
            action,
            kind,
            name,
            change: self.optional_tablespace_change()?,
            logfile_group: None,
            options: Vec::new(),
        };
        if self.eat("USE") {
            self.expect_all(&["LOGFILE", "GROUP"])?;
            tablespace.logfile_group = Some(self.ident()?);
        }
        while let Some(option) = self.optional_tablespace_option()? {
            tablespace.options.push(option);
            self.eat_kind(TokenKind::Comma);
        }
        Ok(Some(Statement::Tablespace(Box::new(tablespace))))
    }

    fn optional_tablespace_change(&mut self) -> Result<Option<TablespaceChange>> {
        let change = match self.upper().as_str() {
            "ADD" => {
                self.advance();
                let data = self.at("DATAFILE");
                self.expect_any(&["DATAFILE", "UNDOFILE", "REDOFILE"])?;
                let file = self.string()?;
                if data { TablespaceChange::AddDatafile(file) } else { TablespaceChange::AddUndofile(file) }
            }
            "DROP" => {
                self.expect_all(&["DROP", "DATAFILE"])?;
                TablespaceChange::DropDatafile(self.string()?)
            }
            "RENAME" => {
                self.expect_all(&["RENAME", "TO"])?;
                TablespaceChange::RenameTo(self.ident()?)
            }
            "SET" => {
                self.advance();
                let active = self.at("ACTIVE");
                self.expect_any(&["ACTIVE", "INACTIVE"])?;
                if active { TablespaceChange::SetActive } else { TablespaceChange::SetInactive }
            }
            _ => return Ok(None),
        };
        Ok(Some(change))
    }

    fn optional_tablespace_option(&mut self) -> Result<Option<(String, OptionValue)>> {
        let upper = self.upper();
        let word = upper.as_str();
        let value = if SIZE_OPTIONS.contains(&word) {
            self.advance();
            self.optional_equal();
            OptionValue::Integer(self.size()?)
        } else if matches!(word, "ENGINE" | "STORAGE") {
            if word == "STORAGE" {
                self.advance();
            }
            self.expect("ENGINE")?;
            self.optional_equal();
            let name = OptionValue::Word(self.ident_or_string()?.value);
            return Ok(Some(("ENGINE".to_owned(), name)));
        } else if matches!(word, "COMMENT" | "ENCRYPTION" | "ENGINE_ATTRIBUTE") {
            self.advance();
            self.optional_equal();
            OptionValue::Text(self.string()?)
        } else if matches!(word, "WAIT" | "NO_WAIT") {
            self.advance();
            OptionValue::Word(word.to_owned())
        } else {
            return Ok(None);
        };
        Ok(Some((word.to_owned(), value)))
    }
}
