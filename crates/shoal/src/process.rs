//! What every way of running has in common: opening the data with a progress bar, telling the service manager, being told to stop, starting
//! again.

use std::io::IsTerminal;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use shoal_cluster::{Node, NodeOptions, Process, RecoveryProgress, Stop};
use shoal_http::Watched;
use shoal_sql::event_scheduler::EventScheduler;
use shoal_sql::server::Server;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

/// How long running statements may go on once the server was told to stop.
pub const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Opens the node, with a progress bar when recovery takes long and somebody watches.
pub fn open(mut options: NodeOptions, watched: &Watched) -> Result<Arc<Node>, String> {
    options.release_memory = Some(crate::allocator::release);
    let bar = ProgressBar::hidden();
    let is_seen = std::io::stderr().is_terminal();
    let progress = |progress: RecoveryProgress| {
        watched.note_recovery(progress.done_bytes, progress.total_bytes);
        if is_seen && progress.total_bytes > 0 {
            if bar.length().is_none() || bar.is_hidden() {
                bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {bytes}/{total_bytes} {eta}") {
                    bar.set_style(style);
                }
            }
            bar.set_message("reading back the data");
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
        }
    };
    let node = Node::open_with_progress(options, progress).map_err(|error| error.message().to_owned());
    bar.finish_and_clear();
    node
}

/// Runs events from now on.
pub fn schedule_events(server: &Arc<Server>) -> Result<EventScheduler, String> {
    EventScheduler::start(server, |what| tracing::error!("{what}"))
        .map_err(|error| format!("cannot start the event scheduler: {error}"))
}

/// Tells systemd where the process is in its life, by the protocol of sd_notify(3); `READY=1` is what a start waits for. Without a service
/// manager, nobody.
pub fn tell_service_manager(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let bytes = name.as_encoded_bytes();
    let address = match bytes.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    let socket = address.and_then(|address| UnixDatagram::unbound().map(|socket| (socket, address)));
    let told = socket.and_then(|(socket, address)| socket.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = told {
        tracing::warn!("the service manager cannot be told {state}: {error}");
    }
}

/// Whatever ends the process in an orderly way: signals, and commands of the management client.
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    input_ended: Arc<Notify>,
    commands: Arc<StopCommands>,
}

/// The management client's way to end the process.
#[derive(Default)]
struct StopCommands {
    how: Mutex<Option<Stop>>,
    came: Notify,
}

impl Process for StopCommands {
    fn stop(&self, how: Stop) {
        *self.how.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
        self.came.notify_one();
    }
}

impl StopSignals {
    pub fn listen() -> Result<StopSignals, String> {
        let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        Ok(StopSignals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            input_ended: Arc::default(),
            commands: Arc::default(),
        })
    }

    /// For the node, whom management commands reach.
    pub fn commands(&self) -> Arc<dyn Process> {
        Arc::clone(&self.commands) as Arc<dyn Process>
    }

    /// How a management command wants the process to end, if it was one.
    pub fn commanded(&self) -> Option<Stop> {
        *self.commands.how.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the standard input counts as a signal.
    pub fn stop_when_input_ends(&self) -> Result<(), String> {
        let ended = Arc::clone(&self.input_ended);
        let watch = move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            ended.notify_one();
        };
        let thread = std::thread::Builder::new().name("input".into()).spawn(watch);
        thread.map(|_| ()).map_err(|error| format!("cannot start a thread: {error}"))
    }

    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = self.input_ended.notified() => {}
            () = self.commands.came.notified() => {}
        }
    }
}

/// Becomes a process of the same program with the same arguments, under the same id. Returns only the reason why not.
pub fn start_again(program: &Path) -> String {
    let error = Command::new(program).args(std::env::args_os().skip(1)).exec();
    format!("cannot start {} again: {error}", program.display())
}
