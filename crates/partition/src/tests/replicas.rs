//! Groups of three: the same code with more voters.

use raft::eraftpb::MessageType;

use super::network::*;
use super::*;

/// What the tests do with rows over a network of replicas.
pub(crate) struct Rows {
    pub(crate) codec: Codec,
    pub(crate) clock: u64,
}

impl Rows {
    /// The network's leader, with the test table everywhere.
    pub(crate) fn over(network: &mut Network) -> (Rows, u64) {
        let leader = network.elect();
        let schema = schema(IndexMethod::BTree);
        let rows = Rows { codec: Codec::new(&schema), clock: 1 };
        network.at(leader).create_fragment(Arc::new(schema), CommitToken(1)).unwrap();
        // The followers learn with the next heartbeat that it is committed.
        network.advance(HEARTBEAT_MS);
        network.site(leader).committed.clear();
        (rows, leader)
    }

    pub(crate) fn stage(&mut self, partition: &mut Partition, transaction: u64, row: &TestRow) {
        let bytes = self.codec.encode(row);
        assert!(partition.insert(TransactionId(transaction), TABLE, &bytes, TOKEN).unwrap().is_ready());
    }

    /// Inserts and proposes; the transaction's number is also the token.
    pub(crate) fn insert(&mut self, partition: &mut Partition, transaction: u64, row: &TestRow) {
        self.stage(partition, transaction, row);
        self.clock += 1;
        let token = CommitToken(transaction);
        let start = partition.propose_commit(TransactionId(transaction), Timestamp(self.clock), token);
        assert_eq!(start.unwrap(), CommitStart::Proposed);
    }
}

fn why(error: Error) -> Transient {
    assert_eq!((error.errno(), error.outcome()), (1297, Outcome::NotCommitted));
    error.why_transient().unwrap()
}

fn why_not<T>(result: Result<T>) -> Transient {
    why(result.err().expect("refused"))
}

fn others(leader: u64) -> [u64; 2] {
    [leader % 3 + 1, (leader + 1) % 3 + 1]
}

/// Rows everywhere are these, and nothing is left of any transaction.
pub(crate) fn assert_everywhere(network: &mut Network, expected: &[TestRow]) {
    network.advance(HEARTBEAT_MS * 2);
    let replicas: Vec<u64> = network.sites.keys().copied().filter(|&id| network.is_up(id)).collect();
    for replica in replicas {
        let partition = network.at(replica);
        if partition.config().is_witness() {
            continue;
        }
        assert_eq!(all_rows(partition), expected, "at {replica}");
        let activity = Activity { old_versions: 0, ..partition.activity() };
        assert_eq!(activity, Activity::default(), "at {replica}");
        let bytes = partition.usage(TABLE).unwrap().bytes;
        assert_eq!(partition.config().budget.used_bytes(), bytes, "at {replica}");
    }
}

#[test]
fn the_preferred_leader_is_elected_and_followers_apply_what_it_commits() {
    let mut network = Network::new(3);
    let (mut rows, leader) = Rows::over(&mut network);
    assert_eq!(leader, 1);
    for id in 0..20 {
        rows.insert(network.at(leader), 100 + id as u64, &row(id, id));
    }
    network.settle();
    assert_eq!(network.site(leader).committed.len(), 20);
    let expected: Vec<TestRow> = (0..20).map(|id| row(id, id)).collect();
    assert_everywhere(&mut network, &expected);
    let term = network.at(leader).term();
    for replica in 1..=3 {
        assert_eq!(network.at(replica).leader(), Some(1));
        assert_eq!(network.site(replica).leadership, Some(Leadership { term, leader: Some(1) }));
        let role = if replica == 1 { Role::Leader } else { Role::Follower };
        assert_eq!((network.at(replica).role(), network.at(replica).is_single()), (role, false));
    }
}

