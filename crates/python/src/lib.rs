//! The Python package's native half: operations of the native client as objects that either of its faces waits for.
//!
//! - `client`, `transaction`, `scan`, `blob`, `events`: what operations are asked of. `work`: what they do. `linked`: operations that
//!   go on where others have come to.
//! - `shared`, `open`, `stream`: a client, a transaction and followed changes behind them. `origin`: which process they are in.
//! - `operation`: an operation under way. Whoever waits polls it himself: a thread that lets go of the interpreter meanwhile and looks for
//!   signals, or an event loop that is woken by a socket. The client's threads never take the interpreter's lock.
//! - `arguments`, `answer`: what operations take from Python, and what they give it.
//! - `value`, `row`, `filter`, `table`: values, rows and conditions as Python knows them. `error`: its exceptions.
//!
//! The two faces, with their documentation and types, are Python: `python/shoal`. Nothing here but what they use is meant to be called.

mod answer;
mod arguments;
mod blob;
mod client;
mod error;
mod events;
mod filter;
mod linked;
mod open;
mod operation;
mod origin;
mod row;
mod scan;
mod shared;
mod stream;
mod table;
mod transaction;
mod value;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _shoal {
    #[pymodule_export]
    use crate::blob::BlobCore;
    #[pymodule_export]
    use crate::client::{ClientCore, connect};
    #[pymodule_export]
    use crate::events::{Altered, Change, Complete, Dropped, EventsCore, Gap};
    #[pymodule_export]
    use crate::filter::{Column, Filter};
    #[pymodule_export]
    use crate::linked::{KeyLink, Linked, linked_plan};
    #[pymodule_export]
    use crate::operation::{Completions, Operation};
    #[pymodule_export]
    use crate::row::Row;
    #[pymodule_export]
    use crate::scan::{Cursor, Plan, scan_plan};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::transaction::{Savepoint, TransactionCore};
    #[pymodule_export]
    use crate::work::{Work, delete, get, get_unique, insert, put, scan_all, update};
}
