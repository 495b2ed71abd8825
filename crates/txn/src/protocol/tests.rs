//! Frames come back as they were made; cut short, lengthened or made up they are refused and nothing panics.

use proptest::prelude::*;
use shoal_partition::{Direction, LockMode, LockPolicy, LockRequest, SavepointMark};
use shoal_types::{Error, ErrorCode, IndexId, NodeId, Outcome, TableId, Timestamp, TransactionId};

use super::*;

fn head() -> WorkHead {
    WorkHead {
        partition: 3,
        transaction: Some(TransactionId(77)),
        term: 5,
        staged: 2,
        snapshot: Timestamp(99),
        own_writes_before: SavepointMark(1),
        lock_wait_ms: 50_000,
        joined_for_ms: 17,
    }
}

fn writes() -> Vec<Write<'static>> {
    vec![
        Write { kind: WriteKind::Insert, table: TableId(1), bytes: b"row" },
        Write { kind: WriteKind::Update, table: TableId(2), bytes: b"" },
        Write { kind: WriteKind::Delete, table: TableId(3), bytes: b"key" },
    ]
}

fn frames() -> Vec<Vec<u8>> {
    let lock = LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::SkipLocked, lock_gaps: true };
    let scan = ScanHead {
        table: TableId(9),
        index: IndexId(1),
        direction: Direction::Backward,
        lock: Some(lock),
        looks: true,
        rows_max: 256,
    };
    let slice = ColumnSlice { column: 3, offset: 1 << 40, length: 65_536, checks: true };
    let part = Part { partition: 7, term: 8, staged: 9 };
    let work = |then: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put_work(&mut out, &head(), [(1, 4), (2, 1)].into_iter(), writes().into_iter());
        then(&mut out);
        out
    };
    let alone = |put: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        out
    };
    let keys = || [b"a".as_slice(), b"", b"ccc"].into_iter();
    vec![
        work(&put_then_nothing),
        work(&|out| put_then_read(out, TableId(9), None, keys())),
        work(&|out| put_then_read(out, TableId(9), Some(lock), keys())),
        work(&|out| {
            put_then_scan(
                out,
                &scan,
                |pushed| pushed.push(0),
                [(b"a".as_slice(), b"b".as_slice())].into_iter(),
                b"place",
            )
        }),
        work(&|out| put_then_commit(out, [part].into_iter(), [(TableId(4), 17)].into_iter())),
        work(&|out| put_then_prepare(out, 6)),
        work(&|out| put_then_home_commit(out, Timestamp(3), [1, 2].into_iter(), [(TableId(4), 17)].into_iter())),
        work(&|out| put_then_slice(out, TableId(9), Some(lock), b"key", &slice)),
        alone(&|out| put_decide(out, 1, TransactionId(2), Some(Timestamp(3)))),
        alone(&|out| put_outcome_of(out, 1, TransactionId(2))),
        alone(&|out| put_confirm(out, 1, TransactionId(2), true, [3, 4].into_iter())),
        alone(&|out| put_unlock(out, 1, TransactionId(2), TableId(3), keys())),
        alone(&|out| put_roll_back_to(out, TransactionId(2), [(4, SavepointMark(5))].into_iter())),
        alone(&|out| put_roll_back(out, TransactionId(2), [4, 5].into_iter())),
        alone(&put_wait_edges),
        alone(&|out| put_pulse(out, Timestamp(8))),
        alone(&|out| put_visible(out, [4, 5].into_iter())),
        alone(&|out| put_ended_among(out, [TransactionId(2)].into_iter())),
    ]
}

