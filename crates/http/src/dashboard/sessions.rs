//! Who has logged in: tokens in cookies, of which only digests are kept.
//!
//! A token is 32 random bytes and means nothing by itself. It is found by its digest, so how long that takes tells nothing of others.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::{digest, rand};

use super::AccountKey;

/// Without requests for so long, a login is over; open pages ask all the time.
const IDLE_MAX: Duration = Duration::from_secs(1800);
/// In any case after this.
pub const AGE_MAX: Duration = Duration::from_secs(12 * 3600);
/// Logins at a time; one more ends the one that has been idle for longest.
const SESSIONS_MAX: usize = 256;
const TOKEN_BYTES: usize = 32;

type Digest = [u8; 32];

/// Of one process: its end is that of all logins.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<Digest, Session>>);

struct Session {
    account: AccountKey,
    /// What the account's password was kept as: another one ends the login.
    proof: Vec<u8>,
    begun: Instant,
    used: Instant,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) >= IDLE_MAX || now.duration_since(self.begun) >= AGE_MAX
    }
}

fn digest_of(token: &str) -> Digest {
    let mut found = [0; 32];
    found.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    found
}

impl Sessions {
    /// A new login, and its token in hexadecimal digits; `None`: the system has no random numbers.
    pub fn begin(&self, account: AccountKey, proof: Vec<u8>, now: Instant) -> Option<String> {
        let mut bytes = [0; TOKEN_BYTES];
        rand::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.is_over(now));
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used).map(|(digest, _)| *digest);
            oldest.map(|digest| sessions.remove(&digest));
        }
        sessions.insert(digest_of(&token), Session { account, proof, begun: now, used: now });
        Some(token)
    }

    /// Whose login a token is, and what the password was kept as.
    pub fn find(&self, token: &str, now: Instant) -> Option<(AccountKey, Vec<u8>)> {
        let digest = digest_of(token);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&digest)?;
        if session.is_over(now) {
            sessions.remove(&digest);
            return None;
        }
        session.used = now;
        Some((session.account.clone(), session.proof.clone()))
    }

    /// The login is over.
    pub fn end(&self, token: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest_of(token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> AccountKey {
        ("ann".into(), "%".into())
    }

    #[test]
    fn a_login_ends_when_it_is_idle_too_old_or_ended() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let token = sessions.begin(ann(), vec![1], start).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(sessions.find(&token, start), Some((ann(), vec![1])));
        assert_eq!(sessions.find(&token[1..], start), None);
        assert_eq!(sessions.find("", start), None);
        let half = IDLE_MAX / 2;
        let mut now = start;
        while now + half - start < AGE_MAX {
            now += half;
            assert!(sessions.find(&token, now).is_some(), "{:?}", now - start);
        }
        assert_eq!(sessions.find(&token, now + half), None, "too old, however busy");
        let idle = sessions.begin(ann(), Vec::new(), start).unwrap();
        assert_eq!(sessions.find(&idle, start + IDLE_MAX), None);
        let ended = sessions.begin(ann(), Vec::new(), start).unwrap();
        sessions.end(&ended);
        assert_eq!(sessions.find(&ended, start), None);
    }

    #[test]
    fn there_are_never_more_than_so_many_logins() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let first = sessions.begin(ann(), Vec::new(), start).unwrap();
        let later = start + Duration::from_secs(1);
        let rest: Vec<String> =
            (0..SESSIONS_MAX).map(|_| sessions.begin(ann(), Vec::new(), later).unwrap()).collect();
        assert_eq!(sessions.find(&first, later), None, "the one idle for longest gave way");
        assert!(rest.iter().all(|token| sessions.find(token, later).is_some()));
    }
}
