//! Damage to what was durable is refused with the file and the place; nothing is guessed.

use std::path::{Path, PathBuf};

use shoal_log::LogError;
use shoal_log::testing::MemoryFileSystem;

use crate::support::{DIRECTORY, LOG_ID, SEGMENT_BYTES, disk_with, numbers, options, reopen};

const HEADER_BYTES: u64 = 4096;

fn segment(number: u64) -> PathBuf {
    Path::new(DIRECTORY).join("log").join(format!("{number:016x}.log"))
}

fn manifest() -> PathBuf {
    Path::new(DIRECTORY).join("log").join("MANIFEST")
}

/// Offset and length of each frame of a segment file.
fn frames(disk: &MemoryFileSystem, number: u64) -> Vec<(u64, u64)> {
    let bytes = disk.read(&segment(number)).expect("the segment is there");
    let mut frames = Vec::new();
    let mut at = HEADER_BYTES as usize;
    while bytes.get(at..at + 4) == Some(b"SHLF") {
        let length = u32::from_le_bytes([bytes[at + 8], bytes[at + 9], bytes[at + 10], bytes[at + 11]]);
        frames.push((at as u64, u64::from(length)));
        at += length as usize;
    }
    frames
}

fn expect_corrupt(disk: &MemoryFileSystem, file: &Path, offset: u64, context: &str) {
    match reopen(disk).map(|recovered| recovered.batches) {
        Err(LogError::Corrupt { file: found, offset: at, .. }) => {
            assert_eq!((found.as_path(), at), (file, offset), "{context}")
        }
        other => panic!("{context}: {other:?}"),
    }
}

