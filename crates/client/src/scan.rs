//! Scans: what is visited, in which order, and what of it is wanted.

use std::sync::Arc;

use shoal_txn::{KeyRange, PushedFilter, ReadMode, ScanRequest, TableScan, Visit};
use shoal_types::key::successor;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{Result, Value};

use crate::filter::Filter;
use crate::row::{Row, Shape};
use crate::table::{Table, column, index, key_prefix};
use crate::transaction::Transaction;

/// What a scan visits. `Scan::new()` is the whole table; bounds are on leading columns of an index. An index range without a lower
/// bound begins with the NULLs.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    index: Option<String>,
    from: Option<(Vec<Value>, bool)>,
    to: Option<(Vec<Value>, bool)>,
    is_point: bool,
    descending: bool,
    ordered: bool,
    limit: Option<u64>,
    filter: Option<Filter>,
    columns: Option<Vec<String>>,
    pub(crate) mode: ReadMode,
}

impl Scan {
    /// All rows, in no order.
    pub fn new() -> Scan {
        Scan::default()
    }

    /// Along this index; `PRIMARY` is the primary key.
    pub fn index(mut self, name: &str) -> Scan {
        self.index = Some(name.to_owned());
        self
    }

    /// Rows whose leading columns in the index have these values.
    pub fn equal(mut self, values: impl Into<Vec<Value>>) -> Scan {
        let values = values.into();
        self.from = Some((values.clone(), true));
        self.to = Some((values, true));
        self.is_point = true;
        self
    }

    /// No row below these values.
    pub fn from(mut self, values: impl Into<Vec<Value>>) -> Scan {
        self.from = Some((values.into(), true));
        self
    }

    /// Only rows above these values.
    pub fn after(mut self, values: impl Into<Vec<Value>>) -> Scan {
        self.from = Some((values.into(), false));
        self
    }

    /// No row above these values.
    pub fn up_to(mut self, values: impl Into<Vec<Value>>) -> Scan {
        self.to = Some((values.into(), true));
        self
    }

    /// Only rows below these values.
    pub fn before(mut self, values: impl Into<Vec<Value>>) -> Scan {
        self.to = Some((values.into(), false));
        self
    }

    /// In the order of the index, over all partitions. Without it rows come partition by partition.
    pub fn ordered(mut self) -> Scan {
        self.ordered = true;
        self
    }

    /// In the order of the index, backwards.
    pub fn descending(mut self) -> Scan {
        self.ordered = true;
        self.descending = true;
        self
    }

    /// No more rows than this many.
    pub fn limit(mut self, rows: u64) -> Scan {
        self.limit = Some(rows);
        self
    }

    /// Only rows for which this is true. It is evaluated where the rows lie.
    pub fn filter(mut self, filter: Filter) -> Scan {
        self.filter = Some(filter);
        self
    }

    /// Only these columns of the rows.
    pub fn columns(mut self, names: &[&str]) -> Scan {
        self.columns = Some(names.iter().map(|&name| name.to_owned()).collect());
        self
    }

    /// How rows are read: with or without locks.
    pub fn mode(mut self, mode: ReadMode) -> Scan {
        self.mode = mode;
        self
    }

    fn key_range(&self, table: &shoal_cluster::Table, index: usize) -> Result<Option<KeyRange>> {
        let bound = |bound: &Option<(Vec<Value>, bool)>| {
            bound
                .as_ref()
                .map(|(values, inclusive)| Ok((key_prefix(table, index, values)?, *inclusive)))
                .transpose()
        };
        let (mut from, mut to) = (bound(&self.from)?, bound(&self.to)?);
        let parts = |bound: &Option<(Vec<Value>, bool)>| bound.as_ref().map_or(0, |(values, _)| values.len());
        let bounded = parts(&self.from).max(parts(&self.to));
        // The greatest values of a descending column come first.
        if !self.is_point && bounded > 0 && table.keys[index].parts[bounded - 1].descending {
            std::mem::swap(&mut from, &mut to);
        }
        let start = match from {
            None => Vec::new(),
            Some((key, true)) => key,
            // Nothing is behind a key of nothing but 0xff.
            Some((key, false)) => match successor(&key) {
                Some(start) => start,
                None => return Ok(None),
            },
        };
        let end = match to {
            None => Vec::new(),
            Some((key, true)) => successor(&key).unwrap_or_default(),
            Some((key, false)) if key.is_empty() => return Ok(None),
            Some((key, false)) => key,
        };
        Ok((end.is_empty() || start < end).then_some(KeyRange { start, end }))
    }

