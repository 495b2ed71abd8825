//! Nodes are killed and paused, one after the other in turn, while clients write.
//!
//! Three clients: one at a node without rows, which stays, whose longest wait between two commits is the outage that counts; one
//! at the node that goes, which has to connect to the one that stays; and one that writes pairs of rows in one transaction.
//! The node that goes leads half of the partitions, so every client writes rows that it leads; were most clients at one of the
//! data nodes, leading would follow them.
//!
//! The next node goes only when the last one is back and has caught up: with two copies there would be no majority.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::process::Signal;

use super::Outcome;
use super::clients::{self, Audit, CountingClient, Work};
use super::nodes::{Cluster, Durability, Node, connect_within};
use super::options::{Part, Plan};
use crate::measure::interrupt;
use crate::measure::progress::Progress;

/// How long a node is paused.
const PAUSE: Duration = Duration::from_secs(5);
/// Before a node goes, everybody has been writing for so long.
const WARM_UP: Duration = Duration::from_millis(300);
/// An outage that lasts longer than this ends the series.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Kill,
    Pause,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "killed with SIGKILL",
            Fault::Pause => "paused with SIGSTOP for 5 s",
        }
    }

    pub fn outage_max(self) -> Duration {
        match self {
            Fault::Kill => Duration::from_millis(300),
            Fault::Pause => Duration::from_millis(1500),
        }
    }
}

/// One node that went.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub victim: u32,
    /// The longest time between two commits of the client at the node without rows.
    pub outage: Duration,
    /// The same while the node came back.
    pub outage_of_return: Duration,
    /// The longest time between two commits of the client that was connected to the node.
    pub outage_of_moved: Duration,
    /// Until the node was ready again.
    pub back_after: Duration,
}

/// Trials on one cluster.
pub struct Series {
    pub fault: Fault,
    pub durability: Durability,
    pub asked: u32,
    pub trials: Vec<Trial>,
    pub audit: Option<Audit>,
    /// What the clients were told, and how often.
    pub errors: BTreeMap<String, u64>,
    pub failure: Option<String>,
}

impl Series {
    /// How many trials kept to the goal.
    pub fn within(&self) -> usize {
        self.trials.iter().filter(|trial| trial.outage <= self.fault.outage_max()).count()
    }

    pub fn verdict(&self) -> String {
        let mut missed = Vec::new();
        if self.within() < self.asked as usize {
            missed.push(format!("outage ({} of {})", self.within(), self.asked));
        }
        match &self.audit {
            None => missed.push("no audit".into()),
            Some(audit) if !audit.is_clean() => missed.push("transactions".into()),
            Some(_) => {}
        }
        match (&self.failure, missed.is_empty()) {
            (Some(_), _) => "FAILED".into(),
            (None, true) => "met".into(),
            (None, false) => format!("missed: {}", missed.join(", ")),
        }
    }
}

/// What the plan asks for. Half as many trials with the weaker promise: it must lose nothing either.
fn series(plan: &Plan) -> Vec<(Fault, Durability, u32)> {
    let mut series = Vec::new();
    for (part, fault) in [(Part::Kill, Fault::Kill), (Part::Pause, Fault::Pause)] {
        if plan.takes_part(part) {
            series.push((fault, Durability::Disk, plan.trials));
        }
    }
    if plan.takes_part(Part::Kill) {
        series.push((Fault::Kill, Durability::Replicated, plan.trials.div_ceil(2)));
    }
    series
}

/// Steps of the progress bar.
pub fn steps(plan: &Plan) -> u64 {
    series(plan).iter().map(|(_, _, trials)| u64::from(*trials)).sum()
}

pub fn measure(plan: &Plan, progress: &Progress, outcome: &mut Outcome) {
    for (fault, durability, asked) in series(plan) {
        if interrupt::requested() {
            return;
        }
        let mut series = Series {
            fault,
            durability,
            asked,
            trials: Vec::new(),
            audit: None,
            errors: BTreeMap::new(),
            failure: None,
        };
        if let Err(error) = run(plan, progress, &mut series) {
            series.failure = Some(error.to_string());
        }
        progress.say(&summary(&series));
        outcome.faults.push(series);
    }
}

