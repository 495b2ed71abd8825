//! The dictionary of a process that is the whole database, as its checkpoint and its log have it.

use prost::Message;
use shoal_log::RecordRef;
use shoal_log::checkpoint::CheckpointStore;
use shoal_types::{Error, Result};

use crate::base::errors::log_error;
use crate::base::router::Router;
use crate::dictionary::catalog::{Catalog, Change};
use crate::dictionary::stored::{StoredChanges, StoredDictionary, StoredMap, apply_sequence_record};
use crate::storage::records::{KIND_CHANGES, KIND_MAP, KIND_SEQUENCE, META_GROUP};

/// What this thread learns of the dictionary.
pub(crate) struct DictionaryRecovery {
    pub(crate) router: Option<Router>,
    pub(crate) catalog: Catalog,
    pub(crate) next_table_id: u32,
    pub(crate) index: u64,
}

impl DictionaryRecovery {
    pub(crate) fn from_checkpoint(store: &CheckpointStore) -> Result<DictionaryRecovery> {
        let mut dictionary =
            DictionaryRecovery { router: None, catalog: Catalog::default(), next_table_id: 1, index: 0 };
        let Some(mut latest) = store.latest(META_GROUP).map_err(log_error)? else {
            return Ok(dictionary);
        };
        let mut bytes = Vec::new();
        while let Some(block) = latest.reader.next_block().map_err(log_error)? {
            bytes.extend_from_slice(block);
        }
        let mut stored = StoredDictionary::decode(bytes.as_slice())
            .map_err(|error| Error::unknown(format!("the dictionary's checkpoint is damaged: {error}")))?;
        dictionary.router = Some(stored.router()?);
        dictionary.catalog = stored.catalog()?;
        dictionary.next_table_id = stored.next_table_id;
        dictionary.index = stored.index;
        Ok(dictionary)
    }

    pub(crate) fn see(&mut self, record: RecordRef<'_>) -> Result<()> {
        if record.index <= self.index {
            return Ok(());
        }
        self.index = record.index;
        let damaged = |error| Error::unknown(format!("a record of the dictionary is damaged: {error}"));
        match record.kind {
            KIND_MAP => self.router = Some(StoredMap::decode(record.payload).map_err(damaged)?.router()?),
            KIND_CHANGES => {
                for change in StoredChanges::decode(record.payload).map_err(damaged)?.changes()? {
                    self.catalog.apply(&change)?;
                    if let Change::PutTable(schema) = &change {
                        self.next_table_id = self.next_table_id.max(schema.id.0 + 1);
                    }
                }
                self.catalog.version += 1;
            }
            KIND_SEQUENCE => apply_sequence_record(&self.catalog, record.payload)?,
            kind => return Err(Error::unknown(format!("the log has a record of the unknown kind {kind}"))),
        }
        Ok(())
    }
}
