//! A connection, and what is carried out on it.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_mysql_client::{
    CLIENT_SESSION_TRACK, Client, Done, Error, Login, Reply, SERVER_MORE_RESULTS_EXISTS,
    SERVER_STATUS_NO_BACKSLASH_ESCAPES,
};

use crate::interrupt::Interrupts;
use crate::output::{Format, write_rows};
use crate::progress::Progress;

/// Among what a server tells of its session: the default database.
const CHANGED_DATABASE: u8 = 1;

/// Why something was not carried out.
#[derive(Debug)]
pub enum Failure {
    Server(Error),
    /// The standard output is gone.
    Output(io::Error),
    /// What the client does itself.
    Client(String),
}

impl Failure {
    /// Whether the next statement may fare better.
    pub fn leaves_connection(&self) -> bool {
        matches!(self, Failure::Server(Error::Server { .. }) | Failure::Client(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Server(Error::Io(error)) => write!(
                out,
                "the connection is lost ({error}); whether the statement has taken effect is unknown, a transaction was rolled back"
            ),
            Failure::Server(error) => error.fmt(out),
            Failure::Output(error) => write!(out, "cannot write: {error}"),
            Failure::Client(text) => out.write_str(text),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Server(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// What somebody is connected to, and how results are shown.
pub struct Session {
    port: u16,
    login: Login,
    client: Option<Client>,
    interrupts: Arc<Interrupts>,
    format: Format,
    skip_column_names: bool,
    /// Tells how many rows there were and how long it took.
    tells_summaries: bool,
    backslash_escapes: bool,
    depth: usize,
    progress: Option<Progress>,
}

impl Session {
    pub fn new(
        port: u16,
        mut login: Login,
        format: Format,
        skip_column_names: bool,
        is_typed: bool,
    ) -> Result<Session, String> {
        login.extra_capabilities |= CLIENT_SESSION_TRACK;
        let interrupts = Interrupts::listen(port, &login, is_typed)?;
        Ok(Session {
            port,
            login,
            client: None,
            interrupts,
            format,
            skip_column_names,
            tells_summaries: is_typed,
            backslash_escapes: true,
            depth: 0,
            progress: None,
        })
    }

    /// Connects in the database that was used last.
    pub fn connect(&mut self) -> Result<&mut Client, Failure> {
        let (host, port) = (&self.login.host, self.port);
        let connected = Client::log_in(port, &self.login);
        let mut client = connected.map_err(|error| match error {
            Error::Io(error) => Failure::Client(format!(
                "cannot connect to {host}:{port}: {error}; see that a server runs there, or name another with --host and --port"
            )),
            error => Failure::Server(error),
        })?;
        // Statements may take as long as they take.
        client.channel().stream().set_read_timeout(None)?;
        Ok(self.client.insert(client))
    }

    /// The connection; a new one when the last one is lost, as whoever types is told.
    pub fn client(&mut self) -> Result<&mut Client, Failure> {
        if self.client.is_none() {
            self.connect()?;
            eprintln!("connected again: variables of the session and transactions are gone");
        }
        self.client.as_mut().ok_or_else(|| Failure::Client("not connected".into()))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn login(&self) -> &Login {
        &self.login
    }

    /// Shows how much of the standard input is carried out, if that is a file and takes long.
    pub fn show_progress(&mut self) {
        self.progress = Progress::of_input();
    }

    /// So many more bytes of the script were read. Those that it calls do not count.
    pub fn note_read(&self, bytes: usize) {
        if let (Some(progress), 0) = (&self.progress, self.depth) {
            progress.add(bytes);
        }
    }

    /// Scripts may call scripts, to a depth. Returns the depth that is entered.
    pub fn enter_script(&mut self) -> usize {
        self.depth += 1;
        self.depth
    }

    pub fn leave_script(&mut self) {
        self.depth -= 1;
    }

    pub fn has_backslash_escapes(&self) -> bool {
        self.backslash_escapes
    }

    /// The default database; empty if there is none.
    pub fn database(&self) -> &str {
        &self.login.database
    }

    pub fn use_database(&mut self, name: &str) -> Result<(), Failure> {
        let changed = self.client()?.use_database(name);
        self.keep_if_usable(changed)?;
        self.login.database = name.to_owned();
        if self.tells_summaries {
            println!("Database changed");
        }
        Ok(())
    }

    /// Carries out a statement, or several in one text, and shows what comes of it.
    pub fn execute(&mut self, text: &str, is_vertical: bool) -> Result<(), Failure> {
        let connection = self.client()?.connection_id();
        self.interrupts.begin(connection);
        let outcome = self.send_and_show(text, is_vertical);
        self.interrupts.end();
        outcome
    }

    fn send_and_show(&mut self, text: &str, is_vertical: bool) -> Result<(), Failure> {
        let begun = Instant::now();
        let sent = self.client()?.send_query(text);
        self.keep_if_usable(sent)?;
        loop {
            let reply = self.client()?.receive_reply();
            let took = begun.elapsed();
            let reply = self.keep_if_usable(reply)?;
            self.note(&reply);
            let is_last = reply.status() & SERVER_MORE_RESULTS_EXISTS == 0;
            if is_last {
                // What is left is showing rows: there is nothing to end at the server.
                self.interrupts.end();
            }
            match &self.progress {
                Some(progress) => progress.aside(|| self.show(&reply, is_vertical, took))?,
                None => self.show(&reply, is_vertical, took)?,
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// A connection that has failed is not used again.
    fn keep_if_usable<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Failure> {
        if matches!(outcome, Err(Error::Io(_) | Error::Protocol(_))) {
            self.client = None;
        }
        Ok(outcome?)
    }

    fn note(&mut self, reply: &Reply) {
        self.backslash_escapes = reply.status() & SERVER_STATUS_NO_BACKSLASH_ESCAPES == 0;
        let Reply::Done(done) = reply else { return };
        for (kind, texts) in &done.changes {
            if *kind == CHANGED_DATABASE {
                self.login.database = texts.first().cloned().unwrap_or_default();
            }
        }
    }

    fn show(&self, reply: &Reply, is_vertical: bool, took: Duration) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        let format = if is_vertical { Format::Vertical } else { self.format };
        if let Reply::Rows(rows) = reply {
            let interrupts = &self.interrupts;
            write_rows(&mut out, rows, format, self.skip_column_names, &|| !interrupts.came())?;
        }
        if self.tells_summaries {
            writeln!(out, "{}\n", summary(reply, took))?;
        }
        Ok(out.flush()?)
    }
}

/// What came of a statement, in MySQL's words.
fn summary(reply: &Reply, took: Duration) -> String {
    let count = |number: u64, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let (what, warnings, info) = match reply {
        Reply::Rows(rows) if rows.rows.is_empty() => ("Empty set".to_owned(), rows.warnings, ""),
        Reply::Rows(rows) => (count(rows.rows.len() as u64, "row in set", "rows in set"), rows.warnings, ""),
        Reply::Done(Done { affected_rows, warnings, info, .. }) => {
            let rows = count(*affected_rows, "row affected", "rows affected");
            (format!("Query OK, {rows}"), *warnings, info.as_str())
        }
    };
    let warnings = match warnings {
        0 => String::new(),
        number => format!(", {}", count(number.into(), "warning", "warnings")),
    };
    let info = if info.is_empty() { String::new() } else { format!("\n{info}") };
    format!("{what}{warnings} ({:.3} sec){info}", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_in_mysql_s_words() {
        let took = Duration::from_micros(12_345);
        let done = Done { affected_rows: 3, warnings: 2, info: "Records: 3".into(), ..Done::default() };
        let text = summary(&Reply::Done(done), took);
        assert_eq!(text, "Query OK, 3 rows affected, 2 warnings (0.012 sec)\nRecords: 3");
        let rows = shoal_mysql_client::Rows { rows: vec![vec![]], warnings: 1, ..Default::default() };
        assert_eq!(summary(&Reply::Rows(rows), took), "1 row in set, 1 warning (0.012 sec)");
        assert_eq!(summary(&Reply::Rows(Default::default()), took), "Empty set (0.012 sec)");
    }
}
