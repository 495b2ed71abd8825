//! Passwords that come in full over another interface of the process, which has no packets.

use shoal_sql::frontend::{Account, Frontend, LoginOutcome, RefusedLogin, TlsRequirement};
use shoal_types::password::verify_clear;
use shoal_types::{Error, ErrorCode, Result};

use super::{Attempt, Authenticator, decoy, hash_of};
use crate::refusal::Refusal;

/// Who says that they are an account.
#[derive(Clone, Debug)]
pub struct Claim {
    /// As they give it.
    pub user: String,
    /// Their address.
    pub host: String,
    /// They are on this machine.
    pub is_local: bool,
    /// It came through TLS.
    pub is_encrypted: bool,
    /// In full.
    pub password: Vec<u8>,
}

impl Authenticator {
    /// Checks a password. Failures here and those of MySQL clients are counted together, and delay and lock alike. An unknown user costs
    /// what a wrong password does, whatever way the accounts keep theirs.
    ///
    /// # Errors
    /// As for MySQL clients. Accounts that insist on a certificate are refused, as nobody shows one here.
    pub async fn check_password<F: Frontend>(&self, frontend: &F, claim: Claim) -> Result<Account> {
        let (user, host) = (claim.user.clone(), claim.host.clone());
        let checked = self.check_claim(frontend, claim).await;
        if let Err(error) = &checked {
            frontend.note_refused_login(RefusedLogin {
                connection_id: 0,
                user: &user,
                host: &host,
                tls: None,
                errno: error.errno(),
                message: error.message(),
            });
        }
        checked
    }

    async fn check_claim<F: Frontend>(&self, frontend: &F, claim: Claim) -> Result<Account> {
        let Claim { user, host, is_local, is_encrypted, password } = claim;
        if !is_local {
            frontend.check_host(&host)?;
        }
        if frontend.requires_secure_transport() && !is_encrypted {
            return Err(error(Refusal::secure_transport_required()));
        }
        let known = frontend.account(&user, &host);
        let is_known = known.is_some();
        let account = known.unwrap_or_else(|| decoy(&user, &host));
        let using_password = !password.is_empty();
        let hashes = [false, true].map(|is_old| hash_of(&account, is_old).to_vec());
        // Thousands of rounds of SHA-256, twice: not on a thread that serves others.
        let checked = tokio::task::spawn_blocking(move || {
            let [is_new, is_old] = [0, 1].map(|which: usize| verify_clear(&hashes[which], &password));
            // There is no old password where nothing is kept of one.
            is_new || is_old && !hashes[1].is_empty()
        });
        let is_proven = checked.await.unwrap_or(false);
        let attempt = Attempt { user: &user, host: &host, is_known, is_proven, using_password };
        let settled = self.settle(&account, &attempt).await;
        if !is_local {
            let outcome = if settled.is_ok() { LoginOutcome::LetIn } else { LoginOutcome::WrongPassword };
            frontend.note_login(&host, outcome);
        }
        if settled.is_err() {
            frontend.count_aborted_connect();
        }
        settled.map_err(error)?;
        let is_tls_met = match account.tls {
            TlsRequirement::None => true,
            TlsRequirement::Any => is_encrypted,
            TlsRequirement::X509 | TlsRequirement::Specified { .. } => false,
        };
        if !is_tls_met {
            return Err(error(Refusal::access_denied(&user, &host, using_password)));
        }
        if account.locked {
            return Err(error(Refusal::account_locked(&user, &host)));
        }
        Ok(account)
    }
}

fn error(refusal: Refusal) -> Error {
    Error::new(ErrorCode::from_errno(refusal.errno).unwrap_or(ErrorCode::AccessDenied), refusal.message)
}
