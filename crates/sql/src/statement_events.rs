//! What sessions have run, for performance_schema: each session's newest statements, and sums by kind of statement.
//!
//! All of it lies behind the lock that a session takes at the end of every statement anyway, for the processlist, so that a statement
//! pays for a few stores. Texts are kept as they came; passwords are taken out when somebody reads them. Sums of sessions that have
//! ended are kept by account (`accounts`).

use std::collections::HashMap;
use std::sync::Arc;

use shoal_parser::ast::{MaintenanceKind, Show, Statement};

use crate::counters::Counter;
use crate::digests::{Costs, Counts};

/// `performance_schema_events_statements_history_size`.
pub(crate) const HISTORY_SIZE: usize = 10;
/// `performance_schema_max_sql_text_length`: of texts only so much is kept.
const TEXT_BYTES_MAX: usize = 1024;

macro_rules! kinds {
    ($($kind:ident $name:literal,)*) => {
        /// What a statement was, by MySQL's names of instruments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub(crate) enum EventKind {
            $($kind,)*
        }

        impl EventKind {
            /// In the order of their names.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$kind,)*];

            /// Such as `statement/sql/select`.
            pub fn name(self) -> &'static str {
                match self {
                    $(EventKind::$kind => concat!("statement/", $name),)*
                }
            }
        }
    };
}

kinds! {
    Execute "com/Execute",
    AlterDb "sql/alter_db",
    AlterInstance "sql/alter_instance",
    AlterTable "sql/alter_table",
    AlterUser "sql/alter_user",
    Analyze "sql/analyze",
    Begin "sql/begin",
    ChangeDb "sql/change_db",
    Check "sql/check",
    Checksum "sql/checksum",
    Commit "sql/commit",
    CreateDb "sql/create_db",
    CreateIndex "sql/create_index",
    CreateRole "sql/create_role",
    CreateTable "sql/create_table",
    CreateUser "sql/create_user",
    DeallocSql "sql/dealloc_sql",
    Delete "sql/delete",
    DeleteMulti "sql/delete_multi",
    Do "sql/do",
    DropDb "sql/drop_db",
    DropIndex "sql/drop_index",
    DropRole "sql/drop_role",
    DropTable "sql/drop_table",
    DropUser "sql/drop_user",
    Error "sql/error",
    ExecuteSql "sql/execute_sql",
    Explain "sql/explain_other",
    Flush "sql/flush",
    Grant "sql/grant",
    Insert "sql/insert",
    InsertSelect "sql/insert_select",
    Kill "sql/kill",
    Load "sql/load",
    LockTables "sql/lock_tables",
    Optimize "sql/optimize",
    Other "sql/other",
    PrepareSql "sql/prepare_sql",
    ReleaseSavepoint "sql/release_savepoint",
    RenameTable "sql/rename_table",
    RenameUser "sql/rename_user",
    Repair "sql/repair",
    Replace "sql/replace",
    ReplaceSelect "sql/replace_select",
    Revoke "sql/revoke",
    Rollback "sql/rollback",
    RollbackToSavepoint "sql/rollback_to_savepoint",
    Savepoint "sql/savepoint",
    Select "sql/select",
    SetOption "sql/set_option",
    SetPassword "sql/set_password",
    SetRole "sql/set_role",
    ShowCreate "sql/show_create_table",
    ShowDatabases "sql/show_databases",
    ShowColumns "sql/show_fields",
    ShowOther "sql/show_other",
    ShowProcesslist "sql/show_processlist",
    ShowStatus "sql/show_status",
    ShowTables "sql/show_tables",
    ShowVariables "sql/show_variables",
    ShowWarnings "sql/show_warnings",
    Truncate "sql/truncate",
    UnlockTables "sql/unlock_tables",
    Update "sql/update",
    UpdateMulti "sql/update_multi",
}

impl EventKind {
    /// Of a planned statement, by what it is counted as.
    #[inline]
    pub fn of_counter(counter: Counter) -> EventKind {
        match counter {
            Counter::ComSelect => EventKind::Select,
            Counter::ComInsert => EventKind::Insert,
            Counter::ComInsertSelect => EventKind::InsertSelect,
            Counter::ComReplace => EventKind::Replace,
            Counter::ComReplaceSelect => EventKind::ReplaceSelect,
            Counter::ComUpdate => EventKind::Update,
            Counter::ComUpdateMulti => EventKind::UpdateMulti,
            Counter::ComDelete => EventKind::Delete,
            Counter::ComDeleteMulti => EventKind::DeleteMulti,
            _ => EventKind::Other,
        }
    }

