//! Events about who leads what: told by the node that begins to lead, with the time between.

use std::collections::BTreeMap;

use shoal_partition::Millis;
use shoal_replication::Leaders;
use shoal_types::NodeId;

use super::view::ranges;
use crate::base::cluster_log::Severity;

/// A partition that this node leads from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaderChange {
    partition: u32,
    before: Option<NodeId>,
    /// As far as this node has seen it.
    without_leader_ms: u64,
}

/// Who led what at the last look.
#[derive(Default)]
pub(super) struct LeaderWatch {
    seen: Vec<SeenLeader>,
}

#[derive(Clone, Default)]
struct SeenLeader {
    now: Option<NodeId>,
    /// The last one that there was.
    last: Option<NodeId>,
    lost_at: Option<Millis>,
}

impl LeaderWatch {
    pub(super) fn look(
        &mut self,
        now: Millis,
        me: NodeId,
        partitions: u32,
        leaders: &Leaders,
    ) -> Vec<LeaderChange> {
        self.seen.resize(partitions as usize, SeenLeader::default());
        let mut changes = Vec::new();
        for (partition, seen) in self.seen.iter_mut().enumerate() {
            let partition = partition as u32;
            let leader = leaders.of(partition);
            if leader == seen.now {
                continue;
            }
            seen.now = leader;
            match leader {
                None => seen.lost_at = Some(now),
                Some(leader) => {
                    let lost_at = seen.lost_at.take();
                    let before = seen.last.replace(leader);
                    if leader == me {
                        let without_leader_ms = lost_at.map_or(0, |lost_at| now.0.saturating_sub(lost_at.0));
                        changes.push(LeaderChange { partition, before, without_leader_ms });
                    }
                }
            }
        }
        changes
    }
}

/// A leader that could not confirm that it leads for less than this is not worth a line: leases are short, and a busy machine is late at times.
const LAPSE_TOLD_MS: u64 = 200;

/// One sentence for all partitions that came from one node.
pub(super) fn describe_changes(
    changes: &[LeaderChange],
    me: NodeId,
    meta_partition: u32,
) -> Vec<(Severity, String)> {
    let mut by_leader: BTreeMap<Option<NodeId>, Vec<&LeaderChange>> = BTreeMap::new();
    let is_short_lapse =
        |change: &&LeaderChange| change.before == Some(me) && change.without_leader_ms < LAPSE_TOLD_MS;
    for change in changes.iter().filter(|change| !is_short_lapse(change)) {
        by_leader.entry(change.before).or_default().push(change);
    }
    let describe = |(before, changes): (Option<NodeId>, Vec<&LeaderChange>)| {
        let is_meta = |change: &&LeaderChange| change.partition == meta_partition;
        let numbers: Vec<u32> =
            changes.iter().filter(|change| !is_meta(change)).map(|one| one.partition).collect();
        let mut what = Vec::new();
        match numbers.len() {
            0 => {}
            1 => what.push(format!("partition {}", numbers[0])),
            _ => what.push(format!("partitions {}", ranges(&numbers))),
        }
        if changes.iter().any(is_meta) {
            what.push("the dictionary".to_owned());
        }
        let outage_ms = changes.iter().map(|change| change.without_leader_ms).max().unwrap_or(0);
        let what = what.join(" and ");
        match (before, outage_ms) {
            (None, _) => (Severity::Info, format!("Leads {what} now: the first leader that is known here")),
            (Some(node), ms) if node == me => {
                let text =
                    format!("Leads {what} again: could not confirm it to the other nodes in time for {ms} ms");
                (Severity::Warning, text)
            }
            (Some(node), 0) => (Severity::Info, format!("Leads {what} now: taken over from Node {node}")),
            (Some(node), ms) => {
                let text =
                    format!("Leads {what} now: Node {node} led before; {ms} ms without a leader, as seen here");
                (Severity::Info, text)
            }
        }
    };
    by_leader.into_iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_leaders_is_told_by_the_one_that_leads_with_the_time_between() {
        let (me, other) = (NodeId(2), NodeId(1));
        let leaders = Leaders::new(3);
        let mut watch = LeaderWatch::default();
        leaders.learn(0, other, 1);
        leaders.learn(1, other, 1);
        leaders.learn(2, me, 1);
        let first = watch.look(Millis(10), me, 3, &leaders);
        let describe = |changes: &[LeaderChange]| -> Vec<String> {
            describe_changes(changes, me, 2).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(describe(&first), ["Leads the dictionary now: the first leader that is known here"]);
        leaders.forget_node(other);
        assert!(watch.look(Millis(100), me, 3, &leaders).is_empty());
        leaders.learn(0, me, 2);
        leaders.learn(1, me, 2);
        let changes = watch.look(Millis(320), me, 3, &leaders);
        assert_eq!(
            describe(&changes),
            ["Leads partitions 0-1 now: Node 1 led before; 220 ms without a leader, as seen here"]
        );
        leaders.learn(1, other, 3);
        assert!(watch.look(Millis(400), me, 3, &leaders).is_empty());
        leaders.learn(1, me, 4);
        let back = watch.look(Millis(500), me, 3, &leaders);
        assert_eq!(describe(&back), ["Leads partition 1 now: taken over from Node 1"]);
        leaders.forget(1, me);
        assert!(watch.look(Millis(600), me, 3, &leaders).is_empty());
        leaders.learn(1, me, 5);
        assert!(describe(&watch.look(Millis(650), me, 3, &leaders)).is_empty());
        leaders.forget(1, me);
        assert!(watch.look(Millis(700), me, 3, &leaders).is_empty());
        leaders.learn(1, me, 6);
        let again = watch.look(Millis(950), me, 3, &leaders);
        assert_eq!(
            describe(&again),
            ["Leads partition 1 again: could not confirm it to the other nodes in time for 250 ms"]
        );
        assert!(watch.look(Millis(501), me, 3, &leaders).is_empty());
    }
}
