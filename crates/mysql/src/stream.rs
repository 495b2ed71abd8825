//! The byte stream under a connection: TCP or a Unix socket, encrypted if the client asks for it.
//!
//! All methods take `&self`, so that a statement can send while its connection watches for the client to go away. Only
//! one task uses a stream, so the one place that a stream has for a waiting reader and writer is enough.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use shoal_sql::frontend::TlsSession;
use shoal_tls::{
    CertificateFacts, ServerConnection, session_cipher, session_client, session_is_resumed, session_version,
};

use crate::encryption::Encryption;
use crate::socket::{AsyncSocket, Socket};

#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Boxed: few connections have it, and it is large.
    encryption: RefCell<Option<Box<Encryption>>>,
}

impl Stream {
    pub fn new(socket: AsyncSocket) -> Stream {
        Stream { socket: Socket::new(socket), encryption: RefCell::new(None) }
    }

    /// Encrypts from here on, once the handshake is done. `received`: what came behind the client's request.
    ///
    /// # Errors
    /// The handshake failed.
    pub async fn encrypt(&self, session: ServerConnection, received: &[u8]) -> io::Result<()> {
        let mut encryption = Encryption::begin(session, received)?;
        poll_fn(|context| encryption.poll_handshake(&self.socket, context)).await?;
        *self.encryption.borrow_mut() = Some(Box::new(encryption));
        Ok(())
    }

    /// Protocol and cipher, if it is encrypted.
    pub fn tls(&self) -> Option<TlsSession> {
        let encryption = self.encryption.borrow();
        let session = encryption.as_ref()?.session();
        Some(TlsSession {
            version: session_version(session),
            cipher: session_cipher(session),
            is_resumed: session_is_resumed(session),
        })
    }

    /// The certificate that the client has shown and proven to be its own.
    pub fn client_certificate(&self) -> Option<CertificateFacts> {
        session_client(self.encryption.borrow().as_ref()?.session())
    }

    /// The client lets nobody else read what it sends: it is encrypted, or does not leave the machine by a network.
    pub fn is_secure(&self) -> bool {
        self.encryption.borrow().is_some() || self.socket.is_unix()
    }

    /// Receives into `room`; 0 is the end of the stream.
    pub fn poll_read(&self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut *self.encryption.borrow_mut() {
            None => self.socket.poll_read(context, room),
            Some(encryption) => encryption.poll_read(&self.socket, context, room),
        }
    }

    /// Takes bytes to be sent. They are when [`Stream::poll_flush`] says so.
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self.encryption.borrow_mut() {
            None => self.socket.poll_write(context, bytes),
            Some(encryption) => encryption.poll_write(&self.socket, context, bytes),
        }
    }

    pub fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self.encryption.borrow_mut() {
            None => Poll::Ready(Ok(())),
            Some(encryption) => encryption.poll_flush(&self.socket, context),
        }
    }

    /// Resolves when the client has closed its side, whatever it has sent before.
    pub fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        self.socket.poll_closed(context)
    }
}
