//! Errors that several layers report.

use shoal_log::LogError;
use shoal_types::{Error, ErrorCode};

/// Error 1297: it passes.
pub(crate) fn temporary(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::GetTemporaryErrmsg, format!("Got temporary error: {}", message.into()))
}

/// Error 1053: the node takes no more work.
pub(crate) fn shutting_down() -> Error {
    Error::new(ErrorCode::ServerShutdown, "Server shutdown in progress")
}

/// The log's errors as statements report them.
pub(crate) fn log_error(error: LogError) -> Error {
    if error.is_disk_full() {
        return Error::new(ErrorCode::DiskFull, format!("Error on disk full: {error}"));
    }
    match error {
        LogError::Closed => shutting_down(),
        other => Error::unknown(other.to_string()),
    }
}
