//! Long values in pieces: some bytes of one column of one row, read and written where the row lies.
//!
//! A [`Blob`] names the value; it keeps no bytes. What is read through it is one version of the value, whatever others write meanwhile: that
//! of a REPEATABLE READ transaction's snapshot, else that on which a shared lock is taken when the blob is opened. What is written is
//! part of the transaction; its pieces are staged in one copy of the row.
//!
//! Positions and lengths are bytes, those of a text in its column's character set. Pieces may end within characters: when the transaction commits,
//! every text that was written through a blob is looked at where it lies ([`Transaction::check_texts`]), and what is not of its character
//! set is not committed.

use std::sync::Arc;

use shoal_txn::new_row::check_has_no_rules;
use shoal_txn::{
    Assignment, BytesChange, ColumnSlice, Isolation, LockMode, Operand, ReadMode, RowChange, RowWrite,
    SLICE_BYTES_MAX, Sliced,
};
use shoal_types::{BaseType, Charset, Error, ErrorCode, Result, Value};

use crate::handle::{ClientTransaction, LocalFuture};
use crate::table::{Table, ValueAddress, column, full_key, stored};
use crate::transaction::Transaction;
use crate::write::stamps;

/// What a piece has at most, if nobody says otherwise.
const PIECE_BYTES: usize = 256 << 10;

/// A transaction of either face.
pub trait AnyTransaction: sealed::Sealed + Sized {
    /// Runs an operation where the transaction is.
    #[doc(hidden)]
    fn operate<T: Send + 'static>(
        &mut self,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> impl Future<Output = Result<T>>;

    #[doc(hidden)]
    fn end(self) -> impl Future<Output = Result<()>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Transaction {}
    impl Sealed for super::ClientTransaction {}
}

impl AnyTransaction for Transaction {
    async fn operate<T: Send + 'static>(
        &mut self,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        operation(self).await
    }

    async fn end(self) -> Result<()> {
        self.commit().await
    }
}

impl AnyTransaction for ClientTransaction {
    async fn operate<T: Send + 'static>(
        &mut self,
        operation: impl for<'t> FnOnce(&'t mut Transaction) -> LocalFuture<'t, Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.run(operation).await
    }

    async fn end(self) -> Result<()> {
        self.commit().await
    }
}

/// The TEXT, BLOB, VARCHAR or VARBINARY value of a row, in a transaction.
#[derive(Clone, Debug)]
pub struct Blob {
    address: Arc<ValueAddress>,
    mode: ReadMode,
    position: u64,
    piece_bytes: usize,
    /// Where the row's ON UPDATE columns have the present time already: see [`Transaction::stamping`].
    stamped_in: Option<Arc<()>>,
}

impl Blob {
    /// Pieces have at most so many bytes: from 1 to 1 MiB, 256 KiB if nothing is said.
    pub fn with_pieces_of(self, bytes: usize) -> Blob {
        Blob { piece_bytes: bytes.clamp(1, SLICE_BYTES_MAX as usize), ..self }
    }

    /// The value's length; `None`: it is NULL.
    pub async fn length(&self, transaction: &mut impl AnyTransaction) -> Result<Option<u64>> {
        Ok(self.slice(transaction, 0, 0).await?.map(|(length, _)| length))
    }

