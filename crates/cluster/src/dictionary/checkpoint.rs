//! The dictionary's checkpoint.

use std::sync::atomic::Ordering;

use prost::Message;
use shoal_log::Lsn;
use shoal_types::Result;

use crate::base::errors::log_error;
use crate::dictionary::Dictionary;
use crate::dictionary::stored::StoredDictionary;
use crate::storage::records::META_GROUP;

const BLOCK_BYTES: usize = 64 << 10;

impl Dictionary {
    /// Nothing before the position that this yields is needed for the dictionary any more.
    pub(crate) fn checkpoint_dictionary(&self) -> Result<Lsn> {
        let low_water = self.completed_lsn();
        // The catalog is published before its index: an index that is too small only has changes made twice.
        let index = self.catalog_index.load(Ordering::Acquire);
        let catalog = self.catalog();
        let next_table_id = self.next_table_id.load(Ordering::Relaxed);
        let stored = StoredDictionary::of(&catalog, self.router(), next_table_id, index);
        let mut writer =
            self.checkpoints().create(META_GROUP, &[], self.checkpoint_options()).map_err(log_error)?;
        for block in stored.encode_to_vec().chunks(BLOCK_BYTES) {
            writer.append(block).map_err(log_error)?;
        }
        self.log().sync().map_err(log_error)?;
        let finished = writer.finish().map_err(log_error)?;
        self.checkpoints().remove_older(META_GROUP, finished.number).map_err(log_error)?;
        Ok(low_water)
    }
}
