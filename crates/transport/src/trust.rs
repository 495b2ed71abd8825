//! Which links go through TLS, and whom their certificates must name.
//!
//! A node that has a certificate offers TLS to whoever it dials, and takes it from whoever dials. Where one of the two nodes requires it there
//! is no link without; where none does, a node that has no certificate yet is talked to in clear. Links within a host (Unix sockets, shared
//! memory) have no TLS: their other end is a process of the same user.

use std::io::{Error, ErrorKind};

use shoal_tls::Identity;
use shoal_tls::node::{is_about_certificates, listed};
use shoal_types::NodeId;
use tokio::net::TcpStream;

use crate::handshake::{HandshakeError, read_frame, refuse};
use crate::hello::{CLIENT, Hello};
use crate::input::Input;
use crate::peer::Peer;
use crate::socket::Socket;
use crate::tls::{FIRST_BYTES, TlsFailure, TlsSocket, ignore_rest, is_client_hello, sentence};
use crate::transport::Transport;

const HOW: &str =
    "make one with `shoal config certificates` and name its directory by TlsSearchPath or --ndb-tls-search-path";

impl Transport {
    fn requires_tls(&self, peer: NodeId) -> bool {
        let of_peer = self.options.peers.iter().find(|known| known.node == peer);
        self.options.requires_tls || of_peer.is_some_and(|known| known.requires_tls)
    }

    /// What a link to `peer` goes through, of this side that dials.
    pub(crate) async fn encrypt(&self, peer: &Peer, socket: TcpStream) -> Result<Socket, HandshakeError> {
        let (me, node) = (self.node(), peer.node);
        let is_required = self.requires_tls(node);
        let Some(tls) = &self.options.tls else {
            return match is_required {
                true => Err(HandshakeError::Refused(format!(
                    "node {node} takes links with TLS only (RequireTls), and node {me} has no certificate: {HOW}"
                ))),
                false => Ok(Socket::Tcp(socket)),
            };
        };
        let session = tls.dial();
        let session = session.map_err(|error| HandshakeError::Refused(error.to_string()))?;
        match TlsSocket::dial(socket, session).await {
            Ok(socket) => Ok(Socket::Tls(Box::new(socket))),
            Err(TlsFailure::Io(error)) => Err(error.into()),
            Err(TlsFailure::Refused { error, .. }) => Err(match is_about_certificates(&error) {
                true => HandshakeError::Refused(sentence(&error, &format!("node {node}"))),
                false => Error::other(*error).into(),
            }),
            Err(TlsFailure::Plain { .. }) if !is_required => Ok(Socket::tcp(self.connect(peer).await?)?),
            Err(TlsFailure::Plain { socket, received }) => Err(told_in_clear(socket, &received).await),
        }
    }

    /// What a link goes through whose client has just connected: TLS if it begins with that. What was read of other clients is in
    /// `input`.
    pub(crate) async fn decrypt(&self, mut socket: Socket, input: &mut Input) -> Result<Socket, HandshakeError> {
        if !matches!(socket, Socket::Tcp(_)) {
            return Ok(socket);
        }
        while input.unread().len() < FIRST_BYTES {
            if socket.receive_with_descriptor(input.room()).await?.0 == 0 {
                return Err(Error::from(ErrorKind::UnexpectedEof).into());
            }
        }
        if !is_client_hello(input.unread()) {
            return Ok(socket);
        }
        let Some(tls) = &self.options.tls else {
            let reason = format!("node {} has no certificate, so there is no TLS with it: {HOW}", self.node());
            let error = refuse(&mut socket, reason).await;
            if let Socket::Tcp(mut socket) = socket {
                ignore_rest(&mut socket).await;
            }
            return Err(error);
        };
        let received = std::mem::take(input).unread().to_vec();
        let Socket::Tcp(socket) = socket else { return Ok(socket) };
        let from = socket.peer_addr().map(|address| address.ip().to_string()).unwrap_or_default();
        match TlsSocket::accept(socket, tls.accept(), received).await {
            Ok(socket) => Ok(Socket::Tls(Box::new(socket))),
            Err(TlsFailure::Refused { error, .. }) if !is_about_certificates(&error) => {
                Err(Error::other(*error).into())
            }
            Err(TlsFailure::Refused { socket, claimed, error }) => {
                let reason = format!("{} (it came from {from})", sentence(&error, "the other side"));
                Err(HandshakeError::Untrusted { socket, claimed, reason })
            }
            Err(TlsFailure::Io(error)) => Err(error.into()),
            Err(TlsFailure::Plain { .. }) => Err(Error::from(ErrorKind::InvalidData).into()),
        }
    }

    /// The other side is whom its certificate names; without TLS it may be anybody, where that is allowed.
    pub(crate) fn check_identity(&self, socket: &Socket, theirs: &Hello) -> Result<(), String> {
        let (me, node) = (self.node(), theirs.node);
        match socket {
            Socket::Unix(_) => Ok(()),
            Socket::Tcp(_) if !self.requires_tls(node) => Ok(()),
            Socket::Tcp(_) if node == CLIENT => Err(format!(
                "node {me} takes clients with TLS only (RequireTls): name the directory with the client's certificate by \
                 --ndb-tls-search-path"
            )),
            Socket::Tcp(_) => Err(format!(
                "node {me} takes links with TLS only (RequireTls), and node {node} has come without a certificate: {HOW}"
            )),
            Socket::Tls(socket) => {
                let identities = socket.identities();
                // What a node without a role may do is what clients may.
                let is_client = node == CLIENT || theirs.roles == 0;
                let is_its_own = identities.contains(&Identity::Node(node.0))
                    || is_client && identities.contains(&Identity::Client)
                    || node == CLIENT && !identities.is_empty();
                match is_its_own {
                    true => Ok(()),
                    false => Err(format!(
                        "it says that it is node {node}, and its certificate is for {}; give every node its own",
                        listed(&identities)
                    )),
                }
            }
        }
    }
}

/// The sentence of a node that has no TLS.
async fn told_in_clear(socket: TcpStream, received: &[u8]) -> HandshakeError {
    let mut input = Input::default();
    input.room().extend_from_slice(received);
    match read_frame(&mut Socket::Tcp(socket), &mut input).await {
        Ok((_, payload)) => HandshakeError::Refused(String::from_utf8_lossy(&payload).into_owned()),
        Err(error) => error,
    }
}
