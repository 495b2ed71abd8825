//! What was appended to a link is written: directly to the socket, without the reactor, by any thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Link;
use crate::output::Batch;

impl Link {
    /// Writes what has been appended, as far as the socket takes it.
    pub(crate) fn flush(self: &Arc<Self>) {
        self.write(|bytes| self.socket.send(bytes));
    }

    /// Goes on after the socket was full. Through the reactor, which has to learn when it is full again.
    pub(super) fn resume(self: &Arc<Self>) {
        self.output.lock().unstick();
        self.write(|bytes| self.socket.send_when_writable(bytes));
    }

    fn write(self: &Arc<Self>, mut send: impl FnMut(&[u8]) -> io::Result<usize>) {
        if self.peer.is_outbound_blocked() {
            return;
        }
        loop {
            let Some(mut batch) = self.output.lock().take() else { return };
            let before = batch.sent_bytes;
            let result = send_all(&mut batch, &mut send);
            self.writes.fetch_add(1, Ordering::Relaxed);
            self.peer.count_sent(batch.sent_bytes - before);
            let mut output = self.output.lock();
            let wakers = output.put_back(batch, self.options.unsent_bytes_max);
            let is_stuck = output.is_stuck();
            drop(output);
            wakers.into_iter().for_each(std::task::Waker::wake);
            if let Err(error) = result {
                return self.close(&format!("it cannot be written to: {error}"));
            }
            if is_stuck {
                return self.attention.notify_one();
            }
        }
    }
}

fn send_all(batch: &mut Batch, send: &mut impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
    while batch.sent_bytes < batch.bytes.len() {
        match send(&batch.bytes[batch.sent_bytes..]) {
            Ok(bytes) => batch.sent_bytes += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
