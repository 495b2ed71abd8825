//! The key pair with which caching_sha2_password hides a password on a connection without TLS.
//!
//! Made when the first client needs it, off the worker threads, and kept for the life of the process.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// Bytes of anything that is encrypted with the key.
pub const RSA_BLOCK_SIZE: usize = 2048 / 8;
const PEM_LINE_SIZE: usize = 64;

/// The shared place of the key.
#[derive(Clone, Debug, Default)]
pub struct RsaKey(Arc<OnceLock<Option<KeyPair>>>);

#[derive(Debug)]
pub struct KeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

impl RsaKey {
    /// The key pair; made by the first call, which takes a good part of a second. `None`: it could not be made.
    pub fn get(&self) -> Option<&KeyPair> {
        self.0.get_or_init(KeyPair::generate).as_ref()
    }
}

impl KeyPair {
    fn generate() -> Option<KeyPair> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).ok()?;
        let der: PublicKeyX509Der = private.public_key().as_der().ok()?;
        let public_pem = pem("PUBLIC KEY", der.as_ref());
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

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    let mut text = format!("-----BEGIN {label}-----\n").into_bytes();
    for line in BASE64_STANDARD.encode(der).as_bytes().chunks(PEM_LINE_SIZE) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};

    #[test]
    fn what_was_encrypted_for_the_public_key_comes_back() {
        let key = RsaKey::default();
        let pair = key.get().unwrap();
        assert!(pair.public_pem().starts_with(b"-----BEGIN PUBLIC KEY-----\nMII"));
        let der = pair.private_public_der();
        let public = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap();
        let mut ciphertext = vec![0; public.ciphertext_size()];
        public.encrypt(&OAEP_SHA1_MGF1SHA1, b"secret", &mut ciphertext, None).unwrap();
        assert_eq!(pair.decrypt(&ciphertext).as_deref(), Some(&b"secret"[..]));
        assert_eq!(pair.decrypt(b"rubbish"), None);
    }

    impl KeyPair {
        /// The public key back out of its PEM form.
        fn private_public_der(&self) -> Vec<u8> {
            let text = std::str::from_utf8(&self.public_pem).unwrap();
            let body: Vec<u8> = text.lines().filter(|line| !line.starts_with('-')).flat_map(str::bytes).collect();
            BASE64_STANDARD.decode(body).unwrap()
        }
    }
}
