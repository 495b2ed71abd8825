//! Checkpoints under crashes, damage and odd sizes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::error::LogError;
use crate::testing::{Fault, MemoryFileSystem, Operation};

const GROUP: u64 = 5;

fn store(disk: &MemoryFileSystem) -> CheckpointStore {
    CheckpointStore::open(Arc::new(disk.clone()), Path::new("checkpoints")).expect("opens")
}

fn options(compress: bool) -> CheckpointOptions {
    CheckpointOptions { compress, throttle: None }
}

/// Block sizes around the edges, half of them compressible.
fn blocks() -> Vec<Vec<u8>> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    [1, 2, 100, 5000, 65_536, 300_000]
        .iter()
        .flat_map(|&size| [vec![7; size], (0..size).map(|_| random()).collect()])
        .collect()
}

fn write(store: &CheckpointStore, metadata: &[u8], compress: bool) -> FinishedCheckpoint {
    let mut writer = store.create(GROUP, metadata, options(compress)).expect("creates");
    for block in blocks() {
        writer.append(&block).expect("appends");
    }
    writer.finish().expect("finishes")
}

fn read_all(mut reader: CheckpointReader) -> Result<Vec<Vec<u8>>, LogError> {
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block.to_vec());
    }
    Ok(blocks)
}

#[test]
fn a_block_larger_than_what_is_read_at_once_comes_back() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    // Sizes around one read, which is 1 MiB.
    let blocks: Vec<Vec<u8>> = [1 << 20, (1 << 20) + 1, 3, 5 << 20].map(|size: usize| vec![1; size]).into();
    let mut writer = store.create(GROUP, &[], options(false)).expect("creates");
    blocks.iter().for_each(|block| writer.append(block).expect("appends"));
    writer.finish().expect("finishes");
    let latest = store.latest(GROUP).expect("reads").expect("is there");
    assert!(read_all(latest.reader).expect("reads") == blocks);
}

#[test]
fn blocks_and_metadata_come_back_with_and_without_compression() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let mut sizes = Vec::new();
    for compress in [false, true] {
        let finished = write(&store, b"metadata", compress);
        sizes.push(finished.file_bytes);
        let latest = store.latest(GROUP).expect("reads").expect("is there");
        assert!(latest.damaged.is_empty());
        assert_eq!(latest.reader.metadata(), b"metadata");
        assert_eq!(latest.reader.number(), finished.number);
        assert_eq!(latest.reader.totals(), (finished.blocks, finished.content_bytes));
        assert_eq!(read_all(latest.reader).expect("intact"), blocks());
    }
    assert!(sizes[1] < sizes[0] * 2 / 3, "{sizes:?}");
}

#[test]
fn a_checkpoint_without_blocks_is_complete_too() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let mut writer = store.create(GROUP, b"", options(true)).expect("creates");
    writer.append(b"").expect("an empty block leaves no trace");
    assert_eq!(writer.finish().expect("finishes").blocks, 0);
    let latest = store.latest(GROUP).expect("reads").expect("is there");
    assert_eq!(read_all(latest.reader).expect("intact"), Vec::<Vec<u8>>::new());
}

#[test]
fn a_flipped_bit_anywhere_is_refused_at_the_block_that_has_it() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let mut writer = store.create(GROUP, b"meta", options(true)).expect("creates");
    writer.append(&[1; 50]).expect("appends");
    writer.append(b"0123456789").expect("appends");
    let finished = writer.finish().expect("finishes");
    let whole = disk.read(&finished.path).expect("is there");
    let second_block = whole.windows(4).rposition(|bytes| bytes == BLOCK_MAGIC).expect("has blocks") as u64;
    for bit in 0..whole.len() * 8 {
        disk.damage(&finished.path, |bytes| {
            bytes.clone_from(&whole);
            bytes[bit / 8] ^= 1 << (bit % 8);
        });
        let outcome = store.read(GROUP, finished.number).and_then(read_all);
        let byte = (bit / 8) as u64;
        match outcome {
            Err(LogError::Corrupt { file, offset, .. }) => {
                assert_eq!(file, finished.path);
                let in_second = byte >= second_block && byte < whole.len() as u64 - 32;
                assert!(!in_second || offset == second_block, "bit {bit}: {offset}");
                assert!(offset <= byte, "bit {bit}: {offset}");
            }
            Err(LogError::UnsupportedVersion { .. }) => assert!((8..12).contains(&byte)),
            other => panic!("bit {bit}: {other:?}"),
        }
    }
}

