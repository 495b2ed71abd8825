//! The PROXY protocol, version 2 (haproxy.org, proxy-protocol.txt, 2.2): a proxy says before anything else for whom it has connected.
//!
//! Only addresses of `proxy_protocol_networks` are believed, because whoever is may name any client. From them a header may come, and
//! need not; from all others it is refused. The greeting does not wait for it: it depends on nothing that a header says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family and protocol, length.
const FIXED_BYTES: usize = 16;
/// Bytes behind them: addresses and whatever else proxies tell. Theirs are some hundred.
const REST_BYTES_MAX: usize = 2048;
const VERSION: u8 = 2;
const STREAM: u8 = 1;

/// What a connection begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// More bytes are needed to tell.
    Unfinished,
    /// A client that has come by itself.
    NoHeader,
    /// `client`: for whom the proxy has connected; `None`: for itself, to see whether the server lives.
    Header { bytes: usize, client: Option<IpAddr> },
    /// It begins as a header does, and is none that this server knows.
    Bad,
}

/// Reads the beginning of what a connection has brought.
pub fn beginning(received: &[u8]) -> Beginning {
    let signed = received.len().min(SIGNATURE.len());
    if received[..signed] != SIGNATURE[..signed] {
        return Beginning::NoHeader;
    }
    let Some((fixed, rest)) = received.split_first_chunk::<FIXED_BYTES>() else { return Beginning::Unfinished };
    let (version, command) = (fixed[12] >> 4, fixed[12] & 0xf);
    let (family, protocol) = (fixed[13] >> 4, fixed[13] & 0xf);
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if version != VERSION || command > 1 || length > REST_BYTES_MAX {
        return Beginning::Bad;
    }
    let Some(rest) = rest.get(..length) else { return Beginning::Unfinished };
    let is_of_itself = command == 0;
    let client = match (is_of_itself, family, protocol) {
        // Unspecified, and Unix sockets of another machine: there is nothing to know the client by.
        (true, _, _) | (_, 0, _) | (_, 3, STREAM) => Some(None),
        (_, 1, STREAM) => {
            rest.first_chunk::<4>().filter(|_| length >= 12).map(|&ip| Some(Ipv4Addr::from(ip).into()))
        }
        (_, 2, STREAM) => {
            rest.first_chunk::<16>().filter(|_| length >= 36).map(|&ip| Some(Ipv6Addr::from(ip).into()))
        }
        _ => None,
    };
    match client {
        Some(client) => Beginning::Header { bytes: FIXED_BYTES + length, client },
        None => Beginning::Bad,
    }
}

/// A whole header's signature is there.
pub fn is_header(received: &[u8]) -> bool {
    received.starts_with(&SIGNATURE)
}

/// Whose headers are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyNetworks(Vec<Network>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Network {
    All,
    /// Unix sockets and loopback addresses.
    Local,
    /// Addresses that begin with as many bits as this one.
    Subnet(IpAddr, u8),
}

impl ProxyNetworks {
    /// As MariaDB writes them: addresses and subnets (`192.168.0.0/16`), `localhost`, `*`, separated by commas or spaces.
    ///
    /// # Errors
    /// A sentence about what is none of these.
    pub fn parse(list: &str) -> Result<ProxyNetworks, String> {
        let words = list.split([',', ' ']).filter(|word| !word.is_empty());
        words
            .map(|word| Network::parse(word).ok_or_else(|| not_understood(word)))
            .collect::<Result<_, _>>()
            .map(ProxyNetworks)
    }

    /// `address`: `None` is a Unix socket.
    pub fn contain(&self, address: Option<IpAddr>) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }
}

fn not_understood(word: &str) -> String {
    format!("proxy_protocol_networks: `{word}` is no network; write 10.1.2.3, 10.0.0.0/8, localhost or *")
}

impl Network {
    fn parse(word: &str) -> Option<Network> {
        if word == "*" {
            return Some(Network::All);
        }
        if word.eq_ignore_ascii_case("localhost") {
            return Some(Network::Local);
        }
        let (address, bits) = match word.split_once('/') {
            Some((address, bits)) => (address.parse::<IpAddr>().ok()?, bits.parse().ok()?),
            None => {
                let address = word.parse::<IpAddr>().ok()?;
                (address, if address.is_ipv4() { 32 } else { 128 })
            }
        };
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        (bits <= bits_max).then_some(Network::Subnet(address, bits))
    }