    /// Of a statement as it was read. What a planned one is follows from its plan.
    pub fn of_statement(statement: &Statement) -> EventKind {
        match statement {
            Statement::Query(_) => EventKind::Select,
            Statement::Insert(insert) if insert.replace => EventKind::Replace,
            Statement::Insert(_) => EventKind::Insert,
            Statement::Update(_) => EventKind::Update,
            Statement::Delete(_) => EventKind::Delete,
            Statement::AlterDatabase(_) => EventKind::AlterDb,
            Statement::AlterInstance(_) => EventKind::AlterInstance,
            Statement::AlterTable(_) => EventKind::AlterTable,
            Statement::AlterUser(_) => EventKind::AlterUser,
            Statement::StartTransaction(_) => EventKind::Begin,
            Statement::Use(_) => EventKind::ChangeDb,
            Statement::Commit(_) => EventKind::Commit,
            Statement::CreateDatabase(_) => EventKind::CreateDb,
            Statement::CreateIndex(_) => EventKind::CreateIndex,
            Statement::CreateRole { .. } => EventKind::CreateRole,
            Statement::CreateTable(_) => EventKind::CreateTable,
            Statement::CreateUser(_) => EventKind::CreateUser,
            Statement::Deallocate(_) => EventKind::DeallocSql,
            Statement::Do(_) => EventKind::Do,
            Statement::DropDatabase { .. } => EventKind::DropDb,
            Statement::DropIndex(_) => EventKind::DropIndex,
            Statement::DropRole(_) => EventKind::DropRole,
            Statement::DropTable(_) => EventKind::DropTable,
            Statement::DropUser(_) => EventKind::DropUser,
            Statement::Execute(_) => EventKind::ExecuteSql,
            Statement::Explain(_) => EventKind::Explain,
            Statement::Flush(_) => EventKind::Flush,
            Statement::Grant(_) => EventKind::Grant,
            Statement::Kill(_) => EventKind::Kill,
            Statement::LoadData(_) => EventKind::Load,
            Statement::LockTables(_) => EventKind::LockTables,
            Statement::Prepare(_) => EventKind::PrepareSql,
            Statement::ReleaseSavepoint(_) => EventKind::ReleaseSavepoint,
            Statement::RenameTables(_) => EventKind::RenameTable,
            Statement::RenameUsers(_) => EventKind::RenameUser,
            Statement::Revoke(_) => EventKind::Revoke,
            Statement::Rollback(_) => EventKind::Rollback,
            Statement::RollbackToSavepoint(_) => EventKind::RollbackToSavepoint,
            Statement::Savepoint(_) => EventKind::Savepoint,
            Statement::Set(_) | Statement::SetTransaction(_) => EventKind::SetOption,
            Statement::SetPassword(_) => EventKind::SetPassword,
            Statement::SetRole(_) | Statement::SetDefaultRole { .. } => EventKind::SetRole,
            Statement::Describe(_) => EventKind::ShowColumns,
            Statement::Show(show) => EventKind::of_show(show),
            Statement::TableMaintenance(maintenance) => match maintenance.kind {
                MaintenanceKind::Analyze => EventKind::Analyze,
                MaintenanceKind::Check => EventKind::Check,
                MaintenanceKind::Checksum => EventKind::Checksum,
                MaintenanceKind::Optimize => EventKind::Optimize,
                MaintenanceKind::Repair => EventKind::Repair,
            },
            Statement::TruncateTable(_) => EventKind::Truncate,
            Statement::UnlockTables => EventKind::UnlockTables,
            _ => EventKind::Other,
        }
    }

    fn of_show(show: &Show) -> EventKind {
        match show {
            Show::Columns { .. } => EventKind::ShowColumns,
            Show::Create(_) => EventKind::ShowCreate,
            Show::Databases { .. } => EventKind::ShowDatabases,
            Show::ProcessList { .. } => EventKind::ShowProcesslist,
            Show::Status { .. } => EventKind::ShowStatus,
            Show::Tables { .. } => EventKind::ShowTables,
            Show::Variables { .. } => EventKind::ShowVariables,
            Show::Warnings { .. } | Show::Errors { .. } => EventKind::ShowWarnings,
            _ => EventKind::ShowOther,
        }
    }
}

/// A statement that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The session's statements are numbered from 1.
    pub id: u64,
    pub kind: EventKind,
    /// Nanoseconds since the server began.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub costs: Costs,
    /// The error's text.
    pub message: Option<Box<str>>,
    text: EventText,
    pub database: String,
    /// Where its digest is counted.
    pub digest: Option<Arc<Counts>>,
    /// Backslashes escaped in its texts.
    pub backslashes: bool,
}

impl Event {
    /// Its beginning, as it came.
    pub fn text(&self) -> &[u8] {
        match &self.text.prepared {
            Some(text) => beginning(text),
            None => &self.text.own,
        }
    }
}

