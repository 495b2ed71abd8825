//! Two nodes with logs of their own: partitions with even numbers are led by the first, those with odd numbers by the
//! second.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Place, Table};
use shoal_types::{NodeId, Outcome, Result, Timestamp};

use super::all_here::support::{self, Shape, TestNode, key, newest_k, read, row, rows_of, run, scan_all, set_k};
use super::loopback::{Fault, Loopback, Network};
use crate::*;

const PARTITIONS: u32 = 4;

pub struct Cluster {
    pub nodes: [TestNode; 2],
    pub servers: [Arc<Server>; 2],
    pub network: Arc<Network>,
}

fn id_of(position: usize) -> NodeId {
    NodeId(position as u32 + 1)
}

impl Cluster {
    fn new() -> Cluster {
        Cluster::with(true)
    }

    /// `single_groups`: what a node leads is in one log, and its share of a transaction is committed as one.
    pub fn with(single_groups: bool) -> Cluster {
        let network = Arc::new(Network::default());
        let nodes = [0, 1].map(|_| TestNode::new(PARTITIONS));
        let servers = [0, 1].map(|position: usize| {
            let node = &nodes[position].node;
            let place = move |partition: u32| match partition as usize % 2 == position {
                true => Place::Local,
                false => Place::Remote(id_of(1 - position)),
            };
            node.set_remote(Arc::new(Loopback {
                network: Arc::clone(&network),
                node: id_of(position),
                peers: vec![id_of(1 - position)],
                place: Box::new(place),
                single_groups,
            }));
            let server = Server::new(Arc::clone(node));
            network.add(id_of(position), &server);
            server
        });
        Cluster { nodes, servers, network }
    }

    /// The same table on both nodes.
    pub async fn create(&self, shape: Shape) -> Arc<Table> {
        let table = self.nodes[0].create("t", shape).await;
        assert_eq!(self.nodes[1].create("t", shape).await.id(), table.id());
        table
    }

    /// `count` ids of rows that the node leads.
    pub fn ids_at(&self, table: &Table, position: usize, count: usize) -> Vec<i64> {
        let router = self.nodes[0].node.router();
        let is_there = |&id: &i64| router.partition_of(&key(table, id)) as usize % 2 == position;
        (0..).filter(is_there).take(count).collect()
    }

    /// A table with `count` rows that the node leads, and their ids.
    async fn with_rows_at(&self, position: usize, count: usize) -> (Arc<Table>, Vec<i64>) {
        let table = self.create(Shape::Plain).await;
        let ids = self.ids_at(&table, position, count);
        load(&self.nodes[position], &table, &ids).await;
        (table, ids)
    }

    /// Does, without end, what a node of a cluster does in the background.
    async fn break_cycles(&self) {
        loop {
            for node in &self.nodes {
                crate::deadlock::break_cycles_between_nodes(&node.node).await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn begun(&self, position: usize) -> Transaction {
        self.nodes[position].begun(Isolation::RepeatableRead)
    }

    pub fn assert_idle(&self) {
        for node in &self.nodes {
            for partition in 0..PARTITIONS {
                let activity = node.node.partition(partition).activity();
                assert_eq!((activity.transactions, activity.row_locks, activity.proposals), (0, 0, 0));
            }
            assert!(node.node.wait_for_graph().is_empty());
            assert_eq!(node.node.snapshots().in_use(), 0);
        }
    }
}

/// Inserts one row after the other, each in a transaction of its own.
pub async fn load(node: &TestNode, table: &Arc<Table>, ids: &[i64]) {
    for &id in ids {
        support::load(node, table, [(id, Some(0))]).await;
    }
}

#[test]
fn both_nodes_see_what_either_has_committed() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::IndexedK).await;
        load(&cluster.nodes[0], &table, &(0..50).collect::<Vec<_>>()).await;
        load(&cluster.nodes[1], &table, &(50..100).collect::<Vec<_>>()).await;
        for node in &cluster.nodes {
            for ordered in [false, true] {
                let mut transaction = node.begun(Isolation::RepeatableRead);
                let mut rows =
                    rows_of(&mut transaction, scan_all(&table, 0, ordered, support::SNAPSHOT)).await.unwrap();
                if !ordered {
                    rows.sort_unstable();
                }
                assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
            }
            assert_eq!(support::row_count(node, &table).await, 100);
        }
        cluster.assert_idle();
    });
}

