//! Answers: a status, a type and a body in one piece.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

pub type Reply = Response<Full<Bytes>>;

pub const TEXT: &str = "text/plain; charset=utf-8";
pub const JSON: &str = "application/json";

/// An answer that nobody may keep, and that is nothing but what its type says.
pub fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

/// A sentence for people, and the end of its line.
pub fn sentence(status: StatusCode, text: &str) -> Reply {
    reply(status, TEXT, format!("{text}\n"))
}

/// A refusal after which the connection ends, because what follows on it cannot be trusted to be a request.
pub fn refusal(status: StatusCode, text: &str) -> Reply {
    let mut reply = sentence(status, text);
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}
