//! Stored programs in the dictionary: procedures, functions, triggers and events (MySQL 8.4 manual, chapter 27).
//!
//! The dictionary keeps what a program's definition said, as text, and with what settings it has to be read. What it means is found
//! where it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_types::Collation;

/// What a stored program is. Each kind has names of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramKind {
    /// CALL runs it.
    Procedure = 0,
    /// Expressions call it.
    Function = 1,
    /// Changes of a table's rows run it.
    Trigger = 2,
    /// Its schedule runs it.
    Event = 3,
}

impl ProgramKind {
    /// The kind with this number.
    pub fn of(number: u32) -> Option<ProgramKind> {
        [ProgramKind::Procedure, ProgramKind::Function, ProgramKind::Trigger, ProgramKind::Event]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }

    /// As statements and messages call it.
    pub fn word(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}

/// A stored program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Of the program, and what unqualified names in it mean.
    pub database: String,
    /// Without the database.
    pub name: String,
    /// Which names it shares.
    pub kind: ProgramKind,
    /// The account whose privileges count.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER: the privileges of whoever runs it count instead.
    pub is_invokers: bool,
    /// What stood between the parentheses, of a routine.
    pub parameters: String,
    /// RETURNS of a function, as written.
    pub returns: String,
    /// The statement that it consists of, as written.
    pub body: String,
    /// DETERMINISTIC.
    pub is_deterministic: bool,
    /// `CONTAINS SQL`, `NO SQL`, `READS SQL DATA` or `MODIFIES SQL DATA`.
    pub data_access: String,
    /// COMMENT.
    pub comment: String,
    /// `sql_mode` of the session that made it: it is read and runs with that.
    pub sql_mode: String,
    /// `character_set_client` of that session, by name.
    pub character_set_client: String,
    /// `collation_connection` of that session.
    pub collation_connection: Collation,
    /// Of its database when it was made.
    pub database_collation: Collation,
    /// Microseconds since 1970 UTC.
    pub created_us: i64,
    /// By ALTER; as `created_us`.
    pub altered_us: i64,
    /// Of a trigger.
    pub trigger: Option<TriggerPlace>,
    /// Of an event.
    pub schedule: Option<Schedule>,
}

/// What a trigger waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerPlace {
    /// In the trigger's database.
    pub table: String,
    /// BEFORE, not AFTER.
    pub is_before: bool,
    /// INSERT, UPDATE or DELETE.
    pub event: String,
    /// Among those of the same table, time and event, from 1.
    pub order: u32,
}

/// When an event runs. Times are microseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// AT; `None`: EVERY.
    pub at_us: Option<i64>,
    /// The amount of EVERY, as text; empty with AT.
    pub every: String,
    /// Its unit, such as `MINUTE_SECOND`.
    pub unit: String,
    /// STARTS.
    pub starts_us: Option<i64>,
    /// ENDS.
    pub ends_us: Option<i64>,
    /// ON COMPLETION PRESERVE.
    pub is_preserved: bool,
    /// `ENABLED`, `DISABLED` or `REPLICA_SIDE_DISABLED`.
    pub status: String,
    /// When it has run last.
    pub last_run_us: Option<i64>,
    /// `time_zone` of the session that made it.
    pub zone: String,
}

impl Program {
    /// The key of its kind: names are compared without case.
    fn key(kind: ProgramKind, name: &str) -> (ProgramKind, String) {
        (kind, name.to_lowercase())
    }
}

/// The stored programs of a database.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    by_name: Arc<BTreeMap<(ProgramKind, String), Arc<Program>>>,
    /// Those of tables, in the order in which they run.
    by_table: Arc<BTreeMap<String, Vec<Arc<Program>>>>,
}

impl Programs {
    /// The program of a kind by its name.
    pub fn get(&self, kind: ProgramKind, name: &str) -> Option<&Arc<Program>> {
        if self.by_name.is_empty() {
            return None;
        }
        self.by_name.get(&Program::key(kind, name))
    }

    /// By kind and name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Program>> {
        self.by_name.values()
    }

    /// The triggers of a table, in the order in which they run.
    pub fn of_table(&self, table: &str) -> &[Arc<Program>] {
        self.by_table.get(table).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn put(&mut self, program: Arc<Program>) {
        Arc::make_mut(&mut self.by_name).insert(Program::key(program.kind, &program.name), program);
        self.sort_by_table();
    }

    pub(crate) fn remove(&mut self, kind: ProgramKind, name: &str) {
        Arc::make_mut(&mut self.by_name).remove(&Program::key(kind, name));
        self.sort_by_table();
    }

    fn sort_by_table(&mut self) {
        let mut by_table: BTreeMap<String, Vec<Arc<Program>>> = BTreeMap::new();
        for program in self.by_name.values() {
            if let Some(place) = &program.trigger {
                by_table.entry(place.table.clone()).or_default().push(Arc::clone(program));
            }
        }
        for programs in by_table.values_mut() {
            programs.sort_by_key(|program| program.trigger.as_ref().map_or(0, |place| place.order));
        }
        self.by_table = Arc::new(by_table);
    }
}
