//! Somebody types: lines with history, a prompt that tells what is still open.

use std::path::{Path, PathBuf};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::script::{Next, run_piece};
use crate::session::Session;
use crate::splitter::Splitter;

const HISTORY_FILE: &str = ".shoal_sql_history";
/// Statements with these words are not kept.
const SECRETS: [&str; 2] = ["IDENTIFIED", "PASSWORD"];

/// Reads and carries out until the end.
///
/// # Errors
/// The terminal cannot be used.
pub fn converse(session: &mut Session) -> Result<(), String> {
    let mut editor = DefaultEditor::new().map_err(|error| format!("cannot use the terminal: {error}"))?;
    let history = history_file();
    if let Some(history) = &history {
        // There is none yet at the first start.
        let _ = editor.load_history(history);
    }
    greet(session)?;
    let mut splitter = Splitter::default();
    // What was typed since the last statement: it is kept in the history as one.
    let mut typed = String::new();
    loop {
        let line = match editor.readline(&prompt(session, splitter.waits_for())) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                splitter.clear();
                typed.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(format!("cannot read from the terminal: {error}")),
        };
        splitter.set_backslash_escapes(session.has_backslash_escapes());
        splitter.push(&line);
        splitter.push("\n");
        typed.push_str(if typed.is_empty() { "" } else { "\n" });
        typed.push_str(&line);
        if run_complete(session, &mut splitter) == Next::Quit {
            break;
        }
        if splitter.waits_for().is_none() {
            if is_kept(&typed) {
                let _ = editor.add_history_entry(typed.trim());
            }
            typed.clear();
        }
    }
    if let Some(history) = &history {
        let _ = editor.save_history(history);
    }
    Ok(())
}

/// Carries out what is complete. An error is no reason not to go on.
fn run_complete(session: &mut Session, splitter: &mut Splitter) -> Next {
    while let Some((piece, _)) = splitter.next_piece() {
        match run_piece(session, &piece, false) {
            Ok(Next::GoOn) => {}
            Ok(Next::Quit) => return Next::Quit,
            Err(failure) => eprintln!("{failure}\n"),
        }
    }
    Next::GoOn
}

fn greet(session: &mut Session) -> Result<(), String> {
    let client = session.client().map_err(|failure| failure.to_string())?;
    println!("Connection {} to a server of version {}.", client.connection_id(), client.server_version());
    println!("Statements end with ; or \\G. \\h lists commands, \\q ends.\n");
    Ok(())
}

fn prompt(session: &Session, waits_for: Option<char>) -> String {
    match waits_for {
        Some(open) => format!("    {open}> "),
        None if session.database().is_empty() => "sql> ".to_owned(),
        None => format!("sql {}> ", session.database()),
    }
}

/// Passwords are in no file.
fn is_kept(typed: &str) -> bool {
    let upper = typed.to_ascii_uppercase();
    !typed.trim().is_empty() && !SECRETS.iter().any(|secret| upper.contains(secret))
}

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| Path::new(&home).join(HISTORY_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_passwords_are_not_kept() {
        assert!(is_kept("SELECT 1;"));
        assert!(!is_kept("create user a identified by 'b';"));
        assert!(!is_kept("SET PASSWORD = 'x';"));
        assert!(!is_kept("  "));
    }
}