/// First batches that had been asked for together were asked for again when one of them had no leader, and shown twice.
#[test]
fn a_scan_shows_every_row_once_whichever_of_its_requests_finds_no_leader() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::IndexedK).await;
        let ids: Vec<i64> = (0..3000).collect();
        support::load(&cluster.nodes[0], &table, ids.iter().map(|&id| (id, Some(id)))).await;
        for (index, ordered) in [(0, false), (0, true), (1, false), (1, true)] {
            for broken in 0..12 {
                let mut transaction = cluster.begun(0);
                let calls = cluster.network.calls();
                cluster.network.break_call(broken, Fault::NotSent);
                let request = scan_all(&table, index, ordered, support::SNAPSHOT);
                let mut shown: Vec<i64> = rows_of(&mut transaction, request)
                    .await
                    .map_or(Vec::new(), |rows| rows.iter().map(|row| row.0).collect());
                shown.sort_unstable();
                // A scan that has begun in a partition does not begin again there.
                let is_given_up = shown.is_empty() && broken > 2;
                assert!(
                    shown == ids || is_given_up,
                    "index {index}, ordered {ordered}, call {broken}: {} rows",
                    shown.len()
                );
                assert!(cluster.network.calls() > calls);
                transaction.rollback();
            }
            cluster.network.heal();
        }
        cluster.assert_idle();
    });
}

#[test]
fn a_snapshot_is_the_same_on_both_nodes_whatever_is_committed_after_it() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let ids = [cluster.ids_at(&table, 0, 5), cluster.ids_at(&table, 1, 5)].concat();
        load(&cluster.nodes[0], &table, &ids).await;
        for reader in 0..2 {
            let mut transaction = cluster.begun(reader);
            // The snapshot is taken by a read at one node alone.
            transaction.get(&table, &key(&table, ids[0]), support::SNAPSHOT, |_| ()).await.unwrap();
            for &id in &ids {
                let mut writer = cluster.begun(id as usize % 2);
                set_k(&mut writer, &table, id, Some(reader as i64 + 1)).await.unwrap();
                writer.commit().await.unwrap();
            }
            for node in &cluster.nodes {
                exchange_pulses(&node.node).await;
            }
            let rows = rows_of(&mut transaction, scan_all(&table, 0, false, support::SNAPSHOT)).await.unwrap();
            assert!(rows.iter().all(|row| row.1 == Some(reader as i64)), "{rows:?}");
            transaction.rollback();
        }
        cluster.assert_idle();
    });
}

/// Rows in frames went to the partition as they were: what was none was read beyond its end, or logged and replicated.
#[test]
fn what_is_no_row_is_refused_and_nothing_of_it_is_stored() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::IndexedK).await;
        let id = cluster.ids_at(&table, 1, 1)[0];
        let sound = row(&table, id, Some(1), "text");
        let mut writer = cluster.begun(0);
        let error = writer.insert_many(&table, &[[&sound[..], b"x"].concat()], false).await.unwrap_err();
        assert!(error.message().contains("are no row of"), "{error}");
        writer.rollback();
        let mut writer = cluster.begun(0);
        writer.insert_many(&table, &[&sound], false).await.unwrap();
        writer.commit().await.unwrap();
    });
    cluster.assert_idle();
}

#[test]
fn frames_with_spoilt_contents_do_no_harm() {
    let cluster = Cluster::new();
    *cluster.network.requests.lock().unwrap() = Some(Vec::new());
    run(async {
        let (table, ids) = cluster.with_rows_at(1, 6).await;
        let mut writer = cluster.begun(0);
        set_k(&mut writer, &table, ids[0], Some(7)).await.unwrap();
        rows_of(&mut writer, scan_all(&table, 0, true, support::SNAPSHOT)).await.unwrap();
        writer.commit().await.unwrap();
        let requests = cluster.network.requests.lock().unwrap().take().unwrap();
        assert!(requests.len() > 3, "{}", requests.len());
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        for (to, request) in &requests {
            for _ in 0..400 {
                let mut spoilt = request.clone();
                for _ in 0..=random(3) {
                    let at = random(spoilt.len());
                    match random(4) {
                        0 => spoilt[at] ^= 1 << random(8),
                        1 => spoilt[at] = random(256) as u8,
                        2 => spoilt.truncate(at.max(1)),
                        _ => spoilt.insert(at, random(256) as u8),
                    }
                }
                let mut reply = Vec::new();
                drop(cluster.servers[to.0 as usize - 1].serve(NodeId(3 - to.0), &spoilt, &mut reply));
            }
        }
        // The node goes on.
        for node in &cluster.nodes {
            assert!(!node.node.is_stopped());
        }
    });
}

