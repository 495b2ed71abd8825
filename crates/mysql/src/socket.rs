//! The socket under a connection: TCP or a Unix socket, without what is said in it.

use std::cell::Cell;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};

use shoal_transport::line_speed::line_ns_per_byte;
use socket2::SockRef;
use tokio::io::{Interest, Ready};
use tokio::net::{TcpStream, UnixStream};

/// The socket without what is said in it.
#[derive(Debug)]
pub struct Socket {
    socket: AsyncSocket,
    /// There are bytes in the socket that it was not marked as readable for: whoever watched it go has taken the mark away.
    has_unread: Cell<bool>,
    /// Nothing was sent yet: there is room, though the poller has not said so.
    is_fresh: Cell<bool>,
}

#[derive(Debug)]
pub enum AsyncSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub fn new(socket: AsyncSocket) -> Socket {
        Socket { socket, has_unread: Cell::new(false), is_fresh: Cell::new(true) }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self.socket, AsyncSocket::Unix(_))
    }

    /// What the line to the client takes for a byte when so many are sent at a time, as far as the system knows it.
    pub fn line_ns_per_byte(&self, flight_bytes: usize) -> Option<f32> {
        match &self.socket {
            AsyncSocket::Tcp(socket) => line_ns_per_byte(socket, flight_bytes),
            AsyncSocket::Unix(_) => None,
        }
    }

    /// Receives into `room`; 0 is the end of the stream.
    ///
    /// A read that did not fill the room has emptied the socket. It marks the stream as not readable, so the next call
    /// waits for the poller instead of asking the kernel in vain.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.has_unread.replace(false) {
            match self.with_socket(|mut socket| (&mut socket).read(room)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.has_unread.set(true),
                outcome => {
                    self.has_unread.set(matches!(outcome, Ok(count) if count == room.len()));
                    return Poll::Ready(outcome);
                }
            }
        }
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
        self.poll_send(context, |mut socket| (&mut socket).write(bytes))
    }

    /// The pieces in one call of the system.
    pub fn poll_write_vectored(
        &self,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |mut socket| (&mut socket).write_vectored(pieces))
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        send: impl Fn(&socket2::Socket) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if self.is_fresh.replace(false)
            && let Ok(count) = self.with_socket(&send)
        {
            return Poll::Ready(Ok(count));
        }
        loop {
            match self.try_io(Interest::WRITABLE, &send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => return Poll::Ready(outcome),
            }
            ready!(self.poll_writable(context))?;
        }
    }

    /// Resolves when the client has closed its side, whatever it has sent before.
    pub fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if ready!(self.poll_readable(context)).is_err() || self.readiness().is_read_closed() {
                return Poll::Ready(());
            }
            let peeked =
                self.try_io(Interest::READABLE, |socket| match socket.peek(&mut [MaybeUninit::uninit(); 1]) {
                    Ok(0) => Ok(()),
                    // Taking the mark away is how the next thing that happens here is heard of.
                    Ok(_) => {
                        self.has_unread.set(true);
                        Err(io::ErrorKind::WouldBlock.into())
                    }
                    Err(error) => Err(error),
                });
            match peeked {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(()) | Err(_) => return Poll::Ready(()),
            }
        }
    }

    /// What the socket is marked with now.
    fn readiness(&self) -> Ready {
        let mut context = Context::from_waker(Waker::noop());
        let marks = match &self.socket {
            AsyncSocket::Tcp(stream) => pin!(stream.ready(Interest::READABLE)).poll(&mut context),
            AsyncSocket::Unix(stream) => pin!(stream.ready(Interest::READABLE)).poll(&mut context),
        };
        match marks {
            Poll::Ready(Ok(marks)) => marks,
            Poll::Ready(Err(_)) | Poll::Pending => Ready::EMPTY,
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.socket {
            AsyncSocket::Tcp(stream) => stream.poll_read_ready(context),
            AsyncSocket::Unix(stream) => stream.poll_read_ready(context),
        }
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.socket {
            AsyncSocket::Tcp(stream) => stream.poll_write_ready(context),
            AsyncSocket::Unix(stream) => stream.poll_write_ready(context),
        }
    }

    fn try_io<R>(
        &self,
        interest: Interest,
        call: impl FnOnce(&socket2::Socket) -> io::Result<R>,
    ) -> io::Result<R> {
        match &self.socket {
            AsyncSocket::Tcp(stream) => stream.try_io(interest, || call(&SockRef::from(stream))),
            AsyncSocket::Unix(stream) => stream.try_io(interest, || call(&SockRef::from(stream))),
        }
    }

    fn with_socket<R>(&self, call: impl FnOnce(&socket2::Socket) -> R) -> R {
        match &self.socket {
            AsyncSocket::Tcp(stream) => call(&SockRef::from(stream)),
            AsyncSocket::Unix(stream) => call(&SockRef::from(stream)),
        }
    }
}
