//! What a session tells its client, with the end of each statement, of what has changed in it: the variables `session_track_*` say what.
//!
//! Statements note what they change; it is worded when it is told. A client that does not hear it costs a look at one flag.

use shoal_txn::Isolation;

use super::Session;
use crate::frontend::Tracked;
use crate::variables::{SessionVariables, registry};

/// The names of the variables that say what is told begin with this.
pub const SETTINGS_PREFIX: &str = "session_track_";
/// No transaction, nothing read, nothing written.
const NO_TRANSACTION: &str = "________";

#[derive(Debug, Default)]
pub struct Tracker {
    /// The client has said that it reads what is told (CLIENT_SESSION_TRACK).
    is_heard: bool,
    tells_schema: bool,
    tells_changes: bool,
    variables: WatchedVariables,
    transaction: TransactionInfo,
    /// Something below is to be told.
    is_changed: bool,
    schema: bool,
    any: bool,
    changed_variables: Vec<&'static str>,
    steps: TransactionSteps,
    told_state: String,
    told_characteristics: String,
}

#[derive(Debug, Default)]
enum WatchedVariables {
    #[default]
    None,
    All,
    Named(Vec<String>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TransactionInfo {
    #[default]
    Off,
    State,
    /// The state, and the statements that would begin the transaction elsewhere.
    Characteristics,
}

/// What the transaction that runs has done.
#[derive(Debug, Default)]
struct TransactionSteps {
    /// START TRANSACTION as it was said; empty: the transaction began with a statement.
    started: String,
    reads: bool,
    writes: bool,
    sends: bool,
}

impl Tracker {
    pub fn new(is_heard: bool, variables: &SessionVariables) -> Tracker {
        let mut tracker = Tracker { is_heard, told_state: NO_TRANSACTION.to_owned(), ..Tracker::default() };
        tracker.configure(variables);
        tracker
    }

    /// A variable `session_track_*` was set.
    pub fn configure(&mut self, variables: &SessionVariables) {
        let text = |name: &str| registry::find(name).map(|found| variables.text(found)).unwrap_or_default();
        self.tells_schema = text("session_track_schema") == "ON";
        self.tells_changes = text("session_track_state_change") == "ON";
        let names = text("session_track_system_variables");
        self.variables = match names.trim() {
            "" | "NULL" => WatchedVariables::None,
            "*" => WatchedVariables::All,
            names => {
                WatchedVariables::Named(names.split(',').map(|name| name.trim().to_ascii_lowercase()).collect())
            }
        };
        self.transaction = match text("session_track_transaction_info").as_str() {
            "STATE" => TransactionInfo::State,
            "CHARACTERISTICS" => TransactionInfo::Characteristics,
            _ => TransactionInfo::Off,
        };
    }

    pub fn note_schema(&mut self) {
        self.schema = self.tells_schema;
        self.note_change();
        self.is_changed |= self.schema;
    }

    /// A variable has got a value, even if it is the one that it had.
    pub fn note_variable(&mut self, name: &'static str) {
        let is_watched = match &self.variables {
            WatchedVariables::None => false,
            WatchedVariables::All => true,
            WatchedVariables::Named(names) => names.iter().any(|watched| watched == name),
        };
        if is_watched && !self.changed_variables.contains(&name) {
            self.changed_variables.push(name);
            self.is_changed = true;
        }
        self.note_change();
    }

    /// Something of the session's has changed that has no telling of its own.
    pub fn note_change(&mut self) {
        self.any |= self.tells_changes;
        self.is_changed |= self.any;
    }

    /// A transaction begins: by a statement that says so in these words, or with what is read or written.
    pub fn begin(&mut self, started: String) {
        self.steps = TransactionSteps { started, ..TransactionSteps::default() };
    }

    pub fn follows_transactions(&self) -> bool {
        self.transaction != TransactionInfo::Off
    }

    pub fn note_access(&mut self, writes: bool, reads: bool) {
        self.steps.writes |= writes;
        self.steps.reads |= reads && !writes;
    }

    pub fn note_result(&mut self) {
        self.steps.sends = true;
    }

    fn has_news(&self) -> bool {
        self.is_heard && (self.is_changed || self.transaction != TransactionInfo::Off)
    }
}

impl Session {
    /// What is to be told with the end of a statement.
    #[inline]
    pub fn tracked(&mut self) -> Option<Box<Tracked>> {
        if self.tracker.has_news() { self.word_changes() } else { None }
    }

    #[cold]
    fn word_changes(&mut self) -> Option<Box<Tracked>> {
        let mut tracked = Tracked::default();
        for name in std::mem::take(&mut self.tracker.changed_variables) {
            let text = registry::find(name).map(|found| self.variable_text(found, false)).unwrap_or_default();
            tracked.variables.push((name, text));
        }
        if std::mem::take(&mut self.tracker.schema) {
            tracked.schema = Some(self.state.database.clone().unwrap_or_default());
        }
        tracked.is_changed = std::mem::take(&mut self.tracker.any);
        self.tracker.is_changed = false;
        if self.tracker.transaction != TransactionInfo::Off {
            let state = self.transaction_state();
            if state != self.tracker.told_state {
                self.tracker.told_state.clone_from(&state);
                tracked.transaction_state = Some(state);
            }
        }
        if self.tracker.transaction == TransactionInfo::Characteristics {
            let characteristics = self.transaction_characteristics();
            if characteristics != self.tracker.told_characteristics {
                self.tracker.told_characteristics.clone_from(&characteristics);
                tracked.transaction_characteristics = Some(characteristics);
            }
        }
        (tracked != Tracked::default()).then(|| Box::new(tracked))
    }

    /// Eight places: how the transaction began, what it reads and writes (all tables are transactional), whether it has sent rows,
    /// whether tables are locked.
    fn transaction_state(&self) -> String {
        let steps = &self.tracker.steps;
        let locked = if self.tables_locked { 'L' } else { '_' };
        if !self.explicit_transaction {
            return format!("_______{locked}");
        }
        let mark = |is_so: bool, letter: char| if is_so { letter } else { '_' };
        let began = if steps.started.is_empty() { 'I' } else { 'T' };
        let (reads, writes, sends) = (mark(steps.reads, 'R'), mark(steps.writes, 'W'), mark(steps.sends, 'S'));
        format!("{began}_{reads}_{writes}_{sends}{locked}")
    }

    fn transaction_characteristics(&self) -> String {
        if self.explicit_transaction {
            return self.tracker.steps.started.clone();
        }
        let next = &self.next_transaction;
        let isolation =
            next.isolation.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {};", isolation_name(level)));
        let access = next.read_only.map(|read_only| format!("SET TRANSACTION READ {};", access_name(read_only)));
        let parts: Vec<String> = isolation.into_iter().chain(access).collect();
        parts.join(" ")
    }

    /// The statements that would begin this transaction elsewhere: SET TRANSACTION's isolation, START TRANSACTION.
    pub fn start_in_words(&self, read_only: Option<bool>, consistent_snapshot: bool) -> String {
        let next = &self.next_transaction;
        let isolation =
            next.isolation.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {}; ", isolation_name(level)));
        let access = read_only.or(next.read_only).map(|read_only| format!("READ {}", access_name(read_only)));
        let snapshot = consistent_snapshot.then(|| "WITH CONSISTENT SNAPSHOT".to_owned());
        let options: Vec<String> = snapshot.into_iter().chain(access).collect();
        let space = if options.is_empty() { "" } else { " " };
        format!("{}START TRANSACTION{space}{};", isolation.unwrap_or_default(), options.join(", "))
    }
}

fn isolation_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn access_name(read_only: bool) -> &'static str {
    if read_only { "ONLY" } else { "WRITE" }
}
