//! Flipped bits: the medium gives back something else than it was given.

use std::path::{Path, PathBuf};

use shoal_log::testing::MemoryFileSystem;
use shoal_log::{Durability, Log, LogError, LogHooks, Lsn};

use super::known::Found;
use super::life::{DIRECTORY, LifeKnobs};
use super::shared::{Shared, held};
use crate::random::Random;
use crate::sights::Sight;

const SEGMENT_HEADER_BYTES: usize = 4096;

/// A frame of the log as it lies in its file.
struct Frame {
    path: PathBuf,
    offset: usize,
    length: usize,
    start: u64,
}

/// The chains of frames of all segment files.
fn frames(disk: &MemoryFileSystem) -> Vec<Frame> {
    let mut frames = Vec::new();
    for path in disk.paths().into_iter().filter(|path| path.extension().is_some_and(|name| name == "log")) {
        let bytes = disk.read(&path).unwrap_or_default();
        let number = |at: usize, count: usize| {
            let bytes = bytes.get(at..at + count).unwrap_or_default();
            bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let (mut offset, mut expected) = (SEGMENT_HEADER_BYTES, None);
        while bytes.get(offset..offset + 4) == Some(b"SHLF") {
            let (length, start) = (number(offset + 8, 4) as usize, number(offset + 16, 8));
            if length == 0 || expected.is_some_and(|expected| expected != start) {
                break;
            }
            // What recovery has cut off may still be there, if the log went on in the next segment.
            frames.retain(|frame: &Frame| frame.start != start);
            frames.push(Frame { path: path.clone(), offset, length, start });
            (offset, expected) = (offset + length, Some(start + length as u64));
        }
    }
    frames
}

/// Opens copies of the disk in which one bit is not what it was.
pub fn flip_bits(
    shared: &Shared,
    knobs: &LifeKnobs,
    disk: &MemoryFileSystem,
    random: &mut Random,
) -> Result<(), String> {
    // A start would fail, whatever the bits are.
    if disk.has_untold_failure() {
        return Ok(());
    }
    let Some(first) = first_position(knobs, disk)? else { return Ok(()) };
    let reported = held(&shared.known).reported;
    let frames = frames(disk);
    let durable: Vec<&Frame> = frames
        .iter()
        .filter(|frame| frame.start >= first && frame.start + frame.length as u64 <= reported.0)
        .collect();
    for _ in 0..3 {
        let Some(frame) = random.pick(&durable) else { return Ok(()) };
        let bit = random.below(frame.length as u64 * 8) as usize;
        let copy = disk.crash_point().kill();
        copy.damage(&frame.path, |bytes| bytes[frame.offset + bit / 8] ^= 1 << (bit % 8));
        check(shared, knobs, &copy, frame)?;
    }
    Ok(())
}

fn open(knobs: &LifeKnobs, disk: &MemoryFileSystem, found: &mut Found) -> Result<u64, LogError> {
    let mut options = knobs.options(disk, Durability::Disk);
    options.spawn_threads = false;
    let recovery = Log::open(Path::new(DIRECTORY), options)?;
    let (_, report) = recovery.replay(LogHooks::none(), |record| found.record(record))?;
    found.end();
    Ok(report.first_lsn.0)
}

/// Where the log begins; `None` if the disk has no log yet.
fn first_position(knobs: &LifeKnobs, disk: &MemoryFileSystem) -> Result<Option<u64>, String> {
    if disk.paths().iter().all(|path| !path.ends_with("MANIFEST")) {
        return Ok(None);
    }
    let first = open(knobs, &disk.crash_point().kill(), &mut Found::default());
    first.map(Some).map_err(|error| format!("the log does not start: {error}"))
}

fn check(shared: &Shared, knobs: &LifeKnobs, disk: &MemoryFileSystem, frame: &Frame) -> Result<(), String> {
    let end = Lsn(frame.start + frame.length as u64);
    let (start, must_be_known) = (frame.start, held(&shared.known).knows_durable(end));
    let mut found = Found::default();
    match open(knobs, disk, &mut found) {
        Err(LogError::Corrupt { .. }) => {
            shared.see(Sight::LogRotRefused);
            Ok(())
        }
        Err(error) => Err(format!("a flipped bit at {start} is reported as {error}")),
        Ok(_) if must_be_known => Err(format!(
            "a flipped bit in the durable frame at {start} is taken for a torn write: {:?} at {}",
            frame.path, frame.offset
        )),
        // Nothing behind the frame shows that it was durable: it may be cut, with whatever follows it.
        Ok(_) => {
            shared.see(Sight::LogRotInLastFrame);
            held(&shared.known).check(&found, 0).map(|_| ())
        }
    }
}
