//! Replicas that were away for long, and replicas that have lost the end of their log.

use super::network::*;
use super::replicas::{Rows, assert_everywhere};
use super::*;

fn network(tail_bytes_max: u64) -> Network {
    Network::with(|replica| PartitionConfig {
        replica,
        voters: vec![1, 2, 3],
        timing: Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap(),
        tail_bytes_max,
        ..single(1 << 30)
    })
}

fn fill(network: &mut Network, rows: &mut Rows, leader: u64, ids: std::ops::Range<i32>) {
    for id in ids {
        rows.insert(network.at(leader), 1000 + id as u64, &row(id, id));
        network.advance(HEARTBEAT_MS / 2);
        assert_eq!(network.site(leader).committed.last(), Some(&CommitToken(1000 + id as u64)));
    }
}

fn expected(ids: std::ops::Range<i32>) -> Vec<TestRow> {
    ids.map(|id| row(id, id)).collect()
}

fn wants_checkpoint(network: &mut Network, leader: u64) -> Vec<u64> {
    network.advance(HEARTBEAT_MS * 2);
    network.at(leader).outputs().wants_checkpoint.clone()
}

#[test]
fn a_short_absence_is_made_up_from_the_log() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    network.crash(3);
    fill(&mut network, &mut rows, leader, 0..50);
    network.restart(3);
    assert_eq!(wants_checkpoint(&mut network, leader), []);
    assert_everywhere(&mut network, &expected(0..50));
}

#[test]
fn the_log_in_memory_is_kept_for_the_absent_within_bounds_and_little_for_the_others() {
    let mut network = network(4000);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..50);
    network.advance(HEARTBEAT_MS);
    // All have everything, for the present.
    for replica in 1..=3 {
        let kept = network.at(replica).last_index().0 - network.at(replica).first_index();
        assert!((1..8).contains(&kept), "replica {replica} keeps {kept} entries");
    }
    network.isolate(3);
    let end = network.at(leader).last_index().0;
    fill(&mut network, &mut rows, leader, 50..55);
    network.advance(ELECTION_MS * 2);
    assert!(network.at(leader).first_index() <= end + 1);
    fill(&mut network, &mut rows, leader, 55..60);
    assert!(network.at(leader).first_index() <= end + 1);
    fill(&mut network, &mut rows, leader, 60..150);
    let kept = network.at(leader).last_index().0 - network.at(leader).first_index();
    assert!((10..30).contains(&kept), "the leader keeps {kept} entries");
}

#[test]
fn a_replica_that_was_away_for_long_takes_a_checkpoint_while_the_others_go_on() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..20);
    network.crash(3);
    fill(&mut network, &mut rows, leader, 20..120);
    assert_eq!(wants_checkpoint(&mut network, leader), []);
    network.restart(3);
    assert_eq!(wants_checkpoint(&mut network, leader), [3]);

    let mut cursor = network.at(leader).begin_checkpoint();
    network.at(leader).pin_log(cursor.index());
    network.at(3).begin_install().unwrap();
    let mut blocks = Vec::new();
    let mut next = 120;
    loop {
        let mut block = Vec::new();
        if !network.at(leader).next_checkpoint_block(&mut cursor, 300, &mut block).unwrap() {
            break;
        }
        network.at(3).install_checkpoint_block(&block).unwrap();
        blocks.push(block);
        // More than the leader would keep for one that is away.
        fill(&mut network, &mut rows, leader, next..next + 10);
        next += 10;
        assert!(network.at(3).is_installing());
    }
    assert!(blocks.len() > 5);
    network.site(3).checkpoint = blocks;
    network.at(3).finish_install().unwrap();
    network.settle();
    network.at(leader).unpin_log(cursor.index());
    network.at(leader).end_checkpoint(cursor);
    assert!(!network.at(3).is_installing());
    assert_eq!(wants_checkpoint(&mut network, leader), []);
    assert!(network.at(leader).is_caught_up(3));
    assert_everywhere(&mut network, &expected(0..next));

    // It votes, leads and comes back from what it has on disk.
    network.crash(3);
    network.restart(3);
    assert_everywhere(&mut network, &expected(0..next));
    network.crash(1);
    network.crash(2);
    network.restart(2);
    network.elect();
    assert_everywhere(&mut network, &expected(0..next));
}

