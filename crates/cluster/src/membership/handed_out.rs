//! Node ids that were handed out to processes that have not connected yet.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use shoal_types::NodeId;

/// What a process that was given an id may take to connect with it.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// Ids that were handed out to processes that have not connected yet.
#[derive(Debug, Default)]
pub(crate) struct HandedOut {
    at: HashMap<NodeId, Instant>,
}

impl HandedOut {
    /// The first of `ids`, from place `first` on and around, that nobody has.
    pub(super) fn take(
        &mut self,
        ids: &[NodeId],
        first: usize,
        now: Instant,
        is_up: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        self.at.retain(|_, at| now.saturating_duration_since(*at) < CONNECTS_WITHIN);
        let (before, from) = ids.split_at(first.min(ids.len()));
        let free = from.iter().chain(before).find(|&&id| !is_up(id) && !self.at.contains_key(&id)).copied()?;
        self.at.insert(free, now);
        Some(free)
    }

    /// Its process has connected: from now on the link tells that it is used.
    pub(crate) fn forget(&mut self, id: NodeId) {
        self.at.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_handed_out_once_until_its_process_is_gone_or_has_not_come() {
        let mut handed_out = HandedOut::default();
        let ids = [NodeId(4), NodeId(5)];
        let start = Instant::now();
        let nobody = |_| false;
        assert_eq!(handed_out.take(&ids, 1, start, nobody), Some(NodeId(5)));
        assert_eq!(handed_out.take(&ids, 1, start, nobody), Some(NodeId(4)));
        assert_eq!(handed_out.take(&ids, 0, start, nobody), None);
        handed_out.forget(NodeId(4));
        assert_eq!(handed_out.take(&ids, 0, start, |id| id == NodeId(4)), None);
        assert_eq!(handed_out.take(&ids, 0, start, nobody), Some(NodeId(4)));
        assert_eq!(handed_out.take(&ids, 1, start + CONNECTS_WITHIN, nobody), Some(NodeId(5)));
        assert_eq!(handed_out.take(&[], 0, start, nobody), None);
    }
}
