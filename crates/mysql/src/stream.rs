//! The byte stream under a connection: TCP or a Unix socket.
//!
//! All methods take `&self`, so that a statement can send while its connection watches for the client to go away. Only
//! one task uses a stream, so the one place that a stream has for a waiting reader and writer is enough.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Receives into `room`; 0 is the end of the stream.
    ///
    /// A read that did not fill the room has emptied the socket. It marks the stream as not readable, so the next call
    /// waits for the poller instead of asking the kernel in vain.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_readable(context))?;
            let mut received = None;
            let outcome = self.try_io(Interest::READABLE, |mut socket| match (&mut socket).read(room) {
                Ok(count) if count > 0 && count < room.len() => {
                    received = Some(count);
                    Err(io::ErrorKind::WouldBlock.into())
                }
                other => other,
            });
            match (received, outcome) {
                (Some(count), _) => return Poll::Ready(Ok(count)),
                (None, Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                (None, Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                (None, outcome) => return Poll::Ready(outcome),
            }
        }
    }

    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match self.try_io(Interest::WRITABLE, |mut socket| (&mut socket).write(bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => return Poll::Ready(outcome),
            }
            ready!(self.poll_writable(context))?;
        }
    }

    /// Resolves when the client has closed its side; `Ready(false)` when it has sent something instead, after which
    /// nothing more can be learned without reading.
    pub fn poll_closed(&self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            if ready!(self.poll_readable(context)).is_err() {
                return Poll::Ready(true);
            }
            let peeked = self.try_io(Interest::READABLE, |socket| socket.peek(&mut [MaybeUninit::uninit(); 1]));
            match peeked {
                Ok(count) => return Poll::Ready(count == 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Poll::Ready(true),
            }
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => stream.poll_read_ready(context),
            Stream::Unix(stream) => stream.poll_read_ready(context),
        }
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => stream.poll_write_ready(context),
            Stream::Unix(stream) => stream.poll_write_ready(context),
        }
    }

    fn try_io<R>(
        &self,
        interest: Interest,
        call: impl FnOnce(&socket2::Socket) -> io::Result<R>,
    ) -> io::Result<R> {
        match self {
            Stream::Tcp(stream) => stream.try_io(interest, || call(&SockRef::from(stream))),
            Stream::Unix(stream) => stream.try_io(interest, || call(&SockRef::from(stream))),
        }
    }
}