#[test]
fn a_flipped_bit_in_any_frame_but_the_last_is_refused_with_file_and_offset() {
    let count = 40;
    let whole = disk_with(count);
    let last_segment = (1..).take_while(|number| whole.read(&segment(*number)).is_some());
    let written: Vec<u64> = last_segment.filter(|number| !frames(&whole, *number).is_empty()).collect();
    assert!(written.len() > 2, "the test needs several segments");
    let mut checked = 0;
    for number in written.iter().copied() {
        let frames = frames(&whole, number);
        for (position, (offset, length)) in frames.iter().copied().enumerate() {
            let last = Some(&number) == written.last() && position + 1 == frames.len();
            for bit in (0..length * 8).step_by(61) {
                let disk = disk_with_same(&whole);
                disk.damage(&segment(number), |bytes| {
                    bytes[(offset + bit / 8) as usize] ^= 1 << (bit % 8);
                });
                let context = format!("segment {number}, frame {position}, bit {bit}");
                if last {
                    let recovered = reopen(&disk).expect("a torn tail is cut");
                    assert_eq!(recovered.batches, numbers(0..count - 1), "{context}");
                } else {
                    expect_corrupt(&disk, &segment(number), offset, &context);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 500);
}

/// The last frame has none behind it that proves that it was durable: its damage was cut as a torn tail.
#[test]
fn a_flipped_bit_in_the_last_frame_of_a_log_that_was_closed_is_refused() {
    let count = 5;
    let whole = disk_with(count);
    reopen(&whole).expect("opens").log.close().expect("closes");
    let (number, offset, length) = (1..)
        .take_while(|number| whole.read(&segment(*number)).is_some())
        .filter_map(|number| frames(&whole, number).last().map(|&(offset, length)| (number, offset, length)))
        .last()
        .expect("there are frames");
    for bit in (0..length * 8).step_by(61) {
        let disk = disk_with_same(&whole);
        disk.damage(&segment(number), |bytes| bytes[(offset + bit / 8) as usize] ^= 1 << (bit % 8));
        expect_corrupt(&disk, &segment(number), offset, &format!("bit {bit}"));
    }
    // The log goes on from there, and what a crash tears behind it is cut.
    let log = reopen(&whole).expect("opens").log;
    crate::support::append(&log, count);
    log.try_flush_inline().expect("flushes");
    drop(log);
    let (offset, _) = *frames(&whole, number).last().expect("one more");
    whole.damage(&segment(number), |bytes| bytes[offset as usize + 40] ^= 1);
    assert_eq!(reopen(&whole).expect("a torn tail is cut").batches, numbers(0..count));
}

fn disk_with_same(disk: &MemoryFileSystem) -> MemoryFileSystem {
    disk.crash_point().kill()
}

#[test]
fn a_refused_log_is_left_as_it_is() {
    let disk = disk_with(40);
    let (offset, _) = frames(&disk, 1)[1];
    disk.damage(&segment(1), |bytes| bytes[offset as usize + 20] ^= 1);
    let before: Vec<_> = disk.paths().iter().map(|path| disk.read(path)).collect();
    assert!(reopen(&disk).is_err());
    let after: Vec<_> = disk.paths().iter().map(|path| disk.read(path)).collect();
    assert!(before == after);
}

#[test]
fn a_missing_segment_is_named() {
    let whole = disk_with(40);
    for missing in [1, 2] {
        let disk = disk_with_same(&whole);
        let file_system: &dyn shoal_log::file_system::FileSystem = &disk;
        file_system.remove(&segment(missing)).expect("it is there");
        expect_corrupt(&disk, &segment(missing), 0, "a gap");
    }
}

#[test]
fn a_damaged_segment_header_is_refused() {
    let disk = disk_with(40);
    disk.damage(&segment(2), |bytes| bytes[17] ^= 4);
    expect_corrupt(&disk, &segment(2), 0, "header");
}

#[test]
fn a_segment_of_another_log_is_refused() {
    let disk = disk_with(40);
    let other = MemoryFileSystem::new();
    let mut settings = options(&other);
    settings.log_id = LOG_ID + 1;
    drop(crate::support::recover(settings, shoal_log::LogHooks::none()).expect("opens"));
    let foreign = other.read(&segment(1)).expect("the segment is there");
    disk.damage(&segment(1), |bytes| *bytes = foreign);
    expect_corrupt(&disk, &segment(1), 0, "foreign");
}

#[test]
fn a_log_without_its_manifest_is_refused() {
    let disk = disk_with(3);
    let file_system: &dyn shoal_log::file_system::FileSystem = &disk;
    file_system.remove(&manifest()).expect("it is there");
    expect_corrupt(&disk, &manifest(), 0, "no manifest");
}

#[test]
fn a_manifest_with_one_damaged_slot_still_opens_and_with_two_does_not() {
    let disk = disk_with(40);
    disk.damage(&manifest(), |bytes| bytes[30] ^= 1);
    assert_eq!(reopen(&disk).expect("one slot is left").batches, numbers(0..40));
    disk.damage(&manifest(), |bytes| bytes[4096 + 30] ^= 1);
    expect_corrupt(&disk, &manifest(), 0, "both slots");
}

#[test]
fn a_newer_file_format_is_refused_by_its_number() {
    let disk = disk_with(3);
    disk.damage(&segment(1), |bytes| {
        bytes[8] = 9;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    });
    match reopen(&disk).map(|recovered| recovered.batches) {
        Err(LogError::UnsupportedVersion { found: 9, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn random_bytes_in_place_of_any_file_never_panic() {
    let whole = disk_with(20);
    let mut random = crate::support::Random(5);
    for path in whole.paths() {
        for _ in 0..50 {
            let disk = disk_with_same(&whole);
            let start = random.below(SEGMENT_BYTES) as usize;
            let length = random.below(3000) as usize;
            disk.damage(&path, |bytes| {
                for byte in bytes.iter_mut().skip(start).take(length) {
                    *byte = random.below(256) as u8;
                }
            });
            if let Ok(recovered) = reopen(&disk) {
                let found = recovered.batches.len() as u64;
                assert_eq!(recovered.batches, numbers(0..found));
            }
        }
    }
}
