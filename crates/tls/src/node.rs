//! TLS between the nodes of a cluster: mutual, TLS 1.3 alone, under one certificate authority for the cluster.
//!
//! - [`Identity`]: whom a certificate names; [`Authority`]: makes them.
//! - [`NodeTls`]: a node's own certificate, and both sides of new sessions. Files that are replaced are taken with the next session.
//!
//! Sessions are never resumed: each handshake checks the certificates.

mod authority;
mod identity;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore, ServerConfig};

pub use authority::Authority;
use authority::file_names;
pub use identity::Identity;
use identity::{ANY_NODE, identities};

use crate::acceptor::certificates;
use crate::expiry::{self, ExpiryWatch};
use crate::files::AUTHORITY;
use crate::{CertificateFacts, Moment, Result, TlsError};

/// A node's or a client's certificate, and what new sessions are made of.
pub struct NodeTls {
    me: Identity,
    files: NodeFiles,
    loaded: RwLock<Loaded>,
    /// Why the files of that state are not taken; told once.
    trouble: Mutex<Option<(Stamps, String)>>,
    expiry: ExpiryWatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NodeFiles {
    ca: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

/// Tells files from those that were there before: times, sizes, and numbers of the file system.
type Stamps = [Option<(SystemTime, u64, u64)>; 3];

#[derive(Clone)]
struct Loaded {
    stamps: Stamps,
    accept: Arc<ServerConfig>,
    dial: Arc<ClientConfig>,
    end: Moment,
}

impl std::fmt::Debug for NodeTls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NodeTls").field("me", &self.me).field("files", &self.files).finish_non_exhaustive()
    }
}

impl NodeTls {
    /// The certificate of `me` in the first of these directories that has one, and the authority's, which may lie in another. `None`:
    /// there is no certificate.
    ///
    /// # Errors
    /// What is there cannot be used; a sentence that names the file.
    pub fn open(search_path: &[PathBuf], me: Identity) -> Result<Option<NodeTls>> {
        let (cert, key) = file_names(me);
        let Some(directory) = search_path.iter().find(|directory| directory.join(&cert).exists()) else {
            return Ok(None);
        };
        let ca = search_path.iter().map(|directory| directory.join(AUTHORITY)).find(|ca| ca.exists());
        let files = NodeFiles {
            ca: ca.unwrap_or_else(|| directory.join(AUTHORITY)),
            cert: directory.join(cert),
            key: directory.join(key),
        };
        let loaded = RwLock::new(files.load(me)?);
        Ok(Some(NodeTls { me, files, loaded, trouble: Mutex::default(), expiry: ExpiryWatch::default() }))
    }

    /// Whose certificate it is.
    pub fn me(&self) -> Identity {
        self.me
    }

    /// Where the certificate lies.
    pub fn certificate_file(&self) -> &Path {
        &self.files.cert
    }

    /// What a side that was dialled does with a client's first words.
    pub fn accept(&self) -> Arc<ServerConfig> {
        self.current().accept
    }

    /// The session of the side that dials. The other side has to be a node of the cluster; which one, its certificate says
    /// ([`identities_of`]).
    ///
    /// # Errors
    /// No random numbers from the system.
    pub fn dial(&self) -> Result<ClientConnection> {
        let failed = |why: &dyn std::fmt::Display| TlsError(format!("a TLS session cannot begin: {why}"));
        let name = ServerName::try_from(ANY_NODE).map_err(|error| failed(&error))?;
        ClientConnection::new(self.current().dial, name).map_err(|error| failed(&error))
    }

