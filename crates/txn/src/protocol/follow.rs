//! Following committed changes: what is asked of a leader, and what it tells.
//!
//! The reply begins as one to work does ([`put_done`](super::put_done), or that the partition is led elsewhere). What follows is
//! either why there is a gap, or the place to go on at, how far everything is complete, and the changes, each behind its kind:
//!
//! ```text
//! committed 1, transaction u64, timestamp u64, writes
//! prepared  2, transaction u64, writes
//! decided   3, transaction u64, timestamp u64 (0: aborted)
//! altered   4, table u32, version u32
//! dropped   5, table u32
//! ```

use shoal_partition::{ChangeKind, Gap, LogEnd, LoggedChange, LoggedWrite};
use shoal_types::{Result, TableId, Timestamp, TransactionId};

use super::kinds::FOLLOW;
use super::wire::*;

/// The index of a place that asks where to begin.
const FROM_NOW_ON: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Follow<'a> {
    pub partition: u32,
    /// `None`: from now on.
    pub place: Option<LogEnd>,
    /// The asker knows that everything up to here is complete.
    pub known: Timestamp,
    /// The reply has about so many bytes at most.
    pub bytes_max: u32,
    /// The reply may wait so long for something to tell.
    pub wait_ms: u32,
    pub tables: List<'a, u32>,
}

pub(crate) fn put_follow(
    out: &mut Vec<u8>,
    partition: u32,
    place: Option<LogEnd>,
    known: Timestamp,
    (bytes_max, wait_ms): (u32, u32),
    tables: impl Iterator<Item = TableId>,
) {
    let place = place.unwrap_or(LogEnd { index: FROM_NOW_ON, term: 0 });
    out.push(FOLLOW);
    put_u32(out, partition);
    put_u64(out, place.index);
    put_u64(out, place.term);
    put_u64(out, known.0);
    put_u32(out, bytes_max);
    put_u32(out, wait_ms);
    put_list(out, tables, |out, table| put_u32(out, table.0));
}

impl<'a> Follow<'a> {
    pub(super) fn read(reader: &mut FrameReader<'a>) -> Result<Follow<'a>> {
        let partition = reader.u32()?;
        let (index, term) = (reader.u64()?, reader.u64()?);
        Ok(Follow {
            partition,
            place: (index != FROM_NOW_ON).then_some(LogEnd { term, index }),
            known: Timestamp(reader.u64()?),
            bytes_max: reader.u32()?,
            wait_ms: reader.u32()?,
            tables: reader.list()?,
        })
    }
}

const TOLD: u8 = 0;
const COMPACTED: u8 = 1;
const LOST: u8 = 2;
const UNREADABLE: u8 = 3;

const COMMITTED: u8 = 1;
const PREPARED: u8 = 2;
const DECIDED: u8 = 3;
const ALTERED: u8 = 4;
const DROPPED: u8 = 5;

pub(crate) fn put_gap(out: &mut Vec<u8>, gap: Gap) {
    out.push(match gap {
        Gap::Compacted => COMPACTED,
        Gap::Lost => LOST,
        Gap::Unreadable => UNREADABLE,
    });
}

pub(crate) fn put_told(out: &mut Vec<u8>, place: LogEnd, complete: Timestamp) {
    out.push(TOLD);
    put_u64(out, place.index);
    put_u64(out, place.term);
    put_u64(out, complete.0);
}

/// One more of the changes, which end with the reply.
pub(crate) fn put_change(out: &mut Vec<u8>, change: &LoggedChange<'_>) {
    match change {
        LoggedChange::Committed { transaction, timestamp, writes } => {
            out.push(COMMITTED);
            put_u64(out, transaction.0);
            put_u64(out, timestamp.0);
            put_writes(out, writes);
        }
        LoggedChange::Prepared { transaction, writes } => {
            out.push(PREPARED);
            put_u64(out, transaction.0);
            put_writes(out, writes);
        }
        LoggedChange::Decided { transaction, commit } => {
            out.push(DECIDED);
            put_u64(out, transaction.0);
            put_u64(out, commit.map_or(0, |timestamp| timestamp.0));
        }
        LoggedChange::Altered { table, version } => {
            out.push(ALTERED);
            put_u32(out, table.0);
            put_u32(out, *version);
        }
        LoggedChange::Dropped(table) => {
            out.push(DROPPED);
            put_u32(out, table.0);
        }
    }
}

fn put_writes(out: &mut Vec<u8>, writes: &[LoggedWrite<'_>]) {
    put_list(out, writes.iter(), |out, write| {
        put_u32(out, write.table.0);
        out.push(match write.kind {
            ChangeKind::Insert => 1,
            ChangeKind::Update => 2,
            ChangeKind::Delete => 3,
        });
        put_bytes(out, write.row);
    });
}

impl<'a> Item<'a> for LoggedWrite<'a> {
    fn read(reader: &mut FrameReader<'a>) -> Result<LoggedWrite<'a>> {
        let table = TableId(reader.u32()?);
        let kind = match reader.u8()? {
            1 => ChangeKind::Insert,
            2 => ChangeKind::Update,
            3 => ChangeKind::Delete,
            _ => return Err(malformed()),
        };
        Ok(LoggedWrite { table, kind, row: reader.bytes()? })
    }
}

/// What a leader has told.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub place: LogEnd,
    /// Everything up to here has been told, with this reply.
    pub complete: Timestamp,
    changes: FrameReader<'a>,
}

impl<'a> Told<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<std::result::Result<Told<'a>, Gap>> {
        let mut reader = FrameReader::new(bytes);
        let gap = match reader.u8()? {
            TOLD => {
                let (index, term) = (reader.u64()?, reader.u64()?);
                let complete = Timestamp(reader.u64()?);
                return Ok(Ok(Told { place: LogEnd { term, index }, complete, changes: reader }));
            }
            COMPACTED => Gap::Compacted,
            LOST => Gap::Lost,
            UNREADABLE => Gap::Unreadable,
            _ => return Err(malformed()),
        };
        reader.end()?;
        Ok(Err(gap))
    }

