//! A client's socket, in clear or encrypted.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub enum Stream {
    Plain(TcpStream),
    /// Boxed: few have it, and it is large.
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// After a handshake. Errors: the client speaks no TLS, or none that goes together with the server's.
    pub async fn encrypt(self, tls: TlsAcceptor) -> io::Result<Stream> {
        match self {
            Stream::Plain(socket) => Ok(Stream::Encrypted(Box::new(tls.accept(socket).await?))),
            encrypted => Ok(encrypted),
        }
    }

    /// What the socket takes of it at once; of an encrypted one nothing.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.try_write(bytes),
            Stream::Encrypted(_) => Ok(0),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_read(context, room),
            Stream::Encrypted(socket) => Pin::new(socket).poll_read(context, room),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Stream::Encrypted(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_flush(context),
            Stream::Encrypted(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Stream::Encrypted(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