#[test]
fn a_deposed_leader_that_takes_a_checkpoint_learns_what_can_be_known_of_its_proposals() {
    let mut network = network(2000);
    let (mut rows, old) = Rows::over(&mut network);
    fill(&mut network, &mut rows, old, 0..5);
    network.isolate(old);
    rows.insert(network.at(old), 70, &row(700, 7));
    // A waiting transaction and one that reads what is in flight.
    rows.stage(network.at(old), 71, &row(701, 7));
    network.settle();
    let new = network.elect_other_than(old);
    network.advance(ELECTION_MS);
    let waiting = ReadView { token: WaitToken(5), ..at(None, 9999) };
    assert!(!network.at(old).get(&waiting, TABLE, &key(700), None).unwrap().is_ready());
    fill(&mut network, &mut rows, new, 5..100);
    network.heal();
    assert_eq!(wants_checkpoint(&mut network, new), [old]);
    network.stream_checkpoint(new, old, 1 << 20);
    assert_eq!(network.site(old).unknown, [CommitToken(70)]);
    assert!(network.site(old).woken.contains(&WaitToken(5)));
    assert_everywhere(&mut network, &expected(0..100));
}

#[test]
fn a_checkpoint_that_is_no_news_is_refused_and_changes_nothing() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..5);
    network.checkpoint(leader);
    fill(&mut network, &mut rows, leader, 5..10);
    network.advance(HEARTBEAT_MS);
    let block = network.site(leader).checkpoint[0].clone();
    assert!(network.at(leader).begin_install().is_err(), "a leader takes none");
    network.at(2).begin_install().unwrap();
    fill(&mut network, &mut rows, leader, 10..15);
    network.advance(HEARTBEAT_MS);
    let error = network.at(2).install_checkpoint_block(&block).unwrap_err();
    assert!(error.message().contains("no news"), "{error}");
    assert!(network.at(2).finish_install().is_err());
    assert!(network.at(2).abort_install().unwrap());
    assert_everywhere(&mut network, &expected(0..15));
}

#[test]
fn a_stream_that_breaks_is_followed_by_another() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    network.crash(3);
    fill(&mut network, &mut rows, leader, 0..100);
    network.restart(3);
    network.advance(HEARTBEAT_MS);
    let mut cursor = network.at(leader).begin_checkpoint();
    let mut block = Vec::new();
    network.at(leader).next_checkpoint_block(&mut cursor, 500, &mut block).unwrap();
    network.at(leader).end_checkpoint(cursor);
    network.at(3).begin_install().unwrap();
    network.at(3).install_checkpoint_block(&block).unwrap();
    assert!(!network.at(3).abort_install().unwrap());
    // Without rows it does not campaign, but it votes.
    network.crash(leader);
    network.advance(ELECTION_MS * 2);
    assert_eq!((network.at(2).role(), network.at(3).role()), (Role::Leader, Role::Follower));
    // The new leader cannot commit anything before the other one has what it has.
    assert_eq!(network.server(), None);
    assert_eq!(wants_checkpoint(&mut network, 2), [3]);
    network.stream_checkpoint(2, 3, 400);
    assert_eq!(network.elect(), 2);
    assert_everywhere(&mut network, &expected(0..100));
}

