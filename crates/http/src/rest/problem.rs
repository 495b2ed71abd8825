//! Errors as answers: an HTTP status for programs that look no further, and MySQL's number and words for those that do.

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::json;
use shoal_types::{Error, ErrorCode, Outcome};

use crate::reply::{JSON, Reply, reply};

/// Why a request was not done.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    error: Box<Error>,
    /// Which one of a batch.
    operation: Option<usize>,
    /// The request has been read to its end, so another one may follow it.
    is_read: bool,
}

impl Problem {
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Problem {
        Problem { status, error: Box::new(Error::new(code, message)), operation: None, is_read: false }
    }

    /// One for which MySQL has no number.
    pub fn unknown(status: StatusCode, message: impl Into<String>) -> Problem {
        Problem::new(status, ErrorCode::UnknownError, message)
    }

    /// A request that is no such request.
    pub fn malformed(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, ErrorCode::WrongArguments, message)
    }

    /// It may be done a little later.
    pub fn busy(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::GetTemporaryErrmsg, message)
    }

    /// Of the operation at this position of a batch.
    pub fn at(mut self, operation: usize) -> Problem {
        self.operation = Some(operation);
        self
    }

    /// It came up when the whole of the request was there.
    pub fn after_reading(mut self) -> Problem {
        self.is_read = true;
        self
    }

    /// MySQL's number.
    pub fn errno(&self) -> u16 {
        self.error.errno()
    }

    #[cfg(test)]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The answer. The connection ends with it if what follows may be a body that was not read.
    pub fn reply(&self) -> Reply {
        let outcome = match self.error.outcome() {
            Outcome::NotCommitted => "not committed",
            Outcome::Committed => "committed",
            Outcome::Unknown => "unknown",
        };
        let mut body = json!({
            "error": {
                "errno": self.error.errno(),
                "sqlstate": String::from_utf8_lossy(self.error.sqlstate()),
                "message": self.error.message(),
            },
            "outcome": outcome,
        });
        if let Some(operation) = self.operation {
            body["operation"] = json!(operation);
        }
        let mut reply = reply(self.status, JSON, format!("{body}\n"));
        let headers = reply.headers_mut();
        let mut add = |name, value| headers.insert(name, HeaderValue::from_static(value));
        match self.status {
            StatusCode::UNAUTHORIZED => add(header::WWW_AUTHENTICATE, "Basic realm=\"shoal\", charset=\"UTF-8\""),
            StatusCode::SERVICE_UNAVAILABLE => add(header::RETRY_AFTER, "1"),
            StatusCode::METHOD_NOT_ALLOWED => add(header::ALLOW, "POST"),
            _ => None,
        };
        if !self.is_read {
            add(header::CONNECTION, "close");
        }
        reply
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem { status: status_of(&error), error: Box::new(error), operation: None, is_read: false }
    }
}

fn status_of(error: &Error) -> StatusCode {
    use ErrorCode::*;
    const CONFLICTS: [ErrorCode; 3] = [DupEntry, LockDeadlock, LockWaitTimeout];
    const DENIED: [ErrorCode; 4] =
        [TableAccessDenied, ColumnAccessDenied, DbAccessDenied, OptionPreventsStatement];
    const MISSING: [ErrorCode; 3] = [NoSuchTable, BadDb, KeyNotFound];
    const UNAVAILABLE: [ErrorCode; 7] =
        [DiskFull, RecordFileFull, OutOfResources, LockTableFull, GetErrmsg, GetTemporaryErrmsg, QueryTimeout];
    let is_one = |codes: &[ErrorCode]| codes.iter().any(|code| error.is(*code));
    match () {
        () if error.outcome() != Outcome::NotCommitted || error.why_transient().is_some() => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        () if is_one(&CONFLICTS) => StatusCode::CONFLICT,
        () if is_one(&DENIED) => StatusCode::FORBIDDEN,
        () if is_one(&MISSING) => StatusCode::NOT_FOUND,
        () if is_one(&UNAVAILABLE) => StatusCode::SERVICE_UNAVAILABLE,
        () if error.is(NetPacketTooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
        () if error.is(UnknownError) => StatusCode::INTERNAL_SERVER_ERROR,
        // What is left is about the values and names of the request.
        () => StatusCode::BAD_REQUEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_say_what_a_program_may_do() {
        let status = |code| Problem::from(Error::new(code, "x")).status.as_u16();
        assert_eq!(status(ErrorCode::DupEntry), 409);
        assert_eq!(status(ErrorCode::LockDeadlock), 409);
        assert_eq!(status(ErrorCode::ColumnAccessDenied), 403);
        assert_eq!(status(ErrorCode::OptionPreventsStatement), 403);
        assert_eq!(status(ErrorCode::NoSuchTable), 404);
        assert_eq!(status(ErrorCode::DataTooLong), 400);
        assert_eq!(status(ErrorCode::DiskFull), 503);
        assert_eq!(status(ErrorCode::UnknownError), 500);
        let lost = Error::new(ErrorCode::DupEntry, "x").with_outcome(Outcome::Unknown);
        assert_eq!(Problem::from(lost).status.as_u16(), 503, "nobody knows whether it was done");
    }

    #[test]
    fn answers_tell_number_state_and_position() {
        let problem = Problem::from(Error::new(ErrorCode::DupEntry, "Duplicate \"entry\"")).at(3);
        let reply = problem.reply();
        assert_eq!(reply.headers()["connection"], "close");
        let problem = problem.after_reading();
        assert!(!problem.reply().headers().contains_key("connection"));
        let refused = Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::AccessDenied, "x").reply();
        assert!(refused.headers().contains_key("www-authenticate"));
        assert_eq!((problem.error().errno(), problem.operation), (1062, Some(3)));
    }
}
