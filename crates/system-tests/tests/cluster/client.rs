//! The native client: every operation beside SQL, violations and conflicts, and what is left when a client or a leader dies.

mod blobs;
mod events;
mod history;
mod linked;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use shoal_client::{
    Client, Filter, Isolation, LocalClient, LockMode, LockWait, Options, Outcome, ReadMode, Scan, Transporter,
    Update, Value,
};
use shoal_system_tests::cluster::{DevCluster, Layout, StartedCluster};
use shoal_system_tests::wait_until;

const LOCKED: ReadMode = ReadMode { lock: Some(LockMode::Exclusive), wait: LockWait::Wait };
/// At least as long as a leader serves that nobody answers, as long as heartbeats are the default's.
const LEASE: Duration = Duration::from_millis(150);
/// For the test that starts its own program a second time, as a client to be killed.
const ADDRESS_VARIABLE: &str = "SHOAL_TEST_CLIENT_ADDRESS";

fn management_address(folder: &Path) -> String {
    let config = std::fs::read_to_string(folder.join("config.ini")).unwrap();
    let port = config.lines().find_map(|line| line.strip_prefix("PortNumber=")).unwrap();
    format!("127.0.0.1:{port}")
}

fn cluster() -> (DevCluster, String) {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let address = management_address(cluster.folder());
    (cluster, address)
}

fn connect(address: &str) -> LocalClient {
    LocalClient::connect(address, Options { spin: std::time::Duration::ZERO, ..Options::default() }).unwrap()
}

fn int(number: i64) -> Vec<Value> {
    vec![Value::Int(number)]
}

/// A table that a statement has just made is known to clients a moment later.
fn table(client: &LocalClient, name: &str) -> shoal_client::Table {
    wait_until("the client to know the table", || {
        client.block_on(async { tokio_yield().await });
        client.table("test", name).is_ok()
    });
    client.table("test", name).unwrap()
}

