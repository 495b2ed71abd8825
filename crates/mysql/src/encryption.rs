//! TLS between a connection's packets and its socket.
//!
//! rustls keeps no socket: what came is fed to it, what it wants sent is taken from it. Both buffers are its own and bounded.

use std::io::{self, IoSlice, Read, Write};
use std::task::{Context, Poll, ready};

use shoal_tls::ServerConnection;

use crate::socket::Socket;

/// What rustls keeps of plain bytes that the socket does not take yet.
const UNSENT_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Encryption {
    session: ServerConnection,
}

/// The socket as rustls wants it: a reader and a writer that would block where a task would wait.
struct Wire<'a, 'c> {
    socket: &'a Socket,
    context: &'a mut Context<'c>,
}

fn now<T>(outcome: Poll<io::Result<T>>) -> io::Result<T> {
    match outcome {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Read for Wire<'_, '_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        now(self.socket.poll_read(self.context, room))
    }
}

impl Write for Wire<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        now(self.socket.poll_write(self.context, bytes))
    }

    /// Records lie in buffers of their own; a large result is many.
    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        now(self.socket.poll_write_vectored(self.context, records))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_waiting(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

impl Encryption {
    /// `received`: bytes of the client's that came behind its request for TLS. They are TLS or nothing.
    pub fn begin(mut session: ServerConnection, mut received: &[u8]) -> io::Result<Encryption> {
        session.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        while !received.is_empty() {
            session.read_tls(&mut received)?;
            session.process_new_packets().map_err(io::Error::other)?;
        }
        Ok(Encryption { session })
    }

    pub fn session(&self) -> &ServerConnection {
        &self.session
    }

    /// # Errors
    /// The client speaks no TLS, or none that goes together with the server's; it has been told which.
    pub fn poll_handshake(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.is_handshaking() {
            ready!(self.poll_flush(socket, context))?;
            if self.session.is_handshaking() && ready!(self.poll_receive(socket, context))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        self.poll_flush(socket, context)
    }

    /// Receives what the socket has; 0 is its end.
    fn poll_receive(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.session.read_tls(&mut Wire { socket, context }) {
            Ok(count) => {
                if let Err(error) = self.session.process_new_packets() {
                    // The alert that says why, if the client will have it at once.
                    let _ = self.poll_flush(socket, context);
                    return Poll::Ready(Err(io::Error::other(error)));
                }
                Poll::Ready(Ok(count))
            }
            Err(error) if is_waiting(&error) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Plain bytes of the client's; 0 is the end of the stream.
    pub fn poll_read(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.session.reader().read(room) {
                Err(error) if is_waiting(&error) => {}
                // A connection that is cut without a farewell ends like any other.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Poll::Ready(Ok(0)),
                outcome => return Poll::Ready(outcome),
            }
            if ready!(self.poll_receive(socket, context))? == 0 {
                return Poll::Ready(Ok(0));
            }
            // Answers to the protocol's own messages; what does not go now goes with the next reply.
            let _ = self.poll_flush(socket, context)?;
        }
    }

    /// Takes plain bytes to be sent, as many as there is room for. They are sent when [`Encryption::poll_flush`] says so.
    pub fn poll_write(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let count = self.session.writer().write(bytes)?;
            if count > 0 || bytes.is_empty() {
                return Poll::Ready(Ok(count));
            }
            ready!(self.poll_flush(socket, context))?;
        }
    }

    pub fn poll_flush(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Wire { socket, context }) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if is_waiting(&error) => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}
