//! Messages that no replica sends: they are told from those that one may send, whatever has happened to it.

use raft::eraftpb::{Entry, MessageType};

use super::network::*;
use super::replicas::Rows;
use super::*;

/// A group of three with some rows: the network, the leader, the others.
fn group() -> (Network, u64, [u64; 2]) {
    let mut network = Network::new(3);
    let (mut rows, leader) = Rows::over(&mut network);
    for id in 0..5 {
        rows.insert(network.at(leader), 100 + id as u64, &row(id, id));
    }
    network.settle();
    network.advance(HEARTBEAT_MS * 2);
    (network, leader, [leader % 3 + 1, (leader + 1) % 3 + 1])
}

fn message(kind: MessageType, from: u64, to: u64, term: u64) -> Message {
    Message { msg_type: kind, from, to, term, ..Message::default() }
}

fn refusal(network: &mut Network, message: &Message) -> String {
    let error = network.at(message.to).check_message(message.from, message).expect_err("it is refused");
    assert!(error.is_spoilt());
    error.message().to_owned()
}

#[test]
fn what_does_not_come_from_another_replica_of_the_group_is_refused() {
    let (mut network, leader, [other, third]) = group();
    let term = network.at(leader).term();
    for (from, to) in [(other, third), (leader, leader), (9, leader)] {
        let wrong = message(MessageType::MsgHeartbeatResponse, from, to, term);
        let error = network.at(leader).check_message(from, &wrong).unwrap_err();
        assert!(error.is_spoilt() && error.message().contains("is not from one of the others"), "{error}");
    }
    // A replica passes on what another asks its leader, and nothing else.
    let mut asked = message(MessageType::MsgReadIndex, leader, leader, 0);
    asked.entries = vec![Entry::default()].into();
    network.at(leader).check_message(other, &asked).unwrap();
    let told = message(MessageType::MsgHeartbeatResponse, third, leader, term);
    assert!(network.at(leader).check_message(other, &told).unwrap_err().is_spoilt());
}

#[test]
fn entries_that_the_leader_has_not_got_cannot_be_acknowledged_to_it() {
    let (mut network, leader, [other, _]) = group();
    let (term, last) = (network.at(leader).term(), network.at(leader).last_index().0);
    let mut answer = message(MessageType::MsgAppendResponse, other, leader, term);
    answer.index = last;
    network.at(leader).check_message(answer.from, &answer).unwrap();
    answer.index = last + 1;
    assert!(refusal(&mut network, &answer).contains("the log ends at"));
    // A leader of an earlier term may have had more.
    answer.term = term - 1;
    network.at(leader).check_message(answer.from, &answer).unwrap();
}

#[test]
fn a_term_has_one_leader_and_terms_do_not_jump() {
    let (mut network, leader, [other, third]) = group();
    let term = network.at(leader).term();
    for kind in [MessageType::MsgHeartbeat, MessageType::MsgAppend, MessageType::MsgTimeoutNow] {
        let second = format!("comes from a second leader of term {term}");
        assert!(refusal(&mut network, &message(kind, other, leader, term)).contains(&second));
        assert!(refusal(&mut network, &message(kind, other, third, term)).contains(&second));
        network.at(third).check_message(leader, &message(kind, leader, third, term)).unwrap();
        network.at(third).check_message(other, &message(kind, other, third, term + 1)).unwrap();
    }
    let jump = message(MessageType::MsgRequestVote, other, leader, term + (1 << 33));
    assert!(refusal(&mut network, &jump).contains("has come to term"));
}

#[test]
fn a_heartbeat_that_was_not_sent_yet_cannot_be_answered() {
    let (mut network, leader, [other, _]) = group();
    let now = network.now;
    let mut answer = message(MessageType::MsgHeartbeatResponse, other, leader, network.at(leader).term());
    answer.context = network.site(leader).clock(now).0.to_le_bytes().to_vec().into();
    network.at(leader).check_message(answer.from, &answer).unwrap();
    answer.context = (network.site(leader).clock(now).0 + 1).to_le_bytes().to_vec().into();
    assert!(refusal(&mut network, &answer).contains("was not sent yet"));
}

#[test]
fn an_entry_that_cannot_be_read_is_refused_before_it_is_in_the_log() {
    let (mut network, leader, [other, _]) = group();
    let (term, last) = (network.at(leader).term(), network.at(other).last_index().0);
    let mut append = message(MessageType::MsgAppend, leader, other, term);
    (append.index, append.log_term) = (last, term);
    for data in [&b""[..], b"\x03\x07\0\0\0"] {
        append.entries =
            vec![Entry { index: last + 1, term, data: data.to_vec().into(), ..Entry::default() }].into();
        network.at(other).check_message(append.from, &append).unwrap();
    }
    for data in [&b"\xff"[..], b"\x01", b"\x01\x07\0\0\0\0\0"] {
        append.entries =
            vec![Entry { index: last + 1, term, data: data.to_vec().into(), ..Entry::default() }].into();
        assert!(refusal(&mut network, &append).contains("an entry that cannot be read"), "{data:?}");
    }
    assert_eq!(network.at(other).last_index().0, last);
}

/// Whatever is changed in a message of a living group: it is refused, or Raft takes it without a panic.
#[test]
fn messages_with_changed_fields_are_refused_or_do_not_panic() {
    let mut random = Random(11);
    for _ in 0..40 {
        let (mut network, leader, [other, third]) = group();
        let (term, last) = (network.at(leader).term(), network.at(leader).last_index().0);
        for _ in 0..40 {
            let kinds = [
                MessageType::MsgAppend,
                MessageType::MsgAppendResponse,
                MessageType::MsgRequestVote,
                MessageType::MsgRequestVoteResponse,
                MessageType::MsgHeartbeat,
                MessageType::MsgHeartbeatResponse,
                MessageType::MsgReadIndexResp,
                MessageType::MsgRequestPreVote,
                MessageType::MsgRequestPreVoteResponse,
            ];
            let kind = kinds[random.below(kinds.len() as u64) as usize];
            let (from, to) = [(other, leader), (other, third)][random.below(2) as usize];
            let mut near = |around: u64| match random.below(6) {
                0 => 0,
                1 => random.below(1 << 31) << 28,
                chosen => (around + chosen).saturating_sub(3),
            };
            // Not later than the present term: who leads a later one is believed.
            let mut spoilt = message(kind, from, to, near(term).min(term));
            (spoilt.index, spoilt.log_term, spoilt.commit) = (near(last), near(term), near(last));
            (spoilt.reject_hint, spoilt.commit_term, spoilt.request_snapshot) =
                (near(last), near(term), near(0).min(9));
            spoilt.reject = random.one_in(2);
            if kind == MessageType::MsgReadIndexResp {
                spoilt.entries = vec![Entry::default()].into();
            }
            let mut bytes = Vec::new();
            encode_message(&spoilt, &mut bytes);
            let Ok(decoded) = decode_message(&bytes) else { continue };
            let partition = network.at(to);
            if partition.check_message(from, &decoded).is_ok() {
                partition.step_message(decoded).unwrap();
                network.settle();
            }
        }
    }
}