/// Lets the client's own tasks run.
async fn tokio_yield() {
    let mut is_polled = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut is_polled, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

const ACCOUNTS: &str = "CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, owner VARCHAR(20) NOT NULL, \
    number INT NOT NULL, balance DECIMAL(10,2) NOT NULL DEFAULT 10, note TEXT, UNIQUE KEY number (number), KEY owner (owner))";

#[test]
fn native_rows_are_sql_rows_whatever_the_operation() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(ACCOUNTS).unwrap();
    let client = connect(&address);
    let accounts = table(&client, "accounts");
    client.block_on(async {
        let columns = ["owner", "number", "note"];
        let row = |number: i64| {
            let owner = if number % 2 == 0 { "Ada" } else { "Bob" };
            vec![Value::str(owner), Value::Int(number), Value::Null]
        };
        let rows: Vec<Vec<Value>> = (1..=600).map(row).collect();
        let first = client.insert_many(&accounts, &columns, &rows).await.unwrap().unwrap();
        assert_eq!(
            sql.text("SELECT COUNT(*), SUM(balance), MIN(id) FROM accounts").unwrap(),
            [format!("600,6000.00,{first}")]
        );
        sql.execute("INSERT INTO accounts (id, owner, number, note) VALUES (100000, 'Cid', 7000, 'from SQL')")
            .unwrap();

        // By keys, one by one and in batches.
        let found = client.get(&accounts, &int(100_000)).await.unwrap().unwrap();
        assert_eq!(
            (found.get("OWNER"), found.get("note")),
            (Some(Value::str("Cid")), Some(Value::str("from SQL")))
        );
        assert!(client.get(&accounts, &int(99_999)).await.unwrap().is_none());
        let keys = [int(100_000), int(99_999), int(100_000)];
        let many = client.get_many(&accounts, &keys).await.unwrap();
        assert_eq!(many.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        let by_number = client.get_unique(&accounts, "number", &int(7000)).await.unwrap().unwrap();
        assert_eq!(by_number.values(), found.values());
        let keys = [int(3), int(-3), int(7000)];
        let many = client.get_unique_many(&accounts, "number", &keys).await.unwrap();
        let numbers: Vec<_> = many.into_iter().map(|row| row.and_then(|row| row.get("number"))).collect();
        assert_eq!(numbers, [Some(Value::Int(3)), None, Some(Value::Int(7000))]);

        // Scans.
        let ada = Scan::new().index("owner").equal(vec![Value::str("ADA")]);
        assert_eq!(client.scan(&accounts, &ada).await.unwrap().len(), 300);
        let numbers =
            |rows: Vec<shoal_client::Row>| rows.iter().filter_map(|row| row.get("number")).collect::<Vec<_>>();
        let down =
            Scan::new().index("number").after(int(10)).up_to(int(400)).descending().limit(3).columns(&["number"]);
        let rows = client.scan(&accounts, &down).await.unwrap();
        assert_eq!(rows[0].names(), ["number"]);
        assert_eq!(numbers(rows), [Value::Int(400), Value::Int(399), Value::Int(398)]);
        let before = Scan::new().index("number").from(int(2)).before(int(5)).ordered();
        assert_eq!(numbers(client.scan(&accounts, &before).await.unwrap()), [2, 3, 4].map(Value::from));
        let filter =
            Filter::less("number", 101).and(Filter::equal("owner", "bob")).and(Filter::IsNull("note".into()));
        let filtered = Scan::new().filter(filter).columns(&["owner", "number"]);
        let rows = client.scan(&accounts, &filtered).await.unwrap();
        assert_eq!((rows.len(), rows[0].names().len()), (50, 2));
        assert!(rows.iter().all(|row| row.get("owner") == Some(Value::str("Bob"))));
        assert_eq!(client.scan(&accounts, &Scan::new()).await.unwrap().len(), 601);

        // A choice of columns without those that order or lock; locks of rows that do not pass are given back.
        for scan in [Scan::new().index("number").ordered(), Scan::new().index("number"), Scan::new()] {
            let mut locking = client.begin(Isolation::ReadCommitted);
            let some = Filter::equal("number", 3).or(Filter::equal("number", 5));
            let scan = scan.filter(some).columns(&["note", "owner"]).mode(LOCKED);
            let rows = locking.scan_all(&accounts, &scan).await.unwrap();
            let values: Vec<_> = rows.iter().map(shoal_client::Row::values).collect();
            assert_eq!(values, vec![vec![Value::Null, Value::str("Bob")]; 2]);
            assert!(sql.text("SELECT id FROM accounts WHERE number = 5 FOR UPDATE NOWAIT").is_err());
            sql.text("SELECT id FROM accounts WHERE number = 4 FOR UPDATE NOWAIT").unwrap();
        }
        wait_until("the locks to be given back", || sql.text("SELECT id FROM accounts FOR UPDATE NOWAIT").is_ok());
        let one = Scan::new().index("number").after(int(3)).ordered().limit(1).columns(&["owner"]);
        let rows = client.scan(&accounts, &one).await.unwrap();
        assert_eq!((rows.len(), rows[0].values()), (1, vec![Value::str("Ada")]));

        // Changes in place, and those of unique columns.
        let up = Update::new().add("balance", -3).set("note", "paid");
        assert!(client.update(&accounts, &int(100_000), &up).await.unwrap());
        let only = Update::new().add("number", 100_000).only_if(Filter::equal("owner", "Ada"));
        let keys: Vec<Vec<Value>> = (0..600).map(|place| int(first as i64 + place)).chain([int(-1)]).collect();
        assert_eq!(client.update_many(&accounts, &keys, &only).await.unwrap(), 300);
        let doubled = Update::new().add("balance", 1);
        assert_eq!(client.update_many(&accounts, &keys, &doubled).await.unwrap(), 600);
        let expected = ["Ada,100301.0000,11.000000", "Bob,300.0000,11.000000", "Cid,7000.0000,7.000000"];
        let found = sql
            .text("SELECT owner, AVG(number), AVG(balance) FROM accounts GROUP BY owner ORDER BY owner")
            .unwrap();
        assert_eq!(found, expected);
        assert_eq!(sql.text("SELECT owner FROM accounts WHERE number = 100002").unwrap(), ["Ada"]);
        assert!(sql.text("SELECT owner FROM accounts WHERE number = 2").unwrap().is_empty());

        // Put, and delete.
        let put = vec![
            vec![Value::Int(100_000), Value::str("Cid"), Value::Int(7001)],
            vec![Value::Int(99_000), Value::str("Dan"), Value::Int(7000)],
        ];
        client.put_many(&accounts, &["id", "owner", "number"], &put).await.unwrap();
        let expected = ["99000,7000,10.00", "100000,7001,10.00"];
        assert_eq!(
            sql.text("SELECT id, number, balance FROM accounts WHERE id >= 99000 ORDER BY id").unwrap(),
            expected
        );
        assert_eq!(client.delete_many(&accounts, &keys).await.unwrap(), 600);
        assert!(!client.delete(&accounts, &keys[0]).await.unwrap());
        assert_eq!(sql.text("SELECT COUNT(*) FROM accounts").unwrap(), ["2"]);
        sql.execute("INSERT INTO accounts (owner, number) VALUES ('Eve', 5)").unwrap();
    });
}

#[test]
fn rows_are_changed_and_deleted_by_keys_of_unique_indexes() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(ACCOUNTS).unwrap();
    sql.execute(
        "INSERT INTO accounts (id, owner, number) VALUES (1,'Ada',10),(2,'Bob',20),(3,'Cid',30),(4,'Dan',40)",
    )
    .unwrap();
    let client = connect(&address);
    let accounts = table(&client, "accounts");
    client.block_on(async {
        let more = Update::new().add("balance", 5);
        assert!(client.update_unique(&accounts, "number", &int(10), &more).await.unwrap());
        assert!(!client.update_unique(&accounts, "number", &int(1), &more).await.unwrap());
        // A row that is named twice is changed twice, whichever way is taken.
        let keys = [int(20), int(99), int(20), int(30)];
        assert_eq!(client.update_unique_many(&accounts, "number", &keys, &more).await.unwrap(), 3);
        let renumbered = Update::new().add("number", 1000).only_if(Filter::less("number", 1000));
        let keys = [int(4), int(4)];
        assert_eq!(client.update_many(&accounts, &keys, &renumbered).await.unwrap(), 1);
        let twice = Update::new().add("number", 100);
        assert_eq!(client.update_many(&accounts, &keys, &twice).await.unwrap(), 2);
        // A new key is another row's to have, and the old one finds nothing any more.
        let keys = [int(10), int(10)];
        assert_eq!(client.update_unique_many(&accounts, "number", &keys, &twice).await.unwrap(), 1);
        let error = client.update_unique(&accounts, "number", &int(20), &Update::new().set("number", 30)).await;
        assert_eq!(error.unwrap_err().errno(), 1062);
        let moved = Update::new().set("id", 30);
        assert_eq!(client.update_unique_many(&accounts, "number", &[int(30), int(30)], &moved).await.unwrap(), 1);
        let ordered = "SELECT id, number, balance FROM accounts ORDER BY id";
        let expected = ["1,110,15.00", "2,20,20.00", "4,1240,10.00", "30,30,15.00"];
        assert_eq!(sql.text(ordered).unwrap(), expected);
        assert_eq!(client.update_unique(&accounts, "owner", &int(1), &more).await.unwrap_err().errno(), 1210);
        // In a transaction, which may take it back.
        let mut transaction = client.begin(Isolation::ReadCommitted);
        assert!(transaction.delete_unique(&accounts, "number", &int(30)).await.unwrap());
        assert!(!transaction.delete_unique(&accounts, "number", &int(30)).await.unwrap());
        transaction.rollback();
        assert_eq!(sql.text(ordered).unwrap(), expected);
        let keys = [int(30), int(110), int(30), int(31)];
        assert_eq!(client.delete_unique_many(&accounts, "number", &keys).await.unwrap(), 2);
        assert_eq!(sql.text("SELECT number FROM accounts ORDER BY id").unwrap(), ["20", "1240"]);
        assert_eq!(sql.text("SELECT id FROM accounts WHERE number = 110").unwrap(), [""; 0]);
    });
}

