//! SHOW, DESCRIBE, EXPLAIN.

use super::{Parser, Result};
use crate::ast::{
    Describe, DescribeColumn, EngineReport, Explain, ExplainTarget, Ident, ObjectName, Show, ShowCreate,
    ShowFilter, Statement, VariableScope,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// SHOW, the word taken.
    pub(super) fn show(&mut self) -> Result<Statement> {
        self.show_statement().map(|show| Statement::Show(Box::new(show)))
    }

    fn show_statement(&mut self) -> Result<Show> {
        let upper = self.upper();
        let word = upper.as_str();
        match word {
            "GLOBAL" | "SESSION" | "LOCAL" => {
                let scope = self.variable_scope_word();
                self.advance();
                return self.show_variables_or_status(scope);
            }
            "VARIABLES" | "STATUS" => return self.show_variables_or_status(None),
            "EXTENDED" | "FULL" => return self.show_full(),
            "TABLES" | "COLUMNS" | "FIELDS" | "TRIGGERS" | "INDEX" | "INDEXES" | "KEYS" | "PROCESSLIST" => {
                return self.show_full();
            }
            "CREATE" => {
                self.advance();
                return self.show_create().map(Show::Create);
            }
            "BINLOG" | "RELAYLOG" => return self.show_log_events(),
            "PROCEDURE" | "FUNCTION" => return self.show_routine(word == "PROCEDURE"),
            "COUNT" => return self.show_count(),
            _ => {}
        }
        if let Some(show) = self.show_list(word)? {
            return Ok(show);
        }
        if let Some(show) = self.show_server(word)? {
            return Ok(show);
        }
        Err(self.unexpected())
    }

    /// Statements about schemas and what lies in them.
    fn show_list(&mut self, word: &str) -> Result<Option<Show>> {
        let show = match word {
            "DATABASES" | "SCHEMAS" => {
                self.advance();
                Show::Databases { filter: self.optional_filter()? }
            }
            "TABLE" => {
                self.expect_all(&["TABLE", "STATUS"])?;
                let (schema, filter) = self.schema_and_filter()?;
                Show::TableStatus { schema, filter }
            }
            "OPEN" => {
                self.expect_all(&["OPEN", "TABLES"])?;
                let (schema, filter) = self.schema_and_filter()?;
                Show::OpenTables { schema, filter }
            }
            "EVENTS" => {
                self.advance();
                let (schema, filter) = self.schema_and_filter()?;
                Show::Events { schema, filter }
            }
            "CHARACTER" | "CHAR" | "CHARSET" => {
                if self.any_word()? != "CHARSET" {
                    self.expect("SET")?;
                }
                Show::Charset { filter: self.optional_filter()? }
            }
            "COLLATION" => {
                self.advance();
                Show::Collation { filter: self.optional_filter()? }
            }
            _ => return Ok(None),
        };
        Ok(Some(show))
    }

    /// Statements about the server and the session.
    fn show_server(&mut self, word: &str) -> Result<Option<Show>> {
        let show = match word {
            "ENGINES" => {
                self.advance();
                Show::Engines
            }
            "STORAGE" => {
                self.expect_all(&["STORAGE", "ENGINES"])?;
                Show::Engines
            }
            "ENGINE" => {
                self.advance();
                self.show_engine()?
            }
            "PLUGINS" => {
                self.advance();
                Show::Plugins
            }
            "PRIVILEGES" => {
                self.advance();
                Show::Privileges
            }
            "WARNINGS" => {
                self.advance();
                Show::Warnings { limit: self.optional_limit()? }
            }
            "ERRORS" => {
                self.advance();
                Show::Errors { limit: self.optional_limit()? }
            }
            "GRANTS" => {
                self.advance();
                let account = if self.eat("FOR") { Some(self.account_name()?) } else { None };
                let using = if self.eat("USING") { self.account_list()? } else { Vec::new() };
                Show::Grants { account, using }
            }
            "BINARY" | "MASTER" => self.show_binary_log()?,
            "REPLICAS" => {
                self.advance();
                Show::Replicas
            }
            "REPLICA" | "SLAVE" => self.show_replica()?,
            "PROFILES" => {
                self.advance();
                Show::Profiles
            }
            "PROFILE" => {
                self.advance();
                self.show_profile()?
            }
            "PARSE_TREE" => {
                self.advance();
                let statement = self.enter_levels(3, Self::statement)?;
                Show::ParseTree(Box::new(statement))
            }
            _ => return Ok(None),
        };
        Ok(Some(show))
    }

    fn show_variables_or_status(&mut self, scope: Option<VariableScope>) -> Result<Show> {
        let variables = self.at("VARIABLES");
        self.expect_any(&["VARIABLES", "STATUS"])?;
        let filter = self.optional_filter()?;
        Ok(if variables { Show::Variables { scope, filter } } else { Show::Status { scope, filter } })
    }

    /// Statements that may have EXTENDED or FULL in front.
    fn show_full(&mut self) -> Result<Show> {
        let extended = self.eat("EXTENDED");
        let full = self.eat("FULL");
        match self.any_word()?.as_str() {
            "TABLES" => {
                let (schema, filter) = self.schema_and_filter()?;
                Ok(Show::Tables { full, extended, schema, filter })
            }
            "COLUMNS" | "FIELDS" => {
                let table = self.show_table()?;
                let filter = self.optional_filter()?;
                Ok(Show::Columns { full, extended, table, filter })
            }
            "TRIGGERS" if !extended => {
                let (schema, filter) = self.schema_and_filter()?;
                Ok(Show::Triggers { full, schema, filter })
            }
            "INDEX" | "INDEXES" | "KEYS" if !full => {
                let table = self.show_table()?;
                let selection = self.optional_where()?;
                Ok(Show::Index { extended, table, selection })
            }
            "PROCESSLIST" if !extended => Ok(Show::ProcessList { full }),
            _ => Err(self.unexpected()),
        }
    }

    /// `FROM table [FROM schema]`; the second FROM wins over a schema in the first.
    fn show_table(&mut self) -> Result<ObjectName> {
        self.expect_any(&["FROM", "IN"])?;
        let mut table = self.object_name()?;
        if let Some(schema) = self.optional_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn optional_schema(&mut self) -> Result<Option<Ident>> {
        if self.eat_any(&["FROM", "IN"]) { self.ident().map(Some) } else { Ok(None) }
    }

    fn schema_and_filter(&mut self) -> Result<(Option<Ident>, Option<ShowFilter>)> {
        let schema = self.optional_schema()?;
        let filter = self.optional_filter()?;
        Ok((schema, filter))
    }

    /// LIKE or WHERE.
    fn optional_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat("LIKE") {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        Ok(self.optional_where()?.map(ShowFilter::Where))
    }

    /// What follows SHOW CREATE.
    fn show_create(&mut self) -> Result<ShowCreate> {
        match self.any_word()?.as_str() {
            "DATABASE" | "SCHEMA" => {
                let if_not_exists = self.if_not_exists()?;
                let name = self.ident()?;
                Ok(ShowCreate::Database { name, if_not_exists })
            }
            "TABLE" => self.object_name().map(ShowCreate::Table),
            "VIEW" => self.object_name().map(ShowCreate::View),
            "PROCEDURE" => self.object_name().map(ShowCreate::Procedure),
            "FUNCTION" => self.object_name().map(ShowCreate::Function),
            "TRIGGER" => self.object_name().map(ShowCreate::Trigger),
            "EVENT" => self.object_name().map(ShowCreate::Event),
            "USER" => self.account_name().map(ShowCreate::User),
            _ => Err(self.unexpected()),
        }
    }

    fn show_engine(&mut self) -> Result<Show> {
        let engine = if self.eat("ALL") { None } else { Some(self.ident_or_string()?.value) };
        let what = match self.upper().as_str() {
            "STATUS" => EngineReport::Status,
            "MUTEX" => EngineReport::Mutex,
            "LOGS" => EngineReport::Logs,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Show::Engine { engine, what })
    }

    /// BINARY LOGS, BINARY LOG STATUS, and MASTER for BINARY.
    fn show_binary_log(&mut self) -> Result<Show> {
        let master = self.eat("MASTER");
        if !master {
            self.expect("BINARY")?;
        }
        if self.eat("LOGS") {
            return Ok(Show::BinaryLogs);
        }
        if !master {
            self.expect("LOG")?;
        }
        self.expect("STATUS")?;
        Ok(Show::BinaryLogStatus)
    }

    /// REPLICA STATUS, and SLAVE for REPLICA, and SLAVE HOSTS.
    fn show_replica(&mut self) -> Result<Show> {
        if self.eat("SLAVE") {
            if self.eat("HOSTS") {
                return Ok(Show::Replicas);
            }
        } else {
            self.expect("REPLICA")?;
        }
        self.expect("STATUS")?;
        let channel = self.optional_channel()?;
        Ok(Show::ReplicaStatus { channel })
    }

    /// `FOR CHANNEL 'name'`.
    pub(super) fn optional_channel(&mut self) -> Result<Option<Vec<u8>>> {
        if self.eat_pair("FOR", "CHANNEL") { self.string().map(Some) } else { Ok(None) }
    }

    /// `BINLOG | RELAYLOG EVENTS [IN 'file'] [FROM position] [LIMIT ..] [FOR CHANNEL ..]`.
    fn show_log_events(&mut self) -> Result<Show> {
        let binlog = self.any_word()? == "BINLOG";
        self.expect("EVENTS")?;
        let file = if self.eat("IN") { Some(self.string()?) } else { None };
        let position = if self.eat("FROM") { Some(self.integer()?) } else { None };
        let limit = self.optional_limit()?;
        if binlog {
            return Ok(Show::BinlogEvents { file, position, limit });
        }
        let channel = self.optional_channel()?;
        Ok(Show::RelaylogEvents { file, position, limit, channel })
    }

    fn show_routine(&mut self, procedure: bool) -> Result<Show> {
        self.advance();
        if self.eat("CODE") {
            let name = self.object_name()?;
            return Ok(if procedure { Show::ProcedureCode(name) } else { Show::FunctionCode(name) });
        }
        self.expect("STATUS")?;
        let filter = self.optional_filter()?;
        Ok(if procedure { Show::ProcedureStatus { filter } } else { Show::FunctionStatus { filter } })
    }

    /// `COUNT(*) WARNINGS | ERRORS`.
    fn show_count(&mut self) -> Result<Show> {
        self.advance();
        for kind in [TokenKind::LeftParen, TokenKind::Star, TokenKind::RightParen] {
            self.expect_kind(kind)?;
        }
        let warnings = self.at("WARNINGS");
        self.expect_any(&["WARNINGS", "ERRORS"])?;
        Ok(if warnings { Show::WarningCount } else { Show::ErrorCount })
    }

    /// `[kind, ..] [FOR QUERY n] [LIMIT ..]`.
    fn show_profile(&mut self) -> Result<Show> {
        let mut kinds = Vec::new();
        if self.token.kind == TokenKind::Word && !self.at_any(&["FOR", "LIMIT"]) {
            kinds = self.comma_list(|parser| {
                let mut kind = parser.any_word()?;
                if matches!(kind.as_str(), "BLOCK" | "CONTEXT" | "PAGE") {
                    kind = format!("{kind} {}", parser.any_word()?);
                }
                Ok(kind)
            })?;
        }
        let query = if self.eat_pair("FOR", "QUERY") { Some(self.integer()?) } else { None };
        let limit = self.optional_limit()?;
        Ok(Show::Profile { kinds, query, limit })
    }

    /// DESCRIBE, DESC and EXPLAIN, the word taken.
    pub(super) fn explain(&mut self) -> Result<Statement> {
        let mut explain = Explain {
            analyze: self.eat("ANALYZE"),
            extended: false,
            partitions: false,
            format: None,
            into: None,
            schema: None,
            target: ExplainTarget::Connection(0),
        };
        let more_follows = !matches!(self.peek(1).kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Dot);
        if more_follows && self.eat("EXTENDED") {
            explain.extended = true;
        } else if more_follows && self.eat("PARTITIONS") {
            explain.partitions = true;
        } else if self.at("FORMAT") && self.peek(1).kind == TokenKind::Equal {
            self.advance();
            self.advance();
            explain.format = Some(self.ident_or_string()?.value.to_ascii_uppercase());
        }
        if self.eat("INTO") {
            explain.into = Some(self.user_variable()?);
        }
        if self.eat("FOR") {
            if self.eat("CONNECTION") {
                explain.target = ExplainTarget::Connection(self.integer()?);
                return Ok(Statement::Explain(Box::new(explain)));
            }
            self.expect_any(&["SCHEMA", "DATABASE"])?;
            explain.schema = Some(self.ident()?);
        }
        let explainable = self.at_kind(TokenKind::LeftParen)
            || self.at_any(&["SELECT", "WITH", "TABLE", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"]);
        if explainable {
            let statement = self.enter_levels(3, Self::statement)?;
            explain.target = ExplainTarget::Statement(Box::new(statement));
            return Ok(Statement::Explain(Box::new(explain)));
        }
        let plain = explain.schema.is_none() && explain.into.is_none() && explain.format.is_none();
        if plain && !explain.analyze && !explain.extended && !explain.partitions {
            return self.describe();
        }
        Err(self.unexpected())
    }

    fn describe(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        let column = if self.at_string() {
            Some(DescribeColumn::Pattern(self.string()?))
        } else {
            self.optional_ident()?.map(DescribeColumn::Name)
        };
        Ok(Statement::Describe(Box::new(Describe { table, column })))
    }
}
