//! Processes that must not take part: each is refused with a sentence that says what to do, and the cluster goes on.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::skip;
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_testkit::port::ReservedPort;

/// A cluster with clients on node 1, whose node 2 has been stopped to make room for a wrong one.
fn with_room_for_node_2() -> (StartedCluster, Workload) {
    let mut cluster = StartedCluster::start(&Layout::default());
    let plan = Plan { nodes: vec![1], threads: 2, ..Plan::new() };
    let workload = Workload::start(&cluster, plan);
    workload.wait_for_commits(10);
    cluster.stop_node(2);
    (cluster, workload)
}

/// The cluster has not noticed, and takes the right node 2.
fn goes_on(mut cluster: StartedCluster, workload: Workload) {
    workload.wait_for_commits(20);
    cluster.start_again(2);
    workload.wait_for_commits(10);
    check(&cluster, &workload.finish());
}

fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in what the node says:\n{text}");
    }
}

#[test]
fn an_id_that_the_configuration_has_not_is_refused() {
    let cluster = StartedCluster::new(&Layout::default());
    says(&cluster.refused(9, &cluster.config_file(), &[]), &["node 9 is not in", "1, 2, 3", "--node-id"]);
}

#[test]
fn two_processes_with_one_id_are_refused_wherever_the_second_one_lives() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let workload = Workload::start(&cluster, Plan { threads: 2, ..Plan::new() });
    workload.wait_for_commits_everywhere(5);
    says(&cluster.refused(2, &cluster.config_file(), &[]), &["node 2", "running already"]);
    // The same id with another directory and other ports, as on another host.
    let ports = [(); 2].map(|()| ReservedPort::any().unwrap());
    let config = cluster.changed_config(|text| moved(&text, &cluster.data_dir(2), &ports));
    says(&cluster.refused(2, &config, &[]), &["node 2", "--node-id"]);
    workload.wait_for_commits_everywhere(10);
    assert!(cluster.is_running(2));
    check(&cluster, &workload.finish());
}

/// Node 2 with another directory and other ports.
fn moved(text: &str, directory: &Path, [server, mysql]: &[ReservedPort; 2]) -> String {
    let elsewhere = format!("{}-elsewhere", directory.display());
    let text = text.replace(&format!("DataDir={}\n", directory.display()), &format!("DataDir={elsewhere}\n"));
    let mut section = 0;
    let lines = text.lines().map(|line| {
        section += u32::from(line.starts_with("NodeId=2"));
        section += u32::from(section == 1 && line.starts_with("[ndb_mgmd]"));
        match line.split_once('=') {
            Some(("ServerPort", _)) if section == 1 => format!("ServerPort={}\n", server.number()),
            Some(("MySQLPort", _)) if section == 1 => format!("MySQLPort={}\n", mysql.number()),
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

#[test]
fn a_node_of_another_cluster_is_refused() {
    let (cluster, workload) = with_room_for_node_2();
    // By its data directory.
    let renamed = cluster.changed_config(|text| text.replace("Name=reef", "Name=atoll"));
    says(&cluster.refused(2, &renamed, &[]), &["belongs to the cluster 'reef'", "'atoll'", "DataDir"]);
    // With an empty directory, by the other nodes.
    let renamed = cluster.changed_config(|text| {
        let directory = cluster.data_dir(2).display().to_string();
        text.replace("Name=reef", "Name=atoll").replace(&directory, &format!("{directory}-empty"))
    });
    says(&cluster.refused(2, &renamed, &[]), &["'reef'", "'atoll'", "config.ini"]);
    goes_on(cluster, workload);
}

#[test]
fn a_configuration_with_other_partitions_or_replicas_is_refused() {
    let (cluster, workload) = with_room_for_node_2();
    for change in ["NoOfReplicas=1", "NoOfReplicas=2\nNoOfPartitions=8"] {
        let changed = cluster.changed_config(|text| text.replace("NoOfReplicas=2", change));
        says(&cluster.refused(2, &changed, &[]), &["other partitions or replicas", "config.ini"]);
        let changed = cluster.changed_config(|text| {
            let directory = cluster.data_dir(2).display().to_string();
            text.replace("NoOfReplicas=2", change).replace(&directory, &format!("{directory}-{}", change.len()))
        });
        says(&cluster.refused(2, &changed, &[]), &["configurations", "differ", "config.ini"]);
    }
    goes_on(cluster, workload);
}

#[test]
fn the_data_directory_of_another_node_is_refused() {
    let (mut cluster, workload) = with_room_for_node_2();
    cluster.stop_node(3);
    let changed = cluster.changed_config(|text| {
        let (second, third) =
            (cluster.data_dir(2).display().to_string(), cluster.data_dir(3).display().to_string());
        text.replace(&second, "SECOND").replace(&third, &second).replace("SECOND", &third)
    });
    // Named after its node, a directory inside is not found by another; the directory itself says whose it is.
    let inner = |node: u32| cluster.data_dir(node).join(format!("shoal_{node}"));
    fs::rename(inner(3), cluster.data_dir(3).join("shoal_2")).unwrap();
    says(&cluster.refused(2, &changed, &[]), &["belongs to node 3", "not to node 2", "--node-id"]);
    fs::rename(cluster.data_dir(3).join("shoal_2"), inner(3)).unwrap();
    cluster.start_again(3);
    goes_on(cluster, workload);
}

#[test]
fn a_clock_ten_minutes_off_is_refused() {
    let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let library = libraries.iter().map(|folder| Path::new(folder).join("faketime/libfaketime.so.1"));
    let Some(library) = library.into_iter().find(|path| path.is_file()) else {
        return skip("libfaketime is not installed");
    };
    let (cluster, workload) = with_room_for_node_2();
    let library = library.display().to_string();
    for offset in ["+600s", "-600s"] {
        let environment =
            [("LD_PRELOAD", library.as_str()), ("FAKETIME", offset), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
        says(&cluster.refused(2, &cluster.config_file(), &environment), &["clocks", "600 seconds apart", "NTP"]);
    }
    goes_on(cluster, workload);
}

fn log_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            log_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "log") {
            found.push(path);
        }
    }
}

#[test]
fn a_management_node_with_a_corrupt_log_is_refused() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let workload = Workload::start(&cluster, Plan { threads: 2, ..Plan::new() });
    workload.wait_for_commits_everywhere(5);
    cluster.kill_node(3);
    let mut segments = Vec::new();
    log_files(&cluster.data_dir(3).join("shoal_3/log"), &mut segments);
    segments.sort();
    let segment = segments.last().expect("a log segment");
    let bytes = fs::read(segment).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    // In the middle of what was written: what follows tells it from a torn end.
    let place = (4096 + (end - 4096) / 2) as u64;
    let file = fs::OpenOptions::new().write(true).open(segment).unwrap();
    file.write_all_at(&[0xa5; 64], place).unwrap();
    says(
        &cluster.refused(3, &cluster.config_file(), &[]),
        &["damaged", segment.file_name().unwrap().to_str().unwrap()],
    );
    workload.wait_for_commits_everywhere(10);
    check(&cluster, &workload.finish());
}
