//! Operations on rows: one transaction for all of a request, which begins again when others have ended it.
//!
//! A request that is under way goes on to its end even if its client goes away: whether a commit has happened is not left to chance.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::body::Bytes;
use shoal_client::{Isolation, LockMode, LockWait, Options, ReadMode, Session, Transaction};
use shoal_sql::RequestAccess;
use shoal_sql::server::Server;
use shoal_types::{Error, ErrorCode, Outcome, Result, Value};
use tokio::time::Instant;

use super::answer::{self, AnswerMemory, AnswerRoom, Done};
use super::problem::Problem;
use super::request::{Operations, Verb};
use super::resolve::{Step, resolve};
use crate::dashboard::AccountKey;
use crate::watched::Watched;

/// For other transactions' locks.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// For all of a request but its commit.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a request is tried whose transaction others have ended.
const ATTEMPTS_MAX: u32 = 5;
/// Rows that are read at a time; of tables with long values fewer.
const ROWS_AT_ONCE: usize = 250;
const LARGE_ROWS_AT_ONCE: usize = 1;

const FOR_UPDATE: ReadMode = ReadMode { lock: Some(LockMode::Exclusive), wait: LockWait::Wait };

/// An error, and the position of the operation whose it is; `None`: of all of them.
type Failure = (Option<usize>, Error);

/// Executes a request and yields its answer.
///
/// # Errors
/// Nothing of it was done; or nobody knows, and the answer says so.
pub async fn run(
    watched: &Watched,
    server: &Arc<Server>,
    account: &AccountKey,
    host: &str,
    operations: Operations,
) -> Result<Bytes, Problem> {
    let Operations { list, is_batch } = operations;
    let writes = list.iter().filter(|operation| operation.verb.writes()).count();
    server.node.check_single_user()?;
    if writes > 0 {
        server.check_writes_of(account)?;
    }
    let session = Session::of_node(&server.node, Options { lock_wait_timeout: LOCK_WAIT, ..Options::default() });
    let access = RequestAccess::new(server, account, host);
    let problem = move |(position, error): Failure| {
        let problem = Problem::from(error);
        match position.filter(|_| is_batch) {
            Some(position) => problem.at(position),
            None => problem,
        }
    };
    let mut steps = Vec::with_capacity(list.len());
    for (position, operation) in list.into_iter().enumerate() {
        steps.push(resolve(&session, &access, operation).map_err(|error| problem((Some(position), error)))?);
    }
    let counters = &watched.rest.counters;
    counters.writes.fetch_add(writes as u64, Ordering::Relaxed);
    counters.reads.fetch_add((steps.len() - writes) as u64, Ordering::Relaxed);
    let (judge, writer) = (Arc::clone(server), account.clone());
    // What has been set since the request began holds for its commit, as for one in SQL.
    let may_commit = move || {
        judge.node.check_single_user()?;
        if writes > 0 { judge.check_writes_of(&writer) } else { Ok(()) }
    };
    let memory = Arc::clone(&watched.rest.answers);
    let executed = async move { (execute(&session, &steps, &memory, may_commit).await, steps) };
    let Ok((done, steps)) = tokio::task::spawn_local(executed).await else {
        // It may have been in its commit.
        let outcome = if writes > 0 { Outcome::Unknown } else { Outcome::NotCommitted };
        return Err(Error::unknown("the request broke off; see the server's log").with_outcome(outcome).into());
    };
    let (done, room) = done.map_err(problem)?;
    if !is_batch && done[0].is_none() {
        return Err(not_found(&steps[0]).into());
    }
    answer::whole(steps, done, is_batch, room).await.map_err(|error| {
        // What was written is committed.
        let outcome = if writes > 0 { Outcome::Committed } else { Outcome::NotCommitted };
        error.with_outcome(outcome).into()
    })
}

