//! The workloads of the comparison and the goals that Shoal is held to.

/// What kind of work a workload does; the goals go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    PointSelect,
    Read,
    Write,
    /// One row, or few with skewed keys.
    Contended,
}

/// When the tables are made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// The table of the whole session is used.
    Shared,
    /// The workload eats its table: made anew before every run.
    FreshPerRun,
    /// The script brings its own empty tables, one a thread.
    OwnPerThread,
}

#[derive(Debug)]
pub struct Workload {
    /// The name in tables and in `--only`.
    pub name: &'static str,
    /// The sysbench script as shipped.
    pub script: &'static str,
    pub extra: &'static [&'static str],
    pub class: Class,
    pub tables: Tables,
    /// Instead of the threads of all other workloads.
    pub own_threads: Option<&'static [u32]>,
    /// Of MariaDB's throughput, where the class does not say.
    pub ratio_min: f64,
    /// An error is a missed goal; otherwise more of them a transaction than MariaDB has.
    pub is_free_of_errors: bool,
}

const fn shared(name: &'static str, script: &'static str, class: Class) -> Workload {
    Workload {
        name,
        script,
        extra: &[],
        class,
        tables: Tables::Shared,
        own_threads: None,
        ratio_min: 2.0,
        is_free_of_errors: true,
    }
}

/// Few rows of the large table: the first 500, or the first alone.
const PARETO: &[&str] = &["--table-size=500", "--rand-type=pareto", "--mysql-ignore-errors=1213,1205,1020,1180"];
const HOT_ROW: &[&str] = &["--table-size=1", "--mysql-ignore-errors=1213,1205,1020,1180"];

/// All workloads, ordered so that those that change the table most come last.
pub const ALL: &[Workload] = &[
    shared("point_select", "oltp_point_select", Class::PointSelect),
    Workload {
        extra: &["--db-ps-mode=disable"],
        ..shared("point_select_text", "oltp_point_select", Class::PointSelect)
    },
    shared("read_only", "oltp_read_only", Class::Read),
    shared("select_random_ranges", "select_random_ranges", Class::Read),
    shared("select_random_points", "select_random_points", Class::Read),
    shared("read_write", "oltp_read_write", Class::Write),
    shared("update_index", "oltp_update_index", Class::Write),
    shared("update_non_index", "oltp_update_non_index", Class::Write),
    shared("write_only", "oltp_write_only", Class::Write),
    Workload {
        extra: HOT_ROW,
        own_threads: Some(&[8, 64, 512, 1024]),
        ..shared("hot_row", "oltp_update_index", Class::Contended)
    },
    Workload {
        extra: PARETO,
        own_threads: Some(&[16, 64, 256]),
        ..shared("pareto_update_index", "oltp_update_index", Class::Contended)
    },
    Workload {
        extra: PARETO,
        own_threads: Some(&[16, 64, 256]),
        ratio_min: 1.5,
        is_free_of_errors: false,
        ..shared("pareto_read_write", "oltp_read_write", Class::Contended)
    },
    shared("insert", "oltp_insert", Class::Write),
    Workload { tables: Tables::OwnPerThread, ..shared("bulk_insert", "bulk_insert", Class::Write) },
    Workload { tables: Tables::FreshPerRun, ..shared("delete", "oltp_delete", Class::Write) },
];

/// What Shoal must reach; absent figures are not asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Server CPU per query against MariaDB's, at most.
    pub cpu_ratio_max: Option<f64>,
    pub cpu_micros_max: Option<f64>,
    pub throughput_ratio_min: Option<f64>,
    /// Share of the canned responder's throughput, at least.
    pub ceiling_share_min: Option<f64>,
    /// Of what the same workload reached with its fewest threads, at least.
    pub share_of_first_min: Option<f64>,
    pub errors: ErrorsAllowed,
}

/// How many of the errors that sysbench passes over a workload may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorsAllowed {
    Any,
    None,
    /// A transaction, as many as MariaDB.
    AsMany,
}

impl Workload {
    pub fn goal(&self, threads: u32) -> Goal {
        let plain = Goal {
            cpu_ratio_max: None,
            cpu_micros_max: None,
            throughput_ratio_min: None,
            ceiling_share_min: None,
            share_of_first_min: None,
            errors: ErrorsAllowed::Any,
        };
        match self.class {
            Class::PointSelect => Goal {
                cpu_ratio_max: Some(0.4),
                cpu_micros_max: Some(8.0),
                ceiling_share_min: Some(0.85),
                ..plain
            },
            Class::Read => {
                Goal { cpu_ratio_max: Some(0.4), throughput_ratio_min: (threads == 8).then_some(1.6), ..plain }
            }
            Class::Write => Goal {
                cpu_ratio_max: Some(0.5),
                throughput_ratio_min: Some(if threads == 1 { 1.25 } else { 2.0 }),
                ..plain
            },
            Class::Contended => Goal {
                throughput_ratio_min: Some(self.ratio_min),
                share_of_first_min: (self.name == "hot_row").then_some(0.8),
                errors: if self.is_free_of_errors { ErrorsAllowed::None } else { ErrorsAllowed::AsMany },
                ..plain
            },
        }
    }

    /// With how many threads it is measured, if the others are with `all`.
    pub fn threads<'a>(&self, all: &'a [u32]) -> &'a [u32] {
        self.own_threads.unwrap_or(all)
    }

    /// The responder's one-row reply has the right shape for point selects only.
    pub fn has_ceiling(&self) -> bool {
        self.class == Class::PointSelect
    }

    /// Rows count, not queries: one query carries many rows.
    pub fn counts_rows(&self) -> bool {
        self.tables == Tables::OwnPerThread
    }
}

pub fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|workload| workload.name == name || workload.script == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_found_by_its_name() {
        for workload in ALL {
            assert_eq!(find(workload.name).unwrap().name, workload.name);
        }
        assert!(find("oltp_tea").is_none());
    }

    #[test]
    fn writes_are_asked_for_twice_the_throughput_except_on_one_thread() {
        let insert = find("insert").unwrap();
        assert_eq!(insert.goal(1).throughput_ratio_min, Some(1.25));
        assert_eq!(insert.goal(64).throughput_ratio_min, Some(2.0));
    }
}
