//! Finding rows and changing them: `U`, `D`, `+`, `-`, and the forms that answer with the rows as they were.
//!
//! Rows are locked when they are found and changed where they stand; what is found does not include what the same request has
//! changed. A request that fails leaves nothing of its changes behind.

use shoal_txn::new_row::check_has_no_rules;
use shoal_txn::{Inserted, Modification, Transaction, Visit};
use shoal_types::row::RowRef;
use shoal_types::{BaseType, Comparison, Decimal, Error, ErrorCode, Result, StoreOptions, Value};

use crate::clock::now_of;
use crate::convert::{column_value, stored};
use crate::filter::Filters;
use crate::find::{Choice, Selection, Tools, check_size, places};
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_number, append_row, begin_rows, end_rows};
use crate::request::{Change, ChangeKind, Request};
use crate::search::{Key, is_lookup, primary_key, read_mode, scan};
use crate::token;

/// What becomes of a row that is found.
pub enum Plan {
    Assign(Vec<(usize, Value)>),
    Delete,
    /// Columns, with the texts of what is added or subtracted.
    Add(Vec<(usize, Vec<u8>)>),
    Subtract(Vec<(usize, Vec<u8>)>),
}

/// A row as it will be.
pub enum NewRow {
    /// It is left as it is and does not count.
    Uncounted,
    Same,
    Changed(Vec<u8>),
    Deleted,
}

/// What rows of an index are changed with.
#[derive(Clone, Copy)]
pub struct Changer<'a> {
    pub open: &'a Resolved,
    pub options: &'a StoreOptions,
    pub now_micros: i64,
}

/// One request's work.
struct Work<'a> {
    changer: Changer<'a>,
    open: &'a Resolved,
    plan: Plan,
    selection: Selection,
    returns_rows: bool,
    count: u64,
    out: &'a mut Vec<u8>,
    start: usize,
}

