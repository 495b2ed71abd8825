//! What the system variables say of the logs, as statements look at it: one number.

use std::path::{Path, PathBuf};

use super::writer::Log;
use crate::variables::Globals;

pub const SLOW: u32 = 1;
pub const GENERAL: u32 = 2;
pub const TO_FILE: u32 = 4;
pub const TO_TABLE: u32 = 8;
pub const EXTRA: u32 = 16;
pub const WITHOUT_INDEX: u32 = 32;
pub const ADMINISTRATIVE: u32 = 64;
pub const AUDIT: u32 = 128;
/// All statements are in the audit log.
pub const AUDIT_ALL: u32 = 256;
/// Entries tell of the trace that a statement belongs to.
pub const TRACE: u32 = 512;

/// The global variables that the logs follow.
const VARIABLES: &[&str] = &[
    "audit_log",
    "audit_log_file",
    "audit_log_rotate_on_size",
    "audit_log_statements",
    "general_log",
    "general_log_file",
    "log_output",
    "log_queries_not_using_indexes",
    "log_slow_admin_statements",
    "log_slow_extra",
    "log_trace_context",
    "slow_query_log",
    "slow_query_log_file",
];

/// Whether the logs follow this global variable.
pub fn concerns(variable: &str) -> bool {
    VARIABLES.contains(&variable)
}

/// The settings as bits. A log without an output is off; the audit log always has its file.
pub fn bits(globals: &Globals) -> u32 {
    let audit = match (globals.is_on("audit_log"), globals.is_on("audit_log_statements")) {
        (false, _) => 0,
        (true, false) => AUDIT,
        (true, true) => AUDIT | AUDIT_ALL,
    };
    let trace = if globals.is_on("log_trace_context") { TRACE } else { 0 };
    audit | trace | query_bits(globals)
}

/// At so many bytes the audit log's file is put aside; 0: it never is.
pub fn audit_rotation(globals: &Globals) -> u64 {
    globals.named_text("audit_log_rotate_on_size").parse().unwrap_or(0)
}

fn query_bits(globals: &Globals) -> u32 {
    let outputs = globals.named_text("log_output");
    let goes_to =
        |output| outputs.split(',').all(|word| word != "NONE") && outputs.split(',').any(|word| word == output);
    let to = [(goes_to("FILE"), TO_FILE), (goes_to("TABLE"), TO_TABLE)];
    let outputs = to.iter().filter(|(on, _)| *on).fold(0, |bits, (_, bit)| bits | bit);
    if outputs == 0 {
        return 0;
    }
    let switches = [
        ("slow_query_log", SLOW),
        ("general_log", GENERAL),
        ("log_slow_extra", EXTRA),
        ("log_queries_not_using_indexes", WITHOUT_INDEX),
        ("log_slow_admin_statements", ADMINISTRATIVE),
    ];
    switches.iter().filter(|(name, _)| globals.is_on(name)).fold(outputs, |bits, (_, bit)| bits | bit)
}

/// `log_output` as it is shown: known words, each once, in MySQL's order. `None`: there are others.
pub fn outputs(text: &str) -> Option<String> {
    let named: Vec<String> = text.split(',').map(|word| word.trim().to_ascii_uppercase()).collect();
    let known = ["NONE", "FILE", "TABLE"];
    if text.trim().is_empty() || !named.iter().all(|word| known.contains(&word.as_str())) {
        return None;
    }
    Some(known.into_iter().filter(|word| named.iter().any(|name| name == word)).collect::<Vec<_>>().join(","))
}

/// Where a log's file lies: what the variable says, beside the data if that is relative, or MySQL's default name.
pub fn path(log: Log, said: &str, data_dir: &Path) -> PathBuf {
    match (log, said) {
        (Log::Slow, "") => data_dir.join(format!("{}-slow.log", host_name())),
        (Log::General, "") => data_dir.join(format!("{}.log", host_name())),
        (Log::Audit, "") => data_dir.join(format!("{}-audit.log", host_name())),
        (_, said) => data_dir.join(said),
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // MySQL's names end at the first dot.
    let name = name.trim().split('.').next().unwrap_or_default().replace('/', "_");
    if name.is_empty() { "shoal".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_lists_of_known_words() {
        assert_eq!(outputs("table,file").as_deref(), Some("FILE,TABLE"));
        assert_eq!(outputs("none").as_deref(), Some("NONE"));
        assert_eq!(outputs("FILE,disk"), None);
        assert_eq!(outputs(""), None);
    }

    #[test]
    fn no_output_is_a_log_that_is_off() {
        let mut globals = Globals::default();
        globals.set_at_start("slow_query_log", "ON").unwrap();
        assert_eq!(bits(&globals), SLOW | TO_FILE);
        globals.set_at_start("log_output", "NONE,FILE").unwrap();
        assert_eq!(bits(&globals), 0);
        globals.set_at_start("log_output", "TABLE").unwrap();
        assert_eq!(bits(&globals), SLOW | TO_TABLE);
    }
}
