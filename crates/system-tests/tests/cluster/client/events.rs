//! Event streams: every committed change once, whoever makes it and whatever dies meanwhile; and what cannot be told is told to be
//! missing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use shoal_client::{Change, ChangeKind, Event, EventOptions, Events, Gap, Timestamp};

use super::*;

const COUNTED: &str = "CREATE TABLE counted (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, note VARCHAR(20))";
const NAMED: &str = "CREATE TABLE named (name VARCHAR(20) NOT NULL PRIMARY KEY, v INT NOT NULL)";
/// The row by which a test finds the end of the stream.
const LAST: i64 = 999_999;

/// A table as its events tell it: key and `v`. Every update of a row counts `v` up by one, so what is missing or comes twice is found.
#[derive(Default)]
struct Model {
    rows: BTreeMap<String, i64>,
    newest: BTreeMap<String, Timestamp>,
    changes: usize,
    gaps: usize,
    complete: Timestamp,
}

fn number(value: Option<Value>) -> i64 {
    let Some(Value::Int(number)) = value else { panic!("{value:?} is no number") };
    number
}

impl Model {
    fn take(&mut self, change: &Change, key: &str) {
        self.changes += 1;
        let key = String::from_utf8(change.row.get(key).unwrap().to_text().to_vec()).unwrap();
        let before = self.rows.get(&key).copied();
        assert!(change.timestamp > self.complete, "{change:?} comes after {:?}", self.complete);
        let newest = self.newest.insert(key.clone(), change.timestamp);
        assert!(newest.is_none_or(|newest| newest < change.timestamp), "{change:?} after {newest:?}");
        match change.kind {
            ChangeKind::Delete => {
                assert_eq!(change.row.names().len(), 1);
                assert!(self.rows.remove(&key).is_some(), "{change:?} of {before:?}");
            }
            kind => {
                let v = number(change.row.get("v"));
                match (kind, before) {
                    (ChangeKind::Insert, None) => {}
                    (ChangeKind::Update, Some(before)) => assert_eq!(v, before + 1, "{change:?}"),
                    _ => panic!("{change:?} of {before:?}"),
                }
                self.rows.insert(key, v);
            }
        }
    }

    fn assert_is(&self, sql: &mut shoal_testkit::client::Client, query: &str) {
        let rows: Vec<String> = self.rows.iter().map(|(key, v)| format!("{key},{v}")).collect();
        let mut found = sql.text(query).unwrap();
        found.sort();
        assert_eq!(rows, found);
    }
}

/// Reads on until everything is complete that was committed when the last row came.
async fn read_to_the_end(events: &mut Events, counted: &mut Model, named: &mut Model) {
    let mut end = None;
    loop {
        match events.next().await.unwrap() {
            Event::Change(change) if change.table.name() == "counted" => {
                let is_last = change.row.get("id") == Some(Value::Int(LAST)) && change.kind == ChangeKind::Insert;
                counted.take(&change, "id");
                if is_last {
                    end = Some(change.timestamp);
                }
            }
            Event::Change(change) => named.take(&change, "name"),
            Event::Complete(timestamp) => {
                assert!(timestamp > counted.complete);
                (counted.complete, named.complete) = (timestamp, timestamp);
                if end.is_some_and(|end| end <= timestamp) {
                    return;
                }
            }
            Event::Gap { .. } => counted.gaps += 1,
            other => panic!("{other:?}"),
        }
    }
}

/// What writers do, and whether they are to end.
#[derive(Default)]
struct Work {
    stop: AtomicBool,
    commits: AtomicUsize,
}

impl Work {
    fn wait_for_more(&self, commits: usize) {
        let before = self.commits.load(Ordering::Relaxed);
        wait_until("commits", || self.commits.load(Ordering::Relaxed) > before + commits);
    }
}

/// Transactions over several rows, and so over several leaders, until told to stop; some of them are rolled back.
fn write_sql(cluster: &DevCluster, node: u32, seed: u64, work: &Work) {
    let mut sql = cluster.client(node);
    let mut state = seed;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    while !work.stop.load(Ordering::Relaxed) {
        let mut statements = vec!["BEGIN".to_owned()];
        for number in 0..1 + random(4) {
            // No row twice in a transaction: that is one change.
            let id = random(10) * 4 + number;
            statements.push(match random(5) {
                0 => format!("INSERT IGNORE INTO counted VALUES ({id}, 0, 'sql')"),
                1 => format!("DELETE FROM counted WHERE id = {id}"),
                2 => format!("INSERT INTO named VALUES ('N{id}', 0) ON DUPLICATE KEY UPDATE v = v + 1"),
                3 => format!("DELETE FROM named WHERE name = 'n{id}'"),
                _ => format!("UPDATE counted SET v = v + 1 WHERE id = {id} OR id = {}", id + 4),
            });
        }
        statements.push(if random(4) == 0 { "ROLLBACK".into() } else { "COMMIT".into() });
        for statement in statements {
            // Deadlocks and lost leaders belong to it, a lost connection as well.
            if sql.execute(&statement).is_ok() {
                work.commits.fetch_add(usize::from(statement == "COMMIT"), Ordering::Relaxed);
            } else {
                if sql.execute("ROLLBACK").is_err() {
                    wait_until("the node to serve again", || {
                        cluster.try_client(node).map(|client| sql = client).is_ok()
                    });
                }
                break;
            }
        }
    }
}

