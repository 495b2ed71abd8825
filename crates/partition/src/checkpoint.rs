//! Checkpoints: the state at one log index, block by block, while the partition goes on.
//!
//! A checkpoint pins the newest applied commit timestamp as a snapshot; later commits have later timestamps, so the
//! versions visible at the pin are exactly the state at the pinned index. Rows come by table id and primary key (by
//! hash and key for tables that have no ordered primary key), so equal states give equal bytes whatever the order
//! they came about in. The bytes are also what a replica is built from.
//!
//! ```text
//! header  1, version u8, partition u32, index u64, term u64, timestamp u64   first
//! table   2, length u32, schema                                               before its rows
//! row     3, commit timestamp u64, length u32, row
//! end     4, rows u64                                                         last
//! ```
//! Blocks are cut between records. The caller guards them by checksums.

use std::sync::Arc;

use shoal_types::{Error, Result, TableId, TableSchema, Timestamp, key_hash};

use crate::btree::Probe;
use crate::entry::{Reader, damaged};
use crate::fragment::Fragment;
use crate::partition::Partition;

/// Rows whose cache misses overlap.
const ROWS_AHEAD: usize = 16;

const VERSION: u8 = 1;
const HEADER: u8 = 1;
const TABLE: u8 = 2;
const ROW: u8 = 3;
const END: u8 = 4;

/// A checkpoint in the making.
pub struct CheckpointCursor {
    /// The partition's, when the checkpoint was begun.
    epoch: u64,
    index: u64,
    term: u64,
    pin: Timestamp,
    /// Tables that are left, the next one last.
    tables: Vec<Arc<TableSchema>>,
    /// The table that is being written and the place in it.
    current: Option<(TableId, Place)>,
    rows: u64,
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

    pub fn term(&self) -> u64 {
        self.term
    }

    /// The newest commit in the checkpoint.
    pub fn timestamp(&self) -> Timestamp {
        self.pin
    }
}

impl Partition {
    /// Pins the present state. Give the cursor back to `end_checkpoint`, finished or not.
    pub fn begin_checkpoint(&mut self) -> CheckpointCursor {
        self.pins.push(self.applied);
        let mut tables: Vec<_> = self.fragments.values().map(|fragment| fragment.schema.clone()).collect();
        tables.sort_unstable_by_key(|schema| std::cmp::Reverse(schema.id));
        CheckpointCursor {
            epoch: self.epoch,
            index: self.applied_index,
            term: self.applied_term,
            pin: self.applied,
            tables,
            current: None,
            rows: 0,
            stage: Stage::Header,
        }
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
            out.extend_from_slice(&cursor.pin.0.to_le_bytes());
            cursor.stage = Stage::Tables;
        }
        while out.len() < limit {
            let Some((table, place)) = &mut cursor.current else {
                let Some(schema) = cursor.tables.pop() else {
                    out.push(END);
                    out.extend_from_slice(&cursor.rows.to_le_bytes());
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
                Place::Key(key) => append_rows_by_key(fragment, cursor.pin, key, limit, out),
                Place::Hash(after) => append_rows_by_hash(fragment, cursor.pin, after, limit, out),
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
        if let Some(position) = self.pins.iter().position(|&pin| pin == cursor.pin) {
            self.pins.swap_remove(position);
        }
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
                END => {
                    if reader.u64()? != self.installing.rows {
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
        let version = reader.byte()?;
        if version != VERSION {
            return Err(Error::unknown(format!("the checkpoint has the unknown version {version}")));
        }
        let partition = reader.u32()?;
        if partition != self.config.id.0 {
            let id = self.config.id;
            return Err(Error::unknown(format!("the checkpoint of partition {partition} was given to {id}")));
        }
        let (index, term, timestamp) = (reader.u64()?, reader.u64()?, Timestamp(reader.u64()?));
        self.begin_state(index, term)?;
        (self.applied_index, self.applied_term) = (index, term);
        (self.applied, self.newest) = (timestamp, timestamp);
        self.installing.begun = true;
        Ok(())
    }

    fn install_row(&mut self, timestamp: Timestamp, row: &[u8]) -> Result<()> {
        let table = self.installing.table.ok_or_else(damaged)?;
        let fragment = self.fragments.get_mut(&table).ok_or_else(damaged)?;
        self.config.budget.charge(fragment.charge_of(row));
        let key = fragment.primary_key_into(row, &mut self.key_buffer);
        fragment.install(row.into(), (key_hash(key), key), timestamp);
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
    pin: Timestamp,
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
        if let Some((timestamp, bytes)) = fragment.visible_version(tree.row(here), pin) {
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
    pin: Timestamp,
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
                .filter_map(|&(_, row)| fragment.visible_version(row, pin))
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
