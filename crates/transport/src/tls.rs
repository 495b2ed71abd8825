//! TLS over a TCP socket: whole during the handshake, then in halves that share the session.
//!
//! rustls keeps no socket: what came is fed to it, what it wants sent is taken from it. All that is buffered is bounded: a piece of
//! what the socket has, a record that is not there in full (rustls), and one piece of what is being sent.
//!
//! What is appended to a link while it is being written leaves as few, large records: a record has no more than 16 KiB.

use std::io::{self, Read, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use shoal_tls::Identity;
use shoal_tls::node::{identities_of, reason};
use shoal_tls::rustls::server::Acceptor;
use shoal_tls::rustls::{self, ClientConnection, Connection, ServerConfig};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, tcp};

/// Bytes that one read takes from a link's socket.
const READ_BYTES: usize = 64 << 10;
/// The same during the handshake, when the other side may be anybody.
const HANDSHAKE_READ_BYTES: usize = 8 << 10;
/// Bytes that are encrypted at once.
const WRITE_BYTES: usize = 64 << 10;
/// Bytes that decide whether a client begins with TLS.
pub(crate) const FIRST_BYTES: usize = 6;
/// The most that is read, to no purpose, from a side that was refused, so that it hears why before the socket is closed.
const IGNORED_BYTES_MAX: usize = 256 << 10;

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum TlsFailure {
    Io(io::Error),
    /// What has come is no TLS.
    Plain {
        socket: TcpStream,
        received: Vec<u8>,
    },
    /// The sides do not go together. `claimed`: what the one that dialled says it is. It has been told why, as far as it reads.
    Refused {
        socket: TcpStream,
        claimed: Option<Identity>,
        error: Box<rustls::Error>,
    },
}

impl From<io::Error> for TlsFailure {
    fn from(error: io::Error) -> TlsFailure {
        TlsFailure::Io(error)
    }
}

/// Whether what a client begins with is a handshake of TLS: a record of that kind with the version that all have, and a ClientHello
/// in it. A frame begins with its checksum and its length, which could look like this only by an accident that the next attempt
/// does not have.
pub(crate) fn is_client_hello(first: &[u8]) -> bool {
    matches!(first, [0x16, 3, 0..=4, _, _, 1, ..])
}

/// The same for what a side that was dialled answers with: a record of any kind.
fn is_record(first: &[u8]) -> bool {
    matches!(first, [20..=23, 3, ..])
}

/// What is wrong, in a sentence whose subject is the certificate in question.
pub(crate) fn sentence(error: &rustls::Error, other: &str) -> String {
    match error {
        rustls::Error::AlertReceived(_) => format!("the certificate of this node {}", reason(error)),
        _ => format!("the certificate of {other} {}", reason(error)),
    }
}

/// The TLS error in an error of a socket.
pub(crate) fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Takes in what the socket has brought, and appends what it makes whole to `plain`.
fn take_in(session: &mut Connection, mut received: &[u8], plain: &mut Vec<u8>) -> Result<(), rustls::Error> {
    while !received.is_empty() {
        // After the other side's good-bye nothing is read; an error says that a message is too large.
        match session.read_tls(&mut received) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(rustls::Error::General(error.to_string())),
        }
        let bytes = session.process_new_packets()?.plaintext_bytes_to_read();
        if bytes > 0 {
            plain.reserve(bytes);
            // So many are there.
            let _ = session.reader().take(bytes as u64).read_to_end(plain);
        }
    }
    Ok(())
}

/// Appends what is to be sent.
fn put_out(session: &mut Connection, wire: &mut Vec<u8>) {
    while session.wants_write() {
        // A vector takes everything.
        let _ = session.write_tls(wire);
    }
}

/// A socket with a session, during a link's handshake.
pub(crate) struct TlsSocket {
    socket: TcpStream,
    session: Connection,
    /// Has come with the last bytes of TLS's own handshake.
    plain: Vec<u8>,
}

/// The same on its way from one thread's reactor to another's.
pub(crate) struct DetachedTls {
    socket: std::net::TcpStream,
    session: Connection,
    plain: Vec<u8>,
}