    /// The next change; `None`: there is none.
    pub fn next(&mut self) -> Result<Option<LoggedChange<'a>>> {
        let reader = &mut self.changes;
        if reader.rest().is_empty() {
            return Ok(None);
        }
        Ok(Some(match reader.u8()? {
            COMMITTED => LoggedChange::Committed {
                transaction: TransactionId(reader.u64()?),
                timestamp: Timestamp(reader.u64()?),
                writes: writes(reader)?,
            },
            PREPARED => {
                LoggedChange::Prepared { transaction: TransactionId(reader.u64()?), writes: writes(reader)? }
            }
            DECIDED => LoggedChange::Decided {
                transaction: TransactionId(reader.u64()?),
                commit: Some(Timestamp(reader.u64()?)).filter(|&timestamp| timestamp != Timestamp::ZERO),
            },
            ALTERED => LoggedChange::Altered { table: TableId(reader.u32()?), version: reader.u32()? },
            DROPPED => LoggedChange::Dropped(TableId(reader.u32()?)),
            _ => return Err(malformed()),
        }))
    }
}

fn writes<'a>(reader: &mut FrameReader<'a>) -> Result<Vec<LoggedWrite<'a>>> {
    let list: List<'a, LoggedWrite<'a>> = reader.list()?;
    Ok(list.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Request;

    #[test]
    fn questions_and_answers_survive_the_journey_and_no_prefix_passes_for_one() {
        let place = LogEnd { term: 3, index: 77 };
        for asked in [Some(place), None] {
            let mut frame = Vec::new();
            put_follow(&mut frame, 4, asked, Timestamp(9), (1000, 20), [TableId(5), TableId(6)].into_iter());
            let Request::Follow(follow) = Request::read(&frame).unwrap() else { panic!("another request") };
            assert_eq!((follow.partition, follow.place, follow.known), (4, asked, Timestamp(9)));
            assert_eq!((follow.bytes_max, follow.wait_ms), (1000, 20));
            assert_eq!(follow.tables.iter().collect::<Vec<_>>(), [5, 6]);
            (0..frame.len()).for_each(|length| assert!(Request::read(&frame[..length]).is_err()));
        }
        let transaction = TransactionId(8);
        let write = |kind| LoggedWrite { table: TableId(5), kind, row: b"row" };
        let writes = vec![write(ChangeKind::Insert), write(ChangeKind::Update), write(ChangeKind::Delete)];
        let changes = [
            LoggedChange::Committed { transaction, timestamp: Timestamp(10), writes: writes.clone() },
            LoggedChange::Prepared { transaction, writes },
            LoggedChange::Decided { transaction, commit: Some(Timestamp(11)) },
            LoggedChange::Decided { transaction, commit: None },
            LoggedChange::Altered { table: TableId(5), version: 2 },
            LoggedChange::Dropped(TableId(5)),
        ];
        let mut reply = Vec::new();
        put_told(&mut reply, place, Timestamp(12));
        let ends: Vec<usize> = changes
            .iter()
            .map(|change| {
                put_change(&mut reply, change);
                reply.len()
            })
            .collect();
        let read = |bytes| -> Result<usize> {
            let mut told = Told::read(bytes)?.unwrap();
            assert_eq!((told.place, told.complete), (place, Timestamp(12)));
            let mut count = 0;
            while let Some(change) = told.next()? {
                assert_eq!(change, changes[count]);
                count += 1;
            }
            Ok(count)
        };
        for length in 25..=reply.len() {
            let whole = ends.iter().filter(|&&end| end <= length).count();
            let is_end = length == 25 || ends.contains(&length);
            assert_eq!(read(&reply[..length]).ok(), is_end.then_some(whole), "{length} bytes");
        }
        for gap in [Gap::Compacted, Gap::Lost, Gap::Unreadable] {
            let mut reply = Vec::new();
            put_gap(&mut reply, gap);
            assert_eq!(Told::read(&reply).unwrap().err(), Some(gap));
        }
        assert!(Told::read(&[9]).is_err() && Told::read(&[]).is_err());
    }
}
