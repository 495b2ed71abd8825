//! The error log of a server's process: begun before anything has to be told, and told where it goes when that is known.

use std::path::Path;

use shoal_sql::Globals;

/// Says where entries go; `log_error` tells afterwards which file that is.
///
/// # Errors
/// A sentence about the file that cannot be written.
pub fn begin(globals: &mut Globals, data_dir: &Path) -> Result<(), String> {
    let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let settings = globals.error_log(&data_dir);
    if let Some(file) = &settings.file {
        if file.starts_with(&data_dir) {
            std::fs::create_dir_all(&data_dir)
                .map_err(|error| format!("cannot make {}: {error}", data_dir.display()))?;
        }
        globals
            .set_at_start("log_error", &file.display().to_string())
            .map_err(|error| error.message().to_owned())?;
    }
    let advice = "choose another file with log_error, stderr for none";
    shoal_error_log::configure(&settings).map_err(|error| format!("log_error: {error}; {advice}"))
}

/// The process is about to end. Why it failed is for whoever started it to read on stderr, and in the log if that is elsewhere.
pub fn end(outcome: &Result<(), String>) {
    if let Err(reason) = outcome
        && !shoal_error_log::is_text_on_stderr()
    {
        tracing::error!("{reason}");
    }
    shoal_error_log::stop();
}
