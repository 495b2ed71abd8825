//! A cursor's place as bytes, for scans whose coordinator is in another process.
//!
//! ```text
//! flags u8        1: a position follows, 2: a range lock follows, 4: at the staged writes of a hash scan,
//!                 8: a place among the committed rows of a hash scan follows
//! position        ordinal u64, length u32, index key
//! range lock      u64
//! hash place      staged: number u32; committed: hash u32, row u32
//! ```
//! Integers are little-endian. Table, index, range and direction travel beside it. A place that was made up reaches
//! nothing that its transaction may not: a range lock is looked up together with its owner.

use shoal_types::Result;

use super::{Cursor, HashPosition};
use crate::entry::{Reader, damaged};
use crate::ranges::RangeLockId;

const POSITION: u8 = 1;
const RANGE_LOCK: u8 = 2;
const HASH_STAGED: u8 = 4;
const HASH_COMMITTED: u8 = 8;

impl Cursor {
    /// Appends where the cursor is. Not for one that is finished.
    pub fn append_place(&self, out: &mut Vec<u8>) {
        let hash_flag = match self.hash_position {
            HashPosition::Committed(None) => 0,
            HashPosition::Committed(Some(_)) => HASH_COMMITTED,
            HashPosition::Staged(_) => HASH_STAGED,
        };
        let position_flag = if self.position.is_some() { POSITION } else { 0 };
        let lock_flag = if self.range_lock.is_some() { RANGE_LOCK } else { 0 };
        out.push(position_flag | lock_flag | hash_flag);
        if let Some((key, ordinal)) = &self.position {
            out.extend_from_slice(&ordinal.to_le_bytes());
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(key);
        }
        if let Some(lock) = self.range_lock {
            out.extend_from_slice(&lock.0.to_le_bytes());
        }
        match self.hash_position {
            HashPosition::Committed(None) => {}
            HashPosition::Committed(Some((hash, row))) => {
                out.extend_from_slice(&hash.to_le_bytes());
                out.extend_from_slice(&row.to_le_bytes());
            }
            HashPosition::Staged(number) => out.extend_from_slice(&number.to_le_bytes()),
        }
    }

    /// Goes on from a place that `append_place` has written; all of `bytes` is read.
    pub fn with_place(mut self, bytes: &[u8]) -> Result<Cursor> {
        let mut reader = Reader::new(bytes);
        let flags = reader.byte()?;
        if flags >= HASH_COMMITTED << 1 || flags & HASH_STAGED != 0 && flags & HASH_COMMITTED != 0 {
            return Err(damaged());
        }
        if flags & POSITION != 0 {
            let ordinal = reader.u64()?;
            if ordinal == u64::MAX {
                return Err(damaged());
            }
            self.position = Some((reader.sized()?.to_vec(), ordinal));
        }
        if flags & RANGE_LOCK != 0 {
            self.range_lock = Some(RangeLockId(reader.u64()?));
        }
        if flags & HASH_STAGED != 0 {
            self.hash_position = HashPosition::Staged(reader.u32()?);
        } else if flags & HASH_COMMITTED != 0 {
            self.hash_position = HashPosition::Committed(Some((reader.u32()?, reader.u32()?)));
        }
        match reader.is_empty() {
            true => Ok(self),
            false => Err(damaged()),
        }
    }

    /// The visitor stopped for want of room and not because it has seen enough: there may be more behind the place.
    pub fn resume(&mut self) {
        self.finished = false;
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::{IndexId, TableId};

    use super::*;
    use crate::{Direction, KeyBounds};

    fn cursor() -> Cursor {
        Cursor::new(TableId(1), IndexId(2), KeyBounds::ALL, Direction::Forward)
    }

    #[test]
    fn a_place_comes_back_as_it_was_and_none_that_is_cut_short_is_taken() {
        let positions = [None, Some((b"key".to_vec(), 7)), Some((Vec::new(), (1 << 32) + 3))];
        let locks = [None, Some(RangeLockId(9))];
        let hash_positions =
            [HashPosition::Committed(None), HashPosition::Committed(Some((3, 4))), HashPosition::Staged(5)];
        for position in &positions {
            for range_lock in locks {
                for hash_position in hash_positions {
                    let cursor = Cursor { position: position.clone(), range_lock, hash_position, ..cursor() };
                    let mut place = Vec::new();
                    cursor.append_place(&mut place);
                    let back = self::cursor().with_place(&place).unwrap();
                    assert_eq!(format!("{back:?}"), format!("{cursor:?}"));
                    for length in 0..place.len() {
                        assert!(
                            self::cursor().with_place(&place[..length]).is_err(),
                            "{length} bytes of {cursor:?}"
                        );
                    }
                    place.push(0);
                    assert!(self::cursor().with_place(&place).is_err(), "one byte more of {cursor:?}");
                }
            }
        }
    }
}