#[test]
fn native_transactions_violations_and_conflicts() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(ACCOUNTS).unwrap();
    let client = connect(&address);
    let accounts = table(&client, "accounts");
    client.block_on(async {
        let columns = ["id", "owner", "number"];
        let row = |id: i64, number: i64| vec![Value::Int(id), Value::str("Ada"), Value::Int(number)];
        client.insert_many(&accounts, &columns, &[row(1, 10), row(2, 20)]).await.unwrap();
        // A violation takes back its own statement and nothing else.
        let mut transaction = client.begin(Isolation::RepeatableRead);
        transaction.insert(&accounts, &columns, row(3, 30)).await.unwrap();
        let error = transaction.insert_many(&accounts, &columns, &[row(4, 40), row(5, 20)]).await.unwrap_err();
        assert_eq!((error.errno(), error.outcome()), (1062, Outcome::NotCommitted));
        assert_eq!(error.message(), "Duplicate entry '20' for key 'accounts.number'");
        let taken = Update::new().set("number", 10);
        assert_eq!(transaction.update(&accounts, &int(2), &taken).await.unwrap_err().errno(), 1062);
        let savepoint = transaction.savepoint();
        transaction.delete(&accounts, &int(1)).await.unwrap();
        transaction.rollback_to(&savepoint);
        // What is not committed is seen here and nowhere else.
        assert!(transaction.get(&accounts, &int(3), ReadMode::default()).await.unwrap().is_some());
        assert!(client.get(&accounts, &int(3)).await.unwrap().is_none());
        transaction.commit().await.unwrap();
        assert_eq!(sql.text("SELECT id FROM accounts ORDER BY id").unwrap(), ["1", "2", "3"]);
        // A snapshot stays as it was.
        let mut reader = client.begin(Isolation::RepeatableRead);
        assert_eq!(reader.scan_all(&accounts, &Scan::new()).await.unwrap().len(), 3);
        sql.execute("DELETE FROM accounts WHERE id = 3").unwrap();
        assert_eq!(reader.scan_all(&accounts, &Scan::new()).await.unwrap().len(), 3);
        reader.rollback();
        // Locks: with SQL, and with itself.
        sql.execute("BEGIN").unwrap();
        sql.execute("UPDATE accounts SET note = 'sql' WHERE id = 1").unwrap();
        let mut waiting = client.begin(Isolation::ReadCommitted);
        let no_wait = ReadMode { wait: LockWait::NoWait, ..LOCKED };
        assert_eq!(waiting.get(&accounts, &int(1), no_wait).await.unwrap_err().errno(), 3572);
        sql.execute("COMMIT").unwrap();
        assert_eq!(
            waiting.get(&accounts, &int(1), LOCKED).await.unwrap().unwrap().get("note"),
            Some(Value::str("sql"))
        );
        waiting.rollback();
        let (mut one, mut other) =
            (client.begin(Isolation::ReadCommitted), client.begin(Isolation::ReadCommitted));
        let note = Update::new().set("note", "x");
        one.update(&accounts, &int(1), &note).await.unwrap();
        other.update(&accounts, &int(2), &note).await.unwrap();
        let keys = (int(2), int(1));
        let (first, second) =
            both(one.update(&accounts, &keys.0, &note), other.update(&accounts, &keys.1, &note)).await;
        let error = first.and(second).unwrap_err();
        assert_eq!((error.errno(), error.rolls_back_transaction()), (1213, true));
    });
}

