//! The nodes' side of the followers: a data node asks the leader for a follower's changes, and the follower takes them.

use shoal_types::{NodeId, PartitionId};

use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;

/// A question that has no answer by then is given up.
const PATIENCE_US: u64 = 800_000;

impl Process {
    /// Asks for the followers that have no question under way.
    pub fn ask_followers(&mut self, env: &mut Env<'_>) {
        if !env.ctx.knobs.is_data(self.me) {
            return;
        }
        let now_us = env.ctx.now_us;
        for id in env.ctx.knobs.data_partitions() {
            let Some(follower) = env.ctx.followers.get_mut(&id) else { continue };
            let is_under_way = follower.asking.is_some_and(|(_, since_us)| now_us - since_us < PATIENCE_US);
            if is_under_way || !env.ctx.random.one_in(3) {
                continue;
            }
            follower.next_number += 1;
            follower.asking = Some((follower.next_number, now_us));
            let (place, number) = (follower.place, follower.next_number);
            self.call_leader(env, Request::Follow(id, place), Owner::Follower(id, number));
        }
    }

    pub fn follower_hears(
        &mut self,
        env: &mut Env<'_>,
        from: NodeId,
        id: PartitionId,
        number: u64,
        answer: Answer,
    ) {
        let moment = env.ctx.history.now();
        let Some(follower) = env.ctx.followers.get_mut(&id) else { return };
        if follower.asking.is_none_or(|(asked, _)| asked != number) {
            return;
        }
        follower.asking = None;
        let Ok(Reply::Changes(changes)) = answer else { return };
        let Ok((place, told)) = changes else {
            follower.begin_again();
            return env.ctx.see(Sight::FollowerGap);
        };
        let has_begun = follower.place.replace(place).is_some();
        if !has_begun {
            follower.since = moment;
        }
        if told.is_empty() {
            return;
        }
        let is_another = follower.told_by.replace(from).is_some_and(|before| before != from);
        let mut taken = Ok(false);
        for one in told {
            taken = taken.and_then(|decided| follower.take(one).map(|is_decision| decided || is_decision));
        }
        env.ctx.see(Sight::ChangesFollowed);
        if is_another {
            env.ctx.see(Sight::FollowedAcrossLeaders);
        }
        match taken {
            Ok(true) => env.ctx.see(Sight::FollowedDecision),
            Ok(false) => {}
            Err(error) => env.ctx.accuse(format!("the changes of partition {id}: {error}")),
        }
    }
}
