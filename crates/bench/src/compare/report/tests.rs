use super::*;
use crate::compare::workload;
use crate::sysbench::Figures;
use std::collections::BTreeMap;
use std::time::Duration;

fn cell(rate: f64, cpu_micros: f64) -> Cell {
    let run = Run {
        figures: Figures { queries: rate as u64, seconds: 1.0, p95_ms: 1.0, ..Figures::default() },
        server_cpu: Duration::from_secs_f64(rate * cpu_micros / 1e6),
    };
    Cell { runs: vec![run], failure: None }
}

fn row(cells: &[(Who, Cell)]) -> Row {
    Row {
        workload: workload::find("point_select").unwrap(),
        threads: 8,
        cells: cells.iter().map(|(who, cell)| (who.name(), cell.clone())).collect::<BTreeMap<_, _>>(),
        first_rate: None,
    }
}

#[test]
fn a_row_that_reaches_everything_is_met() {
    let row = row(&[
        (Who::Mariadb, cell(70_000.0, 20.0)),
        (Who::Shoal, cell(110_000.0, 6.0)),
        (Who::Canned, cell(120_000.0, 5.0)),
    ]);
    assert_eq!(verdict(&row), "met");
}

#[test]
fn what_is_missed_is_named() {
    let row = row(&[
        (Who::Mariadb, cell(70_000.0, 20.0)),
        (Who::Shoal, cell(90_000.0, 9.0)),
        (Who::Canned, cell(120_000.0, 5.0)),
    ]);
    assert_eq!(verdict(&row), "missed: CPU ratio, CPU, ceiling");
}

#[test]
fn a_goal_without_its_peer_stays_open() {
    let row = row(&[(Who::Shoal, cell(110_000.0, 6.0))]);
    assert_eq!(verdict(&row), "incomplete");
    assert_eq!(verdict(&super::tests::row(&[])), "not run");
}

#[test]
fn a_contended_row_is_held_to_its_errors_and_to_what_few_threads_reach() {
    let mut row = row(&[(Who::Mariadb, cell(1_000.0, 20.0)), (Who::Shoal, cell(3_000.0, 6.0))]);
    row.workload = workload::find("hot_row").unwrap();
    row.first_rate = Some(3_500.0);
    assert_eq!(verdict(&row), "met");
    row.first_rate = Some(4_000.0);
    assert_eq!(verdict(&row), "missed: share of the fewest threads");
    row.cells.get_mut(Who::Shoal.name()).unwrap().runs[0].figures.ignored_errors = 1;
    assert_eq!(verdict(&row), "missed: share of the fewest threads, errors");
}
