//! The error log's variables, and FLUSH ERROR LOGS. The log itself is a crate of its own.

use std::path::Path;
use std::sync::PoisonError;

use shoal_error_log::Settings;
use shoal_types::{Error, ErrorCode, Result};

use crate::server::Server;
use crate::variables::Globals;
use crate::variables::registry::Definition;

/// The variables that SET GLOBAL changes.
const VARIABLES: [&str; 2] = ["log_error_services", "log_error_verbosity"];

/// Whether the error log follows this variable.
pub fn concerns(variable: &str) -> bool {
    VARIABLES.contains(&variable)
}

impl Globals {
    /// Where the error log goes. `data_dir` is where a relative name begins.
    pub fn error_log(&self, data_dir: &Path) -> Settings {
        let text = |name: &str| self.named_text(name);
        let of =
            |services: &str| Settings::of(&text("log_error"), services, &text("log_error_verbosity"), data_dir);
        // Unknown services are refused when the variable is set.
        of(&text("log_error_services")).unwrap_or(Settings { file: None, text: true, json: false, verbosity: 2 })
    }
}

/// SET GLOBAL of a variable that the log follows: the log has changed before the variable has its value.
///
/// # Errors
/// 1231: the value is none, or the file cannot be written.
pub async fn change(server: &Server, definition: &'static Definition, text: &str) -> Result<()> {
    let _one_after_another = server.query_logs.changing.lock().await;
    let mut new = server.globals.read().unwrap_or_else(PoisonError::into_inner).clone();
    new.assign(definition, text)?;
    let data_dir = server.listening().map(|(_, directory)| directory.clone()).unwrap_or_default();
    let settings = new.error_log(Path::new(&data_dir));
    let configured = tokio::task::spawn_blocking(move || shoal_error_log::configure(&settings)).await;
    if let Ok(Err(error)) = configured {
        let refused = definition.wrong_value(text);
        return Err(Error::new(ErrorCode::WrongValueForVar, format!("{} ({error})", refused.message())));
    }
    server.globals.write().unwrap_or_else(PoisonError::into_inner).assign(definition, text)
}

/// FLUSH ERROR LOGS: what has been told is in its file, whose name is opened again.
pub async fn reopen() {
    // It fails when the process is about to end.
    let _ = tokio::task::spawn_blocking(shoal_error_log::reopen).await;
}