    /// Bytes from a position on, fewer where the value ends; `None`: it is NULL. Read in pieces, and in memory as a whole.
    pub async fn read_at(
        &self,
        transaction: &mut impl AnyTransaction,
        position: u64,
        length: usize,
    ) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        loop {
            let wanted = (length - bytes.len()).min(self.piece_bytes);
            let at = position.saturating_add(bytes.len() as u64);
            let Some((_, piece)) = self.slice(transaction, at, wanted).await? else { return Ok(None) };
            bytes.extend_from_slice(&piece[..piece.len().min(wanted)]);
            if piece.len() < wanted || bytes.len() == length {
                return Ok(Some(bytes));
            }
        }
    }

    /// The piece behind the one before; `None`: the value is at its end, or NULL.
    pub async fn next(&mut self, transaction: &mut impl AnyTransaction) -> Result<Option<Vec<u8>>> {
        let piece = self.slice(transaction, self.position, self.piece_bytes).await?;
        let piece = piece.map(|(_, piece)| piece).filter(|piece| !piece.is_empty());
        self.position += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Ok(piece)
    }

    /// Where the next piece begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// From where [`Blob::next`] goes on.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Writes over what is there from a position on. What lies between the value's end and the position becomes zero bytes, in text
    /// spaces; NULL counts as empty.
    ///
    /// # Errors
    /// 1406 if the column does not take so much, 1153 if the row becomes larger than 60 MiB. Nothing is written then.
    pub async fn write_at(
        &mut self,
        transaction: &mut impl AnyTransaction,
        position: u64,
        bytes: &[u8],
    ) -> Result<()> {
        let step = self.piece_bytes as u64;
        let starts = (0..).map(move |number: u64| position.saturating_add(number.saturating_mul(step)));
        let pieces = starts.zip(self.pieces(bytes));
        let changes = pieces.map(|(position, bytes)| BytesChange::WriteAt { position, bytes });
        self.change(transaction, changes.collect()).await
    }

    /// Writes behind the value's end; NULL counts as empty. Errors: as those of [`Blob::write_at`].
    pub async fn append(&mut self, transaction: &mut impl AnyTransaction, bytes: &[u8]) -> Result<()> {
        let changes = self.pieces(bytes).map(BytesChange::Append);
        self.change(transaction, changes.collect()).await
    }

    /// Cuts off what is behind this length. A value that is shorter, or NULL, stays as it is.
    pub async fn truncate(&mut self, transaction: &mut impl AnyTransaction, length: u64) -> Result<()> {
        self.change(transaction, vec![BytesChange::Truncate(length)]).await
    }

    /// Errors: 1048 if the column is NOT NULL.
    pub async fn set_null(&mut self, transaction: &mut impl AnyTransaction) -> Result<()> {
        let (address, stamped_in) = (Arc::clone(&self.address), self.stamped_in.take());
        let operation = transaction.operate(move |transaction| {
            Box::pin(async move {
                let table = address.table.definition()?;
                stored(&table, column(&table, &address.column)?, &Value::Null, 1)?;
                transaction.change_value(&address, vec![Operand::Set(None)], stamped_in).await
            })
        });
        self.stamped_in = Some(operation.await?);
        Ok(())
    }

    /// The pieces of what is to be written; one, if it is empty.
    fn pieces(&self, bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let pieces: Vec<Vec<u8>> = match bytes.is_empty() {
            true => vec![Vec::new()],
            false => bytes.chunks(self.piece_bytes).map(<[u8]>::to_vec).collect(),
        };
        pieces.into_iter()
    }

    /// Makes an empty value of it, whatever it is, NULL or not.
    pub async fn clear(&mut self, transaction: &mut impl AnyTransaction) -> Result<()> {
        self.change_by(transaction, vec![Operand::Set(Some(Vec::new()))]).await
    }

    async fn change(&mut self, transaction: &mut impl AnyTransaction, changes: Vec<BytesChange>) -> Result<()> {
        self.change_by(transaction, changes.into_iter().map(Operand::Bytes).collect()).await
    }

    async fn change_by(&mut self, transaction: &mut impl AnyTransaction, operands: Vec<Operand>) -> Result<()> {
        let (address, stamped_in) = (Arc::clone(&self.address), self.stamped_in.take());
        let operation = transaction.operate(move |transaction| {
            Box::pin(async move { transaction.change_value(&address, operands, stamped_in).await })
        });
        self.stamped_in = Some(operation.await?);
        Ok(())
    }

    /// The value's length and a piece of it; `None`: it is NULL.
    async fn slice(
        &self,
        transaction: &mut impl AnyTransaction,
        offset: u64,
        length: usize,
    ) -> Result<Option<(u64, Vec<u8>)>> {
        let (address, mode) = (Arc::clone(&self.address), self.mode);
        let operation = transaction.operate(move |transaction| {
            Box::pin(async move {
                match transaction.slice(&address, mode, offset, length, false).await? {
                    Sliced::NoRow => Err(gone(&address)),
                    Sliced::Null => Ok(None),
                    Sliced::Value { length, bytes, .. } => Ok(Some((length, bytes))),
                }
            })
        });
        operation.await
    }
}

