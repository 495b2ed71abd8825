//! Transactions, and the operations in them.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_txn::{
    BatchEnd, Inserted, Isolation, KeyRange, LockMode, ReadMode, RowWrite, Savepoint, ScanRequest, Visit,
};
use shoal_types::{Error, Result, Value};

use crate::core::Core;
use crate::row::{Row, Shape};
use crate::table::{Table, ValueAddress, full_key, index};
use crate::write::{Columns, ResolvedUpdate, Update, duplicate_error, rows_of};

/// A locked read, for rows that are about to change.
const FOR_UPDATE: ReadMode = ReadMode { lock: Some(LockMode::Exclusive), wait: shoal_txn::LockWait::Wait };

/// A transaction. Dropped before it is committed, it is rolled back.
///
/// An operation that fails leaves nothing behind, and the transaction goes on, unless [`Error::rolls_back_transaction`] says
/// that it is gone: after a deadlock, or when a leader was lost with what the transaction had there.
pub struct Transaction {
    pub(crate) inner: shoal_txn::Transaction,
    isolation: Isolation,
    /// Every operation is a transaction.
    is_auto: bool,
    is_gone: bool,
    /// Texts that were written in pieces, to be looked at before they are committed.
    pub(crate) texts: Vec<Arc<ValueAddress>>,
    /// Another one whenever the times that were written into ON UPDATE columns may have been taken back.
    pub(crate) stamping: Arc<()>,
}

impl Transaction {
    pub(crate) fn begin(core: &Arc<Core>, isolation: Isolation) -> Transaction {
        let mut transaction = Transaction::auto(core);
        transaction.inner.begin(isolation);
        transaction.inner.set_reads_newest(isolation == Isolation::ReadCommitted);
        transaction.isolation = isolation;
        transaction.is_auto = false;
        transaction
    }

    /// For one operation.
    pub(crate) fn auto(core: &Arc<Core>) -> Transaction {
        let mut inner = shoal_txn::Transaction::new(Arc::clone(&core.node));
        inner.set_lock_wait_timeout(core.options.lock_wait_timeout);
        inner.set_isolation(Isolation::ReadCommitted);
        inner.set_reads_newest(true);
        Transaction {
            inner,
            isolation: Isolation::ReadCommitted,
            is_auto: true,
            is_gone: false,
            texts: Vec::new(),
            stamping: Arc::new(()),
        }
    }

    /// Plain reads of a serializable transaction lock what they see.
    pub(crate) fn mode(&self, mode: ReadMode) -> ReadMode {
        match (self.isolation, mode.lock) {
            (Isolation::Serializable, None) => ReadMode { lock: Some(LockMode::Shared), ..mode },
            _ => mode,
        }
    }

