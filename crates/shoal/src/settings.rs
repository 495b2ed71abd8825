//! `--set NAME=VALUE`: settings of the node by NDB's parameter names, system variables by MySQL's.

use std::time::Duration;

use shoal_cluster::worker_loop::NEVER_SLEEP;
use shoal_cluster::{Durability, NodeOptions};
use shoal_config::{NEVER_SLEEPS, SPIN_METHODS};
use shoal_sql::Globals;

/// Settings that the node itself reads; all others are system variables.
const NODE_SETTINGS: &[&str] = &[
    "DataMemory",
    "CommitDurability",
    "TimeBetweenGlobalCheckpoints",
    "NoOfPartitions",
    "FragmentLogFileSize",
    "SchedulerSpinTimer",
    "SpinMethod",
];
/// Microseconds; NDB's own bound.
const SPIN_MAX: u64 = 500;

/// The node itself reads it.
pub fn is_node_setting(name: &str) -> bool {
    NODE_SETTINGS.iter().any(|known| known.eq_ignore_ascii_case(&name.replace('_', "")))
}

/// Puts one `NAME=VALUE` where it belongs.
pub fn apply(setting: &str, node: &mut NodeOptions, globals: &mut Globals) -> Result<(), String> {
    let (name, value) = setting.split_once('=').ok_or_else(|| format!("--set {setting}: expected NAME=VALUE"))?;
    let (name, value) = (name.trim(), value.trim());
    match NODE_SETTINGS.iter().find(|known| known.eq_ignore_ascii_case(&name.replace('_', ""))) {
        Some(&"DataMemory") => node.data_memory = Some(bytes(name, value)?),
        Some(&"CommitDurability") => {
            node.durability = match value.to_ascii_lowercase().as_str() {
                "disk" => Durability::Disk,
                "replicated" => Durability::Replicated,
                _ => return Err(format!("--set {setting}: CommitDurability is disk or replicated")),
            }
        }
        Some(&"TimeBetweenGlobalCheckpoints") => {
            let millis = value.parse().map_err(|_| format!("--set {setting}: expected milliseconds"))?;
            node.global_checkpoint_interval = Duration::from_millis(millis);
        }
        Some(&"NoOfPartitions") => {
            let count = value.parse().ok().filter(|count| (1..=1024).contains(count));
            node.partitions = Some(count.ok_or_else(|| format!("--set {setting}: expected 1 to 1024"))?);
        }
        Some(&"SchedulerSpinTimer") => {
            let micros = value.parse().ok().filter(|micros| *micros <= SPIN_MAX);
            let micros =
                micros.ok_or_else(|| format!("--set {setting}: expected 0 to {SPIN_MAX} microseconds"))?;
            node.spin = Duration::from_micros(micros);
        }
        Some(&"SpinMethod") => {
            let method = SPIN_METHODS.iter().find(|method| method.eq_ignore_ascii_case(value));
            let known = || format!("--set {setting}: SpinMethod is one of {}", SPIN_METHODS.join(", "));
            if *method.ok_or_else(known)? == NEVER_SLEEPS {
                node.spin = NEVER_SLEEP;
            }
        }
        Some(&"FragmentLogFileSize") => node.log_segment_bytes = bytes(name, value)?,
        _ => globals.set_at_start(name, value).map_err(|error| format!("--set {setting}: {}", error.message()))?,
    }
    Ok(())
}

/// A size such as `64M`, `2G` or `1048576`.
pub fn bytes(name: &str, text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        Some(b'T') => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let number: u64 =
        digits.trim().parse().map_err(|_| format!("{name}: `{text}` is no size; write 512M or 4G"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{name}: `{text}` is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_the_usual_suffixes() {
        assert_eq!(bytes("DataMemory", "64M"), Ok(64 << 20));
        assert_eq!(bytes("DataMemory", "2g"), Ok(2 << 30));
        assert_eq!(bytes("DataMemory", "4096"), Ok(4096));
        assert!(bytes("DataMemory", "much").is_err());
        assert!(bytes("DataMemory", "99999999999T").is_err());
    }
}
