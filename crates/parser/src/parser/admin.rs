//! Table maintenance, FLUSH, RESET, PURGE, key caches, plugins, instance statements.

use super::{Parser, Result};
use crate::ast::{
    AccountName, CloneInstance, Flush, FlushOption, Histogram, KeyCacheTable, MaintenanceKind, PurgeTo, Reset,
    Statement, TableMaintenance,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR, the word taken.
    pub(super) fn table_maintenance(&mut self, kind: MaintenanceKind) -> Result<Statement> {
        let logged_kinds = [MaintenanceKind::Analyze, MaintenanceKind::Optimize, MaintenanceKind::Repair];
        let no_binlog = logged_kinds.contains(&kind) && self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        self.expect_any(&["TABLE", "TABLES"])?;
        let tables = self.comma_list(Self::object_name)?;
        let mut maintenance = TableMaintenance { kind, no_binlog, tables, options: Vec::new(), histogram: None };
        match kind {
            MaintenanceKind::Analyze => maintenance.histogram = self.optional_histogram()?,
            MaintenanceKind::Optimize => {}
            _ => maintenance.options = self.maintenance_options()?,
        }
        Ok(Statement::TableMaintenance(Box::new(maintenance)))
    }

    /// QUICK, EXTENDED and so on.
    pub(super) fn maintenance_options(&mut self) -> Result<Vec<String>> {
        let mut options = Vec::new();
        loop {
            if self.eat_pair("FOR", "UPGRADE") {
                options.push("FOR UPGRADE".to_owned());
            } else if self.at_any(&["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM"]) {
                options.push(self.any_word()?);
            } else {
                return Ok(options);
            }
        }
    }

    fn optional_histogram(&mut self) -> Result<Option<Histogram>> {
        let drop = self.eat("DROP");
        if !drop && !self.eat("UPDATE") {
            return Ok(None);
        }
        self.expect_all(&["HISTOGRAM", "ON"])?;
        let mut histogram = Histogram {
            drop,
            columns: self.comma_list(Self::ident)?,
            buckets: None,
            using_data: None,
            auto_update: None,
        };
        if drop {
            return Ok(Some(histogram));
        }
        if self.at("WITH") && self.peek(1).kind == TokenKind::Integer {
            self.advance();
            histogram.buckets = Some(self.integer()?);
            self.expect("BUCKETS")?;
        }
        if self.eat_pair("AUTO", "UPDATE") {
            histogram.auto_update = Some(true);
        } else if self.eat_pair("MANUAL", "UPDATE") {
            histogram.auto_update = Some(false);
        } else if self.eat("USING") {
            self.expect("DATA")?;
            histogram.using_data = Some(self.string()?);
        }
        Ok(Some(histogram))
    }

    /// FLUSH, the word taken.
    pub(super) fn flush(&mut self) -> Result<Statement> {
        let no_binlog = self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        let what = if self.at_any(&["TABLES", "TABLE"]) {
            vec![self.flush_tables()?]
        } else {
            self.comma_list(Self::flush_option)?
        };
        Ok(Statement::Flush(Flush { no_binlog, what }))
    }

    fn flush_tables(&mut self) -> Result<FlushOption> {
        self.advance();
        let names = if self.at_end() || self.at_any(&["WITH", "FOR"]) {
            Vec::new()
        } else {
            self.comma_list(Self::object_name)?
        };
        let with_read_lock = self.eat("WITH");
        if with_read_lock {
            self.expect_all(&["READ", "LOCK"])?;
        }
        let for_export = !with_read_lock && self.eat("FOR");
        if for_export {
            self.expect("EXPORT")?;
        }
        Ok(FlushOption::Tables { names, with_read_lock, for_export })
    }

    fn flush_option(&mut self) -> Result<FlushOption> {
        let word = self.any_word()?;
        let option = match word.as_str() {
            "PRIVILEGES" => FlushOption::Privileges,
            "LOGS" => FlushOption::Logs,
            "STATUS" => FlushOption::Status,
            "OPTIMIZER_COSTS" => FlushOption::OptimizerCosts,
            "USER_RESOURCES" => FlushOption::UserResources,
            "BINARY" | "ENGINE" | "ERROR" | "GENERAL" | "SLOW" | "RELAY" => {
                self.expect("LOGS")?;
                match word.as_str() {
                    "BINARY" => FlushOption::BinaryLogs,
                    "ENGINE" => FlushOption::EngineLogs,
                    "ERROR" => FlushOption::ErrorLogs,
                    "GENERAL" => FlushOption::GeneralLogs,
                    "SLOW" => FlushOption::SlowLogs,
                    _ => FlushOption::RelayLogs { channel: self.optional_channel()? },
                }
            }
            _ => return Err(self.unexpected()),
        };
        Ok(option)
    }

    /// RESET, the word taken.
    pub(super) fn reset(&mut self) -> Result<Statement> {
        if self.eat("PERSIST") {
            let if_exists = self.if_exists()?;
            let (component, variable) = if self.at_end() {
                (None, None)
            } else {
                let (component, variable) = self.variable_name()?;
                (component, Some(variable))
            };
            return Ok(Statement::Reset(vec![Reset::Persist { if_exists, variable, component }]));
        }
        self.comma_list(Self::reset_option).map(Statement::Reset)
    }

    fn reset_option(&mut self) -> Result<Reset> {
        if self.eat("BINARY") {
            self.expect_all(&["LOGS", "AND", "GTIDS"])?;
            let to = if self.eat("TO") { Some(self.integer()?) } else { None };
            return Ok(Reset::BinaryLogsAndGtids { to });
        }
        self.expect_any(&["REPLICA", "SLAVE"])?;
        let all = self.eat("ALL");
        let channel = self.optional_channel()?;
        Ok(Reset::Replica { all, channel })
    }

    /// PURGE, the word taken.
    pub(super) fn purge(&mut self) -> Result<Statement> {
        self.expect_any(&["BINARY", "MASTER"])?;
        self.expect("LOGS")?;
        if self.eat("TO") {
            return Ok(Statement::PurgeBinaryLogs(PurgeTo::File(self.string()?)));
        }
        self.expect("BEFORE")?;
        Ok(Statement::PurgeBinaryLogs(PurgeTo::Before(self.expr()?)))
    }

    /// CACHE INDEX, the words taken.
    pub(super) fn cache_index(&mut self) -> Result<Statement> {
        let tables = self.comma_list(Self::key_cache_table)?;
        self.expect("IN")?;
        let cache = if self.eat("DEFAULT") { None } else { Some(self.ident()?) };
        Ok(Statement::CacheIndex { tables, cache })
    }

    /// LOAD INDEX INTO CACHE, the words taken.
    pub(super) fn load_index(&mut self) -> Result<Statement> {
        let tables = self.comma_list(|parser| {
            let mut table = parser.key_cache_table()?;
            table.ignore_leaves = parser.eat("IGNORE");
            if table.ignore_leaves {
                parser.expect("LEAVES")?;
            }
            Ok(table)
        })?;
        Ok(Statement::LoadIndex(tables))
    }

    fn key_cache_table(&mut self) -> Result<KeyCacheTable> {
        let table = self.object_name()?;
        let partitions = if self.eat("PARTITION") {
            self.expect_kind(TokenKind::LeftParen)?;
            let names = self.partition_names()?;
            self.expect_kind(TokenKind::RightParen)?;
            Some(names)
        } else {
            None
        };
        let has_indexes = self.eat_any(&["INDEX", "KEY"]) || self.at_kind(TokenKind::LeftParen);
        let indexes = if has_indexes { self.paren_list(Self::index_name)? } else { Vec::new() };
        Ok(KeyCacheTable { table, partitions, indexes, ignore_leaves: false })
    }

    /// INSTALL, the word taken.
    pub(super) fn install(&mut self) -> Result<Statement> {
        if self.eat("PLUGIN") {
            let name = self.ident()?;
            self.expect("SONAME")?;
            let library = self.string()?;
            return Ok(Statement::InstallPlugin { name, library });
        }
        self.expect("COMPONENT")?;
        let urns = self.comma_list(Self::string)?;
        let set = if self.eat("SET") { self.comma_list(Self::set_assignment)? } else { Vec::new() };
        Ok(Statement::InstallComponents { urns, set })
    }

    /// UNINSTALL, the word taken.
    pub(super) fn uninstall(&mut self) -> Result<Statement> {
        if self.eat("PLUGIN") {
            return self.ident().map(Statement::UninstallPlugin);
        }
        self.expect("COMPONENT")?;
        self.comma_list(Self::string).map(Statement::UninstallComponents)
    }

    /// ALTER INSTANCE, the words taken.
    pub(super) fn alter_instance(&mut self) -> Result<Statement> {
        let mut words = vec![self.any_word()?];
        while self.token.kind == TokenKind::Word {
            words.push(self.any_word()?);
        }
        let text = words.join(" ");
        let known = text == "ROTATE INNODB MASTER KEY"
            || text == "ROTATE BINLOG MASTER KEY"
            || text == "ENABLE INNODB REDO_LOG"
            || text == "DISABLE INNODB REDO_LOG"
            || text == "RELOAD KEYRING"
            || text.starts_with("RELOAD TLS");
        if known { Ok(Statement::AlterInstance(text)) } else { Err(self.unexpected()) }
    }

    /// CLONE, the word taken.
    pub(super) fn clone_instance(&mut self) -> Result<Statement> {
        if self.eat("LOCAL") {
            let directory = self.clone_directory()?;
            return Ok(Statement::Clone(CloneInstance::Local { directory }));
        }
        self.expect_all(&["INSTANCE", "FROM"])?;
        let user: AccountName = self.account_name()?;
        self.expect_kind(TokenKind::Colon)?;
        let port = self.integer()?;
        self.expect_all(&["IDENTIFIED", "BY"])?;
        let password = self.string()?;
        let directory = if self.at("DATA") { Some(self.clone_directory()?) } else { None };
        let require_ssl = if self.eat("REQUIRE") {
            let required = !self.eat("NO");
            self.expect("SSL")?;
            Some(required)
        } else {
            None
        };
        Ok(Statement::Clone(CloneInstance::Remote { user, port, password, directory, require_ssl }))
    }

    /// `DATA DIRECTORY [=] 'path'`.
    fn clone_directory(&mut self) -> Result<Vec<u8>> {
        self.expect_all(&["DATA", "DIRECTORY"])?;
        self.optional_equal();
        self.string()
    }
}
