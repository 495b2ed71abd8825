//! Who a client is: the password exchange of both plugins, and what the server remembers for it.
//!
//! Every failure looks the same to the client: an unknown user walks the same packets as a wrong password and gets the
//! same error 1045. After some failures in a row the next answers to that user and host are delayed; the delay holds
//! neither a thread nor a lock. Passwords and their hashes appear in no message.

mod direct;
mod exchange;
mod failures;
mod lockouts;

pub use direct::Claim;
pub use exchange::{Exchange, LoginError};
pub use lockouts::Locked;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use shoal_sql::frontend::{Account, Lockout, TlsRequirement};
use shoal_types::password::{CACHING_SHA2_PASSWORD, FastDigest, make_printable};

use crate::handshake::Challenge;
use crate::refusal::Refusal;
use failures::Failures;
use lockouts::Lockouts;
use shoal_tls::PasswordKey;

/// Accounts whose fast digest is kept.
const FAST_DIGESTS_MAX: usize = 10_000;

/// What all connections of a server share for authentication.
#[derive(Debug, Default)]
pub struct Authenticator {
    /// By an account's user and host, and the hash of one of its passwords.
    fast_digests: Mutex<HashMap<(String, String, bool), FastEntry>>,
    failures: Failures,
    lockouts: Lockouts,
    password_key: PasswordKey,
}

/// A password was checked.
struct Attempt<'a> {
    user: &'a str,
    host: &'a str,
    /// There is such an account.
    is_known: bool,
    is_proven: bool,
    using_password: bool,
}

/// The digest of a password that was proven in full, and the hash against which.
#[derive(Debug)]
struct FastEntry {
    authentication_string: Vec<u8>,
    digest: FastDigest,
}

impl Authenticator {
    /// With the key that hides passwords where there is no TLS.
    pub fn new(password_key: PasswordKey) -> Authenticator {
        Authenticator { password_key, ..Authenticator::default() }
    }

    /// Counts an attempt of `user` from `host` at `account`, or at the decoy, and answers it no sooner than earlier failures allow.
    /// Errors: 1045, 3955.
    async fn settle(&self, account: &Account, attempt: &Attempt<'_>) -> Result<(), Refusal> {
        let Attempt { user, host, is_known, is_proven, using_password } = *attempt;
        let delay = self.failures.delay(user, host);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let succeeded = is_proven && is_known;
        if is_known && let Some(locked) = self.lockouts.record(account, is_proven, Instant::now()) {
            self.failures.record(user, host, is_proven);
            return Err(Refusal::account_blocked(user, host, &locked));
        }
        self.failures.record(user, host, succeeded);
        if succeeded { Ok(()) } else { Err(Refusal::access_denied(user, host, using_password)) }
    }

    /// The digest that lets `account` take the fast path with its password, or the old one, as long as that has not changed since.
    fn fast_digest(&self, account: &Account, is_old: bool) -> Option<FastDigest> {
        let digests = self.fast_digests.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = digests.get(&(account.user.clone(), account.host.clone(), is_old))?;
        (entry.authentication_string == hash_of(account, is_old)).then_some(entry.digest)
    }

    fn remember(&self, account: &Account, is_old: bool, digest: FastDigest) {
        let mut digests = self.fast_digests.lock().unwrap_or_else(PoisonError::into_inner);
        if digests.len() >= FAST_DIGESTS_MAX {
            digests.clear();
        }
        let entry = FastEntry { authentication_string: hash_of(account, is_old).to_vec(), digest };
        digests.insert((account.user.clone(), account.host.clone(), is_old), entry);
    }
}

/// What a password of the account is checked against; empty: there is none.
fn hash_of(account: &Account, is_old: bool) -> &[u8] {
    if is_old { &account.old_authentication_string } else { &account.authentication_string }
}

/// Fresh random bytes for a handshake: neither NUL nor '$' among them.
pub fn fresh_challenge() -> Result<Challenge, Refusal> {
    let mut challenge = Challenge::default();
    let filled = aws_lc_rs::rand::fill(&mut challenge);
    filled.map_err(|_| Refusal::new(1105, b"HY000", "No random numbers from the system"))?;
    make_printable(&mut challenge);
    Ok(challenge)
}

/// The account that an unknown user is checked against: no password fits it.
fn decoy(user: &str, host: &str) -> Account {
    Account {
        user: user.to_owned(),
        host: host.to_owned(),
        plugin: CACHING_SHA2_PASSWORD.to_owned(),
        authentication_string: b"$A$005$".to_vec(),
        locked: false,
        tls: TlsRequirement::None,
        old_authentication_string: Vec::new(),
        lockout: Lockout::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_differ_and_hold_no_special_bytes() {
        let challenges: Vec<Challenge> = (0..100).map(|_| fresh_challenge().unwrap()).collect();
        assert!(challenges.iter().flatten().all(|byte| !matches!(byte, 0 | b'$' | 128..)));
        assert!(challenges.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_changed_password_forgets_the_fast_path() {
        let authenticator = Authenticator::default();
        let mut account = decoy("ann", "%");
        assert_eq!(authenticator.fast_digest(&account, false), None);
        authenticator.remember(&account, false, [7; 32]);
        assert_eq!(authenticator.fast_digest(&account, false), Some([7; 32]));
        assert_eq!(authenticator.fast_digest(&account, true), None);
        account.authentication_string.push(b'x');
        assert_eq!(authenticator.fast_digest(&account, false), None);
    }
}
