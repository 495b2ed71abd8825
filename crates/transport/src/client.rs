//! A blocking client: one connection, one call at a time. For `shoal mgm` and other programs that are no node.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use shoal_tls::node::{identities_of, is_about_certificates, listed};
use shoal_tls::rustls::{ClientConnection, Error, StreamOwned};
use shoal_tls::{Identity, NodeTls};

use crate::calls::{CallError, Reply};
use crate::frame::{self, Class, Head, PAYLOAD_BYTES_MAX, TooLarge};
use crate::hello::{HELLO_BYTES_MAX, Hello};
use crate::tls::{sentence, tls_error};

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Why a client of a node's port gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing was sent.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// `host:port`.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The node's sentence.
    #[error("{address} refused the connection: {reason}")]
    Refused {
        /// `host:port`.
        address: String,
        /// What an operator should do.
        reason: String,
    },
    /// The node may have acted on the call.
    #[error("the connection to {address} broke: {source}")]
    Broken {
        /// `host:port`.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The node may have acted on the call, or may still.
    #[error("{address} did not answer within {timeout_ms} ms")]
    TimedOut {
        /// `host:port`.
        address: String,
        /// How long it was waited for.
        timeout_ms: u128,
    },
    /// The node did not answer the call itself.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A blocking connection to a node, for tools.
#[derive(Debug)]
pub struct Client {
    address: String,
    stream: Stream,
    received: Vec<u8>,
    node: Hello,
    last_call: u64,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(room),
            Stream::Tls(stream) => stream.read(room),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

impl Client {
    /// Connects to a node. `me` is what a node would say about itself; its node id should be `CLIENT`.
    pub fn connect(address: &str, me: &Hello, timeout: Duration) -> Result<Client, ClientError> {
        Client::connect_with(address, me, timeout, None)
    }

    /// The same through TLS, if `tls` is given: to a node of the same cluster, or not at all.
    pub fn connect_with(
        address: &str,
        me: &Hello,
        timeout: Duration,
        tls: Option<&NodeTls>,
    ) -> Result<Client, ClientError> {
        let connect_error = |source| ClientError::Connect { address: address.to_string(), source };
        let socket = connect_any(address, timeout).map_err(connect_error)?;
        socket.set_nodelay(true).map_err(connect_error)?;
        socket.set_read_timeout(Some(timeout)).map_err(connect_error)?;
        let stream = match tls.map(|tls| tls.dial()) {
            None => Stream::Plain(socket),
            Some(Ok(session)) => Stream::Tls(Box::new(StreamOwned::new(session, socket))),
            Some(Err(error)) => return Err(connect_error(io::Error::other(error))),
        };
        let mut client = Client {
            address: address.to_string(),
            stream,
            received: Vec::new(),
            node: Hello::default(),
            last_call: 0,
        };
        let deadline = Instant::now() + timeout;
        let mut hello = Vec::new();
        Hello { lane: 0, lanes: 1, ..me.clone() }.encode(&mut hello);
        client.write(Head::of(Class::Hello), &hello)?;
        let (head, payload) = client.read(HELLO_BYTES_MAX, deadline, timeout)?;
        client.node = match head.class {
            Class::Hello => Hello::decode(&payload).map_err(|reason| client.refused(reason))?,
            Class::Refused => return Err(client.refused(String::from_utf8_lossy(&payload).into_owned())),
            class => return Err(client.refused(format!("{class:?} came in place of a hello"))),
        };
        client.check_identity()?;
        client.write(Head::of(Class::Ready), &[])?;
        Ok(client)
    }

    /// What the node said about itself.
    pub fn node(&self) -> &Hello {
        &self.node
    }

    /// Calls the node. After any error but `Call` the connection is of no more use.
    pub fn call(&mut self, kind: u8, payload: &[u8], timeout: Duration) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + timeout;
        self.last_call += 1;
        // Slot 0, and a generation of its own for every call.
        let id = self.last_call << 32;
        self.write(Head { kind, call: id, ..Head::of(Class::Request) }, payload)?;
        loop {
            let (head, payload) = self.read(PAYLOAD_BYTES_MAX, deadline, timeout)?;
            match head.class {
                Class::Reply if head.call == id => return Ok(Reply { kind: head.kind, payload }),
                Class::Unanswered if head.call == id => {
                    return Err(CallError::Unanswered(String::from_utf8_lossy(&payload).into_owned()).into());
                }
                Class::Refused => return Err(self.refused(String::from_utf8_lossy(&payload).into_owned())),
                Class::Ping => self.write(Head::of(Class::Pong), &[])?,
                _ => {}
            }
        }
    }

    fn refused(&self, reason: String) -> ClientError {
        ClientError::Refused { address: self.address.clone(), reason }
    }

    fn broken(&self, source: io::Error) -> ClientError {
        match tls_error(&source) {
            Some(error) if is_about_certificates(error) => self.refused(sentence(error, "the node")),
            Some(Error::InvalidMessage(_)) => self.refused("there is no TLS at this address".to_owned()),
            _ => ClientError::Broken { address: self.address.clone(), source },
        }
    }

    /// The certificate is that of the node which answers.
    fn check_identity(&self) -> Result<(), ClientError> {
        let Stream::Tls(stream) = &self.stream else { return Ok(()) };
        let identities = stream.conn.peer_certificates().map(identities_of).unwrap_or_default();
        match identities.contains(&Identity::Node(self.node.node.0)) {
            true => Ok(()),
            false => Err(self.refused(format!(
                "it says that it is node {}, and its certificate is for {}",
                self.node.node,
                listed(&identities)
            ))),
        }
    }

    fn write(&mut self, head: Head, payload: &[u8]) -> Result<(), ClientError> {
        let mut bytes = Vec::with_capacity(frame::HEADER_BYTES + payload.len());
        frame::append(&mut bytes, head, |buffer| buffer.extend_from_slice(payload))
            .map_err(|TooLarge(bytes)| CallError::TooLarge { bytes })?;
        self.stream.write_all(&bytes).map_err(|source| self.broken(source))
    }

    fn read(
        &mut self,
        payload_bytes_max: usize,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<(Head, Vec<u8>), ClientError> {
        loop {
            let decoded = frame::decode(&self.received, payload_bytes_max);
            let decoded = decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            if let Some((frame, size)) = decoded.map_err(|source| self.broken(source))? {
                let (head, payload) = (frame.head, frame.payload.to_vec());
                self.received.drain(..size);
                return Ok((head, payload));
            }
            self.read_some(deadline).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    ClientError::TimedOut { address: self.address.clone(), timeout_ms: timeout.as_millis() }
                }
                _ => self.broken(error),
            })?;
        }
    }

    fn read_some(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.socket().set_read_timeout(Some(left))?;
        let length = self.received.len();
        self.received.resize(length + READ_BYTES, 0);
        let result = self.stream.read(&mut self.received[length..]);
        self.received.truncate(length + result.as_ref().map_or(0, |bytes| *bytes));
        match result {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map(|_| ()),
        }
    }
}

fn connect_any(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in address.to_socket_addrs()? {
        result = TcpStream::connect_timeout(&address, timeout);
        if result.is_ok() {
            break;
        }
    }
    result
}
