//! What a request is refused with: a number for whom to blame, and a word.
//!
//! The words are those of the plugin that this protocol comes from, because clients compare them. Errors of the engine are
//! the numbers of MySQL's handlers where there is one (121 is a duplicate key), else MySQL's error number.

use shoal_types::number::append_u64;
use shoal_types::{Error, ErrorCode};

pub type Outcome<T = ()> = std::result::Result<T, Refusal>;

#[derive(Clone, Debug)]
pub enum Refusal {
    /// The request itself is wrong.
    Request(&'static str),
    /// Who asks may not.
    Access(&'static str),
    /// The tables cannot be had.
    Tables(&'static str),
    /// The engine has failed.
    Engine(Error),
}

/// Numbers of MySQL's handler interface.
const FOUND_DUPLICATE_KEY: u64 = 121;
const WRONG_COMMAND: u64 = 131;
const RECORD_FILE_FULL: u64 = 135;
const LOCK_WAIT_TIMEOUT: u64 = 146;
const LOCK_DEADLOCK: u64 = 149;

impl Refusal {
    pub const COMMAND: Refusal = Refusal::Request("cmd");
    pub const SYNTAX: Refusal = Refusal::Request("syntax");
    pub const READ_ONLY: Refusal = Refusal::Request("readonly");
    pub const UNAUTHORIZED: Refusal = Refusal::Access("unauth");
    pub const DENIED: Refusal = Refusal::Access("denied");
    pub const OPEN_TABLE: Refusal = Refusal::Tables("open_table");

    /// The index has no order, and the request needs one.
    pub fn unordered_index() -> Refusal {
        Refusal::Engine(Error::new(ErrorCode::NotSupportedYet, UNORDERED))
    }

    pub fn duplicate() -> Refusal {
        Refusal::Engine(Error::new(ErrorCode::DupEntry, "Duplicate entry"))
    }

    /// Nothing is left of what the transaction has done.
    pub fn rolls_back_transaction(&self) -> bool {
        matches!(self, Refusal::Engine(error) if error.rolls_back_transaction())
    }

    /// Appends the line that tells the client.
    pub fn append(&self, out: &mut Vec<u8>) {
        let (code, word) = match self {
            Refusal::Request(word) => (b'2', *word),
            Refusal::Access(word) => (b'3', *word),
            Refusal::Tables(word) => (b'1', *word),
            Refusal::Engine(_) => (b'1', ""),
        };
        out.extend_from_slice(&[code, b'\t', b'1', b'\t']);
        out.extend_from_slice(word.as_bytes());
        if let Refusal::Engine(error) = self {
            append_u64(engine_number(error), out);
        }
        out.push(b'\n');
    }
}

const UNORDERED: &str = "a hash index finds whole keys alone";

fn engine_number(error: &Error) -> u64 {
    let of = |code: ErrorCode| error.is(code);
    match () {
        () if of(ErrorCode::DupEntry) => FOUND_DUPLICATE_KEY,
        () if of(ErrorCode::NotSupportedYet) => WRONG_COMMAND,
        () if of(ErrorCode::RecordFileFull) => RECORD_FILE_FULL,
        () if of(ErrorCode::LockWaitTimeout) => LOCK_WAIT_TIMEOUT,
        () if of(ErrorCode::LockDeadlock) => LOCK_DEADLOCK,
        () => u64::from(error.errno()),
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Engine(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(refusal: &Refusal) -> String {
        let mut out = Vec::new();
        refusal.append(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_refusal_is_a_line_of_code_one_and_word() {
        assert_eq!(line(&Refusal::Request("stmtnum")), "2\t1\tstmtnum\n");
        assert_eq!(line(&Refusal::UNAUTHORIZED), "3\t1\tunauth\n");
        assert_eq!(line(&Refusal::OPEN_TABLE), "1\t1\topen_table\n");
    }

    #[test]
    fn engine_errors_have_the_numbers_of_handlers_where_there_are_such() {
        assert_eq!(line(&Refusal::duplicate()), "1\t1\t121\n");
        assert_eq!(line(&Error::new(ErrorCode::LockWaitTimeout, "").into()), "1\t1\t146\n");
        assert_eq!(line(&Error::new(ErrorCode::BadNull, "").into()), "1\t1\t1048\n");
    }
}
