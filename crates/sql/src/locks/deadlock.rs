//! The latest deadlock: who waited for whom, with the statements that were running then.
//!
//! One is kept, whatever its cycle's length its text is bounded. It is made before the victim gives way, by the thread that has found it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use shoal_cluster::{Deadlock, ObservedLock, ObservedTransaction};

use super::owners::{Owners, running};
use crate::session::SessionShared;

/// So much of a statement is kept.
const QUERY_BYTES_MAX: usize = 1024;

/// A transaction of a deadlock.
pub(crate) struct DeadlockMember {
    pub observed: ObservedTransaction,
    /// The session's number, user and host; `None`: it is at another node.
    pub session: Option<(u32, String, String)>,
    /// Microseconds since 1970.
    pub started: i64,
    pub query: Option<String>,
    /// With the partition.
    pub waits_for: Option<(u32, ObservedLock)>,
    /// What the one before it waits for; the first one's is that of the last.
    pub holds: Option<(u32, ObservedLock)>,
}

/// A deadlock as it was found.
pub(crate) struct DeadlockReport {
    /// Microseconds since 1970.
    pub at: i64,
    /// Each waits for the next one.
    pub members: Vec<DeadlockMember>,
    /// Place in `members` of the one that was rolled back.
    pub victim: usize,
}

/// The latest one.
#[derive(Default)]
pub(crate) struct LatestDeadlock(Mutex<Option<DeadlockReport>>);

impl LatestDeadlock {
    /// `sessions`: those of this node. `now`: microseconds since 1970.
    pub fn keep(&self, sessions: Vec<Arc<SessionShared>>, now: i64, deadlock: &Deadlock) {
        let report = report_of(&Owners::of(sessions), now, deadlock);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// Shows it, if there was one.
    pub fn show<T>(&self, show: impl FnOnce(&DeadlockReport) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(show)
    }
}

fn report_of(owners: &Owners, now: i64, deadlock: &Deadlock) -> DeadlockReport {
    let count = deadlock.waits.len();
    let member = |place: usize| {
        let wait = &deadlock.waits[place];
        let session = owners.session(wait.waiter.id);
        let before = &deadlock.waits[(place + count - 1) % count];
        let holds = before.wanted.as_ref().zip(before.blocking.clone());
        let holds = holds.map(|((partition, _), lock)| (*partition, lock));
        let (query, began) = session.map_or((None, now), |session| {
            let (query, _, since) = running(session);
            let began = session.began.load(Ordering::Relaxed);
            let statement = now - i64::try_from(since.elapsed().as_micros()).unwrap_or(0);
            (query, if began == 0 { statement } else { began })
        });
        DeadlockMember {
            observed: wait.waiter,
            session: session.map(|session| (session.id, session.user.clone(), session.host.clone())),
            started: began,
            query: query.map(cut),
            waits_for: wait.wanted.clone(),
            holds: holds.filter(|(_, lock)| lock.transaction == wait.waiter.id),
        }
    };
    let members: Vec<DeadlockMember> = (0..count).map(member).collect();
    let victim = members.iter().position(|member| member.observed.id == deadlock.victim).unwrap_or(0);
    DeadlockReport { at: now, members, victim }
}

fn cut(mut query: String) -> String {
    if query.len() > QUERY_BYTES_MAX {
        let end = (0..=QUERY_BYTES_MAX).rev().find(|&end| query.is_char_boundary(end)).unwrap_or(0);
        query.truncate(end);
        query.push_str(" ...");
    }
    query
}