/// Timestamps did not travel with requests and commit replies: behind a node whose clock is ahead, a snapshot showed a transaction without
/// the one before it, which its client had been told of.
#[test]
fn a_snapshot_never_shows_what_a_client_did_after_something_that_it_does_not_show() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let (first, second) = (cluster.ids_at(&table, 0, 1)[0], cluster.ids_at(&table, 1, 1)[0]);
        load(&cluster.nodes[0], &table, &[first, second]).await;
        // The first node's clock is ahead, and so is the newest that it shows.
        let clock = cluster.nodes[0].node.clock();
        clock.observe(Timestamp(clock.tick().0 + (1 << 40)));
        let set = async |node: usize, id: i64, k: i64| {
            let mut writer = cluster.begun(node);
            set_k(&mut writer, &table, id, Some(k)).await.unwrap();
            writer.commit().await.unwrap();
        };
        set(0, first, 1).await;
        let mut reader = cluster.begun(0);
        let get = async |reader: &mut Transaction, id| {
            let seen = reader.get(&table, &key(&table, id), support::SNAPSHOT, |row| row.map(read)).await.unwrap();
            seen.unwrap().1.unwrap()
        };
        assert_eq!(get(&mut reader, first).await, 1);
        // A client of the second node, one after the other.
        set(1, first, 2).await;
        set(1, second, 2).await;
        assert_eq!((get(&mut reader, second).await, get(&mut reader, first).await), (0, 1));
        reader.rollback();
    });
}

/// A leader that begins asks who reads which snapshots, and does not wait long for the answers. Those that had come were thrown away
/// when one peer was silent.
#[test]
fn what_peers_tell_in_a_pulse_counts_although_another_peer_is_silent() {
    let cluster = Cluster::new();
    cluster.network.add_silent(NodeId(3));
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let id = cluster.ids_at(&table, 1, 1)[0];
        load(&cluster.nodes[1], &table, &[id]).await;
        let [asker, peer] = &cluster.nodes;
        let ahead = Timestamp(peer.node.clock().tick().0 + (3_600_000_000 << 16));
        peer.node.clock().observe(ahead);
        let mut writer = cluster.begun(1);
        set_k(&mut writer, &table, id, Some(1)).await.unwrap();
        writer.commit().await.unwrap();
        assert!(asker.node.clock().latest() < ahead);
        let pulse = exchange_pulses(&asker.node);
        assert!(tokio::time::timeout(Duration::from_millis(100), pulse).await.is_err());
        assert!(asker.node.clock().latest() > ahead, "the answer was lost");
    });
}

#[test]
fn versions_are_kept_for_snapshots_of_other_nodes_and_dropped_when_nobody_needs_them() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let id = cluster.ids_at(&table, 0, 1)[0];
        let partition = cluster.nodes[0].node.router().partition_of(&key(&table, id));
        load(&cluster.nodes[0], &table, &[id]).await;
        let old_versions = || cluster.nodes[0].node.partition(partition).activity().old_versions;
        let update = async |k: i64| {
            let mut writer = cluster.begun(0);
            set_k(&mut writer, &table, id, Some(k)).await.unwrap();
            writer.commit().await.unwrap();
        };
        let mut reader = cluster.begun(1);
        let seen = reader.get(&table, &key(&table, id), support::SNAPSHOT, |row| row.map(read)).await.unwrap();
        assert_eq!(seen, Some((id, Some(0))));
        for k in 1..20 {
            update(k).await;
            for node in &cluster.nodes {
                exchange_pulses(&node.node).await;
            }
        }
        let seen = reader.get(&table, &key(&table, id), support::SNAPSHOT, |row| row.map(read)).await.unwrap();
        assert_eq!(seen, Some((id, Some(0))));
        assert!(old_versions() > 0);
        reader.rollback();
        for k in 20..30 {
            update(k).await;
            for node in &cluster.nodes {
                exchange_pulses(&node.node).await;
            }
        }
        assert!(old_versions() <= 2, "{} old versions", old_versions());
    });
}

