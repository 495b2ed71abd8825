//! What the figures were measured on, without naming the machine.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

const FSYNC_SAMPLES: usize = 200;

/// Names and values, in the order of the report.
pub type Facts = Vec<(&'static str, String)>;

/// The same as an object of strings.
pub fn facts_json(facts: &Facts) -> Value {
    facts.iter().map(|(name, value)| (name.to_string(), Value::from(value.as_str()))).collect()
}

/// `work_dir`: where servers keep their data; `programs`: what takes part, each with a name and a path.
pub fn gather(work_dir: &Path, programs: &[(&'static str, &str)]) -> io::Result<Facts> {
    let cores = std::thread::available_parallelism()?;
    let mut facts = vec![
        ("cores", cores.to_string()),
        ("processor", processor()),
        ("memory", memory()),
        ("kernel", first_line("/proc/sys/kernel/osrelease")),
        ("load before the run", load()),
        ("file system", file_system(work_dir)),
        ("4 KiB write + fdatasync", fsync_latency(work_dir)?),
    ];
    facts.extend(programs.iter().map(|&(name, program)| (name, version(program))));
    Ok(facts)
}

/// The commit of the checkout that this is run in.
pub fn commit() -> Option<(&'static str, String)> {
    printed("git", &["rev-parse", "--short=12", "HEAD"]).map(|commit| ("commit", commit))
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_string());
    model.unwrap_or_else(|| "unknown".into())
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.map_or("unknown".into(), |kib| format!("{} GiB", kib >> 20))
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_string()
}

/// Runnable processes over the last minute: other work on the machine blurs the figures.
fn load() -> String {
    let text = first_line("/proc/loadavg");
    text.split(' ').next().unwrap_or("unknown").to_string()
}

/// The type of the mount that holds `path`.
fn file_system(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(mount, _)| path.starts_with(mount))
        .max_by_key(|(mount, _)| mount.len())
        .map_or("unknown".into(), |(_, kind)| kind.to_string())
}

fn fsync_latency(folder: &Path) -> io::Result<String> {
    let path = folder.join(format!("shoal-bench-fsync-{}", std::process::id()));
    let mut file = File::create(&path)?;
    let mut samples = Vec::new();
    let result = (0..FSYNC_SAMPLES).try_for_each(|_| {
        let started = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        samples.push(started.elapsed());
        io::Result::Ok(())
    });
    fs::remove_file(&path)?;
    result?;
    samples.sort();
    Ok(format!("{} us (median of {FSYNC_SAMPLES})", samples[samples.len() / 2].as_micros()))
}

fn version(program: &str) -> String {
    printed(program, &["--version"]).unwrap_or_else(|| "absent".into())
}

fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let text = text.trim_start_matches(program).trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}