/// Changes the rows that are found.
pub async fn modify(
    open: &Resolved,
    (comparison, change): (Comparison, Change),
    request: &Request,
    line: &[u8],
    (tools, now_micros): (Tools<'_>, i64),
    out: &mut Vec<u8>,
) -> Outcome {
    let Tools { transaction, key, buffer, options } = tools;
    transaction.check_has_no_children(&open.table)?;
    let filters = Filters::prepare(&request.filters, line, open, options, buffer)?;
    let plan = Plan::of(change.kind, open, request, line, options, buffer)?;
    let start = out.len();
    let selection = Selection::new(filters, request);
    let returns_rows = change.returns_rows;
    let changer = Changer { open, options, now_micros };
    let mut work = Work { changer, open, plan, selection, returns_rows, count: 0, out, start };
    if returns_rows {
        begin_rows(&open.columns, work.out);
    }
    for place in places(request, line)? {
        key.encode(open, request, place, line, options, buffer)?;
        let in_place = open.index == 0 && is_lookup(open, comparison, key) && !work.plan.moves_rows(open);
        match in_place {
            true => work.modify_in_place(transaction, key).await?,
            false => work.modify_found(transaction, comparison, key, place.is_some()).await?,
        }
        if work.selection.is_done() {
            break;
        }
    }
    work.report_numbers(transaction).await?;
    match returns_rows {
        true => end_rows(work.out),
        false => append_number(work.count, work.out),
    }
    Ok(())
}

impl Plan {
    pub fn of(
        kind: ChangeKind,
        open: &Resolved,
        request: &Request,
        line: &[u8],
        options: &StoreOptions,
        buffer: &mut Vec<u8>,
    ) -> Outcome<Plan> {
        if kind != ChangeKind::Delete && request.change_values.len() > open.columns.len() {
            return Err(Refusal::Request("fld"));
        }
        let mut pairs = open.columns.iter().zip(&request.change_values);
        if kind == ChangeKind::Delete {
            return Ok(Plan::Delete);
        }
        check_has_no_rules(&open.table)?;
        if kind == ChangeKind::Update {
            let mut values = Vec::with_capacity(open.columns.len());
            for (column, span) in pairs {
                let definition = &open.table.schema.columns[column.column];
                let text = token::value(span.of(line), buffer);
                values.push((column.column, column_value(definition, text, options)?));
            }
            return Ok(Plan::Assign(values));
        }
        let mut operands = Vec::with_capacity(open.columns.len());
        for (column, span) in &mut pairs {
            // NULL leaves its column alone.
            if let Some(text) = token::value(span.of(line), buffer) {
                operands.push((column.column, text.to_vec()));
            }
        }
        Ok(if kind == ChangeKind::Add { Plan::Add(operands) } else { Plan::Subtract(operands) })
    }

    pub fn assigns(&self, column: usize) -> bool {
        match self {
            Plan::Delete => false,
            Plan::Assign(values) => values.iter().any(|(assigned, _)| *assigned == column),
            Plan::Add(operands) | Plan::Subtract(operands) => {
                operands.iter().any(|(assigned, _)| *assigned == column)
            }
        }
    }

    /// Rows may get another primary key.
    pub fn moves_rows(&self, open: &Resolved) -> bool {
        open.table.keys[0].parts.iter().any(|part| self.assigns(part.column))
    }
}

impl Work<'_> {
    /// The row of a whole primary key, which stays: read, changed and written under one hold of its partition.
    async fn modify_in_place(&mut self, transaction: &mut Transaction, key: &Key) -> Outcome {
        let open = self.open;
        // The decision may be asked for again, so it counts nothing itself.
        let decide = |row: RowRef<'_>| {
            let choice = self.selection.judge(row);
            let keep = |unlock| Modification::Keep { unlock };
            let old = row.bytes().to_vec();
            if choice != Choice::Taken {
                return Ok((keep(true), (choice, old, false)));
            }
            Ok(match self.changer.new_row(&self.plan, row)? {
                NewRow::Uncounted => (keep(false), (choice, old, false)),
                NewRow::Same => (keep(false), (choice, old, true)),
                NewRow::Deleted => (Modification::Delete, (choice, old, true)),
                NewRow::Changed(new) => (Modification::Update(new), (choice, old, true)),
            })
        };
        let Some((inserted, (choice, old, counts))) = transaction.modify(&open.table, &key.bytes, decide).await?
        else {
            return Ok(());
        };
        if inserted != Inserted::Done {
            return Err(Refusal::duplicate());
        }
        let old = open.table.layout.row(&old);
        self.selection.count(choice);
        self.took(old, choice, counts)
    }

    /// Any other rows: locked in batches as they are found, then changed.
    async fn modify_found(
        &mut self,
        transaction: &mut Transaction,
        comparison: Comparison,
        key: &Key,
        is_listed: bool,
    ) -> Outcome {
        let (open, mode) = (self.open, read_mode(true));
        let mut rows: Vec<Vec<u8>> = Vec::new();
        if is_lookup(open, comparison, key) {
            if let Some(primary_key) = primary_key(transaction, open, key, mode).await? {
                let selection = &mut self.selection;
                let take = |row: Option<RowRef<'_>>| {
                    row.filter(|row| selection.choose(*row) == Choice::Taken).map(|row| row.bytes().to_vec())
                };
                rows.extend(transaction.get(&open.table, &primary_key, mode, take).await?);
            }
            return self.change_all(transaction, rows).await;
        }
        let row_limit = if is_listed { Some(1) } else { self.selection.row_limit() };
        let mut scan = scan(transaction, open, comparison, key, mode, row_limit)?;
        loop {
            let selection = &mut self.selection;
            let mut visit = |row: RowRef<'_>| {
                let choice = selection.choose(row);
                if choice == Choice::Taken {
                    rows.push(row.bytes().to_vec());
                }
                Ok(match choice {
                    Choice::Taken if selection.is_done() || is_listed => Visit::TakeAndStop,
                    Choice::Taken => Visit::Take,
                    Choice::Passed | Choice::Skipped if !is_listed => Visit::Skip,
                    _ => Visit::Stop,
                })
            };
            let more = scan.next(transaction, &mut visit).await?;
            self.change_all(transaction, std::mem::take(&mut rows)).await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Changes rows that are locked.
    async fn change_all(&mut self, transaction: &mut Transaction, rows: Vec<Vec<u8>>) -> Outcome {
        let table = &self.open.table;
        for old in rows {
            let row = table.layout.row(&old);
            let new = self.changer.new_row(&self.plan, row)?;
            match &new {
                NewRow::Uncounted | NewRow::Same => {}
                NewRow::Deleted => transaction.delete_row(table, &old).await?,
                NewRow::Changed(new) => {
                    if transaction.replace_row(table, &old, new).await? != Inserted::Done {
                        return Err(Refusal::duplicate());
                    }
                }
            }
            self.took(row, Choice::Taken, !matches!(new, NewRow::Uncounted))?;
        }
        Ok(())
    }

    /// A row has been chosen, and changed if it was to be.
    fn took(&mut self, old: RowRef<'_>, choice: Choice, counts: bool) -> Outcome {
        if choice != Choice::Taken {
            return Ok(());
        }
        self.count += u64::from(counts);
        if self.returns_rows {
            append_row(&self.open.columns, old, &self.changer.options.temporal.zone, self.out);
            check_size(self.out.len() - self.start)?;
        }
        Ok(())
    }

    /// Rows that come later are numbered above what an AUTO_INCREMENT column was given.
    async fn report_numbers(&self, transaction: &Transaction) -> Outcome {
        let table = &self.open.table;
        let Some(column) = table.schema.auto_increment_column() else { return Ok(()) };
        if self.count == 0 || !self.plan.assigns(column) {
            return Ok(());
        }
        if let Plan::Assign(values) = &self.plan {
            let given = values.iter().filter(|(assigned, _)| *assigned == column);
            for number in given.filter_map(|(_, value)| u64::try_from(value.to_i64().value).ok()) {
                table.next_auto_increment.note_given(number);
            }
        }
        if transaction.node().cluster().is_some() {
            transaction.node().report_numbers(table).await?;
        }
        Ok(())
    }
}

