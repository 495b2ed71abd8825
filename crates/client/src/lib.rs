//! The native client: rows and transactions without SQL.
//!
//! A client is a node of the cluster in an `[api]` slot: it knows which node leads which partition, sends operations straight there,
//! and coordinates its own transactions. What NDB's API gives, in asynchronous Rust: reads and writes by primary and unique keys,
//! in batches of one round trip; scans along indexes with conditions and choices of columns that are evaluated where the rows lie;
//! changes in place; transactions with savepoints; errors with MySQL's numbers that say whether anything was committed.
//!
//! Two faces over one core. [`LocalClient`] lives on the thread that calls it, for programs that want the shortest way.
//! [`Client`] has threads of its own and may be used by any, as programs on a tokio runtime want it.
//!
//! ```no_run
//! use shoal_client::{Isolation, LocalClient, Options, ReadMode, Update, Value};
//!
//! # fn main() -> shoal_client::Result<()> {
//! let client = LocalClient::connect("127.0.0.1:1186", Options::default())?;
//! let accounts = client.table("bank", "accounts")?;
//! client.block_on(async {
//!     client.insert(&accounts, &["id", "owner", "balance"], vec![7.into(), "Ada".into(), 100.into()]).await?;
//!     let mut transaction = client.begin(Isolation::ReadCommitted);
//!     transaction.update(&accounts, &[Value::Int(7)], &Update::new().add("balance", -30)).await?;
//!     let row = transaction.get(&accounts, &[Value::Int(7)], ReadMode::default()).await?;
//!     println!("{:?}", row.and_then(|row| row.get("balance")));
//!     transaction.commit().await
//! })
//! # }
//! ```
//!
//! - `local`, `handle`: the two faces; `session`: what operations are called on; `core`: the node; `runtime`: its threads.
//! - `transaction`, `scan`, `linked`, `write`, `filter`: operations. `blob`, `blob_stream`: long values in pieces. `events`: committed changes as they happen. `table`, `row`: names and values to bytes and back.
//!
//! It does not know SQL: columns whose defaults or values are expressions cannot be written here, and say so.

#![warn(missing_docs)]

mod blob;
mod blob_stream;
mod core;
mod events;
mod filter;
mod handle;
mod linked;
mod local;
mod options;
mod row;
mod runtime;
mod scan;
mod session;
mod table;
mod transaction;
mod write;

pub use blob::{AnyTransaction, Blob};
pub use blob_stream::{BlobReader, BlobWriter};
pub use events::{Change, Event, EventOptions, Events};
pub use filter::Filter;
pub use handle::{Client, ClientTransaction, EventStream, LocalFuture};
pub use linked::{Key, Linked, LinkedRows, Tuple};
pub use local::LocalClient;
pub use options::Options;
pub use row::{Row, Shape};
pub use scan::{Rows, Scan};
pub use session::Session;
pub use shoal_cluster::Transporter;
pub use shoal_cluster::worker_loop::NEVER_SLEEP;
pub use shoal_txn::{ChangeKind, Gap, Isolation, LockMode, LockWait, ReadMode, Savepoint};
pub use shoal_types::{Comparison, Error, Outcome, Result, Timestamp, TransactionId, Value};
pub use table::Table;
pub use transaction::Transaction;
pub use write::Update;
