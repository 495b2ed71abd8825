//! One client's state, and the execution of its lines.
//!
//! All lines that are there run as one batch in one transaction (READ COMMITTED), which is committed once, before any of the
//! answers leaves. A line that fails takes back its own changes and no others. Where that is not possible (a deadlock has
//! taken back the whole transaction, or the commit was refused) the batch begins again, and every line is committed for itself:
//! nothing of it has been answered, and nothing of it is left.

use std::sync::Arc;

use shoal_txn::{Isolation, Transaction};
use shoal_types::{Outcome as Fate, StoreOptions};

use crate::clock::today;
use crate::convert::store_options;
use crate::counters::{Counter, Counters};
use crate::find::{Tools, check_parts, find, find_simply, is_simple};
use crate::host::{Host, Surroundings};
use crate::insert::insert;
use crate::line::next_line;
use crate::modify::{Changer, modify};
use crate::open_index::{Asker, OpenIndex};
use crate::read_run::ReadRun;
use crate::refusal::{Outcome, Refusal};
use crate::reply::append_done;
use crate::request::{ChangeKind, Head, Open, Operation, Request, take_operation};
use crate::run::{RunHead, RunKind};
use crate::search::Key;
use crate::settings::{Port, is_secret};
use crate::token::{self, Tokens};
use crate::write_run::WriteRun;

/// Ids of open indexes are below this.
const INDEX_IDS: u32 = 4096;
/// So many wrong secrets end a connection.
const AUTH_FAILURES_MAX: u32 = 3;
/// A batch ends when so much has been answered, or so many lines have been run: answers and locks do not pile up.
const BATCH_ANSWER_BYTES: usize = 256 * 1024;
const BATCH_LINES: usize = 4096;
/// How often a line is tried whose transaction others have ended.
const ATTEMPTS_MAX: u32 = 10;
const MINUTE_MICROS: i64 = 60_000_000;

pub struct Session {
    host: Arc<dyn Host>,
    port: Arc<Port>,
    counters: Arc<Counters>,
    surroundings: Surroundings,
    transaction: Transaction,
    indexes: Vec<Option<Box<OpenIndex>>>,
    has_proven: bool,
    auth_failures: u32,
    request: Request,
    key: Key,
    read_run: ReadRun,
    write_run: WriteRun,
    buffer: Vec<u8>,
    options: StoreOptions,
    now_micros: i64,
    has_locked: bool,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    /// Bytes of the input that have been dealt with.
    pub consumed: usize,
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    /// The answers are the last ones.
    Close,
    /// Nobody knows what has been committed, so nothing is answered.
    Abandon,
}

/// What became of lines that could run together, and the bytes that they take.
enum Run {
    /// There are none.
    None,
    Failed(usize),
    /// And their number.
    Answered(usize, usize),
}

/// What was written is gone, or nobody knows what has become of it.
struct Lost;

impl Session {
    pub fn new(
        host: Arc<dyn Host>,
        port: Arc<Port>,
        counters: Arc<Counters>,
        wait: std::time::Duration,
    ) -> Session {
        let mut transaction = Transaction::new(Arc::clone(host.node()));
        transaction.set_isolation(Isolation::ReadCommitted);
        transaction.set_lock_wait_timeout(wait);
        let surroundings = host.surroundings();
        let now_micros = (surroundings.now_micros)();
        let options = store_options(&surroundings.zone, today(&surroundings.zone, now_micros));
        Session {
            host,
            port,
            counters,
            surroundings,
            transaction,
            indexes: Vec::new(),
            has_proven: false,
            auth_failures: 0,
            request: Request::default(),
            key: Key::default(),
            read_run: ReadRun::default(),
            write_run: WriteRun::default(),
            buffer: Vec::new(),
            options,
            now_micros,
            has_locked: false,
        }
    }