    /// The partition key, if the bounds give it a value.
    fn partition_key(&self, table: &shoal_cluster::Table, index: usize) -> Result<Option<Vec<u8>>> {
        let Some((values, _)) = self.from.as_ref().filter(|_| self.is_point) else { return Ok(None) };
        let parts = &table.keys[index].parts[..values.len().min(table.keys[index].parts.len())];
        let mut key = Vec::new();
        for wanted in &table.partition_key.parts {
            let Some(place) =
                parts.iter().position(|part| part.column == wanted.column && part.prefix_length == 0)
            else {
                return Ok(None);
            };
            let value = crate::table::stored(table, wanted.column, &values[place], 1)?;
            wanted.append_value(&value, &shoal_types::TimeZone::UTC, &mut key)?;
        }
        Ok(Some(key))
    }

    pub(crate) fn open(&self, table: &Arc<shoal_cluster::Table>, transaction: &mut Transaction) -> Result<Rows> {
        let index = self.index.as_ref().map_or(Ok(0), |name| index(table, name))?;
        let columns = self.columns.as_ref().map(|names| names.iter().map(|name| column(table, name)).collect());
        let columns: Option<Vec<usize>> = columns.transpose()?;
        let condition = self.filter.as_ref().map(|filter| filter.resolve(table)).transpose()?;
        let request = ScanRequest {
            table: Arc::clone(table),
            index,
            ranges: self.key_range(table, index)?.into_iter().collect(),
            descending: self.descending,
            ordered: self.ordered,
            partition_key: self.partition_key(table, index)?,
            mode: transaction.mode(self.mode),
            row_limit: self.limit.filter(|_| condition.is_none()),
        };
        let pushed = PushedFilter { condition, columns: columns.clone() };
        let scan = transaction.inner.scan_through(request, pushed);
        let shape = Arc::new(Shape::of(table, columns.as_deref()));
        // What the scan itself needs is left out here.
        let rest = columns.filter(|columns| scan.shown_columns().is_none_or(|shown| shown.len() > columns.len()));
        let rest = rest.map(|columns| match scan.shown_columns() {
            Some(_) => (0..columns.len()).collect(),
            None => columns,
        });
        Ok(Rows { scan, shape, rest, left: self.limit, is_done: self.limit == Some(0), buffer: Vec::new() })
    }
}

/// A scan in progress.
pub struct Rows {
    scan: TableScan,
    shape: Arc<Shape>,
    rest: Option<Vec<usize>>,
    left: Option<u64>,
    is_done: bool,
    buffer: Vec<u8>,
}

impl Rows {
    /// The columns of the rows.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The next rows; none: the scan is at its end.
    pub async fn next_batch(&mut self, transaction: &mut Transaction) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let shape = Arc::clone(&self.shape);
        while rows.is_empty()
            && self.visit(transaction, &mut |row| rows.push(Row::new(&shape, row.bytes()))).await?
        {}
        Ok(rows)
    }

    /// Shows the next rows in place. False: the scan is at its end.
    pub async fn visit(&mut self, transaction: &mut Transaction, see: &mut dyn FnMut(RowRef<'_>)) -> Result<bool> {
        transaction.check()?;
        if self.is_done {
            return Ok(false);
        }
        let (left, rest, buffer) = (&mut self.left, &self.rest, &mut self.buffer);
        let layout: &RowLayout = self.shape.layout();
        let mut show = |row: RowRef<'_>| {
            match rest {
                None => see(row),
                Some(columns) => {
                    buffer.clear();
                    layout.encode_projected(row, columns, buffer)?;
                    see(layout.row(buffer));
                }
            }
            if let Some(left) = left {
                *left -= 1;
                if *left == 0 {
                    return Ok(Visit::TakeAndStop);
                }
            }
            Ok(Visit::Take)
        };
        let more = self.scan.next(&mut transaction.inner, &mut show).await;
        let more = transaction.note(more)?;
        self.is_done = !more || self.left == Some(0);
        Ok(true)
    }
}

impl Transaction {
    /// Begins a scan.
    pub fn scan(&mut self, table: &Table, scan: &Scan) -> Result<Rows> {
        self.start()?;
        scan.open(&table.definition()?, self)
    }

    /// All rows of a scan.
    pub async fn scan_all(&mut self, table: &Table, scan: &Scan) -> Result<Vec<Row>> {
        let mut rows = self.scan(table, scan)?;
        let mut all = Vec::new();
        let shape = Arc::clone(rows.shape());
        while rows.visit(self, &mut |row| all.push(Row::new(&shape, row.bytes()))).await? {}
        Ok(all)
    }
}
