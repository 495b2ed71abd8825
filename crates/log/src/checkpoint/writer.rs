//! Writing a checkpoint.

use std::path::PathBuf;
use std::sync::Arc;

use super::{
    BLOCK_HEADER_BYTES, BLOCK_LIMIT_BYTES, BLOCK_MAGIC, COMPRESSED, CheckpointNumber, FOOTER_MAGIC,
    FORMAT_VERSION, HEADER_BYTES, MAGIC, METADATA_LIMIT_BYTES, SUFFIX, TEMPORARY_SUFFIX, Throttle, block_crc,
    file_name,
};
use crate::error::{IoContext, LogError};
use crate::file_system::{FileSystem, OpenMode, StorageFile};

/// Blocks gather in memory up to this before they are written.
const WRITE_BYTES: usize = 256 << 10;
/// A sync after so many bytes, so that no single one has a whole checkpoint to write.
const SYNC_BYTES: u64 = 8 << 20;

/// How a checkpoint is written.
#[derive(Default)]
pub struct CheckpointOptions {
    /// Compress blocks with LZ4 where that makes them smaller.
    pub compress: bool,
    /// What slows the writing down.
    pub throttle: Option<Box<dyn Throttle>>,
}

/// A checkpoint that is complete and durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedCheckpoint {
    /// Where the file is.
    pub path: PathBuf,
    /// Its number among those of its group.
    pub number: CheckpointNumber,
    /// How many it has.
    pub blocks: u64,
    /// The sum of the blocks' lengths, uncompressed.
    pub content_bytes: u64,
    /// The file's length.
    pub file_bytes: u64,
}

/// A checkpoint that is being written. Dropped before [`CheckpointWriter::finish`] it leaves nothing.
pub struct CheckpointWriter {
    file_system: Arc<dyn FileSystem>,
    directory: PathBuf,
    temporary: PathBuf,
    file: Box<dyn StorageFile>,
    options: CheckpointOptions,
    group: u64,
    number: CheckpointNumber,
    buffer: Vec<u8>,
    compressed: Vec<u8>,
    written: u64,
    synced: u64,
    blocks: u64,
    content_bytes: u64,
    /// Of everything that has left the buffer.
    crc: u32,
    finished: bool,
}

impl CheckpointWriter {
    pub(super) fn create(
        file_system: Arc<dyn FileSystem>,
        directory: PathBuf,
        group: u64,
        number: CheckpointNumber,
        metadata: &[u8],
        options: CheckpointOptions,
    ) -> Result<CheckpointWriter, LogError> {
        check_size(metadata.len(), METADATA_LIMIT_BYTES)?;
        let temporary = directory.join(file_name(group, number, TEMPORARY_SUFFIX));
        let file = file_system.open(&temporary, OpenMode::Create).context("create", &temporary)?;
        let flags = if options.compress { COMPRESSED } else { 0 };
        let mut buffer = Vec::with_capacity(HEADER_BYTES + metadata.len());
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&group.to_le_bytes());
        buffer.extend_from_slice(&number.0.to_le_bytes());
        buffer.extend_from_slice(&flags.to_le_bytes());
        buffer.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
        buffer.extend_from_slice(metadata);
        let crc = crate::format::header_crc(&buffer);
        buffer[12..16].copy_from_slice(&crc.to_le_bytes());
        Ok(CheckpointWriter {
            file_system,
            directory,
            temporary,
            file,
            options,
            group,
            number,
            buffer,
            compressed: Vec::new(),
            written: 0,
            synced: 0,
            blocks: 0,
            content_bytes: 0,
            crc: 0,
            finished: false,
        })
    }

    /// The number that this checkpoint will have.
    pub fn number(&self) -> CheckpointNumber {
        self.number
    }

    /// Appends one block of at most [`BLOCK_LIMIT_BYTES`]; an empty one leaves no trace. Blocks of some
    /// 64 KiB are a good size.
    ///
    /// # Errors
    /// `BlockTooLarge`, or `Io` from the disk: then drop the writer, the older checkpoint still counts.
    pub fn append(&mut self, block: &[u8]) -> Result<(), LogError> {
        check_size(block.len(), BLOCK_LIMIT_BYTES)?;
        if block.is_empty() {
            return Ok(());
        }
        let stored = match self.options.compress {
            true => compress(block, &mut self.compressed),
            false => block,
        };
        let mut lengths = [0; 8];
        lengths[..4].copy_from_slice(&(block.len() as u32).to_le_bytes());
        lengths[4..].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        let crc = block_crc(self.group, self.number, self.blocks, &lengths, stored);
        self.buffer.reserve(BLOCK_HEADER_BYTES + stored.len());
        self.buffer.extend_from_slice(&BLOCK_MAGIC);
        self.buffer.extend_from_slice(&crc.to_le_bytes());
        self.buffer.extend_from_slice(&lengths);
        self.buffer.extend_from_slice(stored);
        self.blocks += 1;
        self.content_bytes += block.len() as u64;
        match self.buffer.len() >= WRITE_BYTES {
            true => self.write_buffer(),
            false => Ok(()),
        }
    }

    fn write_buffer(&mut self) -> Result<(), LogError> {
        self.file.write_at(self.written, &self.buffer).context("write", &self.temporary)?;
        self.crc = crc32c::crc32c_append(self.crc, &self.buffer);
        let bytes = self.buffer.len() as u64;
        self.written += bytes;
        self.buffer.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync_data().context("sync", &self.temporary)?;
            self.synced = self.written;
        }
        if let Some(throttle) = &mut self.options.throttle {
            throttle.written(bytes);
        }
        Ok(())
    }

    /// Completes the file, makes it durable and gives it its name.
    pub fn finish(mut self) -> Result<FinishedCheckpoint, LogError> {
        if !self.buffer.is_empty() {
            self.write_buffer()?;
        }
        let mut body = [0; 24];
        body[..8].copy_from_slice(&self.blocks.to_le_bytes());
        body[8..16].copy_from_slice(&self.content_bytes.to_le_bytes());
        body[16..20].copy_from_slice(&self.crc.to_le_bytes());
        self.buffer.extend_from_slice(&FOOTER_MAGIC);
        self.buffer.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        self.buffer.extend_from_slice(&body);
        self.write_buffer()?;
        self.file.sync_data().context("sync", &self.temporary)?;
        let path = self.directory.join(file_name(self.group, self.number, SUFFIX));
        self.file_system.rename(&self.temporary, &path).context("rename", &self.temporary)?;
        self.finished = true;
        self.file_system.sync_directory(&self.directory).context("sync", &self.directory)?;
        Ok(FinishedCheckpoint {
            path,
            number: self.number,
            blocks: self.blocks,
            content_bytes: self.content_bytes,
            file_bytes: self.written,
        })
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed now is removed when the store is opened.
            let _ = self.file_system.remove(&self.temporary);
        }
    }
}

/// The compressed form if it is smaller, else the block itself.
fn compress<'a>(block: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.resize(lz4_flex::block::get_maximum_output_size(block.len()), 0);
    match lz4_flex::block::compress_into(block, buffer) {
        Ok(length) if length < block.len() => &buffer[..length],
        _ => block,
    }
}

fn check_size(bytes: usize, limit: usize) -> Result<(), LogError> {
    match bytes > limit {
        true => Err(LogError::BlockTooLarge { bytes: bytes as u64, limit: limit as u64 }),
        false => Ok(()),
    }
}