/// Two futures, until both have ended.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut other) = (Box::pin(one), Box::pin(other));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|context| {
        if first.is_none()
            && let std::task::Poll::Ready(value) = one.as_mut().poll(context)
        {
            first = Some(value);
        }
        if second.is_none()
            && let std::task::Poll::Ready(value) = other.as_mut().poll(context)
        {
            second = Some(value);
        }
        match first.is_some() && second.is_some() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    (first.unwrap(), second.unwrap())
}

/// Not a test of its own: what the test below starts in another process, to kill it.
#[test]
fn client_to_be_killed() {
    let Ok(address) = std::env::var(ADDRESS_VARIABLE) else { return };
    let client = connect(&address);
    let accounts = table(&client, "accounts");
    client.block_on(async {
        let mut transaction = client.begin(Isolation::ReadCommitted);
        transaction.update(&accounts, &int(1), &Update::new().set("note", "held")).await.unwrap();
        println!("it holds the lock");
        std::future::pending::<()>().await;
    });
}

#[test]
fn a_client_that_is_killed_holds_no_locks_and_its_place_is_free_again() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute(ACCOUNTS).unwrap();
    sql.execute("INSERT INTO accounts (id, owner, number) VALUES (1, 'Ada', 1)").unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["client_to_be_killed", "--nocapture", "--exact", "client::client_to_be_killed"]);
    command.env(ADDRESS_VARIABLE, &address).stdout(Stdio::piped());
    let mut killed = command.spawn().unwrap();
    let mut out = std::io::BufReader::new(killed.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("it holds the lock") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0, "the client has ended");
    }
    let error = sql.execute("SELECT id FROM accounts WHERE id = 1 FOR UPDATE NOWAIT").unwrap_err();
    assert!(error.to_string().contains("NOWAIT"), "{error}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    sql.execute("UPDATE accounts SET owner = 'Bob' WHERE id = 1").unwrap();
    assert_eq!(sql.text("SELECT owner, note FROM accounts").unwrap(), ["Bob,NULL"]);
    // There are five places: all can be taken, and the sixth client hears what to do.
    let clients: Vec<LocalClient> = (0..5).map(|_| connect(&address)).collect();
    let error = LocalClient::connect(&address, Options::default()).err().unwrap();
    assert_eq!(error.errno(), 1203);
    assert!(error.message().contains("[api] sections to config.ini"), "{error}");
    drop(clients);
    wait_until("a place to be free", || LocalClient::connect(&address, Options::default()).is_ok());
}