#[test]
fn a_proposal_that_only_a_deposed_leader_had_is_lost_and_rolled_back() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    network.isolate(old);
    // More entries than the new leader writes: those behind its entry are lost as well.
    for id in 1..8 {
        rows.insert(network.at(old), 50 + id as u64, &row(id, id));
    }
    network.settle();
    let new = network.elect_other_than(old);
    rows.insert(network.at(new), 60, &row(20, 2));
    network.settle();
    assert_eq!(network.site(new).committed, [CommitToken(60)]);
    assert!(network.site(old).lost.is_empty());

    network.heal();
    assert_everywhere(&mut network, &[row(20, 2)]);
    assert_eq!(network.site(old).lost, (51..58).map(CommitToken).collect::<Vec<_>>());
    assert!(network.site(old).committed.is_empty());
}

#[test]
fn a_proposal_that_a_later_leader_completes_is_committed_for_the_one_who_made_it() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    let [one, other] = others(old);
    // One follower gets the entry, no answer comes back.
    network.cut.extend([(old, other), (other, old), (one, old)]);
    rows.insert(network.at(old), 50, &row(1, 1));
    network.settle();
    assert!(network.site(old).committed.is_empty());
    network.isolate(old);
    assert_eq!(network.elect_other_than(old), one);
    // The old leader does not know.
    assert!(network.site(old).committed.is_empty() && network.site(old).lost.is_empty());
    assert_eq!(network.at(old).activity().proposals, 1);
    network.heal();
    assert_everywhere(&mut network, &[row(1, 1)]);
    assert_eq!(network.site(old).committed, [CommitToken(50)]);
    assert!(network.site(old).lost.is_empty());
}

#[test]
fn a_follower_refuses_to_join_and_names_the_leader() {
    let mut network = Network::new(3);
    let (rows, leader) = Rows::over(&mut network);
    let [follower, _] = others(leader);
    let now = network.now;
    let hint = Transient::NotLeader { leader: Some(NodeId(leader as u32)) };
    let bytes = rows.codec.encode(&row(1, 1));
    let partition = network.at(follower);
    assert_eq!(why_not(partition.check_serves(now)), hint);
    assert_eq!(why_not(partition.insert(TransactionId(9), TABLE, &bytes, TOKEN)), hint);
    assert_eq!(why_not(partition.get(&newest(TransactionId(9)), TABLE, &key(1), Some(EXCLUSIVE))), hint);
    assert_eq!(why_not(partition.drop_fragment(TABLE, CommitToken(1))), hint);
    assert_eq!(partition.activity(), Activity::default());
    // A transaction that did nothing here ends without fuss.
    let start = partition.propose_commit(TransactionId(9), Timestamp(99), CommitToken(9));
    assert_eq!(start.unwrap(), CommitStart::ReadOnly);
    network.isolate(follower);
    network.advance(ELECTION_MS * 2);
    let now = network.now;
    assert_eq!(why_not(network.at(follower).check_serves(now)), Transient::NotLeader { leader: None });
}

#[test]
fn read_index_is_answered_through_the_leader_to_each_who_asks() {
    let mut network = Network::new(3);
    let (_, leader) = Rows::over(&mut network);
    for replica in 1..=3 {
        // The same words from all of them, twice.
        network.at(replica).read_index(b"who".to_vec()).unwrap();
        network.at(replica).read_index(b"who".to_vec()).unwrap();
    }
    network.settle();
    let index = network.at(leader).applied_index();
    let answer = ReadState { index, context: b"who".to_vec() };
    for replica in 1..=3 {
        assert_eq!(network.site(replica).read_states, [answer.clone(), answer.clone()], "at {replica}");
    }
    // A leader that is alone does not answer.
    network.isolate(leader);
    network.at(leader).read_index(b"again".to_vec()).unwrap();
    network.settle();
    assert_eq!(network.site(leader).read_states.len(), 2);
}

