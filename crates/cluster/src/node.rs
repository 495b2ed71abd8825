//! A node: partitions, the log, the dictionary and what sessions share.

use std::sync::Arc;

use shoal_types::{Error, Result, TableId};

use crate::dictionary::{Catalog, Change};
use crate::options::{NodeOptions, RecoveryProgress};

/// One process's share of the database.
pub struct Node {
    catalog: std::sync::RwLock<Arc<Catalog>>,
}

impl Node {
    /// Opens a data directory and recovers what is in it.
    pub fn open(_options: NodeOptions) -> Result<Arc<Node>> {
        Err(Error::unsupported("open"))
    }
    /// The same with a callback that hears how far recovery is.
    pub fn open_with_progress(
        _options: NodeOptions,
        _progress: impl FnMut(RecoveryProgress),
    ) -> Result<Arc<Node>> {
        Err(Error::unsupported("open"))
    }
    /// The dictionary as it is now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
    /// Raised by every change of the dictionary.
    pub fn catalog_version(&self) -> u64 {
        self.catalog().version
    }
    /// Changes the dictionary; all of `changes` take effect as one.
    pub async fn change(&self, _changes: Vec<Change>) -> Result<()> {
        Err(Error::unsupported("change"))
    }
    /// An id that no table has had.
    pub fn next_table_id(&self) -> TableId {
        TableId(0)
    }
    /// Makes everything durable and stops.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
}
