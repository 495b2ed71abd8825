//! `version`, `sys_config` and `metrics`.

use shoal_types::Value;

use crate::information_schema::{Rows, row, status};
use crate::server::VERSION;

/// Of the views that these are written after.
const SYS_VERSION: &str = "2.1.2";

/// What procedures and functions of sys would look at; there are none, so the values are fixed.
const CONFIG: &[(&str, Option<&str>)] = &[
    ("diagnostics.allow_i_s_tables", Some("OFF")),
    ("diagnostics.include_raw", Some("OFF")),
    ("ps_thread_trx_info.max_length", Some("65535")),
    ("statement_performance_analyzer.limit", Some("100")),
    ("statement_performance_analyzer.view", None),
    ("statement_truncate_len", Some("64")),
];

pub fn version(_: &Rows<'_>) -> Vec<Vec<Value>> {
    vec![row![SYS_VERSION, VERSION]]
}

pub fn config(_: &Rows<'_>) -> Vec<Vec<Value>> {
    CONFIG.iter().map(|(name, value)| row![*name, *value, Value::Null, Value::Null]).collect()
}

/// What DataMemory is used for on this node.
pub fn memory_total(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let bytes = rows.server.node.memory_usage().used_bytes as f64;
    let units = [(f64::from(1u32 << 30), "GiB"), (f64::from(1u32 << 20), "MiB"), (f64::from(1u32 << 10), "KiB")];
    let unit = units.iter().find(|(size, _)| bytes >= *size);
    let shown =
        unit.map_or_else(|| format!("{bytes:4} bytes"), |(size, name)| format!("{:.2} {name}", bytes / size));
    vec![row![shown]]
}

pub fn raw_memory_total(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    vec![row![rows.server.node.memory_usage().used_bytes]]
}

/// What performance_schema has had no room for.
pub fn lost(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    match rows.server.digests.lost() {
        0 => Vec::new(),
        lost => vec![row!["Performance_schema_digest_lost", lost.to_string()]],
    }
}

/// The global status by names in lower case, and the time.
pub fn metrics(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let status = status::list(rows, true).into_iter();
    let mut found: Vec<Vec<Value>> =
        status.map(|(name, value)| row![name.to_lowercase(), value, "Global Status", "YES"]).collect();
    let now = rows.server.clock_micros();
    let shown = Value::DateTime(rows.variables.time_zone.from_utc_micros(now, 3)).to_text().to_vec();
    let seconds = format!("{:.3}", now as f64 / 1e6);
    found.push(row!["NOW()", Value::Str(shown), "System Time", "YES"]);
    found.push(row!["UNIX_TIMESTAMP()", seconds, "System Time", "YES"]);
    found
}
