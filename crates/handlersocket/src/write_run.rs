//! Runs of writes: inserts into one index's table, or changes of one row each by its whole primary key.
//!
//! What the lines say is taken off them first; then all rows are found, locked and written partition by partition. A run ends
//! before a row that it has already: each line has to see what those before it have done.

use std::collections::HashSet;

use shoal_txn::Transaction;
use shoal_types::row::RowRef;
use shoal_types::{Error, Result, StoreOptions};

use crate::host::Host;
use crate::insert::{self, new_row};
use crate::line::next_line;
use crate::modify::{Changer, NewRow, Plan};
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::append_number;
use crate::request::{Change, ChangeKind, Head, Request, take_operation};
use crate::run::{LINES_MAX, LINES_MIN, RunHead, RunKind};
use crate::search::{append_primary_key, read_mode};
use crate::token::Tokens;

/// Values of a run's lines that take more than this together are for single writes.
const INPUT_BYTES_MAX: usize = 256 * 1024;

/// What the lines of a run say; used again and again.
#[derive(Default)]
pub struct WriteRun {
    request: Request,
    inserts: Vec<insert::NewRow>,
    plans: Vec<Plan>,
    keys: Vec<Vec<u8>>,
    /// Where each line ends in the input.
    ends: Vec<usize>,
}

impl WriteRun {
    pub fn line_count(&self) -> usize {
        self.ends.len()
    }

    pub fn input_bytes(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Takes what the lines of a run say; false if that is not worth it.
    pub async fn collect(
        &mut self,
        host: &dyn Host,
        changer: Changer<'_>,
        head: RunHead,
        input: &[u8],
        buffer: &mut Vec<u8>,
    ) -> bool {
        self.inserts.clear();
        self.plans.clear();
        self.keys.clear();
        self.ends.clear();
        match head.kind {
            RunKind::Insert => self.collect_inserts(host, changer, head, input, buffer).await,
            RunKind::Find => self.collect_changes(changer, head, input, buffer),
        }
    }

    /// The next line, if it may belong to the run, and where it ends. Its request has been read.
    fn next_line<'i>(&mut self, head: RunHead, input: &'i [u8]) -> Option<(&'i [u8], usize)> {
        let start = self.input_bytes();
        if self.line_count() == LINES_MAX || start > INPUT_BYTES_MAX {
            return None;
        }
        let (line, length) = next_line(&input[start..])?;
        if !line.starts_with(&input[..head.bytes]) {
            return None;
        }
        let mut tokens = Tokens::new(line);
        Head::take(&mut tokens).ok()?;
        take_operation(&mut tokens).ok()?;
        self.request.read(&mut tokens).ok()?;
        Some((line, start + length))
    }

    /// Rows are numbered here, so even a single one has to be inserted then.
    async fn collect_inserts(
        &mut self,
        host: &dyn Host,
        Changer { open, options, now_micros }: Changer<'_>,
        head: RunHead,
        input: &[u8],
        buffer: &mut Vec<u8>,
    ) -> bool {
        if !open.rights.insert {
            return false;
        }
        while let Some((line, end)) = self.next_line(head, input) {
            let row = new_row(host, open, &self.request, line, buffer, (options, now_micros)).await;
            let Ok(row) = row else { break };
            self.inserts.push(row);
            self.ends.push(end);
        }
        !self.inserts.is_empty()
    }

    fn collect_changes(
        &mut self,
        Changer { open, options, .. }: Changer<'_>,
        head: RunHead,
        input: &[u8],
        buffer: &mut Vec<u8>,
    ) -> bool {
        if !head.finds_by_primary_key(open) || !open.rights.select {
            return false;
        }
        while let Some((line, end)) = self.next_line(head, input) {
            let Some(plan) = self.plan(open, line, options, buffer) else { break };
            let mut key = Vec::with_capacity(16);
            let mut values = Tokens::new(&line[head.bytes..]);
            if !append_primary_key(open, &mut values, options, buffer, &mut key) {
                break;
            }
            self.keys.push(key);
            self.plans.push(plan);
            self.ends.push(end);
        }
        let count = different(&self.keys);
        self.keys.truncate(count);
        self.plans.truncate(count);
        self.ends.truncate(count);
        count >= LINES_MIN
    }

