//! One cluster, a dozen faults, and the judge.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::network::{Network, Verdict};
use shoal_system_tests::transfer::{Definitions, Plan, Random, Workload, check};
use shoal_system_tests::{DyingDisk, SmallDisk, second_of_hour};

use crate::faults::Kind;
use crate::report::{CLOSED, Report};

const FAULTS_PER_ROUND: u64 = 12;
/// Of the cluster's log, for an outage that is longer than wanted.
const LINES_TOLD: usize = 14;
/// A node whose disk is full or broken ends within this time.
const ENDED_WITHIN: Duration = Duration::from_secs(90);
const DISK_MEBIBYTES: u64 = 512;
/// Links of nodes whose clocks differ by a minute are refused.
const CLOCK_JUMP_MAX_S: u64 = 25;
const FAKE_CLOCKS: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// What a cluster is made of, and whether commits are on disk when they are acknowledged. The last node only has sessions.
fn layout(random: &mut Random) -> (Layout, bool) {
    let mut layout = Layout { sql_nodes: 1, ..Layout::default() };
    layout.settings = vec!["FragmentLogFileSize=4M".into(), "DataMemory=200M".into()];
    let shape = random.below(4);
    match shape {
        0 => layout.settings.push("CommitDurability=replicated".into()),
        1 => (layout.data_nodes, layout.replicas) = (3, 3),
        2 => layout.management_nodes = 3,
        _ => {}
    }
    // Two nodes at once may cost the newest commits unless they are on disk before they are acknowledged.
    (layout, shape != 0)
}

struct Round {
    cluster: StartedCluster,
    network: Option<Network>,
    /// Where node 1 has its data, if such can be had here.
    disk: Option<SmallDisk>,
    /// Where nodes read how far their clocks are from the real one; `None`: they are true.
    clocks: Option<PathBuf>,
    random: Random,
    data_nodes: Vec<u32>,
    sql_only: u32,
}

/// Starts a cluster, breaks it, and judges it.
pub fn run(seed: u64, only: &[Kind], report: &mut Report) {
    let mut random = Random::new(seed, 0);
    let (layout, is_on_disk) = layout(&mut random);
    let has_clocks = only == [Kind::Clock] || random.below(4) == 0;
    let (mut round, layout) = Round::prepare(layout, random, has_clocks, report);
    println!(
        "  {} data nodes, {} management nodes, {}",
        layout.data_nodes,
        layout.management_nodes,
        layout.settings.join(" ")
    );
    let kinds: Vec<Kind> = only.iter().copied().filter(|&kind| round.can(kind, is_on_disk)).collect();
    if kinds.is_empty() {
        return;
    }
    round.cluster.start_all(&layout);
    let workload = Workload::start(&round.cluster, Plan { seed, threads: 6, ..Plan::new() });
    let definitions = Definitions::start(&round.cluster, seed);
    workload.wait_for_commits_everywhere(20);
    for _ in 0..FAULTS_PER_ROUND {
        let mut kind = kinds[round.random.below(kinds.len() as u64) as usize];
        if kind.takes_long() && round.random.below(4) > 0 {
            kind = kinds[round.random.below(kinds.len() as u64) as usize];
        }
        match round.inflict(kind, &workload) {
            Ok(outage) => {
                println!("    {} ms without a commit", outage.as_millis());
                if outage > CLOSED {
                    println!("{}", round.leaders_told());
                    workload.slow_statements().iter().for_each(|one| println!("      {one}"));
                }
                report.note(kind, outage);
            }
            Err(why) => report.note_not_possible(kind, why),
        }
        drop(workload.slow_statements());
        round.heal();
        workload.wait_for_commits_everywhere(1 + round.random.below(20));
    }
    let definitions = definitions.finish();
    let history = workload.finish();
    check(&round.cluster, &history);
    report.note_round(&history, definitions);
}

