//! Two data replicas (1, 2) and a witness (3).

use raft::eraftpb::MessageType;

use super::network::*;
use super::replicas::{Rows, assert_everywhere};
use super::*;

const WITNESS: u64 = 3;

fn network(tail_bytes_max: u64) -> Network {
    Network::with(|replica| PartitionConfig {
        replica,
        voters: vec![1, 2, WITNESS],
        witness: Some(WITNESS),
        timing: Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap(),
        tail_bytes_max,
        ..single(1 << 30)
    })
}

/// Inserts `ids` one by one, with time between them; all are committed.
fn fill(network: &mut Network, rows: &mut Rows, leader: u64, ids: std::ops::Range<i32>) {
    for id in ids {
        let before = network.site(leader).committed.len();
        rows.insert(network.at(leader), 1000 + id as u64, &row(id, id));
        for _ in 0..20 {
            network.settle();
            if network.site(leader).committed.len() > before {
                break;
            }
            network.advance(HEARTBEAT_MS);
        }
        assert_eq!(network.site(leader).committed.len(), before + 1, "row {id} is not committed");
        network.advance(HEARTBEAT_MS / 2);
    }
}

fn expected(ids: std::ops::Range<i32>) -> Vec<TestRow> {
    ids.map(|id| row(id, id)).collect()
}

#[test]
fn the_witness_is_sent_no_entries_while_the_data_replicas_keep_up() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    assert_eq!(leader, 1);
    network.advance(HEARTBEAT_MS * 5);
    let (appends, heartbeats) = (MessageType::MsgAppend, MessageType::MsgHeartbeat);
    let before = (network.sent(appends, 1, WITNESS), network.sent(heartbeats, 1, WITNESS));
    let end = network.at(WITNESS).last_index();
    fill(&mut network, &mut rows, 1, 0..50);
    assert_eq!(network.sent(appends, 1, WITNESS), before.0);
    assert!(network.sent(heartbeats, 1, WITNESS) > before.1 + 10);
    assert_eq!(network.at(WITNESS).last_index(), end);
    let progress = network.at(1).replica_progress();
    assert!(progress[2].is_witness && progress[2].active && progress[2].matched <= end.0);
    assert_everywhere(&mut network, &expected(0..50));
    assert_eq!(network.at(WITNESS).tables(), []);
}

#[test]
fn the_witness_is_fed_when_a_data_replica_falls_silent_and_no_longer_when_it_is_back() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..10);
    network.isolate(2);
    fill(&mut network, &mut rows, leader, 10..20);
    assert_eq!(network.at(WITNESS).last_index(), network.at(leader).last_index());
    network.heal();
    network.advance(HEARTBEAT_MS * 8);
    let end = network.at(WITNESS).last_index();
    fill(&mut network, &mut rows, leader, 20..30);
    assert_eq!(network.at(WITNESS).last_index(), end);
    assert_everywhere(&mut network, &expected(0..30));
}

#[test]
fn proof_that_the_other_data_replica_is_dead_feeds_the_witness_at_once() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..10);
    network.advance(HEARTBEAT_MS * 5);
    network.crash(2);
    rows.insert(network.at(leader), 5, &row(50, 5));
    network.settle();
    let before = network.site(leader).committed.len();
    network.announce_death(2);
    // No time has passed.
    assert_eq!(network.site(leader).committed.len(), before + 1);
}

#[test]
fn the_survivor_takes_over_at_once_with_the_witness_vote() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..10);
    network.crash(leader);
    network.announce_death(leader);
    assert_eq!(network.server(), Some(2));
    rows.insert(network.at(2), 5, &row(50, 5));
    network.settle();
    assert_eq!(network.site(2).committed, [CommitToken(5)]);
    network.restart(leader);
    network.advance(ELECTION_MS);
    let mut all = expected(0..10);
    all.push(row(50, 5));
    assert_everywhere(&mut network, &all);
}