#[test]
fn a_truncated_or_lengthened_file_is_refused() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let finished = write(&store, b"meta", false);
    let whole = disk.read(&finished.path).expect("is there");
    for length in (0..whole.len()).step_by(whole.len() / 97).chain([whole.len() - 1]) {
        disk.damage(&finished.path, |bytes| *bytes = whole[..length].to_vec());
        assert!(store.read(GROUP, finished.number).and_then(read_all).is_err(), "{length}");
    }
    disk.damage(&finished.path, |bytes| {
        bytes.clone_from(&whole);
        bytes.push(0);
    });
    assert!(store.read(GROUP, finished.number).is_err());
}

#[test]
fn a_checkpoint_that_lacks_its_last_block_is_refused() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let mut writer = store.create(GROUP, b"", options(false)).expect("creates");
    writer.append(b"first").expect("appends");
    writer.append(b"last").expect("appends");
    let finished = writer.finish().expect("finishes");
    disk.damage(&finished.path, |bytes| {
        let footer = bytes.len() - FOOTER_BYTES;
        bytes.drain(footer - BLOCK_HEADER_BYTES - 4..footer);
    });
    assert!(store.read(GROUP, finished.number).and_then(read_all).is_err());
}

#[test]
fn a_block_taken_from_another_checkpoint_is_refused() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let mut paths = Vec::new();
    for _ in 0..2 {
        let mut writer = store.create(GROUP, b"", options(false)).expect("creates");
        writer.append(b"the same block").expect("appends");
        paths.push(writer.finish().expect("finishes"));
    }
    let block = HEADER_BYTES..HEADER_BYTES + BLOCK_HEADER_BYTES + 14;
    let old = disk.read(&paths[0].path).expect("is there")[block.clone()].to_vec();
    disk.damage(&paths[1].path, |bytes| bytes[block].copy_from_slice(&old));
    assert!(store.read(GROUP, paths[1].number).and_then(read_all).is_err());
}

#[test]
fn a_damaged_newest_checkpoint_gives_way_to_the_one_before_it_and_is_reported() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let first = write(&store, b"first", false);
    let second = write(&store, b"second", false);
    disk.damage(&second.path, |bytes| bytes.truncate(100));
    let latest = store.latest(GROUP).expect("reads").expect("is there");
    assert_eq!(latest.reader.number(), first.number);
    assert_eq!(latest.damaged.len(), 1);
    disk.damage(&first.path, |bytes| bytes.truncate(100));
    assert!(store.latest(GROUP).is_err(), "no valid one is not the same as none");
    assert!(store.latest(GROUP + 1).expect("reads").is_none());
}

#[test]
fn older_checkpoints_go_only_when_the_newer_one_exists() {
    let disk = MemoryFileSystem::new();
    let store = store(&disk);
    let first = write(&store, b"first", false);
    store.remove_older(GROUP, CheckpointNumber(99)).expect("does nothing");
    assert_eq!(store.numbers(GROUP).expect("lists"), vec![first.number]);
    let second = write(&store, b"second", false);
    store.remove_older(GROUP, second.number).expect("removes");
    assert_eq!(store.numbers(GROUP).expect("lists"), vec![second.number]);
    assert_eq!(store.groups().expect("lists"), vec![GROUP]);
    store.remove_group(GROUP).expect("removes");
    assert!(store.latest(GROUP).expect("reads").is_none());
}

