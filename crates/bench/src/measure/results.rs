//! What both benchmarks do with their figures: medians, and two files side by side.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// What is said of a goal.
pub fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// `None` of nothing; of an even number of values the mean of the two in the middle.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// Writes `out`.md and `out`.json, and the folder that they are in.
pub fn write(out: &Path, markdown: &str, json: &Value) -> io::Result<()> {
    if let Some(folder) = out.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(out.with_extension("md"), markdown)?;
    fs::write(out.with_extension("json"), serde_json::to_string_pretty(json)? + "\n")
}
