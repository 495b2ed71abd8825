//! What a session tells the audit log.

use shoal_parser::ast::{SetAssignment, Statement, VariableScope};
use shoal_types::{Error, ErrorCode};

use super::Session;
use super::logged::Ran;
use crate::query_log::settings::{AUDIT, AUDIT_ALL};
use crate::query_log::{AuditClass, AuditEntry};

/// A statement that is in the audit log whether all are or not.
#[derive(Clone, Copy, Debug)]
pub struct Audited {
    class: AuditClass,
    /// Its text is that of this prepared statement, not what was sent.
    prepared: Option<u32>,
}

/// The class of a statement that is not planned.
fn class_of(statement: &Statement) -> AuditClass {
    match statement {
        Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUsers(_)
        | Statement::SetPassword(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole(_)
        | Statement::SetDefaultRole { .. }
        | Statement::InstallComponents { .. }
        | Statement::UninstallComponents(_)
        | Statement::Grant(_)
        | Statement::Revoke(_) => AuditClass::Account,
        Statement::Kill(_) | Statement::Flush(_) | Statement::AlterInstance(_) => AuditClass::Administration,
        Statement::SetTransaction(set) if set.scope == Some(VariableScope::Global) => AuditClass::Administration,
        Statement::Set(assignments) if assignments.iter().any(is_global) => AuditClass::Administration,
        Statement::Set(_)
        | Statement::SetTransaction(_)
        | Statement::SetRole(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Explain(_)
        | Statement::TableMaintenance(_)
        | Statement::StartTransaction(_)
        | Statement::Commit(_)
        | Statement::Rollback(_)
        | Statement::Savepoint(_)
        | Statement::RollbackToSavepoint(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Use(_)
        | Statement::Do(_)
        | Statement::Prepare(_)
        | Statement::Execute(_)
        | Statement::Deallocate(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::LoadData(_) => AuditClass::Statement,
        _ => AuditClass::Definition,
    }
}

fn is_global(assignment: &SetAssignment) -> bool {
    let SetAssignment::Variable { variable, .. } = assignment else { return false };
    !matches!(variable.scope, None | Some(VariableScope::Session))
}

impl Session {
    fn audits(&self) -> bool {
        self.server.query_logs.bits() & AUDIT != 0
    }

    /// A statement that is not planned begins; `prepared`: by this prepared statement.
    pub(super) fn note_audited(&mut self, statement: &Statement, prepared: Option<u32>) {
        if !self.audits() {
            return;
        }
        let class = class_of(statement);
        if class != AuditClass::Statement {
            self.audited = Some(Audited { class, prepared });
        }
    }

    /// A statement has ended.
    #[inline]
    pub(super) fn audit_statement(&mut self, error: Option<&Error>, ran: &Ran<'_>) {
        if self.audits() {
            self.audit_ended(error, ran);
        }
        self.audited = None;
    }

    #[cold]
    fn audit_ended(&self, error: Option<&Error>, ran: &Ran<'_>) {
        let is_unparsed = error.is_some_and(|error| error.is(ErrorCode::Parse) || error.is(ErrorCode::EmptyQuery));
        let (class, text) = match self.audited {
            Some(Audited { class, prepared: Some(id) }) => (class, self.text_for_logs(&Ran::Prepared(id, &[]))),
            Some(Audited { class, prepared: None }) => (class, self.text_for_logs(ran)),
            None if self.server.query_logs.bits() & AUDIT_ALL == 0 => return,
            // What cannot be parsed may hold a password anywhere.
            None if is_unparsed => (AuditClass::Statement, Vec::new()),
            None => (AuditClass::Statement, self.text_for_logs(ran)),
        };
        let trace = self.trace_of(ran);
        self.audit(class, "done", error.map_or(0, Error::errno), (text, trace));
    }

    /// The log itself is about to be changed: that is said before it may be off.
    pub(crate) fn audit_change_of_log(&self, variable: &str, value: &str) {
        if self.audits() {
            let text = format!("SET GLOBAL {variable} = '{value}'").into_bytes();
            self.audit(AuditClass::Administration, "begins", 0, (text, String::new()));
        }
    }

    pub(super) fn audit_connection(&self, event: &'static str) {
        if self.audits() {
            self.audit(AuditClass::Connection, event, 0, Default::default());
        }
    }

    #[cold]
    fn audit(&self, class: AuditClass, event: &'static str, errno: u16, (text, trace): (Vec<u8>, String)) {
        let account = &self.state.access.account;
        self.server.query_logs.audit(AuditEntry {
            at: self.server.clock_micros(),
            class,
            event,
            connection: self.shared.id,
            user: self.state.user.clone(),
            host: self.state.host.clone(),
            account: format!("{}@{}", account.0, account.1),
            database: self.state.database.clone().unwrap_or_default(),
            errno,
            text,
            trace,
            tls: self.info.tls.as_ref().filter(|_| class == AuditClass::Connection).map(|tls| tls.version),
        });
    }
}
