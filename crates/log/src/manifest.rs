//! MANIFEST: which log this is, where it begins, and how far it goes at least.
//!
//! The last frame of a log has none behind it that says that it was durable, so its damage looks like a flush that was torn. When
//! a log is closed its end is noted here, and a log that ends earlier is damaged. It is noted too when the log is cut. After a
//! crash only what was durable by then is protected so.
//!
//! It exists to tell "these old segments were cut on purpose" from "someone removed a segment". Cutting
//! the log writes it before any file goes. It is written in place, into two slots by turns, so that the
//! log can be cut, and space be won, on a disk without a free byte; a torn slot leaves the other one.
//!
//! File `MANIFEST`: two slots of 4096 bytes, of which 64 are used. Little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic `SHOALMAN` |
//! | 8..12 | format version (2) |
//! | 12..16 | crc32c of bytes 0..12 and 16..64 |
//! | 16..24 | log id |
//! | 24..32 | generation: the slot with the larger one counts |
//! | 32..40 | sequence number of the first segment |
//! | 40..48 | LSN at which the first segment begins |
//! | 48..56 | LSN up to which the log was durable when this was written; 0 in older files |
//! | 56..64 | zero |

use std::path::{Path, PathBuf};

use crate::error::{IoContext, LogError};
use crate::file_system::{FileSystem, OpenMode, StorageFile, read_full};
use crate::format::{FORMAT_VERSION, Lsn, SegmentSequence, header_crc, u32_at, u64_at};

pub(crate) const MANIFEST_NAME: &str = "MANIFEST";
const TEMPORARY_NAME: &str = "MANIFEST.tmp";
const MAGIC: &[u8; 8] = b"SHOALMAN";
const SLOT_BYTES: usize = 4096;
const USED_BYTES: usize = 64;

/// What the manifest says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ManifestContent {
    pub log_id: u64,
    pub generation: u64,
    pub first_segment: SegmentSequence,
    pub first_lsn: Lsn,
    /// The log goes as far as this at least.
    pub durable: Lsn,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Manifest {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    pub content: ManifestContent,
}

impl Manifest {
    /// Writes the manifest of a log whose first segment is already durable.
    pub fn create(file_system: &dyn FileSystem, directory: &Path, log_id: u64) -> Result<Manifest, LogError> {
        let (first_segment, first_lsn) = (SegmentSequence(1), Lsn::ZERO);
        let content = ManifestContent { log_id, generation: 1, first_segment, first_lsn, durable: Lsn::ZERO };
        let temporary = directory.join(TEMPORARY_NAME);
        let path = directory.join(MANIFEST_NAME);
        let file = file_system.open(&temporary, OpenMode::Create).context("create", &temporary)?;
        file.write_at(0, &vec![0; 2 * SLOT_BYTES]).context("write", &temporary)?;
        let mut manifest = Manifest { path: temporary.clone(), file, content };
        manifest.write_slot(&content)?;
        file_system.rename(&temporary, &path).context("rename", &temporary)?;
        file_system.sync_directory(directory).context("sync", directory)?;
        manifest.path = path;
        Ok(manifest)
    }

    /// Opens the manifest; `None` if there is none.
    pub fn open(file_system: &dyn FileSystem, directory: &Path) -> Result<Option<Manifest>, LogError> {
        let path = directory.join(MANIFEST_NAME);
        let file = match file_system.open(&path, OpenMode::ReadWrite) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LogError::io("open", &path, error)),
        };
        let mut bytes = vec![0; 2 * SLOT_BYTES];
        let length = read_full(file.as_ref(), 0, &mut bytes).context("read", &path)?;
        bytes.truncate(length);
        let slots = [decode_slot(&bytes, 0), decode_slot(&bytes, SLOT_BYTES)];
        for slot in &slots {
            if let Err(SlotFault::Version(found)) = slot {
                return Err(LogError::UnsupportedVersion { file: path, found: *found, supported: FORMAT_VERSION });
            }
        }
        let newest = slots.into_iter().filter_map(Result::ok).max_by_key(|content| content.generation);
        match newest {
            Some(content) => Ok(Some(Manifest { path, file, content })),
            None => Err(LogError::corrupt(&path, 0, "neither of its slots is valid")),
        }
    }

    /// Moves the beginning of the log, durably. `durable`: it is on the medium up to here.
    pub fn advance(
        &mut self,
        first_segment: SegmentSequence,
        first_lsn: Lsn,
        durable: Lsn,
    ) -> Result<(), LogError> {
        let durable = self.content.durable.max(durable);
        self.write(ManifestContent { first_segment, first_lsn, durable, ..self.content })
    }

    /// Notes, durably, that the log is on the medium up to here.
    pub fn note_durable(&mut self, durable: Lsn) -> Result<(), LogError> {
        if durable <= self.content.durable {
            return Ok(());
        }
        self.write(ManifestContent { durable, ..self.content })
    }

    /// Makes what the manifest says durable. If the process before this one died when it could not, only the operating system's
    /// memory has it; and what lies before the beginning of the log is about to go.
    pub fn make_durable(&mut self) -> Result<(), LogError> {
        self.write(self.content)
    }

    /// Writes the next generation. What could not be written is not what the manifest says.
    fn write(&mut self, content: ManifestContent) -> Result<(), LogError> {
        let content = ManifestContent { generation: self.content.generation + 1, ..content };
        self.write_slot(&content)?;
        self.content = content;
        Ok(())
    }

    fn write_slot(&self, content: &ManifestContent) -> Result<(), LogError> {
        let mut bytes = [0; USED_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&content.log_id.to_le_bytes());
        bytes[24..32].copy_from_slice(&content.generation.to_le_bytes());
        bytes[32..40].copy_from_slice(&content.first_segment.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&content.first_lsn.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&content.durable.0.to_le_bytes());
        let crc = header_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        let slot = content.generation % 2;
        self.file.write_at(slot * SLOT_BYTES as u64, &bytes).context("write", &self.path)?;
        self.file.sync_data().context("sync", &self.path)
    }
}

enum SlotFault {
    Damaged,
    Version(u32),
}

fn decode_slot(bytes: &[u8], at: usize) -> Result<ManifestContent, SlotFault> {
    let slot = bytes.get(at..at + USED_BYTES).ok_or(SlotFault::Damaged)?;
    if &slot[..8] != MAGIC || u32_at(slot, 12) != Some(header_crc(slot)) {
        return Err(SlotFault::Damaged);
    }
    match u32_at(slot, 8) {
        Some(FORMAT_VERSION) => {}
        version => return Err(SlotFault::Version(version.unwrap_or(0))),
    }
    let number = |at| u64_at(slot, at).ok_or(SlotFault::Damaged);
    Ok(ManifestContent {
        log_id: number(16)?,
        generation: number(24)?,
        first_segment: SegmentSequence(number(32)?),
        first_lsn: Lsn(number(40)?),
        durable: Lsn(number(48)?),
    })
}
