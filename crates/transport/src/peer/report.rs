//! What is told of a peer: to operators, and to the peer itself when it is refused.

use std::sync::atomic::Ordering;
use std::time::Instant;

use shoal_types::NodeId;

use super::{Event, Peer};
use crate::socket::Transporter;

/// What `Transport::peer_state` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerState {
    /// Which node it is.
    pub node: NodeId,
    /// Where the peer listens, if it does.
    pub address: Option<String>,
    /// At least one link is up.
    pub is_up: bool,
    /// Links that are up.
    pub links: usize,
    /// Links that have ended since this process began; what was on its way on them may be lost.
    pub links_lost: u64,
    /// What the first of them goes through.
    pub transporter: Option<Transporter>,
    /// It is encrypted.
    pub is_encrypted: bool,
    /// The peer's process that was last connected; 0 before the first.
    pub incarnation: u64,
    /// There is proof that the process `incarnation` is gone.
    pub is_dead: bool,
    /// When it last went up or down.
    pub since: Instant,
    /// Over all links, since this process began.
    pub bytes_received: u64,
    /// Over all links, since this process began.
    pub bytes_sent: u64,
    /// Why the last link broke or was refused.
    pub last_trouble: Option<String>,
}

impl Peer {
    pub(crate) fn snapshot(&self) -> PeerState {
        let first = self.links().into_iter().next();
        let state = self.state();
        PeerState {
            node: self.node,
            address: self.address.clone(),
            is_up: state.links > 0,
            links: state.links,
            links_lost: state.links_lost,
            transporter: first.as_ref().map(|link| link.transporter()),
            is_encrypted: first.is_some_and(|link| link.is_encrypted()),
            incarnation: state.incarnation,
            is_dead: state.dead_since.is_some(),
            since: state.since,
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            last_trouble: state.last_trouble.clone(),
        }
    }

    /// What a peer that is kept away is told.
    pub(crate) fn cut_off_refusal(&self, me: NodeId) -> Option<String> {
        let state = self.state();
        state.cut_off.left(Instant::now())?;
        let (node, reason) = (self.node, state.cut_off.reason());
        Some(format!(
            "node {me} keeps node {node} away for a while: {reason}; look for damage on the host of node {node}"
        ))
    }

    /// One side refused the other.
    pub(crate) fn was_refused(&self, reason: &str) {
        self.was_turned_away(reason, Event::Refused);
    }

    /// The other side takes no link for a while.
    pub(crate) fn was_kept_away(&self, reason: &str) {
        self.was_turned_away(reason, Event::KeptAway);
    }

    /// The handler is told when the reason changes.
    fn was_turned_away(&self, reason: &str, event: fn(String) -> Event) {
        let mut state = self.state();
        state.last_trouble = Some(reason.to_string());
        if state.refusal.as_deref() != Some(reason) {
            state.refusal = Some(reason.to_string());
            state.events.push_back(event(reason.to_string()));
        }
    }
}
