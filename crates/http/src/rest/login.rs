//! Whose a request is: HTTP's Basic, checked as logins to the page for operators are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::StatusCode;
use hyper::header::HeaderMap;
use shoal_sql::server::Server;
use shoal_types::ErrorCode;

use super::problem::Problem;
use super::proofs::Said;
use crate::dashboard::{AccountKey, login, origin};
use crate::peer::Peer;
use crate::watched::Watched;

/// For others' wrong passwords, whose answers are delayed.
const LOGIN_PATIENCE: Duration = Duration::from_secs(10);

/// The account that the request proves.
///
/// # Errors
/// 401: none. 403: not in this way, or not with an expired password. 503: too many at a time.
pub async fn account(
    watched: &Watched,
    server: &Arc<Server>,
    headers: &HeaderMap,
    peer: &Peer,
) -> Result<AccountKey, Problem> {
    let credentials = origin::text(headers, "authorization").and_then(decode);
    let Some((user, password)) = credentials else {
        let text = "log in as an account of the database: send Authorization: Basic, with base64 of user:password";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::AccessDenied, text));
    };
    let host = peer.host();
    let said = Said { user: &user, password: &password, host: &host, is_encrypted: peer.is_encrypted };
    // Before anything that was proven before: through a proxy everybody seems to be of this machine.
    login::check_way(headers, peer, &password).map_err(refused)?;
    let (proofs, rules) = (&watched.rest.proofs, rules(server));
    if let Some((account, kept)) = proofs.find(said, Instant::now())
        && server.operator_access(&account).is_some_and(|access| !access.password_expired)
        && kept == rules
    {
        return Ok(account);
    }
    let place = tokio::time::timeout(LOGIN_PATIENCE, watched.rest.logins.acquire()).await;
    let Ok(Ok(_place)) = place else { return Err(Problem::busy("too many logins at a time; try again")) };
    let proven = login::prove(watched, server, peer, &user, &password).await.map_err(refused)?;
    server.note_request_login(&proven.account, &host);
    proofs.keep(said, proven.account.clone(), rules, Instant::now());
    Ok(proven.account)
}

/// What a proof was good under: the dictionary's version, in which accounts are, and the variable that wants TLS.
fn rules(server: &Server) -> Vec<u8> {
    let mut rules = server.node.catalog_version().to_le_bytes().to_vec();
    rules.extend(server.global_text("require_secure_transport").bytes());
    rules
}

fn refused((status, text): login::Refusal) -> Problem {
    let code = match status {
        StatusCode::SERVICE_UNAVAILABLE => ErrorCode::GetTemporaryErrmsg,
        _ => ErrorCode::AccessDenied,
    };
    Problem::new(status, code, text)
}

/// User and password of an Authorization header.
fn decode(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_user_and_all_behind_the_first_colon() {
        let of = |text: &str| decode(&format!("Basic {}", BASE64_STANDARD.encode(text)));
        assert_eq!(of("ann:a:b"), Some(("ann".to_owned(), "a:b".to_owned())));
        assert_eq!(of("root:"), Some(("root".to_owned(), String::new())));
        assert_eq!(of("nobody"), None);
        for header in ["", "Basic", "Basic !", "Bearer YTpi", "Basic /w=="] {
            assert_eq!(decode(header), None, "{header}");
        }
    }
}
