//! The server's side of TLS: one configuration for all connections, replaced as a whole.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{ProtocolVersion, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

use crate::{Files, Result, TlsError};

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
    config: RwLock<Arc<ServerConfig>>,
}

impl Acceptor {
    /// # Errors
    /// A file that is missing, holds nothing usable, or does not belong to the others.
    pub fn new(options: Options) -> Result<Acceptor> {
        let config = load(&options)?;
        Ok(Acceptor { options, config: RwLock::new(config) })
    }

    /// Reads the files again, for connections that begin from now on.
    ///
    /// # Errors
    /// As [`Acceptor::new`]; what was there before goes on.
    pub fn reload(&self) -> Result<()> {
        let config = load(&self.options)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// One connection's side, before its handshake.
    ///
    /// # Errors
    /// No random numbers from the system.
    pub fn accept(&self) -> Result<ServerConnection> {
        let config = Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner));
        ServerConnection::new(config).map_err(|error| TlsError(format!("a TLS session cannot begin: {error}")))
    }

    pub fn options(&self) -> &Options {
        &self.options
    }
}

fn load(options: &Options) -> Result<Arc<ServerConfig>> {
    let Files { ca, cert, key } = &options.files;
    let unusable = |path: &Path, why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", path.display()));
    let chain = certificates(cert)?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
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
    if let Ok(ticketer) = aws_lc_rs::Ticketer::new() {
        config.ticketer = ticketer;
    }
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
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
    let Some(suite) = session.negotiated_cipher_suite() else { return String::new() };
    let name = format!("{:?}", suite.suite());
    match name.strip_prefix("TLS13_") {
        Some(rest) => format!("TLS_{rest}"),
        // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256.
        None => {
            let name = name.trim_start_matches("TLS_").replace("_WITH", "").replace("AES_", "AES");
            let name = name.replace('_', "-");
            name.strip_suffix("-SHA256")
                .filter(|name| name.contains("CHACHA20"))
                .map_or(name.clone(), str::to_owned)
        }
    }
}
