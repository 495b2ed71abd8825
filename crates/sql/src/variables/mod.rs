//! System variables: what they are called, what they may be set to, and their values in a session and in the server.
//!
//! `registry` lists them all. Variables that the server looks at live in typed fields of [`SessionVariables`]; the others are
//! text that clients may set and read back. [`Globals`] keeps what SET GLOBAL and the command line said.

pub mod inside;
mod optimizer_switch;
pub mod read;
pub mod registry;
pub mod set;
pub mod sql_mode;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_expr::Settings;
use shoal_txn::Isolation;
use shoal_types::{Charset, Collation, Result, TimeZone};

use crate::frontend::ConnectInfo;
use registry::Definition;
use sql_mode::SqlModes;

/// A session's values.
#[derive(Clone, Debug)]
pub struct SessionVariables {
    pub autocommit: bool,
    /// What evaluation reads: the effective parts of sql_mode, div_precision_increment, collation_connection ...
    pub settings: Settings,
    pub sql_mode: SqlModes,
    pub parser_mode: shoal_parser::ParserMode,
    pub only_full_group_by: bool,
    pub no_auto_value_on_zero: bool,
    pub time_zone: TimeZone,
    pub isolation: Isolation,
    pub transaction_read_only: bool,
    /// `None`: results are not converted (character_set_results = NULL).
    pub character_set_results: Option<Charset>,
    pub collation_database: Collation,
    pub collation_server: Collation,
    pub lock_wait_timeout_s: u64,
    pub innodb_lock_wait_timeout_s: u64,
    pub max_execution_time_ms: u64,
    pub sql_select_limit: u64,
    pub max_error_count: usize,
    pub wait_timeout_s: u64,
    pub sql_safe_updates: bool,
    pub foreign_key_checks: bool,
    /// A flag of optimizer_switch.
    pub uses_invisible_indexes: bool,
    pub connection_memory_limit: u64,
    pub connection_memory_chunk_size: u64,
    pub global_connection_memory_tracking: bool,
    /// long_query_time.
    pub long_query_time_micros: u64,
    pub min_examined_row_limit: u64,
    /// The general log says nothing of this session.
    pub sql_log_off: bool,
    /// Stages of statements are kept for SHOW PROFILE, of so many statements.
    pub profiling: bool,
    pub profiling_history_size: usize,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    /// SET insert_id: what the next INSERT generates first.
    pub insert_id: Option<u64>,
    /// SET timestamp: the clock of the session stands still, microseconds since 1970 UTC.
    pub timestamp_micros: Option<i64>,
    /// The text of every variable of the session's that differs from its default, by lower-case name.
    pub texts: Arc<BTreeMap<&'static str, String>>,
}

impl SessionVariables {
    fn defaults() -> SessionVariables {
        SessionVariables {
            autocommit: true,
            settings: Settings::default(),
            sql_mode: SqlModes::default(),
            parser_mode: shoal_parser::ParserMode::NONE,
            only_full_group_by: true,
            no_auto_value_on_zero: false,
            time_zone: TimeZone::UTC,
            isolation: Isolation::RepeatableRead,
            transaction_read_only: false,
            character_set_results: Some(Charset::Utf8mb4),
            collation_database: Collation::UTF8MB4_0900_AI_CI,
            collation_server: Collation::UTF8MB4_0900_AI_CI,
            lock_wait_timeout_s: 31_536_000,
            innodb_lock_wait_timeout_s: 50,
            max_execution_time_ms: 0,
            sql_select_limit: u64::MAX,
            max_error_count: 1024,
            wait_timeout_s: 28_800,
            sql_safe_updates: false,
            foreign_key_checks: true,
            uses_invisible_indexes: false,
            connection_memory_limit: u64::MAX,
            connection_memory_chunk_size: 8192,
            global_connection_memory_tracking: false,
            long_query_time_micros: 10_000_000,
            min_examined_row_limit: 0,
            sql_log_off: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            insert_id: None,
            timestamp_micros: None,
            profiling: false,
            profiling_history_size: 15,
            texts: Arc::default(),
        }
    }

    /// The values that a new connection starts with.
    pub fn for_connection(globals: &Globals, info: &ConnectInfo) -> SessionVariables {
        let mut variables = SessionVariables::defaults();
        variables.time_zone = TimeZone::parse("SYSTEM").unwrap_or(TimeZone::UTC);
        for (name, text) in &globals.texts {
            if let Some(definition) = registry::find(name).filter(|definition| definition.in_session()) {
                // Checked when it became global.
                let _ = variables.assign(definition, text);
            }
        }
        variables.set_names(info.collation);
        if info.ignore_space {
            variables.parser_mode = variables.parser_mode.with(shoal_parser::ParserMode::IGNORE_SPACE);
        }
        variables
    }

    /// SET NAMES and the handshake's collation.
    pub fn set_names(&mut self, collation: Collation) {
        self.settings.character_set_client = collation.charset();
        self.character_set_results = Some(collation.charset());
        self.settings.collation_connection = collation;
        let charset = collation.charset().name().to_owned();
        let texts = Arc::make_mut(&mut self.texts);
        texts.insert("character_set_client", charset.clone());
        texts.insert("character_set_results", charset.clone());
        texts.insert("character_set_connection", charset);
        texts.insert("collation_connection", collation.name().to_owned());
    }

