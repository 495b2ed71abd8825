//! Reading a checkpoint: every byte is verified before it is believed, and no length is taken beyond
//! the file and the limits.

use std::path::{Path, PathBuf};

use super::{
    BLOCK_HEADER_BYTES, BLOCK_LIMIT_BYTES, BLOCK_MAGIC, COMPRESSED, CheckpointNumber, FOOTER_BYTES, FOOTER_MAGIC,
    FORMAT_VERSION, HEADER_BYTES, MAGIC, METADATA_LIMIT_BYTES, block_crc,
};
use crate::error::{IoContext, LogError};
use crate::file_system::{FileSystem, OpenMode, StorageFile, read_full};
use crate::format::{u32_at, u64_at};

const READ_BYTES: usize = 1 << 20;

/// A checkpoint that is being read, block by block. Only when [`CheckpointReader::next_block`] has
/// returned `None` is it known that nothing is missing.
#[derive(Debug)]
pub struct CheckpointReader {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    file_bytes: u64,
    group: u64,
    number: CheckpointNumber,
    metadata: Vec<u8>,
    may_compress: bool,
    footer: Footer,
    /// The part of the file in memory, from `window_start` on.
    window: Vec<u8>,
    window_start: u64,
    offset: u64,
    blocks: u64,
    content_bytes: u64,
    crc: u32,
    block: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Footer {
    blocks: u64,
    content_bytes: u64,
    crc: u32,
}

impl CheckpointReader {
    /// Opens a file and verifies its header and footer.
    ///
    /// # Errors
    /// `Corrupt` with the offset, `UnsupportedVersion`, `Io`.
    pub fn open(file_system: &dyn FileSystem, path: &Path) -> Result<CheckpointReader, LogError> {
        let file = file_system.open(path, OpenMode::Read).context("open", path)?;
        let file_bytes = file.length().context("read the length of", path)?;
        let mut header = [0; HEADER_BYTES];
        let length = read_full(file.as_ref(), 0, &mut header).context("read", path)?;
        let damaged = |detail: &str| LogError::corrupt(path, 0, detail);
        let bytes = &header[..length];
        if !bytes.starts_with(MAGIC) {
            return Err(damaged("this is not a checkpoint"));
        }
        let short = || damaged("the file is shorter than its header");
        let version = u32_at(bytes, 8).ok_or_else(short)?;
        if version != FORMAT_VERSION {
            return Err(LogError::UnsupportedVersion {
                file: path.to_path_buf(),
                found: version,
                supported: FORMAT_VERSION,
            });
        }
        let metadata_bytes = u32_at(bytes, 36).ok_or_else(short)? as usize;
        let content_start = (HEADER_BYTES + metadata_bytes) as u64;
        if metadata_bytes > METADATA_LIMIT_BYTES || content_start > file_bytes {
            return Err(damaged("the metadata is longer than it can be"));
        }
        let mut whole = vec![0; HEADER_BYTES + metadata_bytes];
        let length = read_full(file.as_ref(), 0, &mut whole).context("read", path)?;
        if length < whole.len() || u32_at(&whole, 12) != Some(crate::format::header_crc(&whole)) {
            return Err(damaged("the checksum of the header does not match"));
        }
        let footer = read_footer(file.as_ref(), path, file_bytes, content_start)?;
        Ok(CheckpointReader {
            path: path.to_path_buf(),
            file,
            file_bytes,
            group: u64_at(&whole, 16).ok_or_else(short)?,
            number: CheckpointNumber(u64_at(&whole, 24).ok_or_else(short)?),
            may_compress: u32_at(&whole, 32).ok_or_else(short)? & COMPRESSED != 0,
            footer,
            window: Vec::new(),
            window_start: 0,
            offset: content_start,
            blocks: 0,
            content_bytes: 0,
            crc: crc32c::crc32c(&whole),
            metadata: whole.split_off(HEADER_BYTES),
            block: Vec::new(),
        })
    }

    /// The group that the checkpoint is of.
    pub fn group(&self) -> u64 {
        self.group
    }

    /// The number of the checkpoint.
    pub fn number(&self) -> CheckpointNumber {
        self.number
    }

