//! Checkpoints: the state at one log index, block by block, while the partition goes on.
//!
//! A checkpoint pins the newest applied commit timestamp as a snapshot; later commits have later timestamps, so the
//! versions visible at the pin are exactly the state at the pinned index. The exception are transactions that were
//! prepared before the checkpoint began and are decided while it is written ([`Pin::late`]): of their rows it shows what
//! was there before. Rows come by table id and primary key (by hash and key for tables that have no ordered primary
//! key), transactions by id, so equal states give equal bytes whatever the order they came about in. The bytes are
//! also what a replica is built from.
//!
//! ```text
//! header    1, version u8, partition u32, index u64, term u64, timestamp u64   first
//! table     2, length u32, schema                                               before its rows
//! row       3, commit timestamp u64, length u32, row
//! prepared  5, length u32, its PREPARE entry, or a PART entry                    behind all rows
//! decision  6, transaction u64, commit timestamp u64, count u32, so many participants u32
//! end       4, rows u64, records behind the rows u64                             last
//! ```
//! Blocks are cut between records. The caller guards them by checksums.

use std::collections::VecDeque;
use std::sync::Arc;

use shoal_types::{Error, PartitionId, Result, TableId, TableSchema, Timestamp, TransactionId, key_hash};

use crate::btree::Probe;
use crate::entry::{self, DecodedEntry, Reader, damaged};
use crate::fragment::Fragment;
use crate::map::Map;
use crate::partition::Partition;
use crate::pin::Pin;
use crate::workspace::State;

/// Rows whose cache misses overlap.
const ROWS_AHEAD: usize = 16;

const VERSION: u8 = 2;
const HEADER: u8 = 1;
const TABLE: u8 = 2;
const ROW: u8 = 3;
const END: u8 = 4;
const PREPARED: u8 = 5;
const DECISION: u8 = 6;

/// What a checkpoint begins with: whose state it is, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointHead {
    /// Whose state it is.
    pub partition: PartitionId,
    /// The last log entry whose effects the checkpoint holds, and its term.
    pub index: u64,
    /// The term of that entry.
    pub term: u64,
    /// The newest commit in it.
    pub timestamp: Timestamp,
}