#[test]
fn a_witness_too_far_behind_begins_its_log_at_a_bare_snapshot() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    network.advance(HEARTBEAT_MS * 5);
    fill(&mut network, &mut rows, leader, 0..60);
    assert!(network.at(leader).first_index() > network.at(WITNESS).last_index().0 + 1);
    network.isolate(2);
    fill(&mut network, &mut rows, leader, 60..65);
    assert!(network.sent(MessageType::MsgSnapshot, leader, WITNESS) > 0);
    let end = network.at(leader).last_index();
    assert_eq!(network.at(WITNESS).last_index(), end);
    let first = network.at(WITNESS).first_index();
    assert!(first > 50);
    // Where the log begins is known after a restart.
    network.crash(WITNESS);
    network.restart(WITNESS);
    assert_eq!((network.at(WITNESS).first_index(), network.at(WITNESS).last_index()), (first, end));
    fill(&mut network, &mut rows, leader, 65..70);
}

#[test]
fn a_snapshot_for_the_witness_that_gets_lost_is_sent_again() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    network.advance(HEARTBEAT_MS * 5);
    fill(&mut network, &mut rows, leader, 0..60);
    network.isolate(2);
    network.holds = |message| message.msg_type == MessageType::MsgSnapshot;
    network.advance(HEARTBEAT_MS * 6);
    assert!(!network.held.is_empty());
    network.held.clear();
    network.release();
    fill(&mut network, &mut rows, leader, 60..61);
}

#[test]
fn a_witness_that_holds_more_than_the_data_replica_leads_until_that_one_has_it() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..10);
    network.crash(2);
    fill(&mut network, &mut rows, leader, 10..20);
    network.crash(leader);
    network.restart(2);
    network.holds = |message| message.msg_type == MessageType::MsgTimeoutNow;
    let deadline = network.now.plus(ELECTION_MS * 5);
    while !network.at(WITNESS).is_leader() && network.now < deadline {
        network.advance(HEARTBEAT_MS / 2);
    }
    // It leads, has fed the other one, and wants to hand over.
    assert!(network.at(WITNESS).is_leader() && !network.held.is_empty());
    assert_eq!(network.at(2).last_index(), network.at(WITNESS).last_index());
    let now = network.now;
    assert!(!network.at(WITNESS).serves(now));
    let table = Arc::new(schema(IndexMethod::BTree));
    let refused = network.at(WITNESS).create_fragment(table, CommitToken(9)).unwrap_err();
    assert!(refused.why_transient().is_some());
    network.release();
    network.elect();
    assert_eq!(network.server(), Some(2));
    assert_everywhere(&mut network, &expected(0..20));
    fill(&mut network, &mut rows, 2, 20..25);
    network.restart(leader);
    network.advance(ELECTION_MS);
    assert_everywhere(&mut network, &expected(0..25));
}

/// It once waited for three election timeouts, in which nobody could be elected.
#[test]
fn a_witness_that_holds_more_campaigns_as_soon_as_the_data_replica_has_asked_in_vain() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..10);
    network.cut.extend([(leader, 2), (2, leader)]);
    fill(&mut network, &mut rows, leader, 10..20);
    network.advance(HEARTBEAT_MS * 4);
    network.isolate(leader);
    network.announce_loss(leader);
    let before = network.now;
    assert_eq!(network.elect_other_than(leader), 2);
    assert!(network.now.since(before) <= HEARTBEAT_MS * 6, "{} ms", network.now.since(before));
    assert_eq!(all_rows(network.at(2)).len(), 20);
}

/// A request of an earlier term is not kept until the promise ends. The witness once campaigned for it at once, while a lease that
/// rested on its promise went on: two leaders served.
#[test]
fn a_witness_that_is_bound_does_not_campaign_for_whoever_asks_with_an_old_term() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    network.cut.extend([(leader, 2), (2, leader)]);
    fill(&mut network, &mut rows, leader, 0..10);
    network.advance(HEARTBEAT_MS * 4);
    network.isolate(leader);
    network.crash(WITNESS);
    network.restart(WITNESS);
    let mut request = raft::eraftpb::Message { from: 2, to: WITNESS, index: 1, log_term: 1, ..Default::default() };
    request.set_msg_type(MessageType::MsgRequestPreVote);
    assert!(request.term < network.at(WITNESS).term());
    network.isolate(2);
    network.at(WITNESS).step_message(request).unwrap();
    network.advance(HEARTBEAT_MS * 2);
    assert_eq!(network.at(WITNESS).role(), Role::Follower);
}

