//! The sockets of links: TCP, with TLS or without, Unix, or a Unix socket as the bell of shared memory; whole during the handshake, then
//! in halves.
//!
//! Unix sockets have names without files ("abstract"), made of the TCP address of the same node: whoever can dial
//! one and sees that it is on this host finds the other. They exist in one network namespace only, as addresses do.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as std_unix;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpStream, UnixStream, tcp, unix};

use crate::shared::{self, SharedReadHalf, SharedWriteHalf};
use crate::tls::{DetachedTls, TlsReadHalf, TlsSocket, TlsWriteHalf};

/// What carries the bytes between two nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transporter {
    /// TCP, for nodes of different hosts.
    Tcp,
    /// A Unix socket, within a host.
    Unix,
    /// Two rings in memory, within a host; a Unix socket wakes whoever sleeps.
    #[default]
    SharedMemory,
}

impl Transporter {
    /// As operators read it.
    pub fn name(self) -> &'static str {
        match self {
            Transporter::Tcp => "TCP",
            Transporter::Unix => "Unix socket",
            Transporter::SharedMemory => "shared memory",
        }
    }
}

/// The Unix address beside a TCP address that a node listens on.
pub(crate) fn unix_address(tcp: SocketAddr) -> io::Result<std_unix::SocketAddr> {
    std_unix::SocketAddr::from_abstract_name(format!("shoal/{tcp}"))
}

/// Where the node may listen that a TCP address leads to: there, or on all addresses.
pub(crate) fn unix_addresses(tcp: SocketAddr) -> [io::Result<std_unix::SocketAddr>; 3] {
    let port = tcp.port();
    [tcp, (Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()].map(unix_address)
}

/// Connects to the node of this host that a TCP connection to `tcp` leads to.
pub(crate) async fn connect_unix(tcp: SocketAddr) -> io::Result<Socket> {
    let mut result = Err(io::ErrorKind::ConnectionRefused.into());
    for address in unix_addresses(tcp) {
        match UnixStream::connect_addr(&address?.into()).await {
            Ok(socket) => {
                let socket = Socket::Unix(socket);
                return socket.check_owner().map(|()| socket);
            }
            Err(error) => result = Err(error),
        }
    }
    result
}

pub(crate) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsSocket>),
    Unix(UnixStream),
}

/// A socket on its way from one thread's reactor to another's.
pub(crate) enum DetachedSocket {
    Tcp(std::net::TcpStream),
    Tls(Box<DetachedTls>),
    Unix(std_unix::UnixStream),
}

impl DetachedSocket {
    pub(crate) fn attach(self) -> io::Result<Socket> {
        Ok(match self {
            DetachedSocket::Tcp(socket) => Socket::Tcp(TcpStream::from_std(socket)?),
            DetachedSocket::Tls(socket) => Socket::Tls(Box::new(socket.attach()?)),
            DetachedSocket::Unix(socket) => Socket::Unix(UnixStream::from_std(socket)?),
        })
    }
}

impl Socket {
    /// A TCP socket with what links need.
    pub(crate) fn tcp(socket: TcpStream) -> io::Result<Socket> {
        socket.set_nodelay(true)?;
        SockRef::from(&socket).set_keepalive(true)?;
        Ok(Socket::Tcp(socket))
    }

