//! Whom a certificate of a cluster names.
//!
//! Names are DNS names below a domain that nobody can own (`internal` is kept for private use), and what they say holds within the
//! cluster whose authority has signed them. A node's certificate has two: its own, and one that all nodes of the cluster have, for
//! tools that know an address and not yet whose it is.

use std::fmt;

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const DOMAIN: &str = ".shoal.internal";
/// In the certificate of every node, and in no client's.
pub(crate) const ANY_NODE: &str = "node.shoal.internal";
/// Begins what a side that dials says of itself before it has shown a certificate (as its ALPN protocol).
const CLAIM: &str = "shoal/";

/// Who may use a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The node with this id.
    Node(u32),
    /// Management clients, and native clients in any place that the configuration keeps free.
    Client,
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Node(id) => write!(formatter, "node {id}"),
            Identity::Client => formatter.write_str("a client"),
        }
    }
}

impl Identity {
    /// `node-3`, `client`: the beginning of its files' names and of its DNS name.
    pub(crate) fn stem(self) -> String {
        match self {
            Identity::Node(id) => format!("node-{id}"),
            Identity::Client => "client".to_owned(),
        }
    }

    fn of_stem(stem: &str) -> Option<Identity> {
        match stem.strip_prefix("node-") {
            Some(id) => Some(Identity::Node(id.parse().ok()?)),
            None => (stem == "client").then_some(Identity::Client),
        }
    }

    pub(crate) fn dns_name(self) -> String {
        self.stem() + DOMAIN
    }

    /// All names of a certificate of this identity.
    pub(crate) fn dns_names(self) -> Vec<String> {
        match self {
            Identity::Node(_) => vec![self.dns_name(), ANY_NODE.to_owned()],
            Identity::Client => vec![self.dns_name()],
        }
    }

    pub(crate) fn claim(self) -> Vec<u8> {
        (CLAIM.to_owned() + &self.stem()).into_bytes()
    }

    /// What a side that dials claims to be. Nothing is proven by it: it is good for telling whom one has refused.
    pub fn of_claim(claim: &[u8]) -> Option<Identity> {
        Identity::of_stem(std::str::from_utf8(claim).ok()?.strip_prefix(CLAIM)?)
    }
}

/// Whom the certificate names. Whether that may be believed is a matter of its signature.
pub(crate) fn identities(certificate: &CertificateDer<'_>) -> Vec<Identity> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    let named = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Identity::of_stem(name.strip_suffix(DOMAIN)?),
        _ => None,
    };
    names.value.general_names.iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_claims_lead_back_to_the_identity_and_others_to_none() {
        for identity in [Identity::Node(3), Identity::Node(255), Identity::Client] {
            assert_eq!(Identity::of_claim(&identity.claim()), Some(identity));
        }
        for claim in [&b"h2"[..], b"shoal/", b"shoal/node-", b"shoal/node-x", b"shoal/node", b"\xff"] {
            assert_eq!(Identity::of_claim(claim), None, "{claim:?}");
        }
        assert_eq!(Identity::of_stem("node"), None, "the name of all nodes is nobody's own");
    }
}
