//! Following a table's changes through the log.

use super::network::*;
use super::replicas::Rows;
use super::*;

/// What a follower has been shown, and what it keeps until it is decided.
#[derive(Default)]
struct Follower {
    place: LogEnd,
    prepared: Vec<(TransactionId, Writes)>,
    seen: Vec<(u64, ChangeKind, Vec<u8>)>,
    others: Vec<String>,
}

type Writes = Vec<(ChangeKind, Vec<u8>)>;

fn owned(writes: Vec<LoggedWrite<'_>>) -> Writes {
    writes.into_iter().map(|write| (write.kind, write.row.to_vec())).collect()
}

impl Follower {
    fn begin(partition: &mut Partition) -> Follower {
        let mut follower = Follower::default();
        let place = partition.begin_to_follow(&[TABLE], &mut |change| follower.take(change)).unwrap();
        Follower { place, ..follower }
    }

    fn take(&mut self, change: LoggedChange<'_>) {
        match change {
            LoggedChange::Committed { timestamp, writes, .. } => self.commit(timestamp, owned(writes)),
            LoggedChange::Prepared { transaction, writes } => self.prepared.push((transaction, owned(writes))),
            LoggedChange::Decided { transaction, commit } => {
                let place = self.prepared.iter().position(|(prepared, _)| *prepared == transaction);
                let writes = place.map(|place| self.prepared.remove(place).1);
                if let Some((timestamp, writes)) = commit.zip(writes) {
                    self.commit(timestamp, writes);
                }
            }
            other => self.others.push(format!("{other:?}")),
        }
    }

    fn commit(&mut self, timestamp: Timestamp, writes: Writes) {
        self.seen.extend(writes.into_iter().map(|(kind, row)| (timestamp.0, kind, row)));
    }

    /// Up to so many bytes at a time, until nothing is left.
    fn follow(&mut self, partition: &mut Partition, bytes_max: usize) -> std::result::Result<usize, Gap> {
        for calls in 1.. {
            let place = self.place;
            let followed = partition.follow(place, &[TABLE], bytes_max, &mut |change| self.take(change))?;
            self.place = followed.place;
            if followed.is_at_end {
                return Ok(calls);
            }
        }
        unreachable!("the log has an end");
    }

    fn kinds_and_ids(&self, codec: &Codec) -> Vec<(ChangeKind, i32)> {
        let names = RowLayout::new(vec![SqlType::new(BaseType::Int)]);
        let id = |kind: ChangeKind, row: &[u8]| match kind {
            ChangeKind::Delete => names.row(row).word(0) as i32,
            _ => decode(codec.layout.row(row)).id,
        };
        self.seen.iter().map(|(_, kind, row)| (*kind, id(*kind, row))).collect()
    }
}

use ChangeKind::{Delete, Insert, Update};

#[test]
fn every_commit_is_shown_once_as_what_it_did_to_the_table() {
    let mut bed = Bed::new();
    bed.fill([row(1, 10), row(2, 20), row(3, 30)]);
    let mut follower = Follower::begin(&mut bed.partition);
    // What a transaction did to the same row several times is one change; what it took back is none.
    let one = bed.begin();
    assert!(bed.insert(one, &row(4, 40)).is_ready() && bed.update(one, &row(4, 41)).is_ready());
    assert!(bed.delete(one, 1).is_ready() && bed.insert(one, &row(1, 11)).is_ready());
    assert!(bed.delete(one, 2).is_ready());
    assert!(bed.insert(one, &row(5, 50)).is_ready() && bed.delete(one, 5).is_ready());
    bed.commit(one);
    let two = bed.begin();
    assert!(bed.update(two, &row(3, 33)).is_ready());
    bed.partition.rollback(two);
    // A row that comes again where old versions are still kept is an insert.
    bed.fill([row(2, 22)]);
    follower.follow(&mut bed.partition, 1 << 20).unwrap();
    let expected = [(Insert, 4), (Update, 1), (Delete, 2), (Insert, 2)];
    assert_eq!(follower.kinds_and_ids(&bed.codec), expected);
    assert_eq!(decode(bed.codec.layout.row(&follower.seen[1].2)), row(1, 11));
    let timestamps: Vec<u64> = follower.seen.iter().map(|one| one.0).collect();
    assert_eq!(timestamps, [bed.clock - 1, bed.clock - 1, bed.clock - 1, bed.clock]);
    // In small portions as well.
    for id in 100..120 {
        bed.fill([row(id, id)]);
    }
    assert!(follower.follow(&mut bed.partition, 1).unwrap() >= 20);
    assert_eq!(follower.seen.len(), 24);
    assert_eq!(follower.follow(&mut bed.partition, 1), Ok(1));
}

#[test]
fn prepared_writes_are_shown_when_they_are_decided_also_to_whoever_came_in_between() {
    for decision in [Decision::Commit(Timestamp(90)), Decision::Abort] {
        let mut bed = Bed::new();
        bed.fill([row(1, 10), row(2, 20)]);
        let mut early = Follower::begin(&mut bed.partition);
        let transaction = bed.begin();
        assert!(bed.update(transaction, &row(1, 11)).is_ready() && bed.delete(transaction, 2).is_ready());
        assert!(bed.insert(transaction, &row(3, 30)).is_ready());
        let prepared = bed.prepare(transaction);
        let mut late = Follower::begin(&mut bed.partition);
        // Nothing is complete behind what may still commit.
        assert_eq!(bed.partition.complete_up_to(Timestamp(80)), Timestamp(prepared.0 - 1));
        assert_eq!(bed.partition.complete_up_to(Timestamp(1)), Timestamp(1));
        early.follow(&mut bed.partition, 1 << 20).unwrap();
        assert!(early.seen.is_empty() && late.seen.is_empty());
        bed.decide(transaction, decision);
        assert_eq!(bed.partition.complete_up_to(Timestamp(80)), Timestamp(80));
        let expected = match decision {
            Decision::Commit(_) => vec![(Update, 1), (Delete, 2), (Insert, 3)],
            Decision::Abort => vec![],
        };
        for follower in [&mut early, &mut late] {
            follower.follow(&mut bed.partition, 1 << 20).unwrap();
            assert_eq!(follower.kinds_and_ids(&bed.codec), expected);
            assert!(follower.prepared.is_empty() && follower.seen.iter().all(|one| one.0 == 90));
        }
    }
}

