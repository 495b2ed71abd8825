use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::cluster::clients::Audit;
use crate::cluster::faults::Fault;
use crate::cluster::nodes::Durability;

fn plan() -> Plan {
    Plan {
        parts: Vec::new(),
        threads: vec![1],
        runs: 1,
        time: Duration::from_secs(1),
        rows: 10,
        trials: 2,
        rejoin_bytes: 1_000_000,
        shoal_binary: PathBuf::new(),
        work_dir: PathBuf::new(),
        out: PathBuf::new(),
    }
}

fn series(outages_ms: &[u64], audit: Audit) -> Series {
    let trial = |&outage: &u64| Trial {
        victim: 1,
        outage: Duration::from_millis(outage),
        outage_of_return: Duration::ZERO,
        outage_of_moved: Duration::ZERO,
        back_after: Duration::from_secs(3),
    };
    Series {
        fault: Fault::Kill,
        durability: Durability::Disk,
        asked: 2,
        trials: outages_ms.iter().map(trial).collect(),
        audit: Some(audit),
        errors: BTreeMap::new(),
        failure: None,
    }
}

#[test]
fn a_series_is_met_when_every_trial_is_and_nothing_is_lost() {
    assert_eq!(series(&[300, 20], Audit::default()).verdict(), "met");
    assert_eq!(series(&[301, 20], Audit::default()).verdict(), "missed: outage (1 of 2)");
    assert_eq!(series(&[20], Audit::default()).verdict(), "missed: outage (1 of 2)");
    let lossy = Audit { lost: 1, ..Audit::default() };
    assert_eq!(series(&[20, 20], lossy).verdict(), "missed: transactions");
}

#[test]
fn every_table_has_as_many_fields_in_each_line() {
    let outcome = Outcome {
        faults: vec![series(&[10, 20], Audit::default()), Series { audit: None, ..series(&[], Audit::default()) }],
        rows: crate::cluster::throughput::rows(&Plan { parts: super::super::options::ALL.to_vec(), ..plan() }),
        rejoins: vec![Rejoin {
            way: crate::cluster::rejoin::Way::WithoutDirectory,
            bytes: 1,
            before_per_second: 0.0,
            meanwhile_per_second: 0.0,
            took: Duration::ZERO,
            failure: None,
        }],
        ..Outcome::default()
    };
    let facts = Vec::new();
    let page = Report { plan: &plan(), facts: &facts, outcome: &outcome }.markdown();
    let fields = |line: &str| line.matches('|').count();
    let tables = page.split("\n\n").filter(|block| block.starts_with('|'));
    let mut count = 0;
    for table in tables {
        let mut lines = table.lines().filter(|line| line.starts_with('|'));
        let expected = fields(lines.next().unwrap());
        assert!(lines.all(|line| fields(line) == expected), "{table}");
        count += 1;
    }
    assert_eq!(count, 3);
}
