//! The packets by which one client proves its password.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use shoal_sql::frontend::{Account, Frontend, TlsRequirement, TlsSession};
use shoal_tls::CertificateFacts;
use shoal_types::password::{NATIVE_PASSWORD, fast_digest, verify_crypt, verify_fast, verify_native};

use super::{Attempt, Authenticator, decoy, hash_of};
use crate::constants::Capabilities;
use crate::handshake::{Challenge, Introduction, LOGIN_PAYLOAD_SIZE_MAX};
use crate::packet::{PacketReader, PacketWriter};
use crate::proxy::{self, Beginning};
use crate::refusal::Refusal;
use crate::result::{flush, receive};
use crate::stream::Stream;
use crate::worker::Worker;

const SWITCH_REQUEST: u8 = 0xfe;
const MORE_DATA: u8 = 0x01;
const FAST_PATH_OK: u8 = 3;
const FULL_EXCHANGE: u8 = 4;
const PUBLIC_KEY_REQUEST: &[u8] = &[2];

/// Why a login did not come about.
#[derive(Debug)]
pub enum LoginError {
    /// The client is told why, then the connection ends.
    Refused(Refusal),
    /// There is nobody to tell.
    Lost,
}

impl From<io::Error> for LoginError {
    fn from(_: io::Error) -> LoginError {
        LoginError::Lost
    }
}

impl<R: Into<Refusal>> From<R> for LoginError {
    fn from(refusal: R) -> LoginError {
        LoginError::Refused(refusal.into())
    }
}

type Result<T, E = LoginError> = std::result::Result<T, E>;

/// One client's side of the exchange.
pub struct Exchange<'a> {
    pub stream: &'a Stream,
    pub input: &'a mut PacketReader,
    pub output: &'a mut PacketWriter,
    pub worker: &'a Worker,
    /// The client is on this machine: a Unix socket or a loopback address.
    pub is_local: bool,
    pub authenticator: &'a Arc<Authenticator>,
    pub capabilities: Capabilities,
    pub challenge: Challenge,
}