    /// What the request does with its row, if it is of the simple kind.
    fn plan(&self, open: &Resolved, line: &[u8], options: &StoreOptions, buffer: &mut Vec<u8>) -> Option<Plan> {
        let request = &self.request;
        let Some(Ok(Change { kind, returns_rows: false })) = request.change else { return None };
        let is_simple = request.offset == 0 && request.filters.is_empty() && request.list_part.is_none();
        let is_allowed = if kind == ChangeKind::Delete { open.rights.delete } else { open.rights.update };
        if !is_simple || !is_allowed {
            return None;
        }
        let plan = Plan::of(kind, open, request, line, options, buffer).ok()?;
        let assigns_numbers = open.table.schema.auto_increment_column().is_some_and(|column| plan.assigns(column));
        (!plan.moves_rows(open) && !assigns_numbers && !assigns_unique(open, &plan)).then_some(plan)
    }

    /// Writes the rows and appends the answers. Yields how many lines were refused: duplicates are told to their own lines.
    ///
    /// # Errors
    /// Nothing is answered, and nothing of the run is left.
    pub async fn answer(
        &self,
        changer: Changer<'_>,
        transaction: &mut Transaction,
        out: &mut Vec<u8>,
    ) -> Outcome<u64> {
        let (before, start) = (out.len(), transaction.savepoint());
        let answered = match self.plans.is_empty() {
            true => self.insert(changer.open, transaction, out).await,
            false => self.change(changer, transaction, out).await,
        };
        answered.inspect_err(|_| {
            out.truncate(before);
            transaction.rollback_to(&start);
        })
    }

    async fn insert(&self, open: &Resolved, transaction: &mut Transaction, out: &mut Vec<u8>) -> Outcome<u64> {
        let rows: Vec<&[u8]> = self.inserts.iter().map(|row| row.bytes.as_slice()).collect();
        let outcomes = transaction.insert_many(&open.table, &rows, true).await?;
        let mut refused = 0;
        for (row, outcome) in self.inserts.iter().zip(&outcomes) {
            if let Err(refusal) = row.answer(open, Some(outcome), out) {
                refusal.append(out);
                refused += 1;
            }
        }
        Ok(refused)
    }

    async fn change(
        &self,
        changer: Changer<'_>,
        transaction: &mut Transaction,
        out: &mut Vec<u8>,
    ) -> Outcome<u64> {
        let table = &changer.open.table;
        let mut counts = vec![0; self.plans.len()];
        let mut changed = Vec::with_capacity(self.plans.len());
        let mut decide = |position: usize, row: RowRef<'_>| -> Result<()> {
            let (plan, count) = at(&self.plans, &mut counts, position)?;
            let new = match changer.new_row(plan, row)? {
                NewRow::Uncounted => return Ok(()),
                NewRow::Same => {
                    *count = 1;
                    return Ok(());
                }
                NewRow::Deleted => None,
                NewRow::Changed(new) => Some(new),
            };
            *count = 1;
            changed.push((row.bytes().to_vec(), new));
            Ok(())
        };
        transaction.get_many(table, &self.keys, read_mode(true), &mut decide).await?;
        if transaction.replace_many(table, &changed).await?.duplicate.is_some() {
            return Err(Refusal::duplicate());
        }
        counts.into_iter().for_each(|count| append_number(count, out));
        Ok(0)
    }
}

/// Rows get other keys of unique indexes. Those of a run give theirs up together, and so might take one that a line before the one
/// that gives it up must be refused.
fn assigns_unique(open: &Resolved, plan: &Plan) -> bool {
    let parts = |index: &usize| open.table.schema.indexes[*index].columns.iter();
    open.table.global_unique.iter().flat_map(parts).any(|part| plan.assigns(part.column))
}

/// What there is to do with the row at a place, and where to count it.
fn at<'r>(plans: &'r [Plan], counts: &'r mut [u64], position: usize) -> Result<(&'r Plan, &'r mut u64)> {
    let internal = || Error::unknown("internal: a row was found that was not asked for");
    Ok((plans.get(position).ok_or_else(internal)?, counts.get_mut(position).ok_or_else(internal)?))
}

/// How many of the keys come before one that has come already.
fn different(keys: &[Vec<u8>]) -> usize {
    let mut seen = HashSet::with_capacity(keys.len());
    keys.iter().position(|key| !seen.insert(key)).unwrap_or(keys.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_before_a_row_that_it_has_already() {
        let keys = |text: &str| text.bytes().map(|byte| vec![byte]).collect::<Vec<_>>();
        assert_eq!(different(&keys("")), 0);
        assert_eq!(different(&keys("abc")), 3);
        assert_eq!(different(&keys("abcb")), 3);
        assert_eq!(different(&keys("aab")), 1);
    }
}
