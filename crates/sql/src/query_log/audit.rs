//! The audit log: one JSON object a line.
//!
//! Connections, failed logins, definitions, statements about accounts and the server itself; with `audit_log_statements` all others
//! as well. Passwords are in no text.

use std::fmt::Write;

use shoal_error_log::moment;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditClass {
    Connection,
    /// CREATE, ALTER, DROP, RENAME, TRUNCATE of whatever holds rows.
    Definition,
    /// Accounts, roles and what they may do.
    Account,
    /// SET GLOBAL, KILL, FLUSH, ALTER INSTANCE.
    Administration,
    /// All others.
    Statement,
}

impl AuditClass {
    fn name(self) -> &'static str {
        match self {
            AuditClass::Connection => "connection",
            AuditClass::Definition => "definition",
            AuditClass::Account => "account",
            AuditClass::Administration => "administration",
            AuditClass::Statement => "statement",
        }
    }
}

/// One line.
#[derive(Debug)]
pub struct AuditEntry {
    /// Microseconds since 1970 UTC.
    pub at: i64,
    pub class: AuditClass,
    /// `connect`, `failed login`, `change user`, `disconnect`; of statements `done`, or `begins` where the log may end with it.
    pub event: &'static str,
    pub connection: u32,
    /// As the client gave it.
    pub user: String,
    pub host: String,
    /// `user@host` as in the dictionary; empty: it is not known, or there is none.
    pub account: String,
    pub database: String,
    /// 0: no error.
    pub errno: u16,
    /// The statement, or an error's text.
    pub text: Vec<u8>,
    /// The statement's traceparent; empty: it has none, or `log_trace_context` is off.
    pub trace: String,
    /// Of a connection.
    pub tls: Option<&'static str>,
}

/// Appends an entry.
pub fn write_audit(entry: &AuditEntry, out: &mut Vec<u8>) {
    let mut line = String::with_capacity(200 + entry.text.len());
    // Writing to memory does not fail.
    let _ = write!(
        line,
        "{{\"timestamp\":\"{}\",\"class\":\"{}\",\"event\":\"{}\",\"connection_id\":{}",
        moment(entry.at),
        entry.class.name(),
        entry.event,
        entry.connection
    );
    let is_connection = entry.class == AuditClass::Connection;
    let text = String::from_utf8_lossy(&entry.text);
    let texts = [
        ("user", entry.user.as_str()),
        ("host", &entry.host),
        ("account", &entry.account),
        ("database", &entry.database),
        ("tls", entry.tls.unwrap_or_default()),
        ("traceparent", &entry.trace),
        (if is_connection { "message" } else { "query" }, &text),
    ];
    for (name, value) in texts {
        // Whom an entry is about is in all of them.
        if !value.is_empty() || matches!(name, "user" | "host") {
            let _ = write!(line, ",\"{name}\":");
            append_string(value, &mut line);
        }
    }
    let _ = writeln!(line, ",\"errno\":{}}}", entry.errno);
    out.extend_from_slice(line.as_bytes());
}

fn append_string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Lines end at a line feed alone, whoever reads them.
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_its_text_holds() {
        let entry = AuditEntry {
            at: 1_700_000_000_000_007,
            class: AuditClass::Definition,
            event: "done",
            connection: 7,
            user: "o\"neil\\".to_owned(),
            host: "h".to_owned(),
            account: String::new(),
            database: "d".to_owned(),
            errno: 1050,
            text: b"CREATE\nTABLE\t`\x01\xff`".to_vec(),
            trace: String::new(),
            tls: None,
        };
        let mut out = Vec::new();
        write_audit(&entry, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{\"timestamp\":\"2023-11-14T22:13:20.000007Z\",\"class\":\"definition\",\"event\":\"done\",\"connection_id\":7,\
             \"user\":\"o\\\"neil\\\\\",\"host\":\"h\",\"database\":\"d\",\
             \"query\":\"CREATE\\nTABLE\\t`\\u0001\u{fffd}`\",\"errno\":1050}\n"
        );
    }
}
