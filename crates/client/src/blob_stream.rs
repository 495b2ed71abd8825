//! Whole values as streams, each a transaction of its own.

use shoal_txn::{Isolation, LockMode, ReadMode};
use shoal_types::{Error, Result, Value};

use crate::blob::{AnyTransaction, Blob};
use crate::handle::{Client, ClientTransaction};
use crate::session::Session;
use crate::table::Table;
use crate::transaction::Transaction;

const FOR_UPDATE: ReadMode = ReadMode { lock: Some(LockMode::Exclusive), wait: shoal_txn::LockWait::Wait };

/// One version of a value, read in pieces. Dropped, it lets go of the snapshot that it reads.
pub struct BlobReader<T = Transaction> {
    transaction: T,
    blob: Blob,
    length: Option<u64>,
}

impl<T: AnyTransaction> BlobReader<T> {
    async fn open(mut transaction: T, blob: Option<Blob>) -> Result<Option<BlobReader<T>>> {
        let Some(blob) = blob else { return Ok(None) };
        let length = blob.length(&mut transaction).await?;
        Ok(Some(BlobReader { transaction, blob, length }))
    }

    /// Pieces have at most so many bytes, as [`Blob::with_pieces_of`].
    pub fn with_pieces_of(self, bytes: usize) -> BlobReader<T> {
        BlobReader { blob: self.blob.with_pieces_of(bytes), ..self }
    }

    /// The value's length; `None`: it is NULL.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The piece behind the one before; `None`: the value is at its end, or NULL.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        self.blob.next(&mut self.transaction).await
    }

    /// As [`Blob::read_at`].
    pub async fn read_at(&mut self, position: u64, length: usize) -> Result<Option<Vec<u8>>> {
        self.blob.read_at(&mut self.transaction, position, length).await
    }

    /// Where the next piece begins.
    pub fn position(&self) -> u64 {
        self.blob.position()
    }

    /// From where [`BlobReader::next`] goes on.
    pub fn seek(&mut self, position: u64) {
        self.blob.seek(position);
    }
}

/// A value that is written anew, in pieces: all of it when [`BlobWriter::finish`] returns, nothing if that is not called. The row is
/// locked meanwhile.
pub struct BlobWriter<T = Transaction> {
    transaction: T,
    blob: Blob,
    /// A piece was not written, or nobody has waited to learn whether it was.
    has_failed: bool,
}

impl<T: AnyTransaction> BlobWriter<T> {
    async fn open(mut transaction: T, blob: Option<Blob>) -> Result<Option<BlobWriter<T>>> {
        let Some(mut blob) = blob else { return Ok(None) };
        blob.clear(&mut transaction).await?;
        Ok(Some(BlobWriter { transaction, blob, has_failed: false }))
    }

    /// Writes behind what has been written. Errors: as those of [`Blob::write_at`]; nothing can be committed then, nor if this is given
    /// up before it is done.
    pub async fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let had_failed = std::mem::replace(&mut self.has_failed, true);
        self.blob.append(&mut self.transaction, bytes).await?;
        self.has_failed = had_failed;
        Ok(())
    }

    /// Commits. Errors: those of a commit, and 1366 for a text that is not of its column's character set.
    pub async fn finish(self) -> Result<()> {
        match self.has_failed {
            true => Err(Error::unknown("a piece of the value could not be written, so nothing of it is")),
            false => self.transaction.end().await,
        }
    }
}

impl Session {
    /// Reads a value of the row with this primary key in pieces, all of one version: a snapshot. `None`: there is no such row.
    pub async fn read_blob(&self, table: &Table, key: &[Value], column: &str) -> Result<Option<BlobReader>> {
        let mut transaction = self.begin(Isolation::RepeatableRead);
        let blob = transaction.blob(table, key, column, ReadMode::default()).await?;
        BlobReader::open(transaction, blob).await
    }

    /// Writes a value of the row with this primary key anew, in pieces. `None`: there is no such row.
    pub async fn write_blob(&self, table: &Table, key: &[Value], column: &str) -> Result<Option<BlobWriter>> {
        let mut transaction = self.begin(Isolation::ReadCommitted);
        let blob = transaction.blob(table, key, column, FOR_UPDATE).await?;
        BlobWriter::open(transaction, blob).await
    }
}

impl Client {
    /// As [`Session::read_blob`]. It takes the place of a job on one of the client's threads as long as it lasts.
    pub async fn read_blob(
        &self,
        table: &Table,
        key: Vec<Value>,
        column: &str,
    ) -> Result<Option<BlobReader<ClientTransaction>>> {
        let mut transaction = self.begin(Isolation::RepeatableRead).await?;
        let blob = transaction.blob(table, key, column, ReadMode::default()).await?;
        BlobReader::open(transaction, blob).await
    }

    /// As [`Session::write_blob`]. It takes the place of a job on one of the client's threads as long as it lasts.
    pub async fn write_blob(
        &self,
        table: &Table,
        key: Vec<Value>,
        column: &str,
    ) -> Result<Option<BlobWriter<ClientTransaction>>> {
        let mut transaction = self.begin(Isolation::ReadCommitted).await?;
        let blob = transaction.blob(table, key, column, FOR_UPDATE).await?;
        BlobWriter::open(transaction, blob).await
    }
}

impl ClientTransaction {
    /// As [`Transaction::blob`].
    pub async fn blob(
        &mut self,
        table: &Table,
        key: Vec<Value>,
        column: &str,
        mode: ReadMode,
    ) -> Result<Option<Blob>> {
        let (table, column) = (table.clone(), column.to_owned());
        let operation = self
            .run(move |transaction| Box::pin(async move { transaction.blob(&table, &key, &column, mode).await }));
        operation.await
    }
}