#[test]
fn a_leader_that_is_cut_off_stops_serving_before_another_one_begins() {
    let mut network = Network::new(3);
    let (_, old) = Rows::over(&mut network);
    network.isolate(old);
    let mut stopped_at = None;
    let start = network.now;
    loop {
        // Asserts that no two of them serve.
        match network.server() {
            Some(server) if server != old => break,
            Some(_) => assert_eq!(stopped_at, None),
            None => stopped_at = stopped_at.or(Some(network.now)),
        }
        network.advance(HEARTBEAT_MS / 2);
    }
    let timing = Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap();
    let served_ms = stopped_at.unwrap().since(start);
    assert!(served_ms <= timing.lease_ms() + HEARTBEAT_MS, "{served_ms}");
    // It does not even know that it no longer leads.
    let now = network.now;
    assert_eq!(why_not(network.at(old).check_serves(now)), Transient::NotServing);
    network.advance(ELECTION_MS);
    let now = network.now;
    assert_eq!(why_not(network.at(old).check_serves(now)), Transient::NotLeader { leader: None });
}

#[test]
fn a_leader_that_was_paused_does_not_serve_when_it_wakes() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    network.site(old).paused = true;
    network.advance(ELECTION_MS * 3);
    let new = network.elect();
    rows.insert(network.at(new), 5, &row(5, 5));
    network.settle();
    // Its first look at the clock is enough, no message has come yet.
    let now = network.now;
    let refused = why_not(network.at(old).check_serves(now));
    assert_eq!(refused, Transient::NotServing);
    assert_eq!(network.at(old).role(), Role::Leader);
    network.resume(old);
    network.advance(HEARTBEAT_MS * 2);
    assert_eq!((network.server(), network.at(old).leader()), (Some(new), Some(new)));
    assert_everywhere(&mut network, &[row(5, 5)]);
}

#[test]
fn a_follower_that_restarts_keeps_the_promise_it_no_longer_remembers() {
    let mut network = Network::new(3);
    let (_, old) = Rows::over(&mut network);
    let [restarted, candidate] = others(old);
    // The candidate hears nobody; the leader goes on with the other follower.
    network.cut.extend([(old, candidate), (candidate, old)]);
    network.advance(ELECTION_MS / 2);
    network.holds = |message| message.msg_type == MessageType::MsgRequestPreVote;
    network.advance(ELECTION_MS);
    assert_eq!(network.server(), Some(old));
    network.isolate(old);
    network.cut.remove(&(restarted, candidate));
    network.crash(restarted);
    network.restart(restarted);
    network.release();
    assert!(network.sent(MessageType::MsgRequestPreVote, candidate, restarted) > 0);
    // The lease still holds, and the candidate must wait.
    assert_eq!(network.server(), Some(old));
    assert_ne!(network.at(candidate).role(), Role::Leader);
    // Asserts on the way that no two of them serve.
    network.elect_other_than(old);
}

/// The second case once let a witness vote in the very term that it had just heard of, while the leader before served on.
#[test]
fn a_follower_that_hears_of_a_later_term_keeps_its_promise_to_the_leader() {
    for terms_beyond in [1, 0] {
        let mut network = Network::new(3);
        let (_, leader) = Rows::over(&mut network);
        let [voter, candidate] = others(leader);
        let (term, (index, log_term)) = (network.at(leader).term(), network.at(leader).last_index());
        network.isolate(leader);
        let base = Message { from: candidate, to: voter, index, log_term, term: term + 1, ..Message::default() };
        // A late answer to some campaign takes the leader's name from the follower's mind.
        let msg_type = MessageType::MsgRequestPreVoteResponse;
        network.at(voter).step_message(Message { msg_type, reject: true, ..base.clone() }).unwrap();
        assert_eq!((network.at(voter).leader(), network.at(voter).term()), (None, term + 1));
        let msg_type = MessageType::MsgRequestVote;
        let request = Message { msg_type, term: term + 1 + terms_beyond, ..base };
        network.at(voter).step_message(request).unwrap();
        network.settle();
        assert_eq!(network.server(), Some(leader));
        assert_eq!(network.sent(MessageType::MsgRequestVoteResponse, voter, candidate), 0);
        // The promise ends, and the request is answered.
        network.advance(ELECTION_MS);
        assert_eq!(network.server(), None);
        assert_eq!(network.sent(MessageType::MsgRequestVoteResponse, voter, candidate), 1);
    }
}