impl Exchange<'_> {
    /// Checks the client of `introduction`, which comes from `host`. With `must_ask` the answer that came with the
    /// introduction is not looked at; the client is asked to answer this exchange's challenge.
    pub async fn authenticate<F: Frontend>(
        &mut self,
        frontend: &F,
        introduction: &Introduction,
        host: &str,
        must_ask: bool,
    ) -> Result<Account> {
        let user = introduction.user.as_str();
        let known = frontend.account(user, host);
        let is_known = known.is_some();
        let account = known.unwrap_or_else(|| decoy(user, host));
        if !self.capabilities.has(Capabilities::PLUGIN_AUTH) && account.plugin != NATIVE_PASSWORD {
            return Err(Refusal::old_client().into());
        }
        let answer = if must_ask || introduction.plugin != account.plugin {
            self.ask_for_plugin(&account.plugin).await?
        } else {
            introduction.answer.clone()
        };
        let using_password = !matches!(answer.as_slice(), [] | [0]);
        let is_proven = match account.plugin.as_str() {
            NATIVE_PASSWORD => self.check_native(&account, &answer),
            _ => self.check_caching_sha2(&account, &answer, using_password).await?,
        };
        let attempt = Attempt { user, host, is_known, is_proven, using_password };
        self.authenticator.settle(&account, &attempt).await?;
        if !meets(&account.tls, self.stream.tls().as_ref(), || self.stream.client_certificate()) {
            return Err(Refusal::access_denied(user, host, using_password).into());
        }
        if account.locked {
            return Err(Refusal::account_locked(user, host).into());
        }
        Ok(account)
    }

    fn check_native(&self, account: &Account, answer: &[u8]) -> bool {
        match account.authentication_string.as_slice() {
            [] => answer.is_empty(),
            hash => [hash, &account.old_authentication_string]
                .iter()
                .any(|hash| !hash.is_empty() && verify_native(hash, &self.challenge, answer)),
        }
    }

    async fn check_caching_sha2(
        &mut self,
        account: &Account,
        answer: &[u8],
        using_password: bool,
    ) -> Result<bool> {
        if !using_password || account.authentication_string.is_empty() {
            return Ok(!using_password && account.authentication_string.is_empty());
        }
        let is_cached = |is_old| {
            let digest = self.authenticator.fast_digest(account, is_old);
            digest.is_some_and(|digest| verify_fast(&digest, &self.challenge, answer))
        };
        if is_cached(false) || is_cached(true) {
            self.output.packet(&[MORE_DATA, FAST_PATH_OK]);
            return Ok(true);
        }
        self.output.packet(&[MORE_DATA, FULL_EXCHANGE]);
        let Some(password) = self.receive_password().await? else { return Ok(false) };
        let hashes = [false, true].map(|is_old| hash_of(account, is_old).to_vec());
        // Thousands of rounds of SHA-256: not on a thread that serves others.
        let digest = tokio::task::spawn_blocking(move || {
            let is_right = |hash: &Vec<u8>| !hash.is_empty() && verify_crypt(hash, &password);
            let which = hashes.iter().position(is_right)?;
            Some((which == 1, fast_digest(&password)))
        });
        let Ok(Some((is_old, digest))) = digest.await else { return Ok(false) };
        self.authenticator.remember(account, is_old, digest);
        Ok(true)
    }

    /// The password itself: encrypted, or in clear through TLS and where nothing leaves the machine.
    async fn receive_password(&mut self) -> Result<Option<Vec<u8>>> {
        let mut packet = self.next_packet().await?;
        let is_safe = self.is_local || self.stream.is_secure();
        let key = &self.authenticator.password_key;
        let encrypted = packet == PUBLIC_KEY_REQUEST || !is_clear_password(&packet, key.block_size(), is_safe);
        if packet == PUBLIC_KEY_REQUEST {
            let key = key.clone();
            let pem = tokio::task::spawn_blocking(move || Some(key.get().ok()?.public_pem().to_vec()));
            let Ok(Some(pem)) = pem.await else { return Ok(None) };
            let payload = self.output.begin();
            payload.push(MORE_DATA);
            payload.extend_from_slice(&pem);
            self.output.end();
            packet = self.next_packet().await?;
        }
        if encrypted {
            let key = self.authenticator.password_key.clone();
            let plain = tokio::task::spawn_blocking(move || key.get().ok()?.decrypt(&packet));
            let Ok(Some(mut plain)) = plain.await else { return Ok(None) };
            for (byte, mask) in plain.iter_mut().zip(self.challenge.iter().cycle()) {
                *byte ^= mask;
            }
            packet = plain;
        }
        // The terminating NUL is part of what is sent.
        Ok(packet.strip_suffix(&[0]).map(<[u8]>::to_vec))
    }

    /// Asks the client to answer the challenge in the way of `plugin`.
    async fn ask_for_plugin(&mut self, plugin: &str) -> Result<Vec<u8>> {
        let payload = self.output.begin();
        payload.push(SWITCH_REQUEST);
        payload.extend_from_slice(plugin.as_bytes());
        payload.push(0);
        payload.extend_from_slice(&self.challenge);
        payload.push(0);
        self.output.end();
        self.next_packet().await
    }

    /// Sends what is to be said, and takes what a proxy says of its client if the connection begins with that.
    ///
    /// # Errors
    /// It says it in a way that this server does not know.
    pub async fn proxied_client(&mut self) -> Result<Option<IpAddr>> {
        flush(self.stream, self.output, self.worker).await?;
        loop {
            match proxy::beginning(self.input.unread()) {
                Beginning::Unfinished => receive(self.stream, self.input, self.worker).await?,
                Beginning::NoHeader => return Ok(None),
                Beginning::Header { bytes, client } => {
                    self.input.skip(bytes);
                    return Ok(client);
                }
                Beginning::Bad => {
                    // The client counts its own answer to the greeting, which is not looked at.
                    self.output.sequence = self.output.sequence.wrapping_add(1);
                    return Err(Refusal::bad_handshake().into());
                }
            }
        }
    }

    /// Sends what is to be said and takes the client's next packet.
    pub async fn next_packet(&mut self) -> Result<Vec<u8>> {
        flush(self.stream, self.output, self.worker).await?;
        self.input.sequence = self.output.sequence;
        loop {
            let next = self.input.next(LOGIN_PAYLOAD_SIZE_MAX);
            self.output.sequence = self.input.sequence.wrapping_add(u8::from(next.is_err()));
            if let Some(range) = next? {
                return Ok(self.input.payload(range).to_vec());
            }
            receive(self.stream, self.input, self.worker).await?;
        }
    }
}

