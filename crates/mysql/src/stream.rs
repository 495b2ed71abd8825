//! The byte stream under a connection: TCP or a Unix socket, encrypted if the client asks for it, and compressed within that.
//!
//! All methods take `&self`, so that a statement can send while its connection watches for the client to go away. Only
//! one task uses a stream, so the one place that a stream has for a waiting reader and writer is enough.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use shoal_sql::frontend::TlsSession;
use shoal_tls::{
    CertificateFacts, ServerConnection, session_cipher, session_client, session_is_resumed, session_version,
};

use crate::compression::{Codecs, Compression, Method};
use crate::encryption::Encryption;
use crate::socket::{AsyncSocket, Socket};

#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Boxed: few connections have any, and they are large.
    layers: RefCell<Option<Box<Layers>>>,
}

/// What lies between packets and the socket.
#[derive(Debug, Default)]
struct Layers {
    encryption: Option<Encryption>,
    compression: Option<Compression>,
}

impl Stream {
    pub fn new(socket: AsyncSocket) -> Stream {
        Stream { socket: Socket::new(socket), layers: RefCell::new(None) }
    }

    /// Encrypts from here on, once the handshake is done. `received`: what came behind the client's request.
    ///
    /// # Errors
    /// The handshake failed.
    pub async fn encrypt(&self, session: ServerConnection, received: &[u8]) -> io::Result<()> {
        let mut encryption = Encryption::begin(session, received)?;
        poll_fn(|context| encryption.poll_handshake(&self.socket, context)).await?;
        self.layers.borrow_mut().get_or_insert_default().encryption = Some(encryption);
        Ok(())
    }

    /// Compresses from here on. Nothing may be on its way.
    ///
    /// `is_local`: the client is on this machine.
    pub fn compress(&self, method: Method, codecs: Rc<Codecs>, is_local: bool) {
        let compression = Compression::new(method, codecs, is_local);
        self.layers.borrow_mut().get_or_insert_default().compression = Some(compression);
    }

    /// Packets' own numbers mean nothing: those of compressed packets count.
    pub fn is_compressed(&self) -> bool {
        self.layers.borrow().as_ref().is_some_and(|layers| layers.compression.is_some())
    }

    /// The number that the next compressed packet bears, if there are any.
    pub fn compressed_sequence(&self) -> Option<u8> {
        let layers = self.layers.borrow();
        layers.as_ref().and_then(|layers| layers.compression.as_ref()).map(Compression::sequence)
    }

    /// The client may send a command, of at most this size.
    pub fn expect_command(&self, packet_size_max: usize) {
        if let Some(layers) = &mut *self.layers.borrow_mut()
            && let Some(compression) = &mut layers.compression
        {
            compression.expect_command(packet_size_max);
        }
    }

    /// Bytes that are kept here of packets which are not there in full.
    pub fn held_bytes(&self) -> usize {
        let layers = self.layers.borrow();
        layers.as_ref().and_then(|layers| layers.compression.as_ref()).map_or(0, Compression::held_bytes)
    }

    /// Protocol and cipher, if it is encrypted.
    pub fn tls(&self) -> Option<TlsSession> {
        self.with_session(|session| TlsSession {
            version: session_version(session),
            cipher: session_cipher(session),
            is_resumed: session_is_resumed(session),
        })
    }

    /// The certificate that the client has shown and proven to be its own.
    pub fn client_certificate(&self) -> Option<CertificateFacts> {
        self.with_session(session_client).flatten()
    }

    fn with_session<T>(&self, look: impl FnOnce(&ServerConnection) -> T) -> Option<T> {
        let layers = self.layers.borrow();
        Some(look(layers.as_ref()?.encryption.as_ref()?.session()))
    }

    /// The client lets nobody else read what it sends: it is encrypted, or does not leave the machine by a network.
    pub fn is_secure(&self) -> bool {
        self.with_session(|_| ()).is_some() || self.socket.is_unix()
    }

    /// Receives into `room`; 0 is the end of the stream. Errors hold a [`crate::packet::PacketError`] where the client's bytes are to
    /// blame.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut *self.layers.borrow_mut() {
            None => self.socket.poll_read(context, room),
            Some(layers) => layers.poll_read(&self.socket, context, room),
        }
    }

    /// Takes bytes to be sent. They are when [`Stream::poll_flush`] says so.
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self.layers.borrow_mut() {
            None => self.socket.poll_write(context, bytes),
            Some(layers) => layers.poll_write(&self.socket, context, bytes),
        }
    }

    pub fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self.layers.borrow_mut() {
            None => Poll::Ready(Ok(())),
            Some(layers) => layers.poll_flush(&self.socket, context),
        }
    }

    /// Resolves when the client has closed its side, whatever it has sent before.
    pub fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_closed(context)
    }
}

impl Layers {
    fn poll_read(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let Layers { encryption, compression } = self;
        let mut receive = |room: &mut [u8]| match encryption {
            None => socket.poll_read(context, room),
            Some(encryption) => encryption.poll_read(socket, context, room),
        };
        let Some(compression) = compression else { return receive(room) };
        loop {
            let count = compression.read(room).map_err(io::Error::other)?;
            if count > 0 {
                return Poll::Ready(Ok(count));
            }
            match receive(compression.room()) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(0)),
                Poll::Ready(received) => compression.received(received?),
                Poll::Pending => {
                    compression.rest();
                    return Poll::Pending;
                }
            }
        }
    }

    fn poll_write(&mut self, socket: &Socket, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match &mut self.compression {
                None => return send(&mut self.encryption, socket, context, bytes),
                Some(compression) => match compression.write(bytes, |bytes| socket.line_ns_per_byte(bytes)) {
                    0 if !bytes.is_empty() => ready!(self.poll_send_compressed(socket, context))?,
                    count => return Poll::Ready(Ok(count)),
                },
            }
        }
    }

    fn poll_flush(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_compressed(socket, context))?;
        match &mut self.encryption {
            None => Poll::Ready(Ok(())),
            Some(encryption) => encryption.poll_flush(socket, context),
        }
    }

    fn poll_send_compressed(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(compression) = &mut self.compression {
            while !compression.unsent().is_empty() {
                let Poll::Ready(sent) = send(&mut self.encryption, socket, context, compression.unsent()) else {
                    compression.note_wait();
                    return Poll::Pending;
                };
                match sent? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    count => compression.sent(count),
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn send(
    encryption: &mut Option<Encryption>,
    socket: &Socket,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    match encryption {
        None => socket.poll_write(context, bytes),
        Some(encryption) => encryption.poll_write(socket, context, bytes),
    }
}
