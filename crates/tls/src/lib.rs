//! Transport layer security: the files a server has its certificates in, and what is made of them.
//!
//! - [`Files`]: where certificates and keys lie; [`Files::make_missing`] makes them at a directory's first start, under a
//!   certificate authority of its own.
//! - [`Acceptor`]: the server's side of new connections, made again from the files when it is told to.
//!
//! - [`CertificateFacts`]: whose a certificate is, and how long it is valid.
//! - [`ClientTls`]: a client's side of connections to a server.
//! - [`PasswordKey`]: the RSA key for passwords of clients without TLS; [`encrypt_password`]: what such a client does with it.
//! - [`NodeTls`]: sessions between the nodes of a cluster, and their certificates.
//!
//! TLS itself is rustls, its cryptography aws-lc-rs. This crate knows no sockets.

mod acceptor;
mod certificate;
mod client;
mod expiry;
mod files;
pub mod node;
mod password_key;

pub use acceptor::{
    Acceptor, Options, Version, cipher_names, session_cipher, session_client, session_is_resumed, session_version,
};
pub use certificate::{CertificateFacts, Moment};
pub use client::ClientTls;
pub use files::Files;
pub use node::{Authority, Identity, NodeTls};
pub use password_key::{KeyPair, PasswordKey, PasswordKeyFiles, encrypt_password};
pub use rustls::{self, ServerConnection};

/// Why there is no TLS: a sentence that names the file and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(pub String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

pub type Result<T, E = TlsError> = std::result::Result<T, E>;