    /// # Errors
    /// The transaction is gone since an operation has failed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_gone {
            true => Err(Error::unknown(
                "the transaction was rolled back when an operation of it failed; begin another one",
            )
            .rolling_back_transaction()),
            false => Ok(()),
        }
    }

    pub(crate) fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && error.rolls_back_transaction()
            && !self.is_auto
        {
            self.is_gone = true;
        }
        result
    }

    pub(crate) fn isolation(&self) -> Isolation {
        self.isolation
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        self.check()?;
        self.inner.start_statement();
        Ok(())
    }

    /// Ends an operation that may have written: a failed one is taken back, one of its own is committed.
    async fn finish<T>(&mut self, start: Savepoint, result: Result<T>) -> Result<T> {
        let result = self.note(result);
        match &result {
            Ok(_) if self.is_auto => self.inner.commit().await?,
            Ok(_) => {}
            Err(_) if self.is_auto => self.inner.rollback(),
            Err(error) if error.rolls_back_transaction() => {}
            Err(_) => self.inner.rollback_to(&start),
        }
        result
    }

    // ---- Reads ----

    /// The row with this primary key.
    pub async fn get(&mut self, table: &Table, key: &[Value], mode: ReadMode) -> Result<Option<Row>> {
        self.start()?;
        let table = table.definition()?;
        let key = full_key(&table, 0, key)?;
        let mode = self.mode(mode);
        let shape = Arc::new(Shape::of(&table, None));
        let show = |row: Option<shoal_types::row::RowRef<'_>>| row.map(|row| Row::new(&shape, row.bytes()));
        let found = match mode.lock.is_none() && self.isolation == Isolation::ReadCommitted {
            true => self.inner.get_newest(&table, &key, show).await,
            false => self.inner.get(&table, &key, mode, show).await,
        };
        self.note(found)
    }

    /// The rows with these primary keys, in the keys' order: one round trip.
    pub async fn get_many(
        &mut self,
        table: &Table,
        keys: &[Vec<Value>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Row>>> {
        self.start()?;
        let table = table.definition()?;
        let keys = keys.iter().map(|key| full_key(&table, 0, key)).collect::<Result<Vec<_>>>()?;
        self.get_encoded(&table, &keys, mode).await
    }

    async fn get_encoded(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        keys: &[Vec<u8>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Row>>> {
        let mode = self.mode(mode);
        let shape = Arc::new(Shape::of(table, None));
        let mut rows = vec![None; keys.len()];
        let mut see = |position: usize, row: shoal_types::row::RowRef<'_>| {
            rows[position] = Some(Row::new(&shape, row.bytes()));
            Ok(())
        };
        let read = self.inner.get_many(table, keys, mode, &mut see).await;
        self.note(read)?;
        Ok(rows)
    }

    /// The row with this key of a unique index.
    pub async fn get_unique(
        &mut self,
        table: &Table,
        index: &str,
        key: &[Value],
        mode: ReadMode,
    ) -> Result<Option<Row>> {
        let mut rows = self.get_unique_many(table, index, &[key.to_vec()], mode).await?;
        Ok(rows.pop().flatten())
    }

    /// The rows with these keys of a unique index, in the keys' order: two round trips.
    pub async fn get_unique_many(
        &mut self,
        table: &Table,
        index_name: &str,
        keys: &[Vec<Value>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Row>>> {
        self.start()?;
        let table = table.definition()?;
        let (index, keys) = unique_keys(&table, index_name, keys)?;
        self.get_by(&table, index, &keys, mode).await
    }

    /// The rows with these keys of the primary key or a unique index, in the keys' order.
    pub(crate) async fn get_by(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        index: usize,
        keys: &[Vec<u8>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Row>>> {
        if index == 0 {
            return self.get_encoded(table, keys, mode).await;
        }
        if !table.global_unique.contains(&index) {
            return self.scan_unique(table, index, keys, mode).await;
        }
        let lookup = self.mode(mode);
        let found = self.inner.get_unique(table, index, keys, lookup).await;
        let found = self.note(found)?;
        let (places, primary_keys): (Vec<usize>, Vec<Vec<u8>>) =
            found.into_iter().enumerate().filter_map(|(place, key)| Some((place, key?))).unzip();
        let mut rows = vec![None; keys.len()];
        for (place, row) in places.into_iter().zip(self.get_encoded(table, &primary_keys, mode).await?) {
            // The row may have got another key between the two reads.
            rows[place] = row.filter(|row| key_of(table, index, row) == keys[place]);
        }
        Ok(rows)
    }

    /// By a unique index of which every partition has its own part.
    async fn scan_unique(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        index: usize,
        keys: &[Vec<u8>],
        mode: ReadMode,
    ) -> Result<Vec<Option<Row>>> {
        let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (place, key) in keys.iter().enumerate() {
            places.entry(key).or_default().push(place);
        }
        let range = |key: &&[u8]| KeyRange {
            start: key.to_vec(),
            end: shoal_types::key::successor(key).unwrap_or_default(),
        };
        let request = ScanRequest {
            table: Arc::clone(table),
            index,
            ranges: places.keys().map(range).collect(),
            descending: false,
            ordered: false,
            partition_key: None,
            mode: self.mode(mode),
            row_limit: None,
        };
        let shape = Arc::new(Shape::of(table, None));
        let mut rows: Vec<Option<Row>> = vec![None; keys.len()];
        let mut scan = self.inner.scan(request);
        loop {
            let mut keep = |row: shoal_types::row::RowRef<'_>| {
                let row = Row::new(&shape, row.bytes());
                for &place in places.get(key_of(table, index, &row).as_slice()).into_iter().flatten() {
                    rows[place] = Some(row.clone());
                }
                Ok(Visit::Take)
            };
            let more = scan.next(&mut self.inner, &mut keep).await;
            if !self.note(more)? {
                return Ok(rows);
            }
        }
    }

    // ---- Writes ----

    /// Inserts a row with values for these columns (none named: all of them). Yields the AUTO_INCREMENT value that was generated.
    pub async fn insert(&mut self, table: &Table, columns: &[&str], row: Vec<Value>) -> Result<Option<u64>> {
        self.insert_many(table, columns, &[row]).await
    }

    /// The same with many rows: all of them or none. Yields the first AUTO_INCREMENT value that was generated.
    pub async fn insert_many(
        &mut self,
        table: &Table,
        columns: &[&str],
        rows: &[Vec<Value>],
    ) -> Result<Option<u64>> {
        self.start()?;
        let table = table.definition()?;
        let (rows, number) = rows_of(self.inner.node(), &table, &Columns::of(&table, columns)?, rows).await?;
        if table.global_unique.is_empty() {
            self.write(&table, rows.into_iter().map(RowWrite::Insert).collect()).await?;
            return Ok(number);
        }
        let start = self.inner.savepoint();
        let inserted = self.insert_encoded(&table, &rows).await;
        self.finish(start, inserted).await?;
        Ok(number)
    }

    async fn insert_encoded(&mut self, table: &Arc<shoal_cluster::Table>, rows: &[Vec<u8>]) -> Result<()> {
        let outcomes = self.inner.insert_many(table, rows, false).await?;
        match outcomes.iter().position(|one| *one != Inserted::Done) {
            Some(place) => Err(duplicate_error(table, &outcomes[place], &rows[place])),
            None => Ok(()),
        }
    }

    /// Inserts rows, or puts them in the place of those with their primary keys.
    pub async fn put_many(&mut self, table: &Table, columns: &[&str], rows: &[Vec<Value>]) -> Result<()> {
        self.start()?;
        let table = table.definition()?;
        self.inner.check_has_no_children(&table)?;
        let (rows, _) = rows_of(self.inner.node(), &table, &Columns::of(&table, columns)?, rows).await?;
        if table.global_unique.is_empty() {
            self.write(&table, rows.into_iter().map(RowWrite::Put).collect()).await?;
            return Ok(());
        }
        let start = self.inner.savepoint();
        let put = self.put_encoded(&table, rows).await;
        self.finish(start, put).await
    }

    async fn put_encoded(&mut self, table: &Arc<shoal_cluster::Table>, rows: Vec<Vec<u8>>) -> Result<()> {
        let key = |row: &Vec<u8>| {
            let mut key = Vec::new();
            table.keys[0].append_from_row(table.layout.row(row), &mut key);
            key
        };
        let keys: Vec<Vec<u8>> = rows.iter().map(key).collect();
        let old = self.get_encoded(table, &keys, FOR_UPDATE).await?;
        let (mut replaced, mut inserted) = (Vec::new(), Vec::new());
        for (row, old) in rows.into_iter().zip(old) {
            match old {
                Some(old) => replaced.push((old.bytes().to_vec(), Some(row))),
                None => inserted.push(row),
            }
        }
        self.replace(table, &replaced).await?;
        self.insert_encoded(table, &inserted).await
    }

    /// Changes the row with this primary key. False: there is none that fulfils the update's condition.
    pub async fn update(&mut self, table: &Table, key: &[Value], update: &Update) -> Result<bool> {
        Ok(self.update_many(table, &[key.to_vec()], update).await? == 1)
    }

    /// Changes the rows with these primary keys, and counts those that were there and fulfilled the condition. Evaluated where the rows
    /// lie, in one round trip; if columns of a unique index change, the rows are read first.
    pub async fn update_many(&mut self, table: &Table, keys: &[Vec<Value>], update: &Update) -> Result<u64> {
        self.start()?;
        let table = table.definition()?;
        self.inner.check_has_no_children(&table)?;
        let keys = keys.iter().map(|key| full_key(&table, 0, key)).collect::<Result<Vec<_>>>()?;
        let resolved = update.resolve(&table)?;
        if !resolved.concerns_unique && !resolved.moves {
            let count = keys.len();
            let write = |primary_key| RowWrite::Change { primary_key, change: resolved.change.clone() };
            let skipped = self.write(&table, keys.into_iter().map(write).collect()).await?;
            return Ok((count - skipped) as u64);
        }
        let start = self.inner.savepoint();
        let changed = self.read_and_update(&table, (0, &keys), &resolved).await;
        self.finish(start, changed).await
    }

    /// Changes the row with this key of a unique index. False: there is none that fulfils the update's condition.
    pub async fn update_unique(
        &mut self,
        table: &Table,
        index: &str,
        key: &[Value],
        update: &Update,
    ) -> Result<bool> {
        Ok(self.update_unique_many(table, index, &[key.to_vec()], update).await? == 1)
    }

    /// Changes the rows with these keys of a unique index, and counts those that were there and fulfilled the condition. They are read
    /// first, under locks.
    pub async fn update_unique_many(
        &mut self,
        table: &Table,
        index: &str,
        keys: &[Vec<Value>],
        update: &Update,
    ) -> Result<u64> {
        self.start()?;
        let table = table.definition()?;
        self.inner.check_has_no_children(&table)?;
        let (index, keys) = unique_keys(&table, index, keys)?;
        let resolved = update.resolve(&table)?;
        let start = self.inner.savepoint();
        let changed = self.read_and_update(&table, (index, &keys), &resolved).await;
        self.finish(start, changed).await
    }

    /// By keys of an index. A row that is meant twice is changed twice, unless its keys change: then it is found but once.
    async fn read_and_update(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        (index, keys): (usize, &[Vec<u8>]),
        update: &ResolvedUpdate,
    ) -> Result<u64> {
        let mut changed: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut count = 0;
        for old in self.get_by(table, index, keys, FOR_UPDATE).await?.into_iter().flatten() {
            let primary_key = key_of(table, 0, &old);
            let place = places.get(&primary_key).copied();
            let before = match place.and_then(|place| changed[place].1.as_deref()) {
                None => old.bytes(),
                Some(_) if update.moves => continue,
                Some(newest) if index > 0 && index_key(table, index, newest) != key_of(table, index, &old) => {
                    continue;
                }
                Some(newest) => newest,
            };
            let Some(new) = update.change.apply(table.layout.row(before))? else { continue };
            count += 1;
            match place {
                Some(place) => changed[place].1 = Some(new),
                None => {
                    places.insert(primary_key, changed.len());
                    changed.push((old.bytes().to_vec(), Some(new)));
                }
            }
        }
        if !update.moves {
            self.replace(table, &changed).await?;
            return Ok(count);
        }
        // A row whose primary key changes goes to another place: one after the other, as each may be in the way of the next.
        for (old, new) in changed.iter().filter_map(|(old, new)| Some((old, new.as_ref()?))) {
            let outcome = self.inner.replace_row(table, old, new).await?;
            if outcome != Inserted::Done {
                return Err(duplicate_error(table, &outcome, new));
            }
        }
        Ok(count)
    }

    /// Deletes the row with this primary key. False: there is none.
    pub async fn delete(&mut self, table: &Table, key: &[Value]) -> Result<bool> {
        Ok(self.delete_many(table, &[key.to_vec()]).await? == 1)
    }

    /// Deletes the rows with these primary keys, and counts those that were there.
    pub async fn delete_many(&mut self, table: &Table, keys: &[Vec<Value>]) -> Result<u64> {
        self.start()?;
        let table = table.definition()?;
        self.inner.check_has_no_children(&table)?;
        let keys = keys.iter().map(|key| full_key(&table, 0, key)).collect::<Result<Vec<_>>>()?;
        if table.global_unique.is_empty() {
            let count = keys.len();
            let write = |primary_key| RowWrite::Delete { primary_key };
            let skipped = self.write(&table, keys.into_iter().map(write).collect()).await?;
            return Ok((count - skipped) as u64);
        }
        let start = self.inner.savepoint();
        let deleted = self.read_and_delete(&table, 0, keys).await;
        self.finish(start, deleted).await
    }

    /// Deletes the row with this key of a unique index. False: there is none.
    pub async fn delete_unique(&mut self, table: &Table, index: &str, key: &[Value]) -> Result<bool> {
        Ok(self.delete_unique_many(table, index, &[key.to_vec()]).await? == 1)
    }

    /// Deletes the rows with these keys of a unique index, and counts those that were there.
    pub async fn delete_unique_many(&mut self, table: &Table, index: &str, keys: &[Vec<Value>]) -> Result<u64> {
        self.start()?;
        let table = table.definition()?;
        self.inner.check_has_no_children(&table)?;
        let (index, keys) = unique_keys(&table, index, keys)?;
        let start = self.inner.savepoint();
        let deleted = self.read_and_delete(&table, index, keys).await;
        self.finish(start, deleted).await
    }

    async fn read_and_delete(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        index: usize,
        mut keys: Vec<Vec<u8>>,
    ) -> Result<u64> {
        keys.sort_unstable();
        keys.dedup();
        let old = self.get_by(table, index, &keys, FOR_UPDATE).await?;
        let gone: Vec<_> = old.into_iter().flatten().map(|old| (old.bytes().to_vec(), None)).collect();
        self.replace(table, &gone).await?;
        Ok(gone.len() as u64)
    }

    async fn replace(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        rows: &[(Vec<u8>, Option<Vec<u8>>)],
    ) -> Result<()> {
        let end = self.inner.replace_many(table, rows).await?;
        match end.duplicate {
            None => Ok(()),
            Some((place, inserted)) => {
                let (old, new) = &rows[place];
                Err(duplicate_error(table, &inserted, new.as_ref().unwrap_or(old)))
            }
        }
    }

    /// Stages a batch, or commits it if the operation is a transaction. Yields how many writes found no row.
    pub(crate) async fn write(
        &mut self,
        table: &Arc<shoal_cluster::Table>,
        writes: Vec<RowWrite>,
    ) -> Result<usize> {
        let rows = writes.iter().map(|write| match write {
            RowWrite::Insert(row) | RowWrite::Put(row) => row.clone(),
            RowWrite::Change { .. } | RowWrite::Delete { .. } => Vec::new(),
        });
        let rows: Vec<Vec<u8>> = rows.collect();
        let judge = |end: BatchEnd| match end.duplicate {
            None => Ok(end.skipped.len()),
            Some((place, inserted)) => Err(duplicate_error(table, &inserted, &rows[place])),
        };
        if self.is_auto {
            return self.inner.write_and_commit(table, writes).await.and_then(judge);
        }
        let start = self.inner.savepoint();
        let written = self.inner.write_many(table, writes).await.and_then(judge);
        self.finish(start, written).await
    }

    // ---- The end ----

    /// # Errors
    /// With the outcome unknown, if the decision cannot be learnt. After any other error nothing is committed: 1366 or 1406, if a text
    /// that was written in pieces is not of its column's character set, or too long.
    pub async fn commit(mut self) -> Result<()> {
        self.commit_here().await
    }

    pub(crate) async fn commit_here(&mut self) -> Result<()> {
        self.check()?;
        self.check_texts().await?;
        self.inner.commit().await
    }

    /// Takes back all writes and gives back all locks. It does not wait for the other nodes.
    pub fn rollback(mut self) {
        self.inner.rollback();
    }

    /// A point that [`Transaction::rollback_to`] goes back to.
    pub fn savepoint(&mut self) -> Savepoint {
        self.inner.savepoint()
    }

    /// Takes back the writes since the savepoint; locks stay.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        self.stamping = Arc::new(());
        self.inner.rollback_to(savepoint);
    }
}

fn key_of(table: &shoal_cluster::Table, index: usize, row: &Row) -> Vec<u8> {
    index_key(table, index, row.bytes())
}

fn index_key(table: &shoal_cluster::Table, index: usize, row: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    table.keys[index].append_from_row(table.layout.row(row), &mut key);
    key
}

/// A unique index by its name, and whole keys of it.
fn unique_keys(table: &shoal_cluster::Table, name: &str, keys: &[Vec<Value>]) -> Result<(usize, Vec<Vec<u8>>)> {
    let index = index(table, name)?;
    let keys = keys.iter().map(|key| full_key(table, index, key)).collect::<Result<Vec<_>>>()?;
    if index > 0 && !table.schema.indexes[index].unique {
        let message = format!("Key '{name}' of table '{}' is not unique; scan it", table.name());
        return Err(Error::new(shoal_types::ErrorCode::WrongArguments, message));
    }
    Ok((index, keys))
}
