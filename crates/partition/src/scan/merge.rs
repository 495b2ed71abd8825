//! The entries of an index and the reader's staged rows as one sequence in index order.

use std::cmp::Ordering;
use std::ops::Bound;

use super::{Cursor, STAGED};
use crate::api::{Direction, KeyBounds};
use crate::btree::{Place, Probe, Tree};
use crate::workspace::Overlay;

#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Committed(Place),
    Staged(u32),
}

type StagedKey = (Box<[u8]>, u32);
type StagedKeys<'a> = Box<dyn Iterator<Item = &'a StagedKey> + 'a>;

pub(super) struct Merge<'a> {
    tree: &'a Tree,
    direction: Direction,
    place: Option<Place>,
    /// The bound that a walk in this direction ends at.
    end: Option<(Probe<'a>, bool)>,
    staged: Option<StagedKeys<'a>>,
    next_staged: Option<&'a StagedKey>,
    /// The staged entry last handed out, for `save`.
    staged_key: &'a [u8],
}

/// The staged keys of a range, in the order of the walk.
pub(super) fn staged_in<'a>(overlay: &'a Overlay, range: &KeyBounds, direction: Direction) -> StagedKeys<'a> {
    let start = match &range.start {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included((key.as_slice().into(), 0)),
        Bound::Excluded(key) => Bound::Excluded((key.as_slice().into(), u32::MAX)),
    };
    let end = match &range.end {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included((key.as_slice().into(), u32::MAX)),
        Bound::Excluded(key) => Bound::Excluded((key.as_slice().into(), 0)),
    };
    walk_between(overlay, start, end, direction)
}

fn walk_between(
    overlay: &Overlay,
    start: Bound<StagedKey>,
    end: Bound<StagedKey>,
    direction: Direction,
) -> StagedKeys<'_> {
    // A BTreeSet refuses ranges that end before they start.
    let key_of = |bound: &Bound<StagedKey>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    if let (Some(low), Some(high)) = (key_of(&start), key_of(&end))
        && low >= high
        && !(low == high && matches!((&start, &end), (Bound::Included(_), Bound::Included(_))))
    {
        return Box::new(std::iter::empty());
    }
    let range = overlay.entries.range((start, end));
    match direction {
        Direction::Forward => Box::new(range),
        Direction::Backward => Box::new(range.rev()),
    }
}