impl Transaction {
    /// The value of a column in the row with this primary key, to be read and written in pieces. `None`: there is no such row.
    ///
    /// A READ COMMITTED transaction takes a shared lock of the row unless `mode` asks for another one, so that what is read is one
    /// version. Who is going to write does well to ask for an exclusive lock at once.
    ///
    /// # Errors
    /// 1235 for columns of other types.
    pub async fn blob(
        &mut self,
        table: &Table,
        key: &[Value],
        column: &str,
        mode: ReadMode,
    ) -> Result<Option<Blob>> {
        let mode = match (mode.lock, self.isolation()) {
            (None, Isolation::ReadCommitted) => ReadMode { lock: Some(LockMode::Shared), ..mode },
            _ => mode,
        };
        let address =
            Arc::new(ValueAddress { table: table.clone(), key: key.to_vec(), column: column.to_owned() });
        let found = self.slice(&address, mode, 0, 0, false).await?;
        let blob = Blob { address, mode, position: 0, piece_bytes: PIECE_BYTES, stamped_in: None };
        Ok((found != Sliced::NoRow).then_some(blob))
    }

    async fn slice(
        &mut self,
        address: &ValueAddress,
        mode: ReadMode,
        offset: u64,
        length: usize,
        checks: bool,
    ) -> Result<Sliced> {
        self.start()?;
        let table = address.table.definition()?;
        let column = value_column(&table, &address.column)?;
        let key = full_key(&table, 0, &address.key)?;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let slice = ColumnSlice { column, offset, length, checks };
        let mode = self.mode(mode);
        let sliced = self.inner.get_slice(&table, &key, mode, slice).await;
        self.note(sliced)
    }

    /// Changes of one value, one after the other: all of them or none. Yields where the row has the present time then.
    async fn change_value(
        &mut self,
        address: &Arc<ValueAddress>,
        operands: Vec<Operand>,
        stamped_in: Option<Arc<()>>,
    ) -> Result<Arc<()>> {
        let stamp = !stamped_in.is_some_and(|one| Arc::ptr_eq(&one, &self.stamping));
        let start = self.inner.savepoint();
        for (number, operand) in operands.into_iter().enumerate() {
            let changed = self.change_once(address, operand, stamp && number == 0).await;
            if let Err(error) = changed {
                if number > 0 && !error.rolls_back_transaction() {
                    self.inner.rollback_to(&start);
                }
                return Err(named(error, address));
            }
        }
        Ok(Arc::clone(&self.stamping))
    }

    async fn change_once(&mut self, address: &Arc<ValueAddress>, operand: Operand, stamp: bool) -> Result<()> {
        self.start()?;
        let table = address.table.definition()?;
        check_has_no_rules(&table)?;
        let column = writable_column(&table, &address.column)?;
        let primary_key = full_key(&table, 0, &address.key)?;
        let mut assignments = vec![Assignment { column, operand }];
        if stamp {
            let stamps = stamps(&table, &[column])?;
            assignments.extend(stamps);
        }
        let charset = table.schema.columns[column].sql_type.collation.charset();
        if !matches!(charset, Charset::Binary | Charset::Latin1) {
            self.note_text(address);
        }
        let change = RowChange { condition: None, assignments };
        match self.write(&table, vec![RowWrite::Change { primary_key, change }]).await? {
            0 => Ok(()),
            _ => Err(gone(address)),
        }
    }