#[test]
fn nothing_is_lost_and_errors_tell_the_outcome_when_a_leader_dies() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute("CREATE TABLE kept (id INT NOT NULL PRIMARY KEY, v INT NOT NULL)").unwrap();
    let client = connect(&address);
    let kept = table(&client, "kept");
    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
    for id in 0..400 {
        if id == 100 {
            cluster.kill(2);
        }
        let inserted = client.block_on(client.insert(&kept, &[], vec![Value::Int(id), Value::Int(0)]));
        match inserted {
            Ok(_) => sure.push(id.to_string()),
            Err(error) if error.outcome() == Outcome::Unknown => unsure.push(id.to_string()),
            Err(error) => assert_eq!(error.outcome(), Outcome::NotCommitted, "{error}"),
        }
    }
    assert!(sure.len() >= 300, "{} of 400 rows were inserted", sure.len());
    let found = sql.text("SELECT id FROM kept ORDER BY id").unwrap();
    assert!(sure.iter().all(|id| found.contains(id)), "rows are lost");
    assert!(found.iter().all(|id| sure.contains(id) || unsure.contains(id)), "rows are there that failed");
}

#[test]
fn a_client_of_many_threads_counts_right_over_every_transporter() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute("CREATE TABLE counted (id INT NOT NULL PRIMARY KEY, v INT NOT NULL)").unwrap();
    sql.execute("INSERT INTO counted VALUES (1, 0), (2, 0), (3, 0)").unwrap();
    let transporters = [Transporter::Tcp, Transporter::Unix, Transporter::SharedMemory];
    for (number, transporter) in transporters.into_iter().enumerate() {
        let options = Options { transporter, workers: 2, jobs_max: 4, ..Options::default() };
        let client = LocalClient::connect(&address, Options { transporter, ..Options::default() }).unwrap();
        let local = table(&client, "counted");
        assert!(client.block_on(client.get(&local, &int(1))).unwrap().is_some());
        // A runtime of the caller's own.
        client.block_on(async {
            let many = Client::connect(&address, options).await.unwrap();
            let counted = many.table("test", "counted").unwrap();
            let mut jobs = Vec::new();
            for _ in 0..30 {
                let (many, counted) = (many.clone(), counted.clone());
                jobs.push(std::thread::spawn(move || {
                    let keys = vec![int(1), int(2), int(3)];
                    let once =
                        || futures_block_on(many.update_many(&counted, keys.clone(), Update::new().add("v", 1)));
                    // Rows of several partitions are locked at once, in no order: deadlocks belong to it.
                    loop {
                        match once() {
                            Err(error) if error.errno() == 1213 => {}
                            other => return other,
                        }
                    }
                }));
            }
            for job in jobs {
                assert_eq!(job.join().unwrap().unwrap(), 3);
            }
            let mut transaction = many.begin(Isolation::ReadCommitted).await.unwrap();
            assert_eq!(
                transaction.update_many(&counted, vec![int(1)], Update::new().add("v", 100)).await.unwrap(),
                1
            );
            drop(transaction);
        });
        let total = (number + 1) * 30;
        wait_until("the dropped transaction to be rolled back", || {
            sql.text("SELECT v FROM counted WHERE id = 1 FOR UPDATE NOWAIT").is_ok()
        });
        assert_eq!(sql.text("SELECT v FROM counted").unwrap(), vec![total.to_string(); 3]);
    }
}

