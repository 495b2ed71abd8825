//! The end of a block: DISTINCT, ORDER BY, LIMIT, then the consumer.

use shoal_expr::append_group_key;
use shoal_types::{Result, SqlType, Value};

use std::rc::Rc;

use super::key_set::KeySet;
use super::memory::StatementMemory;
use super::sort::Sorter;
use super::{Flow, RowConsumer};
use crate::plan::SortKey;
use crate::session::Interrupt;

/// Rows that a sort may hold before it throws away what a LIMIT does not want.
const TOP_ROWS_SLACK: usize = 1024;
/// Sorted rows that are passed on between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 1024;

/// Rows that were passed on already, by their bytes in these types.
type Distinct = (KeySet, Vec<SqlType>);

/// Takes projected rows (visible columns, then sort keys) and passes on the visible columns of those that remain.
pub struct Output<'a> {
    visible: usize,
    distinct: Option<Distinct>,
    /// `None`: no ORDER BY.
    sorter: Option<Sorter<'a>>,
    offset: u64,
    limit: Option<u64>,
    count_all_rows: bool,
    /// Rows that came through before OFFSET and LIMIT, for FOUND_ROWS().
    pub rows_seen: u64,
    passed: u64,
    key: Vec<u8>,
    consumer: &'a mut dyn RowConsumer,
}

impl<'a> Output<'a> {
    pub fn new(
        visible: usize,
        distinct: Option<Vec<SqlType>>,
        order: &'a [SortKey],
        (offset, limit): (u64, Option<u64>),
        count_all_rows: bool,
        memory: &Rc<StatementMemory>,
        consumer: &'a mut dyn RowConsumer,
    ) -> Output<'a> {
        Output {
            visible,
            distinct: distinct.map(|types| (KeySet::new(memory), types)),
            sorter: (!order.is_empty()).then(|| Sorter::new(order, memory)),
            offset,
            limit,
            count_all_rows,
            rows_seen: 0,
            passed: 0,
            key: Vec::new(),
            consumer,
        }
    }

    /// Rows go straight to the consumer, one by one, none left out but by OFFSET and LIMIT.
    pub fn is_plain(&self) -> bool {
        self.distinct.is_none() && self.sorter.is_none()
    }

    /// Most rows that can be wanted of an input in the right order.
    pub fn rows_wanted(&self) -> Option<u64> {
        if self.is_plain() && !self.count_all_rows {
            self.limit.map(|limit| limit.saturating_add(self.offset))
        } else {
            None
        }
    }

    /// Most rows that can be wanted, if LIMIT says so: OFFSET and LIMIT.
    pub fn limit(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_add(self.offset))
    }

    /// No row can be wanted at all (LIMIT 0).
    pub fn is_full(&self) -> bool {
        !self.count_all_rows && self.sorter.is_none() && self.limit.is_some_and(|limit| self.passed >= limit)
    }

    /// Takes a row; its values are gone afterwards if they had to be kept.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<Flow> {
        if let Some((seen, types)) = &mut self.distinct {
            self.key.clear();
            for (value, sql_type) in row[..self.visible].iter().zip(types.iter()) {
                append_group_key(value, sql_type, &mut self.key);
            }
            if !seen.insert(&self.key)? {
                return Ok(Flow::Continue);
            }
        }
        self.rows_seen += 1;
        let Some(sorter) = &mut self.sorter else {
            return self.pass_on(|consumer, visible| consumer.push(&row[..visible]));
        };
        sorter.push(row)?;
        Ok(Flow::Continue)
    }

    /// A stored row whose columns at `projection` are the result row; only for a plain output.
    pub fn push_stored(
        &mut self,
        row: shoal_types::row::RowRef<'_>,
        projection: &[usize],
        zone: &shoal_types::TimeZone,
    ) -> Result<Flow> {
        self.rows_seen += 1;
        self.pass_on(|consumer, _| consumer.push_stored(row, projection, zone))
    }

    fn pass_on(&mut self, push: impl FnOnce(&mut dyn RowConsumer, usize) -> Result<Flow>) -> Result<Flow> {
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(Flow::Continue);
        }
        if self.limit.is_some_and(|limit| self.passed >= limit) {
            return Ok(if self.count_all_rows { Flow::Continue } else { Flow::Stop });
        }
        self.passed += 1;
        if push(&mut *self.consumer, self.visible)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let full = self.limit.is_some_and(|limit| self.passed >= limit);
        Ok(if full && !self.count_all_rows { Flow::Stop } else { Flow::Continue })
    }

    /// Keeps a sort under a LIMIT from growing with its input. To be called after every batch.
    pub async fn trim(&mut self, interrupt: &Interrupt) -> Result<()> {
        let (Some(limit), Some(sorter)) = (self.limit, &mut self.sorter) else { return Ok(()) };
        let wanted = usize::try_from(limit.saturating_add(self.offset)).unwrap_or(usize::MAX);
        if sorter.row_count() < wanted.saturating_mul(2).saturating_add(TOP_ROWS_SLACK) {
            return Ok(());
        }
        sorter.sort(interrupt).await?;
        sorter.truncate(wanted, interrupt).await
    }

    pub fn wants_flush(&self) -> bool {
        self.consumer.wants_flush()
    }

    pub async fn flush(&mut self) -> Result<()> {
        self.consumer.flush().await
    }

    /// Passes on what was kept back for sorting.
    pub async fn finish(&mut self, interrupt: &Interrupt) -> Result<()> {
        let Some(mut sorter) = self.sorter.take() else { return Ok(()) };
        sorter.sort(interrupt).await?;
        for (number, row) in sorter.rows().enumerate() {
            if self.pass_on(|consumer, visible| consumer.push(&row[..visible]))? == Flow::Stop {
                break;
            }
            if self.wants_flush() {
                self.flush().await?;
            }
            if number.is_multiple_of(ROWS_PER_CHECK) {
                interrupt.check_between_batches().await?;
            }
        }
        Ok(())
    }
}
