//! One history, whichever interface it is read through: SQL, HandlerSocket and the native client, at all nodes of a cluster.
//!
//! Rows are counted up through every interface at once. What a read shows must be no less than was committed, or seen by anybody through any
//! interface, before the read began, and no more than was begun when it ended: then there is one order of all writes that everybody agrees
//! about, with every read in its place. A write of which nobody has heard what became of it counts as begun alone.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use shoal_system_tests::Client as SqlClient;
use shoal_system_tests::handlersocket::HandlerSocket;

use super::*;

const ROWS: usize = 5;
const TABLE: &str = "CREATE TABLE counted (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)";
/// So many steps everybody takes, at the least.
const STEPS: usize = 150;

#[derive(Default)]
struct Row {
    begun: AtomicI64,
    committed: AtomicI64,
    seen: AtomicI64,
}

#[derive(Default)]
struct History {
    rows: [Row; ROWS],
    over: AtomicBool,
    /// Steps by interface.
    steps: [AtomicUsize; 6],
}

impl History {
    fn floor(&self, rows: &[usize]) -> i64 {
        let of = |&row: &usize| {
            self.rows[row].committed.load(Ordering::SeqCst).max(self.rows[row].seen.load(Ordering::SeqCst))
        };
        rows.iter().map(of).sum()
    }

    fn ceiling(&self, rows: &[usize]) -> i64 {
        rows.iter().map(|&row| self.rows[row].begun.load(Ordering::SeqCst)).sum()
    }

    /// One step of somebody: a write, a read of a row, or a read of all.
    fn step(&self, interface: &mut dyn Interface, name: &str, choice: usize) -> bool {
        let row = choice / 7 % ROWS;
        match choice % 7 {
            0..=2 => {
                self.rows[row].begun.fetch_add(1, Ordering::SeqCst);
                let is_done = interface.count_up(row);
                if is_done {
                    self.rows[row].committed.fetch_add(1, Ordering::SeqCst);
                }
                is_done
            }
            3..=5 => {
                let floor = self.floor(&[row]);
                let Some(value) = interface.read(row) else { return false };
                assert!(value >= floor, "{name}: row {row} is {value} where {floor} was known before");
                self.rows[row].seen.fetch_max(value, Ordering::SeqCst);
                let ceiling = self.ceiling(&[row]);
                assert!(value <= ceiling, "{name}: row {row} is {value} and was counted up {ceiling} times");
                true
            }
            _ => {
                let all: Vec<usize> = (0..ROWS).collect();
                let floor = self.floor(&all);
                let Some(sum) = interface.sum() else { return false };
                assert!(sum >= floor, "{name}: the sum is {sum} where {floor} was known before");
                let ceiling = self.ceiling(&all);
                assert!(sum <= ceiling, "{name}: the sum is {sum} of {ceiling} writes");
                true
            }
        }
    }

    fn wait_for_steps(&self, more: usize) {
        let before = self.steps.each_ref().map(|steps| steps.load(Ordering::Relaxed));
        wait_until("steps through every interface", || {
            self.steps.iter().zip(before).all(|(steps, before)| steps.load(Ordering::Relaxed) >= before + more)
        });
    }
}

/// A way to the rows. False and `None`: it has failed; of a write nobody knows whether it was done.
trait Interface {
    fn count_up(&mut self, row: usize) -> bool;
    fn read(&mut self, row: usize) -> Option<i64>;
    fn sum(&mut self) -> Option<i64>;
    /// Makes sure that there is a connection after something has failed.
    fn again(&mut self);
}

struct Sql<'c> {
    cluster: &'c DevCluster,
    node: u32,
    client: SqlClient,
}

impl Sql<'_> {
    fn number(&mut self, query: &str) -> Option<i64> {
        self.client.text(query).ok()?.first()?.parse().ok()
    }
}

impl Interface for Sql<'_> {
    fn count_up(&mut self, row: usize) -> bool {
        self.client.execute(&format!("UPDATE counted SET v = v + 1 WHERE id = {row}")).is_ok()
    }

    fn read(&mut self, row: usize) -> Option<i64> {
        self.number(&format!("SELECT v FROM counted WHERE id = {row}"))
    }

    fn sum(&mut self) -> Option<i64> {
        self.number("SELECT SUM(v) FROM counted")
    }

    fn again(&mut self) {
        if let Ok(client) = self.cluster.try_client(self.node) {
            self.client = client;
        }
    }
}

struct Lines<'c> {
    cluster: &'c DevCluster,
    node: u32,
    writer: HandlerSocket,
}

fn open(cluster: &DevCluster, node: u32) -> Option<HandlerSocket> {
    let mut client = cluster.try_client(node).ok()?;
    let port = client.text("SELECT @@handlersocket_port_wr").ok()?.first()?.parse().ok()?;
    // A node that has just come back may not listen yet.
    std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    let mut writer = HandlerSocket::connect(port);
    (writer.ask("P|0|test|counted||v") == "0|1").then_some(writer)
}

