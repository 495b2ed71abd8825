//! From a request to its answer.

use std::sync::atomic::Ordering;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode, Version};

use crate::health;
use crate::metrics;
use crate::reply::{Reply, refusal, reply, sentence};
use crate::watched::Watched;

const INDEX: &str = "Shoal\n\n\
    /metrics  figures for Prometheus\n\
    /healthz  200 while the process lives\n\
    /readyz   200 while this node serves, else 503 with the reason as JSON\n";

/// Answers a request whose body, if it has one, is not read.
pub fn answer<B>(watched: &Watched, request: &Request<B>) -> Reply {
    watched.http.requests.fetch_add(1, Ordering::Relaxed);
    if let Some(refusal) = refuse(request.version(), request.headers()) {
        return refusal;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here: use GET or HEAD");
        reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return reply;
    }
    match request.uri().path() {
        "/" => sentence(StatusCode::OK, INDEX.trim_end()),
        "/metrics" => reply(StatusCode::OK, metrics::CONTENT_TYPE, metrics::scrape(watched)),
        "/healthz" => sentence(StatusCode::OK, "ok"),
        "/readyz" => health::ready(watched),
        _ => sentence(StatusCode::NOT_FOUND, "there is no such page; see / for those that there are"),
    }
}

/// What is wrong with a request whatever it asks for. Requests have no bodies here, so nothing can hide in one: proxies that disagree about
/// where a body ends have nothing to disagree about.
fn refuse(version: Version, headers: &HeaderMap) -> Option<Reply> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Some(refusal(StatusCode::BAD_REQUEST, "requests have no body here: Transfer-Encoding is refused"));
    }
    let length = headers.get(header::CONTENT_LENGTH).map(HeaderValue::as_bytes);
    if length.is_some_and(|length| length != b"0") {
        return Some(refusal(StatusCode::PAYLOAD_TOO_LARGE, "requests have no body here"));
    }
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 || version == Version::HTTP_11 && hosts == 0 {
        return Some(refusal(StatusCode::BAD_REQUEST, "a request has one Host header"));
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
        answer(&Watched::new(), &request.body(()).unwrap()).status()
    }

    #[test]
    fn paths_and_methods_that_do_not_exist_are_refused() {
        let host = [("host", "a")];
        assert_eq!(status(Method::GET, "/healthz", &host), StatusCode::OK);
        assert_eq!(status(Method::HEAD, "/metrics?x=1", &host), StatusCode::OK);
        assert_eq!(status(Method::GET, "/readyz", &host), StatusCode::SERVICE_UNAVAILABLE);
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