#[test]
fn what_follows_an_entry_that_a_checkpoint_disproves_is_void() {
    // A checkpoint at entry 5 of term 3 over a log whose entry 5 was of term 2: the crash came before the log was told.
    let mut network = network(1 << 20);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..3);
    network.checkpoint(leader);
    let block = network.site(leader).checkpoint[0].clone();
    let (index, term) = (network.at(leader).applied_index(), network.at(leader).applied_term());
    let config = PartitionConfig { voters: vec![1, 2, 3], ..single(1 << 30) };
    for (own_term, stays) in [(term + 1, false), (term, true)] {
        let mut partition = Partition::new(config.clone());
        partition.install_checkpoint_block(&block).unwrap();
        for entry in 1..=index + 3 {
            partition.replay(entry, if entry < index { 1 } else { own_term }, &[]).unwrap();
        }
        assert_eq!(partition.last_index().0, if stays { index + 3 } else { index });
        // What the leader sent afterwards has its place.
        partition.recover_from(LogStart { index, term }).unwrap();
        partition.replay(partition.last_index().0 + 1, own_term + 1, &[]).unwrap();
        partition.start().unwrap();
    }
}

#[test]
fn a_log_that_begins_behind_a_checkpoint_that_is_not_there_is_refused() {
    let mut partition = Partition::new(PartitionConfig { voters: vec![1, 2, 3], ..single(1 << 30) });
    let error = partition.recover_from(LogStart { index: 9, term: 2 }).unwrap_err();
    assert!(error.message().contains("a checkpoint file is missing"), "{error}");
}

/// Replica 2 acknowledges from memory, and forgets.
fn forgetful(network: &mut Network) -> (Rows, u64) {
    for replica in 1..=3 {
        network.site(replica).replicated = true;
    }
    let (mut rows, leader) = Rows::over(network);
    assert_eq!(leader, 1);
    network.sync_all();
    network.isolate(3);
    fill(network, &mut rows, 1, 0..10);
    network.crash(2);
    (rows, leader)
}

#[test]
fn a_replica_that_lost_its_tail_does_not_help_to_elect_a_leader_that_lacks_it() {
    let mut network = network(1 << 20);
    forgetful(&mut network);
    network.crash(1);
    network.heal();
    network.restart(2);
    assert!(network.at(2).is_amnesiac());
    network.advance(ELECTION_MS * 5);
    // Replica 3 has nothing, replica 2 has forgotten: together they are a majority that must not be one.
    assert_eq!(network.server(), None);
    assert_eq!(network.at(3).role(), Role::Candidate);
    assert_eq!(network.at(2).role(), Role::Follower);
    // A whole-cluster restart decided outside may accept the loss.
    network.at(2).forget_amnesia(&agreement([1; 3], LogEnd::default())).unwrap();
    network.elect();
}

fn agreement(lives: [u64; 3], newest: LogEnd) -> Agreement {
    Agreement { incarnations: (1..).zip(lives).collect(), newest, worthless: None }
}

/// A majority of those with less once elected one of themselves, whose log the replica with more could not follow.
#[test]
fn when_all_have_lost_something_the_group_goes_on_from_the_newest_log() {
    let mut network = network(1 << 20);
    forgetful(&mut network);
    network.sync_all();
    network.crash(1);
    network.crash(3);
    network.heal();
    (1..=3).for_each(|replica| network.restart(replica));
    let end = |network: &mut Network, replica| network.at(replica).report(false, Vec::new()).unwrap().end;
    let newest = end(&mut network, 1);
    assert!(end(&mut network, 2) < newest && end(&mut network, 3) < newest);
    for replica in [2, 3] {
        network.at(replica).forget_amnesia(&agreement([1; 3], newest)).unwrap();
        assert!(network.at(replica).is_amnesiac());
    }
    network.advance(ELECTION_MS * 3);
    assert_eq!((network.server(), network.at(2).leader(), network.at(3).leader()), (None, None, None));
    network.at(1).forget_amnesia(&agreement([1; 3], newest)).unwrap();
    assert!(!network.at(1).is_amnesiac());
    assert_eq!(network.elect(), 1);
    network.advance(HEARTBEAT_MS * 5);
    assert_everywhere(&mut network, &expected(0..10));
    assert!((1..=3).all(|replica| !network.at(replica).is_amnesiac()));
}