fn run(plan: &Plan, progress: &Progress, series: &mut Series) -> io::Result<()> {
    progress.doing("starting a cluster");
    let mut cluster = Cluster::start(&plan.shoal_binary, &plan.work_dir, series.durability, 1)?;
    let nodes = cluster.data_nodes();
    let [first, second] = nodes.as_slice() else {
        return Err(cluster.misses_a_node());
    };
    let ports = [port_of(first)?, port_of(second)?];
    let door = cluster.port()?;
    let mut client = connect_within(door, PATIENCE)?;
    clients::make_table(&mut client, 3).map_err(io::Error::other)?;
    let mut writers = Writers {
        at: [
            CountingClient::start(0, Work::Single, vec![door, ports[0]])?,
            CountingClient::start(1, Work::Single, vec![door, ports[1]])?,
        ],
        pairs: CountingClient::start(2, Work::Pair, vec![door, ports[0]])?,
        ports,
        door,
    };
    cluster.wait_until_balanced(PATIENCE)?;
    let ran = trials(&mut cluster, &nodes, &writers, progress, series);
    writers.stop();
    series.errors = writers.errors();
    series.audit = Some(writers.audit()?);
    ran.map_err(|error| io::Error::other(format!("{error}; {}", cluster.log_ends())))
}

fn trials(
    cluster: &mut Cluster,
    nodes: &[Node],
    writers: &Writers,
    progress: &Progress,
    series: &mut Series,
) -> io::Result<()> {
    for number in 0..series.asked {
        let victim = number as usize % 2;
        if interrupt::requested() {
            return Err(io::Error::other("interrupted"));
        }
        let name = series.fault.name();
        progress.doing(format!("node {} {name}, {}/{}", nodes[victim].id, number + 1, series.asked));
        let trial = match series.fault {
            Fault::Kill => kill(cluster, nodes[victim].id, victim, writers)?,
            Fault::Pause => pause(cluster, nodes[victim].id, victim, writers)?,
        };
        progress.step();
        series.trials.push(trial);
    }
    Ok(())
}

/// The clients. When node `n` goes, `at[n]` is there, and all others at the node without rows.
struct Writers {
    at: [CountingClient; 2],
    pairs: CountingClient,
    ports: [u16; 2],
    /// Where the node without rows is.
    door: u16,
}

impl Writers {
    /// Everybody goes to their node and has written there before the victim goes.
    fn take_places(&self, victim: usize) -> io::Result<()> {
        let survivor = 1 - victim;
        self.at[victim].prefer(vec![self.ports[victim], self.door]);
        for client in [&self.at[survivor], &self.pairs] {
            client.prefer(vec![self.door, self.ports[survivor]]);
        }
        self.begin_window();
        self.wait_until_written([&self.at[victim], &self.at[survivor]])?;
        thread::sleep(WARM_UP);
        self.begin_window();
        Ok(())
    }

    /// Writes count from here on; a gap that began before still counts in full. What was acknowledged just before the
    /// fault has arrived.
    fn begin_window_of_fault(&self) {
        thread::sleep(LOOK_EVERY);
        self.begin_window();
    }

    fn begin_window(&self) {
        for client in self.at.iter().chain([&self.pairs]) {
            client.begin_window();
        }
    }

