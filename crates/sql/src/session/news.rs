//! A node that others did not reach for a while has an old dictionary: what it finds missing, or there already, may not be so any more.

use shoal_types::{Error, ErrorCode, Result};

use super::Session;

impl Session {
    /// After a failure of something that has done and sent nothing, begun when the dictionary had the version `used`: `Ok` if it comes of an old dictionary
    /// and the same may begin again, with the newest one. Else what to report.
    pub(crate) async fn begin_with_news(&self, used: &mut u64, error: Error) -> Result<()> {
        // A procedure has done something, and has asked for news where it failed.
        if self.runs_program {
            return Err(error);
        }
        self.ask_for_news(used, error).await
    }

    /// The same of a part of a statement that has done nothing, whatever the others have.
    pub(crate) async fn ask_for_news(&self, used: &mut u64, error: Error) -> Result<()> {
        if self.server.node.cluster().is_none() || !comes_of_dictionary(&error) {
            return Err(error);
        }
        let news = self.shared.interrupt.guard(self.server.node.has_newer_catalog(*used)).await;
        match news {
            Ok(true) => {
                *used = self.server.node.catalog_version();
                Ok(())
            }
            Ok(false) => Err(error),
            Err(silence) if silence.is(ErrorCode::GetTemporaryErrmsg) => {
                let text = format!(
                    "{}; whether that is still so cannot be asked: {}",
                    error.message(),
                    silence.message()
                );
                Err(Error::new(ErrorCode::GetTemporaryErrmsg, format!("Got temporary error: {text}")))
            }
            Err(interrupted) => Err(interrupted),
        }
    }
}

/// It says what the dictionary has and has not.
fn comes_of_dictionary(error: &Error) -> bool {
    let Some(code) = ErrorCode::from_errno(error.errno()) else { return false };
    matches!(
        code,
        ErrorCode::BadDb
            | ErrorCode::DbCreateExists
            | ErrorCode::DbDropExists
            | ErrorCode::NoSuchTable
            | ErrorCode::BadTable
            | ErrorCode::TableExists
            | ErrorCode::BadField
            | ErrorCode::DupFieldName
            | ErrorCode::DupKeyName
            | ErrorCode::KeyColumnDoesNotExist
            | ErrorCode::KeyDoesNotExist
            | ErrorCode::CantDropFieldOrKey
            | ErrorCode::WrongValueCountOnRow
            | ErrorCode::DbAccessDenied
            | ErrorCode::TableAccessDenied
            | ErrorCode::ColumnAccessDenied
            | ErrorCode::SpecificAccessDenied
            | ErrorCode::CannotUser
            | ErrorCode::UnknownAuthid
            | ErrorCode::RoleNotGranted
            | ErrorCode::SpDoesNotExist
            | ErrorCode::SpAlreadyExists
            | ErrorCode::ProcAccessDenied
            | ErrorCode::TrgDoesNotExist
            | ErrorCode::TrgAlreadyExists
            | ErrorCode::EventDoesNotExist
            | ErrorCode::EventAlreadyExists
    )
}