/// Who had agreed on a log that was lost as well, with another crash, once voted for nobody any more.
#[test]
fn what_was_agreed_on_before_the_newest_log_was_lost_as_well_is_over() {
    let mut network = network(1 << 20);
    forgetful(&mut network);
    network.sync_all();
    network.crash(1);
    network.crash(3);
    network.heal();
    (1..=3).for_each(|replica| network.restart(replica));
    let LogEnd { term, index } = network.at(1).report(false, Vec::new()).unwrap().end;
    let lost = agreement([1, 1, 1], LogEnd { term, index: index + 5 });
    let newest = agreement([2, 1, 1], LogEnd { term, index });
    for replica in [2, 3] {
        // The first one is told on for a while.
        for agreement in [&lost, &newest, &lost] {
            network.at(replica).forget_amnesia(agreement).unwrap();
        }
    }
    network.at(1).forget_amnesia(&newest).unwrap();
    assert_eq!(network.elect(), 1);
    network.advance(HEARTBEAT_MS * 5);
    assert!((1..=3).all(|replica| !network.at(replica).is_amnesiac()));
}

#[test]
fn a_replica_that_lost_its_tail_gets_it_again_and_is_cured() {
    let mut network = network(1 << 20);
    let (mut rows, leader) = forgetful(&mut network);
    network.restart(2);
    assert!(network.at(2).is_amnesiac());
    // The leader forgets what it knew as soon as it learns of the loss.
    network.holds = |message| message.msg_type == raft::eraftpb::MessageType::MsgAppendResponse;
    network.advance(HEARTBEAT_MS * 3);
    assert!(!network.at(leader).is_caught_up(2));
    network.release();
    network.advance(HEARTBEAT_MS * 5);
    assert!(!network.at(2).is_amnesiac());
    assert_eq!(all_rows(network.at(2)), expected(0..10));
    fill(&mut network, &mut rows, leader, 10..15);
    // Now its vote is worth something.
    network.heal();
    network.crash(1);
    network.announce_death(1);
    assert_eq!(network.elect_other_than(1), 2);
    assert_everywhere(&mut network, &expected(0..15));
}

#[test]
fn a_cure_needs_an_answer_asked_for_in_this_life() {
    let mut network = network(1 << 20);
    let (mut rows, _) = forgetful(&mut network);
    network.restart(2);
    // Its entries come, the answers to its question do not.
    network.holds = |message| message.msg_type == raft::eraftpb::MessageType::MsgReadIndexResp;
    network.advance(HEARTBEAT_MS * 5);
    assert_eq!(all_rows(network.at(2)), expected(0..10));
    assert!(network.at(2).is_amnesiac());
    // It acknowledges more, forgets that, and its next life gets the answer that was meant for this one.
    network.sync_all();
    fill(&mut network, &mut rows, 1, 10..12);
    network.crash(2);
    network.isolate(2);
    let answers = std::mem::take(&mut network.held);
    network.restart(2);
    for answer in answers {
        network.at(2).step_message(answer).unwrap();
    }
    network.advance(HEARTBEAT_MS * 2);
    assert_eq!(all_rows(network.at(2)), expected(0..10));
    assert!(network.at(2).is_amnesiac());
    network.heal();
    network.release();
    network.advance(HEARTBEAT_MS * 5);
    assert!(!network.at(2).is_amnesiac());
    assert_everywhere(&mut network, &expected(0..12));
}

#[test]
fn a_replica_with_an_empty_data_directory_is_cured_by_a_checkpoint() {
    let mut network = network(2000);
    let (mut rows, leader) = Rows::over(&mut network);
    fill(&mut network, &mut rows, leader, 0..50);
    network.crash(3);
    network.lose_everything(3);
    network.restart(3);
    assert!(network.at(3).is_amnesiac());
    assert_eq!(wants_checkpoint(&mut network, leader), [3]);
    assert!(network.at(3).is_amnesiac());
    network.stream_checkpoint(leader, 3, 1 << 20);
    network.advance(HEARTBEAT_MS * 2);
    assert!(!network.at(3).is_amnesiac());
    assert_everywhere(&mut network, &expected(0..50));
}
