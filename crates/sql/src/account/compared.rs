//! Passwords compared with hashes, away from the thread that serves sessions.

use std::collections::HashMap;

use shoal_types::password::{CACHING_SHA2_PASSWORD, hash_password, is_well_formed, verify_crypt};

/// Which passwords are those that a plugin keeps so, found out before they are asked for: that takes milliseconds each, and nobody
/// shall wait for it, neither the sessions of the same thread nor other definitions.
#[derive(Debug, Default)]
pub struct Compared(HashMap<(Vec<u8>, Vec<u8>), bool>);

impl Compared {
    /// Compares hashes with passwords.
    pub async fn of(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Compared {
        if pairs.is_empty() {
            return Compared::default();
        }
        let compare =
            move || pairs.into_iter().map(|pair| (is_password(&pair.0, &pair.1), pair)).collect::<Vec<_>>();
        let compared = tokio::task::spawn_blocking(compare).await.unwrap_or_default();
        Compared(compared.into_iter().map(|(is_same, pair)| (pair, is_same)).collect())
    }

    /// What was not foreseen is found out here.
    pub fn is_password(&self, hash: &[u8], password: &[u8]) -> bool {
        let known = self.0.get(&(hash.to_vec(), password.to_vec()));
        known.copied().unwrap_or_else(|| is_password(hash, password))
    }
}

/// Whether this is the password that a plugin keeps so. The empty one is kept as nothing.
fn is_password(hash: &[u8], password: &[u8]) -> bool {
    if hash.is_empty() || password.is_empty() {
        return hash.is_empty() && password.is_empty();
    }
    match is_well_formed(CACHING_SHA2_PASSWORD, hash) {
        true => verify_crypt(hash, password),
        false => hash_password(shoal_types::password::NATIVE_PASSWORD, password).is_ok_and(|own| own == hash),
    }
}
