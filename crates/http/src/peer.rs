//! Who is at the other end.

use std::net::{IpAddr, SocketAddr};

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: IpAddr,
    /// Where it has come to.
    pub own: SocketAddr,
    /// Nobody else reads what is said.
    pub is_encrypted: bool,
}

impl Peer {
    /// Nothing between the two leaves the machine.
    pub fn is_local(&self) -> bool {
        self.address.is_loopback() || self.address == self.own.ip().to_canonical()
    }

    /// As accounts name it; the loopback interface as MySQL clients that come through it.
    pub fn host(&self) -> String {
        if self.address.is_loopback() { "localhost".to_owned() } else { self.address.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_leave_the_machine_is_local() {
        let peer = |address: &str, own: &str| Peer {
            address: address.parse().unwrap(),
            own: own.parse().unwrap(),
            is_encrypted: false,
        };
        for (address, own, is_local, host) in [
            ("127.0.0.1", "127.0.0.1:1", true, "localhost"),
            ("::1", "[::1]:1", true, "localhost"),
            ("10.0.0.1", "10.0.0.1:1", true, "10.0.0.1"),
            ("10.0.0.1", "[::ffff:10.0.0.1]:1", true, "10.0.0.1"),
            ("10.0.0.2", "10.0.0.1:1", false, "10.0.0.2"),
        ] {
            let peer = peer(address, own);
            assert_eq!((peer.is_local(), peer.host().as_str()), (is_local, host), "{address} {own}");
        }
    }
}