    /// Anybody on a host may take or dial a Unix address, and only processes of one user share memory.
    pub(crate) fn check_owner(&self) -> io::Result<()> {
        match self {
            Socket::Unix(socket) if socket.peer_cred()?.uid() != rustix::process::geteuid().as_raw() => {
                Err(io::ErrorKind::PermissionDenied.into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn detach(self) -> io::Result<DetachedSocket> {
        Ok(match self {
            Socket::Tcp(socket) => DetachedSocket::Tcp(socket.into_std()?),
            Socket::Tls(socket) => DetachedSocket::Tls(Box::new(socket.detach()?)),
            Socket::Unix(socket) => DetachedSocket::Unix(socket.into_std()?),
        })
    }

    /// The TCP socket, whatever lies over it.
    pub(crate) fn as_tcp(&self) -> Option<&TcpStream> {
        match self {
            Socket::Tcp(socket) => Some(socket),
            Socket::Tls(socket) => Some(socket.socket()),
            Socket::Unix(_) => None,
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.write_all(bytes).await,
            Socket::Tls(socket) => socket.send(bytes).await,
            Socket::Unix(socket) => socket.write_all(bytes).await,
        }
    }

    /// Writes `bytes` and passes a descriptor on with them. Unix sockets only.
    pub(crate) async fn send_with_descriptor(&self, bytes: &[u8], descriptor: &OwnedFd) -> io::Result<()> {
        let Socket::Unix(socket) = self else { return Err(io::ErrorKind::Unsupported.into()) };
        let sent = socket.async_io(Interest::WRITABLE, || {
            let descriptors = [descriptor.as_fd()];
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            let parts = [io::IoSlice::new(bytes)];
            Ok(rustix::net::sendmsg(socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)?)
        });
        // A handshake's frame is far smaller than the socket's buffer, which is empty.
        if sent.await? == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Appends what has come to `buffer`, and returns the descriptor that came with it.
    pub(crate) async fn receive_with_descriptor(
        &mut self,
        buffer: &mut Vec<u8>,
    ) -> io::Result<(usize, Option<OwnedFd>)> {
        let socket = match self {
            Socket::Tcp(socket) => return Ok((socket.read_buf(buffer).await?, None)),
            Socket::Tls(socket) => return Ok((socket.receive(buffer).await?, None)),
            Socket::Unix(socket) => socket,
        };
        let received = socket.async_io(Interest::READABLE, || {
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = [0; 4096];
            let mut parts = [io::IoSliceMut::new(&mut bytes)];
            let message = rustix::net::recvmsg(&*socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
            let descriptor = ancillary.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
                _ => None,
            });
            buffer.extend_from_slice(&bytes[..message.bytes]);
            Ok((message.bytes, descriptor))
        });
        received.await
    }

    /// The halves of a link. `memory`: it goes through this, which was made here or not.
    pub(crate) fn split(self, memory: Option<(OwnedFd, bool)>) -> io::Result<(ReadHalf, WriteHalf)> {
        match (self, memory) {
            (Socket::Tcp(socket), _) => {
                let (read, write) = socket.into_split();
                Ok((ReadHalf::Tcp(read), WriteHalf::Tcp(write)))
            }
            (Socket::Tls(socket), _) => {
                let (read, write) = socket.split()?;
                Ok((ReadHalf::Tls(Box::new(read)), WriteHalf::Tls(Box::new(write))))
            }
            (Socket::Unix(socket), None) => {
                let (read, write) = socket.into_split();
                Ok((ReadHalf::Unix(read), WriteHalf::Unix(write)))
            }
            (Socket::Unix(socket), Some((memory, is_maker))) => {
                let (read, write) = socket.into_split();
                let (read, write) = shared::open(&memory, is_maker, read, write)?;
                Ok((ReadHalf::Shared(read), WriteHalf::Shared(write)))
            }
        }
    }
}

pub(crate) enum ReadHalf {
    Tcp(tcp::OwnedReadHalf),
    Tls(Box<TlsReadHalf>),
    Unix(unix::OwnedReadHalf),
    Shared(SharedReadHalf),
}

impl ReadHalf {
    /// Appends what has come to `buffer`, as far as its capacity goes (or as much as one read of encrypted bytes holds); 0: the end.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            ReadHalf::Tcp(socket) => socket.read_buf(buffer).await,
            ReadHalf::Tls(half) => half.read(buffer).await,
            ReadHalf::Unix(socket) => socket.read_buf(buffer).await,
            ReadHalf::Shared(half) => half.read(buffer).await,
        }
    }
}

pub(crate) enum WriteHalf {
    Tcp(tcp::OwnedWriteHalf),
    Tls(Box<TlsWriteHalf>),
    Unix(unix::OwnedWriteHalf),
    Shared(SharedWriteHalf),
}

impl WriteHalf {
    pub(crate) fn transporter(&self) -> Transporter {
        match self {
            WriteHalf::Tcp(_) | WriteHalf::Tls(_) => Transporter::Tcp,
            WriteHalf::Unix(_) => Transporter::Unix,
            WriteHalf::Shared(_) => Transporter::SharedMemory,
        }
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, WriteHalf::Tls(_))
    }

    /// Writes, past the reactor: from any thread, at once. What it does not take comes again with the next call.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            WriteHalf::Tcp(socket) => SockRef::from(socket.as_ref()).send_with_flags(bytes, libc::MSG_NOSIGNAL),
            WriteHalf::Tls(half) => half.send(bytes, |bytes| half.write(bytes)),
            WriteHalf::Unix(socket) => SockRef::from(socket.as_ref()).send_with_flags(bytes, libc::MSG_NOSIGNAL),
            WriteHalf::Shared(half) => half.send(bytes),
        }
    }

    /// Writes through the reactor, which has to learn when it is full again.
    pub(crate) fn send_when_writable(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            WriteHalf::Tcp(socket) => socket.as_ref().try_io(Interest::WRITABLE, || self.send(bytes)),
            WriteHalf::Tls(half) => half.socket().try_io(Interest::WRITABLE, || self.send(bytes)),
            WriteHalf::Unix(socket) => socket.as_ref().try_io(Interest::WRITABLE, || self.send(bytes)),
            WriteHalf::Shared(half) => half.send(bytes),
        }
    }

    pub(crate) async fn writable(&self) {
        // What is wrong with the socket shows when it is written to.
        let _ = match self {
            WriteHalf::Tcp(socket) => socket.writable().await,
            WriteHalf::Tls(half) => half.socket().writable().await,
            WriteHalf::Unix(socket) => socket.writable().await,
            WriteHalf::Shared(half) => {
                half.writable().await;
                Ok(())
            }
        };
    }

    /// The other side sees the end, and so does whoever reads here.
    pub(crate) fn shutdown(&self) {
        let both = std::net::Shutdown::Both;
        let _ = match self {
            WriteHalf::Tcp(socket) => SockRef::from(socket.as_ref()).shutdown(both),
            WriteHalf::Tls(half) => SockRef::from(half.socket()).shutdown(both),
            WriteHalf::Unix(socket) => SockRef::from(socket.as_ref()).shutdown(both),
            WriteHalf::Shared(half) => half.shutdown(),
        };
    }
}
