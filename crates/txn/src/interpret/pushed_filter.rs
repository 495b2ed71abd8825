//! What a scan lets through: rows that fulfil a condition, and of these some columns.

use shoal_types::Result;
use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};

use super::predicate::Predicate;
use super::row_order::RowOrder;
use crate::api::ScanRequest;
use crate::protocol::{FrameReader, malformed, put_u32};

/// What of the rows of a scan is wanted.
#[derive(Clone, Debug, Default)]
pub struct PushedFilter {
    /// Rows for which it is true are shown; `None`: all.
    pub condition: Option<Predicate>,
    /// Positions in the table's rows; rows that are shown have these columns, and behind them those that the scan itself needs: see
    /// [`TableScan::shown_columns`](crate::TableScan::shown_columns).
    pub columns: Option<Vec<usize>>,
}

/// A request with its pushed filter.
pub(crate) struct FilteredScan {
    pub request: ScanRequest,
    /// Its columns are those of the rows that are shown.
    pub pushed: PushedFilter,
    projected: Option<Projected>,
    /// Of rows that are merged.
    order: RowOrder,
}

/// Rows that have some columns alone, and keys of such rows.
struct Projected {
    layout: RowLayout,
    index: KeySpec,
    primary: KeySpec,
}

/// The key of rows that have these columns alone, all of its own among them.
fn key_within(key: &KeySpec, columns: &[usize]) -> KeySpec {
    let mut key = key.clone();
    for part in &mut key.parts {
        part.column = columns.iter().position(|&column| column == part.column).unwrap_or(part.column);
    }
    key
}

impl std::ops::Deref for FilteredScan {
    type Target = ScanRequest;

    fn deref(&self) -> &ScanRequest {
        &self.request
    }
}

impl FilteredScan {
    /// `is_merged`: rows of several partitions, by their keys in the index.
    pub fn new(request: ScanRequest, mut pushed: PushedFilter, is_merged: bool) -> FilteredScan {
        let (types, keys) = (request.table.layout.types(), &request.table.entry_keys);
        let columns = pushed.columns.take().filter(|columns| columns.iter().all(|&column| column < types.len()));
        let projected = columns.map(|mut columns| {
            let merged = keys.get(request.index).filter(|_| is_merged);
            // Locks are given back by primary keys.
            let locked = keys.first().filter(|_| request.mode.lock.is_some());
            for part in merged.into_iter().chain(locked).flat_map(|key| &key.parts) {
                if !columns.contains(&part.column) {
                    columns.push(part.column);
                }
            }
            let key = |index: usize| keys.get(index).map(|key| key_within(key, &columns)).unwrap_or_default();
            let layout = RowLayout::new(columns.iter().map(|&column| types[column].clone()).collect());
            let projected = Projected { layout, index: key(request.index), primary: key(0) };
            pushed.columns = Some(columns);
            projected
        });
        let mut scan = FilteredScan { request, pushed, projected, order: RowOrder::default() };
        if is_merged {
            let needs_keys = scan.request.mode.lock.is_some();
            scan.order = RowOrder::of(scan.index_key(), scan.request.descending, needs_keys);
        }
        scan
    }

    /// What tells the place of a row that is merged; appends its key, unless that is not needed.
    #[inline]
    pub fn head_of(&self, row: RowRef<'_>, key: &mut Vec<u8>) -> u128 {
        self.order.head_of(row, self.index_key(), key)
    }

    /// The layout of the rows that are shown.
    pub fn layout(&self) -> &RowLayout {
        self.projected.as_ref().map_or(&self.request.table.layout, |projected| &projected.layout)
    }

    /// The key in the scan's index, of rows that are merged.
    pub fn index_key(&self) -> &KeySpec {
        self.projected
            .as_ref()
            .map_or(&self.request.table.entry_keys[self.request.index], |projected| &projected.index)
    }

    /// The primary key, of rows that are locked.
    pub fn primary_key(&self) -> &KeySpec {
        self.projected.as_ref().map_or(&self.request.table.keys[0], |projected| &projected.primary)
    }

    /// The columns of the rows that are shown, if these are not all of them.
    pub fn columns(&self) -> Option<&[usize]> {
        self.pushed.columns.as_deref()
    }

    /// Shows a row that lies here, if it passes.
    pub fn show<R>(
        &self,
        row: RowRef<'_>,
        buffer: &mut Vec<u8>,
        refused: R,
        show: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<R> {
        if let Some(condition) = &self.pushed.condition
            && condition.test(row, buffer) != Some(true)
        {
            return Ok(refused);
        }
        let Some((projected, columns)) = self.projected.as_ref().zip(self.pushed.columns.as_ref()) else {
            return Ok(show(row));
        };
        buffer.clear();
        projected.layout.encode_projected(row, columns, buffer)?;
        Ok(show(projected.layout.row(buffer)))
    }
}

/// A pushed filter on its way to a leader, and there.
#[derive(Default)]
pub(crate) struct WireFilter {
    condition: Option<Predicate>,
    columns: Option<Vec<usize>>,
    /// The locks of rows that do not pass are given back.
    pub unlocks: bool,
    layout: Option<RowLayout>,
    key: Vec<u8>,
}

const CONDITION: u8 = 1;
const COLUMNS: u8 = 2;
const UNLOCKS: u8 = 4;

impl WireFilter {
    pub fn put(pushed: &PushedFilter, unlocks: bool, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(pushed.condition.is_some(), CONDITION)
            | flag(pushed.columns.is_some(), COLUMNS)
            | flag(unlocks, UNLOCKS);
        if flags == 0 {
            return;
        }
        out.push(flags);
        if let Some(condition) = &pushed.condition {
            condition.put(out);
        }
        if let Some(columns) = &pushed.columns {
            put_u32(out, columns.len() as u32);
            columns.iter().for_each(|&column| put_u32(out, column as u32));
        }
    }

    pub fn read(bytes: &[u8]) -> Result<WireFilter> {
        if bytes.is_empty() {
            return Ok(WireFilter::default());
        }
        let mut reader = FrameReader::new(bytes);
        let flags = reader.u8()?;
        let condition = if flags & CONDITION != 0 { Some(Predicate::read(&mut reader)?) } else { None };
        let columns = match flags & COLUMNS != 0 {
            true => {
                let count = reader.u32()?;
                Some((0..count).map(|_| Ok(reader.u32()? as usize)).collect::<Result<_>>()?)
            }
            false => None,
        };
        reader.end()?;
        Ok(WireFilter { condition, columns, unlocks: flags & UNLOCKS != 0, ..WireFilter::default() })
    }

    pub fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    pub fn passes(&mut self, row: RowRef<'_>) -> bool {
        match &self.condition {
            Some(condition) => condition.test(row, &mut self.key) == Some(true),
            None => true,
        }
    }

    /// Appends what is wanted of a row that has passed.
    pub fn append(&mut self, row: RowRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Some(columns) = &self.columns else {
            out.extend_from_slice(row.bytes());
            return Ok(());
        };
        if self.layout.is_none() {
            let types = row.layout().types();
            let chosen = columns.iter().map(|&column| types.get(column).cloned());
            self.layout = Some(RowLayout::new(chosen.collect::<Option<_>>().ok_or_else(malformed)?));
        }
        match &self.layout {
            Some(layout) => layout.encode_projected(row, columns, out),
            None => Ok(()),
        }
    }
}