#[test]
fn those_who_wait_for_a_commit_whose_fate_is_open_are_woken_when_the_leader_steps_down() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    network.isolate(old);
    rows.insert(network.at(old), 50, &row(1, 1));
    let bytes = rows.codec.encode(&row(1, 2));
    let blocked = network.at(old).insert(TransactionId(60), TABLE, &bytes, WaitToken(60)).unwrap();
    assert!(!blocked.is_ready());
    let snapshot = ReadView { token: WaitToken(61), ..at(None, 9999) };
    assert!(!network.at(old).get(&snapshot, TABLE, &key(1), None).unwrap().is_ready());
    network.advance(ELECTION_MS * 2);
    assert_ne!(network.at(old).role(), Role::Leader);
    assert_eq!(network.site(old).woken, [WaitToken(60), WaitToken(61)]);
    let activity = network.at(old).activity();
    assert_eq!((activity.transactions, activity.proposals), (1, 1));
}

#[test]
fn a_slow_disk_at_the_follower_does_not_cost_the_leader_its_lease() {
    let mut network = Network::new(3);
    let (mut rows, leader) = Rows::over(&mut network);
    for follower in others(leader) {
        network.site(follower).disk_stalls = true;
    }
    rows.insert(network.at(leader), 7, &row(7, 7));
    network.advance(ELECTION_MS * 3);
    assert_eq!(network.server(), Some(leader));
    // Nothing is committed on the strength of disks that have not written.
    assert!(network.site(leader).committed.is_empty());
    let [one, _] = others(leader);
    network.site(one).disk_stalls = false;
    network.settle();
    assert_eq!(network.site(leader).committed, [CommitToken(7)]);
}

#[test]
fn a_new_leader_serves_only_when_it_has_applied_everything_from_before() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    let [one, other] = others(old);
    network.cut.extend([(old, other), (other, old)]);
    rows.insert(network.at(old), 5, &row(5, 5));
    network.settle();
    assert_eq!(network.site(old).committed, [CommitToken(5)]);
    // The follower that has the entry does not know that it is committed.
    assert!(all_rows(network.at(one)).is_empty());
    network.isolate(old);
    network.holds = |message| message.msg_type == MessageType::MsgAppendResponse;
    network.advance(ELECTION_MS * 2);
    assert_eq!((network.at(one).role(), network.server()), (Role::Leader, None));
    let bytes = rows.codec.encode(&row(6, 6));
    let joined = network.at(one).insert(TransactionId(6), TABLE, &bytes, TOKEN);
    assert_eq!(why_not(joined.map(|_| ())), Transient::NotServing);
    network.release();
    assert_eq!(network.elect(), one);
    assert_eq!(all_rows(network.at(one)), [row(5, 5)]);
}

#[test]
fn the_death_of_the_leader_is_answered_by_an_election_at_once() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    rows.insert(network.at(old), 5, &row(5, 5));
    network.settle();
    network.crash(old);
    network.announce_death(old);
    // No time has passed.
    assert_eq!(network.server(), Some(2));
    assert_eq!(all_rows(network.at(2)), [row(5, 5)]);
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    // The next in line lacks an entry: the other one campaigns in its turn.
    network.cut.extend([(1, 2), (2, 1)]);
    rows.insert(network.at(old), 5, &row(5, 5));
    network.settle();
    network.crash(old);
    network.heal();
    network.announce_death(old);
    assert_eq!(network.server(), None);
    let before = network.now;
    assert_eq!(network.elect(), 3);
    assert!(network.now.since(before) < ELECTION_MS / 2, "{:?}", network.now.since(before));
    assert_eq!(all_rows(network.at(3)), [row(5, 5)]);
}

