//! The key pair with which caching_sha2_password hides a password on a connection without TLS.
//!
//! It lies beside the certificates under MySQL's names, `private_key.pem` and `public_key.pem`, so that clients can be given the public one.
//! Whoever needs it first reads it, or makes it, off the worker threads. Without a directory it lives as long as the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::files::{CERTIFICATE_MODE, KEY_MODE, write};
use crate::{Result, TlsError};

/// Bytes of what is encrypted with a key that was made here.
const BLOCK_SIZE: usize = 2048 / 8;
const UNUSABLE_SIZE: &str = "this is no RSA key of 2048 to 8192 bits";

/// The shared place of the key.
#[derive(Clone, Debug, Default)]
pub struct PasswordKey(Arc<Place>);

/// Where the two halves lie.
#[derive(Clone, Debug)]
pub struct PasswordKeyFiles {
    pub private: PathBuf,
    pub public: PathBuf,
    /// A key is made where there is none.
    pub may_make: bool,
}

#[derive(Debug, Default)]
struct Place {
    files: Option<PasswordKeyFiles>,
    pair: OnceLock<Result<KeyPair>>,
}

#[derive(Debug)]
pub struct KeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

impl PasswordKey {
    pub fn of_files(files: PasswordKeyFiles) -> PasswordKey {
        PasswordKey(Arc::new(Place { files: Some(files), pair: OnceLock::new() }))
    }

    /// The key pair; read or made by the first call, which takes a good part of a second.
    ///
    /// # Errors
    /// A file that holds no RSA key, or cannot be read or written; it stays so.
    pub fn get(&self) -> Result<&KeyPair, &TlsError> {
        let make = || match &self.0.files {
            None => KeyPair::generate().map(|(pair, _)| pair),
            Some(files) => KeyPair::of_files(files),
        };
        self.0.pair.get_or_init(make).as_ref()
    }

    /// The key pair if it is at hand.
    pub fn at_hand(&self) -> Option<&KeyPair> {
        self.0.pair.get()?.as_ref().ok()
    }

    /// Bytes of a password that was encrypted with the key.
    pub fn block_size(&self) -> usize {
        self.at_hand().map_or(BLOCK_SIZE, |pair| pair.private.key_size_bytes())
    }
}

impl KeyPair {
    fn of_files(files: &PasswordKeyFiles) -> Result<KeyPair> {
        let pair = if files.private.exists() || !files.may_make {
            KeyPair::read(&files.private)?
        } else {
            let (pair, private_pem) = KeyPair::generate()?;
            write(&files.private, &private_pem, KEY_MODE)?;
            pair
        };
        let public = String::from_utf8_lossy(&pair.public_pem);
        if files.may_make && std::fs::read(&files.public).ok().as_deref() != Some(public.as_bytes()) {
            write(&files.public, &public, CERTIFICATE_MODE)?;
        }
        Ok(pair)
    }

    fn read(path: &Path) -> Result<KeyPair> {
        let unusable = |why: &dyn std::fmt::Display| TlsError(format!("{}: {why}", path.display()));
        let der = match PrivateKeyDer::from_pem_file(path).map_err(|error| unusable(&error))? {
            PrivateKeyDer::Pkcs8(der) => der.secret_pkcs8_der().to_vec(),
            // The older form, `RSA PRIVATE KEY`.
            PrivateKeyDer::Pkcs1(der) => {
                let pair = aws_lc_rs::rsa::KeyPair::from_der(der.secret_pkcs1_der()).ok();
                let newer: Option<Pkcs8V1Der> = pair.and_then(|pair| pair.as_der().ok());
                newer.ok_or_else(|| unusable(&UNUSABLE_SIZE))?.as_ref().to_vec()
            }
            _ => return Err(unusable(&"this is no RSA key")),
        };
        let private = PrivateDecryptingKey::from_pkcs8(&der).map_err(|_| unusable(&UNUSABLE_SIZE))?;
        KeyPair::of(private).ok_or_else(|| unusable(&"this key cannot be used"))
    }