/// A witness that has a log in which it began behind the others' ends, and has lost track.
fn amnesiac_witness(network: &mut Network) -> Rows {
    let (mut rows, leader) = Rows::over(network);
    assert_eq!(leader, 1);
    network.advance(HEARTBEAT_MS * 5);
    network.site(WITNESS).replicated = true;
    network.crash(WITNESS);
    network.restart(WITNESS);
    // It is not told when it has caught up.
    network.holds = |message| message.msg_type == MessageType::MsgReadIndex;
    fill(network, &mut rows, 1, 0..60);
    rows
}

fn end_of_witness(network: &mut Network) -> LogEnd {
    network.at(WITNESS).report(false, Vec::new()).unwrap().end
}

/// Agreements are told again and again. A witness that had gone on under a leader since took its new log for the one that was worth
/// nothing when the agreement was reached, forgot all that it had acknowledged, and was as good as any other voter.
#[test]
fn a_witness_that_hears_of_an_agreement_when_it_has_gone_on_forgets_nothing() {
    let mut network = network(2000);
    let mut rows = amnesiac_witness(&mut network);
    let before = end_of_witness(&mut network);
    network.isolate(2);
    fill(&mut network, &mut rows, 1, 60..65);
    assert!(network.at(WITNESS).first_index() > before.index + 1 && network.at(WITNESS).is_amnesiac());
    network.isolate(1);
    while network.at(WITNESS).leader().is_some() {
        network.advance(HEARTBEAT_MS);
    }
    let end = end_of_witness(&mut network);
    for worthless in [None, Some(before)] {
        let incarnations = vec![(1, 1), (2, 1), (WITNESS, 2)];
        let agreement = Agreement { incarnations, newest: before, worthless };
        network.at(WITNESS).forget_amnesia(&agreement).unwrap();
        assert_eq!(end_of_witness(&mut network), end);
    }
}

/// Having forgotten its log, it once helped to elect a data replica that lacked what the other one had applied.
#[test]
fn a_witness_whose_log_is_worth_nothing_begins_anew_and_votes_for_the_newest_log_alone() {
    for lost_track in [true, false] {
        let mut network = network(2000);
        let mut rows = amnesiac_witness(&mut network);
        network.isolate(2);
        fill(&mut network, &mut rows, 1, 60..65);
        if !lost_track {
            network.release();
            network.advance(HEARTBEAT_MS * 3);
        }
        assert_eq!(network.at(WITNESS).is_amnesiac(), lost_track);
        network.isolate(1);
        while network.at(WITNESS).leader().is_some() {
            network.advance(HEARTBEAT_MS);
        }
        let (newest, worthless) = (LogEnd { term: 1, index: 20 }, Some(end_of_witness(&mut network)));
        let agreement = Agreement { incarnations: vec![(1, 2), (2, 2), (WITNESS, 2)], newest, worthless };
        network.at(WITNESS).forget_amnesia(&agreement).unwrap();
        network.settle();
        assert_eq!(end_of_witness(&mut network), LogEnd::default());
        let mut answer = |index| {
            let witness = network.at(WITNESS);
            let term = witness.term() + 1;
            let mut request =
                raft::eraftpb::Message { from: 2, to: WITNESS, index, log_term: 1, term, ..Default::default() };
            request.set_msg_type(MessageType::MsgRequestPreVote);
            witness.step_message(request).unwrap();
            std::mem::take(&mut witness.outputs().messages).iter().any(|message| !message.reject)
        };
        assert!(!answer(19));
        assert!(answer(20));
    }
}

