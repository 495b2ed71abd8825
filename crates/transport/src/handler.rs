//! What a node does with what its links bring.

use std::time::Duration;

use shoal_tls::Identity;
use shoal_types::NodeId;

use crate::hello::Hello;
use crate::peer::{Event, Peer};
use crate::responder::Responder;

/// What a node does with what comes in. The methods are called by the transport's own tasks on worker threads, never from
/// within an operation of the transport, so they may take whatever locks callers of the transport hold. They must not
/// block.
pub trait Handler: Send + Sync + 'static {
    /// Accepts or refuses a peer. The sentence tells an operator what to do; the peer reports it too.
    fn check(&self, theirs: &Hello) -> Result<(), String>;

    /// The node's hybrid logical clock, which goes out with every frame. Called under locks of the transport.
    fn clock(&self) -> u64 {
        0
    }

    /// A peer's clock when it sent the frame that is handled next.
    ///
    /// # Errors
    /// No node's clock shows that: the frame is not handled, and the peer is cut off, with this reason.
    fn observe_clock(&self, _clock: u64) -> Result<(), String> {
        Ok(())
    }

    /// A one-way frame. Frames of one lane come in the order in which they were sent.
    fn on_message(&self, from: NodeId, kind: u8, payload: &[u8]);

    /// A call. Answer at once, or `spawn_local` what answers later.
    fn on_request(&self, from: NodeId, kind: u8, payload: &[u8], responder: Responder);

    /// The first link to this incarnation of the peer is up.
    fn on_up(&self, peer: NodeId, hello: &Hello);

    /// The last link to this incarnation broke. It may live, unreachable; it may come back.
    fn on_down(&self, peer: NodeId, incarnation: u64);

    /// Proof that the process is gone: on this host its address refuses connections while no link is up (see `proof`), or a newer
    /// incarnation has come. Once an incarnation, after `on_down`.
    fn on_dead(&self, peer: NodeId, incarnation: u64);

    /// One side refused the other. Told again only when the reason changes.
    fn on_refused(&self, peer: NodeId, reason: &str);

    /// A stranger that has connected has no certificate of this cluster. What it claims to be is not proven. Called from the thread of
    /// handshakes, about once a second at most.
    fn on_untrusted(&self, _claimed: Option<Identity>, _reason: &str) {}

    /// What came from the peer cannot be what a node sends: no link to it is made for so long.
    fn on_cut_off(&self, _peer: NodeId, _reason: &str, _pause: Duration) {}

    /// The peer has cut this node off, and takes no link for a while. Told again only when the reason changes.
    fn on_kept_away(&self, _peer: NodeId, _reason: &str) {}
}

impl Peer {
    /// Tells the handler what has happened, unless another thread is at it.
    pub(crate) fn deliver(&self, handler: &dyn Handler) {
        self.tell_events(|event| match event {
            Event::Up(hello) => handler.on_up(self.node, &hello),
            Event::Down(incarnation) => handler.on_down(self.node, incarnation),
            Event::Dead(incarnation) => handler.on_dead(self.node, incarnation),
            Event::Refused(reason) => handler.on_refused(self.node, &reason),
            Event::KeptAway(reason) => handler.on_kept_away(self.node, &reason),
            Event::CutOff(reason, pause) => handler.on_cut_off(self.node, &reason, pause),
        });
    }
}
