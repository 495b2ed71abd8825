//! A client's side of TLS with a server: what `shoal sql` connects with.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::acceptor::certificates;
use crate::{Result, TlsError};

/// How connections to servers are encrypted. Clones share the sessions that are resumed.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<ClientConfig>);

impl ClientTls {
    /// Against listeners alone: whatever certificate the server shows is taken, as by MySQL's clients without `--ssl-ca`.
    ///
    /// # Errors
    /// The library has none of the protocol's versions.
    pub fn of_any_server() -> Result<ClientTls> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        ClientTls::with(Arc::new(AnyServer { algorithms }))
    }

    /// The server has to show a certificate of these authorities, for the name that it is connected to by.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn of_authority(ca: &Path) -> Result<ClientTls> {
        let unusable = |why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", ca.display()));
        let mut roots = RootCertStore::empty();
        for certificate in certificates(ca)? {
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        ClientTls::with(verifier.map_err(|error| unusable(&error))?)
    }

    fn with(verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientTls> {
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError(format!("TLS cannot be used: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(ClientTls(Arc::new(config)))
    }

    /// A session with the server of this name or address.
    ///
    /// # Errors
    /// That is no name.
    pub fn begin(&self, host: &str) -> Result<ClientConnection> {
        let failed = |why: &dyn std::fmt::Display| TlsError(format!("no TLS session with `{host}`: {why}"));
        let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(&error))?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| failed(&error))
    }
}

/// Takes every certificate; that the server has its key is checked nevertheless.
#[derive(Debug)]
struct AnyServer {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
