//! What a page for operators is shown of sessions, and how it ends them: with an account's rights, and without a session of its own.
//!
//! Rights are those that a session of the account would begin with, as the dictionary has them at the moment of the question.

use std::sync::{Arc, PoisonError};

use shoal_types::{Error, ErrorCode, Result};

use crate::account::{self, AccountKey, OperatorRights};
use crate::query_log::settings::{AUDIT, AUDIT_ALL};
use crate::query_log::{AuditClass, AuditEntry};
use crate::server::Server;
use crate::session::SessionShared;
use crate::statement_text;

/// What an account may do on a page for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorAccess {
    /// Sessions of others, and what happened in the cluster: PROCESS.
    pub sees_all: bool,
    /// Ends sessions of others: CONNECTION_ADMIN or SUPER.
    pub kills_all: bool,
    /// It can do nothing before it has another password.
    pub password_expired: bool,
}

/// A session as a page shows it.
#[derive(Clone, Debug)]
pub struct OperatorSession {
    /// What KILL takes.
    pub id: u32,
    /// As the client gave it.
    pub user: String,
    /// Where from.
    pub host: String,
    /// The default database.
    pub database: Option<String>,
    /// `Query`, `Execute`, `Sleep`.
    pub command: &'static str,
    /// What the statement is doing.
    pub state: &'static str,
    /// In this command and state.
    pub millis: u64,
    /// The beginning of the statement, without passwords.
    pub text: String,
    /// The number of the transaction that holds locks; 0: none.
    pub transaction: u64,
}

impl OperatorSession {
    /// At work on a statement.
    pub fn is_running(&self) -> bool {
        self.command != "Sleep"
    }
}

impl Server {
    /// What an account (user, host) may do; `None`: it is locked, or there is none.
    pub fn operator_access(self: &Arc<Server>, account: &(String, String)) -> Option<OperatorAccess> {
        let OperatorRights { process, kill, password_expired } = account::operator_rights(self, account)?;
        Some(OperatorAccess { sees_all: process, kills_all: kill, password_expired })
    }

    /// The sessions that the account may see, and how many these are: of them at most `count`, running ones and those with locks first, the
    /// longest first.
    pub fn operator_sessions(
        self: &Arc<Server>,
        account: &AccountKey,
        count: usize,
    ) -> (Vec<OperatorSession>, usize) {
        let Some(access) = self.operator_access(account) else { return (Vec::new(), 0) };
        let mut sessions = self.all_sessions();
        sessions.retain(|session| access.sees_all || is_own(account, session));
        let total = sessions.len();
        let mut ranked: Vec<(u8, u64, Arc<SessionShared>)> = sessions.into_iter().map(ranked).collect();
        ranked.sort_by_key(|(rank, millis, session)| (*rank, std::cmp::Reverse(*millis), session.id));
        ranked.truncate(count);
        (ranked.iter().map(|(.., session)| shown(session)).collect(), total)
    }

    /// KILL, or KILL QUERY, as the account.
    ///
    /// # Errors
    /// 1094: no such session. 1095: the account may not end it.
    pub fn kill_as_operator(self: &Arc<Server>, account: &AccountKey, id: u32, query_only: bool) -> Result<()> {
        let access = self.operator_access(account).unwrap_or_default();
        let session = self.session(id);
        let Some(session) =
            session.filter(|session| access.kills_all || access.sees_all || is_own(account, session))
        else {
            return Err(Error::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {id}")));
        };
        if !access.kills_all && !is_own(account, &session) {
            return Err(Error::new(ErrorCode::KillDenied, format!("You are not owner of thread {id}")));
        }
        match query_only {
            true => session.interrupt.kill_query(),
            false => session.interrupt.kill_connection(),
        }
        let what = if query_only { "QUERY" } else { "CONNECTION" };
        self.audit_operator(AuditClass::Administration, "done", account, "", format!("KILL {what} {id}"));
        Ok(())
    }

    /// Somebody has logged in to the page: for the audit log.
    pub fn note_operator_login(&self, account: &AccountKey, host: &str) {
        self.audit_operator(AuditClass::Connection, "connect", account, host, "to the page for operators".into());
    }

    /// Somebody has proven to be an account for requests over REST: for the audit log.
    pub fn note_request_login(&self, account: &AccountKey, host: &str) {
        self.audit_operator(AuditClass::Connection, "connect", account, host, "over REST".into());
    }

    /// A request over REST has ended: for the audit log, if that has all statements. `errno`: 0 if it was done.
    pub fn note_request(&self, account: &AccountKey, host: &str, errno: u16, text: impl FnOnce() -> String) {
        if self.query_logs.bits() & AUDIT_ALL != 0 {
            self.audit_outside_sessions(AuditClass::Statement, "done", (account, host), errno, text());
        }
    }

    /// The page's connections have no numbers.
    fn audit_operator(
        &self,
        class: AuditClass,
        event: &'static str,
        account: &AccountKey,
        host: &str,
        text: String,
    ) {
        if self.query_logs.bits() & AUDIT != 0 {
            self.audit_outside_sessions(class, event, (account, host), 0, text);
        }
    }

    fn audit_outside_sessions(
        &self,
        class: AuditClass,
        event: &'static str,
        (account, host): (&AccountKey, &str),
        errno: u16,
        text: String,
    ) {
        self.query_logs.audit(AuditEntry {
            at: self.clock_micros(),
            class,
            event,
            connection: 0,
            user: account.0.clone(),
            host: host.to_owned(),
            account: format!("{}@{}", account.0, account.1),
            database: String::new(),
            errno,
            text: text.into_bytes(),
            trace: String::new(),
            tls: None,
        });
    }
}

/// Of the same user, as SHOW PROCESSLIST and KILL have it.
fn is_own(account: &AccountKey, session: &SessionShared) -> bool {
    !account.0.is_empty() && session.user == account.0
}

/// In which class the session is listed, and for how long it has been in its state.
fn ranked(session: Arc<SessionShared>) -> (u8, u64, Arc<SessionShared>) {
    let (is_running, millis) = {
        let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
        (activity.command != "Sleep", activity.since.elapsed().as_millis() as u64)
    };
    let rank = match (is_running, session.transaction.id()) {
        (true, _) => 0,
        (_, None) => 2,
        _ => 1,
    };
    (rank, millis, session)
}

fn shown(session: &SessionShared) -> OperatorSession {
    let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
    let (command, state, millis) = (activity.command, activity.state, activity.since.elapsed().as_millis() as u64);
    let text = activity.text.clone();
    drop(activity);
    OperatorSession {
        id: session.id,
        user: session.user.clone(),
        host: session.host.clone(),
        database: session.database.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        command,
        state,
        millis,
        text: statement_text::beginning(&text),
        transaction: session.transaction.id().map_or(0, |id| id.0),
    }
}
