//! From a request to its answer.

use std::sync::atomic::Ordering;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode, Version};

use crate::dashboard;
use crate::health;
use crate::metrics;
use crate::peer::Peer;
use crate::profiles;
use crate::reply::{Reply, refusal, reply, sentence};
use crate::rest::{self, Problem};
use crate::watched::Watched;

/// Answers a request.
pub async fn answer(watched: &Arc<Watched>, peer: &Peer, request: Request<Incoming>) -> Reply {
    watched.http.requests.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path();
    let (is_for_api, is_for_rows) = (dashboard::is_for_api(path), rest::is_for_rows(path));
    let may_have_body = (is_for_api || is_for_rows) && *request.method() == Method::POST;
    if let Some((status, text)) = refuse(request.version(), request.headers(), may_have_body) {
        return if is_for_rows { Problem::unknown(status, text).reply() } else { refusal(status, text) };
    }
    match () {
        () if is_for_api => Box::pin(dashboard::answer(watched, peer, request)).await,
        () if profiles::is_for_profiles(path) => Box::pin(profiles::answer(watched, peer, request)).await,
        () if is_for_rows => Box::pin(rest::answer(watched, peer, request)).await,
        () => look(watched, &request),
    }
}

/// Answers a request without a body that changes nothing and is everybody's.
fn look<B>(watched: &Watched, request: &Request<B>) -> Reply {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here: use GET or HEAD");
        reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return reply;
    }
    match request.uri().path() {
        "/metrics" => reply(StatusCode::OK, metrics::CONTENT_TYPE, metrics::scrape(watched)),
        "/healthz" => sentence(StatusCode::OK, "ok"),
        "/readyz" => health::ready(watched),
        path => dashboard::asset(path).or_else(|| rest::page(&watched.rest, path)).unwrap_or_else(|| {
            sentence(StatusCode::NOT_FOUND, "there is no such page; there are /, /metrics, /healthz and /readyz")
        }),
    }
}

/// What is wrong with a request whatever it asks for. Most have no bodies, so nothing can hide in one: proxies that disagree about
/// where a body ends have nothing to disagree about. Where there is one, one header says how long it is.
fn refuse(version: Version, headers: &HeaderMap, may_have_body: bool) -> Option<(StatusCode, &'static str)> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Some((StatusCode::BAD_REQUEST, "Transfer-Encoding is refused: say how long a body is"));
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter().map(HeaderValue::as_bytes);
    let length = lengths.next();
    if lengths.next().is_some() {
        return Some((StatusCode::BAD_REQUEST, "a request has one Content-Length"));
    }
    if !may_have_body && length.is_some_and(|length| length != b"0") {
        return Some((StatusCode::PAYLOAD_TOO_LARGE, "requests have no body here"));
    }
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 || version == Version::HTTP_11 && hosts == 0 {
        return Some((StatusCode::BAD_REQUEST, "a request has one Host header"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: Method, path: &str, headers: &[(&str, &str)]) -> StatusCode {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        match refuse(request.version(), request.headers(), false) {
            Some((status, _)) => status,
            None => look(&Watched::new(), &request).status(),
        }
    }

    #[test]
    fn paths_and_methods_that_do_not_exist_are_refused() {
        let host = [("host", "a")];
        assert_eq!(status(Method::GET, "/healthz", &host), StatusCode::OK);
        assert_eq!(status(Method::HEAD, "/metrics?x=1", &host), StatusCode::OK);
        assert_eq!(status(Method::GET, "/readyz", &host), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(Method::GET, "/", &host), StatusCode::OK);
        assert_eq!(status(Method::GET, "/etc/passwd", &host), StatusCode::NOT_FOUND);
        for method in [Method::POST, Method::DELETE, Method::PUT, Method::OPTIONS, Method::TRACE] {
            assert_eq!(status(method, "/metrics", &host), StatusCode::METHOD_NOT_ALLOWED);
        }
    }

    #[test]
    fn requests_with_bodies_or_without_one_host_are_refused() {
        let refused = |headers: &[(&str, &str)]| status(Method::GET, "/healthz", headers);
        assert_eq!(refused(&[]), StatusCode::BAD_REQUEST);
        assert_eq!(refused(&[("host", "a"), ("host", "b")]), StatusCode::BAD_REQUEST);
        assert_eq!(refused(&[("host", "a"), ("transfer-encoding", "chunked")]), StatusCode::BAD_REQUEST);
        assert_eq!(refused(&[("host", "a"), ("content-length", "5")]), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(refused(&[("host", "a"), ("content-length", "0")]), StatusCode::OK);
    }
}
