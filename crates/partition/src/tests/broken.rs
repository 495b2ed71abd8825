//! A committed entry that cannot be applied: nothing goes on from there.

use raft::eraftpb::{Entry, Message, MessageType};

use super::network::Network;
use crate::entry;

/// An entry that could not be applied was lost with the rest of its batch, and later ones were applied over the gap.
#[test]
fn nothing_is_applied_behind_an_entry_that_could_not_be() {
    let mut network = Network::new(3);
    let leader = network.elect();
    network.settle();
    let follower = (1..=3).find(|&replica| replica != leader).unwrap();
    let term = network.at(leader).term();
    let (last, log_term) = network.at(follower).last_index();
    let append = |behind: u64, log_term: u64, data: &[&[u8]]| {
        let entry = |(number, data): (usize, &&[u8])| Entry {
            index: behind + 1 + number as u64,
            term,
            data: data.to_vec().into(),
            ..Entry::default()
        };
        let entries: Vec<Entry> = data.iter().enumerate().map(entry).collect();
        Message {
            msg_type: MessageType::MsgAppend,
            from: leader,
            to: follower,
            term,
            index: behind,
            log_term,
            commit: behind + data.len() as u64,
            entries: entries.into(),
            ..Message::default()
        }
    };
    let sound = entry::encode_forget(&[]);
    let persist = |network: &mut Network| {
        let number = network.at(follower).outputs().number;
        network.at(follower).persisted(number)
    };
    network.at(follower).step_message(append(last, log_term, &[&[0xff; 9], &sound])).unwrap();
    let error = persist(&mut network).unwrap_err();
    // Whoever goes on in spite of the error gets it again.
    let stepped = network.at(follower).step_message(append(last + 2, term, &[&sound]));
    let again = [stepped.unwrap_err(), persist(&mut network).unwrap_err()];
    let now = network.now.plus(1000);
    let ticked = network.at(follower).tick(now).unwrap_err();
    for later in again.iter().chain([&ticked]) {
        assert_eq!(later.message(), error.message());
    }
    assert_eq!(network.at(follower).applied_index(), last);
    assert!(!network.at(follower).serves(now));
}
