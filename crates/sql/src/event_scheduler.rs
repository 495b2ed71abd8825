//! The scheduler of events (MySQL 8.4 manual, "The Event Scheduler").
//!
//! Every node that serves SQL has one, and each event runs at one of them: whoever has put the time of the run into the dictionary
//! runs it. Nodes look in the order of their ids, so that mostly one tries. An event whose time comes while its last run goes on runs beside itself,
//! as in MySQL.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use shoal_cluster::{Change, Program, ProgramKind};
use shoal_types::{Error, Result};
use tokio::sync::Notify;

use crate::ddl::publish;
use crate::program::schedule;
use crate::program::session_host::run_event;
use crate::program::stack::note_stack;
use crate::server::Server;

/// Between two looks at the events.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How much longer a node waits for each one that looks before it.
const TURN: Duration = Duration::from_millis(300);
/// As of threads that serve clients.
const STACK_BYTES: usize = 64 << 20;
/// Events that run at a time, at this node.
const RUNNING_MAX: usize = 64;
/// Runs of one event among them: one that never ends must not keep the others from running.
const RUNS_MAX: usize = 16;

type Name = (String, String);

/// How often each event is running here.
#[derive(Default)]
struct Running(HashMap<Name, usize>);

impl Running {
    fn begin(&mut self, name: &Name) {
        *self.0.entry(name.clone()).or_default() += 1;
    }

    fn end(&mut self, name: &Name) {
        if let Some(runs) = self.0.get_mut(name) {
            *runs -= 1;
        }
        self.0.retain(|_, runs| *runs > 0);
    }

    fn count(&self) -> usize {
        self.0.values().sum()
    }

    fn has_room_for(&self, name: &Name) -> bool {
        self.0.get(name).is_none_or(|runs| *runs < RUNS_MAX)
    }
}

/// A running scheduler.
pub struct EventScheduler {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl EventScheduler {
    /// Starts it on a thread of its own. `report` is told what goes wrong.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(server: &Arc<Server>, report: fn(&str)) -> std::io::Result<EventScheduler> {
        let stop = Arc::new(Notify::new());
        let (server, stopped) = (Arc::clone(server), Arc::clone(&stop));
        let builder = std::thread::Builder::new().name("event-scheduler".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn(move || {
            note_stack(STACK_BYTES);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    let tasks = tokio::task::LocalSet::new();
                    runtime.block_on(tasks.run_until(async {
                        tokio::select! {
                            () = look_again_and_again(&server, report) => {}
                            () = stopped.notified() => {}
                        }
                    }));
                }
                Err(error) => report(&format!("events do not run: {error}")),
            }
        })?;
        Ok(EventScheduler { stop, thread: Some(thread) })
    }

    /// Ends it, and the events that run.
    pub fn stop(mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

async fn look_again_and_again(server: &Arc<Server>, report: fn(&str)) {
    let running: Rc<RefCell<Running>> = Rc::default();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if server.global_text("event_scheduler") != "ON" {
            continue;
        }
        for event in due(server, &running) {
            let name = (event.database.clone(), event.name.clone());
            match claim(server, &event).await {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    report(&format!("event {}.{} did not run: {}", name.0, name.1, error.message()));
                    continue;
                }
            }
            running.borrow_mut().begin(&name);
            let (server, running) = (Arc::clone(server), Rc::clone(&running));
            tokio::task::spawn_local(async move {
                if let Err(error) = run_event(&server, &event).await {
                    let (user, host) = &event.definer;
                    report(&format!("event {}.{} of {user}@{host}: {}", name.0, name.1, error.message()));
                }
                running.borrow_mut().end(&name);
            });
        }
    }
}

/// The events whose time has come, and that this node may run.
fn due(server: &Server, running: &RefCell<Running>) -> Vec<Arc<Program>> {
    let catalog = server.node.catalog();
    let all = catalog.databases.values().flat_map(|database| database.programs.all());
    let mut events = all.filter(|program| program.kind == ProgramKind::Event).peekable();
    if events.peek().is_none() {
        return Vec::new();
    }
    let now = server.clock_micros() - wait_for_others(server);
    let running = running.borrow();
    let is_due = |event: &&Arc<Program>| {
        event.schedule.as_ref().is_some_and(|schedule| schedule::due(schedule, now).is_some())
            && running.has_room_for(&(event.database.clone(), event.name.clone()))
    };
    let room = RUNNING_MAX.saturating_sub(running.count());
    events.filter(is_due).take(room).cloned().collect()
}

/// Microseconds.
fn wait_for_others(server: &Server) -> i64 {
    if server.node.cluster().is_none() {
        return 0;
    }
    let observed = server.node.observed();
    let before = observed.peers.iter().filter(|peer| peer.is_up && peer.node < observed.id).count();
    TURN.as_micros() as i64 * before as i64
}

/// Puts the run into the dictionary; `false`: somebody else has, or the event has changed.
async fn claim(server: &Arc<Server>, event: &Arc<Program>) -> Result<bool> {
    let now = server.clock_micros();
    publish::change(&server.node, |catalog| {
        let present = catalog.program(&event.database, ProgramKind::Event, &event.name);
        let Some(present) = present.filter(|present| *present == event) else { return Ok((Vec::new(), false)) };
        let mut claimed = Program::clone(present);
        let schedule = claimed.schedule.as_mut().ok_or_else(|| Error::unknown("an event without a schedule"))?;
        let Some(due) = schedule::due(schedule, now) else { return Ok((Vec::new(), false)) };
        let is_last = schedule::is_last(schedule, due);
        schedule.last_run_us = Some(now);
        if !is_last {
            return Ok((vec![Change::PutProgram(Box::new(claimed))], true));
        }
        if schedule.is_preserved {
            schedule.status = "DISABLED".to_owned();
            return Ok((vec![Change::PutProgram(Box::new(claimed))], true));
        }
        let (database, name) = (event.database.clone(), event.name.clone());
        Ok((vec![Change::DropProgram { database, kind: ProgramKind::Event, name }], true))
    })
    .await
}
