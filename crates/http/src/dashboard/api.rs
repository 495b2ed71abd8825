//! Requests under `/api/`: from a request to its answer in JSON.
//!
//! | request | answer |
//! |---|---|
//! | `POST /api/login` | `user` and `password` become a cookie |
//! | `POST /api/logout` | the login is over |
//! | `GET /api/session` | whose it is |
//! | `GET /api/overview` | the cluster, its nodes, warnings |
//! | `GET /api/history?seconds=N` | samples of the last N seconds, of all nodes |
//! | `GET /api/statements` | sessions and waits, of all nodes |
//! | `GET /api/digests` | what kinds of statements have cost, of all nodes together: with PROCESS |
//! | `POST /api/digest` | `database` and `digest`: a sample and its plan, with PROCESS |
//! | `GET /api/log` | the newest events of the cluster: with PROCESS |
//! | `POST /api/kill` | `node`, `id` and `query_only`: KILL, or KILL QUERY |
//!
//! A refusal is `{"error": "..."}`.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use shoal_sql::server::Server;
use shoal_types::ErrorCode;

use super::login::{self, Refusal};
use super::questions::Question;
use super::{digests, nodes, origin};
use crate::peer::Peer;
use crate::reply::{JSON, Reply, reply};
use crate::watched::Watched;

/// Names and passwords are shorter.
const BODY_BYTES_MAX: usize = 4096;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
const HISTORY_SECONDS: u64 = 3600;

pub fn is_for_api(path: &str) -> bool {
    path.starts_with("/api/")
}

struct Answer {
    body: Value,
    cookie: Option<String>,
}

impl From<Value> for Answer {
    fn from(body: Value) -> Answer {
        Answer { body, cookie: None }
    }
}

/// Answers a request whose path is one of these. Its framing has been looked at.
pub async fn answer(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Reply {
    let (answer, status, ends) = match route(watched, peer, request).await {
        Ok(answer) => (answer, StatusCode::OK, false),
        // What follows on the connection may be the rest of a body that was not read.
        Err((status, text)) => (json!({ "error": text }).into(), status, status != StatusCode::UNAUTHORIZED),
    };
    let mut reply = reply(status, JSON, format!("{}\n", answer.body));
    let headers = reply.headers_mut();
    if ends {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(cookie) = answer.cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    reply
}

fn refuse<T>(status: StatusCode, text: &str) -> Result<T, Refusal> {
    Err((status, text.to_owned()))
}

async fn route(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let (parts, body) = request.into_parts();
    let (path, headers) = (parts.uri.path(), &parts.headers);
    let wanted = match path {
        "/api/session" | "/api/overview" | "/api/history" | "/api/statements" | "/api/digests" | "/api/log" => {
            Method::GET
        }
        "/api/login" | "/api/logout" | "/api/kill" | "/api/digest" => Method::POST,
        _ => return refuse(StatusCode::NOT_FOUND, "there is no such request"),
    };
    if parts.method != wanted {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "this is not asked in this way");
    }
    let changes = wanted == Method::POST;
    origin::check(headers, changes).map_err(|(status, text)| (status, text.to_owned()))?;
    let Some(server) = watched.server() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the node reads back its data");
    };
    let body = if changes { read(headers, body).await? } else { Value::Null };
    match path {
        "/api/login" => {
            let (viewer, cookie) = login::log_in(watched, server, headers, peer, &body).await?;
            return Ok(Answer { body: login::described(&viewer), cookie: Some(cookie) });
        }
        "/api/logout" => {
            return Ok(Answer { body: json!({}), cookie: Some(login::log_out(watched, headers, peer)) });
        }
        _ => {}
    }
    let viewer = login::viewer(watched, server, headers, peer)?;
    let failed = |error: shoal_types::Error| (StatusCode::SERVICE_UNAVAILABLE, error.message().to_owned());
    let account = &viewer.account;
    Ok(match path {
        "/api/session" => login::described(&viewer),
        "/api/overview" => nodes::overview(watched, server, account).await.map_err(failed)?,
        "/api/history" => {
            let question = Question::History(account.clone(), seconds(parts.uri.query()));
            json!({ "nodes": nodes::ask_all(watched, server, &question).await })
        }
        "/api/statements" => {
            let question = Question::Statements(account.clone());
            json!({ "nodes": nodes::ask_all(watched, server, &question).await })
        }
        "/api/digests" | "/api/digest" if !viewer.access.sees_all => {
            return refuse(StatusCode::FORBIDDEN, "statements of others need the privilege PROCESS");
        }
        "/api/digests" => {
            let question = Question::Digests(account.clone());
            digests::merged(&nodes::ask_all(watched, server, &question).await)
        }
        "/api/digest" => {
            let (Some(database), Some(digest)) = (body["database"].as_str(), body["digest"].as_str()) else {
                return refuse(StatusCode::BAD_REQUEST, "send {\"database\": ..., \"digest\": ...}");
            };
            let sample = nodes::sample(watched, server, account, &peer.host(), (database, digest)).await;
            sample.map_err(|error| (StatusCode::NOT_FOUND, error.message().to_owned()))?
        }
        "/api/log" if !viewer.access.sees_all => {
            return refuse(StatusCode::FORBIDDEN, "the events of the cluster need the privilege PROCESS");
        }
        "/api/log" => nodes::log(server).await.map_err(failed)?,
        _ => kill(watched, server, account, &body).await?,
    }
    .into())
}

async fn kill(
    watched: &Watched,
    server: &Arc<Server>,
    account: &super::AccountKey,
    body: &Value,
) -> Result<Value, Refusal> {
    let number = |name: &str| body[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let (Some(node), Some(id), Some(query_only)) = (number("node"), number("id"), body["query_only"].as_bool())
    else {
        return refuse(StatusCode::BAD_REQUEST, "send {\"node\": 1, \"id\": 2, \"query_only\": true}");
    };
    let killed = nodes::ask(watched, server, node, &Question::Kill(account.clone(), id, query_only)).await;
    killed.map_err(|error| {
        let status = match () {
            () if error.is(ErrorCode::KillDenied) => StatusCode::FORBIDDEN,
            () if error.is(ErrorCode::NoSuchThread) => StatusCode::NOT_FOUND,
            () => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, error.message().to_owned())
    })
}

/// Of `seconds=N`; all that there is without it.
fn seconds(query: Option<&str>) -> u64 {
    let wanted = query.and_then(|query| query.strip_prefix("seconds="));
    wanted.and_then(|seconds| seconds.parse().ok()).unwrap_or(HISTORY_SECONDS).min(HISTORY_SECONDS)
}

/// A body of JSON. Its type keeps forms of other pages from being one.
async fn read(headers: &HeaderMap, body: Incoming) -> Result<Value, Refusal> {
    let is_json = |text: &str| text.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(JSON));
    if !origin::text(headers, "content-type").is_some_and(is_json) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json");
    }
    let too_long = || (StatusCode::PAYLOAD_TOO_LARGE, format!("send at most {BODY_BYTES_MAX} bytes"));
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let Ok(collected) = collected else {
        return refuse(StatusCode::REQUEST_TIMEOUT, "the rest of the request did not come");
    };
    let bytes = collected.map_err(|_| too_long())?.to_bytes();
    serde_json::from_slice(&bytes).or_else(|_| refuse(StatusCode::BAD_REQUEST, "this is no JSON"))
}
