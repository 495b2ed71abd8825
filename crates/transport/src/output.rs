//! A link's output: frames are appended by any thread and written by whoever flushes first.
//!
//! Two buffers take turns: frames go to `pending` while the other one is being written, so that nobody who appends waits
//! for a system call. One thread writes at a time; what others append meanwhile it writes too. What the socket does not
//! take is finished by the link's own task when the socket is writable again (`is_stuck` until then).

use std::task::Waker;

/// A buffer larger than this is given back when it is empty.
const KEPT_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Output {
    pub pending: Vec<u8>,
    /// What is being written; it is out of its place while a thread writes it.
    sending: Vec<u8>,
    /// How much of `sending` the socket has taken.
    sent_bytes: usize,
    /// What `sending` held when it was taken out.
    taken_bytes: usize,
    is_writing: bool,
    is_stuck: bool,
    is_closed: bool,
    /// Callers that wait for room.
    waiting: Vec<Waker>,
}

/// Bytes that a thread has taken out to write.
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub sent_bytes: usize,
}

impl Output {
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Bytes that the socket has not taken yet.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.pending.len() + self.taken_bytes + self.sending.len() - self.sent_bytes
    }

    pub(crate) fn wait(&mut self, waker: &Waker) {
        self.waiting.push(waker.clone());
    }

    /// Takes out what there is to write, if nobody else is at it.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        if self.is_writing || self.is_stuck || self.is_closed {
            return None;
        }
        if self.sending.is_empty() {
            if self.pending.is_empty() {
                return None;
            }
            std::mem::swap(&mut self.pending, &mut self.sending);
        }
        self.is_writing = true;
        self.taken_bytes = self.sending.len();
        let sent_bytes = std::mem::take(&mut self.sent_bytes);
        // Counted as unsent while it is away.
        self.taken_bytes -= sent_bytes;
        Some(Batch { bytes: std::mem::take(&mut self.sending), sent_bytes })
    }

    /// Puts a batch back. What it has unsent is stuck until the socket is writable. Returns whom to wake because there
    /// is room below `unsent_bytes_max`.
    pub(crate) fn put_back(&mut self, mut batch: Batch, unsent_bytes_max: usize) -> Vec<Waker> {
        self.is_writing = false;
        self.taken_bytes = 0;
        if self.is_closed {
            return Vec::new();
        }
        if batch.sent_bytes == batch.bytes.len() {
            batch.bytes.clear();
            batch.sent_bytes = 0;
            if batch.bytes.capacity() > KEPT_BYTES_MAX {
                batch.bytes = Vec::new();
            }
        } else {
            self.is_stuck = true;
        }
        self.sending = batch.bytes;
        self.sent_bytes = batch.sent_bytes;
        if self.waiting.is_empty() || self.unsent_bytes() >= unsent_bytes_max {
            return Vec::new();
        }
        std::mem::take(&mut self.waiting)
    }

    /// The socket is writable again.
    pub(crate) fn unstick(&mut self) {
        self.is_stuck = false;
    }

    /// Drops everything. Returns whom to wake, or `None` if it was closed before.
    pub(crate) fn close(&mut self) -> Option<Vec<Waker>> {
        if self.is_closed {
            return None;
        }
        self.is_closed = true;
        self.pending = Vec::new();
        self.sending = Vec::new();
        self.sent_bytes = 0;
        Some(std::mem::take(&mut self.waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_until_the_socket_has_them_wherever_they_are() {
        let mut output = Output::default();
        output.pending.extend_from_slice(&[0; 100]);
        let mut batch = output.take().unwrap();
        output.pending.extend_from_slice(&[1; 10]);
        assert_eq!(output.unsent_bytes(), 110);
        assert!(output.take().is_none(), "one thread writes at a time");
        batch.sent_bytes = 30;
        output.put_back(batch, 1000);
        assert_eq!(output.unsent_bytes(), 80);
        assert!(output.take().is_none(), "the socket is full");
        output.unstick();
        let mut batch = output.take().unwrap();
        assert_eq!((batch.sent_bytes, batch.bytes.len()), (30, 100));
        assert_eq!(output.unsent_bytes(), 80);
        batch.sent_bytes = 100;
        output.put_back(batch, 1000);
        assert_eq!(output.unsent_bytes(), 10);
        assert_eq!(output.take().unwrap().bytes, [1; 10]);
    }

    #[test]
    fn waiters_are_woken_once_there_is_room() {
        let mut output = Output::default();
        output.pending.extend_from_slice(&[0; 100]);
        output.wait(Waker::noop());
        let mut batch = output.take().unwrap();
        batch.sent_bytes = 40;
        assert_eq!(output.put_back(batch, 50).len(), 0);
        output.unstick();
        let mut batch = output.take().unwrap();
        batch.sent_bytes = 60;
        assert_eq!(output.put_back(batch, 50).len(), 1);
    }

    #[test]
    fn closing_while_a_batch_is_away_leaves_nothing_behind() {
        let mut output = Output::default();
        output.pending.extend_from_slice(&[0; 100]);
        let batch = output.take().unwrap();
        output.wait(Waker::noop());
        assert_eq!(output.close().map(|wakers| wakers.len()), Some(1));
        output.put_back(batch, 50);
        assert_eq!(output.unsent_bytes(), 0);
        assert!(output.close().is_none());
    }
}
