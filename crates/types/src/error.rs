//! Errors as a MySQL client sees them: errno, SQLSTATE, message; and whether the work was committed.
//!
//! Numbers and states are those of the MySQL 8.4 error reference; `code.rs` is their one table.

mod code;
mod signalled;

use std::sync::Arc;

pub use code::ErrorCode;
pub use signalled::Signalled;

use crate::NodeId;

/// What the sender of a failed request may conclude about its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outcome {
    /// Nothing of the statement took effect.
    #[default]
    NotCommitted,
    /// The statement took effect although an error is reported.
    Committed,
    /// Nobody can tell: the connection to the decision was lost.
    Unknown,
}

/// Why a request was refused that may well succeed elsewhere, or here a little later. Nothing of it took effect, and
/// what its transaction had staged and locked at the place that answers so is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transient {
    /// Another replica leads the partition: this node's, as far as is known there.
    NotLeader {
        /// Where to ask next; `None` while nobody is known to lead.
        leader: Option<NodeId>,
    },
    /// The replica leads, but may not serve now: its lease has run out, or its term is just beginning.
    NotServing,
    /// The leader is handing the partition over to another node.
    HandingOver,
}

/// An error that ends a statement. Cheap to pass (one pointer).
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorBody>);

#[derive(Clone, Debug)]
struct ErrorBody {
    errno: u16,
    sqlstate: [u8; 5],
    message: String,
    outcome: Outcome,
    rolls_back_transaction: bool,
    transient: Option<Transient>,
    is_spoilt: bool,
    signalled: Option<Arc<Signalled>>,
}

/// What most functions here return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of the table in `code.rs` with its full text.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorBody {
            errno: code.errno(),
            sqlstate: *code.sqlstate(),
            message: message.into(),
            outcome: Outcome::NotCommitted,
            rolls_back_transaction: matches!(code, ErrorCode::LockDeadlock),
            transient: None,
            is_spoilt: false,
            signalled: None,
        }))
    }

    /// A condition that SIGNAL raises, with a number and a state of its own.
    pub fn signalled(signalled: Arc<Signalled>) -> Error {
        let mut error = Error::new(ErrorCode::SignalException, signalled.message.as_str());
        error.0.errno = signalled.errno;
        error.0.sqlstate = signalled.sqlstate;
        error.0.signalled = Some(signalled);
        error
    }

    /// Errno 1297: refused for a reason that passes.
    pub fn transient(why: Transient, message: impl Into<String>) -> Error {
        let mut error = Error::new(ErrorCode::GetTemporaryErrmsg, message);
        error.0.transient = Some(why);
        error
    }

    /// Errno 1235: the statement was understood, the feature is not there. `feature` is its name.
    pub fn unsupported(feature: impl AsRef<str>) -> Error {
        Error::new(
            ErrorCode::NotSupportedYet,
            format!("This version of Shoal doesn't yet support '{}'", feature.as_ref()),
        )
    }

    /// Errno 1105, for conditions that have no number of their own.
    pub fn unknown(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::UnknownError, message)
    }

    /// Marks what another node has sent as something that no node sends, whatever has happened: it is cut off.
    pub fn as_spoilt(mut self) -> Error {
        self.0.is_spoilt = true;
        self
    }

    /// Says what became of the statement's writes; they are not committed unless it is said.
    pub fn with_outcome(mut self, outcome: Outcome) -> Error {
        self.0.outcome = outcome;
        self
    }

    /// Marks an error after which the whole transaction is gone, not the statement alone.
    pub fn rolling_back_transaction(mut self) -> Error {
        self.0.rolls_back_transaction = true;
        self
    }

    /// MySQL's error number.
    pub fn errno(&self) -> u16 {
        self.0.errno
    }

    /// The error has this code's number.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.0.errno == code.errno()
    }

    /// Five characters, such as `42S02`.
    pub fn sqlstate(&self) -> &[u8; 5] {
        &self.0.sqlstate
    }

    /// The text for the user; it names no error number.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What became of the statement's writes.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The whole transaction is gone, not the statement alone.
    pub fn rolls_back_transaction(&self) -> bool {
        self.0.rolls_back_transaction
    }

    /// Another node has sent what no node sends.
    pub fn is_spoilt(&self) -> bool {
        self.0.is_spoilt
    }

    /// The condition, if SIGNAL raised it.
    pub fn as_signalled(&self) -> Option<&Arc<Signalled>> {
        self.0.signalled.as_ref()
    }

    /// Set if the request may be repeated: elsewhere, or after a moment.
    pub fn why_transient(&self) -> Option<Transient> {
        self.0.transient
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = String::from_utf8_lossy(&self.0.sqlstate);
        write!(f, "ERROR {} ({}): {}", self.0.errno, state, self.0.message)
    }
}

impl std::error::Error for Error {}
