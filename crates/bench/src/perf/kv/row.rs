//! What is measured: shapes of load, who takes part in each, and the goals.

use crate::measure::results;

use super::contestant::Who;
use super::door::Door;
use super::load::Figures;

/// A way into a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    pub who: Who,
    pub door: Door,
}

impl Lane {
    pub fn name(self) -> &'static str {
        match (self.who, self.door) {
            (Who::Echo, _) => "echo (the limit)",
            (Who::Memcached, _) => "memcached",
            (Who::Redis, _) => "Redis",
            (Who::Mariadb, Door::MysqlText) => "MariaDB, text",
            (Who::Mariadb, Door::MysqlPrepared) => "MariaDB, prepared",
            (Who::Mariadb, _) => "MariaDB's HandlerSocket",
            (Who::ShoalCluster, _) => "Shoal's native client",
            (Who::Shoal, Door::MysqlText) => "Shoal, text",
            (Who::Shoal, Door::MysqlPrepared) => "Shoal, prepared",
            (Who::Shoal, _) => "Shoal's HandlerSocket",
        }
    }
}

/// What Shoal is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// So many times what that one does in the same run.
    Times(f64, Lane),
    PerSecond(f64),
}

/// One kind of operation with one shape of load.
pub struct Row {
    pub operation: &'static str,
    pub connections: usize,
    pub depth: usize,
    pub goals: Vec<Goal>,
    pub cells: Vec<Cell>,
}

/// The runs of one lane in one row.
pub struct Cell {
    pub lane: Lane,
    pub runs: Vec<Figures>,
    pub failure: Option<String>,
}

impl Cell {
    pub fn per_second(&self) -> Option<f64> {
        results::median(self.runs.iter().map(Figures::per_second))
    }

    /// Microseconds below which that share of the batches were answered.
    pub fn micros(&self, quantile: f64) -> Option<f64> {
        results::median(self.runs.iter().map(|figures| figures.latencies.micros(quantile)))
    }
}

impl Row {
    fn new(operation: &'static str, connections: usize, depth: usize, lanes: &[Lane]) -> Row {
        let cells = lanes.iter().map(|&lane| Cell { lane, runs: Vec::new(), failure: None }).collect();
        Row { operation, connections, depth, goals: Vec::new(), cells }
    }

    /// The shape of the load, as reports name it.
    pub fn load(&self) -> String {
        format!("{}x{}", self.connections, self.depth)
    }

    pub fn per_second(&self, lane: Lane) -> Option<f64> {
        self.cells.iter().find(|cell| cell.lane == lane)?.per_second()
    }

    /// Shoal's lane: the last one.
    pub fn own(&self) -> Option<&Cell> {
        self.cells.last()
    }

    /// What a goal compares, and whether it is met; `None`: something was not measured.
    pub fn judge(&self, goal: Goal) -> Option<(f64, bool)> {
        let own = self.own()?.per_second()?;
        match goal {
            Goal::PerSecond(wanted) => Some((own, own >= wanted)),
            Goal::Times(wanted, lane) => {
                let ratio = own / self.per_second(lane)?;
                Some((ratio, ratio >= wanted))
            }
        }
    }
}

const ECHO: Lane = Lane { who: Who::Echo, door: Door::Echo };
const MEMCACHED: Lane = Lane { who: Who::Memcached, door: Door::Memcached };
const REDIS: Lane = Lane { who: Who::Redis, door: Door::Redis };

fn of(who: Who, door: Door) -> Lane {
    Lane { who, door }
}

/// All rows, in the order of the report.
pub fn rows() -> Vec<Row> {
    let plugin = of(Who::Mariadb, Door::HandlerSocket);
    let native = |door| of(Who::ShoalCluster, door);
    let reads = [ECHO, MEMCACHED, REDIS, plugin, native(Door::Native), of(Who::Shoal, Door::HandlerSocket)];
    let goals: [(usize, usize, Vec<Goal>); 5] = [
        (1, 1, vec![Goal::Times(0.9, ECHO)]),
        (8, 1, vec![Goal::Times(0.8, ECHO), Goal::Times(1.3, plugin), Goal::Times(1.0, MEMCACHED)]),
        (1, 20, vec![Goal::Times(2.5, plugin)]),
        (8, 20, Vec::new()),
        (8, 100, vec![Goal::PerSecond(2_000_000.0), Goal::Times(3.5, plugin), Goal::Times(2.0, REDIS)]),
    ];
    let read = |(connections, depth, goals)| Row { goals, ..Row::new("read", connections, depth, &reads) };
    let mut rows: Vec<Row> = goals.into_iter().map(read).collect();
    for (operation, door, native_door) in [
        ("update", Door::HandlerSocketUpdate, Door::NativeUpdate),
        ("insert", Door::HandlerSocketInsert, Door::NativeInsert),
    ] {
        let plugin = of(Who::Mariadb, door);
        let goals = vec![Goal::PerSecond(400_000.0), Goal::Times(5.0, plugin)];
        rows.push(Row {
            goals,
            ..Row::new(operation, 8, 20, &[plugin, native(native_door), of(Who::Shoal, door)])
        });
    }
    for door in [Door::MysqlText, Door::MysqlPrepared] {
        for connections in [1, 8] {
            let lanes = [of(Who::Mariadb, door), of(Who::Shoal, door)];
            rows.push(Row::new("read by SQL", connections, 1, &lanes));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::measure::latency::Latencies;

    use super::*;

    #[test]
    fn goals_are_judged_by_what_others_do_in_the_same_run() {
        let mut row = rows().remove(0);
        assert_eq!(row.judge(row.goals[0]), None);
        let figures =
            |operations| Figures { operations, took: Duration::from_secs(1), latencies: Latencies::default() };
        row.cells[0].runs = vec![figures(100)];
        row.cells[5].runs = vec![figures(89)];
        assert_eq!(row.judge(row.goals[0]), Some((0.89, false)));
        row.cells[5].runs = vec![figures(90)];
        assert_eq!(row.judge(row.goals[0]), Some((0.9, true)));
        assert_eq!(row.judge(Goal::PerSecond(91.0)), Some((90.0, false)));
    }
}