    /// A new pair, and the file of its private half.
    fn generate() -> Result<(KeyPair, String)> {
        let make = || {
            let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
            let der: Pkcs8V1Der = private.as_der().ok()?;
            let text = pem("PRIVATE KEY", der.as_ref());
            Some((KeyPair::of(private)?, text))
        };
        make().ok_or_else(|| TlsError("an RSA key cannot be made".to_owned()))
    }

    fn of(private: PrivateDecryptingKey) -> Option<KeyPair> {
        let der: PublicKeyX509Der = private.public_key().as_der().ok()?;
        let public_pem = pem("PUBLIC KEY", der.as_ref()).into_bytes();
        Some(KeyPair { private: OaepPrivateDecryptingKey::new(private).ok()?, public_pem })
    }

    pub fn public_pem(&self) -> &[u8] {
        &self.public_pem
    }

    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let mut plaintext = vec![0; self.private.min_output_size()];
        let plain = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut plaintext, None).ok()?;
        Some(plain.to_vec())
    }
}

/// A text for the server alone that has sent this public key, as PEM. `None`: that is no RSA key, or the text is too long for it.
pub fn encrypt_password(public_pem: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
    let public = PublicEncryptingKey::from_der(pem::parse(public_pem).ok()?.contents()).ok()?;
    let public = OaepPublicEncryptingKey::new(public).ok()?;
    let mut ciphertext = vec![0; public.ciphertext_size()];
    let encrypted = public.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut ciphertext, None).ok()?;
    Some(encrypted.to_vec())
}

fn pem(label: &str, der: &[u8]) -> String {
    pem::encode_config(&Pem::new(label, der), EncodeConfig::new().set_line_ending(LineEnding::LF))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes out of their PEM form.
    fn der(pem: &[u8]) -> Vec<u8> {
        pem::parse(pem).unwrap().into_contents()
    }

    fn encrypt(public_pem: &[u8]) -> Vec<u8> {
        encrypt_password(public_pem, b"secret").unwrap()
    }

    #[test]
    fn what_was_encrypted_for_the_public_key_comes_back() {
        let key = PasswordKey::default();
        assert!(key.at_hand().is_none());
        let pair = key.get().unwrap();
        assert!(pair.public_pem().starts_with(b"-----BEGIN PUBLIC KEY-----\nMII"));
        let ciphertext = encrypt(pair.public_pem());
        assert_eq!(ciphertext.len(), key.block_size());
        assert_eq!(pair.decrypt(&ciphertext).as_deref(), Some(&b"secret"[..]));
        assert_eq!(pair.decrypt(b"rubbish"), None);
    }

    #[test]
    fn files_keep_the_key_which_may_be_given_in_either_form() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let key = |may_make: bool| {
            let (private, public) = (file("private_key.pem"), file("public_key.pem"));
            PasswordKey::of_files(PasswordKeyFiles { private, public, may_make })
        };
        assert!(key(false).get().unwrap_err().0.contains("private_key.pem"));
        let public = key(true).get().unwrap().public_pem().to_vec();
        assert_eq!(std::fs::read(file("public_key.pem")).unwrap(), public);
        let ciphertext = encrypt(&public);
        assert_eq!(key(true).get().unwrap().decrypt(&ciphertext).as_deref(), Some(&b"secret"[..]));
        // The older form is what the newer one has behind 26 bytes of its own.
        let pkcs8 = der(&std::fs::read(file("private_key.pem")).unwrap());
        std::fs::write(file("private_key.pem"), pem("RSA PRIVATE KEY", &pkcs8[26..])).unwrap();
        std::fs::remove_file(file("public_key.pem")).unwrap();
        assert_eq!(key(true).get().unwrap().decrypt(&ciphertext).as_deref(), Some(&b"secret"[..]));
        assert_eq!(std::fs::read(file("public_key.pem")).unwrap(), public);
        std::fs::write(file("private_key.pem"), "no key").unwrap();
        assert!(key(true).get().unwrap_err().0.contains("private_key.pem"));
    }
}