impl<'a> Merge<'a> {
    /// Begins behind the cursor's position.
    pub(super) fn new(tree: &'a Tree, overlay: Option<&'a Overlay>, cursor: &'a Cursor) -> Merge<'a> {
        let range = &cursor.range;
        let direction = cursor.direction;
        let place = match (&cursor.position, direction) {
            (None, Direction::Forward) => tree.range_start(range),
            (None, Direction::Backward) => tree.range_last(range),
            (Some((key, ordinal)), Direction::Forward) => tree.seek(&Probe::new(key, ordinal + 1)),
            (Some((key, ordinal)), Direction::Backward) => tree.seek_before(&Probe::new(key, *ordinal)),
        };
        let far_bound = match direction {
            Direction::Forward => &range.end,
            Direction::Backward => &range.start,
        };
        let end = match far_bound {
            Bound::Unbounded => None,
            Bound::Included(key) => Some((Probe::before(key), true)),
            Bound::Excluded(key) => Some((Probe::before(key), false)),
        };
        let mut staged = overlay.map(|overlay| Merge::staged_behind(overlay, cursor));
        let next_staged = staged.as_mut().and_then(|staged| staged.next());
        let mut merge = Merge { tree, direction, place, end, staged, next_staged, staged_key: &[] };
        merge.place = merge.place.filter(|&place| merge.is_inside(place));
        merge
    }

    fn staged_behind(overlay: &'a Overlay, cursor: &Cursor) -> StagedKeys<'a> {
        let Some((key, ordinal)) = &cursor.position else {
            return staged_in(overlay, &cursor.range, cursor.direction);
        };
        let key: Box<[u8]> = key.as_slice().into();
        let number = ordinal.checked_sub(STAGED).map(|number| number as u32);
        match cursor.direction {
            Direction::Forward => {
                let start = match number {
                    Some(number) => Bound::Excluded((key, number)),
                    None => Bound::Included((key, 0)),
                };
                let end = match &cursor.range.end {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(key) => Bound::Included((key.as_slice().into(), u32::MAX)),
                    Bound::Excluded(key) => Bound::Excluded((key.as_slice().into(), 0)),
                };
                walk_between(overlay, start, end, Direction::Forward)
            }
            Direction::Backward => {
                let end = Bound::Excluded((key, number.unwrap_or(0)));
                let start = match &cursor.range.start {
                    Bound::Unbounded => Bound::Unbounded,
                    Bound::Included(key) => Bound::Included((key.as_slice().into(), 0)),
                    Bound::Excluded(key) => Bound::Excluded((key.as_slice().into(), u32::MAX)),
                };
                walk_between(overlay, start, end, Direction::Backward)
            }
        }
    }

    #[inline]
    fn is_inside(&self, place: Place) -> bool {
        let Some((probe, inclusive)) = &self.end else {
            return true;
        };
        match (self.tree.compare_key(place, probe), self.direction) {
            (Ordering::Equal, _) => *inclusive,
            (Ordering::Less, Direction::Forward) | (Ordering::Greater, Direction::Backward) => true,
            _ => false,
        }
    }

    /// The next entry of the walk. Of equal keys the committed ones are the lower.
    #[inline]
    pub(super) fn peek(&self) -> Option<Entry> {
        match (self.place, self.next_staged) {
            (place, None) => place.map(Entry::Committed),
            (None, Some((_, number))) => Some(Entry::Staged(*number)),
            (Some(place), Some((key, number))) => {
                let committed_is_lower = self.tree.compare_key(place, &Probe::before(key)).is_le();
                let committed_first = committed_is_lower == (self.direction == Direction::Forward);
                Some(if committed_first { Entry::Committed(place) } else { Entry::Staged(*number) })
            }
        }
    }

    /// Moves past the entry that `peek` gave.
    #[inline]
    pub(super) fn advance(&mut self, entry: Entry) {
        match entry {
            Entry::Committed(place) => self.place = self.after(place),
            Entry::Staged(_) => {
                if let Some((key, _)) = self.next_staged {
                    self.staged_key = key;
                }
                self.next_staged = self.staged.as_mut().and_then(|staged| staged.next());
            }
        }
    }

    /// The rows of the next committed entries.
    pub(super) fn rows_ahead<'r>(&self, rows: &'r mut [u32]) -> &'r [u32] {
        let mut place = self.place;
        let mut count = 0;
        while let Some(here) = place.filter(|_| count < rows.len()) {
            rows[count] = self.tree.row(here);
            count += 1;
            place = self.after(here);
        }
        &rows[..count]
    }

    #[inline]
    fn after(&self, place: Place) -> Option<Place> {
        let next = match self.direction {
            Direction::Forward => self.tree.next(place),
            Direction::Backward => self.tree.previous(place),
        };
        next.filter(|&place| self.is_inside(place))
    }

    /// The entry lies at or behind `key`, in the direction of the walk.
    pub(super) fn reaches(&self, entry: &Entry, key: &[u8]) -> bool {
        let order = match (entry, self.next_staged) {
            (Entry::Committed(place), _) => self.tree.compare_key(*place, &Probe::before(key)),
            (Entry::Staged(_), Some((staged, _))) => (**staged).cmp(key),
            (Entry::Staged(_), None) => return false,
        };
        match self.direction {
            Direction::Forward => order.is_ge(),
            Direction::Backward => order.is_le(),
        }
    }

    pub(super) fn has_key(&self, place: Place, key: &[u8]) -> bool {
        self.tree.compare_key(place, &Probe::before(key)).is_eq()
    }

    /// The place of the entry handed out last, as a cursor keeps it.
    pub(super) fn position_of(&self, entry: Entry) -> (Vec<u8>, u64) {
        let mut key = Vec::with_capacity(16);
        match entry {
            Entry::Committed(place) => {
                self.tree.append_key(place, &mut key);
                (key, u64::from(self.tree.row(place)))
            }
            Entry::Staged(number) => {
                let still_next = self.next_staged.filter(|(_, next)| *next == number);
                key.extend_from_slice(still_next.map_or(self.staged_key, |(key, _)| key));
                (key, STAGED | u64::from(number))
            }
        }
    }
}
