//! A node in a temporary directory, and tables of `id BIGINT PRIMARY KEY, k INT UNIQUE or not, c VARCHAR`.

use std::sync::Arc;

use shoal_cluster::{Change, Node, NodeOptions, Table, unique_table_schema};
use shoal_types::schema::TableOptions;
use shoal_types::*;
use tempfile::TempDir;

use crate::tests::loopback::{Mode, connect};
use crate::*;

pub struct TestNode {
    pub directory: TempDir,
    pub node: Arc<Node>,
    partitions: u32,
    /// The node's other self, in the modes that have one.
    server: Option<Arc<Server>>,
}

pub fn options(directory: &std::path::Path, partitions: u32) -> NodeOptions {
    NodeOptions {
        partitions: Some(partitions),
        data_memory: Some(1 << 30),
        background_work: false,
        on_fatal: Arc::new(|reason| panic!("the node stopped: {reason}")),
        ..NodeOptions::new(directory)
    }
}

impl TestNode {
    pub fn new(partitions: u32) -> TestNode {
        TestNode::with(partitions, |_| {})
    }

    /// A new node with changed options.
    pub fn with(partitions: u32, change: impl FnOnce(&mut NodeOptions)) -> TestNode {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(directory.path(), partitions);
        change(&mut options);
        TestNode::made(directory, Node::open(options).unwrap())
    }

    fn made(directory: TempDir, node: Arc<Node>) -> TestNode {
        let server = connect(&node, Mode::of(module_path!())).map(|(server, _)| server);
        TestNode { directory, partitions: node.partition_count(), node, server }
    }

    /// A node that may be on a disk of its own; it cannot be restarted.
    pub fn on(options: NodeOptions) -> TestNode {
        TestNode::from(Node::open(options).unwrap())
    }

    pub fn from(node: Arc<Node>) -> TestNode {
        TestNode::made(tempfile::tempdir().unwrap(), node)
    }

    /// A node on a directory that is there already.
    pub fn at(directory: TempDir, partitions: u32) -> TestNode {
        let node = Node::open(options(directory.path(), partitions)).unwrap();
        TestNode::made(directory, node)
    }

    /// Ends the node, by a clean shutdown or without one.
    pub fn stop(self, clean: bool) -> TempDir {
        let TestNode { directory, node, server, .. } = self;
        drop(server);
        if clean {
            node.close().unwrap();
        }
        // The log's writer may still be in the hook that woke the last commit.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while Arc::strong_count(&node) > 1 {
            assert!(std::time::Instant::now() < deadline, "somebody still uses the node");
            std::thread::yield_now();
        }
        drop(node);
        directory
    }

    /// Starts again from what is on disk.
    pub fn restart(self, clean: bool) -> TestNode {
        let partitions = self.partitions;
        TestNode::at(self.stop(clean), partitions)
    }

    /// Waits for what sessions have left to tasks of their own.
    pub async fn rest(&self) {
        settled_tasks().await;
    }

    /// Has everything decided that a crash has left in doubt.
    pub async fn settle(&self) {
        let Some(server) = &self.server else { return };
        let in_doubt = |partition| !self.node.partition(partition).in_doubt().is_empty();
        while (0..self.partitions).any(in_doubt) {
            server.resolve().await;
        }
    }

    pub fn transaction(&self) -> Transaction {
        Transaction::new(Arc::clone(&self.node))
    }

    pub fn begun(&self, isolation: Isolation) -> Transaction {
        let mut transaction = self.transaction();
        transaction.begin(isolation);
        transaction
    }

    pub async fn create(&self, name: &str, shape: Shape) -> Arc<Table> {
        let id = self.node.next_table_id();
        let mut base = schema(id, name, shape);
        let mut changes = vec![Change::PutDatabase { name: "d".into(), collation: Collation::default() }];
        if shape == Shape::UniqueK {
            let hidden = self.node.next_table_id();
            base.indexes[1].unique_table = Some(hidden);
            changes.push(Change::PutTable(unique_table_schema(&base, &base.indexes[1], hidden)));
        }
        changes.push(Change::PutTable(base));
        self.node.change(changes).await.unwrap();
        self.table(name)
    }

    pub fn table(&self, name: &str) -> Arc<Table> {
        Arc::clone(self.node.catalog().table("d", name).unwrap())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Plain,
    IndexedK,
    UniqueK,
    /// AUTO_INCREMENT.
    Counted,
}

fn column(name: &str, sql_type: SqlType, nullable: bool) -> Column {
    Column { nullable, ..Column::new(name, sql_type) }
}

