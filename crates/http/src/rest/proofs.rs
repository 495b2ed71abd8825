//! Who has proven lately who they are. Every request brings a password, and checking one in full is thousands of rounds of SHA-256.
//!
//! A proof is found by a keyed digest of everything that was said, so nothing here is worth anything outside the process. It is good for
//! a minute, and only as long as the rules are those that it was made under: whatever changes an account ends it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::{hmac, rand};

use crate::dashboard::AccountKey;

const AGE_MAX: Duration = Duration::from_secs(60);
const PROOFS_MAX: usize = 1024;

/// What somebody said of themselves, and how.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub host: &'a str,
    pub is_encrypted: bool,
}

type Digest = [u8; 32];

struct Proof {
    account: AccountKey,
    rules: Vec<u8>,
    since: Instant,
}

/// Of one process.
pub struct Proofs {
    /// `None`: the system has no random numbers, and nothing is kept.
    key: LazyLock<Option<hmac::Key>>,
    known: Mutex<HashMap<Digest, Proof>>,
}

impl Default for Proofs {
    fn default() -> Proofs {
        Proofs { key: LazyLock::new(random_key), known: Mutex::default() }
    }
}

fn random_key() -> Option<hmac::Key> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).ok()?;
    Some(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

impl Proofs {
    fn digest(&self, said: Said<'_>) -> Option<Digest> {
        let mut context = hmac::Context::with_key(self.key.as_ref()?);
        for part in [said.user, said.password, said.host] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part.as_bytes());
        }
        context.update(&[u8::from(said.is_encrypted)]);
        context.sign().as_ref().try_into().ok()
    }

    /// Remembers that this was right.
    pub fn keep(&self, said: Said<'_>, account: AccountKey, rules: Vec<u8>, now: Instant) {
        let Some(digest) = self.digest(said) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= PROOFS_MAX {
            known.retain(|_, proof| now.duration_since(proof.since) < AGE_MAX);
        }
        if known.len() < PROOFS_MAX {
            known.insert(digest, Proof { account, rules, since: now });
        }
    }

    /// The account that this has proven within the last minute, and the rules that held then.
    pub fn find(&self, said: Said<'_>, now: Instant) -> Option<(AccountKey, Vec<u8>)> {
        let digest = self.digest(said)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let proof = known.get(&digest)?;
        if now.duration_since(proof.since) >= AGE_MAX {
            known.remove(&digest);
            return None;
        }
        Some((proof.account.clone(), proof.rules.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_good_for_what_was_said_and_for_a_minute() {
        let (proofs, start) = (Proofs::default(), Instant::now());
        let said = Said { user: "ann", password: "right", host: "h", is_encrypted: false };
        let ann = ("ann".to_owned(), "%".to_owned());
        proofs.keep(said, ann.clone(), vec![1], start);
        assert_eq!(proofs.find(said, start), Some((ann, vec![1])));
        for other in [
            Said { password: "wrong", ..said },
            Said { user: "annr", password: "ight", ..said },
            Said { host: "i", ..said },
            Said { is_encrypted: true, ..said },
        ] {
            assert_eq!(proofs.find(other, start), None);
        }
        assert_eq!(proofs.find(said, start + AGE_MAX), None);
    }
}
