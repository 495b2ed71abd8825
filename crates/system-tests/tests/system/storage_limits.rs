//! The disk and the memory at their limits: torn and damaged logs, a second server, a full disk, full memory.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use shoal_system_tests::{Client, SmallDisk, TestServer, process, skip, target_is_mariadb};
use shoal_testkit::server::{Kind, Setup};

const SEGMENT_HEADER_BYTES: u64 = 4096;
const FRAME_MAGIC: &[u8; 4] = b"SHLF";

/// A frame of the log: see `shoal_log::format` for the layout.
#[derive(Clone, Copy, Debug)]
struct Frame {
    offset: u64,
    length: u64,
}

/// The youngest log segment below `folder`, and its frames.
fn newest_segment(folder: &Path) -> (PathBuf, Vec<Frame>) {
    let mut segments = Vec::new();
    collect_segments(folder, &mut segments);
    segments.sort();
    let path = segments.pop().expect("a log segment");
    let bytes = fs::read(&path).unwrap();
    let mut frames = Vec::new();
    let mut offset = SEGMENT_HEADER_BYTES;
    while let Some(head) = bytes.get(offset as usize..offset as usize + 12) {
        if &head[..4] != FRAME_MAGIC {
            break;
        }
        let length = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as u64;
        frames.push(Frame { offset, length });
        offset += length;
    }
    (path, frames)
}

fn collect_segments(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_segments(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "log") {
            found.push(path);
        }
    }
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

/// A killed server whose log holds a hundred commits, each in a frame of its own.
fn killed_after_a_hundred_commits() -> (TestServer, PathBuf, Vec<Frame>) {
    let mut server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300))").unwrap();
    for id in 0..100 {
        let insert = format!("INSERT INTO t VALUES ({id},REPEAT('x',300))");
        client.execute(&insert).unwrap();
    }
    server.kill();
    let (path, frames) = newest_segment(&server.data_dir());
    assert!(frames.len() > 50, "{} frames in {}", frames.len(), path.display());
    (server, path, frames)
}

#[test]
fn a_torn_tail_of_the_log_is_cut_off() {
    if target_is_mariadb() {
        return skip("it tears Shoal's own log");
    }
    let (mut server, path, frames) = killed_after_a_hundred_commits();
    let last = frames[frames.len() - 1];
    let half = last.length / 2;
    overwrite(&path, last.offset + half, &vec![0; (last.length - half) as usize]);
    server.restart();
    // All but what the torn frame held, without a gap.
    let rows: u64 = server.sql("SELECT COUNT(*) FROM t").trim().parse().unwrap();
    assert!((90..=100).contains(&rows), "{rows}");
    assert_eq!(server.sql("SELECT MAX(id) FROM t").trim(), (rows - 1).to_string());
    server.sql("INSERT INTO t VALUES (1000,'after')");
    server.kill();
    server.restart();
    assert_eq!(server.sql("SELECT v FROM t WHERE id=1000"), "after\n");
}

#[test]
fn a_damaged_middle_of_the_log_is_refused_with_file_and_offset() {
    if target_is_mariadb() {
        return skip("it damages Shoal's own log");
    }
    let (mut server, path, frames) = killed_after_a_hundred_commits();
    let middle = frames[frames.len() / 2];
    let before = fs::read(&path).unwrap();
    overwrite(&path, middle.offset + 40, b"damage");
    let error = server.server().restart().unwrap_err().to_string();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(error.contains(&name), "{error}");
    assert!(error.contains(&middle.offset.to_string()), "{error}");
    // Refusing changed nothing: with the bytes put back, everything is there.
    fs::write(&path, before).unwrap();
    server.restart();
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "100\n");
}

#[test]
fn a_second_server_on_the_same_data_directory_refuses_to_start() {
    if target_is_mariadb() {
        return skip("MariaDB keeps trying for minutes");
    }
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)");
    let mut setup = shoal_system_tests::harness_setup(&[]);
    assert_eq!(setup.kind, Kind::Shoal);
    setup = Setup::data_dir(setup, server.data_dir());
    let error = setup.start().err().expect("a refusal").to_string();
    assert!(error.contains("in use"), "{error}");
    assert!(error.contains(&server.data_dir().display().to_string()), "{error}");
    server.sql("INSERT INTO t VALUES (2)");
    assert_eq!(server.sql("SELECT COUNT(*) FROM t"), "2\n");
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing_acknowledged() {
    if target_is_mariadb() {
        return skip("MariaDB waits for space");
    }
    let Some(disk) = SmallDisk::mount(512) else {
        return skip("mounting a small tmpfs is not permitted here");
    };
    let mut server = TestServer::start_in(disk.path(), &[]);
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(8000))").unwrap();
    let ballast = disk.fill(4 << 20);
    let (acknowledged, refusal) = write_until_refused(&mut client);
    match refusal {
        Some(1021) => {
            // Reads go on.
            let rows = client.text("SELECT COUNT(*) FROM t").unwrap();
            assert_eq!(rows, [acknowledged.to_string()]);
        }
        Some(errno) => panic!("errno {errno} where 1021 is due"),
        None => {
            let status = server.server().wait(std::time::Duration::from_secs(30)).unwrap();
            assert!(!status.success());
            let log = server.server().log();
            assert!(log.contains("full") || log.contains("No space"), "{log}");
        }
    }
    fs::remove_file(ballast).unwrap();
    server.kill();
    server.restart();
    let rows: u64 = server.sql("SELECT COUNT(*) FROM t").trim().parse().unwrap();
    assert!(rows == acknowledged || rows == acknowledged + 1, "{rows} of {acknowledged}");
    server.sql(&format!("INSERT INTO t VALUES ({},'there is room again')", acknowledged + 1));
    drop(server);
}

/// Rows inserted, and the errno of the refusal or None for a lost connection.
fn write_until_refused(client: &mut Client) -> (u64, Option<u16>) {
    for id in 0..200_000 {
        let insert = format!("INSERT INTO t VALUES ({id},REPEAT('x',8000))");
        match client.execute(&insert) {
            Ok(_) => {}
            Err(error) if error.errno() == 0 => return (id, None),
            Err(error) => return (id, Some(error.errno())),
        }
    }
    panic!("the disk never filled up");
}

#[test]
fn full_memory_is_1114_and_deleting_makes_room_for_any_table() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let server = TestServer::start_with(&["--set", "DataMemory=64M"]);
    let mut client = server.client();
    for table in ["t", "other"] {
        let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(8000))");
        client.execute(&create).unwrap();
    }
    let mut rows = 0;
    let error = loop {
        let insert = format!("INSERT INTO t VALUES ({rows},REPEAT('x',8000))");
        match client.execute(&insert) {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
        assert!(rows < 20_000, "64 MiB never filled up");
    };
    assert_eq!(error.errno(), 1114, "{error}");
    assert!(error.to_string().contains("64"), "the figure is missing: {error}");
    assert!(rows > 4000, "only {rows} rows of 8,000 bytes in 64 MiB");
    assert_eq!(client.text("SELECT COUNT(*) FROM t").unwrap(), [rows.to_string()]);
    let deleted = client.execute("DELETE FROM t WHERE id % 2 = 0").unwrap();
    assert!(deleted.affected_rows >= rows / 2);
    for id in 0..rows / 3 {
        let insert = format!("INSERT INTO other VALUES ({id},REPEAT('y',8000))");
        client.execute(&insert).unwrap_or_else(|error| panic!("row {id} of {}: {error}", rows / 3));
    }
    let resident = process::resident_bytes(server.process()).unwrap();
    assert!(resident < 400 << 20, "{} MiB resident", resident >> 20);
}