impl DetachedTls {
    pub(crate) fn attach(self) -> io::Result<TlsSocket> {
        let DetachedTls { socket, session, plain } = self;
        Ok(TlsSocket { socket: TcpStream::from_std(socket)?, session, plain })
    }
}

impl TlsSocket {
    /// The side that dials.
    pub(crate) async fn dial(mut socket: TcpStream, session: ClientConnection) -> Result<TlsSocket, TlsFailure> {
        let mut session = Connection::from(session);
        let mut wire = Vec::new();
        put_out(&mut session, &mut wire);
        socket.write_all(&wire).await?;
        let mut received = Vec::with_capacity(HANDSHAKE_READ_BYTES);
        while received.len() < 2 {
            receive(&mut socket, &mut received).await?;
        }
        if !is_record(&received) {
            return Err(TlsFailure::Plain { socket, received });
        }
        let mut tls = TlsSocket { socket, session, plain: Vec::new() };
        match tls.shake_hands(received).await {
            Ok(()) => Ok(tls),
            Err(error) => Err(refused(tls.socket, None, error)),
        }
    }

    /// The side that was dialled. `received`: what the client has begun with.
    pub(crate) async fn accept(
        mut socket: TcpStream,
        config: Arc<ServerConfig>,
        mut received: Vec<u8>,
    ) -> Result<TlsSocket, TlsFailure> {
        let mut acceptor = Acceptor::default();
        let (accepted, rest) = loop {
            let mut rest = received.as_slice();
            let mut accepted = Ok(None);
            while !rest.is_empty() && matches!(accepted, Ok(None)) {
                acceptor.read_tls(&mut rest)?;
                accepted = acceptor.accept();
            }
            match accepted {
                Ok(Some(accepted)) => break (accepted, rest.to_vec()),
                Ok(None) => {}
                Err((error, alert)) => {
                    return Err(refuse_first(socket, None, error, alert).await);
                }
            }
            received.clear();
            receive(&mut socket, &mut received).await?;
        };
        let claims = accepted.client_hello().alpn().and_then(|mut claims| claims.find_map(Identity::of_claim));
        let session = match accepted.into_connection(config) {
            Ok(session) => Connection::from(session),
            Err((error, alert)) => return Err(refuse_first(socket, claims, error, alert).await),
        };
        let mut tls = TlsSocket { socket, session, plain: Vec::new() };
        match tls.shake_hands(rest).await {
            Ok(()) => Ok(tls),
            Err(error) => Err(refused(tls.socket, claims, error)),
        }
    }