    /// What the caller had written at its head.
    pub fn metadata(&self) -> &[u8] {
        &self.metadata
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's length.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The number of blocks and the sum of their lengths, as the footer states them.
    pub fn totals(&self) -> (u64, u64) {
        (self.footer.blocks, self.footer.content_bytes)
    }

    /// The next block, or `None` when all blocks have been read and the whole file is verified.
    ///
    /// # Errors
    /// `Corrupt` with the offset of the block that is damaged.
    pub fn next_block(&mut self) -> Result<Option<&[u8]>, LogError> {
        if self.offset + FOOTER_BYTES as u64 >= self.file_bytes {
            self.check_totals()?;
            return Ok(None);
        }
        let start = self.offset;
        let header = self.take(BLOCK_HEADER_BYTES, start)?;
        let bytes = &self.window[header..header + BLOCK_HEADER_BYTES];
        let lengths: [u8; 8] =
            [bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]];
        let (crc, length, stored) = match (u32_at(bytes, 4), u32_at(bytes, 8), u32_at(bytes, 12)) {
            (Some(crc), Some(length), Some(stored)) if bytes.starts_with(&BLOCK_MAGIC) => {
                (crc, length as usize, stored as usize)
            }
            _ => return Err(self.damaged(start, "no block begins here")),
        };
        let compressed = stored < length;
        let plausible = length > 0
            && stored > 0
            && stored <= length
            && length <= BLOCK_LIMIT_BYTES
            && (self.may_compress || !compressed);
        if !plausible {
            return Err(self.damaged(start, "the block has an impossible length"));
        }
        let at = self.take(stored, start)?;
        let body = &self.window[at..at + stored];
        if block_crc(self.group, self.number, self.blocks, &lengths, body) != crc {
            return Err(self.damaged(start, "the checksum of the block does not match"));
        }
        self.blocks += 1;
        self.content_bytes += length as u64;
        if !compressed {
            return Ok(Some(&self.window[at..at + stored]));
        }
        self.block.resize(length, 0);
        match lz4_flex::block::decompress_into(body, &mut self.block) {
            Ok(count) if count == length => Ok(Some(&self.block)),
            _ => Err(self.damaged(start, "the block cannot be decompressed")),
        }
    }

    /// Reads `count` bytes at the present offset; returns where they are in the window.
    fn take(&mut self, count: usize, block_start: u64) -> Result<usize, LogError> {
        let end = self.offset + count as u64;
        if end > self.file_bytes - FOOTER_BYTES as u64 {
            return Err(self.damaged(block_start, "the block is longer than the file"));
        }
        if end > self.window_start + self.window.len() as u64 || self.offset < self.window_start {
            let rest = self.file_bytes - self.offset;
            let wanted = rest.min(READ_BYTES.max(count) as u64) as usize;
            self.window.resize(wanted, 0);
            self.window_start = self.offset;
            let read = read_full(self.file.as_ref(), self.offset, &mut self.window).context("read", &self.path)?;
            self.window.truncate(read);
            if read < count {
                return Err(self.damaged(block_start, "the file became shorter"));
            }
        }
        let at = (self.offset - self.window_start) as usize;
        self.crc = crc32c::crc32c_append(self.crc, &self.window[at..at + count]);
        self.offset = end;
        Ok(at)
    }

    fn check_totals(&self) -> Result<(), LogError> {
        let footer = self.footer;
        let found = (self.blocks, self.content_bytes, self.crc);
        if found != (footer.blocks, footer.content_bytes, footer.crc) {
            return Err(self.damaged(self.offset, "the footer belongs to other blocks"));
        }
        Ok(())
    }

    fn damaged(&self, offset: u64, detail: &str) -> LogError {
        LogError::corrupt(&self.path, offset, detail)
    }
}

fn read_footer(
    file: &dyn StorageFile,
    path: &Path,
    file_bytes: u64,
    content_start: u64,
) -> Result<Footer, LogError> {
    let start = file_bytes
        .checked_sub(FOOTER_BYTES as u64)
        .filter(|start| *start >= content_start)
        .ok_or_else(|| LogError::corrupt(path, file_bytes, "the footer is missing"))?;
    let mut bytes = [0; FOOTER_BYTES];
    let length = read_full(file, start, &mut bytes).context("read", path)?;
    let valid = length == FOOTER_BYTES
        && bytes.starts_with(&FOOTER_MAGIC)
        && u32_at(&bytes, 4) == Some(crc32c::crc32c(&bytes[8..]));
    match (u64_at(&bytes, 8), u64_at(&bytes, 16), u32_at(&bytes, 24)) {
        (Some(blocks), Some(content_bytes), Some(crc)) if valid => Ok(Footer { blocks, content_bytes, crc }),
        _ => Err(LogError::corrupt(path, start, "the footer is damaged")),
    }
}
