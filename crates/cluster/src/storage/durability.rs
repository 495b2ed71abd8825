//! When commits are acknowledged, and what the data directory says of that.

use std::sync::MutexGuard;

use shoal_types::Result;

use crate::base::errors::log_error;
use crate::base::options::Durability;
use crate::base::wait::lock;
use crate::storage::Storage;
use crate::storage::identity::Identity;

impl Storage {
    /// When commits are acknowledged from now on. The directory says durably that acknowledgements come from memory before the
    /// first one does, and no longer when everything that was acknowledged so is on the disk.
    ///
    /// # Errors
    /// The directory or the log cannot be written; a node that acknowledges from memory already goes on so.
    pub fn set_durability(&self, durability: Durability) -> Result<()> {
        let mut identity = lock(&self.identity);
        if durability == Durability::Replicated {
            if let Some(identity) = identity.as_mut()
                && identity.promises.acknowledge_from_memory()
            {
                identity.write()?;
            }
            self.log.set_durability(durability);
            return Ok(());
        }
        {
            // Whoever appends decides under this lock whether that is acknowledged from memory.
            let _sequencer = lock(&self.sequencer);
            self.log.set_durability(durability);
        }
        self.log.sync().map_err(log_error)?;
        match &mut *identity {
            Some(identity) => match identity.promises.acknowledge_from_disk(self.is_whole()) {
                true => identity.write(),
                false => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// No replica here lacks what an earlier process has promised.
    fn is_whole(&self) -> bool {
        self.hosted().all(|partition| {
            let guard = self.partition(partition);
            guard.is_single() || !guard.is_amnesiac()
        })
    }

    /// A replica here is to give up its log: the directory says durably that promises are lost. While the guard is held nobody notes that all
    /// replicas are whole.
    ///
    /// # Errors
    /// The directory cannot be written; the log must not be given up.
    pub(crate) fn begin_to_give_up_log(&self) -> Result<MutexGuard<'_, Option<Identity>>> {
        let mut guard = lock(&self.identity);
        if let Some(identity) = guard.as_mut()
            && identity.promises.give_up_log()
        {
            identity.write()?;
        }
        Ok(guard)
    }

    /// The replicas have caught up with whatever an earlier process has promised, or one has given up its log: false.
    pub(crate) fn note_whole(&self) -> Result<bool> {
        let mut identity = lock(&self.identity);
        if !self.is_whole() {
            return Ok(false);
        }
        let Some(identity) = &mut *identity else { return Ok(true) };
        // Under this lock the log is not between two modes: in `disk` all that was acknowledged is on the disk.
        if identity.promises.note_whole(self.log.durability() == Durability::Replicated) {
            identity.write()?;
        }
        Ok(true)
    }

    /// The directory's process ends in good order.
    pub(crate) fn close_directory(&self) -> Result<()> {
        self.log.close().map_err(log_error)?;
        let is_whole = self.is_whole();
        match &mut *lock(&self.identity) {
            Some(identity) => {
                identity.promises.end_process(is_whole);
                identity.write()
            }
            None => Ok(()),
        }
    }
}
