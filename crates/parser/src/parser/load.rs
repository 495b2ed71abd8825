//! LOAD DATA, LOAD XML, LOAD INDEX, IMPORT TABLE.

use super::{Parser, Result};
use crate::ast::{DuplicateHandling, LoadData, LoadTarget, Statement, WritePriority};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// LOAD, the word taken.
    pub(super) fn load(&mut self) -> Result<Statement> {
        if self.eat("INDEX") {
            self.expect_all(&["INTO", "CACHE"])?;
            return self.load_index();
        }
        let xml = self.at("XML");
        self.expect_any(&["DATA", "XML"])?;
        let priority = match self.upper().as_str() {
            "LOW_PRIORITY" => Some(WritePriority::Low),
            "CONCURRENT" => Some(WritePriority::Concurrent),
            _ => None,
        };
        if priority.is_some() {
            self.advance();
        }
        let local = self.eat("LOCAL");
        self.expect("INFILE")?;
        let path = self.string()?;
        let duplicates = self.duplicate_handling();
        self.expect_all(&["INTO", "TABLE"])?;
        let mut load = LoadData {
            xml,
            priority,
            local,
            path,
            duplicates,
            table: self.object_name()?,
            partitions: self.optional_partition_selection()?,
            charset: self.optional_load_charset()?,
            row_tag: None,
            fields: Default::default(),
            lines: Default::default(),
            ignore_lines: 0,
            targets: Vec::new(),
            assignments: Vec::new(),
        };
        self.load_format(&mut load)?;
        Ok(Statement::LoadData(Box::new(load)))
    }

    fn load_format(&mut self, load: &mut LoadData) -> Result<()> {
        if load.xml && self.eat("ROWS") {
            self.expect_all(&["IDENTIFIED", "BY"])?;
            load.row_tag = Some(self.text_or_binary()?);
        }
        load.fields = self.field_format()?;
        load.lines = self.line_format()?;
        if self.eat("IGNORE") {
            load.ignore_lines = self.integer()?;
            self.expect_any(&["LINES", "ROWS"])?;
        }
        if self.eat_kind(TokenKind::LeftParen) && !self.eat_kind(TokenKind::RightParen) {
            load.targets = self.comma_list(Self::load_target)?;
            self.expect_kind(TokenKind::RightParen)?;
        }
        if self.eat("SET") {
            load.assignments = self.comma_list(Self::assignment)?;
        }
        Ok(())
    }

    fn load_target(&mut self) -> Result<LoadTarget> {
        match self.optional_user_variable()? {
            Some(name) => Ok(LoadTarget::UserVariable(name)),
            None => self.column_name().map(LoadTarget::Column),
        }
    }

    /// IGNORE or REPLACE.
    pub(super) fn duplicate_handling(&mut self) -> DuplicateHandling {
        if self.eat("IGNORE") {
            DuplicateHandling::Ignore
        } else if self.eat("REPLACE") {
            DuplicateHandling::Replace
        } else {
            DuplicateHandling::Error
        }
    }

    /// `CHARACTER SET name`.
    pub(super) fn optional_load_charset(&mut self) -> Result<Option<String>> {
        if self.eat_pair("CHARACTER", "SET") || self.eat_pair("CHAR", "SET") || self.eat("CHARSET") {
            return self.charset_name().map(Some);
        }
        Ok(None)
    }

    /// IMPORT, the word taken.
    pub(super) fn import(&mut self) -> Result<Statement> {
        self.expect_all(&["TABLE", "FROM"])?;
        Ok(Statement::ImportTable(self.comma_list(Self::string)?))
    }
}