impl Changer<'_> {
    /// The row as `plan` makes it.
    pub fn new_row(&self, plan: &Plan, row: RowRef<'_>) -> Result<NewRow> {
        let table = &self.open.table;
        let mut changes = match plan {
            Plan::Delete => return Ok(NewRow::Deleted),
            Plan::Assign(values) => values.clone(),
            Plan::Add(operands) => self.calculated(row, operands, false)?.unwrap_or_default(),
            Plan::Subtract(operands) => match self.calculated(row, operands, true)? {
                Some(changes) => changes,
                None => return Ok(NewRow::Uncounted),
            },
        };
        let zone = &self.options.temporal.zone;
        let mut new = Vec::with_capacity(row.bytes().len() + 16);
        table.layout.encode_changed(row, &changes, zone, &mut new)?;
        if new == *row.current_bytes() {
            return Ok(NewRow::Same);
        }
        let touched = table.schema.columns.iter().enumerate();
        let touched = touched.filter(|(column, definition)| definition.on_update_now && !plan.assigns(*column));
        let before = changes.len();
        changes.extend(touched.map(|(column, definition)| (column, now_of(definition, zone, self.now_micros))));
        if changes.len() > before {
            new.clear();
            table.layout.encode_changed(row, &changes, zone, &mut new)?;
        }
        Ok(NewRow::Changed(new))
    }

    /// Sums or differences; `None`: a difference would change its sign, so the row stays.
    fn calculated(
        &self,
        row: RowRef<'_>,
        operands: &[(usize, Vec<u8>)],
        subtracts: bool,
    ) -> Result<Option<Vec<(usize, Value)>>> {
        let mut changes = Vec::with_capacity(operands.len());
        for (column, operand) in operands {
            if row.is_null(*column) {
                continue;
            }
            let definition = &self.open.table.schema.columns[*column];
            let old = row.value(*column, &self.options.temporal.zone);
            let (value, turned) = calculate(&old, definition.sql_type.base, operand, subtracts)?;
            if turned {
                return Ok(None);
            }
            changes.push((*column, stored(definition, value, self.options)?));
        }
        Ok(Some(changes))
    }
}

/// The sum or difference, and whether a difference has another sign than the old value.
fn calculate(old: &Value, base: BaseType, operand: &[u8], subtracts: bool) -> Result<(Value, bool)> {
    let turned = |old: std::cmp::Ordering, new: std::cmp::Ordering| {
        subtracts && old != std::cmp::Ordering::Equal && new == old.reverse()
    };
    let number = Decimal::parse(operand);
    if number.truncated || number.out_of_range {
        let message = format!("Incorrect integer value: '{}'", String::from_utf8_lossy(operand));
        return Err(Error::new(ErrorCode::TruncatedWrongValueForField, message));
    }
    if matches!(base, BaseType::Float | BaseType::Double) {
        let (old, operand) = (old.to_f64().value, number.value.to_f64());
        let new = if subtracts { old - operand } else { old + operand };
        return Ok((Value::Double(new), turned(old.total_cmp(&0.0), new.total_cmp(&0.0))));
    }
    let old = old.to_decimal().value;
    let new = if subtracts { old.checked_sub(&number.value) } else { old.checked_add(&number.value) };
    let new = new.ok_or_else(|| Error::new(ErrorCode::WarnDataOutOfRange, "Out of range value"))?;
    let zero = Decimal::from(0i64);
    Ok((Value::Decimal(new), turned(old.cmp(&zero), new.cmp(&zero))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_would_change_its_sign_is_told() {
        let of = |old: i64, operand: &str, subtracts| {
            let (value, turned) =
                calculate(&Value::Int(old), BaseType::Int, operand.as_bytes(), subtracts).unwrap();
            (value.to_i64().value, turned)
        };
        assert_eq!(of(5, "3", true), (2, false));
        assert_eq!(of(5, "5", true), (0, false));
        assert_eq!(of(5, "6", true), (-1, true));
        assert_eq!(of(-5, "-6", true), (1, true));
        assert_eq!(of(0, "6", true), (-6, false));
        assert_eq!(of(5, "-6", false), (-1, false));
        assert!(calculate(&Value::Int(1), BaseType::Int, b"x", false).is_err());
    }
}