    /// The newest state of the files that can be used.
    fn current(&self) -> Loaded {
        self.take_replaced();
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads files that have changed. Returns whether they were taken.
    fn take_replaced(&self) -> bool {
        let stamps = self.files.stamps();
        if self.loaded.read().unwrap_or_else(PoisonError::into_inner).stamps == stamps {
            return false;
        }
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.as_ref().is_some_and(|(of, _)| *of == stamps) {
            return false;
        }
        match self.files.load(self.me) {
            Ok(loaded) => {
                *trouble = None;
                *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                self.expiry.reset();
                true
            }
            Err(error) => {
                *trouble = Some((stamps, error.0));
                false
            }
        }
    }

    /// What the operator should hear, to be asked for from time to time: files that were replaced and cannot be used, once; a certificate
    /// that ends within 30 days, once a day.
    pub fn warning(&self) -> Option<String> {
        self.take_replaced();
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = trouble.as_mut().filter(|(_, text)| !text.is_empty()) {
            return Some(format!("{}; the certificate that was read before goes on", std::mem::take(text)));
        }
        drop(trouble);
        self.expiry_warning_at(expiry::now())
    }

    fn expiry_warning_at(&self, now: i64) -> Option<String> {
        let end = self.loaded.read().unwrap_or_else(PoisonError::into_inner).end;
        let advice =
            "put a new one in its place (shoal config certificates --renew): it is taken without a restart";
        self.expiry.warning(now, end, &self.files.cert, &self.me.to_string(), advice)
    }
}

impl NodeFiles {
    fn stamps(&self) -> Stamps {
        use std::os::unix::fs::MetadataExt;
        [&self.ca, &self.cert, &self.key].map(|path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
        })
    }

    fn load(&self, me: Identity) -> Result<Loaded> {
        // Files that change meanwhile have other stamps next time.
        let stamps = self.stamps();
        let unusable = |path: &Path, why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", path.display()));
        let chain = certificates(&self.cert)?;
        let own = chain.first().ok_or_else(|| unusable(&self.cert, &"no certificate is in this file"))?;
        let facts = CertificateFacts::parse(own).ok_or_else(|| unusable(&self.cert, &"this is no certificate"))?;
        let named = identities(own);
        if !named.contains(&me) {
            let why = format!("this certificate is for {}, not for {me}", listed(&named));
            return Err(unusable(&self.cert, &why));
        }
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots.add(certificate).map_err(|error| unusable(&self.ca, &error))?;
        }
        let roots = Arc::new(roots);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&self.ca, &error))?;
        verifier
            .verify_client_cert(own, &chain[1..], UnixTime::now())
            .map_err(|error| unusable(&self.cert, &format!("this certificate {}", reason(&error))))?;
        let key = || PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error));
        let mismatch = |error: &dyn std::fmt::Display| {
            let (cert, key) = (self.cert.display(), self.key.display());
            TlsError(format!("{cert} and {key} do not go together: {error}"))
        };
        let mut accept = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| mismatch(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key()?)
            .map_err(|error| mismatch(&error))?;
        accept.send_tls13_tickets = 0;
        accept.session_storage = Arc::new(NoServerSessionStorage {});
        let mut dial = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| mismatch(&error))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key()?)
            .map_err(|error| mismatch(&error))?;
        dial.resumption = Resumption::disabled();
        dial.alpn_protocols = vec![me.claim()];
        Ok(Loaded { stamps, accept: Arc::new(accept), dial: Arc::new(dial), end: facts.not_after })
    }
}

