//! A list that grows without moving what is in it: a million entries are not copied twenty times on the way, under a partition's hold.

use std::ops::{Index, IndexMut};

/// Entries of each segment. The first one grows like any vector: most lists are short.
const SEGMENT: usize = 1 << 10;

pub(crate) struct Segments<T> {
    /// All full but the last, which is not empty unless it is the first.
    segments: Vec<Vec<T>>,
}

impl<T> Default for Segments<T> {
    fn default() -> Segments<T> {
        Segments { segments: vec![Vec::new()] }
    }
}

impl<T> Segments<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.segments.len() - 1) * SEGMENT + self.segments.last().map_or(0, Vec::len)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.segments[0].is_empty()
    }

    /// Room for so many entries is there, the last segments' aside.
    pub(crate) fn capacity(&self) -> usize {
        (self.segments.len() - 1) * SEGMENT + self.segments[0].capacity()
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.segments.get(number / SEGMENT)?.get(number % SEGMENT)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.segments.get_mut(number / SEGMENT)?.get_mut(number % SEGMENT)
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        match self.segments.last_mut() {
            Some(last) if last.len() < SEGMENT => last.push(value),
            _ => {
                let mut segment = Vec::with_capacity(SEGMENT);
                segment.push(value);
                self.segments.push(segment);
            }
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.segments.last_mut()?;
        let popped = last.pop();
        if last.is_empty() && self.segments.len() > 1 {
            self.segments.pop();
        }
        popped
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.segments.last_mut()?.last_mut()
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        while self.len() > length {
            self.pop();
        }
    }

    /// The same, a segment at a time where that is shorter.
    pub(crate) fn drop_behind(&mut self, length: usize) {
        while self.segments.len() > 1 && (self.segments.len() - 1) * SEGMENT >= length {
            self.segments.pop();
        }
        self.truncate(length);
    }

    /// Takes an entry out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, number: usize) {
        if let Some(last) = self.pop()
            && let Some(place) = self.get_mut(number)
        {
            *place = last;
        }
    }

    /// Keeps the first segment's room.
    pub(crate) fn clear(&mut self) {
        self.segments.truncate(1);
        self.segments[0].clear();
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.segments.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments.iter_mut().flatten()
    }
}

impl<T> Index<usize> for Segments<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.segments[number / SEGMENT][number % SEGMENT]
    }
}

impl<T> IndexMut<usize> for Segments<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.segments[number / SEGMENT][number % SEGMENT]
    }
}

impl<T> Extend<T> for Segments<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_segments_is_a_list() {
        let (mut list, mut model) = (Segments::default(), Vec::new());
        for number in 0..5 * SEGMENT {
            list.push(number);
            model.push(number);
        }
        assert!(list.iter().eq(&model) && list.iter().rev().eq(model.iter().rev()));
        for number in [0, SEGMENT - 1, SEGMENT, 3 * SEGMENT + 7, 5 * SEGMENT - 9] {
            list.swap_remove(number);
            model.swap_remove(number);
            assert_eq!(list[number], model[number]);
        }
        list.swap_remove(model.len() - 1);
        model.pop();
        for length in [4 * SEGMENT + 1, 4 * SEGMENT, SEGMENT, SEGMENT - 1, 0] {
            list.truncate(length);
            model.truncate(length);
            assert!(list.iter().eq(&model) && list.len() == length);
            assert!(list.get(length).is_none() && list.last_mut() == model.last_mut());
        }
        assert!(list.is_empty() && list.pop().is_none());
        list.extend(0..4 * SEGMENT);
        for length in [3 * SEGMENT + 5, 2 * SEGMENT, SEGMENT + 3, SEGMENT - 1, 0] {
            list.drop_behind(length);
            assert!(list.iter().copied().eq(0..length));
        }
        list.extend(0..SEGMENT + 1);
        list.clear();
        assert!(list.is_empty() && list.capacity() == SEGMENT);
    }
}
