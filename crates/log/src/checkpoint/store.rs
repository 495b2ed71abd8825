//! The directory of the checkpoints of all groups.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    CheckpointNumber, CheckpointOptions, CheckpointReader, CheckpointWriter, SUFFIX, TEMPORARY_SUFFIX, file_name,
    parse_file_name,
};
use crate::error::{IoContext, LogError};
use crate::file_system::FileSystem;

/// A directory with checkpoint files.
#[derive(Debug, Clone)]
pub struct CheckpointStore {
    file_system: Arc<dyn FileSystem>,
    directory: PathBuf,
}

/// The newest checkpoint of a group that has a valid header and footer.
#[derive(Debug)]
pub struct LatestCheckpoint {
    /// Stands at its first block.
    pub reader: CheckpointReader,
    /// Newer ones that are damaged. The log may have been cut behind them: the caller has to check that
    /// the log goes on where this checkpoint ends.
    pub damaged: Vec<LogError>,
}

impl CheckpointStore {
    /// Opens (or creates) the directory and removes what an interrupted checkpoint left behind.
    pub fn open(file_system: Arc<dyn FileSystem>, directory: &Path) -> Result<CheckpointStore, LogError> {
        file_system.create_directory(directory).context("create", directory)?;
        if let Some(parent) = directory.parent()
            && !parent.as_os_str().is_empty()
        {
            file_system.sync_directory(parent).context("sync", parent)?;
        }
        for name in file_system.list(directory).context("list", directory)? {
            if name.ends_with(TEMPORARY_SUFFIX) {
                let path = directory.join(name);
                file_system.remove(&path).context("remove", &path)?;
            }
        }
        // Checkpoints that the process before this one has finished and not synced the name of are built on from now on.
        file_system.sync_directory(directory).context("sync", directory)?;
        Ok(CheckpointStore { file_system, directory: directory.to_path_buf() })
    }

    /// Begins a checkpoint that is newer than all of its group, those under way included: of several the one that was begun
    /// last is the newest once it is finished. Callers begin one at a time.
    pub fn create(
        &self,
        group: u64,
        metadata: &[u8],
        options: CheckpointOptions,
    ) -> Result<CheckpointWriter, LogError> {
        let names = self.file_system.list(&self.directory).context("list", &self.directory)?;
        let number_of = |name: &String| match name.strip_suffix(TEMPORARY_SUFFIX) {
            Some(begun) => parse_file_name(&format!("{begun}{SUFFIX}")),
            None => parse_file_name(name),
        };
        let of_group = names.iter().filter_map(number_of).filter(|(of, _)| *of == group);
        let newest = of_group.map(|(_, number)| number.0).max().unwrap_or(0);
        CheckpointWriter::create(
            Arc::clone(&self.file_system),
            self.directory.clone(),
            group,
            CheckpointNumber(newest + 1),
            metadata,
            options,
        )
    }

    /// Opens one checkpoint.
    pub fn read(&self, group: u64, number: CheckpointNumber) -> Result<CheckpointReader, LogError> {
        let path = self.path(group, number);
        let reader = CheckpointReader::open(self.file_system.as_ref(), &path)?;
        if (reader.group(), reader.number()) != (group, number) {
            let detail = "its header belongs to another checkpoint";
            return Err(LogError::corrupt(&path, 0, detail));
        }
        Ok(reader)
    }

    /// Opens the newest checkpoint whose header and footer are valid; `None` if the group has none.
    ///
    /// # Errors
    /// When there are checkpoints and all are damaged: the error of the newest.
    pub fn latest(&self, group: u64) -> Result<Option<LatestCheckpoint>, LogError> {
        let mut damaged = Vec::new();
        for number in self.numbers(group)?.into_iter().rev() {
            match self.read(group, number) {
                Ok(reader) => return Ok(Some(LatestCheckpoint { reader, damaged })),
                Err(error @ LogError::Corrupt { .. }) => damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        match damaged.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// The groups that have checkpoints, in order.
    pub fn groups(&self) -> Result<Vec<u64>, LogError> {
        let mut groups: Vec<u64> = self.files()?.into_iter().map(|(group, _)| group).collect();
        groups.sort_unstable();
        groups.dedup();
        Ok(groups)
    }

    /// The checkpoints of a group, the oldest first.
    pub fn numbers(&self, group: u64) -> Result<Vec<CheckpointNumber>, LogError> {
        let mut numbers: Vec<CheckpointNumber> =
            self.files()?.into_iter().filter(|(of, _)| *of == group).map(|(_, number)| number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Removes the checkpoints of a group that are older than `number`, which must be finished.
    pub fn remove_older(&self, group: u64, number: CheckpointNumber) -> Result<(), LogError> {
        let numbers = self.numbers(group)?;
        if !numbers.contains(&number) {
            return Ok(());
        }
        self.remove_all(group, numbers.into_iter().filter(|older| *older < number))
    }

    /// Removes all checkpoints of a group that no longer exists here.
    pub fn remove_group(&self, group: u64) -> Result<(), LogError> {
        let numbers = self.numbers(group)?;
        self.remove_all(group, numbers.into_iter())
    }

    fn remove_all(&self, group: u64, numbers: impl Iterator<Item = CheckpointNumber>) -> Result<(), LogError> {
        for number in numbers {
            let path = self.path(group, number);
            self.file_system.remove(&path).context("remove", &path)?;
        }
        self.file_system.sync_directory(&self.directory).context("sync", &self.directory)
    }

    fn files(&self) -> Result<Vec<(u64, CheckpointNumber)>, LogError> {
        let names = self.file_system.list(&self.directory).context("list", &self.directory)?;
        Ok(names.iter().filter_map(|name| parse_file_name(name)).collect())
    }

    fn path(&self, group: u64, number: CheckpointNumber) -> PathBuf {
        self.directory.join(file_name(group, number, SUFFIX))
    }
}
