//! How much memory a node takes that was not told: a share of what its process may use.
//!
//! A process may use the machine's memory or, if that is less, what its control group allows: version 2 (`memory.max`) or
//! version 1 (`memory.limit_in_bytes`), its own group's or that of any group around it. Data nodes of one host divide it.
//! What a node is given as `DataMemory` leaves room for all that is not rows: see [`data_memory_within`].

use std::path::{Path, PathBuf};

/// What is assumed of a machine that does not say how much memory it has.
const UNKNOWN_MACHINE_BYTES: u64 = 2 << 30;
/// The part of the machine's memory that nodes divide; the rest is for the system and small processes beside them.
const NODES_PERCENT: u64 = 90;
/// A node's process stays within `DataMemory` times this, in percent, and a fixed part.
const RESIDENT_PERCENT: u64 = 125;
const RESIDENT_FIXED_BYTES: u64 = 256 << 20;
/// Small machines: a node that hardly has the fixed part gets this part of its share nevertheless.
const SMALLEST_PART: u64 = 4;

/// `DataMemory` for each of so many data nodes of this machine.
pub(crate) fn default_data_memory(nodes_of_host: u32) -> u64 {
    data_memory_within(usable_bytes(Path::new("/")) / u64::from(nodes_of_host.max(1)))
}

/// The greatest `DataMemory` whose process is sure to stay within `share_bytes`.
fn data_memory_within(share_bytes: u64) -> u64 {
    let process_bytes = share_bytes / 100 * NODES_PERCENT;
    let data_bytes = process_bytes.saturating_sub(RESIDENT_FIXED_BYTES) / RESIDENT_PERCENT * 100;
    data_bytes.max(share_bytes / SMALLEST_PART)
}

/// Bytes that this process may use, by the files of the system below `root`.
fn usable_bytes(root: &Path) -> u64 {
    let machine = machine_bytes(root).unwrap_or(UNKNOWN_MACHINE_BYTES);
    group_limits(root).into_iter().fold(machine, u64::min)
}

fn machine_bytes(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The limits of all control groups that this process is in.
fn group_limits(root: &Path) -> Vec<u64> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // Inside a container the path may be the host's, of which only the mount itself is seen.
        let mount = root.join(mount);
        let mut group: PathBuf = mount.join(path.trim_start_matches('/'));
        loop {
            let limit = std::fs::read_to_string(group.join(file)).ok();
            // `max` is no number.
            limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
            if group == mount || !group.pop() {
                break;
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");

    #[test]
    fn without_control_groups_the_machine_counts() {
        assert_eq!(usable_bytes(machine(&[MEMINFO]).path()), 16 << 30);
        assert_eq!(usable_bytes(machine(&[]).path()), UNKNOWN_MACHINE_BYTES);
    }

    #[test]
    fn the_smallest_limit_of_all_groups_around_the_process_counts() {
        let groups = ("proc/self/cgroup", "0::/outer/inner\n");
        let inner = ("sys/fs/cgroup/outer/inner/memory.max", "max\n");
        let outer = ("sys/fs/cgroup/outer/memory.max", "2147483648\n");
        assert_eq!(usable_bytes(machine(&[MEMINFO, groups, inner, outer]).path()), 2 << 30);
        let container = ("sys/fs/cgroup/memory.max", "1073741824\n");
        assert_eq!(usable_bytes(machine(&[MEMINFO, groups, container]).path()), 1 << 30);
    }

    #[test]
    fn the_first_version_of_control_groups_counts_as_well() {
        let groups = ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/abc\n");
        let unlimited = ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(usable_bytes(machine(&[MEMINFO, groups, unlimited]).path()), 16 << 30);
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
        assert_eq!(usable_bytes(machine(&[MEMINFO, groups, limit]).path()), 512 << 20);
    }

    #[test]
    fn a_node_with_its_default_stays_within_its_share() {
        for share in [1 << 30, 3 << 30, 24 << 30, 1u64 << 40] {
            let data = data_memory_within(share);
            assert!(data / 100 * RESIDENT_PERCENT + RESIDENT_FIXED_BYTES <= share, "{data} of {share}");
            assert!(data >= share / 2, "{data} of {share}");
        }
        assert_eq!(data_memory_within(256 << 20), 64 << 20);
    }
}
