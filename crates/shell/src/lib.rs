//! `shoal sql`: a client for people on machines without one.
//!
//! Statements come from options, from the standard input, or from somebody at a terminal. *Must not know* anything of Shoal but the MySQL
//! protocol: it speaks with every server that does.
//!
//! - `splitter`: from lines to statements, and to commands of the client such as `\s`. - `output`: results as text.
//! - `session`: a connection, which is made again when it is lost, and what is carried out on it. - `interrupt`: Ctrl-C ends the running
//!   statement. - `status`: a page about the connection.
//! - `script`: statements that nobody types; `progress`: how much of them is done. - `terminal`: lines with history.

#![warn(missing_docs)]

mod interrupt;
mod output;
mod progress;
mod script;
mod session;
mod splitter;
mod status;
mod terminal;

use std::io::{self, IsTerminal};

pub use output::Format;
pub use shoal_mysql_client::{COLLATION_UTF8MB4_0900_AI_CI, Encryption, Login};

use script::run_script;
use session::Session;

/// What `shoal sql` was asked for.
pub struct Options {
    /// Where, and who.
    pub port: u16,
    /// Who connects, and how.
    pub login: Login,
    /// Carry these out and end.
    pub execute: Vec<String>,
    /// `None`: tables on a terminal, else tab-separated lines.
    pub format: Option<Format>,
    /// Leave out the line of the columns' names.
    pub skip_column_names: bool,
    /// Go on with the next statement after an error.
    pub force: bool,
}

/// Carries out what was asked for.
///
/// # Errors
/// A sentence for the user: there is no connection, or a statement that nobody typed has failed.
pub fn run(options: Options) -> Result<(), String> {
    let is_typed = options.execute.is_empty() && io::stdin().is_terminal();
    let format = options.format.unwrap_or(match io::stdout().is_terminal() {
        true => Format::Table,
        false => Format::TabSeparated,
    });
    let (texts, force) = (options.execute, options.force);
    let mut session = Session::new(options.port, options.login, format, options.skip_column_names, is_typed)?;
    session.connect().map_err(|error| error.to_string())?;
    if is_typed {
        return terminal::converse(&mut session);
    }
    if texts.is_empty() {
        session.show_progress();
    }
    match texts.is_empty() {
        true => run_script(&mut session, &mut io::stdin().lock(), force),
        false => texts.iter().try_for_each(|text| run_script(&mut session, &mut text.as_bytes(), force)),
    }
}
