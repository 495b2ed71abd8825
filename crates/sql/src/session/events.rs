//! What a session leaves for performance_schema when a statement ends.

use std::sync::PoisonError;
use std::time::Instant;

use shoal_types::Error;

use super::Session;
use super::logged::Ran;
use crate::statement_events::{EndedStatement, EventKind, PreparedEvents, StatementText};

impl Session {
    /// A statement has ended: its time and its costs are counted, and it is the newest of those that are kept. With the last one of a
    /// query the session is idle again.
    pub(super) fn end_statement(
        &mut self,
        began: Instant,
        ended: Instant,
        error: Option<&Error>,
        ran: &Ran<'_>,
        is_last: bool,
    ) {
        let (costs, digest) = self.end_measuring(ended - began, error, ran);
        let profile = self.profile.take();
        let (text, kind, prepared) = match *ran {
            Ran::Text(text) => (StatementText::Own(text.trim_ascii()), self.event_kind, self.executed),
            Ran::Prepared(id, _) => {
                let known = self.statements.get(&id).map(|prepared| StatementText::Prepared(&prepared.text));
                (known.unwrap_or(StatementText::Own(b"")), EventKind::Execute, Some(id))
            }
        };
        if let Some(profile) = profile {
            let text = match text {
                StatementText::Prepared(text) => text,
                StatementText::Own(text) => text,
            };
            self.keep_profile(*profile, ended, text);
        }
        let mut activity = self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.end(EndedStatement {
            kind,
            began_ns: self.server.nanoseconds(began),
            ended_ns: self.server.nanoseconds(ended),
            costs,
            message: error.map(Error::message),
            text,
            database: self.state.database.as_deref().unwrap_or_default(),
            digest,
            backslashes: self.has_backslash_escapes(),
            prepared,
        });
        if is_last {
            activity.command = "Sleep";
            activity.state = "";
            activity.since = ended;
            activity.text.clear();
        }
    }

    /// What a planned statement, or one that is not, counts as. That of EXECUTE stays EXECUTE.
    #[inline]
    pub(super) fn note_kind(&mut self, kind: EventKind) {
        if self.executed.is_none() {
            self.event_kind = kind;
        }
    }

    fn has_backslash_escapes(&self) -> bool {
        !self.variables.settings.sql_mode.no_backslash_escapes
    }

    /// A statement was prepared: others see it until it is deallocated.
    pub(super) fn show_prepared(&self, id: u32, name: Option<&str>, began: Instant) {
        let Some(prepared) = self.statements.get(&id) else { return };
        let events = PreparedEvents {
            name: name.map(str::to_owned),
            text: std::sync::Arc::clone(&prepared.text),
            backslashes: self.has_backslash_escapes(),
            prepare_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            sums: Default::default(),
        };
        let mut activity = self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.prepared.insert(id, events);
    }

    pub(super) fn hide_prepared(&self, id: u32) {
        let mut activity = self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.prepared.remove(&id);
    }

    pub(super) fn hide_all_prepared(&self) {
        let mut activity = self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.statements.prepared = Default::default();
    }
}
