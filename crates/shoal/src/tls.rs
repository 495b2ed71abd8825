//! TLS for MySQL clients: the files given by `ssl_ca`, `ssl_cert` and `ssl_key`, or those that the data directory is given at its first
//! start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use shoal_sql::Globals;
use shoal_sql::server::{Server, TlsControl, TlsFacts};
use shoal_tls::{Acceptor, Files, Options, PasswordKey, PasswordKeyFiles, Version, cipher_names};

/// What certificates are made for beside the host's name.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The server's side of TLS, by the system variables; they tell afterwards which files are used. `None`: `tls_version` is empty.
///
/// # Errors
/// A sentence that names the file, or the variable that is missing.
pub fn prepare(globals: &mut Globals, data_dir: &Path) -> Result<Option<Arc<Acceptor>>, String> {
    let versions = Version::parse_list(&globals.named_text("tls_version")).map_err(|error| error.to_string())?;
    if versions.is_empty() {
        return Ok(None);
    }
    let given = |name: &str| Some(globals.named_text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let files = match (given("ssl_ca"), given("ssl_cert"), given("ssl_key")) {
        (ca, Some(cert), Some(key)) => Files { ca, cert, key },
        (None, None, None) => {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned());
            let host = host.ok().filter(|name| !name.is_empty());
            let names: Vec<String> = LOCAL_NAMES.iter().map(|&name| name.to_owned()).chain(host).collect();
            Files::make_missing(data_dir, &names).map_err(|error| error.to_string())?;
            Files::of_directory(data_dir)
        }
        _ => return Err("ssl_cert and ssl_key belong together: give both, or neither and no ssl_ca".to_owned()),
    };
    let shown = |path: Option<&PathBuf>| path.map(|path| path.display().to_string()).unwrap_or_default();
    for (name, text) in [
        ("ssl_ca", shown(files.ca.as_ref())),
        ("ssl_cert", shown(Some(&files.cert))),
        ("ssl_key", shown(Some(&files.key))),
        ("have_ssl", "YES".to_owned()),
        ("have_openssl", "YES".to_owned()),
    ] {
        globals.set_at_start(name, &text).map_err(|error| error.message().to_owned())?;
    }
    let acceptor = Acceptor::new(Options { files, versions }).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(acceptor)))
}

/// What statements ask of the acceptor.
struct Control(Arc<Acceptor>);

impl TlsControl for Control {
    fn reload(&self) -> Result<(), String> {
        self.0.reload().map_err(|error| error.to_string())?;
        warn_of_expiry(&self.0);
        Ok(())
    }

    fn facts(&self) -> TlsFacts {
        let validity = self.0.validity();
        let (not_before, not_after) = match validity {
            Some((not_before, not_after)) => (not_before.text(), not_after.text()),
            None => Default::default(),
        };
        let not_after_s = validity.map(|(_, not_after)| not_after.0);
        let checks_clients = self.0.options().files.ca.is_some();
        TlsFacts { not_before, not_after, not_after_s, ciphers: cipher_names(), checks_clients }
    }
}

fn warn_of_expiry(acceptor: &Acceptor) {
    if let Some(warning) = acceptor.expiry_warning() {
        tracing::warn!("{warning}");
    }
}

/// Statements of this server ask the acceptor: ALTER INSTANCE RELOAD TLS, SHOW STATUS.
pub fn attach(server: &Server, acceptor: Option<&Arc<Acceptor>>) {
    if let Some(acceptor) = acceptor {
        warn_of_expiry(acceptor);
        server.set_tls(Box::new(Control(Arc::clone(acceptor))));
    }
}

/// The directory's key for passwords of clients without TLS; read, or made, on a thread of its own, as it takes a while.
///
/// # Errors
/// There is no such thread.
pub fn password_key(server: &Server, data_dir: &Path) -> Result<PasswordKey, String> {
    let path = |name: &str| data_dir.join(server.global_text(name));
    let key = PasswordKey::of_files(PasswordKeyFiles {
        private: path("caching_sha2_password_private_key_path"),
        public: path("caching_sha2_password_public_key_path"),
        may_make: server.global_text("caching_sha2_password_auto_generate_rsa_keys") == "ON",
    });
    let prepared = key.clone();
    let prepare = move || {
        if let Err(error) = prepared.get() {
            tracing::error!("caching_sha2_password: clients without TLS cannot log in: {error}");
        }
    };
    std::thread::Builder::new()
        .name("password-key".to_owned())
        .spawn(prepare)
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    let shown = key.clone();
    server.set_password_key(Box::new(move || {
        let pem = shown.at_hand().map(|pair| pair.public_pem().to_vec()).unwrap_or_default();
        String::from_utf8_lossy(&pem).into_owned()
    }));
    Ok(key)
}