fn index(id: u32, name: &str, column: usize, unique: bool) -> Index {
    Index::new(IndexId(id), name, &[column], unique, IndexMethod::BTree)
}

pub fn schema(id: TableId, name: &str, shape: Shape) -> TableSchema {
    let mut indexes = vec![index(0, "PRIMARY", 0, true)];
    if matches!(shape, Shape::IndexedK | Shape::UniqueK) {
        indexes.push(index(1, "k", 1, shape == Shape::UniqueK));
    }
    let mut columns = vec![
        column("id", SqlType::bigint(false), false),
        column("k", SqlType::bigint(false), true),
        column("c", SqlType::varchar(100, Collation::default()), true),
    ];
    columns[0].auto_increment = shape == Shape::Counted;
    TableSchema {
        id,
        version: 1,
        database: "d".into(),
        name: name.into(),
        columns,
        indexes,
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("NDB", Collation::default()),
    }
}

pub fn row(table: &Table, id: i64, k: Option<i64>, c: &str) -> Vec<u8> {
    let values = [Value::Int(id), k.map_or(Value::Null, Value::Int), Value::Str(c.into())];
    let mut row = Vec::new();
    table.layout.encode(&values, &TimeZone::UTC, &mut row).unwrap();
    row
}

pub fn key(table: &Table, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    table.keys[0].append_from_values(&[Value::Int(id)], &TimeZone::UTC, &mut key).unwrap();
    key
}

pub fn k_key(table: &Table, k: i64) -> Vec<u8> {
    let mut key = Vec::new();
    table.keys[1].append_from_values(&[Value::Int(k)], &TimeZone::UTC, &mut key).unwrap();
    key
}

pub fn read(row: shoal_types::row::RowRef<'_>) -> (i64, Option<i64>) {
    let integer = |column: usize| match row.value(column, &TimeZone::UTC) {
        Value::Int(number) => Some(number),
        _ => None,
    };
    (integer(0).unwrap(), integer(1))
}

pub const SNAPSHOT: ReadMode = ReadMode { lock: None, wait: LockWait::Wait };
pub const FOR_UPDATE: ReadMode = ReadMode { lock: Some(LockMode::Exclusive), wait: LockWait::Wait };
pub const FOR_SHARE: ReadMode = ReadMode { lock: Some(LockMode::Shared), wait: LockWait::Wait };

pub fn scan_all(table: &Arc<Table>, index: usize, ordered: bool, mode: ReadMode) -> ScanRequest {
    ScanRequest {
        table: Arc::clone(table),
        index,
        ranges: vec![KeyRange::default()],
        descending: false,
        ordered,
        partition_key: None,
        mode,
        row_limit: None,
    }
}

pub async fn rows_of(transaction: &mut Transaction, request: ScanRequest) -> Result<Vec<(i64, Option<i64>)>> {
    let mut rows = Vec::new();
    let mut scan = transaction.scan(request);
    let mut visit = |row: shoal_types::row::RowRef<'_>| {
        rows.push(read(row));
        Ok(Visit::Take)
    };
    while scan.next(transaction, &mut visit).await? {}
    Ok(rows)
}

/// Rows of the table, by the word of all nodes.
pub async fn row_count(node: &TestNode, table: &Arc<Table>) -> u64 {
    exchange_pulses(&node.node).await;
    node.transaction().row_count(table)
}

/// Inserts and commits.
pub async fn load(node: &TestNode, table: &Arc<Table>, rows: impl IntoIterator<Item = (i64, Option<i64>)>) {
    let mut transaction = node.transaction();
    let rows: Vec<_> = rows.into_iter().map(|(id, k)| row(table, id, k, "text")).collect();
    for outcome in transaction.insert_many(table, &rows, false).await.unwrap() {
        assert_eq!(outcome, Inserted::Done);
    }
    transaction.commit().await.unwrap();
}

pub async fn set_k(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    id: i64,
    k: Option<i64>,
) -> Result<Inserted> {
    let found = transaction
        .modify(table, &key(table, id), |_| Ok((Modification::Update(row(table, id, k, "changed")), ())))
        .await?;
    Ok(found.expect("the row is there").0)
}

/// `k` of a row by the newest committed version.
pub async fn newest_k(node: &TestNode, table: &Arc<Table>, id: i64) -> Option<Option<i64>> {
    node.transaction().get_newest(table, &key(table, id), |row| row.map(|row| read(row).1)).await.unwrap()
}

/// Waits for what sessions have left to tasks of their own.
pub async fn settled_tasks() {
    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

pub fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build_local(Default::default()).unwrap();
    let result = runtime.block_on(work);
    // What sessions have left to tasks of their own.
    runtime.block_on(settled_tasks());
    result
}