    fn note_text(&mut self, address: &Arc<ValueAddress>) {
        let is_same = |known: &Arc<ValueAddress>| {
            Arc::ptr_eq(known, address)
                || (known.table.name(), &known.key, &known.column)
                    == (address.table.name(), &address.key, &address.column)
                    && known.table.database() == address.table.database()
        };
        if !self.texts.iter().any(is_same) {
            self.texts.push(Arc::clone(address));
        }
    }

    /// The texts that were written in pieces are of their columns' character sets, and no longer than these take.
    ///
    /// # Errors
    /// 1366 or 1406. The transaction must not be committed.
    pub(crate) async fn check_texts(&mut self) -> Result<()> {
        for address in std::mem::take(&mut self.texts) {
            let table = address.table.definition()?;
            let position = value_column(&table, &address.column)?;
            let sql_type = &table.schema.columns[position].sql_type;
            let is_counted = sql_type.base == BaseType::VarChar;
            let wanted = if is_counted { SLICE_BYTES_MAX as usize } else { 0 };
            let found = self.slice(&address, ReadMode::default(), 0, wanted, true).await?;
            // What was deleted or set to NULL afterwards is as good as any.
            let Sliced::Value { length, well_formed, bytes } = found else { continue };
            if well_formed < length {
                return Err(self.malformed_text(&address, &table, position, well_formed).await?);
            }
            let charset = sql_type.collation.charset();
            if is_counted && charset.char_count(&bytes) > sql_type.length as usize {
                return Err(too_long(&address));
            }
        }
        Ok(())
    }

    /// Error 1366, with the bytes as MySQL shows them.
    async fn malformed_text(
        &mut self,
        address: &ValueAddress,
        table: &shoal_cluster::Table,
        position: usize,
        at: u64,
    ) -> Result<Error> {
        let found = self.slice(address, ReadMode::default(), at, 7, false).await?;
        let Sliced::Value { bytes, .. } = found else { return Ok(gone(address)) };
        let otherwise = || {
            let message = format!("Incorrect string value for column '{}' at byte {at}", address.column);
            Error::new(ErrorCode::TruncatedWrongValueForField, message)
        };
        Ok(stored(table, position, &Value::Str(bytes), 1).err().unwrap_or_else(otherwise))
    }
}

/// The column, if its values are bytes in the row. Errors: 1054, 1235.
fn value_column(table: &shoal_cluster::Table, name: &str) -> Result<usize> {
    let position = column(table, name)?;
    match shoal_txn::value_bytes_max(&table.schema.columns[position].sql_type) {
        Some(_) => Ok(position),
        None => {
            let message = format!(
                "Column '{name}' of table '{}' is no TEXT, BLOB, VARCHAR or VARBINARY, and is read and written as a whole",
                table.name()
            );
            Err(Error::new(ErrorCode::NotSupportedYet, message))
        }
    }
}

/// Error 1235 for columns whose changes concern other rows: the entries of unique indexes, or the row in another address.
fn writable_column(table: &shoal_cluster::Table, name: &str) -> Result<usize> {
    let position = value_column(table, name)?;
    let mut indexes = table.global_unique.iter().chain([&0]);
    let has_part = |&index: &usize| table.schema.indexes[index].columns.iter().any(|part| part.column == position);
    match indexes.any(has_part) {
        false => Ok(position),
        true => {
            let message = format!(
                "Column '{name}' of table '{}' is part of a unique key, and is written as a whole",
                table.name()
            );
            Err(Error::new(ErrorCode::NotSupportedYet, message))
        }
    }
}

/// Error 1032.
fn gone(address: &ValueAddress) -> Error {
    Error::new(ErrorCode::KeyNotFound, format!("Can't find record in '{}'", address.table.name()))
}

/// Error 1406.
fn too_long(address: &ValueAddress) -> Error {
    Error::new(ErrorCode::DataTooLong, format!("Data too long for column '{}' at row 1", address.column))
}

/// A leader's error 1406 does not know the column's name.
fn named(error: Error, address: &ValueAddress) -> Error {
    if error.is(ErrorCode::DataTooLong) { too_long(address) } else { error }
}