/// The same by a native client.
fn write_native(address: &str, seed: i64, work: &Work) {
    let client = connect(address);
    let counted = table(&client, "counted");
    let up = Update::new().add("v", 1);
    client.block_on(async {
        let mut round = seed;
        while !work.stop.load(Ordering::Relaxed) {
            round += 7;
            let keys = [int(round % 40), int((round + 13) % 40)];
            let mut transaction = client.begin(Isolation::ReadCommitted);
            let changed = transaction.update_many(&counted, &keys, &up).await;
            match (changed, round % 3) {
                (Ok(_), 0) => transaction.rollback(),
                (Ok(_), _) => drop(transaction.commit().await),
                (Err(_), _) => {}
            }
        }
    });
}

fn write_last(cluster: &DevCluster) {
    let mut sql = cluster.client(1);
    wait_until("the last row to be written", || {
        sql.execute(&format!("INSERT INTO counted VALUES ({LAST}, 0, NULL)")).is_ok()
            || !sql.text(&format!("SELECT id FROM counted WHERE id = {LAST}")).unwrap_or_default().is_empty()
    });
}

#[test]
fn every_committed_change_of_sql_and_native_comes_once_and_what_is_rolled_back_never() {
    follow_while_writing(|_, work| work.wait_for_more(500));
}

#[test]
fn nothing_is_lost_or_doubled_when_leaders_are_killed() {
    follow_while_writing(|cluster, work| {
        for node in [2, 1] {
            work.wait_for_more(50);
            cluster.kill_and_wait(node);
        }
        work.wait_for_more(50);
    });
}

/// Follows two tables while sessions write to them and `meanwhile` does something to the cluster.
fn follow_while_writing(meanwhile: impl Fn(&DevCluster, &Work) + Sync) {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(COUNTED).unwrap();
    sql.execute(NAMED).unwrap();
    let client = connect(&address);
    let (counted, named) = (table(&client, "counted"), table(&client, "named"));
    let work = Work::default();
    let (mut first, mut second) = (Model::default(), Model::default());
    std::thread::scope(|scope| {
        // What was there before is not told.
        let mut events = client.block_on(client.events(&[&counted, &named], EventOptions::default())).unwrap();
        let (cluster, address, work) = (&cluster, &address, &work);
        let writers = [
            scope.spawn(move || write_sql(cluster, 1, 11, work)),
            scope.spawn(move || write_sql(cluster, 2, 22, work)),
            scope.spawn(move || write_native(address, 33, work)),
        ];
        let meanwhile = &meanwhile;
        scope.spawn(move || {
            meanwhile(cluster, work);
            work.stop.store(true, Ordering::Relaxed);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            write_last(cluster);
        });
        client.block_on(read_to_the_end(&mut events, &mut first, &mut second));
    });
    assert_eq!(first.gaps, 0);
    assert!(first.changes > 100 && second.changes > 10, "{} and {}", first.changes, second.changes);
    // The node may have been another process.
    let mut sql = cluster.client(1);
    first.assert_is(&mut sql, "SELECT id, v FROM counted");
    second.assert_is(&mut sql, "SELECT name, v FROM named");
}

#[test]
fn where_rows_have_one_copy_changes_are_told_as_well() {
    let cluster = DevCluster::start(&["--data-nodes", "1"]);
    let mut sql = cluster.client(1);
    sql.execute(COUNTED).unwrap();
    let client = connect(&management_address(cluster.folder()));
    let counted = table(&client, "counted");
    let mut model = Model::default();
    client.block_on(async {
        let mut events = client.events(&[&counted], EventOptions::default()).await.unwrap();
        let rows: Vec<Vec<Value>> = (0..500).map(|id| vec![Value::Int(id), Value::Int(0), Value::Null]).collect();
        client.insert_many(&counted, &[], &rows).await.unwrap();
        for round in 0..5 {
            sql.execute(&format!("UPDATE counted SET v = v + 1 WHERE id % 5 >= {round}")).unwrap();
        }
        client.delete_many(&counted, &[int(1), int(3)]).await.unwrap();
        sql.execute(&format!("INSERT INTO counted VALUES ({LAST}, 0, NULL)")).unwrap();
        read_to_the_end(&mut events, &mut model, &mut Model::default()).await;
    });
    assert_eq!((model.changes, model.gaps), (500 + 1500 + 2 + 1, 0));
    model.assert_is(&mut sql, "SELECT id, v FROM counted");
}

