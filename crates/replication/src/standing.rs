//! Who leads and serves: a leader serves in a term when its lease is confirmed and its clock is beyond what was shown before.

use shoal_partition::{Millis, Partition};

/// How a replica stands in its group, as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It leads and serves in this term.
    Serves(u64),
    /// It leads in this term, under a lease. A snapshot that the leader before has shown must stay what it was: nothing may be committed
    /// here at a timestamp before it. Whoever reads one is asked first; then this is the term that it serves in.
    MustAsk(u64),
    /// Another one leads in this term, if it is known.
    Follows(Option<u64>, u64),
}

/// A replica serves in `serving_term` if it leads then.
#[inline]
pub fn may_serve(replica: &Partition, serving_term: u64, now: Millis) -> bool {
    replica.is_single() || (serving_term == replica.term() && replica.serves(now))
}

impl Standing {
    /// The standing of a replica that serves in `serving_term` if it leads then.
    pub fn of(replica: &Partition, serving_term: u64, now: Millis) -> Standing {
        let term = replica.term();
        if replica.serves(now) {
            return match replica.is_single() || serving_term == term {
                true => Standing::Serves(term),
                false => Standing::MustAsk(term),
            };
        }
        let me = replica.config().replica;
        Standing::Follows(replica.leader().filter(|&leader| leader != me), term)
    }
}