    /// Runs the lines that are whole; their answers are appended to `out`, which must be empty.
    pub async fn run_batch(&mut self, input: &[u8], out: &mut Vec<u8>) -> BatchEnd {
        self.read_clock();
        self.transaction.note_turn();
        self.counters.add(Counter::Batches, 1);
        let failures_before = self.auth_failures;
        let end = match self.run_together(input, out).await {
            Ok(end) => end,
            Err(Lost) => {
                out.clear();
                self.auth_failures = failures_before;
                self.run_singly(input, out).await
            }
        };
        if std::mem::take(&mut self.has_locked) {
            self.counters.add(Counter::TableUnlock, 1);
        }
        end
    }

    /// The day is looked up once a minute: zones shift by whole minutes.
    #[inline]
    fn read_clock(&mut self) {
        let before = std::mem::replace(&mut self.now_micros, (self.surroundings.now_micros)());
        if before.div_euclid(MINUTE_MICROS) != self.now_micros.div_euclid(MINUTE_MICROS) {
            self.options.temporal.today = today(&self.surroundings.zone, self.now_micros);
        }
    }

    /// One transaction for all lines.
    async fn run_together(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<BatchEnd, Lost> {
        let mut end = BatchEnd { consumed: 0, then: Then::GoOn };
        let mut lines = 0;
        let mut singly_until = 0;
        while let Some((line, length)) = next_line(&input[end.consumed..]) {
            self.transaction.start_statement();
            if end.consumed >= singly_until {
                match self.run_alike(&input[end.consumed..], out).await? {
                    Run::None => {}
                    Run::Failed(bytes) => singly_until = end.consumed + bytes,
                    Run::Answered(bytes, count) => {
                        end.consumed += bytes;
                        lines += count;
                        if out.len() >= BATCH_ANSWER_BYTES || lines >= BATCH_LINES {
                            break;
                        }
                        continue;
                    }
                }
            }
            if let Err(refusal) = self.run_line(line, out).await
                && refusal.rolls_back_transaction()
            {
                self.transaction.rollback();
                return Err(Lost);
            }
            end.consumed += length;
            lines += 1;
            if self.must_close() {
                end.then = Then::Close;
            }
            if end.then == Then::Close || out.len() >= BATCH_ANSWER_BYTES || lines >= BATCH_LINES {
                break;
            }
        }
        self.counters.add(Counter::Requests, lines as u64);
        if self.transaction.is_active()
            && let Err(error) = self.transaction.commit().await
        {
            if error.outcome() == Fate::NotCommitted {
                return Err(Lost);
            }
            end.then = Then::Abandon;
        }
        Ok(end)
    }

    /// Runs the lines that come next together, if they are of one kind.
    #[inline]
    async fn run_alike(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Run, Lost> {
        let Some(head) = RunHead::of(input) else { return Ok(Run::None) };
        if !self.is_authorized() || self.host.node().check_single_user().is_err() {
            return Ok(Run::None);
        }
        let Session { host, port, counters, transaction, indexes, buffer, options, read_run, write_run, .. } =
            self;
        let asker = Asker { host: &**host, account: &port.account, by_secret: self.has_proven };
        let index = indexes.get_mut(head.index as usize).and_then(Option::as_mut);
        let Some(Ok(open)) = index.map(|index| index.resolved(&asker)) else { return Ok(Run::None) };
        let (answered, bytes, lines) = if read_run.collect(head, open, input, options, buffer) {
            let answered = read_run.answer(open, transaction, options, out).await;
            counters.add(Counter::Finds, if answered.is_ok() { read_run.line_count() as u64 } else { 0 });
            (answered, read_run.input_bytes(), read_run.line_count())
        } else {
            let changer = Changer { open, options, now_micros: self.now_micros };
            if !may_write(port, &**host) || !write_run.collect(&**host, changer, head, input, buffer).await {
                return Ok(Run::None);
            }
            let lines = write_run.line_count();
            let answered = write_run.answer(changer, transaction, out).await;
            if let Ok(refused) = answered {
                counters.add(
                    if head.kind == RunKind::Insert { Counter::Inserts } else { Counter::Modifies },
                    lines as u64,
                );
                counters.add(Counter::Errors, refused);
            }
            (answered.map(drop), write_run.input_bytes(), lines)
        };
        match answered {
            Ok(()) => {}
            Err(refusal) if refusal.rolls_back_transaction() => {
                transaction.rollback();
                return Err(Lost);
            }
            Err(_) => return Ok(Run::Failed(bytes)),
        }
        if !std::mem::replace(&mut self.has_locked, true) {
            self.counters.add(Counter::TableLock, 1);
        }
        Ok(Run::Answered(bytes, lines))
    }

    /// One transaction a line.
    async fn run_singly(&mut self, input: &[u8], out: &mut Vec<u8>) -> BatchEnd {
        let mut end = BatchEnd { consumed: 0, then: Then::GoOn };
        while let Some((line, length)) = next_line(&input[end.consumed..]) {
            self.counters.add(Counter::Requests, 1);
            if self.run_alone(line, out).await.is_err() {
                end.then = Then::Abandon;
                return end;
            }
            end.consumed += length;
            if self.must_close() {
                end.then = Then::Close;
            }
            if end.then == Then::Close || out.len() >= BATCH_ANSWER_BYTES {
                break;
            }
        }
        end
    }

    /// Runs, commits and answers a line. One that has lost its transaction to others, and so has done nothing, is tried again.
    async fn run_alone(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), Lost> {
        let before = out.len();
        for attempt in 1.. {
            out.truncate(before);
            self.transaction.start_statement();
            let refusal = match self.run_line(line, out).await {
                Err(refusal) => refusal,
                Ok(()) => match self.transaction.commit().await {
                    Ok(()) => break,
                    Err(error) if error.outcome() != Fate::NotCommitted => return Err(Lost),
                    Err(error) => {
                        out.truncate(before);
                        let refusal = Refusal::from(error);
                        refusal.append(out);
                        refusal
                    }
                },
            };
            self.transaction.rollback();
            if !refusal.rolls_back_transaction() || attempt == ATTEMPTS_MAX {
                break;
            }
        }
        Ok(())
    }

    fn must_close(&self) -> bool {
        self.auth_failures >= AUTH_FAILURES_MAX
    }

    /// Runs one line and answers it. A refusal has been answered; it leaves nothing of the line's changes behind.
    #[inline]
    async fn run_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Outcome {
        let before = out.len();
        let refusal = match self.execute(line, out).await {
            Ok(()) => return Ok(()),
            Err(refusal) => refusal,
        };
        out.truncate(before);
        refusal.append(out);
        self.counters.add(Counter::Errors, 1);
        Err(refusal)
    }

    #[inline]
    async fn execute(&mut self, line: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut tokens = Tokens::new(line);
        match Head::take(&mut tokens)? {
            Head::Authorize => self.authorize(&mut tokens, out),
            _ if !self.is_authorized() => Err(Refusal::UNAUTHORIZED),
            Head::Open => self.open(&Open::read(&mut tokens)?, out),
            Head::OnIndex(id) => self.run_on_index(id, line, &mut tokens, out).await,
        }
    }

    fn is_authorized(&self) -> bool {
        self.has_proven || self.port.secret.is_empty()
    }

    fn authorize(&mut self, tokens: &mut Tokens<'_>, out: &mut Vec<u8>) -> Outcome {
        if tokens.next() != Some(b"1") {
            return Err(Refusal::Access("authtype"));
        }
        let said = tokens.next().unwrap_or_default();
        let said = token::value(said, &mut self.buffer).unwrap_or_default();
        if !self.port.secret.is_empty() {
            self.has_proven = is_secret(said, &self.port.secret);
            if !self.has_proven {
                self.auth_failures += 1;
                self.counters.add(Counter::AuthFailures, 1);
                return Err(Refusal::UNAUTHORIZED);
            }
        }
        append_done(out);
        Ok(())
    }

    fn open(&mut self, open: &Open<'_>, out: &mut Vec<u8>) -> Outcome {
        if open.id >= INDEX_IDS {
            return Err(Refusal::Request("stmtnum"));
        }
        let asker = Asker { host: &*self.host, account: &self.port.account, by_secret: self.has_proven };
        let index = Box::new(OpenIndex::new(open, &asker)?);
        let place = open.id as usize;
        if self.indexes.len() <= place {
            self.indexes.resize_with(place + 1, || None);
        }
        self.counters.add(Counter::TableOpen, 1);
        if self.indexes[place].replace(index).is_some() {
            self.counters.add(Counter::TableClose, 1);
        }
        append_done(out);
        Ok(())
    }

    #[inline]
    async fn run_on_index(&mut self, id: u32, line: &[u8], tokens: &mut Tokens<'_>, out: &mut Vec<u8>) -> Outcome {
        let Session { host, port, counters, transaction, indexes, request, key, buffer, options, .. } = self;
        let index = indexes.get_mut(id as usize).and_then(Option::as_mut);
        let index = index.ok_or(Refusal::Request("stmtnum"))?;
        let operation = take_operation(tokens)?;
        request.read(tokens)?;
        let is_write = operation == Operation::Insert || request.change.is_some();
        if is_write && !may_write(port, &**host) {
            return Err(Refusal::READ_ONLY);
        }
        let change = request.change.clone().transpose()?;
        host.node().check_single_user()?;
        if !std::mem::replace(&mut self.has_locked, true) {
            counters.add(Counter::TableLock, 1);
        }
        let asker = Asker { host: &**host, account: &port.account, by_secret: self.has_proven };
        let open = index.resolved(&asker)?;
        let tools = Tools { transaction: &mut *transaction, key, buffer, options };
        let (comparison, right) = match (operation, change) {
            (Operation::Sql, _) => return Err(Refusal::Request("notimpl")),
            (Operation::Insert, _) if !open.rights.insert => return Err(Refusal::DENIED),
            (Operation::Insert, _) => {
                counters.add(Counter::Inserts, 1);
                let start = tools.transaction.savepoint();
                let inserted = insert(&**host, open, request, line, (tools, self.now_micros), out).await;
                return inserted.inspect_err(|_| transaction.rollback_to(&start));
            }
            (Operation::Find(comparison), None) => (comparison, true),
            (Operation::Find(comparison), Some(change)) if change.kind == ChangeKind::Delete => {
                (comparison, open.rights.delete)
            }
            (Operation::Find(comparison), Some(_)) => (comparison, open.rights.update),
        };
        if !open.rights.select || !right {
            return Err(Refusal::DENIED);
        }
        check_parts(open, request)?;
        let Some(change) = change else {
            counters.add(Counter::Finds, 1);
            return match is_simple(open, comparison, request) {
                true => find_simply(open, request, line, tools, out).await,
                false => find(open, comparison, request, line, tools, out).await,
            };
        };
        counters.add(Counter::Modifies, 1);
        let start = tools.transaction.savepoint();
        let (how, tools) = ((comparison, change), (tools, self.now_micros));
        let modified = modify(open, how, request, line, tools, out).await;
        modified.inspect_err(|_| transaction.rollback_to(&start))
    }
}

/// The port takes writes, and so does the node just now.
fn may_write(port: &Port, host: &dyn Host) -> bool {
    port.may_write && !host.refuses_writes(&port.account)
}

impl Drop for Session {
    fn drop(&mut self) {
        let open = self.indexes.iter().flatten().count();
        self.counters.add(Counter::TableClose, open as u64);
    }
}

#[cfg(test)]
mod tests;
