//! What a session keeps of HANDLER ... OPEN.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_cluster::Table;

/// The handlers of a session by their names.
pub type OpenHandlers = HashMap<String, OpenHandler>;

/// One of them.
pub struct OpenHandler {
    pub database: String,
    pub table: Arc<Table>,
    pub place: Option<Place>,
}

/// Where a handler is in an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub index: usize,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// The entry of the row that was read last.
    Row(Vec<u8>),
    Start,
    End,
}