impl CheckpointHead {
    /// Reads it off the first block.
    pub fn of(first_block: &[u8]) -> Result<CheckpointHead> {
        let mut reader = Reader::new(first_block);
        match reader.byte()? {
            HEADER => CheckpointHead::read(&mut reader),
            _ => Err(damaged()),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<CheckpointHead> {
        let version = reader.byte()?;
        if version != VERSION {
            return Err(Error::unknown(format!("the checkpoint has the unknown version {version}")));
        }
        Ok(CheckpointHead {
            partition: PartitionId(reader.u32()?),
            index: reader.u64()?,
            term: reader.u64()?,
            timestamp: Timestamp(reader.u64()?),
        })
    }
}

/// A checkpoint in the making.
pub struct CheckpointCursor {
    /// The partition's, when the checkpoint was begun.
    epoch: u64,
    index: u64,
    term: u64,
    timestamp: Timestamp,
    pin_number: u64,
    /// Tables that are left, the next one last.
    tables: Vec<Arc<TableSchema>>,
    /// The table that is being written and the place in it.
    current: Option<(TableId, Place)>,
    rows: u64,
    /// The records of prepared transactions and decisions, as they were when the checkpoint began.
    undecided: VecDeque<Vec<u8>>,
    undecided_count: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    Tables,
    Ended,
}

enum Place {
    /// The last primary key written.
    Key(Option<Vec<u8>>),
    /// The last (hash, row) written, for tables without an ordered primary key.
    Hash(Option<(u32, u32)>),
}

impl CheckpointCursor {
    /// The last log entry whose effects the checkpoint holds.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The term of the entry at `index`.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// The newest commit in the checkpoint.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

impl Partition {
    /// Pins the present state. Give the cursor back to `end_checkpoint`, finished or not.
    pub fn begin_checkpoint(&mut self) -> CheckpointCursor {
        self.go_on_to_the_end();
        let pin_number = self.pins.last().map_or(0, |pin| pin.number + 1);
        let timestamp = self.applied;
        self.pins.push(Pin { number: pin_number, timestamp, floor: timestamp, late: Map::default() });
        let mut tables: Vec<_> = self.fragments.values().map(|fragment| fragment.schema.clone()).collect();
        tables.sort_unstable_by_key(|schema| std::cmp::Reverse(schema.id));
        let undecided = self.undecided_records();
        CheckpointCursor {
            epoch: self.epoch,
            index: self.applied_index,
            term: self.applied_term,
            timestamp,
            pin_number,
            tables,
            current: None,
            rows: 0,
            undecided_count: undecided.len() as u64,
            undecided,
            stage: Stage::Header,
        }
    }

    /// Prepared transactions, parts of commits to come and decisions as records.
    fn undecided_records(&self) -> VecDeque<Vec<u8>> {
        let has_table = |table| self.fragments.contains_key(&table);
        let prepared = self.two_phase.prepared.keys().filter_map(|&id| {
            let transaction = self.transaction(id)?;
            let State::Prepared { home, timestamp } = transaction.state else { return None };
            let mut record = Vec::new();
            let entry = entry::encode_prepare(transaction, home, timestamp, has_table);
            append_sized(PREPARED, None, &entry, &mut record);
            Some(record)
        });
        let decisions = self.two_phase.decisions.iter().map(|(id, decision)| {
            let mut record = vec![DECISION];
            record.extend_from_slice(&id.0.to_le_bytes());
            record.extend_from_slice(&decision.timestamp.0.to_le_bytes());
            entry::append_partitions(&decision.participants, &mut record);
            record
        });
        let parts = self.logged_parts().map(|entry| {
            let mut record = Vec::with_capacity(entry.len() + 5);
            append_sized(PREPARED, None, &entry, &mut record);
            record
        });
        prepared.chain(parts).chain(decisions).collect()
    }

    fn pin(&self, cursor: &CheckpointCursor) -> Result<&Pin> {
        let pin = self.pins.iter().find(|pin| pin.number == cursor.pin_number);
        pin.ok_or_else(|| Error::unknown("internal: a checkpoint whose state is not pinned any more"))
    }

    /// The state that the checkpoint was begun in has not been replaced since by another replica's, and is not about to be.
    pub fn is_current(&self, cursor: &CheckpointCursor) -> bool {
        cursor.epoch == self.epoch && !self.is_installing()
    }

    /// Appends the next block, of about `max_bytes`, to `out`; false when there is none left.
    pub fn next_checkpoint_block(
        &mut self,
        cursor: &mut CheckpointCursor,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if cursor.stage == Stage::Ended {
            return Ok(false);
        }
        if cursor.epoch != self.epoch {
            return Err(Error::unknown("the partition's state was replaced while a checkpoint of it was written"));
        }
        let limit = out.len() + max_bytes.max(1);
        if cursor.stage == Stage::Header {
            out.extend_from_slice(&[HEADER, VERSION]);
            out.extend_from_slice(&self.config.id.0.to_le_bytes());
            out.extend_from_slice(&cursor.index.to_le_bytes());
            out.extend_from_slice(&cursor.term.to_le_bytes());
            out.extend_from_slice(&cursor.timestamp.0.to_le_bytes());
            cursor.stage = Stage::Tables;
        }
        let pin = self.pin(cursor)?;
        while out.len() < limit {
            let Some((table, place)) = &mut cursor.current else {
                let Some(schema) = cursor.tables.pop() else {
                    if let Some(record) = cursor.undecided.pop_front() {
                        out.extend_from_slice(&record);
                        continue;
                    }
                    out.push(END);
                    out.extend_from_slice(&cursor.rows.to_le_bytes());
                    out.extend_from_slice(&cursor.undecided_count.to_le_bytes());
                    cursor.stage = Stage::Ended;
                    return Ok(true);
                };
                let fragment = self.pinned_fragment(schema.id)?;
                let place = if fragment.primary_ordered { Place::Key(None) } else { Place::Hash(None) };
                cursor.current = Some((schema.id, place));
                append_sized(TABLE, None, &schema.encode(), out);
                continue;
            };
            let fragment = self.pinned_fragment(*table)?;
            let (written, done) = match place {
                Place::Key(key) => append_rows_by_key(fragment, pin, key, limit, out),
                Place::Hash(after) => append_rows_by_hash(fragment, pin, after, limit, out),
            };
            cursor.rows += written;
            if done {
                cursor.current = None;
            }
        }
        Ok(true)
    }

    /// Unpins the state.
    pub fn end_checkpoint(&mut self, cursor: CheckpointCursor) {
        if cursor.epoch != self.epoch {
            return;
        }
        self.pins.retain(|pin| pin.number != cursor.pin_number);
        if self.pins.is_empty() {
            for fragment in self.retired.drain(..) {
                self.config.budget.release(fragment.bytes());
            }
        }
    }

    fn pinned_fragment(&self, table: TableId) -> Result<&Fragment> {
        let retired = || self.retired.iter().find(|fragment| fragment.schema.id == table);
        let fragment = self.fragments.get(&table).or_else(retired);
        fragment.map(|fragment| &**fragment).ok_or_else(|| Error::unknown("internal: a pinned table is gone"))
    }

    /// Takes the next block of a checkpoint, in order: into an empty partition before `replay` and `start`, or between
    /// `begin_install` and `finish_install`.
    pub fn install_checkpoint_block(&mut self, block: &[u8]) -> Result<()> {
        let mut reader = Reader::new(block);
        while !reader.is_empty() {
            let kind = reader.byte()?;
            if (kind != HEADER) != self.installing.begun || self.installing.ended {
                return Err(damaged());
            }
            match kind {
                HEADER => self.install_header(&mut reader)?,
                TABLE => {
                    self.finish_table();
                    let schema = Arc::new(TableSchema::decode(reader.sized()?)?);
                    self.installing.table = Some(schema.id);
                    self.apply_create(schema);
                }
                ROW => {
                    let timestamp = Timestamp(reader.u64()?);
                    let row = reader.sized()?;
                    self.install_row(timestamp, row)?;
                }
                PREPARED => {
                    self.finish_table();
                    let data = reader.sized()?;
                    match entry::decode(data)? {
                        DecodedEntry::Prepare(prepare) => self.apply_decoded_prepare(prepare)?,
                        DecodedEntry::Part { transaction, .. } => self.apply_part(transaction, data),
                        _ => return Err(damaged()),
                    }
                    self.installing.undecided += 1;
                }
                DECISION => {
                    let transaction = TransactionId(reader.u64()?);
                    let timestamp = Timestamp(reader.u64()?);
                    self.apply_decision_made(transaction, timestamp, reader.partitions()?.into());
                    self.installing.undecided += 1;
                }
                END => {
                    let (rows, undecided) = (reader.u64()?, reader.u64()?);
                    if (rows, undecided) != (self.installing.rows, self.installing.undecided) {
                        return Err(Error::unknown("the checkpoint does not have the rows that it says it has"));
                    }
                    self.finish_table();
                    self.installing.ended = true;
                }
                _ => return Err(damaged()),
            }
        }
        Ok(())
    }

    fn install_header(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let head = CheckpointHead::read(reader)?;
        self.begin_state(&head)?;
        let CheckpointHead { index, term, timestamp, .. } = head;
        (self.applied_index, self.applied_term) = (index, term);
        (self.applied, self.newest) = (timestamp, timestamp);
        self.set_gc_horizon(timestamp);
        self.installing.begun = true;
        Ok(())
    }

    fn install_row(&mut self, timestamp: Timestamp, row: &[u8]) -> Result<()> {
        let table = self.installing.table.ok_or_else(damaged)?;
        let fragment = self.fragments.get_mut(&table).ok_or_else(damaged)?;
        self.config.budget.charge(fragment.charge_of(row));
        let key = fragment.primary_key_into(row, &mut self.key_buffer);
        fragment.install(row, (key_hash(key), key), timestamp);
        self.installing.rows += 1;
        Ok(())
    }

    fn finish_table(&mut self) {
        if let Some(fragment) = self.installing.table.take().and_then(|table| self.fragments.get_mut(&table)) {
            fragment.finish_install();
        }
    }
}

fn append_sized(kind: u8, timestamp: Option<Timestamp>, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    if let Some(timestamp) = timestamp {
        out.extend_from_slice(&timestamp.0.to_le_bytes());
    }
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends rows behind `last` until `out` reaches `limit`; how many, and whether they were the last.
fn append_rows_by_key(
    fragment: &Fragment,
    pin: &Pin,
    last: &mut Option<Vec<u8>>,
    limit: usize,
    out: &mut Vec<u8>,
) -> (u64, bool) {
    let tree = &fragment.ordered[0].tree;
    let mut place = match last {
        Some(key) => tree.seek(&Probe::behind(key)),
        None => tree.first(),
    };
    let mut written = 0;
    let mut previous = None;
    let mut ahead = [0; ROWS_AHEAD];
    for looked_at in 0.. {
        let Some(here) = place.filter(|_| out.len() < limit) else { break };
        if looked_at % ROWS_AHEAD == 0 {
            fragment.warm(tree.rows_from(here, &mut ahead));
        }
        if let Some((timestamp, bytes)) = pin.version(fragment, tree.row(here)) {
            append_sized(ROW, Some(timestamp), bytes, out);
            written += 1;
        }
        previous = Some(here);
        place = tree.next(here);
    }
    if let Some(previous) = previous {
        let key = last.get_or_insert_default();
        key.clear();
        tree.append_key(previous, key);
    }
    (written, place.is_none())
}

fn append_rows_by_hash(
    fragment: &Fragment,
    pin: &Pin,
    after: &mut Option<(u32, u32)>,
    limit: usize,
    out: &mut Vec<u8>,
) -> (u64, bool) {
    let mut written = 0;
    let mut key = Vec::new();
    while out.len() < limit {
        let Some(slots) = fragment.slots_after(*after) else {
            return (written, true);
        };
        for group in slots.chunk_by(|one, other| one.0 == other.0) {
            // Row ids depend on history; among equal hashes the keys decide.
            let mut rows: Vec<_> = group
                .iter()
                .filter_map(|&(_, row)| pin.version(fragment, row))
                .map(|(timestamp, bytes)| (fragment.primary_key_into(bytes, &mut key).to_vec(), timestamp, bytes))
                .collect();
            rows.sort_unstable();
            for (_, timestamp, bytes) in rows {
                append_sized(ROW, Some(timestamp), bytes, out);
                written += 1;
            }
            *after = group.last().copied();
            if out.len() >= limit {
                break;
            }
        }
    }
    (written, false)
}
