//! Definitions in this partition, and the transactions that they meet.
//!
//! A definition is an entry of the log, and a transaction comes before it or after it. Before it come those whose commit or
//! PREPARE entry lies before it; what they have written stays, and becomes rows of the altered table if it is decided so. All
//! others that have used the table end with the definition ([`Partition::end_users_of`]): their coordinators planned by what the
//! table was. Who asks for a definition has made sure that no coordinator uses the table, so these are transactions of
//! coordinators that are gone, or that could not be asked.
//!
//! Between the proposal of a definition and its being applied nothing may be proposed that has used the table.
//!
//! A definition that depends on what rows there are waits until the table is settled ([`Partition::await_settled`]): until the
//! outcome of everything is known that came before.

use std::sync::Arc;

use shoal_types::row::fixed_width;
use shoal_types::{Error, Result, TableId, TableSchema, TransactionId};

use crate::api::*;
use crate::entry;
use crate::fragment::Fragment;
use crate::partition::{Partition, no_such_table};
use crate::proposal::Change;
use crate::workspace::{State, Transaction};

impl Partition {
    /// Proposes the table's fragment.
    pub fn create_fragment(&mut self, schema: Arc<TableSchema>, token: CommitToken) -> Result<()> {
        self.propose(entry::encode_create(&schema), token, Change::Create(schema))?;
        self.pump()
    }

    /// Proposes to drop the table's fragment with all its rows.
    pub fn drop_fragment(&mut self, table: TableId, token: CommitToken) -> Result<()> {
        self.propose(entry::encode_drop(table), token, Change::Drop(table))?;
        self.begin_definition(table);
        self.pump()
    }

    /// Proposes a new definition of the table. Indexes that only one of the two has are built or dropped; rows stay
    /// as they are, so columns that stay and the primary key must not change how they are stored.
    pub fn alter_fragment(&mut self, schema: Arc<TableSchema>, token: CommitToken) -> Result<()> {
        let fragment = self.fragments.get(&schema.id).ok_or_else(|| no_such_table(schema.id))?;
        check_same_storage(&fragment.schema, &schema)?;
        let table = schema.id;
        self.propose(entry::encode_alter(&schema), token, Change::Alter(schema))?;
        self.begin_definition(table);
        self.pump()
    }

    fn begin_definition(&mut self, table: TableId) {
        self.newest_definition = self.proposals.back().map_or(0, |proposal| proposal.index);
        self.end_users_of(table);
    }

    /// Rolls back what has used the table and is neither prepared nor about to commit.
    fn end_users_of(&mut self, table: TableId) {
        let users = self.transactions.values().filter(|one| one.state == State::Active && one.uses(table));
        let mut users: Vec<TransactionId> = users.map(|one| one.id).collect();
        users.sort_unstable();
        users.into_iter().for_each(|user| self.rollback(user));
    }

    /// A definition of a table that the transaction has used is in the log and not applied yet.
    pub(crate) fn is_overtaken(&self, transaction: &Transaction) -> bool {
        self.newest_definition > self.applied_index
            && self.proposals.iter().any(|proposal| match &proposal.change {
                Change::Alter(schema) => transaction.uses(schema.id),
                Change::Drop(table) => transaction.uses(*table),
                _ => false,
            })
    }

    /// Some transaction that is prepared or about to commit has written to one of the tables or holds locks of them; `token` is
    /// woken when one such has ended. False: everything that has been written to them is rows.
    pub fn await_settled(&mut self, tables: &[TableId], token: WaitToken) -> bool {
        let uses = |one: &Transaction| tables.iter().any(|&table| one.uses(table));
        let mut open = self.transactions.values_mut().filter(|one| one.state != State::Active && uses(one));
        match open.next() {
            Some(transaction) => {
                transaction.apply_waiters.push(token);
                true
            }
            None => false,
        }
    }

    pub(crate) fn apply_create(&mut self, schema: Arc<TableSchema>) {
        let fragment = || Box::new(Fragment::new(schema.clone()));
        self.fragments.entry(schema.id).or_insert_with(fragment);
    }

    pub(crate) fn apply_drop(&mut self, table: TableId) {
        self.go_on_to_the_end();
        self.end_users_of(table);
        let Some(fragment) = self.fragments.remove(&table) else {
            return;
        };
        self.lock_counts.forget(table);
        if self.pins.is_empty() {
            self.config.budget.release(fragment.bytes());
        } else {
            self.retired.push(fragment);
        }
    }

