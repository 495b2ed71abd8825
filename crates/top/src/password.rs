//! A password that is typed and not seen.

use std::io::{self, IsTerminal, Write};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Asks on the terminal.
///
/// # Errors
/// There is none, or the user does not want to.
pub fn ask_password(question: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return Err("there is no terminal to ask for a password on; put it into SHOAL_PASSWORD".into());
    }
    eprint!("{question}");
    let _ = io::stderr().flush();
    let failed = |error: io::Error| format!("the terminal: {error}");
    enable_raw_mode().map_err(failed)?;
    let typed = typed();
    let _ = disable_raw_mode();
    eprintln!();
    typed.map_err(failed)?.ok_or_else(|| "no password was given".into())
}

/// `None`: Ctrl-C.
fn typed() -> io::Result<Option<String>> {
    let mut password = String::new();
    loop {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(Some(password)),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(None),
            KeyCode::Char(one) => password.push(one),
            KeyCode::Backspace => drop(password.pop()),
            _ => {}
        }
    }
}