    fn contains(&self, address: Option<IpAddr>) -> bool {
        // Shifting by all bits there are would be none.
        let v4 = |ip: Ipv4Addr, bits: u8| u32::from(ip).checked_shr(32 - u32::from(bits)).unwrap_or(0);
        let v6 = |ip: Ipv6Addr, bits: u8| u128::from(ip).checked_shr(128 - u32::from(bits)).unwrap_or(0);
        match (self, address.map(|address| address.to_canonical())) {
            (Network::All, _) | (Network::Local, None) => true,
            (Network::Local, Some(address)) => address.is_loopback(),
            (Network::Subnet(IpAddr::V4(network), bits), Some(IpAddr::V4(ip))) => {
                v4(*network, *bits) == v4(ip, *bits)
            }
            (Network::Subnet(IpAddr::V6(network), bits), Some(IpAddr::V6(ip))) => {
                v6(*network, *bits) == v6(ip, *bits)
            }
            (Network::Subnet(..), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        [&SIGNATURE[..], &[command, family], &(rest.len() as u16).to_be_bytes(), rest].concat()
    }

    #[test]
    fn a_header_names_the_client_and_none_of_its_prefixes_does() {
        let v4 = [&[10, 1, 2, 3][..], &[10, 9, 9, 9], &[0x30, 0x39, 0x0c, 0xea]].concat();
        let v6 = [&Ipv6Addr::LOCALHOST.octets()[..], &[0; 16], &[0; 4], &[3, 0, 4, 1, 2, 3, 4]].concat();
        for (bytes, client) in [
            (header(0x21, 0x11, &v4), Some("10.1.2.3".parse().unwrap())),
            (header(0x21, 0x21, &v6), Some("::1".parse().unwrap())),
            (header(0x21, 0x31, &[0; 216]), None),
            (header(0x21, 0x00, &[]), None),
            (header(0x20, 0x11, &v4), None),
        ] {
            for length in 0..bytes.len() {
                assert_eq!(beginning(&bytes[..length]), Beginning::Unfinished, "{length} bytes");
            }
            let expected = Beginning::Header { bytes: bytes.len(), client };
            assert_eq!(beginning(&[&bytes[..], b"more"].concat()), expected);
        }
    }

    #[test]
    fn what_is_no_header_or_a_bad_one_is_told_apart() {
        assert_eq!(beginning(b"\x20\0\0\x01"), Beginning::NoHeader);
        assert_eq!(beginning(b"PROXY TCP4"), Beginning::NoHeader);
        let short = header(0x21, 0x11, &[10, 1, 2, 3]);
        let (version, command) = (header(0x11, 0x11, &[0; 12]), header(0x22, 0x11, &[0; 12]));
        let (datagram, family) = (header(0x21, 0x12, &[0; 12]), header(0x21, 0x41, &[0; 12]));
        for bytes in [short, version, command, datagram, family, header(0x21, 0x11, &[0; 3000])] {
            assert_eq!(beginning(&bytes), Beginning::Bad, "{bytes:?}");
        }
    }

    #[test]
    fn networks_are_read_as_mariadb_writes_them() {
        let networks = ProxyNetworks::parse("10.0.0.0/8, 192.168.1.7,fd00::/8 localhost").unwrap();
        let contain = |address: &str| networks.contain(Some(address.parse().unwrap()));
        for address in ["10.255.0.1", "::ffff:10.1.2.3", "192.168.1.7", "fdff::1", "127.0.0.1", "::1"] {
            assert!(contain(address), "{address}");
        }
        for address in ["11.0.0.1", "192.168.1.8", "fe00::1"] {
            assert!(!contain(address), "{address}");
        }
        assert!(networks.contain(None));
        assert!(!ProxyNetworks::parse("").unwrap().contain(None));
        assert!(ProxyNetworks::parse("*").unwrap().contain(Some("8.8.8.8".parse().unwrap())));
        assert!(ProxyNetworks::parse("0.0.0.0/0").unwrap().contain(Some("8.8.8.8".parse().unwrap())));
        for list in ["10.0.0.0/33", "host", "::/129", "10.0.0.0/", "10.0.0/8"] {
            assert!(ProxyNetworks::parse(list).is_err(), "{list}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_none_are_counted_that_did_not_come(rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            for bytes in [rest.clone(), [&SIGNATURE[..], &rest].concat(), header(0x21, 0x11, &rest)] {
                if let Beginning::Header { bytes: count, .. } = beginning(&bytes) {
                    prop_assert!(count <= bytes.len());
                }
            }
        }
    }
}
