//! `shoal top`: the page for operators in a terminal.
//!
//! It asks a node's HTTP port for what the page in the browser asks, with the same login, so it shows the whole cluster too and has no more
//! rights. *Must not* know anything of Shoal but that port.
//!
//! - [`client`]: requests. - `state`, `digests`: from answers to rows, `readable` for people. - `once`: as text, for scripts. - `screen`, `keys`: in a terminal.

#![warn(missing_docs)]

pub mod client;
mod digests;
mod keys;
mod once;
mod password;
mod readable;
mod screen;
mod state;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use client::Client;
use keys::{Action, View};
pub use password::ask_password;
use state::State;

/// What is to be shown.
pub struct Options {
    /// HOST:PORT.
    pub address: String,
    /// An account of the database.
    pub user: String,
    /// Empty for accounts without one.
    pub password: String,
    /// Print once and end.
    pub once: bool,
    /// As JSON, once.
    pub json: bool,
    /// Between two looks.
    pub every: Duration,
}

/// Shows until `q`, or once.
///
/// # Errors
/// A sentence for the user.
pub fn run(options: &Options) -> Result<(), String> {
    let mut client = Client::new(&options.address);
    client.log_in(&options.user, &options.password)?;
    let shown = match (options.json, options.once) {
        (true, _) => {
            println!("{:#}", client.look(true)?.json());
            Ok(())
        }
        (false, true) => {
            print!("{}", once::text(&State::of(&client.look(false)?)));
            Ok(())
        }
        (false, false) if !io::stdout().is_terminal() => {
            Err("the standard output is no terminal; use `shoal top --once`".into())
        }
        (false, false) => {
            let mut terminal = ratatui::init();
            let shown = show(&mut client, &mut terminal, options.every);
            ratatui::restore();
            shown
        }
    };
    client.log_out();
    shown
}

fn show(client: &mut Client, terminal: &mut ratatui::DefaultTerminal, every: Duration) -> Result<(), String> {
    let failed = |error: io::Error| format!("the terminal: {error}");
    let mut view = View::default();
    let mut state = State::of(&client.look(false)?);
    loop {
        view.note = String::new();
        let next_look = Instant::now() + every;
        loop {
            terminal.draw(|frame| screen::draw(frame, &state, &mut view)).map_err(failed)?;
            let left = next_look.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left).map_err(failed)? {
                break;
            }
            let Event::Key(key) = event::read().map_err(failed)? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match keys::pressed(key, &mut view, &state) {
                Action::None => {}
                Action::Quit => return Ok(()),
                Action::Look => break,
                Action::Kill { node, id, query_only } => {
                    if let Err(error) = client.kill(node, id, query_only) {
                        view.note = format!("not ended: {error}");
                        continue;
                    }
                    break;
                }
            }
        }
        match client.look(view.shows_digests) {
            Ok(answers) => state = State::of(&answers),
            // What was known is shown on.
            Err(error) => state.failure = Some(error),
        }
    }
}
