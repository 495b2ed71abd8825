//! Many sessions, kept for many transactions, that all want the same rows.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::Table;
use shoal_cluster::worker_loop::{Eagerness, WorkerLoop, WorkerOptions};

use super::support::*;
use crate::*;

const THREADS: i64 = 2;
const SESSIONS: i64 = 8;
const ROUNDS: i64 = 60;

async fn add_one(transaction: &mut Transaction, table: &Arc<Table>, id: i64) -> shoal_types::Result<()> {
    let change = |old: shoal_types::row::RowRef<'_>| {
        let k = read(old).1.unwrap_or(0) + 1;
        Ok((Modification::Update(row(table, id, Some(k), "")), ()))
    };
    transaction.modify(table, &key(table, id), change).await.map(|_| ())
}

/// One session after the other adds one, each change committed by itself.
async fn autocommit(node: &TestNode, table: &Arc<Table>) {
    let mut transaction = node.transaction();
    for _ in 0..ROUNDS {
        transaction.start_statement();
        // A statement of one row waits for nobody who could wait for it.
        add_one(&mut transaction, table, 1).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

fn in_threads(node: &TestNode, work: impl AsyncFn(i64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                run(async {
                    let sessions: Vec<_> =
                        (0..SESSIONS).map(|session| work(thread * SESSIONS + session)).collect();
                    crate::gather::join_all(sessions.into_iter().map(|one| Box::pin(one) as _).collect()).await;
                });
            });
        }
    });
    assert!(node.node.wait_for_graph().is_empty());
}

/// A session's second wait began under the token of its last commit, which had had its signal: it left the queue at once, came back
/// at its end, and whoever was behind it before was taken to wait for it still. That was told as a deadlock.
#[test]
fn sessions_that_change_one_row_by_itself_never_meet_a_deadlock() {
    let node = TestNode::new(2);
    let table = run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, [(1, Some(0))]).await;
        table
    });
    in_threads(&node, async |_| autocommit(&node, &table).await);
    let total = THREADS * SESSIONS * ROUNDS;
    run(async { assert_eq!(newest_k(&node, &table, 1).await, Some(Some(total))) });
    for partition in 0..node.node.partition_count() {
        let activity = node.node.partition(partition).activity();
        assert_eq!((activity.transactions, activity.row_locks, activity.proposals), (0, 0, 0));
    }
}

/// The same without its consequences, which depend on who comes in between: a wait under a token that has had its signal ends before it
/// has begun.
#[test]
fn a_session_waits_in_every_transaction_under_a_token_of_its_own() {
    let node = TestNode::new(2);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, [(1, Some(0))]).await;
        let mut transaction = node.transaction();
        for _ in 0..3 {
            add_one(&mut transaction, &table, 1).await.unwrap();
            transaction.commit().await.unwrap();
            let of_commit = transaction.token();
            transaction.start_statement();
            transaction.begin_writing();
            assert_ne!(transaction.token(), of_commit);
        }
        transaction.rollback();
    });
}

/// Transactions of two rows in both orders: real deadlocks, each of which has one victim and ends at once.
#[test]
fn deadlocks_end_by_one_victim_long_before_the_lock_wait_timeout() {
    let node = TestNode::new(4);
    let table = run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..4).map(|id| (id, Some(0)))).await;
        table
    });
    let committed = std::sync::atomic::AtomicI64::new(0);
    in_threads(&node, async |session| {
        let mut transaction = node.transaction();
        transaction.set_lock_wait_timeout(Duration::from_secs(60));
        for round in 0..ROUNDS {
            let ids = [(session + round) % 4, (session * 3 + round / 2) % 4];
            transaction.begin(Isolation::RepeatableRead);
            let work = async {
                for id in ids {
                    add_one(&mut transaction, &table, id).await?;
                    tokio::task::yield_now().await;
                }
                transaction.commit().await
            };
            match work.await {
                Ok(()) => drop(committed.fetch_add(2, std::sync::atomic::Ordering::Relaxed)),
                Err(error) => assert_eq!(error.errno(), 1213, "{error}"),
            }
        }
    });
    run(async {
        let mut sum = 0;
        for id in 0..4 {
            sum += newest_k(&node, &table, id).await.flatten().unwrap();
        }
        assert_eq!(sum, committed.load(std::sync::atomic::Ordering::Relaxed));
        assert!(sum > 0);
    });
}

#[test]
fn a_wait_ends_in_its_own_time_though_nobody_sets_a_timer() {
    let node = TestNode::new(2);
    run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, [(1, Some(0))]).await;
        let mut holder = node.begun(Isolation::RepeatableRead);
        set_k(&mut holder, &table, 1, Some(1)).await.unwrap();
        let mut others: Vec<Transaction> = (0..3).map(|_| node.begun(Isolation::RepeatableRead)).collect();
        type Waiting<'a> = std::pin::Pin<Box<dyn Future<Output = shoal_types::Result<Inserted>> + 'a>>;
        let waits = others.iter_mut().enumerate().map(|(number, other)| -> Waiting<'_> {
            other.set_lock_wait_timeout(Duration::from_millis([30, 60_000, 60][number]));
            Box::pin(set_k(other, &table, 1, Some(2)))
        });
        let ended = async {
            // Both have left, the patient one is still there.
            while node.node.wait_for_graph().len() < 3 {
                tokio::task::yield_now().await;
            }
            while node.node.wait_for_graph().len() > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            holder.commit().await.unwrap();
        };
        let (outcomes, ()) = tokio::join!(crate::gather::join_all(waits.collect()), ended);
        let errors: Vec<Option<u16>> =
            outcomes.into_iter().map(|outcome| outcome.err().map(|error| error.errno())).collect();
        assert_eq!(errors, [Some(1205), None, Some(1205)]);
    });
}

/// Sessions that met deadlock after deadlock kept a worker from ever sleeping, and with that from flushing: commits waited for half a second.
#[test]
fn a_commit_is_flushed_although_its_thread_is_kept_from_sleeping() {
    let node = TestNode::new(1);
    let table = run(async {
        let table = node.create("t", Shape::IndexedK).await;
        load(&node, &table, [(1, Some(0)), (2, Some(0))]).await;
        table
    });
    let options = WorkerOptions { spin: Duration::ZERO, eagerness: Eagerness::WhenBusy, blocking_threads: 1 };
    let worker = WorkerLoop::new(options).unwrap();
    let is_committed = std::cell::Cell::new(false);
    let commits = async {
        // The thread flushes before it sleeps from the first time on that it does.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut transaction = node.transaction();
        transaction.start_statement();
        add_one(&mut transaction, &table, 1).await.unwrap();
        transaction.commit().await.unwrap();
        is_committed.set(true);
    };
    let never_sleeps = async {
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        let other = node.transaction();
        while !is_committed.get() && std::time::Instant::now() < deadline {
            other.note_turn();
            // Not the runtime's `yield_now`: that is where the thread would be idle.
            let mut is_again = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut is_again, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
        }
        assert!(is_committed.get());
    };
    let started = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        never_sleeps.await;
    };
    worker.block_on(&*node.node, async { tokio::join!(commits, started) });
}