#[test]
fn a_leader_whose_links_are_closed_is_replaced_when_its_lease_is_surely_over() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    rows.insert(network.at(old), 5, &row(5, 5));
    network.settle();
    // It lives, and nobody hears it any more.
    network.isolate(old);
    network.announce_loss(old);
    assert_eq!(network.server(), Some(old), "links that are closed prove nothing");
    let before = network.now;
    // Asserts on the way that no two of them serve.
    let new = network.elect_other_than(old);
    let (waited, lease_ms) =
        (network.now.since(before), Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap().lease_ms());
    assert!(waited >= lease_ms && waited <= HEARTBEAT_MS * 4, "{waited} ms, a lease is {lease_ms} ms");
    assert_eq!(all_rows(network.at(new)), [row(5, 5)]);
}

#[test]
fn proof_of_death_that_comes_after_the_link_was_lost_starts_the_election_at_once() {
    let mut network = Network::new(3);
    let (_, old) = Rows::over(&mut network);
    network.crash(old);
    network.announce_loss(old);
    assert_eq!(network.server(), None);
    network.announce_death(old);
    // No time has passed.
    assert_eq!(network.server(), Some(others(old).into_iter().min().unwrap()));
}

#[test]
fn a_link_that_breaks_and_comes_back_costs_no_leader_its_place() {
    let mut network = Network::new(3);
    let (_, leader) = Rows::over(&mut network);
    let term = network.at(leader).term();
    network.announce_loss(leader);
    for other in others(leader) {
        assert_eq!(network.at(other).leader(), None);
    }
    network.advance(HEARTBEAT_MS * 2);
    for other in others(leader) {
        assert_eq!(network.at(other).leader(), Some(leader));
    }
    // One that hears nothing of it any more finds nobody who would elect another.
    let [cut, _] = others(leader);
    network.cut.extend([(leader, cut), (cut, leader)]);
    network.at(cut).peer_lost(leader).unwrap();
    network.advance(ELECTION_MS * 3);
    assert_eq!((network.server(), network.at(leader).term()), (Some(leader), term));
}

#[test]
fn leadership_is_handed_over_without_an_interregnum() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    let [to, _] = others(old);
    // A transaction in the middle of its work, one that waits for it, and a proposal on its way.
    rows.stage(network.at(old), 70, &row(7, 7));
    let bytes = rows.codec.encode(&row(7, 8));
    let waiter = network.at(old).insert(TransactionId(71), TABLE, &bytes, WaitToken(71)).unwrap();
    assert!(!waiter.is_ready());
    network.holds = |message| message.msg_type == MessageType::MsgAppendResponse;
    rows.insert(network.at(old), 60, &row(6, 6));
    network.settle();
    network.at(old).transfer_leader(to).unwrap();
    network.settle();
    let refused = network.at(old).propose_commit(TransactionId(70), Timestamp(999), CommitToken(70));
    assert_eq!(why_not(refused), Transient::HandingOver);
    network.release();
    assert_eq!(network.site(old).committed, [CommitToken(60)]);
    assert_eq!(network.server(), Some(to));
    // The waiter was woken and learns why.
    assert_eq!(network.site(old).woken, [WaitToken(71)]);
    let again = network.at(old).insert(TransactionId(71), TABLE, &bytes, WaitToken(71)).map(|_| ());
    assert_eq!(why_not(again), Transient::NotLeader { leader: Some(NodeId(to as u32)) });
    assert_everywhere(&mut network, &[row(6, 6)]);
    assert!(why_not(network.at(old).transfer_leader(to)) != Transient::HandingOver);
    assert!(network.at(to).transfer_leader(9).is_err());
}

