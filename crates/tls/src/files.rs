//! Certificates and keys as PEM files, under the names that MySQL gives them in its data directory.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::{Result, TlsError};

pub(crate) const AUTHORITY: &str = "ca.pem";
pub(crate) const AUTHORITY_KEY: &str = "ca-key.pem";
const SERVER: &str = "server-cert.pem";
const SERVER_KEY: &str = "server-key.pem";
const CLIENT: &str = "client-cert.pem";
const CLIENT_KEY: &str = "client-key.pem";
/// Nobody but the server's user reads a key.
pub(crate) const KEY_MODE: u32 = 0o600;
pub(crate) const CERTIFICATE_MODE: u32 = 0o644;

/// Where a server's certificate, its key, and the authority that clients' certificates must come from are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    pub ca: Option<PathBuf>,
    pub cert: PathBuf,
    pub key: PathBuf,
}

impl Files {
    /// Those of a directory that made its own.
    pub fn of_directory(directory: &Path) -> Files {
        Files {
            ca: Some(directory.join(AUTHORITY)),
            cert: directory.join(SERVER),
            key: directory.join(SERVER_KEY),
        }
    }

    /// Makes an authority, a certificate of a server with these names and addresses, and one of a client, in a directory that has
    /// no certificate of a server. Returns whether it made them.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn make_missing(directory: &Path, names: &[String]) -> Result<bool> {
        if directory.join(SERVER).exists() {
            return Ok(false);
        }
        let failed = |error: rcgen::Error| TlsError(format!("certificates cannot be made: {error}"));
        let authority_key = KeyPair::generate().map_err(failed)?;
        let mut authority = params("Shoal auto-generated CA certificate", &[])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_cert = authority.self_signed(&authority_key).map_err(failed)?;
        write(&directory.join(AUTHORITY), &authority_cert.pem(), CERTIFICATE_MODE)?;
        write(&directory.join(AUTHORITY_KEY), &authority_key.serialize_pem(), KEY_MODE)?;
        let issuer = Issuer::from_params(&authority, &authority_key);
        let (server, client) = (ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth);
        let no_names: &[String] = &[];
        // The server's last: whoever finds it finds all.
        for (name, names, usage, cert_file, key_file) in [
            ("Shoal auto-generated client certificate", no_names, client, CLIENT, CLIENT_KEY),
            ("Shoal auto-generated server certificate", names, server, SERVER, SERVER_KEY),
        ] {
            let key = KeyPair::generate().map_err(failed)?;
            let mut leaf = params(name, names)?;
            leaf.use_authority_key_identifier_extension = true;
            leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            leaf.extended_key_usages = vec![usage];
            let cert = leaf.signed_by(&key, &issuer).map_err(failed)?;
            write(&directory.join(key_file), &key.serialize_pem(), KEY_MODE)?;
            write(&directory.join(cert_file), &cert.pem(), CERTIFICATE_MODE)?;
        }
        Ok(true)
    }
}

/// Ten years from today, as MySQL's own are.
fn params(name: &str, names: &[String]) -> Result<CertificateParams> {
    let names = names.to_vec();
    let mut params =
        CertificateParams::new(names).map_err(|error| TlsError(format!("no name for a certificate: {error}")))?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    let today = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let year = 1970 + (today.as_secs() / SECONDS_PER_YEAR) as i32;
    // From the beginning of the year, for clients whose clocks are behind.
    params.not_before = rcgen::date_time_ymd(year, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + VALID_YEARS, 12, 31);
    Ok(params)
}

const SECONDS_PER_YEAR: u64 = 31_556_952;
const VALID_YEARS: i32 = 10;

/// A file that is there in full or not at all.
pub(crate) fn write(path: &Path, text: &str, mode: u32) -> Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&unfinished, path));
    written.map_err(|error| TlsError(format!("{}: {error}", path.display())))
}