    /// Gives a variable a value in its text form. Errors: 1231.
    pub fn assign(&mut self, definition: &'static Definition, text: &str) -> Result<()> {
        let text =
            set::as_shown(definition, definition.check(&complete(definition, &self.text(definition), text))?);
        set::apply(self, definition.name, &text)?;
        insert_text(Arc::make_mut(&mut self.texts), definition.name, text);
        Ok(())
    }

    /// Whether a switch that nothing asks for on every statement is on.
    pub fn is_on(&self, name: &str) -> bool {
        registry::find(name).is_some_and(|definition| self.text(definition) == "ON")
    }

    /// A number that nothing asks for on every statement; 0 for what is none.
    pub fn number(&self, name: &str) -> u64 {
        registry::find(name).and_then(|definition| self.text(definition).parse().ok()).unwrap_or(0)
    }

    /// The engine of tables that name none.
    pub fn default_engine(&self) -> String {
        registry::find("default_storage_engine").map(|definition| self.text(definition)).unwrap_or_default()
    }

    /// A variable's text as SHOW VARIABLES prints it.
    pub fn text(&self, definition: &'static Definition) -> String {
        match self.texts.get(definition.name) {
            Some(text) => text.clone(),
            None => definition.default.to_owned(),
        }
    }
}

/// A text that says only what changes, with what stays as it is; any other as it is, as is a wrong one.
fn complete<'t>(definition: &Definition, present: &str, text: &'t str) -> Cow<'t, str> {
    match definition.name {
        "optimizer_switch" => optimizer_switch::changed(present, text).map_or(Cow::Borrowed(text), Cow::Owned),
        _ => Cow::Borrowed(text),
    }
}

/// Keeps a checked text; of a character set and its collation, and of read_only and super_read_only, each follows the other.
fn insert_text(texts: &mut BTreeMap<&'static str, String>, name: &'static str, text: String) {
    match (name, text.as_str()) {
        ("super_read_only", "ON") => drop(texts.insert("read_only", text.clone())),
        ("read_only", "OFF") => drop(texts.insert("super_read_only", text.clone())),
        _ => {}
    }
    let collation = match name {
        "character_set_connection" | "character_set_server" => {
            Charset::resolve(&text).ok().map(Charset::default_collation)
        }
        "collation_connection" | "collation_server" => Collation::resolve(&text).ok(),
        _ => None,
    };
    let Some(collation) = collation else {
        texts.insert(name, text);
        return;
    };
    let pair = match name.ends_with("server") {
        true => ["character_set_server", "collation_server"],
        false => ["character_set_connection", "collation_connection"],
    };
    texts.extend(pair.into_iter().zip([collation.charset().name().to_owned(), collation.name().to_owned()]));
}

/// Values of SET GLOBAL and of the command line; what is not here has its default.
#[derive(Clone, Debug, Default)]
pub struct Globals {
    texts: BTreeMap<&'static str, String>,
    /// Who has set them since the start.
    set: BTreeMap<&'static str, SetBy>,
}

/// Who has run SET GLOBAL, and when.
#[derive(Clone, Debug)]
pub(crate) struct SetBy {
    /// Since 1970.
    pub micros: i64,
    pub user: String,
    pub host: String,
}

impl Globals {
    /// `--set` of the command line, where numbers may have MySQL's suffixes: `max_allowed_packet=1G`. Errors: unknown name with
    /// the nearest known one, unfit value.
    pub fn set_at_start(&mut self, name: &str, value: &str) -> Result<()> {
        let definition = registry::require(name)?;
        self.assign(definition, &definition.without_suffix(value))
    }

    /// SET GLOBAL. Errors: 1231.
    pub(crate) fn assign(&mut self, definition: &'static Definition, text: &str) -> Result<()> {
        let text =
            set::as_shown(definition, definition.check(&complete(definition, &self.text(definition), text))?);
        if definition.in_session() {
            set::apply(&mut SessionVariables::defaults(), definition.name, &text)?;
        }
        insert_text(&mut self.texts, definition.name, text);
        Ok(())
    }

    pub(crate) fn note_set(&mut self, name: &'static str, set: SetBy) {
        self.set.insert(name, set);
    }

    /// Who has set it last.
    pub(crate) fn set_by(&self, name: &str) -> Option<&SetBy> {
        self.set.get(name)
    }

    /// It was given a value at the start or since.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    pub(crate) fn text(&self, definition: &'static Definition) -> String {
        self.texts.get(definition.name).map_or_else(|| definition.default.to_owned(), String::clone)
    }

    /// By its name; empty for one that there is not.
    pub fn named_text(&self, name: &str) -> String {
        registry::find(name).map(|definition| self.text(definition)).unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        let text = registry::find(name).map(|definition| self.text(definition));
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn global_connection_memory_limit(&self) -> u64 {
        self.number("global_connection_memory_limit")
    }

    pub(crate) fn digests_size(&self) -> usize {
        self.number("performance_schema_digests_size") as usize
    }

    pub(crate) fn max_connections(&self) -> u64 {
        self.number("max_connections")
    }

    pub(crate) fn max_allowed_packet(&self) -> usize {
        self.number("max_allowed_packet") as usize
    }

    pub(crate) fn connect_timeout_s(&self) -> u64 {
        self.number("connect_timeout")
    }

    /// LOAD DATA LOCAL is allowed.
    pub(crate) fn local_infile(&self) -> bool {
        self.is_on("local_infile")
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        registry::find(name).is_some_and(|definition| self.text(definition) == "ON")
    }
}
