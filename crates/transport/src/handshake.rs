//! The handshake: two hellos, judged by both sides.
//!
//! ```text
//! dialler                       acceptor
//! Hello        ->
//!                               judges it: handler, incarnation
//!              <-               Hello, or Refused or KeptAway with a sentence
//! judges it
//! Ready        ->               the link is up on both sides; over a Unix socket it brings the memory along
//!                               that frames are to go through
//! (or Refused)
//! ```
//!
//! Between hosts all of this may go through TLS (`trust`): then both sides know by certificates whom they talk to, and a hello that
//! says something else is refused.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_tls::Identity;
use shoal_tls::rustls::Error;
use shoal_types::NodeId;
use tokio::net::TcpStream;

use crate::frame::{self, Class, Head, TooLarge};
use crate::hello::{CLIENT, HELLO_BYTES_MAX, Hello};
use crate::input::Input;
use crate::peer::{Link, NotAdded, Peer};
use crate::shared;
use crate::socket::{ReadHalf, Socket, Transporter};
use crate::tls::{sentence, tls_error};
use crate::transport::Transport;

/// How often a process is looked at that may or may not be gone.
const ANSWER_POLL: Duration = Duration::from_millis(5);

/// Why there is no link.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The socket failed, or nothing came in time.
    Io(io::Error),
    /// One side refused: the sentence says why and what to do.
    Refused(String),
    /// The other side takes no link of this node's for a while, for what that has sent.
    KeptAway(String),
    /// A stranger's certificate is not one of this cluster. What it claims to be is not proven.
    Untrusted { socket: TcpStream, claimed: Option<Identity>, reason: String },
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        match tls_error(&error) {
            // What the other side says of this one's certificate comes when the session has begun already.
            Some(error @ Error::AlertReceived(_)) => HandshakeError::Refused(sentence(error, "the other side")),
            _ => HandshakeError::Io(error),
        }
    }
}

/// A link that is up, and what its task needs.
pub(crate) struct Established {
    pub link: Arc<Link>,
    pub socket: ReadHalf,
    pub input: Input,
}

/// The next frame of a handshake and its payload.
pub(crate) async fn read_frame(
    socket: &mut Socket,
    input: &mut Input,
) -> Result<(Class, Vec<u8>), HandshakeError> {
    let (class, payload, _) = read_frame_with_descriptor(socket, input).await?;
    Ok((class, payload))
}

/// The same, and the descriptor that came with it.
async fn read_frame_with_descriptor(
    socket: &mut Socket,
    input: &mut Input,
) -> Result<(Class, Vec<u8>, Option<OwnedFd>), HandshakeError> {
    let mut descriptor = None;
    loop {
        match input.next_frame(HELLO_BYTES_MAX) {
            Ok(Some(frame)) => return Ok((frame.head.class, frame.payload.to_vec(), descriptor)),
            Ok(None) => {}
            Err(error) => return Err(HandshakeError::Refused(format!("this is not a Shoal node: {error}"))),
        }
        let (bytes, received) = socket.receive_with_descriptor(input.room()).await?;
        if bytes == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        descriptor = descriptor.or(received);
    }
}