    pub(crate) fn apply_alter(&mut self, schema: Arc<TableSchema>) -> Result<()> {
        self.go_on_to_the_end();
        self.end_users_of(schema.id);
        let table = schema.id;
        let Some(fragment) = self.fragments.get_mut(&table) else {
            return Ok(());
        };
        let (before, after) = fragment.alter(schema)?;
        self.config.budget.release(before);
        self.config.budget.charge(after);
        self.note_building(table);
        Ok(())
    }
}

/// What a row holds is read by the new definition: columns that stay are held alike, wherever they are from now on, and the primary key
/// is the same.
fn check_same_storage(old: &TableSchema, new: &TableSchema) -> Result<()> {
    let before = |column: usize| new.column_before(old, column);
    let same_column = |(position, new): (usize, &shoal_types::Column)| match before(position) {
        Some(place) => old.columns.get(place).is_some_and(|old| {
            old.sql_type.base == new.sql_type.base && fixed_width(&old.sql_type) == fixed_width(&new.sql_type)
        }),
        None => true,
    };
    let places = || (0..new.columns.len()).filter_map(before).count();
    let all_there = new.past_rows.len() > old.past_rows.len() || places() == old.columns.len();
    let same_columns = all_there && new.columns.iter().enumerate().all(same_column);
    let (old_key, new_key) = (old.primary_key(), new.primary_key());
    let same_key = new_key.method == old_key.method && new.keeps_parts(old, old_key, new_key);
    if same_columns && same_key {
        return Ok(());
    }
    Err(Error::unknown(format!(
        "internal: table '{}' cannot be altered in place: its rows would change",
        new.name
    )))
}

#[cfg(test)]
mod tests {
    use shoal_types::row::RowLayout;
    use shoal_types::schema::TableOptions;
    use shoal_types::*;

    use super::*;

    fn schema(sql_type: &SqlType) -> TableSchema {
        let types = [SqlType::new(BaseType::Int), sql_type.clone(), SqlType::new(BaseType::VarChar)];
        let columns = types.into_iter().zip(["id", "c", "t"]).map(|(sql_type, name)| Column::new(name, sql_type));
        TableSchema {
            id: TableId(7),
            version: 1,
            database: "test".into(),
            name: "t".into(),
            columns: columns.collect(),
            indexes: vec![Index::new(IndexId(0), "PRIMARY".to_string(), &[0], true, IndexMethod::Hash)],
            partition_columns: vec![0],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            past_rows: Vec::new(),
            options: TableOptions::new("NDB", Collation::UTF8MB4_0900_AI_CI),
        }
    }

    /// Nodes that know another version of a table than a partition does are taken at their word: a row that does not fit is taken for
    /// one that no node sends.
    #[test]
    fn rows_of_a_table_that_may_be_altered_in_place_lie_alike_in_both_versions() {
        use BaseType::*;
        let with = |base, length: u32, labels: usize| {
            let labels: Vec<Box<[u8]>> =
                (0..labels).map(|label| format!("l{label}").into_bytes().into()).collect();
            SqlType { length, labels: (!labels.is_empty()).then(|| labels.into()), ..SqlType::new(base) }
        };
        let mut types: Vec<SqlType> = [
            TinyInt, SmallInt, MediumInt, Int, BigInt, Date, DateTime, Time, Float, Double, Char, VarChar, Text,
            Json,
        ]
        .map(SqlType::new)
        .into();
        types.extend([4, 9, 10, 30].map(|length| with(Decimal, length, 0)));
        types.extend([1, 8, 9, 33].map(|length| with(Bit, length, 0)));
        types.extend([1, 255, 256].map(|labels| with(Enum, 1, labels)));
        types.extend([1, 8, 9, 33].map(|labels| with(Set, 1, labels)));
        let mut in_place = 0;
        for old in &types {
            for new in &types {
                let (before, after) = (schema(old), schema(new));
                if check_same_storage(&before, &after).is_err() {
                    continue;
                }
                let layout = |schema: &TableSchema| {
                    RowLayout::new(schema.columns.iter().map(|column| column.sql_type.clone()).collect())
                };
                let mut row = Vec::new();
                layout(&before)
                    .encode(&[Value::Int(1), Value::Null, Value::Null], &TimeZone::UTC, &mut row)
                    .unwrap();
                assert!(layout(&after).checked_row(&row).is_ok(), "{old:?} {new:?}");
                in_place += usize::from(old != new);
            }
        }
        assert!(in_place > 0);
    }
}