/// With the votes of those who had agreed that its log is worth nothing the witness could lead before it heard of that, and did so for
/// ever; and when it heard of that from the next leader, it kept the log.
#[test]
fn a_witness_whose_log_is_worth_nothing_is_not_elected_and_gives_it_up_under_another_leader() {
    let mut network = network(2000);
    let mut rows = amnesiac_witness(&mut network);
    network.isolate(2);
    fill(&mut network, &mut rows, 1, 60..65);
    network.advance(ELECTION_MS * 2);
    let end = end_of_witness(&mut network);
    let (incarnations, newest) = (vec![(1, 2), (2, 2), (WITNESS, 2)], LogEnd { term: 1, index: 20 });
    let agreement = Agreement { incarnations, newest, worthless: Some(end) };
    network.at(2).forget_amnesia(&agreement).unwrap();
    let mut answers = |index| {
        let replica = network.at(2);
        let (term, log_term) = (replica.term() + 1, end.term);
        let mut request =
            raft::eraftpb::Message { from: WITNESS, to: 2, index, log_term, term, ..Default::default() };
        request.set_msg_type(MessageType::MsgRequestPreVote);
        replica.step_message(request).unwrap();
        std::mem::take(&mut replica.outputs().messages)
            .iter()
            .any(|message| message.to == WITNESS && !message.reject)
    };
    assert!(!answers(end.index));
    assert!(answers(end.index + 1));
    assert_eq!(network.at(WITNESS).leader(), Some(1));
    network.at(WITNESS).forget_amnesia(&agreement).unwrap();
    assert_eq!(end_of_witness(&mut network), LogEnd::default());
}

#[test]
fn the_witness_leaves_the_campaign_to_the_data_replicas() {
    let mut network = network(1 << 20);
    let (_, leader) = Rows::over(&mut network);
    network.crash(leader);
    assert_eq!(network.elect_other_than(leader), 2);
    assert_eq!(network.sent(MessageType::MsgRequestPreVote, WITNESS, 2), 0);
    assert!(network.at(2).transfer_leader(WITNESS).is_err());
    // Even if they take their time.
    network.isolate(WITNESS);
    network.advance(ELECTION_MS * 2);
    assert_eq!(network.at(WITNESS).role(), Role::Follower);
    network.advance(ELECTION_MS * 2);
    assert_eq!(network.at(WITNESS).role(), Role::Candidate);
}

#[test]
fn the_witness_keeps_no_more_than_its_bound_and_remembers_where_it_begins() {
    let bound = 4000;
    let mut network = network(bound);
    let (mut rows, leader) = Rows::over(&mut network);
    network.isolate(2);
    fill(&mut network, &mut rows, leader, 0..100);
    let first = network.at(WITNESS).first_index();
    let last = network.at(WITNESS).last_index();
    assert_eq!(last, network.at(leader).last_index());
    assert!(first > 70 && last.0 - first < 30, "{first} {last:?}");
    network.crash(WITNESS);
    network.restart(WITNESS);
    assert_eq!((network.at(WITNESS).first_index(), network.at(WITNESS).last_index()), (first, last));
    fill(&mut network, &mut rows, leader, 100..105);
}

/// It once kept no more than its bound, whatever the leader had on its disk. When that one crashed, what it lacked was nowhere any
/// more, and the witness, which held the newest log, led for ever and could feed nobody.
#[test]
fn the_witness_forgets_nothing_that_the_leader_has_only_in_its_memory() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    network.sites.values_mut().for_each(|site| site.replicated = true);
    network.sync_all();
    network.isolate(2);
    fill(&mut network, &mut rows, leader, 0..100);
    assert!(network.at(WITNESS).first_index() < 10);
    network.crash(leader);
    network.restart(leader);
    assert!(network.at(leader).is_amnesiac() && network.at(leader).last_index().0 < 90);
    network.heal();
    let leader = network.elect();
    assert_eq!(all_rows(network.at(leader)).len(), 100);
    // What is on the disk is needed no longer.
    network.isolate(if leader == 1 { 2 } else { 1 });
    network.sync_all();
    fill(&mut network, &mut rows, leader, 100..105);
    let first = network.at(WITNESS).first_index();
    assert!(first > 70, "{first}");
}

