//! Replication statements.

use super::{Parser, Result};
use crate::ast::{
    OptionValue, ReplicaThread, Replication, ReplicationFilter, ReplicationFilterValue, SourceOption, Statement,
};
use crate::lexer::TokenKind;

fn statement(replication: Replication) -> Statement {
    Statement::Replication(Box::new(replication))
}

impl Parser<'_> {
    /// CHANGE, the word taken.
    pub(super) fn change(&mut self) -> Result<Statement> {
        self.expect("REPLICATION")?;
        if self.eat("FILTER") {
            let rules = self.comma_list(Self::replication_filter)?;
            let channel = self.optional_channel()?;
            return Ok(statement(Replication::ChangeFilter { rules, channel }));
        }
        self.expect_all(&["SOURCE", "TO"])?;
        let options = self.comma_list(|parser| {
            let name = parser.any_word()?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok((name.clone(), parser.source_option(&name)?))
        })?;
        let channel = self.optional_channel()?;
        Ok(statement(Replication::ChangeSource { options, channel }))
    }

    fn source_option(&mut self, name: &str) -> Result<SourceOption> {
        if self.eat("NULL") {
            return Ok(SourceOption::Null);
        }
        if name == "PRIVILEGE_CHECKS_USER" {
            return self.account_name().map(SourceOption::Account);
        }
        if self.eat_kind(TokenKind::LeftParen) {
            if self.eat_kind(TokenKind::RightParen) {
                return Ok(SourceOption::List(Vec::new()));
            }
            let list = self.comma_list(Self::integer)?;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(SourceOption::List(list));
        }
        // ON is reserved but a word all the same.
        self.option_value().map(SourceOption::Value)
    }

    fn replication_filter(&mut self) -> Result<ReplicationFilter> {
        let name = self.any_word()?;
        self.expect_kind(TokenKind::Equal)?;
        self.expect_kind(TokenKind::LeftParen)?;
        let mut values = Vec::new();
        if !self.at_kind(TokenKind::RightParen) {
            values = self.comma_list(|parser| parser.replication_filter_value(&name))?;
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(ReplicationFilter { name, values })
    }

    fn replication_filter_value(&mut self, name: &str) -> Result<ReplicationFilterValue> {
        match name {
            "REPLICATE_DO_DB" | "REPLICATE_IGNORE_DB" => self.ident().map(ReplicationFilterValue::Schema),
            "REPLICATE_DO_TABLE" | "REPLICATE_IGNORE_TABLE" => {
                self.object_name().map(ReplicationFilterValue::Table)
            }
            "REPLICATE_WILD_DO_TABLE" | "REPLICATE_WILD_IGNORE_TABLE" => {
                self.string().map(ReplicationFilterValue::Pattern)
            }
            "REPLICATE_REWRITE_DB" => {
                self.expect_kind(TokenKind::LeftParen)?;
                let from = self.ident()?;
                self.expect_kind(TokenKind::Comma)?;
                let to = self.ident()?;
                self.expect_kind(TokenKind::RightParen)?;
                Ok(ReplicationFilterValue::Rewrite(from, to))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// START REPLICA, the words taken.
    pub(super) fn start_replica(&mut self) -> Result<Statement> {
        let threads = self.replica_threads()?;
        let mut until = Vec::new();
        if self.eat("UNTIL") {
            until = self.comma_list(|parser| {
                let name = parser.any_word()?;
                if name == "SQL_AFTER_MTS_GAPS" {
                    return Ok((name, OptionValue::Word(String::new())));
                }
                parser.expect_kind(TokenKind::Equal)?;
                Ok((name, parser.option_value()?))
            })?;
        }
        let mut connection = Vec::new();
        while self.at_any(&["USER", "PASSWORD", "DEFAULT_AUTH", "PLUGIN_DIR"]) {
            let name = self.any_word()?;
            self.expect_kind(TokenKind::Equal)?;
            connection.push((name, self.string()?));
        }
        let channel = self.optional_channel()?;
        Ok(statement(Replication::StartReplica { threads, until, connection, channel }))
    }

    /// STOP, the word taken.
    pub(super) fn stop(&mut self) -> Result<Statement> {
        if self.eat("GROUP_REPLICATION") {
            return Ok(statement(Replication::StopGroup));
        }
        self.expect_any(&["REPLICA", "SLAVE"])?;
        let threads = self.replica_threads()?;
        let channel = self.optional_channel()?;
        Ok(statement(Replication::StopReplica { threads, channel }))
    }

    fn replica_threads(&mut self) -> Result<Vec<ReplicaThread>> {
        if !self.at_any(&["IO_THREAD", "SQL_THREAD", "RELAY_THREAD"]) {
            return Ok(Vec::new());
        }
        self.comma_list(|parser| {
            let sql = parser.at("SQL_THREAD");
            parser.expect_any(&["IO_THREAD", "SQL_THREAD", "RELAY_THREAD"])?;
            Ok(if sql { ReplicaThread::Sql } else { ReplicaThread::Io })
        })
    }

    /// START GROUP_REPLICATION, the words taken.
    pub(super) fn start_group_replication(&mut self) -> Result<Statement> {
        let mut options = Vec::new();
        if !self.at_end() {
            options = self.comma_list(|parser| {
                let name = parser.any_word()?;
                parser.expect_kind(TokenKind::Equal)?;
                Ok((name, parser.string()?))
            })?;
        }
        Ok(statement(Replication::StartGroup { options }))
    }

    /// BINLOG, the word taken.
    pub(super) fn binlog(&mut self) -> Result<Statement> {
        let events = self.string()?;
        Ok(statement(Replication::Binlog(events)))
    }
}
