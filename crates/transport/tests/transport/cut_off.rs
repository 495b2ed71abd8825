//! Peers that are kept away for what they have sent.

use std::time::{Duration, Instant};

use shoal_types::NodeId;

use crate::common::{ECHO, Event, answer, pair, until};

const PAUSE: Duration = Duration::from_millis(300);

/// Either side may be the one that dials.
#[test]
fn a_peer_that_is_cut_off_is_kept_away_and_comes_back() {
    for cuts_off_first in [true, false] {
        let (one, two) = pair(|options| options.cut_off_pause = PAUSE);
        let (cutting, cut, me, peer) = match cuts_off_first {
            true => (&one, &two, (1, 100), (2, 200)),
            false => (&two, &one, (2, 200), (1, 100)),
        };
        let mut since = Instant::now();
        for times in [1, 2] {
            cutting.transport.cut_off(NodeId(peer.0), "its rows are none");
            cutting.transport.cut_off(NodeId(peer.0), "once is enough");
            let told = Event::CutOff(peer.0, "its rows are none".into());
            cutting.recorder.expect(&[told, Event::Down(peer.0, peer.1)]);
            assert!(cutting.transport.is_cut_off(NodeId(peer.0)));
            cut.recorder.expect(&[Event::Down(me.0, me.1)]);
            // It is told why, if it dials.
            if cuts_off_first {
                let event = cut.recorder.next();
                let Event::KeptAway(1, reason) = &event else { panic!("{event:?}") };
                assert!(reason.contains("node 1 keeps node 2 away for a while: its rows are none"), "{reason}");
            }
            cut.recorder.expect(&[Event::Up(me.0, me.1)]);
            assert!(since.elapsed() >= PAUSE * times, "kept away for {:?}", since.elapsed());
            cutting.recorder.expect(&[Event::Up(peer.0, peer.1)]);
            until("a call is answered", || answer(cut.call(me.0, ECHO, b"again")).is_ok());
            since = Instant::now();
        }
    }
}