impl Round {
    fn prepare(mut layout: Layout, random: Random, has_clocks: bool, report: &mut Report) -> (Round, Layout) {
        let network = Network::new(layout.node_count());
        if let Ok(network) = &network {
            layout.hosts = (1..=layout.node_count()).map(|node| network.address(node)).collect();
        }
        let mut cluster = StartedCluster::new(&layout);
        let disk = SmallDisk::mount(DISK_MEBIBYTES);
        match &disk {
            Some(disk) => symlink(disk.path(), cluster.data_dir(1)).unwrap(),
            None => report.note_not_possible(Kind::FullDisk, "mounting a small tmpfs is not permitted".into()),
        }
        let library = FAKE_CLOCKS.into_iter().find(|path| Path::new(path).exists());
        if library.is_none() {
            report.note_not_possible(Kind::Clock, "libfaketime is not installed".into());
        }
        let clocks = library.filter(|_| has_clocks).map(|_| cluster.folder().to_owned());
        for node in 1..=layout.node_count() {
            let mut wrapper = network.as_ref().map_or(Vec::new(), |network| network.wrapper(node));
            if let Some((folder, library)) = clocks.as_ref().zip(library) {
                let path = clock_file(folder, node);
                std::fs::write(&path, "+0s").unwrap();
                wrapper.extend(["env".into(), format!("LD_PRELOAD={library}")]);
                wrapper.extend(["FAKETIME_CACHE_DURATION=1".into(), "FAKETIME_DONT_FAKE_MONOTONIC=1".into()]);
                wrapper.push(format!("FAKETIME_TIMESTAMP_FILE={}", path.display()));
            }
            if !wrapper.is_empty() {
                cluster.wrap(node, &wrapper.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
        let network = match network {
            Ok(network) => Some(network),
            Err(why) => {
                for kind in Kind::all().filter(|kind| kind.needs_network()) {
                    report.note_not_possible(kind, why.clone());
                }
                None
            }
        };
        let data_nodes = (1..=layout.data_nodes).collect();
        (Round { cluster, network, disk, clocks, random, data_nodes, sql_only: layout.node_count() }, layout)
    }

    fn can(&self, kind: Kind, is_on_disk: bool) -> bool {
        match kind {
            Kind::KillTwo | Kind::KillAll => is_on_disk,
            Kind::Clock => self.clocks.is_some(),
            Kind::FullDisk => self.disk.is_some(),
            _ => !kind.needs_network() || self.network.is_some(),
        }
    }

    fn any_node(&mut self) -> u32 {
        1 + self.random.below(u64::from(self.sql_only)) as u32
    }

    fn any_data_node(&mut self) -> u32 {
        self.data_nodes[self.random.below(self.data_nodes.len() as u64) as usize]
    }

    fn others(&self, node: u32) -> impl Iterator<Item = u32> + use<> {
        (1..=self.sql_only).filter(move |&other| other != node)
    }

    /// Breaks something until others have gone on for a while. The longest time in which they did not.
    fn inflict(&mut self, kind: Kind, workload: &Workload) -> Result<Duration, String> {
        let commits = 10 + self.random.below(80);
        let is_of_data = kind.needs_network() || matches!(kind, Kind::DyingDisk);
        let node = match kind {
            Kind::FullDisk => 1,
            _ if is_of_data => self.any_data_node(),
            _ => self.any_node(),
        };
        println!("  {:.3} node {node}: {}, for {commits} commits", second_of_hour(), kind.describe());
        workload.watch_for_outages(node);
        match kind {
            Kind::Kill => {
                self.cluster.kill_node(node);
                workload.wait_for_commits_of_others(node, commits);
            }
            Kind::KillTwo => {
                self.cluster.kill_node(node);
                workload.wait_for_commits_of_others(node, commits / 10);
                let other = self.any_node();
                if other != node {
                    self.cluster.kill_node(other);
                }
            }
            Kind::KillAll => (1..=self.sql_only).for_each(|node| self.cluster.kill_node(node)),
            Kind::Pause => {
                self.cluster.pause(node);
                workload.wait_for_commits_of_others(node, commits);
                self.cluster.resume(node);
            }
            Kind::Clock => {
                let seconds = self.random.below(2 * CLOCK_JUMP_MAX_S) as i64 - CLOCK_JUMP_MAX_S as i64;
                if let Some(folder) = &self.clocks {
                    std::fs::write(clock_file(folder, node), format!("{seconds:+}s")).unwrap();
                }
                // The clock is looked up once a second.
                thread::sleep(Duration::from_secs(1));
                workload.wait_for_commits_everywhere(commits);
            }
            Kind::FullDisk => self.fill_disk(node)?,
            Kind::DyingDisk => {
                let _dying = DyingDisk::of(self.cluster.node(node).process)?;
                self.wait_until_it_has_ended(node, || {});
                // Until then all it does is traced, which takes it many times as long as usual.
                workload.watch_for_outages(node);
                workload.wait_for_commits_of_others(node, commits);
            }
            Kind::RollingRestart => {
                for node in 1..=self.sql_only {
                    self.cluster.stop_node(node);
                    workload.wait_for_commits_of_others(node, commits / 4);
                    self.cluster.start_again(node);
                }
            }
            _ => {
                self.spoil_network(kind, node)?;
                workload.wait_for_commits_at(self.sql_only, commits);
            }
        }
        Ok(workload.longest_outage())
    }

    fn spoil_network(&mut self, kind: Kind, node: u32) -> Result<(), String> {
        let percent = 1 + self.random.below(5) as u32;
        let kilobits = 2000 + self.random.below(8000) as u32;
        let milliseconds = 1 + self.random.below(100) as u32;
        let others: Vec<u32> = self.others(node).collect();
        let Some(network) = &self.network else { return Err("there is no network".into()) };
        let other_data = *self.data_nodes.iter().find(|&&other| other != node).unwrap_or(&node);
        match kind {
            Kind::Cut => network.cut(node, other_data),
            Kind::CutOneWay => network.cut_one_way(node, other_data),
            Kind::Island => others.iter().for_each(|&other| network.cut(node, other)),
            Kind::Reject => others.iter().for_each(|&other| network.spoil(other, node, Verdict::Reject)),
            Kind::Reset => others.iter().for_each(|&other| network.reset(node, other)),
            Kind::Lose => others.iter().for_each(|&other| network.spoil(node, other, Verdict::Lose(percent))),
            Kind::Narrow => network.narrow(node, kilobits)?,
            _ => network.delay(node, milliseconds)?,
        }
        Ok(())
    }

    /// Writes until the disk is full, which ends the node.
    fn fill_disk(&mut self, node: u32) -> Result<(), String> {
        let Some(disk) = &self.disk else { return Err("there is no small disk".into()) };
        let ballast = disk.fill(1 << 20);
        let mut client = self.cluster.client(self.sql_only);
        // What cannot be written in the moment in which the node goes does not matter.
        let _ = client.execute("CREATE TABLE IF NOT EXISTS filler (id INT PRIMARY KEY, v VARCHAR(8000))");
        let mut id = 0;
        self.wait_until_it_has_ended(node, || {
            id += 1;
            let _ = client.execute(&format!("REPLACE INTO filler VALUES ({},REPEAT('x',8000))", id % 1000));
        });
        std::fs::remove_file(ballast).map_err(|error| error.to_string())
    }

    fn wait_until_it_has_ended(&mut self, node: u32, mut meanwhile: impl FnMut()) {
        let started = Instant::now();
        while self.cluster.is_running(node) {
            assert!(started.elapsed() < ENDED_WITHIN, "node {node} goes on\n{}", self.cluster.logs());
            meanwhile();
            thread::sleep(Duration::from_millis(1));
        }
        let status = self.cluster.wait_until_ended(node);
        assert!(!status.success(), "node {node} ended as if it had been asked to\n{}", self.cluster.logs());
    }

    /// The newest that nodes have said about who leads.
    fn leaders_told(&self) -> String {
        let logs = self.cluster.logs();
        let mut lines: Vec<&str> = logs.lines().filter(|line| line.contains("[MgmtSrvr]")).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
            .split_off(lines.len().saturating_sub(LINES_TOLD))
            .iter()
            .map(|line| format!("      {line}\n"))
            .collect()
    }

    /// The network and the clocks are as they were, and nodes that are gone are started again.
    fn heal(&mut self) {
        if let Some(network) = &self.network {
            network.heal();
        }
        if let Some(folder) = &self.clocks {
            for node in 1..=self.sql_only {
                std::fs::write(clock_file(folder, node), "+0s").unwrap();
            }
        }
        let gone: Vec<u32> = (1..=self.sql_only).filter(|&node| !self.cluster.is_running(node)).collect();
        let before: Vec<_> = gone.iter().map(|&node| self.cluster.node(node)).collect();
        for node in gone {
            self.cluster.forget_ended(node);
            self.cluster.spawn(node);
        }
        for node in &before {
            self.cluster.wait_until_back(node);
        }
    }
}

fn clock_file(folder: &Path, node: u32) -> PathBuf {
    folder.join(format!("clock-{node}"))
}
