//! Sessions on a node in this process, where a transaction can be left prepared.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{EntryOf, Node, Table};
use shoal_partition::{CommitStart, Decision, DecisionStart, Step, WaitToken, WriteOutcome};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, PartitionId, Result, TimeZone, Timestamp, TransactionId, Value};

use crate::frontend::{ConnectInfo, FrontendSession, ResultColumn, ResultSink, Summary};
use crate::server::{Server, started_server};
use crate::session::Session;

/// Keeps the integers of the first column, and what went wrong.
#[derive(Default)]
struct Replies {
    rows: Vec<i64>,
    error: Option<Error>,
}

impl ResultSink for Replies {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.rows.push(values[0].to_i64().value);
        Ok(())
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        self.row(&[row.value(projection[0], zone)])
    }

    fn finish(&mut self, _summary: &Summary) -> Result<()> {
        Ok(())
    }

    fn error(&mut self, error: &Error) {
        self.error = Some(error.clone());
    }

    async fn request_local_file(&mut self, _name: &[u8]) -> Result<()> {
        Ok(())
    }
}

fn session(server: &Arc<Server>) -> Session {
    let info = ConnectInfo::internal(7, "root".to_owned(), "localhost".to_owned(), None);
    Session::open(Arc::clone(server), info).unwrap()
}

async fn run(session: &mut Session, sql: &str) -> Replies {
    let mut replies = Replies::default();
    session.query(sql.as_bytes(), &mut replies).await.unwrap();
    replies
}

/// Waits for what a log entry of a transaction comes to.
async fn append(
    node: &Arc<Node>,
    partition: u32,
    id: TransactionId,
    propose: impl FnOnce(&mut shoal_partition::Partition, Timestamp, shoal_partition::CommitToken) -> Result<bool>,
) {
    let mut waiter = node.waiter();
    let token = waiter.arm(1);
    node.append_entry(partition, EntryOf::Writes(id), Timestamp::ZERO, &[], token, propose).unwrap();
    node.wake_log_writer();
    assert!(waiter.wait().await);
}

/// Leaves an update of the row with id 1 prepared; its transaction and partition.
async fn prepare_update(node: &Arc<Node>, table: &Arc<Table>) -> (TransactionId, u32) {
    let mut row = Vec::new();
    table.layout.encode(&[Value::Int(1), Value::Int(20)], &TimeZone::UTC, &mut row).unwrap();
    let mut key = Vec::new();
    table.append_partition_key(table.layout.row(&row), &mut key);
    let partition = node.router().partition_of(&key);
    let id = node.next_transaction_id();
    let staged = node.partition(partition).update(id, table.id(), &row, WaitToken(0)).map(|step| {
        assert!(matches!(step, Step::Ready(WriteOutcome::Done)));
    });
    staged.unwrap();
    let home = PartitionId(node.partition_count() - 1 - partition);
    append(node, partition, id, |partition, timestamp, token| {
        Ok(partition.propose_prepare(id, home, timestamp, 1, token)? == CommitStart::Proposed)
    })
    .await;
    (id, partition)
}

#[test]
fn a_point_select_that_waits_for_an_undecided_writer_is_ended_by_kill_query_and_max_execution_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_directory, server) = started_server().await;
        let node = Arc::clone(&server.node);
        let mut reader = session(&server);
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 10)",
        ] {
            let replies = run(&mut reader, sql).await;
            assert!(replies.error.is_none(), "{sql}: {:?}", replies.error);
        }
        let read = "SELECT v FROM t WHERE id = 1";
        assert_eq!(run(&mut reader, read).await.rows, [10]);
        let table = node.catalog().table("d", "t").unwrap().clone();
        let (id, partition) = prepare_update(&node, &table).await;

        let shared = Arc::clone(&reader.shared);
        let kill = async {
            // The reader has its turn first, and waits then.
            tokio::task::yield_now().await;
            shared.interrupt.kill_query();
        };
        let waiting = tokio::time::timeout(Duration::from_secs(30), run(&mut reader, read));
        let (killed, ()) = tokio::join!(waiting, kill);
        let error = killed.expect("KILL QUERY ends it").error.expect("it was killed");
        assert!(error.is(ErrorCode::QueryInterrupted), "{error}");

        assert!(run(&mut reader, "SET max_execution_time = 20").await.error.is_none());
        let late = tokio::time::timeout(Duration::from_secs(30), run(&mut reader, read)).await;
        let error = late.expect("its time is limited").error.expect("it was out of time");
        assert!(error.is(ErrorCode::QueryTimeout), "{error}");

        append(&node, partition, id, |partition, _, token| {
            Ok(partition.propose_decision(id, Decision::Abort, token)? == DecisionStart::Proposed)
        })
        .await;
        assert_eq!(run(&mut reader, read).await.rows, [10]);
    });
}
