//! An entry, and how it is written.

use jiff::Timestamp;
use serde_json::json;

/// How grave an entry is, in MySQL's words; the gravest first, but for what is not about something wrong at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Not about something wrong, and always told: starts and ends.
    System,
    /// Something did not work.
    Error,
    /// Something to look at before it becomes an error.
    Warning,
    /// Good to know.
    Note,
}

impl Priority {
    /// As `performance_schema.error_log` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Priority::System => "System",
            Priority::Error => "Error",
            Priority::Warning => "Warning",
            Priority::Note => "Note",
        }
    }

    /// As lines of text have it.
    fn label(self) -> &'static str {
        match self {
            Priority::Error => "ERROR",
            other => other.name(),
        }
    }

    /// `log_error_verbosity`: 1 are errors, 2 warnings as well, 3 everything.
    pub(crate) fn is_shown_at(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Microseconds since 1970.
    pub at_us: i64,
    /// The connection that it is about; 0: none.
    pub connection: u64,
    /// How grave it is.
    pub priority: Priority,
    /// The part of the server that says it.
    pub subsystem: &'static str,
    /// The message; it may have several lines.
    pub text: String,
}

/// Messages have no numbers of their own; this is what MySQL shows for those.
pub(crate) const NO_CODE: &str = "MY-000000";

impl Entry {
    /// `MY-000000`.
    pub fn code(&self) -> &'static str {
        NO_CODE
    }

    /// In MySQL's text format, with its end.
    pub(crate) fn text_line(&self) -> String {
        let (time, label) = (moment(self.at_us), self.priority.label());
        // What somebody else has said must not look like an entry of its own.
        let text =
            self.text.replace('\n', "\n    ").replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "?");
        format!("{time} {} [{label}] [{NO_CODE}] [{}] {text}\n", self.connection, self.subsystem)
    }

    /// As a JSON object with the names that MySQL's JSON sink uses, on one line, with its end.
    pub(crate) fn json_line(&self) -> String {
        let object = json!({
            "prio": self.priority as u8,
            "err_code": 0,
            "subsystem": self.subsystem,
            "msg": self.text,
            "time": moment(self.at_us),
            "ts": self.at_us / 1000,
            "thread": self.connection,
            "label": self.priority.label(),
        });
        format!("{object}\n")
    }
}

/// A moment as MySQL's logs write it, in UTC: `2026-11-22T03:00:00.000001Z`.
pub fn moment(at_us: i64) -> String {
    Timestamp::from_microsecond(at_us).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        let at_us = 1_700_000_000_000_042;
        Entry { at_us, connection: 7, priority: Priority::Warning, subsystem: "Server", text: text.to_owned() }
    }

    #[test]
    fn lines_are_as_mysql_writes_them() {
        let line = entry("the disk is nearly full").text_line();
        assert_eq!(line, "2023-11-14T22:13:20.000042Z 7 [Warning] [MY-000000] [Server] the disk is nearly full\n");
    }

    #[test]
    fn an_object_is_on_one_line_whatever_the_text() {
        let line = entry("two\n\"lines\"").json_line();
        assert_eq!(line.matches('\n').count(), 1);
        let object: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(object["msg"], "two\n\"lines\"");
        assert_eq!((&object["prio"], &object["label"]), (&json!(2), &json!("Warning")));
        assert_eq!((&object["ts"], &object["thread"]), (&json!(1_700_000_000_000_i64), &json!(7)));
    }

    #[test]
    fn verbosity_leaves_out_what_is_less_grave() {
        let shown = |verbosity| {
            [Priority::System, Priority::Error, Priority::Warning, Priority::Note]
                .map(|priority| priority.is_shown_at(verbosity))
        };
        assert_eq!(shown(1), [true, true, false, false]);
        assert_eq!(shown(2), [true, true, true, false]);
        assert_eq!(shown(3), [true; 4]);
    }
}
