//! The numbers of a cluster's sequences: blocks of them, which the leader of a partition gives out to the nodes with sessions.

use std::ops::Range;
use std::sync::atomic::Ordering;

use shoal_partition::{ReadView, Step, WaitToken};
use shoal_types::{Error, IndexMethod, Outcome, Result, TableId, TableSchema};

use crate::dictionary::Dictionary;
use crate::dictionary::system_rows::RowChange;
use crate::dictionary::table::Table;
use crate::dictionary::unique::{
    base_primary_key as second_column, bytes_table_schema, hidden_primary_key, unique_row as bytes_row,
};
use crate::membership::messages::{Ask, SequenceBlock};
use crate::membership::requests::RequestTimeouts;

/// In every partition: the sequences of the tables whose id falls on it.
const SEQUENCES_TABLE: TableId = TableId(u32::MAX - 2);
pub(crate) fn sequences_schema() -> TableSchema {
    bytes_table_schema(SEQUENCES_TABLE, "$sequences", "ndbcluster", IndexMethod::Hash, 0)
}

impl Dictionary {
    /// The first of `count` values of a table's sequence that nobody else gets.
    pub(crate) async fn sequence_block(&self, block: &SequenceBlock) -> Result<u64> {
        let (_, meta, partitions) = self.meta_state()?;
        let partition = block.table % partitions;
        let _one_at_a_time = meta.sequences.lock().await;
        self.have_fragment(partition, sequences_schema()).await?;
        let key = block.table.to_be_bytes();
        let mut primary_key = Vec::new();
        hidden_primary_key(&key, &mut primary_key);
        let next = {
            let mut guard = self.leader(partition)?;
            let view = ReadView::newest(None, WaitToken(0));
            match guard.get(&view, SEQUENCES_TABLE, &primary_key, None)? {
                Step::Ready(Some(row)) => {
                    second_column(row).first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes))
                }
                _ => 1,
            }
        };
        let start = next.max(block.at_least);
        let row = bytes_row(&key, &start.saturating_add(block.count).to_le_bytes())?;
        self.commit_rows((partition, None), SEQUENCES_TABLE, &[RowChange::Put(row)]).await?;
        Ok(start)
    }

    /// In a cluster: so many values of the table's sequence that nobody else gets. Blocks of them are fetched from the leader
    /// of the partition that keeps the sequence.
    pub async fn take_numbers(&self, table: &Table, count: u64) -> Result<Range<u64>> {
        let sequence = &table.next_auto_increment;
        loop {
            if let Some(numbers) = sequence.take_own(count) {
                return Ok(numbers);
            }
            self.fetch_numbers(table, sequence.next_block(count), sequence.load(Ordering::Relaxed)).await?;
        }
    }

    /// In a cluster: no node generates this value any more.
    pub async fn note_number(&self, table: &Table, number: u64) -> Result<()> {
        let sequence = &table.next_auto_increment;
        if sequence.may_come(number) {
            let at_least = number.saturating_add(1);
            self.fetch_numbers(table, sequence.next_block(1), at_least).await?;
        }
        Ok(())
    }

    /// In a cluster: no node generates a value any more that statements of this one have stored without generating it.
    pub async fn report_numbers(&self, table: &Table) -> Result<()> {
        if self.cluster().is_none() {
            return Ok(());
        }
        match table.next_auto_increment.load(Ordering::Relaxed) {
            0 | 1 => Ok(()),
            next => self.note_number(table, next - 1).await,
        }
    }

    /// The value that comes next in the table's sequence; in a cluster no node has given it out, nor any greater one.
    pub async fn next_number(&self, table: &Table) -> Result<u64> {
        let sequence = &table.next_auto_increment;
        if self.cluster().is_some() && table.uses_sequence {
            self.fetch_numbers(table, 0, sequence.load(Ordering::Relaxed)).await?;
        }
        Ok(sequence.load(Ordering::Relaxed).max(1))
    }

    async fn fetch_numbers(&self, table: &Table, count: u64, at_least: u64) -> Result<()> {
        let Some(cluster) = self.cluster() else {
            return Err(Error::unknown("internal: this process is no cluster"));
        };
        let partition = table.id().0 % self.partition_count();
        let ask = Ask::Sequence(SequenceBlock { table: table.id().0, count, at_least });
        // Values of a block that went astray are lost, and nothing else is.
        let reply = cluster.ask_leader(partition, ask, RequestTimeouts::REQUEST).await;
        let (_, reply) = reply.map_err(|error| error.with_outcome(Outcome::NotCommitted))?;
        table.next_auto_increment.put_own(reply.value, count);
        Ok(())
    }
}