/// Whom the certificate names that the other side of a session has shown. It has been verified, or there would be no session.
pub fn identities_of(shown: &[CertificateDer<'_>]) -> Vec<Identity> {
    shown.first().map(identities).unwrap_or_default()
}

/// `node 3`, `nobody of a cluster`.
pub fn listed(identities: &[Identity]) -> String {
    match identities {
        [] => "nobody of a cluster".to_owned(),
        [first, rest @ ..] => {
            rest.iter().fold(first.to_string(), |text, identity| format!("{text} and {identity}"))
        }
    }
}

/// The sides do not go together because of a certificate; other errors are noise, or faults of the network.
pub fn is_about_certificates(error: &rustls::Error) -> bool {
    use rustls::Error;
    matches!(error, Error::InvalidCertificate(_) | Error::NoCertificatesPresented | Error::AlertReceived(_))
}

/// What is wrong with a certificate, as the end of a sentence that begins with it; of other errors what rustls says.
pub fn reason(error: &rustls::Error) -> String {
    use rustls::Error;
    let moment = |time: &UnixTime| Moment(time.as_secs() as i64).text();
    match error {
        Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "is not signed by the certificate authority of this cluster".to_owned()
            }
            CertificateError::Expired => "has expired".to_owned(),
            CertificateError::ExpiredContext { not_after, .. } => format!("has expired ({})", moment(not_after)),
            CertificateError::NotValidYetContext { not_before, .. } => {
                format!("is not valid before {}", moment(not_before))
            }
            CertificateError::NotValidForNameContext { presented, .. } => {
                format!("is not one of a node ({})", presented.join(", "))
            }
            error => format!("cannot be used: {error}"),
        },
        Error::NoCertificatesPresented => "is missing".to_owned(),
        Error::AlertReceived(alert) => match alert {
            AlertDescription::UnknownCA | AlertDescription::DecryptError => {
                "is not signed by the certificate authority of the other side".to_owned()
            }
            AlertDescription::CertificateExpired => "has expired, says the other side".to_owned(),
            AlertDescription::CertificateRequired => "is missing, says the other side".to_owned(),
            alert => format!("does not please the other side ({alert:?})"),
        },
        error => format!("was not looked at: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use rustls::{Connection, ServerConnection};

    use super::*;
    use crate::expiry::SECONDS_PER_DAY;

    const YEAR: Duration = Duration::from_secs(365 * 86_400);

    fn cluster(identities: &[Identity]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::of_directory(directory.path(), "reef").unwrap();
        for &identity in identities {
            authority.issue(directory.path(), identity, YEAR).unwrap();
        }
        directory
    }

    fn open(directory: &Path, me: Identity) -> NodeTls {
        NodeTls::open(&[directory.to_owned()], me).unwrap().unwrap()
    }

    /// Lets both sides talk until they are done. Returns the identities that each has seen of the other.
    fn meet(server: &NodeTls, client: &NodeTls) -> std::result::Result<[Vec<Identity>; 2], [Option<String>; 2]> {
        let mut server = Connection::from(ServerConnection::new(server.accept()).unwrap());
        let mut client = Connection::from(client.dial().unwrap());
        let mut errors = [None, None];
        let pass = |from: &mut Connection, to: &mut Connection, error: &mut Option<rustls::Error>| {
            let mut bytes = Vec::new();
            while from.wants_write() {
                from.write_tls(&mut bytes).unwrap();
            }
            let mut received = bytes.as_slice();
            while !received.is_empty() && error.is_none() {
                to.read_tls(&mut received).unwrap();
                *error = to.process_new_packets().err();
            }
            !bytes.is_empty()
        };
        loop {
            let to_server = pass(&mut client, &mut server, &mut errors[0]);
            let to_client = pass(&mut server, &mut client, &mut errors[1]);
            if !to_server && !to_client {
                break;
            }
        }
        match errors {
            [None, None] => {
                Ok([&server, &client].map(|session| identities_of(session.peer_certificates().unwrap())))
            }
            errors => Err(errors.map(|error| error.as_ref().map(reason))),
        }
    }

    #[test]
    fn nodes_know_each_other_by_their_certificates_and_a_client_is_no_node() {
        let (one, two) = (Identity::Node(1), Identity::Node(2));
        let directory = cluster(&[one, two, Identity::Client]);
        let [first, second, client] = [one, two, Identity::Client].map(|me| open(directory.path(), me));
        assert_eq!(meet(&first, &second).unwrap(), [vec![two], vec![one]]);
        assert_eq!(meet(&first, &client).unwrap(), [vec![Identity::Client], vec![one]]);
        let [_, error] = meet(&client, &second).unwrap_err();
        assert!(error.is_some(), "a client's certificate is none of a node");
        for file in ["ca-key.pem", "node-1-key.pem"] {
            let mode = std::fs::metadata(directory.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        assert!(NodeTls::open(&[directory.path().to_owned()], Identity::Node(9)).unwrap().is_none());
    }

    #[test]
    fn certificates_of_another_cluster_are_refused_by_both_sides() {
        let one = Identity::Node(1);
        let (here, elsewhere) = (cluster(&[one]), cluster(&[one]));
        let [_, error] = meet(&open(here.path(), one), &open(elsewhere.path(), one)).unwrap_err();
        assert!(error.unwrap().contains("is not signed by"));
        // A stranger that has got hold of the authority's certificate.
        let stranger = open(elsewhere.path(), one);
        std::fs::copy(here.path().join("ca.pem"), elsewhere.path().join("ca.pem")).unwrap();
        let error = NodeTls::open(&[elsewhere.path().to_owned()], one).unwrap_err();
        assert!(error.0.contains("node-1-cert.pem") && error.0.contains("is not signed by"), "{error}");
        let mut roots = RootCertStore::empty();
        roots.add(certificates(&here.path().join("ca.pem")).unwrap().remove(0)).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let chain = certificates(&elsewhere.path().join("node-1-cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(elsewhere.path().join("node-1-key.pem")).unwrap();
        let dial = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .unwrap();
        stranger.loaded.write().unwrap().dial = Arc::new(dial);
        stranger.loaded.write().unwrap().stamps = stranger.files.stamps();
        let [error, _] = meet(&open(here.path(), one), &stranger).unwrap_err();
        assert!(error.unwrap().contains("is not signed by"));
    }

    #[test]
    fn files_that_are_replaced_are_taken_and_those_that_cannot_be_used_are_told_of_once() {
        let (one, two) = (Identity::Node(1), Identity::Node(2));
        let directory = cluster(&[one, two]);
        let file = |name: &str| directory.path().join(name);
        let tls = open(directory.path(), one);
        let other = open(directory.path(), two);
        assert_eq!(tls.warning(), None);
        // Half replaced: the certificate is there, its key not yet.
        let key = std::fs::read(file("node-1-key.pem")).unwrap();
        Authority::of_directory(directory.path(), "reef").unwrap().issue(directory.path(), one, YEAR).unwrap();
        let newer_key = std::fs::read(file("node-1-key.pem")).unwrap();
        std::fs::write(file("node-1-key.pem"), &key).unwrap();
        assert!(meet(&tls, &other).is_ok(), "with the older certificate");
        let told = tls.warning().unwrap();
        assert!(told.contains("do not go together") && told.contains("goes on"), "{told}");
        assert_eq!(tls.warning(), None);
        std::fs::write(file("node-1-key.pem"), newer_key).unwrap();
        assert!(tls.take_replaced());
        assert!(meet(&tls, &other).is_ok());
        std::fs::copy(file("node-2-cert.pem"), file("node-1-cert.pem")).unwrap();
        let told = tls.warning().unwrap();
        assert!(told.contains("is for node 2, not for node 1"), "{told}");
    }

    #[test]
    fn an_end_within_30_days_is_told_of_once_a_day() {
        let directory = cluster(&[Identity::Node(7)]);
        let tls = open(directory.path(), Identity::Node(7));
        let Moment(end) = tls.loaded.read().unwrap().end;
        assert_eq!(tls.expiry_warning_at(end - 31 * SECONDS_PER_DAY), None);
        let told = tls.expiry_warning_at(end - 3 * SECONDS_PER_DAY).unwrap();
        assert!(told.contains("the certificate of node 7 expires in 3 days"), "{told}");
        assert_eq!(tls.expiry_warning_at(end - 3 * SECONDS_PER_DAY + 9), None);
    }
}
