//! Whether a refused connection proves that the process behind it is gone.
//!
//! A process listens for as long as it lives, so on one host nobody else answers in its place: the kernel refuses when, and only
//! when, no process listens. Through a network that is not so. A firewall that rejects with a TCP reset or an ICMP
//! "port unreachable", or a proxy whose other side is cut off, refuses for a process that lives, and may be leading. A leader that
//! is taken for dead is replaced at once, while it serves from its lease; so over a network only time, or a newer
//! incarnation, tells.
//!
//! A peer is near if its links were Unix sockets or memory of this host, whose names lead nowhere else. Then the Unix address is
//! asked as well, which no firewall rule reaches. Where TCP is configured even within a host, an address of this host is
//! believed: rules that reject there are beyond what is guarded against.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::UnixStream;

use crate::peer::Peer;
use crate::socket::{Transporter, unix_addresses};
use crate::transport::Transport;

impl Transport {
    /// The peer's address has refused a connection. Is its process gone?
    pub(crate) async fn refusal_is_proof(&self, peer: &Peer) -> bool {
        if !peer.is_near() && self.options.transporter != Transporter::Tcp {
            return false;
        }
        let Some(address) = &peer.address else { return false };
        let Ok(addresses) = tokio::net::lookup_host(address).await else { return false };
        for address in addresses {
            if !is_of_this_host(address.ip()) || !nobody_listens_beside(address).await {
                return false;
            }
        }
        true
    }
}

/// Only addresses of this host can be bound to.
fn is_of_this_host(address: IpAddr) -> bool {
    address.is_loopback() || std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// The Unix addresses that belong to a TCP address are refused by the kernel itself.
async fn nobody_listens_beside(tcp: SocketAddr) -> bool {
    for address in unix_addresses(tcp) {
        let Ok(address) = address else { return false };
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if !UnixStream::connect_addr(&address.into()).await.is_err_and(refused) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_of_this_host_and_a_documentation_address_is_not() {
        for (address, is_here) in [
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("::1", true),
            ("203.0.113.7", false),
            ("2001:db8::7", false),
        ] {
            assert_eq!(is_of_this_host(address.parse().unwrap()), is_here, "{address}");
        }
    }
}