#[test]
fn work_comes_back_as_it_was_made() {
    let frames = frames();
    for frame in &frames[..8] {
        let Request::Work(work) = Request::read(frame).unwrap() else { panic!("not work") };
        assert_eq!(work.head, head());
        assert_eq!(work.writes.iter().collect::<Vec<_>>(), writes());
    }
    let Request::Work(Work { then: Then::Read { table, lock: Some(lock), keys }, .. }) =
        Request::read(&frames[2]).unwrap()
    else {
        panic!("not a locking read");
    };
    assert_eq!((table, lock.mode, lock.policy), (TableId(9), LockMode::Exclusive, LockPolicy::SkipLocked));
    assert!(lock.lock_gaps);
    assert_eq!(keys.iter().collect::<Vec<_>>(), [b"a".as_slice(), b"", b"ccc"]);
    let Request::Work(Work { then: Then::Scan(scan), .. }) = Request::read(&frames[3]).unwrap() else {
        panic!("not a scan");
    };
    assert_eq!(
        (scan.head.index, scan.head.direction, scan.head.looks, scan.place),
        (IndexId(1), Direction::Backward, true, &b"place"[..])
    );
    assert_eq!(scan.ranges.iter().collect::<Vec<_>>(), [(&b"a"[..], &b"b"[..])]);
}

#[test]
fn requests_that_are_cut_short_or_lengthened_are_refused() {
    for frame in frames() {
        Request::read(&frame).unwrap();
        for length in 0..frame.len() {
            assert!(Request::read(&frame[..length]).is_err(), "{length} bytes of {frame:?}");
        }
        let longer = [frame.as_slice(), &[0]].concat();
        assert!(Request::read(&longer).is_err(), "one byte more of {frame:?}");
    }
}

#[test]
fn replies_come_back_and_those_cut_short_are_refused() {
    let error = Error::new(ErrorCode::LockDeadlock, "text").with_outcome(Outcome::Unknown);
    let (mut stopped, mut failed, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    put_stopped(&mut stopped, 4, 5, 6, WriteStop::Duplicate { index: IndexId(7), row: b"row" });
    put_failed(&mut failed, 4, 5, &error);
    put_not_leader(&mut elsewhere, Some(NodeId(3)));
    for reply in [&stopped, &failed, &elsewhere] {
        for length in 0..reply.len() {
            assert!(WorkReply::read(&reply[..length]).is_err(), "{length} bytes of {reply:?}");
        }
    }
    let read = WorkReply::read(&stopped).unwrap();
    assert_eq!((read.term, read.staged), (4, 5));
    let duplicate = WriteStop::Duplicate { index: IndexId(7), row: b"row" };
    assert!(matches!(read.status, Status::Stopped(stop) if stop == duplicate));
    let Status::Failed(read) = WorkReply::read(&failed).unwrap().status else { panic!("no error") };
    assert_eq!(format!("{read:?}"), format!("{error:?}"));
    let status = WorkReply::read(&elsewhere).unwrap().status;
    assert!(matches!(status, Status::NotLeader(Some(NodeId(3)))));
}

proptest! {
    #[test]
    fn made_up_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), frame in 0..18usize, at in any::<prop::sample::Index>()) {
        read_all(&bytes);
        // A true frame with some bytes changed comes further.
        let mut frame = frames().swap_remove(frame);
        let start = at.index(frame.len());
        for (place, byte) in frame[start..].iter_mut().zip(&bytes[..bytes.len().min(4)]) {
            *place = *byte;
        }
        read_all(&frame);
    }
}

fn read_all(bytes: &[u8]) {
    if let Ok(Request::Work(work)) = Request::read(bytes) {
        assert_eq!(work.writes.iter().count(), work.writes.len());
        if let Then::Scan(scan) = work.then {
            assert_eq!(scan.ranges.iter().count(), scan.ranges.len());
        }
    }
    let _ = WorkReply::read(bytes);
    if let Ok(found) = FoundRows::read(bytes) {
        assert_eq!(found.rows.iter().count(), found.rows.len());
    }
    let _ = Sliced::read(bytes);
    let _ = ScannedRows::read(bytes).map(|scanned| scanned.rows.iter().count());
    let _ = PulseReply::read(bytes).map(|reply| reply.rows.iter().count());
    let _ = read_edges(bytes, &mut Vec::new());
    let _ = read_timestamp(bytes);
    let _ = read_ended(bytes);
    let _ = read_outcome(bytes);
    let _ = read_decided(bytes);
}
