//! One client's connection: read what there is, run all whole lines as a batch, answer with one write.
//!
//! Nothing is read while answers are waiting to be sent, so a client that sends without reading is stopped by its own socket,
//! and the connection's memory is bounded by one line and one batch's answers. An idle connection holds no buffers.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use shoal_cluster::look_in_passing;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsAcceptor;

use crate::counters::Counter;
use crate::refusal::Refusal;
use crate::session::{Session, Then};
use crate::settings::LINE_BYTES_MAX;
use crate::stream::Stream;
use crate::worker::Worker;

/// A client that does not take its answers for so long is given up.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// For a client to agree on how to encrypt.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// What a client still sends when it has been told that the connection ends is read for so long, so that it reads why.
const LINGER: Duration = Duration::from_secs(2);
/// After a batch of so many bytes the other connections of the worker have their turn.
const TURN_BYTES: usize = 2048;
/// The idle timeout is looked at in so many steps.
const IDLE_STEPS: u32 = 4;

/// Bytes that have come and are not dealt with.
#[derive(Default)]
struct Input {
    /// Fully initialised; what is in use is `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// Why no more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The client has gone, was idle for too long, or the server closes.
    Silent,
    LineTooLong,
}

impl Input {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Makes room behind what is there.
    fn room(&mut self, read_bytes: usize) -> &mut [u8] {
        if self.start > 0 && self.buffer.len() - self.end < read_bytes {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() - self.end < read_bytes {
            let doubled = (self.buffer.len() * 2).min(LINE_BYTES_MAX + read_bytes);
            self.buffer.resize(doubled.max(self.end + read_bytes), 0);
        }
        &mut self.buffer[self.end..]
    }
}

pub struct Connection {
    pub stream: Stream,
    pub worker: Rc<Worker>,
    pub session: Session,
    pub idle_timeout: Duration,
    pub read_bytes: usize,
}

/// What ends an idle wait, besides input.
struct Watch<'a, N> {
    closing: Pin<&'a mut N>,
    tick: Pin<&'a mut Sleep>,
    step: Duration,
    quiet_steps: u32,
}

impl<N: Future> Watch<'_, N> {
    fn poll_end(&mut self, context: &mut Context<'_>, worker: &Worker) -> bool {
        if worker.is_closing.get() || self.closing.as_mut().poll(context).is_ready() {
            return true;
        }
        while self.tick.as_mut().poll(context).is_ready() {
            self.quiet_steps += 1;
            if self.quiet_steps > IDLE_STEPS {
                return true;
            }
            self.tick.as_mut().reset(Instant::now() + self.step);
        }
        false
    }
}

impl Connection {
    /// Serves the client until it is gone. With `tls` nothing of it is read in clear.
    pub async fn serve(mut self, tls: Option<TlsAcceptor>) {
        let worker = Rc::clone(&self.worker);
        worker.counters.add(Counter::Connections, 1);
        if let Some(tls) = tls {
            let closing = worker.closing.notified();
            let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.stream.encrypt(tls));
            self.stream = tokio::select! {
                shaken = handshake => match shaken {
                    Ok(Ok(encrypted)) => encrypted,
                    Ok(Err(_)) | Err(_) => return,
                },
                () = closing => return,
            };
        }
        let step = self.idle_timeout / IDLE_STEPS;
        let closing = pin!(worker.closing.notified());
        let tick = pin!(tokio::time::sleep(step));
        let mut watch = Watch { closing, tick, step, quiet_steps: 0 };
        let mut input = Input::default();
        loop {
            if let Err(end) = self.receive(&mut input, &mut watch).await {
                if end == End::LineTooLong {
                    self.refuse_line(&mut input).await;
                }
                break;
            }
            look_in_passing();
            let mut out = worker.lend_output();
            let end = self.session.run_batch(input.bytes(), &mut out).await;
            input.consume(end.consumed);
            if end.then == Then::Abandon || !self.send(&out).await {
                break;
            }
            worker.take_back_output(out);
            if end.then == Then::Close {
                self.linger(&mut input).await;
                break;
            }
            if end.consumed >= TURN_BYTES {
                tokio::task::yield_now().await;
            }
        }
        worker.take_back_input(input.buffer);
    }

    /// Waits until there is a whole line.
    async fn receive(&mut self, input: &mut Input, watch: &mut Watch<'_, impl Future>) -> Result<(), End> {
        let mut searched = 0;
        let Connection { stream, worker, read_bytes, .. } = self;
        poll_fn(|context| {
            loop {
                let bytes = input.bytes();
                if memchr::memchr(b'\n', &bytes[searched..]).is_some() {
                    watch.quiet_steps = 0;
                    return Poll::Ready(Ok(()));
                }
                searched = bytes.len();
                if searched > LINE_BYTES_MAX {
                    return Poll::Ready(Err(End::LineTooLong));
                }
                if input.buffer.is_empty() {
                    input.buffer = worker.lend_input();
                }
                let mut room = ReadBuf::new(input.room(*read_bytes));
                match Pin::new(&mut *stream).poll_read(context, &mut room) {
                    Poll::Ready(Ok(())) if !room.filled().is_empty() => {
                        let count = room.filled().len();
                        input.end += count;
                        worker.counters.add(Counter::BytesReceived, count as u64);
                    }
                    Poll::Ready(_) => return Poll::Ready(Err(End::Silent)),
                    Poll::Pending => break,
                }
            }
            if input.start == input.end {
                worker.take_back_input(std::mem::take(&mut input.buffer));
            }
            match watch.poll_end(context, worker) {
                true => Poll::Ready(Err(End::Silent)),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Sends all of it; false if the client does not take it.
    async fn send(&mut self, bytes: &[u8]) -> bool {
        self.worker.counters.add(Counter::BytesSent, bytes.len() as u64);
        let sent = match self.stream.try_write(bytes) {
            Ok(sent) => sent,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => 0,
            Err(_) => return false,
        };
        if sent == bytes.len() {
            return true;
        }
        let rest = async {
            self.stream.write_all(&bytes[sent..]).await?;
            self.stream.flush().await
        };
        matches!(tokio::time::timeout(SEND_TIMEOUT, rest).await, Ok(Ok(())))
    }

    async fn refuse_line(&mut self, input: &mut Input) {
        let mut out = Vec::new();
        Refusal::SYNTAX.append(&mut out);
        if self.send(&out).await {
            self.linger(input).await;
        }
    }

    /// Closes this side, and lets the client finish: what comes is thrown away.
    async fn linger(&mut self, input: &mut Input) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        input.buffer.resize(self.read_bytes, 0);
        let drain = async { while matches!(self.stream.read(&mut input.buffer).await, Ok(count) if count > 0) {} };
        let _ = tokio::time::timeout(LINGER, drain).await;
    }
}