fn encoded(class: Class, payload: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match frame::append(&mut bytes, Head::of(class), |buffer| buffer.extend_from_slice(payload)) {
        Ok(()) => Ok(bytes),
        Err(TooLarge(_)) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

async fn write_frame(socket: &mut Socket, class: Class, payload: &[u8]) -> io::Result<()> {
    socket.send(&encoded(class, payload)?).await
}

/// Tells the other side that it is refused, and hands the sentence back as the error.
pub(crate) async fn refuse(socket: &mut Socket, reason: String) -> HandshakeError {
    send_reason(socket, Class::Refused, &reason).await;
    HandshakeError::Refused(reason)
}

async fn send_reason(socket: &mut Socket, class: Class, reason: &str) {
    let end = reason.floor_char_boundary(HELLO_BYTES_MAX);
    // It holds whether the other side hears it or not.
    let _ = write_frame(socket, class, &reason.as_bytes()[..end]).await;
}

impl Transport {
    /// The handshake of the side that dialled `peer` for `lane`.
    pub(crate) async fn greet(
        &self,
        peer: &Arc<Peer>,
        lane: u16,
        mut socket: Socket,
    ) -> Result<Established, HandshakeError> {
        let mut bytes = Vec::new();
        self.hello_for(lane, self.options.lanes).encode(&mut bytes);
        let greeted = Instant::now();
        write_frame(&mut socket, Class::Hello, &bytes).await?;
        let mut input = Input::default();
        let theirs = match read_frame(&mut socket, &mut input).await? {
            (Class::Hello, payload) => Hello::decode(&payload).map_err(HandshakeError::Refused)?,
            (Class::Refused, payload) => {
                return Err(HandshakeError::Refused(String::from_utf8_lossy(&payload).into_owned()));
            }
            (Class::KeptAway, payload) => {
                return Err(HandshakeError::KeptAway(String::from_utf8_lossy(&payload).into_owned()));
            }
            (class, _) => return Err(HandshakeError::Refused(format!("{class:?} came in place of a hello"))),
        };
        // A node that had only begun to start when it was dialled accepts now.
        if let Some(better) = self.better_socket(&socket).await {
            return Box::pin(self.greet(peer, lane, better)).await;
        }
        let judged = self.judge(&theirs, Some(peer.node));
        if let Err(reason) = judged.and_then(|()| self.check_identity(&socket, &theirs)) {
            return Err(refuse(&mut socket, reason).await);
        }
        // The lane is this side's choice, whatever the other echoes.
        let theirs = Hello { lane, lanes: self.options.lanes, ..theirs };
        if let Err(reason) = self.make_way(peer, &theirs).await {
            return Err(refuse(&mut socket, reason).await);
        }
        let memory = match &socket {
            Socket::Unix(_) if self.options.transporter == Transporter::SharedMemory => {
                (!peer.refuses_memory(theirs.incarnation)).then(shared::make_memory).and_then(Result::ok)
            }
            _ => None,
        };
        match &memory {
            Some(memory) => socket.send_with_descriptor(&encoded(Class::Ready, &[])?, memory).await?,
            None => write_frame(&mut socket, Class::Ready, &[]).await?,
        }
        self.establish(peer, socket, memory.map(|memory| (memory, true)), input, &theirs, greeted)
    }

    /// The handshake of the side that was dialled, after the other's hello.
    pub(crate) async fn welcome(
        &self,
        peer: &Arc<Peer>,
        mut socket: Socket,
        mut input: Input,
        theirs: &Hello,
    ) -> Result<Established, HandshakeError> {
        if let Err(reason) = self.check_identity(&socket, theirs).and_then(|()| self.judge(theirs, None)) {
            return Err(refuse(&mut socket, reason).await);
        }
        if let Some(reason) = peer.cut_off_refusal(self.node()) {
            send_reason(&mut socket, Class::KeptAway, &reason).await;
            return Err(HandshakeError::KeptAway(reason));
        }
        if let Err(reason) = self.make_way(peer, theirs).await {
            return Err(refuse(&mut socket, reason).await);
        }
        let mut bytes = Vec::new();
        self.hello_for(theirs.lane, theirs.lanes).encode(&mut bytes);
        let greeted = Instant::now();
        write_frame(&mut socket, Class::Hello, &bytes).await?;
        match read_frame_with_descriptor(&mut socket, &mut input).await? {
            (Class::Ready, _, memory) => {
                let memory = memory.map(|memory| (memory, false));
                self.establish(peer, socket, memory, input, theirs, greeted)
            }
            (Class::Refused, payload, _) => {
                Err(HandshakeError::Refused(String::from_utf8_lossy(&payload).into_owned()))
            }
            (class, _, _) => {
                Err(HandshakeError::Refused(format!("{class:?} came in place of the handshake's end")))
            }
        }
    }

    fn judge(&self, theirs: &Hello, dialled: Option<NodeId>) -> Result<(), String> {
        let ours = self.node();
        if theirs.node == ours && ours != CLIENT {
            return Err(format!(
                "node id {ours} is the id of the node at this address; start every node with a --node-id of its own"
            ));
        }
        if let Some(dialled) = dialled.filter(|dialled| *dialled != theirs.node) {
            return Err(format!(
                "node {} answers at the address of node {dialled}; correct HostName and port in config.ini",
                theirs.node
            ));
        }
        self.handler.check(theirs)
    }

    /// Sees to it that no link leads to another incarnation of the peer. If such a link still answers, two processes run
    /// under one node id, and the one that says hello is refused.
    async fn make_way(&self, peer: &Peer, theirs: &Hello) -> Result<(), String> {
        if theirs.node == CLIENT {
            return Ok(());
        }
        let is_other = |link: &Arc<Link>| link.incarnation != theirs.incarnation;
        let others: Vec<(Arc<Link>, u64)> =
            peer.links().into_iter().filter(is_other).map(|link| (Arc::clone(&link), link.pongs())).collect();
        others.iter().for_each(|(link, _)| link.ping());
        let deadline = tokio::time::Instant::now() + self.options.answer_deadline();
        while others.iter().any(|(link, _)| !link.is_closed()) && tokio::time::Instant::now() < deadline {
            if others.iter().any(|(link, pongs)| link.pongs() != *pongs) {
                return Err(format!(
                    "node id {} is in use by another process that is alive (started as {:x}); stop that one first, or \
                     start this one with a --node-id of its own",
                    theirs.node, others[0].0.incarnation
                ));
            }
            tokio::time::sleep(ANSWER_POLL).await;
        }
        for (link, _) in others {
            link.close("a newer process of the node has come, and this one does not answer");
        }
        // The caller's deadline ends this too.
        while !peer.has_left(theirs.incarnation) {
            tokio::time::sleep(ANSWER_POLL).await;
        }
        Ok(())
    }

    fn establish(
        &self,
        peer: &Arc<Peer>,
        socket: Socket,
        memory: Option<(OwnedFd, bool)>,
        input: Input,
        theirs: &Hello,
        greeted: Instant,
    ) -> Result<Established, HandshakeError> {
        let (read, write) = socket.split(memory)?;
        let clock = Arc::clone(&self.clock);
        let options = self.options.link();
        let link = Link::new(Arc::clone(peer), theirs.lane, theirs.incarnation, clock, options, write);
        match peer.add(&link, theirs, greeted) {
            Ok(()) => {
                peer.deliver(&*self.handler);
                Ok(Established { link, socket: read, input })
            }
            Err(NotAdded::OtherIncarnation(incarnation)) => Err(HandshakeError::Refused(format!(
                "node id {} was taken by another process (started as {incarnation:x}) during the handshake",
                theirs.node
            ))),
            // The last words of a process that was killed, or of one before it. One that lives tries again; and one that was cut off
            // meanwhile is told why then.
            Err(NotAdded::Dead | NotAdded::Leaving | NotAdded::CutOff) => {
                Err(io::Error::from(io::ErrorKind::ConnectionReset).into())
            }
        }
    }
}
