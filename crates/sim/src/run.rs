//! One run: the database is filled, everything goes wrong for a while, everything is healed; then it has to come to
//! rest, work, and hold what it was given.

use std::collections::BTreeMap;

use shoal_partition::{Activity, Cursor, Direction, KeyBounds, Partition, ReadView, Step, VisitAnswer, WaitToken};
use shoal_types::{NodeId, PartitionId, Timestamp};

use crate::context::{Event, Trace};
use crate::linear;
use crate::message::Operation;
use crate::rows::*;
use crate::script::{Kind, Script, Task};
use crate::sights::Sights;
use crate::table_rows::rows_of_tables;
use crate::tables::{TableRow, check_tables, schemas};
use crate::world::World;

const OPENING_LIMIT_US: u64 = 10_000_000;
/// How long a healed cluster may take to come to rest.
const REST_LIMIT_US: u64 = 20_000_000;
const LOOK_EVERY_US: u64 = 20_000;
/// More rows than a run can make.
const ROWS_MAX: usize = 1 << 20;

pub struct Report {
    pub sights: Sights,
    /// How much was simulated.
    pub simulated_ms: u64,
    pub transactions: usize,
    pub trace: Vec<String>,
    pub outcome: Result<(), String>,
}

/// Runs one seed.
pub fn run(seed: u64, trace: Trace) -> Report {
    let mut world = World::new(seed, trace);
    let knobs = format!("{:?}", world.ctx.knobs);
    world.ctx.tell(|| knobs);
    let outcome = world.run();
    let trace = match std::mem::replace(&mut world.ctx.trace, Trace::Off) {
        Trace::Keep(lines) => lines,
        Trace::Off | Trace::Print => Vec::new(),
    };
    Report {
        sights: world.ctx.sights.clone(),
        simulated_ms: world.ctx.now_us / 1000,
        transactions: world.ctx.history.records.len(),
        trace,
        outcome,
    }
}

impl World {
    fn run(&mut self) -> Result<(), String> {
        self.run_until(OPENING_LIMIT_US, "the database cannot be filled", |world| world.ctx.history.is_open())?;
        self.ctx.is_rough = true;
        self.ctx.plan(0, Event::Fault);
        self.run_for(self.ctx.knobs.run_ms * 1000)?;
        self.heal();
        self.ctx.is_closing = true;
        self.run_until(REST_LIMIT_US, "the cluster does not come to rest", World::is_at_rest)?;
        self.probe()?;
        self.run_until(REST_LIMIT_US, "the cluster does not come to rest again", World::is_at_rest)?;
        self.check_end()
    }

    fn run_for(&mut self, us: u64) -> Result<(), String> {
        let end_us = self.ctx.now_us + us;
        while self.ctx.now_us < end_us && self.step() {
            if let Some(violation) = self.ctx.take_violation() {
                return Err(violation);
            }
        }
        Ok(())
    }

    fn run_until(
        &mut self,
        limit_us: u64,
        complaint: &str,
        mut is_done: impl FnMut(&mut World) -> bool,
    ) -> Result<(), String> {
        let end_us = self.ctx.now_us + limit_us;
        while !is_done(self) {
            if self.ctx.now_us > end_us {
                return Err(format!("{complaint}:\n{}", self.describe()));
            }
            self.run_for(LOOK_EVERY_US)?;
        }
        Ok(())
    }

    /// Every node commits once more in all partitions.
    fn probe(&mut self) -> Result<(), String> {
        let knobs = self.ctx.knobs.clone();
        for node in knobs.nodes().filter(|&node| knobs.is_data(node)) {
            let committed = self.ctx.history.committed.len();
            let operations = (0..knobs.partitions as i32).map(|place| {
                let id = COUNTERS + place;
                (knobs.partition_of(id), Operation::Add(id, 1))
            });
            let script = Script { kind: Kind::Plain, operations: operations.collect(), found: Vec::new() };
            let complaint = format!("node {node} cannot commit though everything is healed");
            self.run_until(REST_LIMIT_US, &complaint, |world| {
                // A leader may just be moving to its preferred place.
                world.with(node, |process, env| {
                    if process.sessions.is_empty() {
                        process.begin_task(env, 0, Task::Transaction(script.clone()));
                    }
                });
                world.ctx.history.committed.len() > committed
            })?;
        }
        Ok(())
    }

    // ---- rest ----

    /// Nothing is under way, and all replicas are equally far.
    fn is_at_rest(&mut self) -> bool {
        let sessions = self.machines.values().filter_map(|machine| machine.process.as_ref());
        if sessions.into_iter().any(|process| !process.sessions.is_empty() || !process.waiting.is_empty()) {
            return false;
        }
        if self.ctx.history.requests.has_open() {
            return false;
        }
        let knobs = self.ctx.knobs.clone();
        knobs.all_partitions().all(|id| {
            let Some(server) = self.server_of(id) else { return false };
            let Some(process) = self.process(server) else { return false };
            let end = process.partition(id).last_index().0;
            let follower = self.ctx.followers.get(&id);
            if follower.is_some_and(|follower| !follower.is_at(end)) {
                return false;
            }
            knobs.placement(id).voters.iter().all(|&voter| {
                let Some(process) = self.process(NodeId(voter as u32)) else { return false };
                let partition = process.partition(id);
                let activity = Activity { old_versions: 0, ..partition.activity() };
                let is_whole = !partition.is_amnesiac() && !partition.is_installing();
                is_whole
                    && (partition.is_witness()
                        || (partition.applied_index() == end && activity == Activity::default()))
            })
        })
    }

