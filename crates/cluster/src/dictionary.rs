//!

pub(crate) mod catalog;
pub(crate) mod compaction;
pub(crate) mod ddl;
pub(crate) mod follow;
pub(crate) mod meta_group;
pub(crate) mod meta_rows;
pub(crate) mod metadata_lock;
pub(crate) mod sequence;
pub(crate) mod settled_tables;
pub(crate) mod single_user;
pub(crate) mod stored;
pub(crate) mod table;
pub mod table_map;
pub mod unique;
