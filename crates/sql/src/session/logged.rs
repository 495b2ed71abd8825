//! What a session tells the slow query log and the general log of its statements.
//!
//! Every statement is timed, by the clock readings that the processlist needs anyway. What else the slow query log wants is the
//! growth of the session's counters, which are read at a statement's beginning only while that log is on.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use shoal_types::{Error, ErrorCode, Value};

use super::Session;
use crate::counters::Counter;
use crate::digests::{Costs, Counts, Ended};
use crate::query_log::settings::{ADMINISTRATIVE, EXTRA, GENERAL, SLOW, TRACE, WITHOUT_INDEX};
use crate::query_log::{GeneralEntry, SlowEntry, SlowExtra, secrets, trace};
use crate::statement_events::EventKind;
use crate::statement_times::StatementKind;

/// The counters of which a statement's share is told, in the order of `Shares`.
const SHARED: [Counter; 6] = [
    Counter::ReadRowCount,
    Counter::SelectScan,
    Counter::HandlerReadFirst,
    Counter::HandlerReadKey,
    Counter::HandlerReadNext,
    Counter::HandlerReadRndNext,
];

/// What was counted before the running statement.
pub(super) type Shares = [u64; SHARED.len()];

/// The text of a statement that ran.
pub(super) enum Ran<'a> {
    Text(&'a [u8]),
    Prepared(u32, &'a [Value]),
}

impl Session {
    fn shares(&self) -> Shares {
        SHARED.map(|counter| self.shared.counters.get(counter))
    }

    pub(super) fn begin_measuring(&mut self) {
        self.rows_sent = 0;
        self.kind = StatementKind::Other;
        self.statement_hash = 0;
        self.event_kind = EventKind::Error;
        self.executed = None;
        self.measured = self.shares();
        self.begin_profile();
    }

    /// A statement has ended: its time is counted; what is slow is too, and kept if the log is on. What it has come to, and where its digest is
    /// counted.
    pub(super) fn end_measuring(
        &mut self,
        took: Duration,
        error: Option<&Error>,
        ran: &Ran<'_>,
    ) -> (Costs, Option<Arc<Counts>>) {
        self.audit_statement(error, ran);
        let limit = self.variables.long_query_time_micros;
        let query_time = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.times.record(self.kind, query_time, error.is_some());
        let is_slow = query_time > limit || limit == 0;
        if is_slow {
            self.count(Counter::SlowQueries);
        }
        let before = self.measured;
        let costs = self.costs(&before, error);
        let is_counted = self.server.digests.is_on();
        let digest = if is_counted { self.count_digest(costs, query_time, error, ran) } else { None };
        let bits = self.server.query_logs.bits();
        if bits & SLOW != 0 && (is_slow || bits & WITHOUT_INDEX != 0) {
            self.log_slow(before, query_time, is_slow, error, ran);
        }
        (costs, digest)
    }

    fn costs(&self, before: &Shares, error: Option<&Error>) -> Costs {
        let grown = |at: usize| self.shared.counters.get(SHARED[at]).saturating_sub(before[at]);
        Costs {
            errno: error.map_or(0, Error::errno),
            warnings: self.state.warning_count as u64,
            rows_affected: if error.is_some() { 0 } else { u64::try_from(self.state.row_count).unwrap_or(0) },
            rows_sent: self.rows_sent,
            rows_examined: grown(0),
            full_scans: grown(1),
        }
    }

    fn count_digest(
        &self,
        costs: Costs,
        query_time: u64,
        error: Option<&Error>,
        ran: &Ran<'_>,
    ) -> Option<Arc<Counts>> {
        // What is no statement has no digest.
        if error.is_some_and(|error| error.is(ErrorCode::Parse) || error.is(ErrorCode::EmptyQuery)) {
            return None;
        }
        let (text, hash) = match *ran {
            Ran::Text(text) => (text, self.statement_hash),
            Ran::Prepared(id, _) => match self.statements.get(&id) {
                Some(prepared) => (&prepared.text[..], prepared.hash),
                None => return None,
            },
        };
        let database = self.state.database.as_deref().unwrap_or_default();
        let ended = Ended { hash, database, mode: self.variables.parser_mode, us: query_time, costs };
        let (sample, now) = (|| self.text_for_logs(ran), || self.server.clock_micros());
        self.server.digests.count(&self.digests, &ended, text, sample, now)
    }

    #[cold]
    fn log_slow(&mut self, before: Shares, query_time: u64, is_slow: bool, error: Option<&Error>, ran: &Ran<'_>) {
        let bits = self.server.query_logs.bits();
        let now = self.shares();
        let grown = |at: usize| now[at].saturating_sub(before[at]);
        let rows_examined = grown(0);
        let used_no_index = bits & WITHOUT_INDEX != 0 && grown(1) > 0;
        if !(is_slow || used_no_index) || rows_examined < self.variables.min_examined_row_limit {
            return;
        }
        // What cannot be parsed may hold a password anywhere.
        if error.is_some_and(|error| error.is(ErrorCode::Parse) || error.is(ErrorCode::EmptyQuery)) {
            return;
        }
        let text = self.text_for_logs(ran);
        if bits & ADMINISTRATIVE == 0 && secrets::is_administrative(&text) {
            return;
        }
        let ended = self.server.clock_micros();
        let errno = error.map_or(0, Error::errno);
        let extra = (bits & EXTRA != 0).then(|| SlowExtra {
            errno,
            killed: if error.is_some_and(|error| error.is(ErrorCode::QueryInterrupted)) { errno } else { 0 },
            bytes_received: text.len() as u64 + 1,
            read_first: grown(2),
            read_key: grown(3),
            read_next: grown(4),
            read_rnd_next: grown(5),
        });
        self.server.query_logs.slow(SlowEntry {
            started: ended.saturating_sub_unsigned(query_time),
            ended,
            user_host: self.user_host(),
            connection: self.shared.id,
            query_time,
            rows_sent: self.rows_sent,
            rows_examined,
            extra,
            database: self.state.database.clone().unwrap_or_default(),
            text,
            trace: self.trace_of(ran),
        });
    }

    /// `user[user] @ host [address]`: the account's name and the one that was given, and whichever is known of the two others.
    fn user_host(&self) -> String {
        let host = self.state.host.as_str();
        let (name, address) = if host.parse::<IpAddr>().is_ok() { ("", host) } else { (host, "") };
        format!("{}[{}] @ {name} [{address}]", self.state.access.account.0, self.state.user)
    }

    /// A statement as logs show it: without passwords, without what only ends it, with its parameters.
    pub(super) fn text_for_logs(&self, ran: &Ran<'_>) -> Vec<u8> {
        let backslashes = !self.variables.settings.sql_mode.no_backslash_escapes;
        match ran {
            Ran::Text(text) => {
                let text = text.trim_ascii();
                let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
                secrets::without_secrets(text, backslashes).into_owned()
            }
            Ran::Prepared(id, parameters) => {
                let text = self.statements.get(id).map_or(&b""[..], |prepared| &prepared.text);
                let text = secrets::without_secrets(text, backslashes);
                let literals = parameters.iter().map(|value| literal(value, backslashes));
                secrets::with_parameters(&text, backslashes, literals)
            }
        }
    }

    /// Entries of logs tell of traces.
    pub(super) fn logs_traces(&self) -> bool {
        self.server.query_logs.bits() & TRACE != 0
    }

    /// The traceparent of a statement that ran, if entries tell of them: its query attribute, or else that in its comment.
    pub(super) fn trace_of(&self, ran: &Ran<'_>) -> String {
        if !self.logs_traces() {
            return String::new();
        }
        let text = match *ran {
            Ran::Text(text) => text,
            Ran::Prepared(id, _) => self.statements.get(&id).map_or(&b""[..], |prepared| &prepared.text),
        };
        let attribute = self.trace_attribute.as_deref().and_then(trace::checked);
        attribute.or_else(|| trace::of_comment(text)).unwrap_or_default().to_owned()
    }

    /// The general log's entry of a command, if that log is on.
    #[inline]
    pub(super) fn log_command(&self, command: &'static str, ran: &Ran<'_>) {
        if self.server.query_logs.bits() & GENERAL != 0 && !self.variables.sql_log_off {
            self.log_general(command, ran);
        }
    }

    #[cold]
    fn log_general(&self, command: &'static str, ran: &Ran<'_>) {
        self.server.query_logs.general(GeneralEntry {
            at: self.server.clock_micros(),
            user_host: self.user_host(),
            connection: self.shared.id,
            command,
            text: self.text_for_logs(ran),
        });
    }

    /// The general log's entry of a login, or of COM_CHANGE_USER.
    pub(super) fn log_login(&self, command: &'static str) {
        self.audit_connection(if command == "Connect" { "connect" } else { "change user" });
        if self.server.query_logs.bits() & GENERAL == 0 {
            return;
        }
        let database = self.info.database.as_deref().unwrap_or_default();
        let using = match (command, &self.info.tls) {
            ("Connect", Some(_)) => " using SSL/TLS",
            ("Connect", None) => " using TCP/IP",
            _ => "",
        };
        let text = format!("{}@{} on {database}{using}", self.state.user, self.state.host);
        self.log_command(command, &Ran::Text(text.as_bytes()));
    }
}

/// A parameter as it would stand in a text.
fn literal(value: &Value, backslashes: bool) -> Vec<u8> {
    match value {
        Value::Null => b"NULL".to_vec(),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => value.to_text().to_vec(),
        other => {
            let text = other.to_text();
            let mut quoted = Vec::with_capacity(text.len() + 2);
            quoted.push(b'\'');
            for &byte in text.iter() {
                match byte {
                    b'\'' if backslashes => quoted.extend_from_slice(b"\\'"),
                    b'\'' => quoted.extend_from_slice(b"''"),
                    b'\\' if backslashes => quoted.extend_from_slice(b"\\\\"),
                    b'\n' if backslashes => quoted.extend_from_slice(b"\\n"),
                    b'\r' if backslashes => quoted.extend_from_slice(b"\\r"),
                    0 if backslashes => quoted.extend_from_slice(b"\\0"),
                    byte => quoted.push(byte),
                }
            }
            quoted.push(b'\'');
            quoted
        }
    }
}
