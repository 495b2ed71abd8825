//! The server's side of TLS: one configuration for all connections, replaced as a whole.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CipherSuite, HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};

use crate::expiry::{self, ExpiryWatch};
use crate::{CertificateFacts, Files, Moment, Result, TlsError};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Tls12,
    Tls13,
}

impl Version {
    /// As in the system variable `tls_version`.
    pub fn name(self) -> &'static str {
        match self {
            Version::Tls12 => "TLSv1.2",
            Version::Tls13 => "TLSv1.3",
        }
    }

    /// The versions of a list such as `TLSv1.2,TLSv1.3`; none of it is no TLS at all.
    ///
    /// # Errors
    /// A name that is none of these: older versions are refused as MySQL 8.4 refuses them.
    pub fn parse_list(list: &str) -> Result<Vec<Version>> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let parse = |name: &str| match [Version::Tls12, Version::Tls13].into_iter().find(|one| one.name() == name)
        {
            Some(version) => Ok(version),
            None => Err(TlsError(format!("tls_version: '{name}' is not supported; use TLSv1.2, TLSv1.3 or both"))),
        };
        names.map(parse).collect()
    }

    fn supported(self) -> &'static SupportedProtocolVersion {
        match self {
            Version::Tls12 => &TLS12,
            Version::Tls13 => &TLS13,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub files: Files,
    pub versions: Vec<Version>,
}

/// Makes the server's side of new connections.
pub struct Acceptor {
    options: Options,
    loaded: RwLock<Loaded>,
    expiry: ExpiryWatch,
}

/// What was made of the files.
#[derive(Clone)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// When the server's certificate is valid.
    validity: Option<(Moment, Moment)>,
}

impl Acceptor {
    /// # Errors
    /// A file that is missing, holds nothing usable, or does not belong to the others.
    pub fn new(options: Options) -> Result<Acceptor> {
        let loaded = load(&options)?;
        Ok(Acceptor { options, loaded: RwLock::new(loaded), expiry: ExpiryWatch::default() })
    }

    /// Reads the files again, for connections that begin from now on.
    ///
    /// # Errors
    /// As [`Acceptor::new`]; what was there before goes on.
    pub fn reload(&self) -> Result<()> {
        let loaded = load(&self.options)?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        self.expiry.reset();
        Ok(())
    }

    /// For connections that begin now.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner).config)
    }

    /// One connection's side, before its handshake.
    ///
    /// # Errors
    /// No random numbers from the system.
    pub fn accept(&self) -> Result<ServerConnection> {
        ServerConnection::new(self.config())
            .map_err(|error| TlsError(format!("a TLS session cannot begin: {error}")))
    }

    /// From when to when the server's certificate is valid.
    pub fn validity(&self) -> Option<(Moment, Moment)> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).validity
    }

    /// What the operator should hear of a certificate that ends within 30 days or has ended: once a day, however often this is asked.
    pub fn expiry_warning(&self) -> Option<String> {
        self.expiry_warning_at(expiry::now())
    }

    fn expiry_warning_at(&self, now: i64) -> Option<String> {
        let (_, end) = self.validity()?;
        let advice = "replace it and say ALTER INSTANCE RELOAD TLS";
        self.expiry.warning(now, end, &self.options.files.cert, "the server", advice)
    }

    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// Suites in the order of MySQL's `tls_ciphersuites`, whose first rustls has second: many processors have its hash (SHA-256) built in and not that of
/// the others, which was a tenth of a handshake on either side, and its shorter key is cheaper for all that follows.
fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider
}

fn load(options: &Options) -> Result<Loaded> {
    let Files { ca, cert, key } = &options.files;
    let unusable = |path: &Path, why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", path.display()));
    let chain = certificates(cert)?;
    let facts = chain.first().and_then(|certificate| CertificateFacts::parse(certificate));
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = Arc::new(provider());
    let versions: Vec<_> = options.versions.iter().map(|version| version.supported()).collect();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| TlsError(format!("tls_version: {error}")))?;
    let builder = match ca {
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(ca)? {
                roots.add(certificate).map_err(|error| unusable(ca, &error))?;
            }
            // Clients may come without a certificate; one that they do show is checked.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| unusable(ca, &error))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key_der).map_err(|error| {
        TlsError(format!("{} and {} do not go together: {error}", cert.display(), key.display()))
    })?;
    config.ignore_client_order = true;
    if let Ok(ticketer) = aws_lc_rs::Ticketer::new() {
        config.ticketer = ticketer;
    }
    let validity = facts.map(|facts| (facts.not_before, facts.not_after));
    Ok(Loaded { config: Arc::new(config), validity })
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let unusable = |why: String| TlsError(format!("{}: {why}", path.display()));
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(error.to_string()))?;
    match certificates.is_empty() {
        true => Err(unusable("no certificate is in this file".to_owned())),
        false => Ok(certificates),
    }
}

/// The protocol of a session whose handshake is done, as `Ssl_version` has it.
pub fn session_version(session: &ServerConnection) -> &'static str {
    match session.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Version::Tls12.name(),
        _ => Version::Tls13.name(),
    }
}

/// Its cipher suite by the name that OpenSSL has for it, as `Ssl_cipher` has it.
pub fn session_cipher(session: &ServerConnection) -> String {
    session.negotiated_cipher_suite().map(|suite| openssl_name(suite.suite())).unwrap_or_default()
}

