//! Logging in and out, and whose a request is.

use std::sync::Arc;
use std::time::Instant;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::{Value, json};
use shoal_sql::operators::OperatorAccess;
use shoal_sql::server::Server;

use super::sessions::AGE_MAX;
use super::{AccountKey, Login, origin};
use crate::peer::Peer;
use crate::watched::Watched;

/// Who asks.
pub struct Viewer {
    pub account: AccountKey,
    pub access: OperatorAccess,
}

/// Why not, for a person.
pub type Refusal = (StatusCode, String);

fn refuse<T>(status: StatusCode, text: impl Into<String>) -> Result<T, Refusal> {
    Err((status, text.into()))
}

/// Two servers of one host have one jar of cookies.
fn cookie_name(peer: &Peer) -> String {
    format!("shoal-{}", peer.own.port())
}

fn token<'h>(headers: &'h HeaderMap, peer: &Peer) -> Option<&'h str> {
    let name = cookie_name(peer);
    let pairs = origin::text(headers, "cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(known, _)| *known == name).map(|(_, token)| token)
}

/// What an account's password is kept as at the moment; another password is kept otherwise.
pub fn kept_as(server: &Server, account: &AccountKey) -> Option<Vec<u8>> {
    server.node.catalog().users.get(account).map(|user| user.authentication_string.clone())
}

/// # Errors
/// 401: nobody has logged in, or the account is not what it was.
pub fn viewer(
    watched: &Watched,
    server: &Arc<Server>,
    headers: &HeaderMap,
    peer: &Peer,
) -> Result<Viewer, Refusal> {
    let logged_out = || (StatusCode::UNAUTHORIZED, "log in first".to_owned());
    let token = token(headers, peer).ok_or_else(logged_out)?;
    let (account, proven) = watched.dashboard.sessions.find(token, Instant::now()).ok_or_else(logged_out)?;
    let access = server.operator_access(&account).filter(|access| !access.password_expired);
    match access.filter(|_| kept_as(server, &account) == Some(proven)) {
        Some(access) => Ok(Viewer { account, access }),
        None => {
            watched.dashboard.sessions.end(token);
            Err(logged_out())
        }
    }
}

/// What the page says of whoever has logged in.
pub fn described(viewer: &Viewer) -> Value {
    let (user, host) = &viewer.account;
    let OperatorAccess { sees_all, kills_all, .. } = viewer.access;
    json!({ "user": user, "host": host, "sees_all": sees_all, "kills_all": kills_all })
}

/// An account that somebody has proven to be.
pub struct Proven {
    pub account: AccountKey,
    access: OperatorAccess,
    /// What its password is kept as.
    pub kept_as: Vec<u8>,
}

/// Whether a password may come in this way at all.
///
/// # Errors
/// 403: others could have read it, or nobody knows whose it is.
pub fn check_way(headers: &HeaderMap, peer: &Peer, password: &str) -> Result<(), Refusal> {
    if !peer.is_local() && !peer.is_encrypted {
        let text = format!(
            "this port has no TLS (http_tls=ON), so passwords are taken from this machine alone: ssh -L {port}:{own} HOST, and open \
             http://localhost:{port}/; or put a proxy with TLS on this machine",
            port = peer.own.port(),
            own = peer.own
        );
        return refuse(StatusCode::FORBIDDEN, text);
    }
    if password.is_empty() && origin::is_forwarded(headers) {
        return refuse(StatusCode::FORBIDDEN, "accounts without a password cannot log in through a proxy");
    }
    Ok(())
}

/// Checks user and password.
///
/// # Errors
/// 401: no. 403: the password has expired. 503: the node is starting.
pub async fn prove(
    watched: &Watched,
    server: &Arc<Server>,
    peer: &Peer,
    user: &str,
    password: &str,
) -> Result<Proven, Refusal> {
    let Some(accounts) = watched.dashboard.accounts.get() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the node is starting");
    };
    let login = Login {
        user: user.to_owned(),
        host: peer.host(),
        is_local: peer.is_local(),
        is_encrypted: peer.is_encrypted,
        password: password.to_owned(),
    };
    let account = match accounts.check(login).await {
        Ok(account) => account,
        Err(error) => return refuse(StatusCode::UNAUTHORIZED, error.message()),
    };
    let (Some(access), Some(kept_as)) = (server.operator_access(&account), kept_as(server, &account)) else {
        return refuse(StatusCode::UNAUTHORIZED, "the account is not there any more");
    };
    if access.password_expired {
        let text = "the password has expired: change it with a MySQL client (ALTER USER), then log in";
        return refuse(StatusCode::FORBIDDEN, text);
    }
    Ok(Proven { account, access, kept_as })
}

/// Checks user and password, and yields the viewer and the cookie.
///
/// # Errors
/// 401: no. 403: not in this way. 429: too many at a time.
pub async fn log_in(
    watched: &Watched,
    server: &Arc<Server>,
    headers: &HeaderMap,
    peer: &Peer,
    body: &Value,
) -> Result<(Viewer, String), Refusal> {
    let (Some(user), Some(password)) = (body["user"].as_str(), body["password"].as_str()) else {
        return refuse(StatusCode::BAD_REQUEST, "send {\"user\": ..., \"password\": ...}");
    };
    check_way(headers, peer, password)?;
    let Ok(_place) = watched.dashboard.logins.try_acquire() else {
        return refuse(StatusCode::TOO_MANY_REQUESTS, "too many logins at a time; try again");
    };
    let Proven { account, access, kept_as } = prove(watched, server, peer, user, password).await?;
    let Some(token) = watched.dashboard.sessions.begin(account.clone(), kept_as, Instant::now()) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "no random numbers from the system");
    };
    server.note_operator_login(&account, &peer.host());
    let is_encrypted = peer.is_encrypted || origin::text(headers, "x-forwarded-proto") == Some("https");
    let cookie = cookie(peer, &token, AGE_MAX.as_secs(), is_encrypted);
    Ok((Viewer { account, access }, cookie))
}

/// Ends the login of the request, if it has one; yields the cookie that forgets it.
pub fn log_out(watched: &Watched, headers: &HeaderMap, peer: &Peer) -> String {
    if let Some(token) = token(headers, peer) {
        watched.dashboard.sessions.end(token);
    }
    cookie(peer, "", 0, false)
}

fn cookie(peer: &Peer, token: &str, seconds: u64, is_encrypted: bool) -> String {
    let secure = if is_encrypted { "; Secure" } else { "" };
    let name = cookie_name(peer);
    format!("{name}={token}; Path=/api; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}
