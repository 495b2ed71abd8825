//! The stages of the session's newest statements: `PROFILING`, SHOW PROFILES and SHOW PROFILE.
//!
//! Only durations are measured. What a thread of the server spends, it spends on several sessions, so CPU time and what the system counts
//! by thread are NULL.

use std::sync::PoisonError;

use shoal_types::Value;

use super::Rows;
use super::cell::row;
use super::performance::format::shown_text;
use crate::profile::Profile;

fn profiles(rows: &Rows<'_>) -> Vec<Profile> {
    rows.shared.profiles.lock().unwrap_or_else(PoisonError::into_inner).list().cloned().collect()
}

pub fn profiling(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for profile in profiles(rows) {
        for (place, (name, duration)) in profile.stages.iter().enumerate() {
            let mut row = row![profile.query, place as u64 + 1, *name, Value::Double(seconds(*duration))];
            row.resize(18, Value::Null);
            found.push(row);
        }
    }
    found
}

/// To the microsecond, as MySQL tells them.
fn seconds(duration: std::time::Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e6
}

/// SHOW PROFILES.
pub(crate) fn show_profiles(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |profile: &Profile| {
        let text = shown_text(&profile.text, profile.backslashes);
        row![profile.query, Value::Double(seconds(profile.duration())), text]
    };
    profiles(rows).iter().map(make).collect()
}

/// SHOW PROFILE: the columns behind `Status` and `Duration` by what was asked for, with their places in `PROFILING`.
const KINDS: &[(&str, &[(&str, usize)])] = &[
    ("CPU", &[("CPU_user f", 4), ("CPU_system f", 5)]),
    ("CONTEXT SWITCHES", &[("Context_voluntary u", 6), ("Context_involuntary u", 7)]),
    ("BLOCK IO", &[("Block_ops_in u", 8), ("Block_ops_out u", 9)]),
    ("IPC", &[("Messages_sent u", 10), ("Messages_received u", 11)]),
    ("PAGE FAULTS", &[("Page_faults_major u", 12), ("Page_faults_minor u", 13)]),
    ("SWAPS", &[("Swaps u", 14)]),
    ("SOURCE", &[("Source_function v30", 15), ("Source_file v20", 16), ("Source_line u", 17)]),
];

/// SHOW PROFILE of a statement, `None`: the newest: the description of its columns, and its rows.
pub(crate) fn show_profile(rows: &Rows<'_>, kinds: &[String], query: Option<u64>) -> (String, Vec<Vec<Value>>) {
    let wanted = |kind: &str| kinds.iter().any(|asked| asked == kind || asked == "ALL");
    let shown: Vec<(&str, usize)> =
        KINDS.iter().filter(|(kind, _)| wanted(kind)).flat_map(|(_, columns)| columns.iter().copied()).collect();
    let mut columns = "Status v30!, Duration f!".to_owned();
    shown.iter().for_each(|(column, _)| columns.push_str(&format!(", {column}")));
    let newest = {
        let profiles = rows.shared.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        profiles.get(query).map(|profile| profile.query)
    };
    let of_query =
        profiling(rows).into_iter().filter(|row| newest.is_some_and(|query| row[0] == Value::UInt(query)));
    let chosen = of_query.map(|row| {
        let places = [2, 3].into_iter().chain(shown.iter().map(|(_, place)| *place));
        places.map(|place| row[place].clone()).collect()
    });
    (columns, chosen.collect())
}