/// The certificate that the client has shown; the authority has signed it, or there would be no session.
pub fn session_client(session: &ServerConnection) -> Option<CertificateFacts> {
    session.peer_certificates()?.first().and_then(|certificate| CertificateFacts::parse(certificate))
}

/// The session goes on with the keys of an earlier one.
pub fn session_is_resumed(session: &ServerConnection) -> bool {
    session.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// The cipher suites that the server takes, as `Ssl_cipher_list` has them.
pub fn cipher_names() -> String {
    let suites = aws_lc_rs::DEFAULT_CIPHER_SUITES.iter();
    suites.map(|suite| openssl_name(suite.suite())).collect::<Vec<_>>().join(":")
}

fn openssl_name(suite: CipherSuite) -> String {
    let name = format!("{suite:?}");
    if let Some(rest) = name.strip_prefix("TLS13_") {
        return format!("TLS_{rest}");
    }
    // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256.
    let name = name.trim_start_matches("TLS_").replace("_WITH", "").replace("AES_", "AES").replace('_', "-");
    match name.strip_suffix("-SHA256") {
        Some(short) if name.contains("CHACHA20") => short.to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection};

    use super::*;
    use crate::expiry::SECONDS_PER_DAY;

    fn acceptor(directory: &Path, versions: &str) -> Result<Acceptor> {
        Files::make_missing(directory, &["localhost".to_owned()])?;
        Acceptor::new(Options { files: Files::of_directory(directory), versions: Version::parse_list(versions)? })
    }

    fn client(directory: &Path, name: &'static str) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots.add(certificates(&directory.join("ca.pem")).unwrap().remove(0)).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap()
    }

    /// Lets the two shake hands.
    fn meet(server: &mut ServerConnection, client: &mut ClientConnection) -> Result<(), rustls::Error> {
        while server.is_handshaking() || client.is_handshaking() {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            server.read_tls(&mut bytes.as_slice()).unwrap();
            server.process_new_packets()?;
            bytes.clear();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            let mut received = bytes.as_slice();
            while !received.is_empty() {
                client.read_tls(&mut received).unwrap();
            }
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn a_directory_makes_certificates_once_that_clients_can_verify() {
        let directory = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned()];
        assert!(Files::make_missing(directory.path(), &names).unwrap());
        assert!(!Files::make_missing(directory.path(), &names).unwrap());
        for (versions, version, cipher) in [
            ("TLSv1.2,TLSv1.3", "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
            ("TLSv1.2", "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ] {
            let acceptor = acceptor(directory.path(), versions).unwrap();
            let (mut server, mut client) = (acceptor.accept().unwrap(), client(directory.path(), "localhost"));
            meet(&mut server, &mut client).unwrap();
            assert_eq!((session_version(&server), session_cipher(&server).as_str()), (version, cipher));
        }
        let acceptor = acceptor(directory.path(), "TLSv1.3").unwrap();
        let mut other = client(directory.path(), "elsewhere");
        assert!(meet(&mut acceptor.accept().unwrap(), &mut other).is_err());
    }

    #[test]
    fn a_certificate_that_ends_soon_is_told_of_once_a_day() {
        let directory = tempfile::tempdir().unwrap();
        let acceptor = acceptor(directory.path(), "TLSv1.3").unwrap();
        let (_, Moment(end)) = acceptor.validity().unwrap();
        assert_eq!(acceptor.expiry_warning(), None);
        assert_eq!(acceptor.expiry_warning_at(end - 31 * SECONDS_PER_DAY), None);
        let told = acceptor.expiry_warning_at(end - 29 * SECONDS_PER_DAY).unwrap();
        assert!(
            told.contains("server-cert.pem") && told.contains("in 29 days") && told.contains("Dec 31"),
            "{told}"
        );
        assert_eq!(acceptor.expiry_warning_at(end - 29 * SECONDS_PER_DAY + 60), None);
        assert!(acceptor.expiry_warning_at(end - 28 * SECONDS_PER_DAY).is_some());
        assert!(acceptor.expiry_warning_at(end + 1).is_some_and(|told| told.contains("has expired")));
        acceptor.reload().unwrap();
        assert!(acceptor.expiry_warning_at(end + 2).is_some());
    }

    #[test]
    fn ciphers_have_the_names_that_openssl_gives_them() {
        for (suite, name) in [
            (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
            (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
            (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(openssl_name(suite), name);
        }
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        assert!(Version::parse_list("TLSv1.1").unwrap_err().0.contains("'TLSv1.1'"));
        assert_eq!(Version::parse_list("").unwrap(), []);
        let directory = tempfile::tempdir().unwrap();
        let acceptor = acceptor(directory.path(), "TLSv1.3").unwrap();
        std::fs::write(directory.path().join("server-key.pem"), "no key").unwrap();
        assert!(acceptor.reload().unwrap_err().0.contains("server-key.pem"));
        std::fs::remove_file(directory.path().join("server-cert.pem")).unwrap();
        assert!(acceptor.reload().unwrap_err().0.contains("server-cert.pem"));
        // What was there before goes on.
        acceptor.accept().unwrap();
    }
}
