//! Transfers between accounts in many partitions by many threads, while others read all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use shoal_cluster::Table;

use super::support::*;
use crate::*;

const ACCOUNTS: i64 = 40;
const BALANCE: i64 = 100;

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *random >> 33
}

async fn add(transaction: &mut Transaction, table: &Arc<Table>, id: i64, amount: i64) -> shoal_types::Result<()> {
    let change = |old: shoal_types::row::RowRef<'_>| {
        let balance = read(old).1.unwrap_or(0) + amount;
        Ok((Modification::Update(row(table, id, Some(balance), "")), ()))
    };
    transaction.modify(table, &key(table, id), change).await.map(|_| ())
}

/// Moves money about; returns how many transfers were made.
async fn transfer(node: &TestNode, table: &Arc<Table>, seed: u64, rounds: usize) -> u64 {
    let mut random = seed;
    let mut transaction = node.transaction();
    let mut done = 0;
    for _ in 0..rounds {
        let isolation =
            if next(&mut random).is_multiple_of(2) { Isolation::RepeatableRead } else { Isolation::ReadCommitted };
        transaction.begin(isolation);
        let (from, to) = (next(&mut random) as i64 % ACCOUNTS, next(&mut random) as i64 % ACCOUNTS);
        let amount = next(&mut random) as i64 % 10;
        let moved = async {
            add(&mut transaction, table, from, -amount).await?;
            add(&mut transaction, table, to, amount).await
        };
        match moved.await {
            Ok(()) if next(&mut random).is_multiple_of(8) => transaction.rollback(),
            Ok(()) => {
                transaction.commit().await.unwrap();
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.errno(), 1213, "{error}");
                assert!(!transaction.is_active());
            }
        }
    }
    done
}

async fn check_sum(transaction: &mut Transaction, table: &Arc<Table>, ordered: bool) {
    let rows = rows_of(transaction, scan_all(table, 0, ordered, SNAPSHOT)).await.unwrap();
    assert_eq!(rows.len() as i64, ACCOUNTS);
    assert_eq!(rows.iter().filter_map(|row| row.1).sum::<i64>(), ACCOUNTS * BALANCE);
}

async fn audit(node: &TestNode, table: &Arc<Table>, stop: &AtomicBool) {
    let mut transaction = node.transaction();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        transaction.begin(if number % 2 == 0 { Isolation::RepeatableRead } else { Isolation::ReadCommitted });
        for ordered in [false, true] {
            transaction.start_statement();
            check_sum(&mut transaction, table, ordered).await;
        }
        transaction.rollback();
        tokio::task::yield_now().await;
    }
}

#[test]
fn no_money_is_made_or_lost_whoever_looks_and_after_a_crash() {
    let node = TestNode::new(6);
    let table = run(async {
        let table = node.create("t", Shape::Plain).await;
        load(&node, &table, (0..ACCOUNTS).map(|id| (id, Some(BALANCE)))).await;
        table
    });
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let auditor = scope.spawn(|| run(audit(&node, &table, &stop)));
        let tellers: Vec<_> = (0..4)
            .map(|number| {
                let (node, table, done) = (&node, &table, &done);
                scope.spawn(move || {
                    run(async {
                        let seeds = [number * 2 + 1, number * 2 + 2];
                        let one = transfer(node, table, seeds[0], 150);
                        let two = transfer(node, table, seeds[1], 150);
                        let (one, two) = tokio::join!(one, two);
                        done.fetch_add(one + two, Ordering::Relaxed);
                    });
                })
            })
            .collect();
        let failed = tellers.into_iter().map(|teller| teller.join()).filter(Result::is_err).count();
        stop.store(true, Ordering::Relaxed);
        assert!(auditor.join().is_ok() && failed == 0);
    });
    assert!(done.load(Ordering::Relaxed) > 100);
    node.node.checkpoint().unwrap();
    assert!(node.node.wait_for_graph().is_empty());
    drop(table);
    let node = node.restart(false);
    run(async {
        node.settle().await;
        check_sum(&mut node.transaction(), &node.table("t"), true).await;
    });
}
