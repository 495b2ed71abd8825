//! A cluster's certificate authority, and the certificates that it signs, as files of a directory.
//!
//! ```text
//! ca.pem                               to every host, and to every client
//! ca-key.pem                           stays with the operator: whoever has it can make a node
//! node-3-cert.pem, node-3-key.pem      to the host of node 3
//! client-cert.pem, client-key.pem      to management and native clients
//! ```

use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use super::identity::Identity;
use crate::files::{AUTHORITY, AUTHORITY_KEY, CERTIFICATE_MODE, KEY_MODE, write};
use crate::{Result, TlsError};

/// Ten years.
const AUTHORITY_VALID_FOR: Duration = Duration::from_secs(3653 * 86_400);
/// How far clocks of hosts may be behind that of the operator's.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(3600);

/// Signs certificates of one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

/// The names of the files with an identity's certificate and key.
pub(super) fn file_names(identity: Identity) -> (String, String) {
    let stem = identity.stem();
    (format!("{stem}-cert.pem"), format!("{stem}-key.pem"))
}

fn failed(error: rcgen::Error) -> TlsError {
    TlsError(format!("certificates cannot be made: {error}"))
}

fn params(name: &str, names: Vec<String>, valid_for: Duration) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_DIFFERENCE).into();
    params.not_after = (now + valid_for).into();
    Ok(params)
}

impl Authority {
    /// The authority of a directory, which is made if there is none. The directory is made as well.
    ///
    /// # Errors
    /// Files cannot be read or written, or hold something else.
    pub fn of_directory(directory: &Path, cluster: &str) -> Result<Authority> {
        let (cert_file, key_file) = (directory.join(AUTHORITY), directory.join(AUTHORITY_KEY));
        let unreadable = |path: &Path, why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", path.display()));
        if !cert_file.exists() {
            std::fs::create_dir_all(directory).map_err(|error| unreadable(directory, &error))?;
            let key = KeyPair::generate().map_err(failed)?;
            let mut authority = params(&format!("Shoal cluster {cluster}"), Vec::new(), AUTHORITY_VALID_FOR)?;
            authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
            let certificate = authority.self_signed(&key).map_err(failed)?;
            write(&key_file, &key.serialize_pem(), KEY_MODE)?;
            write(&cert_file, &certificate.pem(), CERTIFICATE_MODE)?;
        }
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| unreadable(path, &error));
        let key = KeyPair::from_pem(&read(&key_file)?).map_err(|error| unreadable(&key_file, &error))?;
        let issuer =
            Issuer::from_ca_cert_pem(&read(&cert_file)?, key).map_err(|error| unreadable(&cert_file, &error))?;
        Ok(Authority { issuer })
    }

    /// Makes a key and a certificate for it in `directory`, in place of those that are there.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn issue(&self, directory: &Path, identity: Identity, valid_for: Duration) -> Result<()> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut leaf = params(&identity.stem(), identity.dns_names(), valid_for)?;
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = match identity {
            Identity::Node(_) => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
            Identity::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        };
        let certificate = leaf.signed_by(&key, &self.issuer).map_err(failed)?;
        let (cert_file, key_file) = file_names(identity);
        write(&directory.join(key_file), &key.serialize_pem(), KEY_MODE)?;
        write(&directory.join(cert_file), &certificate.pem(), CERTIFICATE_MODE)
    }

    /// The identity has a certificate in this directory.
    pub fn has_issued(directory: &Path, identity: Identity) -> bool {
        directory.join(file_names(identity).0).exists()
    }
}
