//! `shoal bench`: every figure is there, whatever the machine; what is not installed is named.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use shoal_system_tests::{program, shoal_binary};

const PATIENCE: Duration = Duration::from_secs(240);

/// The figures that `shoal bench ARGUMENTS` writes; its page has plots.
fn figures(folder: &Path, arguments: &[&str]) -> Value {
    let (json, html) = (folder.join("figures.json"), folder.join("page.html"));
    let mut command = Command::new(shoal_binary());
    command.arg("bench").args(arguments).arg("--json").arg(&json).arg("--html").arg(&html);
    let output = program::run(command, b"", PATIENCE, || false).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}{}", output.text(), output.errors());
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("<svg") && page.contains("<polyline"), "{arguments:?}: a page without plots");
    serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap()
}

fn is_ordered(percentiles: &Value) -> bool {
    let names = ["p50", "p90", "p99", "p99.9", "p99.99"];
    let figures: Vec<f64> = names.iter().map(|name| percentiles[name].as_f64().unwrap()).collect();
    figures[0] > 0.0 && figures.is_sorted()
}

#[test]
fn read_perf_has_every_way_to_read_through_every_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let figures = figures(folder.path(), &["read-perf", "--seconds", "0.01", "--rows", "1000"]);
    let figures = figures.as_array().unwrap();
    assert_eq!(figures.len(), 8 * 5);
    for transport in ["tcp", "unix", "shm", "sql", "handlersocket"] {
        for operation in ["serial pk", "batch unique", "ordered index range", "filtered scan"] {
            let is_it = |figure: &&Value| figure["op"] == operation && figure["transport"] == transport;
            let figure = figures.iter().find(is_it).unwrap();
            assert!(figure["us_per_row"].as_f64().unwrap() > 0.0, "{figure}");
            assert!(is_ordered(&figure["call_us"]), "{figure}");
        }
    }
}

#[test]
fn flex_has_all_kinds_of_work() {
    let folder = tempfile::tempdir().unwrap();
    let figures = figures(folder.path(), &["flex", "--seconds", "0.1", "--threads", "2", "--parallel", "8"]);
    let names: Vec<&str> =
        figures.as_array().unwrap().iter().map(|figure| figure["op"].as_str().unwrap()).collect();
    assert_eq!(names, ["insert", "update", "read", "delete"]);
    for figure in figures.as_array().unwrap() {
        assert!(figure["rows_per_second"].as_f64().unwrap() > 0.0, "{figure}");
        assert!(is_ordered(&figure["transaction_us"]), "{figure}");
    }
}

#[test]
fn kv_measures_shoals_doors_and_names_who_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["kv", "--only", "update,insert,read by SQL", "--runs", "1", "--seconds", "0.1", "--rows", "1000"];
    let figures = figures(folder.path(), &arguments);
    let missing = figures["not_measured"].to_string();
    for figure in figures["figures"].as_array().unwrap() {
        let server = figure["server"].as_str().unwrap();
        if server.starts_with("MariaDB") {
            assert!(figure["per_second"].is_number() || missing.contains("MariaDB"), "{figure}");
        } else {
            assert_eq!(figure["failure"], Value::Null, "{figure}");
            assert!(is_ordered(&figure["batch_us"]), "{figure}");
        }
    }
}