#[test]
fn a_commit_under_way_holds_back_what_is_complete_and_wakes_followers_when_it_is_applied() {
    let mut bed = Bed::new();
    let mut follower = Follower::begin(&mut bed.partition);
    let transaction = bed.begin();
    assert!(bed.insert(transaction, &row(1, 1)).is_ready());
    bed.partition.wake_follower(WaitToken(77));
    bed.propose(transaction);
    follower.follow(&mut bed.partition, 1 << 20).unwrap();
    assert!(follower.seen.is_empty() && bed.woken.is_empty());
    assert_eq!(bed.partition.complete_up_to(Timestamp(bed.clock + 9)), Timestamp(bed.clock - 1));
    bed.persist();
    assert_eq!(bed.woken, [WaitToken(77)]);
    follower.follow(&mut bed.partition, 1 << 20).unwrap();
    assert_eq!(follower.kinds_and_ids(&bed.codec), [(Insert, 1)]);
}

#[test]
fn definitions_are_told() {
    let mut bed = Bed::new();
    let mut follower = Follower::begin(&mut bed.partition);
    let renamed = TableSchema { version: 2, name: "u".into(), ..schema(IndexMethod::BTree) };
    bed.partition.alter_fragment(Arc::new(renamed), CommitToken(1)).unwrap();
    bed.persist();
    bed.partition.drop_fragment(TABLE, CommitToken(2)).unwrap();
    bed.persist();
    follower.follow(&mut bed.partition, 1 << 20).unwrap();
    let dropped = format!("{:?}", LoggedChange::Dropped(TABLE));
    let altered = format!("{:?}", LoggedChange::Altered { table: TABLE, version: 2 });
    assert_eq!(follower.others, [altered, dropped.clone()]);
    assert_eq!(Follower::begin(&mut bed.partition).others, [dropped]);
}

#[test]
fn a_group_of_one_keeps_the_end_of_its_log_while_it_is_followed() {
    let mut bed = Bed::new();
    bed.partition = Partition::new(PartitionConfig { tail_bytes_max: 40_000, ..single(1 << 30) });
    for (index, term, data) in &bed.log {
        bed.partition.replay(*index, *term, data).unwrap();
    }
    bed.partition.start().unwrap();
    bed.persist();
    let start = bed.partition.first_index();
    bed.fill([row(0, 0)]);
    assert!(bed.partition.first_index() > start, "nobody follows");
    let mut follower = Follower::begin(&mut bed.partition);
    let mut slow = Follower::begin(&mut bed.partition);
    for id in 1..1000 {
        bed.fill([row(id, id)]);
        if id % 10 == 0 {
            follower.follow(&mut bed.partition, 1 << 20).unwrap();
        }
    }
    assert_eq!(follower.seen.len(), 990);
    assert_eq!(slow.follow(&mut bed.partition, 1 << 20), Err(Gap::Compacted));
    let kept = bed.partition.last_index().0 + 1 - bed.partition.first_index();
    assert!(kept > 20 && kept < 100, "{kept} entries are kept");
    // When nobody has asked for a while nothing is kept.
    for _ in 0..100_000 / bed.partition.config().timing.tick_ms() {
        bed.partition.tick(Millis::ZERO).unwrap();
    }
    assert_eq!(bed.partition.first_index(), bed.partition.last_index().0 + 1);
}

#[test]
fn what_was_read_at_one_leader_goes_on_at_the_next() {
    let mut network = Network::new(3);
    let (mut rows, old) = Rows::over(&mut network);
    let mut follower = Follower::begin(network.at(old));
    for id in 0..10 {
        rows.insert(network.at(old), 100 + id as u64, &row(id, id));
        network.settle();
        if id == 5 {
            follower.follow(network.at(old), 1).unwrap();
        }
    }
    network.isolate(old);
    // The old leader's last entry is on nobody's log but its own: it is not committed, and not told.
    rows.insert(network.at(old), 200, &row(77, 77));
    network.settle();
    follower.follow(network.at(old), 1 << 20).unwrap();
    let told_by_old = follower.seen.len();
    let new = network.elect_other_than(old);
    rows.insert(network.at(new), 300, &row(10, 10));
    network.settle();
    follower.follow(network.at(new), 1 << 20).unwrap();
    network.heal();
    network.advance(HEARTBEAT_MS * 2);
    follower.follow(network.at(old), 1 << 20).unwrap();
    let expected: Vec<(ChangeKind, i32)> = (0..=10).map(|id| (Insert, id)).collect();
    assert_eq!((told_by_old, follower.kinds_and_ids(&rows.codec)), (10, expected));
    // A place that no log has.
    follower.place.term += 1;
    assert_eq!(follower.follow(network.at(new), 1), Err(Gap::Lost));
    follower.place = LogEnd { term: 1, index: 1 << 40 };
    assert_eq!(follower.follow(network.at(new), 1), Err(Gap::Lost));
}