async fn execute(
    session: &Session,
    steps: &[Step],
    memory: &AnswerMemory,
    may_commit: impl Fn() -> Result<()>,
) -> Result<(Vec<Done>, AnswerRoom), Failure> {
    // A row alone is its own snapshot.
    let isolation = if steps.len() == 1 { Isolation::ReadCommitted } else { Isolation::RepeatableRead };
    let mut attempt = 0;
    let deadline = Instant::now() + PATIENCE;
    loop {
        attempt += 1;
        let mut transaction = session.begin(isolation);
        let mut room = memory.begin();
        let worked = tokio::time::timeout_at(deadline, work(&mut transaction, steps, &mut room)).await;
        let ended = match worked {
            Ok(Ok(done)) => match may_commit() {
                Ok(()) => transaction.commit().await.map(|()| (done, room)).map_err(|error| (None, error)),
                Err(refusal) => {
                    transaction.rollback();
                    return Err((None, refusal));
                }
            },
            Ok(Err(failure)) => {
                transaction.rollback();
                Err(failure)
            }
            Err(_) => {
                drop(transaction);
                let text = format!("The request was not done within {PATIENCE:?}; try a smaller batch, or again");
                return Err((None, Error::new(ErrorCode::QueryTimeout, text)));
            }
        };
        match ended {
            Err((_, error))
                if error.rolls_back_transaction()
                    && error.outcome() == Outcome::NotCommitted
                    && attempt < ATTEMPTS_MAX => {}
            ended => return ended,
        }
    }
}

/// All operations in their order; reads that follow each other are one.
async fn work(transaction: &mut Transaction, steps: &[Step], room: &mut AnswerRoom) -> Result<Vec<Done>, Failure> {
    let mut done = vec![None; steps.len()];
    let mut position = 0;
    while position < steps.len() {
        let reads = steps[position..].iter().take_while(|step| step.verb == Verb::Read).count();
        if reads == 0 {
            let wrote = write(transaction, &steps[position]).await;
            done[position] = Some(wrote.map_err(|error| (Some(position), error))?);
            position += 1;
            continue;
        }
        for (table, positions) in by_table(&steps[position..position + reads], position) {
            let at_once = if table.is_large { LARGE_ROWS_AT_ONCE } else { ROWS_AT_ONCE };
            for positions in positions.chunks(at_once) {
                let keys: Vec<Vec<Value>> =
                    positions.iter().map(|&position| steps[position].key.clone()).collect();
                let rows = transaction.get_many(&table.table, &keys, ReadMode::default()).await;
                let rows = rows.map_err(|error| (Some(positions[0]), error))?;
                let found = positions.iter().zip(rows).filter_map(|(&position, row)| Some((position, row?)));
                for (position, text) in answer::texts(found.collect(), steps, room).await? {
                    done[position] = Some(text);
                }
            }
        }
        position += reads;
    }
    Ok(done)
}

/// The positions of reads by their tables, the first of which begins at `start`.
fn by_table(reads: &[Step], start: usize) -> Vec<(&Step, Vec<usize>)> {
    let mut tables: Vec<(&Step, Vec<usize>)> = Vec::new();
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    for (offset, step) in reads.iter().enumerate() {
        let table = *known.entry((step.table.database(), step.table.name())).or_insert_with(|| {
            tables.push((step, Vec::new()));
            tables.len() - 1
        });
        tables[table].1.push(start + offset);
    }
    tables
}

async fn write(transaction: &mut Transaction, step: &Step) -> Result<String> {
    let Step { verb, table, key, columns, values, update, .. } = step;
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let is_there = match verb {
        Verb::Insert => {
            let number = transaction.insert(table, &names, values.clone()).await?;
            return Ok(number.map_or_else(String::new, |number| format!("\"lastInsertId\":{number}")));
        }
        Verb::Upsert => {
            if transaction.get(table, key, FOR_UPDATE).await?.is_none() {
                match transaction.insert(table, &names, values.clone()).await {
                    // Another one was quicker, or it is a row with another key that has a unique value of this one.
                    Err(error) if error.is(ErrorCode::DupEntry) => {
                        if transaction.get(table, key, FOR_UPDATE).await?.is_none() {
                            return Err(error);
                        }
                    }
                    inserted => return inserted.map(|_| String::new()),
                }
            }
            match update {
                Some(update) => transaction.update(table, key, update).await?,
                None => true,
            }
        }
        Verb::Update => match update {
            Some(update) => transaction.update(table, key, update).await?,
            None => true,
        },
        Verb::Delete => transaction.delete(table, key).await?,
        Verb::Read => true,
    };
    if is_there { Ok(String::new()) } else { Err(not_found(step)) }
}

/// Error 1032.
fn not_found(step: &Step) -> Error {
    let text = format!("Can't find record in '{}': there is no row with this primary key", step.table.name());
    Error::new(ErrorCode::KeyNotFound, text)
}
