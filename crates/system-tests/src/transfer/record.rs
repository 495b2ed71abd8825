//! What a client was told, and what it may conclude from that.

use crate::Error;

/// What became of a transaction, as far as its client can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Committed,
    NotCommitted,
    Unknown,
}

/// One transfer that was tried.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Its row in the journal.
    pub id: u64,
    pub source: u64,
    pub target: u64,
    pub amount: i64,
    pub told: Told,
    /// What failed and how, if it did.
    pub error: Option<String>,
}

/// What one client has to tell at the end.
#[derive(Debug, Default)]
pub struct Record {
    pub transfers: Vec<Transfer>,
    pub tags: Vec<String>,
}

/// Why a transaction has not been acknowledged.
#[derive(Debug)]
pub struct Failure {
    pub told: Told,
    /// The kind of the statement that failed.
    pub doing: String,
    pub error: Error,
}

/// Errors that faults excuse: lock waits and deadlocks, temporary conditions, a server that stops, and 1105 for unknown outcomes.
const EXCUSED: [u16; 9] = [1053, 1105, 1152, 1205, 1213, 1297, 1927, 3169, 4031];
/// What errors say whose statement may have taken effect or not.
const MARKS_OF_UNKNOWN: [&str; 3] = ["committed or not", "made or not", "the definition is made"];

/// What a client may conclude from the error of a statement that commits.
pub fn told_by(error: &Error) -> Told {
    match error {
        Error::Server { message, .. } if !MARKS_OF_UNKNOWN.iter().any(|mark| message.contains(mark)) => {
            Told::NotCommitted
        }
        _ => Told::Unknown,
    }
}

/// Faults explain this error; any other is a finding.
pub(super) fn is_excused(error: &Error) -> bool {
    match error {
        Error::Io(_) => true,
        Error::Server { errno, .. } => EXCUSED.contains(errno),
        // What a server that stops says to everybody comes in the place of an answer.
        Error::Protocol(what) => what.starts_with("sequence 0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_of_the_server_makes_a_failure_sure() {
        let server =
            |message: &str| Error::Server { errno: 1105, sqlstate: "HY000".into(), message: message.into() };
        assert_eq!(told_by(&server("the link was lost; it may be committed or not")), Told::Unknown);
        assert_eq!(told_by(&server("no")), Told::NotCommitted);
        assert_eq!(told_by(&Error::Io(std::io::Error::other("gone"))), Told::Unknown);
    }
}