#[test]
fn a_deadlock_between_nodes_ends_with_the_youngest_as_its_victim() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let (here, there) = (cluster.ids_at(&table, 0, 1)[0], cluster.ids_at(&table, 1, 1)[0]);
        load(&cluster.nodes[0], &table, &[here, there]).await;
        for older in 0..2 {
            let mut first = cluster.begun(older);
            let mut second = cluster.begun(1 - older);
            set_k(&mut first, &table, here, Some(1)).await.unwrap();
            // Ids follow the clock, by microseconds.
            while !is_later(&cluster, 1 - older, first.id().unwrap().0) {
                tokio::task::yield_now().await;
            }
            set_k(&mut second, &table, there, Some(2)).await.unwrap();
            let began = std::time::Instant::now();
            let waits = async {
                tokio::join!(
                    set_k(&mut first, &table, there, Some(1)),
                    set_k_and_end(&mut second, &table, here, Some(2))
                )
            };
            let (one, other) = tokio::select! {
                outcomes = waits => outcomes,
                () = cluster.break_cycles() => unreachable!("it goes on for ever"),
            };
            assert_eq!(one.unwrap(), Inserted::Done);
            assert_eq!(other.unwrap_err().errno(), 1213);
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
            first.rollback();
        }
        cluster.assert_idle();
    });
}

/// The next transaction of the node would be younger than `id`.
fn is_later(cluster: &Cluster, position: usize, id: u64) -> bool {
    let age = |id: u64| id & ((1 << 52) - 1);
    age(cluster.nodes[position].node.next_transaction_id().0) > age(id)
}

async fn set_k_and_end(transaction: &mut Transaction, table: &Arc<Table>, id: i64, k: Option<i64>) -> Result<()> {
    let outcome = set_k(transaction, table, id, k).await.map(|_| ());
    if outcome.is_err() {
        transaction.rollback();
    }
    outcome
}

#[test]
fn a_wait_on_another_node_ends_when_it_is_given_up_or_takes_too_long() {
    let cluster = Cluster::new();
    run(async {
        let (table, ids) = cluster.with_rows_at(1, 2).await;
        let mut holder = cluster.begun(1);
        set_k(&mut holder, &table, ids[0], Some(1)).await.unwrap();
        let mut waiter = cluster.begun(0);
        set_k(&mut waiter, &table, ids[1], Some(5)).await.unwrap();
        waiter.set_lock_wait_timeout(Duration::from_millis(20));
        let error = set_k(&mut waiter, &table, ids[0], Some(2)).await.unwrap_err();
        assert_eq!((error.errno(), error.rolls_back_transaction()), (1205, false));
        waiter.set_lock_wait_timeout(Duration::from_secs(50));
        let given_up = set_k(&mut waiter, &table, ids[0], Some(2));
        assert!(tokio::time::timeout(Duration::from_millis(20), given_up).await.is_err());
        assert!(cluster.nodes[1].node.wait_for_graph().is_empty());
        holder.commit().await.unwrap();
        // What it has written before is still there, and what was given up is not.
        waiter.commit().await.unwrap();
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[0]).await, Some(Some(1)));
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[1]).await, Some(Some(5)));
        cluster.assert_idle();
    });
}

/// The leader has lost sight of a coordinator that still waits for a reply, as it may when they talk through a third node.
#[test]
fn a_wait_of_a_transaction_that_was_ended_on_another_node_is_over() {
    let cluster = Cluster::new();
    run(async {
        let (table, ids) = cluster.with_rows_at(1, 2).await;
        let mut holder = cluster.begun(1);
        set_k(&mut holder, &table, ids[0], Some(1)).await.unwrap();
        let mut waiter = cluster.begun(0);
        waiter.set_lock_wait_timeout(Duration::from_secs(50));
        set_k(&mut waiter, &table, ids[1], Some(2)).await.unwrap();
        let end = async {
            while cluster.nodes[1].node.wait_for_graph().is_empty() {
                tokio::task::yield_now().await;
            }
            cluster.servers[1].end_transactions_of(id_of(0));
        };
        let work = async {
            let waits = set_k(&mut waiter, &table, ids[0], Some(2));
            tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it waits for the lock still")
        };
        let (outcome, ()) = tokio::join!(work, end);
        let error = outcome.unwrap_err();
        assert_eq!((error.errno(), error.rolls_back_transaction()), (1297, true), "{error}");
        holder.commit().await.unwrap();
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[1]).await, Some(Some(0)));
        cluster.assert_idle();
    });
}

