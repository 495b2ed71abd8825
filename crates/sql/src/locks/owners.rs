//! Which session's a transaction is, and what that session is doing.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use shoal_types::TransactionId;

use crate::session::SessionShared;
use crate::statement_text;

/// The sessions here by the transactions that they have open.
pub(crate) struct Owners(HashMap<TransactionId, Arc<SessionShared>>);

impl Owners {
    pub fn of(sessions: Vec<Arc<SessionShared>>) -> Owners {
        let open = sessions.into_iter().filter_map(|session| Some((session.transaction.id()?, session)));
        Owners(open.collect())
    }

    pub fn session(&self, id: TransactionId) -> Option<&Arc<SessionShared>> {
        self.0.get(&id)
    }

    pub fn thread(&self, id: TransactionId) -> Option<u32> {
        self.session(id).map(|session| session.id)
    }
}

/// The statement that a session runs, without passwords, what it is doing and when it began.
pub(crate) fn running(session: &SessionShared) -> (Option<String>, &'static str, Instant) {
    let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
    let (text, state, since) = (activity.text.clone(), activity.state, activity.since);
    drop(activity);
    ((!text.is_empty()).then(|| statement_text::beginning(&text)), state, since)
}