#[test]
fn after_any_crash_the_newest_checkpoint_is_one_that_is_complete() {
    let disk = MemoryFileSystem::new();
    let checkpoints = store(&disk);
    disk.record_history();
    for number in 1..=3u8 {
        let metadata = [number];
        let mut writer = checkpoints.create(GROUP, &metadata, options(false)).expect("creates");
        for _ in 0..3 {
            writer.append(&vec![number; 3000]).expect("appends");
        }
        let finished = writer.finish().expect("finishes");
        disk.set_marker(u64::from(number));
        checkpoints.remove_older(GROUP, finished.number).expect("removes");
    }
    let mut seen = 0;
    for point in disk.history() {
        for kept in 0..=point.fragment_count() {
            for names in 0..1 << point.name_change_count() {
                let image = crate::testing::CrashImage {
                    fragments: (0..point.fragment_count()).map(|number| number < kept).collect(),
                    names: (0..point.name_change_count()).map(|bit| names >> bit & 1 == 1).collect(),
                };
                let store = store(&point.crash(&image));
                let latest = store.latest(GROUP).expect("none is damaged");
                let newest = latest.map(|latest| {
                    assert!(latest.damaged.is_empty());
                    let newest = latest.reader.metadata()[0];
                    let blocks = read_all(latest.reader).expect("intact");
                    assert_eq!(blocks, vec![vec![newest; 3000]; 3]);
                    u64::from(newest)
                });
                assert!(newest.unwrap_or(0) >= point.marker(), "{newest:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50);
}

#[test]
fn of_two_checkpoints_under_way_at_once_the_one_begun_last_is_the_newest() {
    let disk = MemoryFileSystem::new();
    let checkpoints = store(&disk);
    let begin = |content: &[u8]| {
        let mut writer = checkpoints.create(GROUP, b"", options(false)).expect("creates");
        writer.append(content).expect("appends");
        writer
    };
    let (first, second) = (begin(b"first"), begin(b"second"));
    assert!(first.number() < second.number());
    second.finish().expect("finishes");
    first.finish().expect("finishes");
    let latest = checkpoints.latest(GROUP).expect("reads").expect("there is one");
    assert_eq!(read_all(latest.reader).expect("reads"), [b"second"]);
}

#[test]
fn an_abandoned_or_failed_checkpoint_leaves_nothing_behind() {
    let disk = MemoryFileSystem::new();
    let checkpoints = store(&disk);
    drop(checkpoints.create(GROUP, b"", options(false)).expect("creates"));
    assert_eq!(disk.paths(), Vec::<PathBuf>::new());
    let mut writer = checkpoints.create(GROUP, b"", options(false)).expect("creates");
    writer.append(b"block").expect("appends");
    disk.fail(Operation::Write, 0, Fault::DiskFull);
    let error = writer.finish().expect_err("the disk is full");
    assert!(error.is_disk_full());
    assert_eq!(disk.paths(), Vec::<PathBuf>::new());
}

#[test]
fn blocks_beyond_the_limit_are_refused() {
    let disk = MemoryFileSystem::new();
    let mut writer = store(&disk).create(GROUP, b"", options(false)).expect("creates");
    let error = writer.append(&vec![0; BLOCK_LIMIT_BYTES + 1]).expect_err("too large");
    assert!(matches!(error, LogError::BlockTooLarge { .. }));
}

#[test]
fn the_throttle_is_told_of_every_byte() {
    struct Counter(Arc<AtomicU64>);
    impl Throttle for Counter {
        fn written(&mut self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::SeqCst);
        }
    }
    let disk = MemoryFileSystem::new();
    let counted = Arc::new(AtomicU64::new(0));
    let options = CheckpointOptions { compress: false, throttle: Some(Box::new(Counter(Arc::clone(&counted)))) };
    let mut writer = store(&disk).create(GROUP, b"", options).expect("creates");
    for block in blocks() {
        writer.append(&block).expect("appends");
    }
    let finished = writer.finish().expect("finishes");
    assert_eq!(counted.load(Ordering::SeqCst), finished.file_bytes);
}
