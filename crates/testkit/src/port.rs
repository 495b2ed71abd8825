//! Free ports that stay a test's own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A port of the loopback address where nobody listens, until a server that is told of it does. Between a server's end and its next
/// start nobody else gets it as a free one, and who connects is refused.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _socket: Socket,
}

impl ReservedPort {
    /// Any free one.
    pub fn any() -> io::Result<ReservedPort> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        // The server may bind it too, as it sets the same.
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address = socket.local_addr()?.as_socket();
        let number = address.ok_or_else(|| io::Error::other("not an internet address"))?.port();
        Ok(ReservedPort { number, _socket: socket })
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}