/// The text of a prepared statement is there anyway, and the same one mostly follows in its place: then there is nothing to do. Another one is
/// copied.
#[derive(Clone, Debug, Default)]
struct EventText {
    prepared: Option<Arc<[u8]>>,
    own: Vec<u8>,
}

impl EventText {
    #[inline]
    fn set(&mut self, text: StatementText<'_>) {
        match text {
            StatementText::Prepared(text) => {
                if !self.prepared.as_ref().is_some_and(|known| Arc::ptr_eq(known, text)) {
                    self.prepared = Some(Arc::clone(text));
                }
            }
            StatementText::Own(text) => {
                self.prepared = None;
                self.own.clear();
                self.own.extend_from_slice(beginning(text));
            }
        }
    }
}

/// The text of a statement that ends.
#[derive(Clone, Copy)]
pub(crate) enum StatementText<'a> {
    Prepared(&'a Arc<[u8]>),
    Own(&'a [u8]),
}

/// What a session passes on when a statement ends.
pub(crate) struct EndedStatement<'a> {
    pub kind: EventKind,
    pub began_ns: u64,
    pub ended_ns: u64,
    pub costs: Costs,
    pub message: Option<&'a str>,
    pub text: StatementText<'a>,
    pub database: &'a str,
    pub digest: Option<Arc<Counts>>,
    pub backslashes: bool,
    /// The prepared statement that it was.
    pub prepared: Option<u32>,
}

/// What statements have come to together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    pub count: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub errors: u64,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub full_scans: u64,
    pub statements_without_index: u64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            errors: 0,
            warnings: 0,
            rows_affected: 0,
            rows_sent: 0,
            rows_examined: 0,
            full_scans: 0,
            statements_without_index: 0,
        }
    }
}

impl Sums {
    #[inline]
    fn add_statement(&mut self, ns: u64, costs: &Costs) {
        self.count += 1;
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.errors += u64::from(costs.errno != 0);
        self.warnings += costs.warnings;
        self.rows_affected += costs.rows_affected;
        self.rows_sent += costs.rows_sent;
        self.rows_examined += costs.rows_examined;
        self.full_scans += costs.full_scans;
        self.statements_without_index += u64::from(costs.full_scans > 0);
    }

    pub fn add(&mut self, other: &Sums) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
        self.rows_examined += other.rows_examined;
        self.full_scans += other.full_scans;
        self.statements_without_index += other.statements_without_index;
    }

    /// The shortest; 0 if there was none.
    pub fn shortest_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    pub fn average_ns(&self) -> u64 {
        self.sum_ns / self.count.max(1)
    }
}

/// Sums by kind; only of kinds that there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumsByKind(Vec<(EventKind, Sums)>);

impl SumsByKind {
    #[inline]
    fn of(&mut self, kind: EventKind) -> &mut Sums {
        let place = match self.0.iter().position(|(known, _)| *known == kind) {
            Some(place) => place,
            None => {
                self.0.push((kind, Sums::default()));
                self.0.len() - 1
            }
        };
        &mut self.0[place].1
    }

    pub fn add(&mut self, other: &SumsByKind) {
        for (kind, sums) in &other.0 {
            self.of(*kind).add(sums);
        }
    }

    pub fn get(&self, kind: EventKind) -> Sums {
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, sums)| *sums).unwrap_or_default()
    }

    pub fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.0.iter().for_each(|(_, sums)| total.add(sums));
        total
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// A prepared statement as others see it.
#[derive(Clone, Debug)]
pub(crate) struct PreparedEvents {
    /// Of PREPARE; `None`: the protocol's.
    pub name: Option<String>,
    pub text: Arc<[u8]>,
    pub backslashes: bool,
    pub prepare_ns: u64,
    pub sums: Sums,
}

/// One session's.
#[derive(Debug, Default)]
pub(crate) struct SessionStatements {
    /// Filled up to [`HISTORY_SIZE`]; then the oldest makes way.
    history: Vec<Event>,
    ended: u64,
    pub sums: SumsByKind,
    /// By their numbers.
    pub prepared: HashMap<u32, PreparedEvents, foldhash::fast::RandomState>,
}

impl SessionStatements {
    /// The number of the statement that runs or will be next.
    pub fn next_id(&self) -> u64 {
        self.ended + 1
    }

    /// The newest last.
    pub fn history(&self) -> impl Iterator<Item = &Event> {
        let oldest = if self.history.len() < HISTORY_SIZE { 0 } else { self.ended as usize % HISTORY_SIZE };
        let (newer, older) = self.history.split_at(oldest.min(self.history.len()));
        older.iter().chain(newer)
    }

    pub fn last(&self) -> Option<&Event> {
        self.history().last()
    }