#[test]
fn a_leader_that_has_told_another_to_take_over_never_serves_in_that_term_again() {
    let mut network = Network::new(3);
    let (_, old) = Rows::over(&mut network);
    let [to, _] = others(old);
    let term = network.at(old).term();
    network.holds = |message| message.msg_type == MessageType::MsgTimeoutNow;
    network.at(old).transfer_leader(to).unwrap();
    network.settle();
    assert_eq!(network.held.len(), 1);
    assert_eq!(network.server(), None);
    let server = network.elect();
    assert!(network.at(server).term() > term);
    // The order arrives at last, and moves nobody.
    network.release();
    network.advance(HEARTBEAT_MS);
    assert_eq!(network.server(), Some(server));
}

#[test]
fn a_transfer_that_cannot_be_completed_is_given_up() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    let [to, _] = others(old);
    network.cut.extend([(old, to), (to, old)]);
    rows.insert(network.at(old), 5, &row(5, 5));
    network.settle();
    network.at(old).transfer_leader(to).unwrap();
    assert_eq!(why_not(network.at(old).drop_fragment(TABLE, CommitToken(2))), Transient::HandingOver);
    network.advance(ELECTION_MS + HEARTBEAT_MS);
    assert_eq!(network.server(), Some(old));
    rows.insert(network.at(old), 6, &row(6, 6));
    network.settle();
    assert_eq!(network.site(old).committed, [CommitToken(5), CommitToken(6)]);
}

#[test]
fn the_leader_knows_how_far_the_others_are() {
    let mut network = Network::new(3);
    let (mut rows, leader) = Rows::over(&mut network);
    let [one, other] = others(leader);
    network.isolate(other);
    rows.insert(network.at(leader), 5, &row(5, 5));
    network.advance(ELECTION_MS * 2);
    let last = network.at(leader).last_index().0;
    let progress = network.at(leader).replica_progress();
    let of = |replica| *progress.iter().find(|known| known.replica == replica).unwrap();
    assert_eq!((of(leader).matched, of(leader).active), (last, true));
    assert_eq!((of(one).matched, of(one).active), (last, true));
    assert_eq!((of(other).matched, of(other).active), (last - 1, false));
    assert!(network.at(leader).is_caught_up(one) && !network.at(leader).is_caught_up(other));
    assert!(network.at(one).replica_progress().is_empty() && !network.at(one).is_caught_up(leader));
}

#[test]
fn crashed_replicas_come_back_with_what_they_acknowledged() {
    let mut network = Network::new(3);
    let (mut rows, leader) = Rows::over(&mut network);
    for id in 0..5 {
        rows.insert(network.at(leader), 10 + id as u64, &row(id, id));
        network.settle();
    }
    let term = network.at(leader).term();
    for replica in 1..=3 {
        network.crash(replica);
    }
    for replica in 1..=3 {
        network.restart(replica);
        assert!(network.at(replica).term() >= term);
        // Entries are applied when they are known to be committed.
        assert_eq!(network.at(replica).tables(), []);
    }
    let leader = network.elect();
    let expected: Vec<TestRow> = (0..5).map(|id| row(id, id)).collect();
    assert_everywhere(&mut network, &expected);
    rows.clock += 100;
    rows.insert(network.at(leader), 99, &row(99, 9));
    network.settle();
    assert_eq!(network.site(leader).committed.last(), Some(&CommitToken(99)));
}

#[test]
fn a_vote_survives_a_restart() {
    let mut network = Network::new(3);
    let (_, leader) = Rows::over(&mut network);
    let [voter, _] = others(leader);
    network.crash(voter);
    network.restart(voter);
    network.at(voter).log_again(0);
    let state = network.at(voter).outputs().hard_state.unwrap();
    assert_eq!((state.term, state.vote), (network.at(leader).term(), leader));
}

#[test]
fn a_tail_that_was_overwritten_is_read_back_as_it_was_last() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    network.isolate(old);
    for id in 1..6 {
        rows.insert(network.at(old), 50 + id as u64, &row(id, id));
    }
    network.settle();
    let new = network.elect_other_than(old);
    rows.insert(network.at(new), 60, &row(20, 2));
    network.settle();
    network.heal();
    network.advance(HEARTBEAT_MS * 2);
    let last = network.at(old).last_index();
    assert_eq!(last, network.at(new).last_index());
    // Its log has five entries that were overwritten by two.
    network.crash(old);
    network.restart(old);
    assert_eq!(network.at(old).last_index(), last);
    assert_everywhere(&mut network, &[row(20, 2)]);
}