impl Lines<'_> {
    fn numbers(&mut self, request: &str) -> Option<Vec<i64>> {
        let answer = self.writer.ask(request);
        answer.strip_prefix("0|1|")?.split('|').map(|number| number.parse().ok()).collect()
    }
}

impl Interface for Lines<'_> {
    fn count_up(&mut self, row: usize) -> bool {
        self.writer.ask(&format!("0|=|1|{row}|1|0|+|1")) == "0|1|1"
    }

    fn read(&mut self, row: usize) -> Option<i64> {
        self.numbers(&format!("0|=|1|{row}"))?.pop()
    }

    fn sum(&mut self) -> Option<i64> {
        let numbers = self.numbers("0|>=|1|0|1000|0")?;
        assert_eq!(numbers.len(), ROWS);
        Some(numbers.iter().sum())
    }

    fn again(&mut self) {
        if let Some(writer) = open(self.cluster, self.node) {
            self.writer = writer;
        }
    }
}

struct Native {
    client: LocalClient,
    counted: shoal_client::Table,
}

fn value(row: &shoal_client::Row) -> i64 {
    let Some(Value::Int(number)) = row.get("v") else { panic!("{row:?}") };
    number
}

impl Interface for Native {
    fn count_up(&mut self, row: usize) -> bool {
        let up = Update::new().add("v", 1);
        matches!(self.client.block_on(self.client.update(&self.counted, &int(row as i64), &up)), Ok(true))
    }

    fn read(&mut self, row: usize) -> Option<i64> {
        let found = self.client.block_on(self.client.get(&self.counted, &int(row as i64))).ok()?;
        Some(value(&found.expect("the row was never deleted")))
    }

    fn sum(&mut self) -> Option<i64> {
        let rows = self.client.block_on(self.client.scan(&self.counted, &Scan::new())).ok()?;
        assert_eq!(rows.len(), ROWS);
        Some(rows.iter().map(value).sum())
    }

    fn again(&mut self) {}
}

/// Goes through one interface until all is over.
fn visit(history: &History, interface: &mut dyn Interface, number: usize, name: &str) {
    let mut state = number as u64 + 1;
    while !history.over.load(Ordering::Relaxed) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match history.step(interface, name, (state >> 33) as usize) {
            true => drop(history.steps[number].fetch_add(1, Ordering::Relaxed)),
            false => interface.again(),
        }
    }
}

/// Visitors at every interface while `meanwhile` does something to the cluster.
fn live_through(meanwhile: impl Fn(&DevCluster, &History)) {
    let ports = ["--hs-port", "0", "--hs-port-wr", "0"];
    let cluster = DevCluster::start(&[&["--data-nodes", "2", "--sql-nodes", "1"], &ports[..]].concat());
    let address = management_address(cluster.folder());
    let sql_node = cluster.sql_nodes().into_iter().max().unwrap();
    let mut sql = cluster.client(1);
    sql.execute(TABLE).unwrap();
    let rows: Vec<String> = (0..ROWS).map(|row| format!("({row}, 0)")).collect();
    sql.execute(&format!("INSERT INTO counted VALUES {}", rows.join(", "))).unwrap();
    let history = History::default();
    std::thread::scope(|scope| {
        let (cluster, history, address) = (&cluster, &history, &address);
        for (number, node) in [1, sql_node].into_iter().enumerate() {
            scope.spawn(move || {
                let mut interface = Sql { cluster, node, client: cluster.client(node) };
                visit(history, &mut interface, number, &format!("SQL at node {node}"));
            });
        }
        for (number, node) in [2, sql_node].into_iter().enumerate() {
            scope.spawn(move || {
                let writer = open(cluster, node).unwrap();
                visit(history, &mut Lines { cluster, node, writer }, 2 + number, &format!("lines at node {node}"));
            });
        }
        for number in 4..6 {
            scope.spawn(move || {
                let client = connect(address);
                let counted = table(&client, "counted");
                visit(history, &mut Native { client, counted }, number, "native");
            });
        }
        let watched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(cluster, history)));
        history.over.store(true, Ordering::Relaxed);
        if let Err(panic) = watched {
            std::panic::resume_unwind(panic);
        }
    });
    let mut interface = Sql { cluster: &cluster, node: 1, client: cluster.client(1) };
    for row in 0..ROWS {
        let found = interface.read(row).unwrap();
        assert!((history.floor(&[row])..=history.ceiling(&[row])).contains(&found), "row {row} is {found}");
    }
}

#[test]
fn all_doors_show_one_history_of_rows_that_are_written_through_all_of_them() {
    live_through(|_, history| history.wait_for_steps(STEPS));
}

#[test]
fn all_doors_show_one_history_when_leaders_are_killed() {
    live_through(|cluster, history| {
        for node in [2, 1] {
            history.wait_for_steps(20);
            cluster.kill_and_wait(node);
        }
        history.wait_for_steps(20);
    });
}