    /// TRUNCATE TABLE events_statements_history.
    pub fn forget_history(&mut self) {
        self.history.clear();
        // The next one is the first of the ring.
        self.ended = self.ended.next_multiple_of(HISTORY_SIZE as u64);
    }

    pub fn end(&mut self, ended: EndedStatement<'_>) {
        let ns = ended.ended_ns.saturating_sub(ended.began_ns);
        self.sums.of(ended.kind).add_statement(ns, &ended.costs);
        if let Some(prepared) = ended.prepared.and_then(|id| self.prepared.get_mut(&id)) {
            prepared.sums.add_statement(ns, &ended.costs);
        }
        let place = self.ended as usize % HISTORY_SIZE;
        self.ended += 1;
        if place >= self.history.len() {
            let mut text = EventText::default();
            text.set(ended.text);
            self.history.push(Event {
                id: self.ended,
                kind: ended.kind,
                began_ns: ended.began_ns,
                ended_ns: ended.ended_ns,
                costs: ended.costs,
                message: ended.message.map(Into::into),
                text,
                database: ended.database.to_owned(),
                digest: ended.digest,
                backslashes: ended.backslashes,
            });
            return;
        }
        let event = &mut self.history[place];
        event.id = self.ended;
        event.kind = ended.kind;
        event.began_ns = ended.began_ns;
        event.ended_ns = ended.ended_ns;
        event.costs = ended.costs;
        event.message = ended.message.map(Into::into);
        event.text.set(ended.text);
        event.database.clear();
        event.database.push_str(ended.database);
        event.digest = ended.digest;
        event.backslashes = ended.backslashes;
    }
}

/// As much of a text as is kept, in whole characters.
#[inline]
fn beginning(text: &[u8]) -> &[u8] {
    if text.len() <= TEXT_BYTES_MAX {
        return text;
    }
    let is_start = |&end: &usize| text[end] & 0xC0 != 0x80;
    let end = (TEXT_BYTES_MAX - 3..=TEXT_BYTES_MAX).rev().find(is_start).unwrap_or(TEXT_BYTES_MAX);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(statements: &mut SessionStatements, text: &str, ns: u64) {
        end_with(statements, StatementText::Own(text.as_bytes()), ns);
    }

    fn end_with(statements: &mut SessionStatements, text: StatementText<'_>, ns: u64) {
        statements.end(EndedStatement {
            kind: EventKind::Select,
            began_ns: 5,
            ended_ns: 5 + ns,
            costs: Costs { rows_sent: 1, ..Costs::default() },
            message: None,
            text,
            database: "test",
            digest: None,
            backslashes: true,
            prepared: None,
        });
    }

    #[test]
    fn the_newest_statements_are_kept_in_their_order() {
        let mut statements = SessionStatements::default();
        let ids = |statements: &SessionStatements| statements.history().map(|event| event.id).collect::<Vec<_>>();
        for number in 1..=3 {
            end(&mut statements, &format!("SELECT {number}"), 10 * number);
        }
        assert_eq!(ids(&statements), [1, 2, 3]);
        for number in 4..=25 {
            end(&mut statements, &format!("SELECT {number}"), 10 * number);
        }
        assert_eq!(ids(&statements), (16..=25).collect::<Vec<_>>());
        assert_eq!(statements.last().map(Event::text), Some(&b"SELECT 25"[..]));
        let sums = statements.sums.get(EventKind::Select);
        assert_eq!((sums.count, sums.min_ns, sums.max_ns, sums.rows_sent), (25, 10, 250, 25));
        statements.forget_history();
        assert!(statements.last().is_none());
        end(&mut statements, &"x".repeat(5000), 1);
        assert_eq!(ids(&statements), [31]);
        let length = |statements: &SessionStatements| statements.last().map(|event| event.text().len());
        assert_eq!(length(&statements), Some(TEXT_BYTES_MAX));
        end(&mut statements, &format!("x{}", "é".repeat(5000)), 1);
        assert_eq!(length(&statements), Some(TEXT_BYTES_MAX - 1));
        // Texts of prepared statements are shared, however often they are executed, and cut when they are read.
        let prepared: Arc<[u8]> = Arc::from("y".repeat(5000).as_bytes());
        for _ in 0..3 * HISTORY_SIZE {
            end_with(&mut statements, StatementText::Prepared(&prepared), 1);
        }
        assert_eq!((length(&statements), Arc::strong_count(&prepared)), (Some(TEXT_BYTES_MAX), 1 + HISTORY_SIZE));
        end(&mut statements, "SELECT 1", 1);
        assert_eq!(statements.last().map(Event::text), Some(&b"SELECT 1"[..]));
    }

    #[test]
    fn names_of_kinds_are_in_order() {
        assert!(EventKind::ALL.iter().map(|kind| kind.name()).is_sorted());
    }
}