#[test]
fn who_reads_too_slowly_holds_nothing_and_hears_of_the_gap() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute("CREATE TABLE large (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, body MEDIUMTEXT)").unwrap();
    let client = connect(&address);
    let large = table(&client, "large");
    client.block_on(async {
        let many = Client::connect(&address, Options::default()).await.unwrap();
        let followed = many.table("test", "large").unwrap();
        let mut events = many.events(&[&followed], EventOptions { window_bytes: 1 }).await.unwrap();
        let body = "x".repeat(1 << 20);
        client.insert(&large, &[], vec![Value::Int(1), Value::Int(0), Value::str(body.as_str())]).await.unwrap();
        for _ in 0..30 {
            let next = Update::new().add("v", 1).set("body", body.as_str());
            client.update(&large, &int(1), &next).await.unwrap();
        }
        let (mut before, mut gap, mut last) = (Vec::new(), None, 0);
        // Whoever has read the gap reads the table; what comes behind it is whole.
        while last < 31 {
            match events.next().await.unwrap() {
                Event::Change(change) if gap.is_none() => before.push(number(change.row.get("v"))),
                Event::Change(change) => last = number(change.row.get("v")),
                Event::Gap { after, reason } => {
                    assert_eq!((gap.replace(after), reason), (None, Gap::Compacted));
                    let row = client.get(&large, &int(1)).await.unwrap().unwrap();
                    assert_eq!(number(row.get("v")), 30);
                    client.update(&large, &int(1), &Update::new().add("v", 1)).await.unwrap();
                }
                Event::Complete(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(before, (0..before.len() as i64).collect::<Vec<_>>(), "none is missing before the gap");
        assert!(!before.is_empty() && before.len() < 12, "{before:?}");
        // An end that nobody has to be told of.
        drop(events);
        let mut again = many.events(&[&followed], EventOptions::default()).await.unwrap();
        client.delete(&large, &int(1)).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "the deletion does not come");
            match again.next().await.unwrap() {
                Event::Change(change) => {
                    assert_eq!((change.kind, change.row.values()), (ChangeKind::Delete, int(1)));
                    break;
                }
                Event::Complete(_) => {}
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn definitions_are_told_and_what_ends_a_table_ends_its_events() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(2);
    sql.execute(COUNTED).unwrap();
    let client = futures_block_on(Client::connect(&address, Options::default())).unwrap();
    let find = |column: &str| {
        let has = |table: &shoal_client::Table| table.columns().is_ok_and(|all| all.contains(&column.to_owned()));
        wait_until("the client to know the table", || {
            client.table("test", "counted").is_ok_and(|table| has(&table))
        });
        client.table("test", "counted").unwrap()
    };
    let copying = "ALTER TABLE counted ADD COLUMN more BIGINT NOT NULL DEFAULT 1, ALGORITHM=COPY";
    for end in [copying, "TRUNCATE TABLE counted", "DROP TABLE counted"] {
        let counted = find("v");
        let mut events = futures_block_on(client.events(&[&counted], EventOptions::default())).unwrap();
        sql.execute("INSERT INTO counted (id, v, note) VALUES (1, 10, 'a'), (2, 20, 'b')").unwrap();
        sql.execute("ALTER TABLE counted ADD INDEX (v)").unwrap();
        sql.execute("UPDATE counted SET v = v + 1").unwrap();
        sql.execute(end).unwrap();
        let mut told = Vec::new();
        loop {
            match futures_block_on(events.next()).unwrap() {
                Event::Change(change) => told.push(number(change.row.get("v"))),
                Event::Altered(table) => assert_eq!(table.name(), "counted"),
                Event::Dropped(table) => break assert_eq!(table.name(), "counted"),
                Event::Complete(_) => {}
                other => panic!("{other:?}"),
            }
        }
        told.sort_unstable();
        assert_eq!(told, [10, 11, 20, 21], "{end}");
        if end == copying {
            sql.execute("DELETE FROM counted").unwrap();
            sql.execute("ALTER TABLE counted DROP INDEX v").unwrap();
            find("more");
        } else if end.starts_with("TRUNCATE") {
            sql.execute("ALTER TABLE counted DROP INDEX v").unwrap();
        }
    }
    // A definition that keeps rows as they are is told, and its names are used when the client knows it.
    sql.execute(COUNTED).unwrap();
    let counted = find("v");
    let mut events = futures_block_on(client.events(&[&counted], EventOptions::default())).unwrap();
    sql.execute("ALTER TABLE counted RENAME COLUMN v TO w").unwrap();
    find("w");
    sql.execute("INSERT INTO counted VALUES (7, 70, NULL)").unwrap();
    let mut is_altered = false;
    loop {
        match futures_block_on(events.next()).unwrap() {
            Event::Altered(_) => is_altered = true,
            Event::Change(change) => {
                assert!(is_altered);
                let values = (change.row.get("w"), change.row.get("v"));
                break assert_eq!(values, (Some(Value::Int(70)), None));
            }
            Event::Complete(_) => {}
            other => panic!("{other:?}"),
        }
    }
}
