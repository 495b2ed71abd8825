//! What has been appended to the log and not been handed back to the partitions, in the order of the log.

use std::collections::VecDeque;

/// What is in flight: `P` are positions of the log, whose default lies before all others, and `T` is what is handed back.
///
/// What is staged belongs to the batch in the making, and has no position before that is appended.
pub struct InFlight<P, T> {
    queue: VecDeque<Appended<P, T>>,
    staged: usize,
    must_sync: bool,
}

struct Appended<P, T> {
    end: P,
    must_sync: bool,
    what: T,
}

impl<P, T> Default for InFlight<P, T> {
    fn default() -> InFlight<P, T> {
        InFlight { queue: VecDeque::new(), staged: 0, must_sync: false }
    }
}

impl<P: Copy + Ord + Default, T> InFlight<P, T> {
    /// Adds to the batch in the making.
    #[inline]
    pub fn stage(&mut self, what: T, must_sync: bool) {
        self.queue.push_back(Appended { end: P::default(), must_sync, what });
        self.staged += 1;
        self.must_sync |= must_sync;
    }

    /// Ends the batch in the making, to be appended.
    #[inline]
    pub fn end_batch(&mut self) -> EndedBatch {
        EndedBatch { staged: std::mem::take(&mut self.staged), must_sync: std::mem::take(&mut self.must_sync) }
    }

    /// The batch that was ended last has been appended, and ends there.
    #[inline]
    pub fn appended(&mut self, batch: EndedBatch, end: P) {
        for appended in self.queue.iter_mut().rev().take(batch.staged) {
            appended.end = end;
        }
    }

    /// Adds something that is handed back with all that is in flight. False: nothing is.
    pub fn push_behind(&mut self, what: T) -> bool {
        let Some(end) = self.queue.back().map(|last| last.end) else { return false };
        self.queue.push_back(Appended { end, must_sync: false, what });
        true
    }

    /// Yields what may be handed back when the log reports `end`, and has everything before `durable` on the medium. Where that ends;
    /// `None` if there is nothing.
    #[inline]
    pub fn take_due(&mut self, end: P, durable: impl Fn() -> P, mut take: impl FnMut(T)) -> Option<P> {
        let is_due = |first: &Appended<P, T>| {
            first.end <= end && first.end > P::default() && (!first.must_sync || durable() >= first.end)
        };
        let mut last = None;
        while self.queue.front().is_some_and(is_due) {
            if let Some(appended) = self.queue.pop_front() {
                last = Some(appended.end);
                take(appended.what);
            }
        }
        last
    }

    /// Nothing that was taken for the log is waited for.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes all of it: the log will not come.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.staged = 0;
        self.queue.drain(..).map(|appended| appended.what)
    }
}

/// A batch that is about to be appended.
#[derive(Debug)]
#[must_use]
pub struct EndedBatch {
    staged: usize,
    /// Something in it is handed back only when it is on the medium.
    pub must_sync: bool,
}

/// What the partitions are to be told of what is due: each once, the number of its newest output batch.
#[derive(Default)]
pub struct Durable {
    /// For every partition the number to report; 0: nothing.
    numbers: Vec<u64>,
    touched: Vec<u32>,
}

impl Durable {
    /// The partition's output batch of this number is due; its batches come in their order.
    #[inline]
    pub fn note(&mut self, partition: u32, number: u64) {
        let place = partition as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, 0);
        }
        if self.numbers[place] == 0 {
            self.touched.push(partition);
        }
        self.numbers[place] = number;
    }

    /// The partitions with their numbers.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let Durable { numbers, touched } = self;
        touched.drain(..).map(|partition| (partition, std::mem::take(&mut numbers[partition as usize])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends one batch with one thing in it.
    fn append(in_flight: &mut InFlight<u64, u32>, what: u32, must_sync: bool, end: u64) {
        in_flight.stage(what, must_sync);
        let batch = in_flight.end_batch();
        assert_eq!(batch.must_sync, must_sync);
        in_flight.appended(batch, end);
    }

    fn due(in_flight: &mut InFlight<u64, u32>, end: u64, durable: u64) -> (Option<u64>, Vec<u32>) {
        let mut taken = Vec::new();
        (in_flight.take_due(end, || durable, |what| taken.push(what)), taken)
    }

    #[test]
    fn what_must_be_synced_holds_back_all_that_comes_after_it() {
        let mut in_flight = InFlight::default();
        append(&mut in_flight, 1, false, 10);
        append(&mut in_flight, 2, true, 20);
        append(&mut in_flight, 3, false, 30);
        assert_eq!(due(&mut in_flight, 30, 0), (Some(10), vec![1]));
        assert_eq!(due(&mut in_flight, 30, 19), (None, vec![]));
        assert_eq!(due(&mut in_flight, 20, 20), (Some(20), vec![2]));
        assert_eq!(due(&mut in_flight, 30, 20), (Some(30), vec![3]));
        assert!(in_flight.is_empty());
    }

    #[test]
    fn what_is_staged_is_not_due_before_it_has_a_position() {
        let mut in_flight = InFlight::default();
        in_flight.stage(1, false);
        assert_eq!(due(&mut in_flight, 100, 100), (None, vec![]));
        let batch = in_flight.end_batch();
        in_flight.appended(batch, 10);
        assert!(in_flight.push_behind(2));
        assert_eq!(due(&mut in_flight, 10, 0), (Some(10), vec![1, 2]));
        assert!(!in_flight.push_behind(3));
    }

    #[test]
    fn a_partition_is_told_its_newest_batch_once() {
        let mut durable = Durable::default();
        for (partition, number) in [(2, 5), (0, 7), (2, 6)] {
            durable.note(partition, number);
        }
        assert_eq!(durable.drain().collect::<Vec<_>>(), [(2, 6), (0, 7)]);
        durable.note(2, 8);
        assert_eq!(durable.drain().collect::<Vec<_>>(), [(2, 8)]);
    }
}