#[test]
fn messages_from_outside_the_group_are_ignored() {
    let mut network = Network::new(3);
    let (_, leader) = Rows::over(&mut network);
    let term = network.at(leader).term();
    for (from, to) in [(9, leader), (others(leader)[0], 9), (leader, leader)] {
        let heartbeat = MessageType::MsgHeartbeat;
        let message = Message { msg_type: heartbeat, from, to, term: term + 5, ..Message::default() };
        network.at(leader).step_message(message).unwrap();
    }
    network.settle();
    assert_eq!((network.at(leader).term(), network.server()), (term, Some(leader)));
}

#[test]
fn a_replica_whose_disk_was_exchanged_says_so_instead_of_voting() {
    let mut network = Network::new(3);
    let (_, leader) = Rows::over(&mut network);
    let [follower, _] = others(leader);
    let (term, commit) = (network.at(leader).term(), network.at(leader).applied_index());
    let config = network.at(follower).config().clone();
    let mut empty = Partition::new(config);
    empty.start().unwrap();
    let heartbeat = MessageType::MsgHeartbeat;
    let message = Message { msg_type: heartbeat, from: leader, to: follower, term, commit, ..Message::default() };
    let error = empty.step_message(message).unwrap_err();
    assert!(error.message().contains("has lost entries"), "{error}");
}

/// A leader had prepared a transaction that had also read a row under a lock; another one led, which knew of the write alone, and
/// prepared a transaction that wrote the row. The old leader took the log for one that contradicts itself, and stopped.
#[test]
fn what_a_prepared_transaction_has_only_read_is_no_contradiction_under_the_next_leader() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    for id in [1, 2] {
        rows.insert(network.at(old), 100 + id as u64, &row(id, 0));
        network.settle();
    }
    let mut prepare = |network: &mut Network, leader: u64, id: u64, read: Option<i32>, written: TestRow| {
        let transaction = TransactionId(id);
        let partition = network.at(leader);
        if let Some(read) = read {
            let shared = LockRequest { mode: LockMode::Shared, policy: LockPolicy::Wait, lock_gaps: true };
            let key = ((read as u32) ^ 0x8000_0000).to_be_bytes();
            let view = ReadView::newest(Some(transaction), TOKEN);
            assert!(partition.get(&view, TABLE, &key, Some(shared)).unwrap().is_ready());
        }
        let bytes = rows.codec.encode(&written);
        assert!(partition.update(transaction, TABLE, &bytes, TOKEN).unwrap().is_ready());
        rows.clock += 1;
        let home = PartitionId(9);
        let start = partition.propose_prepare(transaction, home, Timestamp(rows.clock), 1, CommitToken(id));
        assert_eq!(start.unwrap(), CommitStart::Proposed);
        network.settle();
    };
    prepare(&mut network, old, 201, Some(1), row(2, 20));
    network.advance(HEARTBEAT_MS);
    network.isolate(old);
    let new = network.elect_other_than(old);
    prepare(&mut network, new, 202, None, row(1, 10));
    network.heal();
    network.advance(HEARTBEAT_MS * 2);
    for id in [201, 202] {
        let decision = Decision::Commit(Timestamp(1000 + id));
        network.at(new).propose_decision(TransactionId(id), decision, CommitToken(300 + id)).unwrap();
        network.settle();
    }
    network.advance(HEARTBEAT_MS * 2);
    assert_everywhere(&mut network, &[row(1, 10), row(2, 20)]);
    for replica in 1..=3 {
        let activity = network.at(replica).activity();
        assert_eq!((activity.prepared, activity.row_locks, activity.transactions), (0, 0, 0), "replica {replica}");
    }
}
