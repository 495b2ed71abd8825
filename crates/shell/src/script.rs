//! Statements and commands that are carried out one after the other.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use crate::session::{Failure, Session};
use crate::splitter::{Command, Piece, Splitter};
use crate::status;

/// A script that calls itself ends here.
const DEPTH_MAX: usize = 16;

/// Carries out statements that nobody types. What an end of the text leaves without its semicolon is a statement too.
pub fn run_script(session: &mut Session, script: &mut dyn BufRead, force: bool) -> Result<(), String> {
    let mut splitter = Splitter::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = script.read_until(b'\n', &mut line).map_err(|error| format!("cannot read: {error}"))?;
        session.note_read(length);
        match length {
            0 => splitter.finish(),
            _ => splitter.push(std::str::from_utf8(&line).map_err(|_| not_utf8(&splitter))?),
        }
        while let Some((piece, at)) = next_piece(&mut splitter, session) {
            match run_piece(session, &piece, force) {
                Ok(Next::GoOn) => {}
                Ok(Next::Quit) => return Ok(()),
                Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(failure) if force && failure.leaves_connection() => eprintln!("line {at}: {failure}"),
                Err(failure) => return Err(format!("line {at}: {failure}")),
            }
        }
        if length == 0 {
            return Ok(());
        }
    }
}

/// A statement before may have changed what a backslash means.
fn next_piece(splitter: &mut Splitter, session: &Session) -> Option<(Piece, usize)> {
    splitter.set_backslash_escapes(session.has_backslash_escapes());
    splitter.next_piece()
}

fn not_utf8(splitter: &Splitter) -> String {
    format!("line {} is no UTF-8; dumps with binary values need --hex-blob", splitter.line())
}

/// Whether there is a next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    GoOn,
    Quit,
}

/// Carries out one piece.
pub fn run_piece(session: &mut Session, piece: &Piece, force: bool) -> Result<Next, Failure> {
    match piece {
        Piece::Statement { text, is_vertical } => session.execute(text, *is_vertical).map(|()| Next::GoOn),
        Piece::Command(command) => run_command(session, command, force),
    }
}

fn run_command(session: &mut Session, command: &Command, force: bool) -> Result<Next, Failure> {
    match command {
        Command::Quit => return Ok(Next::Quit),
        Command::Help => show(status::HELP)?,
        Command::Status => show(&status::page(session)?)?,
        Command::Use(name) if name.is_empty() => {
            return Err(Failure::Client("USE needs a database's name".into()));
        }
        Command::Use(name) => session.use_database(name)?,
        Command::Source(path) => source(session, path, force)?,
        Command::Unknown(letter) => {
            return Err(Failure::Client(format!("there is no command \\{letter}; \\h lists them")));
        }
    }
    Ok(Next::GoOn)
}

fn show(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

fn source(session: &mut Session, path: &str, force: bool) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::Client(format!("{path}: {why}"));
    let file = File::open(path).map_err(|error| failed(&error))?;
    if session.enter_script() > DEPTH_MAX {
        session.leave_script();
        return Err(failed(&format!("scripts call each other more than {DEPTH_MAX} times")));
    }
    let outcome = run_script(session, &mut BufReader::new(file), force);
    session.leave_script();
    outcome.map_err(|reason| failed(&reason))
}
