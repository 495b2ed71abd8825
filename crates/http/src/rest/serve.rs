//! Requests for rows: from a request to its answer, within limits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode};
use shoal_sql::server::Server;
use shoal_types::ErrorCode;

use super::problem::Problem;
use super::request::{self, Target};
use super::{execute, login};
use crate::dashboard::{AccountKey, origin};
use crate::peer::Peer;
use crate::reply::{JSON, Reply, reply};
use crate::watched::{Stage, Watched};

const BODY_BYTES_MAX: usize = 1 << 20;
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers a request whose path is one of these. Its framing has been looked at.
pub async fn answer(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Reply {
    match route(watched, peer, request).await {
        Ok(body) => reply(StatusCode::OK, JSON, body),
        Err(problem) => {
            watched.rest.counters.failures.fetch_add(1, Ordering::Relaxed);
            problem.reply()
        }
    }
}

async fn route(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Result<Bytes, Problem> {
    let rest = &watched.rest;
    if !rest.is_on() {
        let text = "REST is off at this node: turn it on with http_rest=ON (HttpRest=1 in config.ini), or ask a node with the sql role";
        return Err(Problem::unknown(StatusCode::NOT_FOUND, text));
    }
    let (parts, body) = request.into_parts();
    let target = Target::of_path(parts.uri.path())?;
    if parts.method != Method::POST {
        return Err(Problem::unknown(StatusCode::METHOD_NOT_ALLOWED, "rows are asked for and changed with POST"));
    }
    origin::check_of(&parts.headers, true, !peer.is_encrypted)
        .map_err(|(status, text)| Problem::unknown(status, text))?;
    let server = watched.server().filter(|_| watched.stage() == Stage::Serving);
    let server = server.ok_or_else(|| Problem::busy("the node starts or stops; ask another one, or try again"))?;
    // Whoever has proven nothing takes no place from those who have.
    let account = login::account(watched, server, &parts.headers, peer).await?;
    let Ok(place) = Arc::clone(&rest.requests).try_acquire_owned() else {
        return Err(Problem::busy("too many requests at a time; try again"));
    };
    let body = read(&parts.headers, body).await?;
    let (watched, server, host) = (Arc::clone(watched), Arc::clone(server), peer.host());
    // A task of its own: also when the connection is lost, the request has its place until its end, and its entry in the audit log.
    let working = tokio::task::spawn_local(async move {
        let _place = place;
        work(&watched, &server, &account, &host, (target, body)).await
    });
    match working.await {
        Ok(done) => done.map_err(Problem::after_reading),
        Err(_) => {
            Err(Problem::unknown(StatusCode::INTERNAL_SERVER_ERROR, "the request broke off; see the server's log"))
        }
    }
}

/// What is left to do when all of a request is there.
async fn work(
    watched: &Watched,
    server: &Arc<Server>,
    account: &AccountKey,
    host: &str,
    (target, body): (Target, Vec<u8>),
) -> Result<Bytes, Problem> {
    let operations = request::operations(target, &body)?;
    let told = operations.summary();
    let done = execute::run(watched, server, account, host, operations).await;
    let errno = done.as_ref().err().map_or(0, Problem::errno);
    server.note_request(account, host, errno, || told);
    done
}

/// A body of JSON. Its type keeps forms of other pages from being one.
async fn read(headers: &HeaderMap, body: Incoming) -> Result<Vec<u8>, Problem> {
    let is_json = |text: &str| text.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(JSON));
    if !origin::text(headers, "content-type").is_some_and(is_json) {
        return Err(Problem::unknown(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json"));
    }
    let too_long = || {
        let text = format!("a request has at most {BODY_BYTES_MAX} bytes; send smaller batches");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::NetPacketTooLarge, text)
    };
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    match collected {
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            ErrorCode::NetReadInterrupted,
            "the rest of the request did not come",
        )),
        Ok(Err(_)) => Err(too_long()),
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
    }
}
