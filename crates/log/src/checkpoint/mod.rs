//! Checkpoint files: all of one group's state, in checksummed blocks, under a name that appears only when
//! the file is complete and durable.
//!
//! A checkpoint is written while the node works, read at start-up, sent to other nodes and kept as a
//! backup. This module knows blocks of bytes; what they mean is the caller's business.
//!
//! **File** `<group, 16 hex digits>-<number, 16 hex digits>.checkpoint`, little-endian; while it is being
//! written its name ends in `.tmp`. The newest of a group is the one with the largest number.
//!
//! | part | bytes | what |
//! |---|---|---|
//! | header | 0..8 | magic `SHOALCKP` |
//! | | 8..12 | format version (1) |
//! | | 12..16 | crc32c of bytes 0..12, bytes 16..40 and the metadata |
//! | | 16..24 | group |
//! | | 24..32 | number |
//! | | 32..36 | flags: 1 = blocks may be compressed |
//! | | 36..40 | length of the metadata |
//! | | 40.. | metadata |
//! | block | 0..4 | magic `SHCB` |
//! | | 4..8 | crc32c of group, number and block number (8 bytes each), bytes 8..16 and the stored bytes |
//! | | 8..12 | length of the block, never 0 |
//! | | 12..16 | length as stored; smaller if and only if LZ4-compressed |
//! | | 16.. | stored bytes |
//! | footer | 0..4 | magic `SHCF` |
//! | | 4..8 | crc32c of bytes 8..32 |
//! | | 8..16 | number of blocks |
//! | | 16..24 | sum of the lengths of the blocks |
//! | | 24..28 | crc32c of the whole file before the footer |
//! | | 28..32 | zero |
//!
//! Invariants: a file without `.tmp` is complete and durable, so any fault in it is damage and never the
//! trace of a crash. Older checkpoints go only on request, which is made when a newer one is finished.

mod reader;
mod store;
#[cfg(test)]
mod tests;
mod throttle;
mod writer;

pub use reader::CheckpointReader;
pub use store::{CheckpointStore, LatestCheckpoint};
pub use throttle::{BytesPerSecond, Throttle};
pub use writer::{CheckpointOptions, CheckpointWriter, FinishedCheckpoint};

/// The number of a checkpoint within its group; newer ones have larger numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointNumber(pub u64);

/// The largest block: a reader allocates no more than this for one.
pub const BLOCK_LIMIT_BYTES: usize = 16 << 20;
/// The largest metadata.
pub const METADATA_LIMIT_BYTES: usize = 16 << 20;

const MAGIC: &[u8; 8] = b"SHOALCKP";
const BLOCK_MAGIC: [u8; 4] = *b"SHCB";
const FOOTER_MAGIC: [u8; 4] = *b"SHCF";
const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: usize = 40;
const BLOCK_HEADER_BYTES: usize = 16;
const FOOTER_BYTES: usize = 32;
const COMPRESSED: u32 = 1;
const SUFFIX: &str = ".checkpoint";
const TEMPORARY_SUFFIX: &str = ".checkpoint.tmp";

fn file_name(group: u64, number: CheckpointNumber, suffix: &str) -> String {
    format!("{group:016x}-{:016x}{suffix}", number.0)
}

fn parse_file_name(name: &str) -> Option<(u64, CheckpointNumber)> {
    let (group, number) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let group = u64::from_str_radix(group, 16).ok()?;
    let number = CheckpointNumber(u64::from_str_radix(number, 16).ok()?);
    (file_name(group, number, SUFFIX) == name).then_some((group, number))
}

fn block_crc(group: u64, number: CheckpointNumber, block: u64, lengths: &[u8], stored: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&group.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &number.0.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &block.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, lengths);
    crc32c::crc32c_append(crc, stored)
}
