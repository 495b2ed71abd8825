//! A client of the REST interface.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::http::{Answer, parse, send};

/// Somebody who asks for rows.
pub struct Rest {
    pub address: String,
    authorization: String,
}

impl Rest {
    pub fn of(address: &str, user: &str, password: &str) -> Rest {
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        Rest { address: address.to_owned(), authorization: format!("Authorization: Basic {encoded}\r\n") }
    }

    /// Without saying who it is.
    pub fn nobody(address: &str) -> Rest {
        Rest { address: address.to_owned(), authorization: String::new() }
    }

    /// The header that says who it is, with its line end.
    pub fn authorization(&self) -> &str {
        &self.authorization
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string())
    }

    pub fn post_text(&self, path: &str, body: &str) -> Answer {
        self.request(path, "Content-Type: application/json\r\n", body)
    }

    /// With headers of one's own, each with its line end.
    pub fn request(&self, path: &str, headers: &str, body: &str) -> Answer {
        let (address, authorization, length) = (&self.address, &self.authorization, body.len());
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
        let head = format!(
            "POST /0.1.0/{path} HTTP/1.1\r\n{host}{authorization}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let text = send(address, (head + body).as_bytes()).unwrap_or_else(|error| panic!("{path}: {error}"));
        parse(&text).unwrap_or_else(|| panic!("{path}: no HTTP: {text}"))
    }

    /// An answer that is known to come.
    pub fn done(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", answer.body))
    }

    /// Status and MySQL's number of a refusal.
    pub fn refused(&self, path: &str, body: &Value) -> (u16, u64) {
        refusal(&self.post(path, body))
    }
}

/// Status and MySQL's number, which every refusal has.
pub fn refusal(answer: &Answer) -> (u16, u64) {
    let body: Value =
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body));
    assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    (answer.status, body["error"]["errno"].as_u64().unwrap())
}

/// A filter for a primary key of one column.
pub fn key(column: &str, value: impl Into<Value>) -> Value {
    json!([{ "column": column, "value": value.into() }])
}

/// An operation of a batch.
pub fn operation(path: &str, body: Value) -> Value {
    json!({ "method": "POST", "relative-url": path, "body": body })
}