    async fn shake_hands(&mut self, mut received: Vec<u8>) -> io::Result<()> {
        loop {
            let taken = take_in(&mut self.session, &received, &mut self.plain);
            // What there is to say: the handshake's next messages, or an alert that tells why there is none.
            self.flush().await?;
            taken.map_err(io::Error::other)?;
            if !self.session.is_handshaking() {
                return Ok(());
            }
            received.clear();
            receive(&mut self.socket, &mut received).await?;
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let mut wire = Vec::new();
        put_out(&mut self.session, &mut wire);
        self.socket.write_all(&wire).await
    }

    /// Appends what has come to `buffer`; 0: the end.
    pub(crate) async fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let before = buffer.len();
        buffer.append(&mut self.plain);
        let mut received = Vec::new();
        while buffer.len() == before {
            received.clear();
            received.reserve(HANDSHAKE_READ_BYTES);
            if self.socket.read_buf(&mut received).await? == 0 {
                return Ok(0);
            }
            take_in(&mut self.session, &received, buffer).map_err(io::Error::other)?;
        }
        Ok(buffer.len() - before)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.session.writer().write_all(bytes)?;
        self.flush().await
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whom the other side's certificate names.
    pub(crate) fn identities(&self) -> Vec<Identity> {
        self.session.peer_certificates().map(identities_of).unwrap_or_default()
    }

    pub(crate) fn detach(self) -> io::Result<DetachedTls> {
        let TlsSocket { socket, session, plain } = self;
        Ok(DetachedTls { socket: socket.into_std()?, session, plain })
    }

    /// Nothing may have come that was not received: the link reads on where the handshake ends.
    pub(crate) fn split(self) -> io::Result<(TlsReadHalf, TlsWriteHalf)> {
        let TlsSocket { socket, mut session, plain } = self;
        if !plain.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Bounded by the pieces that `send` makes.
        session.set_buffer_limit(None);
        let (read, write) = socket.into_split();
        let session = Arc::new(Mutex::new(session));
        let read_half =
            TlsReadHalf { socket: read, session: Arc::clone(&session), received: Vec::with_capacity(READ_BYTES) };
        Ok((read_half, TlsWriteHalf { socket: write, session, unsent: Mutex::default() }))
    }
}

fn refused(socket: TcpStream, claimed: Option<Identity>, error: io::Error) -> TlsFailure {
    match error.downcast::<rustls::Error>() {
        Ok(error) => TlsFailure::Refused { socket, claimed, error: Box::new(error) },
        Err(error) => TlsFailure::Io(error),
    }
}

async fn receive(socket: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<()> {
    received.reserve(HANDSHAKE_READ_BYTES);
    match socket.read_buf(received).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Refuses a client whose first message is of no use.
async fn refuse_first(
    mut socket: TcpStream,
    claimed: Option<Identity>,
    error: rustls::Error,
    mut alert: rustls::server::AcceptedAlert,
) -> TlsFailure {
    let mut wire = Vec::new();
    let _ = alert.write_all(&mut wire);
    let _ = socket.write_all(&wire).await;
    TlsFailure::Refused { socket, claimed, error: Box::new(error) }
}

/// A socket that is closed while something in it has not been read is reset, and the other side may never hear what was said to it last:
/// reads on until that side closes. The caller has a time limit.
pub(crate) async fn ignore_rest(socket: &mut TcpStream) {
    let _ = socket.shutdown().await;
    let mut ignored = Vec::with_capacity(HANDSHAKE_READ_BYTES);
    let mut left = IGNORED_BYTES_MAX;
    while left > 0 {
        ignored.clear();
        match socket.read_buf(&mut ignored).await {
            Ok(0) | Err(_) => return,
            Ok(bytes) => left = left.saturating_sub(bytes),
        }
    }
}

pub(crate) struct TlsReadHalf {
    socket: tcp::OwnedReadHalf,
    session: Arc<Mutex<Connection>>,
    received: Vec<u8>,
}

impl TlsReadHalf {
    /// Appends what has come to `buffer`; 0: the end.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            self.received.clear();
            if self.socket.read_buf(&mut self.received).await? == 0 {
                return Ok(0);
            }
            let before = buffer.len();
            take_in(&mut self.session.lock(), &self.received, buffer).map_err(io::Error::other)?;
            if buffer.len() > before {
                return Ok(buffer.len() - before);
            }
        }
    }
}

pub(crate) struct TlsWriteHalf {
    socket: tcp::OwnedWriteHalf,
    session: Arc<Mutex<Connection>>,
    unsent: Mutex<Unsent>,
}

/// What is encrypted and was not taken by the socket in full.
#[derive(Default)]
struct Unsent {
    wire: Vec<u8>,
    sent_bytes: usize,
    /// So many plain bytes it is.
    plain_bytes: usize,
}

impl TlsWriteHalf {
    pub(crate) fn socket(&self) -> &TcpStream {
        self.socket.as_ref()
    }

    /// Encrypts a piece of `bytes` and writes it. When the socket is full, the piece stays here, and the next call, which has to come with
    /// the same bytes, goes on with it.
    pub(crate) fn send(
        &self,
        bytes: &[u8],
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut unsent = self.unsent.lock();
        let unsent = &mut *unsent;
        if unsent.sent_bytes == unsent.wire.len() {
            let piece = &bytes[..bytes.len().min(WRITE_BYTES)];
            unsent.wire.clear();
            unsent.sent_bytes = 0;
            unsent.plain_bytes = piece.len();
            let mut session = self.session.lock();
            session.writer().write_all(piece)?;
            put_out(&mut session, &mut unsent.wire);
        }
        while unsent.sent_bytes < unsent.wire.len() {
            match write(&unsent.wire[unsent.sent_bytes..]) {
                Ok(bytes) => unsent.sent_bytes += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(std::mem::take(&mut unsent.plain_bytes))
    }

    /// Writes past the reactor.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        SockRef::from(self.socket()).send_with_flags(bytes, libc::MSG_NOSIGNAL)
    }
}