/// The same, and the coordinator does not notice before it writes what it has made of the row that it had locked.
#[test]
fn who_has_lost_a_lock_on_another_node_writes_nothing_there() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let id = cluster.ids_at(&table, 1, 1)[0];
        load(&cluster.nodes[0], &table, &[id]).await;
        for writes_at_once in [false, true] {
            let mut first = cluster.begun(0);
            first.get(&table, &key(&table, id), support::FOR_UPDATE, |_| ()).await.unwrap();
            cluster.servers[1].end_transactions_of(id_of(0));
            let mut second = cluster.begun(1);
            set_k(&mut second, &table, id, Some(7)).await.unwrap();
            second.commit().await.unwrap();
            let error = match writes_at_once {
                true => first
                    .replace_row(&table, &row(&table, id, Some(0), ""), &row(&table, id, Some(1), ""))
                    .await
                    .err(),
                false => first.get(&table, &key(&table, id), support::FOR_UPDATE, |_| ()).await.err(),
            };
            let error = error.expect("it goes on although it has lost its lock");
            assert_eq!((error.errno(), error.rolls_back_transaction()), (1297, true), "{error}");
            assert_eq!(newest_k(&cluster.nodes[0], &table, id).await, Some(Some(7)));
        }
        cluster.assert_idle();
    });
}

#[test]
fn a_commit_of_what_is_gone_is_no_commit() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        for position in [0, 1] {
            let id = cluster.ids_at(&table, position, 1)[0];
            load(&cluster.nodes[0], &table, &[id]).await;
            let mut transaction = cluster.begun(0);
            set_k(&mut transaction, &table, id, Some(1)).await.unwrap();
            let partition = cluster.nodes[0].node.router().partition_of(&key(&table, id));
            let leader = &cluster.nodes[position].node;
            let part = leader.partition(partition).active_transactions()[0];
            leader.partition(partition).rollback(part);
            let error = transaction.commit().await.unwrap_err();
            assert_eq!((error.errno(), error.outcome()), (1297, Outcome::NotCommitted), "{error}");
        }
        cluster.assert_idle();
    });
}

#[test]
fn an_autocommitted_statement_takes_as_few_round_trips_as_it_can() {
    let cluster = Cluster::new();
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let id = cluster.ids_at(&table, 1, 1)[0];
        let mut transaction = cluster.nodes[0].transaction();
        let start = cluster.network.calls();
        transaction.insert_many(&table, &[row(&table, id, Some(1), "")], false).await.unwrap();
        transaction.commit().await.unwrap();
        let inserted = cluster.network.calls();
        set_k(&mut transaction, &table, id, Some(2)).await.unwrap();
        transaction.commit().await.unwrap();
        let changed = cluster.network.calls();
        let found = transaction.get_newest(&table, &key(&table, id), |row| row.map(read)).await.unwrap();
        assert_eq!(found, Some((id, Some(2))));
        let selected = cluster.network.calls();
        assert_eq!([inserted - start, changed - inserted, selected - changed], [2, 3, 1]);
    });
}

#[test]
fn whatever_call_is_lost_a_transaction_is_there_as_a_whole_or_not_at_all_and_says_so() {
    for fault in [Fault::NotSent, Fault::LostBefore, Fault::LostAfter] {
        for number in 0..8 {
            lose_call(fault, number);
        }
    }
}

fn lose_call(fault: Fault, number: u64) {
    let cluster = Cluster::new();
    run(async {
        let context = format!("call {number}: {fault:?}");
        let (table, ids) = cluster.with_rows_at(1, 2).await;
        cluster.network.break_call(number, fault);
        let mut transaction = cluster.begun(0);
        let work = async {
            for &id in &ids {
                set_k(&mut transaction, &table, id, Some(1)).await?;
            }
            transaction.commit().await
        };
        let outcome = work.await;
        cluster.network.heal();
        drop(transaction);
        let rows: Vec<_> =
            [newest_k(&cluster.nodes[1], &table, ids[0]).await, newest_k(&cluster.nodes[1], &table, ids[1]).await]
                .into_iter()
                .map(|k| k.flatten())
                .collect();
        let is_committed = match rows.as_slice() {
            [Some(0), Some(0)] => false,
            [Some(1), Some(1)] => true,
            _ => panic!("{context}: half a transaction: {rows:?}"),
        };
        match outcome {
            Ok(()) => assert!(is_committed, "{context}"),
            Err(error) => match error.outcome() {
                Outcome::NotCommitted => assert!(!is_committed, "{context}: {error}"),
                Outcome::Committed => assert!(is_committed, "{context}: {error}"),
                Outcome::Unknown => assert_ne!(fault, Fault::NotSent, "{context}: {error}"),
            },
        }
        if fault != Fault::LostBefore {
            cluster.assert_idle();
        }
    });
}

