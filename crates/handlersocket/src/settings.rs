//! The server's settings, as system variables `handlersocket_*` give them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use crate::host::Account;

/// Bytes that a line may have. Rows that are larger are for SQL.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// One of the two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub address: SocketAddr,
    pub may_write: bool,
    /// What clients have to say before anything is done for them; empty: nothing.
    pub secret: Vec<u8>,
    /// Whose rights clients have.
    pub account: Account,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub ports: Vec<Port>,
    /// A connection on which nothing happens for so long is closed.
    pub idle_timeout: Duration,
    /// How long a write waits for the rows that others have locked.
    pub lock_wait_timeout: Duration,
    pub backlog: u32,
    /// Of both ports together; whoever comes then is turned away.
    pub connections_max: usize,
    /// Sizes of the sockets' buffers; 0 is the system's own choice.
    pub send_buffer_bytes: usize,
    pub receive_buffer_bytes: usize,
    /// The least room that is offered to a read.
    pub read_bytes: usize,
    /// Clients encrypt, or are not served.
    pub requires_tls: bool,
}

/// Bytes that are asked for at once if nothing else is said.
const READ_BYTES: usize = 16 * 1024;

impl Settings {
    /// Reads the variables. No port, no server: `None`.
    ///
    /// # Errors
    /// An address that is none; one that others can reach without a secret.
    pub fn read(text: impl Fn(&str) -> String) -> Result<Option<Settings>, String> {
        let host = text("handlersocket_address");
        let number = |name: &str| text(name).parse::<u64>().unwrap_or(0);
        let mut ports = Vec::new();
        for (suffix, may_write) in [("", false), ("_wr", true)] {
            let port_name = format!("handlersocket_port{suffix}");
            let port = text(&port_name);
            if port.is_empty() {
                continue;
            }
            let number =
                port.parse().map_err(|_| format!("{port_name}: `{port}` is no port; write 0 to 65535"))?;
            let address = address(&host, number)?;
            let secret = text(&format!("handlersocket_plain_secret{suffix}")).into_bytes();
            if secret.is_empty() && !address.ip().is_loopback() {
                return Err(format!(
                    "handlersocket_address is {host}, which others can reach: set handlersocket_plain_secret{suffix}, or \
                     leave the address out to serve this machine alone"
                ));
            }
            let account = Account::parse(&text(&format!("handlersocket_account{suffix}")));
            ports.push(Port { address, may_write, secret, account });
        }
        if ports.is_empty() {
            return Ok(None);
        }
        let read_bytes = match number("handlersocket_readsize") as usize {
            0 => READ_BYTES,
            bytes => bytes.clamp(1024, LINE_BYTES_MAX),
        };
        Ok(Some(Settings {
            ports,
            idle_timeout: Duration::from_secs(number("handlersocket_timeout").max(1)),
            lock_wait_timeout: Duration::from_secs(number("handlersocket_wrlock_timeout")),
            backlog: number("handlersocket_backlog").clamp(1, u64::from(u32::MAX)) as u32,
            connections_max: number("handlersocket_max_connections").max(1) as usize,
            send_buffer_bytes: number("handlersocket_sndbuf") as usize,
            receive_buffer_bytes: number("handlersocket_rcvbuf") as usize,
            read_bytes,
            requires_tls: text("handlersocket_tls") == "ON",
        }))
    }
}

fn address(host: &str, port: u16) -> Result<SocketAddr, String> {
    if host.is_empty() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let found = (host, port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| format!("handlersocket_address: `{host}` has no address"))
}

/// Whether a secret is the right one, in a time that does not tell where it differs.
pub fn is_secret(said: &[u8], secret: &[u8]) -> bool {
    let mut difference = u8::from(said.len() != secret.len());
    for (position, byte) in secret.iter().enumerate() {
        difference |= byte ^ said.get(position).copied().unwrap_or(!byte);
    }
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &'static [(&str, &str)]) -> Result<Option<Settings>, String> {
        Settings::read(|name| {
            let value = values.iter().find(|(known, _)| name == format!("handlersocket_{known}"));
            value.map_or(String::new(), |(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_a_port_there_is_no_door() {
        assert_eq!(settings(&[]), Ok(None));
    }

    #[test]
    fn without_an_address_it_is_loopback() {
        let settings = settings(&[("port", "9998"), ("account", "root@localhost")]).unwrap().unwrap();
        assert_eq!(settings.ports.len(), 1);
        assert_eq!(settings.ports[0].address, "127.0.0.1:9998".parse().unwrap());
        assert!(!settings.ports[0].may_write);
    }

    #[test]
    fn what_others_can_reach_needs_a_secret() {
        let refused = settings(&[("address", "0.0.0.0"), ("port_wr", "0"), ("plain_secret", "x")]).unwrap_err();
        assert!(refused.contains("handlersocket_plain_secret_wr"), "{refused}");
        assert!(settings(&[("address", "0.0.0.0"), ("port_wr", "0"), ("plain_secret_wr", "x")]).is_ok());
        assert!(settings(&[("port", "many")]).is_err());
    }

    #[test]
    fn only_the_whole_secret_is_the_secret() {
        assert!(is_secret(b"reef", b"reef"));
        for wrong in [&b""[..], b"ree", b"reefs", b"Reef", b"reeF"] {
            assert!(!is_secret(wrong, b"reef"));
        }
    }
}
