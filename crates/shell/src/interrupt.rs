//! Ctrl-C: the running statement is ended by KILL QUERY over a connection of its own.
//!
//! A thread waits for the signal. It holds the lock while it kills, and the session takes the same lock before its next statement: so no
//! statement is hit but the one that ran.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shoal_mysql_client::{Client, Login};
use tokio::signal::unix::{SignalKind, signal};

/// As shells tell that a program was ended by SIGINT.
const EXIT_STATUS: i32 = 130;
/// A server that is too busy to let us in within this time ends no statement.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a signal is to end.
#[derive(Default)]
pub struct Interrupts {
    running: Mutex<Running>,
    /// A signal has come since the last statement began.
    came: AtomicBool,
}

#[derive(Default)]
struct Running {
    /// The connection that a statement runs on.
    connection: Option<u32>,
    /// It was told to end already.
    was_killed: bool,
}

impl Interrupts {
    /// Listens from now on. Somebody who types ends a statement with Ctrl-C; a script is ended as well.
    pub fn listen(port: u16, login: &Login, is_typed: bool) -> Result<Arc<Interrupts>, String> {
        let interrupts = Arc::new(Interrupts::default());
        let shared = Arc::clone(&interrupts);
        let login = Login { patience: PATIENCE, database: String::new(), ..login.clone() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start the runtime: {error}"))?;
        let signals = runtime.block_on(async { signal(SignalKind::interrupt()) });
        let mut signals = signals.map_err(|error| format!("cannot listen for signals: {error}"))?;
        let watch = move || {
            while runtime.block_on(signals.recv()).is_some() {
                shared.on_signal(port, &login, is_typed);
            }
        };
        let thread = std::thread::Builder::new().name("interrupt".into()).spawn(watch);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(interrupts)
    }

    fn on_signal(&self, port: u16, login: &Login, is_typed: bool) {
        self.came.store(true, Ordering::Relaxed);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.connection {
            // The second time nobody wants to wait any more.
            Some(_) if running.was_killed => std::process::exit(EXIT_STATUS),
            Some(connection) => {
                if std::io::stderr().is_terminal() {
                    eprintln!("^C: ending the statement (once more: ending this program)");
                }
                let killed = Client::log_in(port, login)
                    .and_then(|mut client| client.execute(&format!("KILL QUERY {connection}")));
                if let Err(error) = killed {
                    eprintln!("the statement cannot be ended: {error}");
                }
                running.was_killed = true;
            }
            None if is_typed => {}
            None => std::process::exit(EXIT_STATUS),
        }
    }

    /// A statement begins.
    pub fn begin(&self, connection: u32) {
        self.came.store(false, Ordering::Relaxed);
        *self.lock() = Running { connection: Some(connection), was_killed: false };
    }

    /// It has ended; what is still to be done is showing rows.
    pub fn end(&self) {
        *self.lock() = Running::default();
    }

    /// A signal has come since the last statement began.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