#[test]
fn a_witness_log_that_was_cut_is_whole_where_it_was_logged_again() {
    let mut network = network(4000);
    let (mut rows, leader) = Rows::over(&mut network);
    network.isolate(2);
    fill(&mut network, &mut rows, leader, 0..100);
    let (first, last) = (network.at(WITNESS).first_index(), network.at(WITNESS).last_index());
    let records = network.site(WITNESS).log.len();
    network.at(WITNESS).log_again(0);
    network.settle();
    fill(&mut network, &mut rows, leader, 100..102);
    network.crash(WITNESS);
    // Segments go as a whole: some of what was logged again is there twice, in the middle of what it follows.
    network.cut_log(WITNESS, records - 5);
    network.restart(WITNESS);
    assert!(network.at(WITNESS).first_index() >= first && network.at(WITNESS).last_index() > last);
    fill(&mut network, &mut rows, leader, 102..107);
}

/// Nodes log everything again before they cut.
#[test]
fn a_witness_log_that_was_cut_and_not_logged_again_is_refused() {
    let voters = vec![1, 2, WITNESS];
    let config = PartitionConfig { replica: WITNESS, voters, witness: Some(WITNESS), ..single(1 << 30) };
    let mut partition = Partition::new(config);
    for index in 7..10 {
        partition.replay(index, 2, &[]).unwrap();
    }
    let error = partition.start().unwrap_err();
    assert!(error.message().contains("does not say where it begins"), "{error}");
}

/// The data replicas have lost the rows that the witness's log goes on from, and lead on from older ones. Raft would have the witness
/// acknowledge entries of theirs that it never saw, because its own log had come further.
#[test]
fn a_witness_acknowledges_no_entries_of_a_log_that_its_own_does_not_go_on_from() {
    let mut network = network(2000);
    let (mut rows, _) = Rows::over(&mut network);
    network.advance(HEARTBEAT_MS * 5);
    fill(&mut network, &mut rows, 1, 0..40);
    network.sync_all();
    [1, 2].into_iter().for_each(|replica| network.site(replica).replicated = true);
    fill(&mut network, &mut rows, 1, 40..80);
    network.isolate(2);
    fill(&mut network, &mut rows, 1, 80..85);
    [1, 2].into_iter().for_each(|replica| network.crash(replica));
    network.heal();
    network.isolate(WITNESS);
    [1, 2].into_iter().for_each(|replica| network.restart(replica));
    let end = |network: &mut Network, replica| network.at(replica).report(false, Vec::new()).unwrap().end;
    let newest = end(&mut network, 1).max(end(&mut network, 2));
    let start = network.at(WITNESS).first_index();
    assert!(newest.index < start && !network.at(WITNESS).is_amnesiac());
    while network.at(WITNESS).leader().is_some() {
        network.advance(HEARTBEAT_MS);
    }
    let incarnations = vec![(1, 1), (2, 1), (WITNESS, 0)];
    let agreement = Agreement { incarnations, newest, worthless: Some(end_of_witness(&mut network)) };
    [1, 2].into_iter().for_each(|replica| network.at(replica).forget_amnesia(&agreement).unwrap());
    let leader = network.elect();
    // Entries that nobody else has, beyond where the witness's log begins.
    network.isolate(3 - leader);
    let first = all_rows(network.at(leader)).len() as i32;
    for id in first..first + 60 {
        rows.insert(network.at(leader), 5000 + id as u64, &row(id, id));
        network.settle();
    }
    assert!(network.at(leader).last_index().0 > network.at(WITNESS).last_index().0);
    network.cut.retain(|&(from, to)| ![from, to].contains(&WITNESS) || ![from, to].contains(&leader));
    network.site(leader).committed.clear();
    network.advance(HEARTBEAT_MS * 3);
    let matched = |network: &mut Network| network.at(leader).replica_progress()[WITNESS as usize - 1].matched;
    assert_eq!((network.site(leader).committed.len(), matched(&mut network)), (0, 0));
    // It is worth something as soon as it has given up its log and caught up.
    network.at(WITNESS).forget_amnesia(&agreement).unwrap();
    network.advance(HEARTBEAT_MS * 8);
    assert_eq!((network.site(leader).committed.len(), network.at(WITNESS).is_amnesiac()), (60, false));
}
