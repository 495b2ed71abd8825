//! Tells what has been committed behind a place in a partition's log.
//!
//! Nothing is kept about whoever asks. When there is nothing to tell the reply waits: until something of the tables is applied, or, looked
//! at once in an epoch, until the asker can be told that more is complete. Whoever gives up or dies takes the wait with him.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Node, Served, Waiter};
use shoal_partition::{Gap, LogEnd, WaitToken};
use shoal_types::{TableId, Timestamp};
use tokio::time::Instant;

use crate::protocol;

/// How often followers are told what is complete while nothing changes.
const EPOCH: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(10);
const BYTES_MAX: usize = 1 << 20;
/// No frame takes more. Only where entries need not travel between replicas can one be so long.
const REPLY_BYTES_MAX: usize = 63 << 20;

/// Where somebody has come to.
struct Following {
    node: Arc<Node>,
    waiter: Waiter,
    /// What the partition wakes. It knows of a question as long as that waits, and no longer: nothing may be applied for days.
    registered: Option<WaitToken>,
    partition: u32,
    place: Option<LogEnd>,
    /// What the asker knows: his place, and what is complete.
    asked: Option<LogEnd>,
    known: Timestamp,
    tables: Vec<TableId>,
    bytes_max: usize,
}

/// What there is to tell.
enum Look {
    /// The reply is made.
    Told,
    /// Nothing of these tables, though the log has gone on or more is complete.
    NothingButTime,
    Nothing,
}

pub(super) fn start(node: &Arc<Node>, asked: &protocol::Follow<'_>, reply: &mut Vec<u8>) -> Served {
    let mut following = Following {
        node: Arc::clone(node),
        waiter: node.waiter(),
        registered: None,
        partition: asked.partition,
        place: asked.place,
        asked: asked.place,
        known: asked.known,
        tables: asked.tables.iter().map(TableId).collect(),
        bytes_max: (asked.bytes_max as usize).clamp(1, BYTES_MAX),
    };
    let mut told = Vec::new();
    if let Look::Told = following.look(&mut told) {
        reply.append(&mut told);
        return Served::Done;
    }
    let wait = Duration::from_millis(u64::from(asked.wait_ms)).min(WAIT_MAX);
    Served::Later(Box::pin(later(following, wait)))
}

async fn later(mut following: Following, wait: Duration) -> Vec<u8> {
    let mut reply = Vec::new();
    let end = Instant::now() + wait;
    let mut epoch_ends = Instant::now() + EPOCH;
    loop {
        let until = epoch_ends.min(end);
        // Either end is a reason to look.
        let _ = tokio::time::timeout_at(until, following.waiter.wait()).await;
        following.waiter.arm(1);
        let look = following.look(&mut reply);
        let now = Instant::now();
        let is_due = now >= epoch_ends;
        if is_due {
            epoch_ends = now + EPOCH;
        }
        if matches!(look, Look::Told) || is_due && matches!(look, Look::NothingButTime) || now >= end {
            return reply;
        }
    }
}

impl Following {
    /// Looks behind the place and moves it. The reply is sound even if it tells of nothing.
    fn look(&mut self, reply: &mut Vec<u8>) -> Look {
        reply.clear();
        let node = Arc::clone(&self.node);
        let leader = match node.is_draining() {
            true => None,
            false => node.leader(self.partition).ok(),
        };
        let Some(mut guard) = leader else {
            protocol::put_not_leader(reply, None);
            return Look::Told;
        };
        let term = guard.leader_term();
        let mut changes = Vec::new();
        let mut see = |change: shoal_partition::LoggedChange<'_>| protocol::put_change(&mut changes, &change);
        let followed = match self.place {
            None => guard.begin_to_follow(&self.tables, &mut see).map(|place| (place, true)),
            Some(place) => guard
                .follow(place, &self.tables, self.bytes_max, &mut see)
                .map(|followed| (followed.place, followed.is_at_end)),
        };
        protocol::put_done(reply, term, 0);
        let (place, is_at_end) = match followed {
            Ok(followed) => followed,
            Err(gap) => {
                protocol::put_gap(reply, gap);
                return Look::Told;
            }
        };
        self.place = Some(place);
        let mut complete = Timestamp::ZERO;
        if is_at_end {
            let limit = node.visible();
            node.clock().observe(limit);
            complete = guard.complete_up_to(limit);
            let token = WaitToken(self.waiter.token());
            if let Some(before) = self.registered.replace(token) {
                guard.forget_follower(before);
            }
            guard.wake_follower(token);
        }
        protocol::put_told(reply, place, complete);
        let has_changes = !changes.is_empty();
        reply.append(&mut changes);
        if reply.len() > REPLY_BYTES_MAX {
            reply.clear();
            protocol::put_done(reply, term, 0);
            protocol::put_gap(reply, Gap::Unreadable);
            return Look::Told;
        }
        match self.asked.is_none() || has_changes || !is_at_end {
            true => Look::Told,
            false if self.asked != self.place || complete > self.known => Look::NothingButTime,
            false => Look::Nothing,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(token) = self.registered {
            self.node.partition(self.partition).forget_follower(token);
        }
    }
}