/// Whether a connection with this TLS, and this certificate of the client's, is what the account insists on.
fn meets(
    required: &TlsRequirement,
    tls: Option<&TlsSession>,
    certificate: impl FnOnce() -> Option<CertificateFacts>,
) -> bool {
    let Some(tls) = tls else { return *required == TlsRequirement::None };
    let is_wanted = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
    match required {
        TlsRequirement::None | TlsRequirement::Any => true,
        TlsRequirement::X509 => certificate().is_some(),
        TlsRequirement::Specified { subject, issuer, cipher } if subject.is_empty() && issuer.is_empty() => {
            is_wanted(cipher, &tls.cipher)
        }
        TlsRequirement::Specified { subject, issuer, cipher } => certificate().is_some_and(|shown| {
            is_wanted(cipher, &tls.cipher)
                && is_wanted(subject, &shown.subject)
                && is_wanted(issuer, &shown.issuer)
        }),
    }
}

/// Whether the packet is the password in clear, ended by NUL, rather than encrypted for a key that the client had all
/// along. MariaDB's client sends it so whatever the transport; from another machine and without TLS it is never taken.
fn is_clear_password(packet: &[u8], block_size: usize, is_safe: bool) -> bool {
    is_safe && packet.len() != block_size && packet.last() == Some(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_met_by_what_they_name_alone() {
        let moment = shoal_tls::Moment(0);
        let shown = CertificateFacts {
            subject: "/CN=a".into(),
            issuer: "/CN=ca".into(),
            not_before: moment,
            not_after: moment,
        };
        let tls = TlsSession { version: "TLSv1.3", cipher: "TLS_X".into(), is_resumed: false };
        let specified = |subject: &str, issuer: &str, cipher: &str| TlsRequirement::Specified {
            subject: subject.into(),
            issuer: issuer.into(),
            cipher: cipher.into(),
        };
        // Without TLS, with it, and with a certificate as well.
        for (required, expected) in [
            (TlsRequirement::None, [true, true, true]),
            (TlsRequirement::Any, [false, true, true]),
            (TlsRequirement::X509, [false, false, true]),
            (specified("/CN=a", "", ""), [false, false, true]),
            (specified("/CN=a", "/CN=ca", "TLS_X"), [false, false, true]),
            (specified("", "/CN=other", ""), [false, false, false]),
            (specified("/CN=A", "", ""), [false, false, false]),
            (specified("", "", "TLS_X"), [false, true, true]),
            (specified("/CN=a", "", "TLS_Y"), [false, false, false]),
        ] {
            let found = [
                meets(&required, None, || None),
                meets(&required, Some(&tls), || None),
                meets(&required, Some(&tls), || Some(shown.clone())),
            ];
            assert_eq!(found, expected, "{required:?}");
        }
    }

    #[test]
    fn a_password_in_clear_is_taken_from_this_machine_only() {
        assert!(is_clear_password(b"secret\0", 256, true));
        assert!(!is_clear_password(b"secret\0", 256, false));
        assert!(!is_clear_password(b"secret", 256, true));
        assert!(!is_clear_password(&[0; 256], 256, true));
    }
}