/// The reply to the home's commit is lost, and for a while the home cannot be reached. The thread that asks for the outcome is the
/// one that has to hear that it can be reached again.
#[test]
fn who_asks_for_an_outcome_leaves_its_thread_to_others_meanwhile() {
    let cluster = Cluster::with(false);
    run(async {
        let table = cluster.create(Shape::Plain).await;
        let router = cluster.nodes[0].node.router();
        let partition_of = |id: &i64| router.partition_of(&key(&table, *id));
        let all = cluster.ids_at(&table, 1, 8);
        let other = *all.iter().find(|id| partition_of(id) != partition_of(&all[0])).unwrap();
        let ids = [all[0], other];
        load(&cluster.nodes[1], &table, &ids).await;
        let mut transaction = cluster.begun(0);
        for &id in &ids {
            set_k(&mut transaction, &table, id, Some(1)).await.unwrap();
        }
        // The first call of the commit prepares, the second one decides.
        cluster.network.break_call(1, Fault::Cut);
        let mend = async {
            while !cluster.network.is_cut() {
                tokio::task::yield_now().await;
            }
            let cut_at = cluster.network.calls();
            while cluster.network.calls() == cut_at {
                tokio::task::yield_now().await;
            }
            cluster.network.heal();
            cluster.network.cut(false);
        };
        let work = async { tokio::join!(transaction.commit(), mend).0 };
        let outcome = tokio::time::timeout(Duration::from_secs(30), work).await;
        outcome.expect("the network was not mended in time").unwrap();
        drop(transaction);
        for &id in &ids {
            assert_eq!(newest_k(&cluster.nodes[1], &table, id).await, Some(Some(1)));
        }
    });
}

#[test]
fn what_a_dead_request_left_behind_is_found_by_asking_its_coordinator() {
    let cluster = Cluster::new();
    run(async {
        let (table, ids) = cluster.with_rows_at(1, 2).await;
        let mut alive = cluster.begun(0);
        set_k(&mut alive, &table, ids[0], Some(1)).await.unwrap();
        let mut dead = cluster.begun(0);
        set_k(&mut dead, &table, ids[1], Some(1)).await.unwrap();
        // Its end does not arrive.
        cluster.network.cut(true);
        dead.rollback();
        cluster.network.cut(false);
        for _ in 0..3 {
            cluster.servers[1].end_orphans().await;
        }
        let mut next = cluster.begun(1);
        next.set_lock_wait_timeout(Duration::from_millis(20));
        set_k(&mut next, &table, ids[1], Some(2)).await.unwrap();
        assert_eq!(set_k(&mut next, &table, ids[0], Some(2)).await.unwrap_err().errno(), 1205);
        next.commit().await.unwrap();
        alive.commit().await.unwrap();
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[0]).await, Some(Some(1)));
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[1]).await, Some(Some(2)));
        cluster.assert_idle();
    });
}

/// A request of a node that was killed waited for a lock while what the node had here was rolled back, and took its lock after that. Whoever
/// needed the row waited until the node was back.
#[test]
fn what_a_node_has_left_behind_that_is_not_reached_is_ended_without_asking_it() {
    let cluster = Cluster::new();
    run(async {
        let (table, ids) = cluster.with_rows_at(1, 1).await;
        let mut dead = cluster.begun(0);
        set_k(&mut dead, &table, ids[0], Some(1)).await.unwrap();
        cluster.network.cut(true);
        for _ in 0..2 {
            cluster.servers[1].end_orphans().await;
        }
        let mut next = cluster.begun(1);
        next.set_lock_wait_timeout(Duration::from_millis(20));
        set_k(&mut next, &table, ids[0], Some(2)).await.unwrap();
        next.commit().await.unwrap();
        cluster.network.cut(false);
        assert_eq!(dead.commit().await.unwrap_err().errno(), 1297);
        assert_eq!(newest_k(&cluster.nodes[0], &table, ids[0]).await, Some(Some(2)));
        cluster.assert_idle();
    });
}