    fn describe(&mut self) -> String {
        let mut text = String::new();
        for (node, machine) in &mut self.machines {
            let Some(process) = &mut machine.process else { continue };
            for (id, replica) in &mut process.replicas {
                let partition = &replica.partition;
                text += &format!(
                    "  node {node} partition {id}: {:?}, term {}, leader {:?}, applied {}, last {:?}, first {}, amnesiac {}, \
                     installing {}, {:?}, in doubt {:?}, unconfirmed {:?}, {:?}\n",
                    partition.role(),
                    partition.term(),
                    partition.leader(),
                    partition.applied_index(),
                    partition.last_index(),
                    partition.first_index(),
                    partition.is_amnesiac(),
                    partition.is_installing(),
                    partition.activity(),
                    partition.in_doubt(),
                    partition.unconfirmed(),
                    partition.replica_progress(),
                );
            }
            text += &format!(
                "  node {node}: {} sessions, {} waiting\n",
                process.sessions.len(),
                process.waiting.len()
            );
        }
        text
    }

    // ---- the end ----

    fn check_end(&mut self) -> Result<(), String> {
        let knobs = self.ctx.knobs.clone();
        let mut rows: BTreeMap<PartitionId, Vec<Row>> = BTreeMap::new();
        let mut beside: Vec<TableRow> = Vec::new();
        for id in knobs.all_partitions() {
            self.check_replicas(id)?;
            let Some(server) = self.server_of(id) else { return Err(format!("nobody serves partition {id}")) };
            if let Some(process) = self.process(server) {
                rows.insert(id, all_rows(process.partition(id))?);
                beside.extend(all_rows_beside(process.partition(id))?);
            }
        }
        let versions = rows.remove(&knobs.meta()).unwrap_or_default();
        let told = self.ctx.history.committed.len();
        self.ctx.history.check_rows(&rows, told, "the end")?;
        check_tables(&beside, rows.values().flatten(), "the end")?;
        self.ctx.history.check_counters(&rows)?;
        self.ctx.history.requests.check_end(&rows)?;
        for (id, rows) in &rows {
            if let Some(follower) = self.ctx.followers.get(id) {
                follower.check_end(*id, rows, &self.ctx.history)?;
            }
        }
        self.ctx.history.check_cycles(&rows)?;
        self.ctx.history.check_versions(knobs.meta(), &versions)?;
        let registers: Vec<i32> = self.ctx.history.registers.keys().copied().collect();
        for register in registers {
            let value = rows.values().flatten().find(|&&(id, _)| id == register).map(|&(_, k)| k);
            let start = self.ctx.history.moment();
            self.ctx.history.register_read(register, start, value);
            linear::check(register, &self.ctx.history.registers[&register])?;
        }
        Ok(())
    }

    /// All replicas are equal to the byte, and nothing is charged that is not there.
    fn check_replicas(&mut self, id: PartitionId) -> Result<(), String> {
        let mut first: Option<(u64, Vec<u8>)> = None;
        for voter in self.ctx.knobs.placement(id).voters.clone() {
            let Some(process) = self.process(NodeId(voter as u32)) else { continue };
            let partition = process.partition(id);
            partition.set_gc_horizon(Timestamp(u64::MAX - 1));
            partition.collect_garbage(usize::MAX);
            let charged = partition.config().budget.used_bytes();
            let there: u64 =
                schemas().filter_map(|schema| partition.usage(schema.id)).map(|usage| usage.bytes).sum();
            let is_pinned = partition.activity().old_versions > 0;
            if charged != there && !is_pinned {
                return Err(format!("node {voter} is charged {charged} bytes for {there} in partition {id}"));
            }
            if partition.is_witness() {
                continue;
            }
            let bytes = checkpoint_of(partition)?;
            match &first {
                None => first = Some((voter, bytes)),
                Some((other, expected)) if *expected != bytes => {
                    return Err(format!("nodes {other} and {voter} differ in partition {id}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

fn checkpoint_of(partition: &mut Partition) -> Result<Vec<u8>, String> {
    let mut cursor = partition.begin_checkpoint();
    let mut bytes = Vec::new();
    while partition
        .next_checkpoint_block(&mut cursor, 1 << 20, &mut bytes)
        .map_err(|error| format!("no checkpoint can be made: {error}"))?
    {}
    partition.end_checkpoint(cursor);
    Ok(bytes)
}

fn all_rows(partition: &mut Partition) -> Result<Vec<Row>, String> {
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    let mut rows = Vec::new();
    let view = ReadView::newest(None, WaitToken(0));
    let step = partition.scan(&view, &mut cursor, None, ROWS_MAX, &mut |row| {
        rows.push(decode(row));
        VisitAnswer::Continue
    });
    match step {
        Ok(Step::Ready(_)) => Ok(rows),
        Ok(Step::Wait(blocked)) => Err(format!("a row is still locked by {blocked:?}")),
        Err(error) => Err(format!("rows cannot be read: {error}")),
    }
}

fn all_rows_beside(partition: &mut Partition) -> Result<Vec<TableRow>, String> {
    match rows_of_tables(partition, &ReadView::newest(None, WaitToken(0))) {
        Ok(Step::Ready(rows)) => Ok(rows),
        Ok(Step::Wait(blocked)) => Err(format!("a row is still locked by {blocked:?}")),
        Err(error) => Err(format!("rows cannot be read: {error}")),
    }
}