/// Definitions ask nodes with sessions to leave a table alone, and clients are none: what they wrote while its rows were copied was lost.
#[test]
fn what_a_client_writes_while_a_definition_copies_rows_is_kept() {
    let (cluster, address) = cluster();
    let mut sql = cluster.client(1);
    sql.execute("CREATE TABLE copied (id INT AUTO_INCREMENT PRIMARY KEY, c INT, pad VARCHAR(100))").unwrap();
    sql.execute("INSERT INTO copied (c, pad) VALUES (1, REPEAT('x', 100))").unwrap();
    for _ in 0..14 {
        sql.execute("INSERT INTO copied (c, pad) SELECT c, pad FROM copied").unwrap();
    }
    let client = connect(&address);
    let mut copied = table(&client, "copied");
    let (is_done, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5 {
                // Something is written between two of them, and whatever can be during each.
                let before = written.load(Ordering::Relaxed);
                wait_until("the client to write", || written.load(Ordering::Relaxed) > before);
                match sql.execute("ALTER TABLE copied ENGINE=InnoDB, ALGORITHM=COPY") {
                    Ok(_) => {}
                    // A busy machine is slow to confirm leases.
                    Err(error) => assert_eq!(error.errno(), 1297, "{error}"),
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) {
            let row = vec![Value::Int(2), Value::from("y")];
            match client.block_on(client.insert(&copied, &["c", "pad"], row)) {
                Ok(_) => _ = written.fetch_add(1, Ordering::Relaxed),
                // 1412: another definition than the handle's.
                Err(_) => copied = client.table("test", "copied").unwrap_or(copied),
            }
        }
    });
    let kept = cluster.client(2).text("SELECT COUNT(*) FROM copied WHERE c = 2").unwrap();
    assert_eq!(kept, [written.into_inner().to_string()]);
}

/// A leader whose lease had run out for a moment told transactions that what they had was lost, though it still led and had it.
#[test]
fn a_transaction_outlives_a_lease_that_runs_out_while_the_leader_stays() {
    // And a place for the client.
    let settings = ["ElectionTimeout=4000", "", "[api]", "NodeId=9"].map(Into::into).to_vec();
    let layout = Layout { settings, ..Layout::default() };
    let cluster = StartedCluster::start(&layout);
    let address = management_address(cluster.folder());
    let mut sql = cluster.client(1);
    sql.execute("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT NOT NULL)").unwrap();
    let client = connect(&address);
    let t = table(&client, "t");
    let ids = 0..8;
    client.block_on(async {
        let rows: Vec<_> = ids.clone().map(|id| vec![Value::Int(id), Value::Int(0)]).collect();
        client.insert_many(&t, &[], &rows).await.unwrap();
        let more = Update::new().add("n", 1);
        let mut transactions = Vec::new();
        for id in ids.clone() {
            let mut transaction = client.begin(Isolation::ReadCommitted);
            transaction.update(&t, &int(id), &more).await.unwrap();
            transactions.push((id, transaction));
        }
        // Neither the other data node nor the arbitrator answers any leader.
        cluster.pause(2);
        cluster.pause(3);
        let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let mut running: Vec<_> = transactions
            .into_iter()
            .map(|(id, mut transaction)| {
                let (t, more, written, is_over) = (&t, &more, &written, &is_over);
                Box::pin(async move {
                    while !is_over.load(Ordering::Relaxed) {
                        transaction.update(t, &int(id), more).await.unwrap();
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    transaction.commit().await.unwrap();
                })
            })
            .collect();
        let mut all = std::future::poll_fn(|context| {
            running.retain_mut(|one| one.as_mut().poll(context).is_pending());
            if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        });
        // Until leases have run out, and nobody is served. Not so long that links count as broken.
        let mut before = u64::MAX;
        while before != written.load(Ordering::Relaxed) {
            before = written.load(Ordering::Relaxed);
            assert!(tokio::time::timeout(LEASE, &mut all).await.is_err());
        }
        cluster.resume(2);
        cluster.resume(3);
        is_over.store(true, Ordering::Relaxed);
        all.await;
        let sum = sql.text("SELECT SUM(n) FROM t").unwrap();
        assert_eq!(sum, [(8 + written.load(Ordering::Relaxed)).to_string()]);
    });
}

/// Runs a future on a thread without a runtime.
fn futures_block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = Box::pin(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