    /// All counters of the clients have been written since the window began.
    fn wait_until_written<const COUNT: usize>(&self, clients: [&CountingClient; COUNT]) -> io::Result<()> {
        let started = Instant::now();
        while !clients.iter().all(|client| client.window().all_written) {
            if interrupt::requested() {
                return Err(io::Error::other("interrupted"));
            }
            if started.elapsed() > PATIENCE {
                let errors = self.errors();
                return Err(io::Error::other(format!("no write for {PATIENCE:?}; clients were told: {errors:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn stop(&mut self) {
        for client in self.at.iter_mut().chain([&mut self.pairs]) {
            client.stop();
        }
    }

    fn errors(&self) -> BTreeMap<String, u64> {
        let mut errors = BTreeMap::new();
        for (text, count) in self.at.iter().chain([&self.pairs]).flat_map(CountingClient::errors) {
            *errors.entry(text).or_default() += count;
        }
        errors
    }

    /// What is there must be what was promised, at whichever node one asks.
    fn audit(&self) -> io::Result<Audit> {
        let mut worst = Audit::default();
        for port in self.ports {
            let counters = read_within(port, PATIENCE)?;
            let mut audit = Audit::default();
            for client in self.at.iter().chain([&self.pairs]) {
                audit.add(&client.audit(&counters));
            }
            if worst.is_clean() {
                worst = audit;
            }
        }
        Ok(worst)
    }
}

fn read_within(port: u16, patience: Duration) -> io::Result<BTreeMap<usize, u64>> {
    let started = Instant::now();
    loop {
        let mut client = connect_within(port, patience)?;
        match clients::read_table(&mut client) {
            Ok(counters) => return Ok(counters),
            Err(error) if started.elapsed() > patience => {
                return Err(io::Error::other(format!("the counters cannot be read: {error}")));
            }
            Err(_) => thread::sleep(LOOK_EVERY),
        }
    }
}

fn kill(cluster: &mut Cluster, id: u32, victim: usize, writers: &Writers) -> io::Result<Trial> {
    writers.take_places(victim)?;
    let survivor = &writers.at[1 - victim];
    let started = Instant::now();
    let process = cluster.kill(id)?;
    writers.begin_window_of_fault();
    writers.wait_until_written([survivor, &writers.at[victim]])?;
    let outage = survivor.window().longest_gap;
    let outage_of_moved = writers.at[victim].window().longest_gap;
    writers.begin_window();
    cluster.wait_until_back(id, process, PATIENCE)?;
    let back_after = started.elapsed();
    wait_until_caught_up(cluster, writers, victim)?;
    let outage_of_return = survivor.window().longest_gap;
    Ok(Trial { victim: id, outage, outage_of_return, outage_of_moved, back_after })
}

fn pause(cluster: &mut Cluster, id: u32, victim: usize, writers: &Writers) -> io::Result<Trial> {
    writers.take_places(victim)?;
    let survivor = &writers.at[1 - victim];
    let started = Instant::now();
    cluster.signal(id, Signal::Pause)?;
    writers.begin_window_of_fault();
    let written = writers.wait_until_written([survivor]);
    thread::sleep(PAUSE.saturating_sub(started.elapsed()));
    let outage = survivor.window().longest_gap;
    cluster.signal(id, Signal::Continue)?;
    written?;
    survivor.begin_window();
    let resumed = Instant::now();
    writers.wait_until_written([survivor, &writers.at[victim]])?;
    let outage_of_moved = writers.at[victim].window().longest_gap;
    let back_after = resumed.elapsed();
    wait_until_caught_up(cluster, writers, victim)?;
    let outage_of_return = survivor.window().longest_gap;
    Ok(Trial { victim: id, outage, outage_of_return, outage_of_moved, back_after })
}

/// The node serves every row again, has everything that is committed and leads what it led before.
fn wait_until_caught_up(cluster: &Cluster, writers: &Writers, victim: usize) -> io::Result<()> {
    read_within(writers.ports[victim], PATIENCE)?;
    cluster.wait_until_balanced(PATIENCE)
}

fn port_of(node: &Node) -> io::Result<u16> {
    node.port.ok_or_else(|| io::Error::other(format!("node {} serves no MySQL clients", node.id)))
}

fn summary(series: &Series) -> String {
    let worst = series.trials.iter().map(|trial| trial.outage).max().unwrap_or_default();
    let mut text = format!(
        "{}, {}: {} trials, worst {} ms, {}",
        series.fault.name(),
        series.durability.name(),
        series.trials.len(),
        worst.as_millis(),
        series.verdict()
    );
    if let Some(failure) = &series.failure {
        text.push_str(&format!(": {failure}"));
    }
    text
}
