//! Questions about what lies behind a place in a log, as a leader keeps them.

use std::time::Duration;

use shoal_cluster::Served;
use shoal_partition::LogEnd;
use shoal_types::{NodeId, TableId, Timestamp};

use super::all_here::support::{Shape, TestNode, run};
use crate::Server;
use crate::protocol::{self, Status, Told, WorkReply};

const ASKER: NodeId = NodeId(9);

fn question(place: Option<LogEnd>, wait_ms: u32, table: TableId) -> Vec<u8> {
    let mut request = Vec::new();
    protocol::put_follow(&mut request, 0, place, Timestamp::MAX, (1 << 20, wait_ms), std::iter::once(table));
    request
}

/// Every look at a quiet partition registered another token, and no answered question took its own along: in a partition where
/// nothing is written they were never let go.
#[test]
fn a_quiet_partition_knows_of_no_question_that_waits_no_longer() {
    run(async {
        let at = TestNode::new(1);
        let table = at.create("t", Shape::Plain).await.id();
        let server = Server::new(at.node.clone());
        let followers = || at.node.partition(0).activity().followers;
        for _ in 0..3 {
            let mut reply = Vec::new();
            assert!(matches!(server.serve(ASKER, &question(None, 0, table), &mut reply), Served::Done));
            let Status::Done(body) = WorkReply::read(&reply).unwrap().status else { panic!("{reply:?}") };
            let told = Told::read(body).unwrap().unwrap();
            assert_eq!(followers(), 0, "the question is answered");
            let asked = question(Some(told.place), 350, table);
            let Served::Later(waiting) = server.serve(ASKER, &asked, &mut Vec::new()) else { panic!("no wait") };
            assert_eq!(followers(), 1);
            // It looks several times before its time is over.
            waiting.await;
            assert_eq!(followers(), 0, "its time is over");
            let given_up = server.serve(ASKER, &asked, &mut Vec::new());
            assert_eq!(followers(), 1);
            let looked = tokio::time::timeout(Duration::from_millis(1), given_up.reply(Vec::new())).await;
            assert!(looked.is_err());
            assert_eq!(followers(), 0, "nobody wants to know any more");
        }
    });
}
