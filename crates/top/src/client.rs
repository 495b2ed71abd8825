//! Requests to the page's port: HTTP/1.1, a connection each.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Of an answer; no server sends as much.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Of samples, for the line at the top.
const HISTORY_SECONDS: u32 = 600;

/// One login at one node.
pub struct Client {
    address: String,
    cookie: Option<String>,
}

/// What one look has brought.
pub struct Answers {
    pub(crate) overview: Value,
    pub(crate) history: Value,
    pub(crate) statements: Value,
    /// `Null`: they were not asked for.
    pub(crate) digests: Value,
}

impl Answers {
    /// All of it but for the samples.
    pub fn json(&self) -> Value {
        json!({ "overview": self.overview, "statements": self.statements, "digests": self.digests })
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Client {
    /// For HOST:PORT.
    pub fn new(address: &str) -> Client {
        Client { address: address.to_owned(), cookie: None }
    }

    /// # Errors
    /// Nobody answers, or the server's words.
    pub fn log_in(&mut self, user: &str, password: &str) -> Result<(), String> {
        let answer = self.ask("POST", "login", Some(&json!({ "user": user, "password": password })))?;
        let cookie = answer.head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("set-cookie")
                .then(|| value.trim().split(';').next().unwrap_or_default().to_owned())
        });
        self.cookie = cookie;
        Ok(())
    }

    /// The login is over.
    pub fn log_out(&mut self) {
        let _ = self.ask("POST", "logout", Some(&json!({})));
        self.cookie = None;
    }

    /// Digests are told to accounts with PROCESS only: to others that is an answer, too.
    ///
    /// # Errors
    /// Nobody answers, or the login is over.
    pub fn look(&self, with_digests: bool) -> Result<Answers, String> {
        let ask = |path: &str| self.ask("GET", path, None).map(|answer| answer.body);
        Ok(Answers {
            overview: ask("overview")?,
            history: ask(&format!("history?seconds={HISTORY_SECONDS}"))?,
            statements: ask("statements")?,
            digests: match with_digests {
                true => ask("digests").unwrap_or_else(|error| json!({ "error": error })),
                false => Value::Null,
            },
        })
    }

    /// KILL, or KILL QUERY.
    ///
    /// # Errors
    /// The server's words.
    pub fn kill(&self, node: u32, id: u32, query_only: bool) -> Result<(), String> {
        let body = json!({ "node": node, "id": id, "query_only": query_only });
        self.ask("POST", "kill", Some(&body)).map(|_| ())
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, String> {
        let failed =
            |error: std::io::Error| format!("{}: {error}; is that the HTTP port of a node?", self.address);
        let mut addresses = self.address.to_socket_addrs().map_err(failed)?;
        let address = addresses.next().ok_or_else(|| format!("`{}` has no address", self.address))?;
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(failed)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        stream.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
        let cookie = self.cookie.as_ref().map_or_else(String::new, |cookie| format!("Cookie: {cookie}\r\n"));
        let body = body.map_or_else(String::new, Value::to_string);
        let content = match method {
            "POST" => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
            _ => String::new(),
        };
        let head = format!(
            "{method} /api/{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{cookie}{content}\r\n",
            self.address
        );
        stream.write_all((head + &body).as_bytes()).map_err(failed)?;
        let mut bytes = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
        let answer = parse(&bytes).ok_or_else(|| format!("{} does not speak HTTP", self.address))?;
        if answer.status == 200 && answer.body.is_object() {
            return Ok(answer);
        }
        let told = answer.body["error"].as_str().map(str::to_owned);
        Err(told.unwrap_or_else(|| format!("{} answers {}: is that Shoal?", self.address, answer.status)))
    }
}

/// An answer whose body ends with the connection.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
    Some(Answer { status, head: head.to_owned(), body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_garbage_is_none() {
        let answer = parse(b"HTTP/1.1 403 Forbidden\r\nA: b\r\n\r\n{\"error\":\"no\"}\n").unwrap();
        assert_eq!((answer.status, &answer.body["error"]), (403, &json!("no")));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\n\r\nno json").unwrap().body, Value::Null);
        for garbage in
            [&b""[..], b"HTTP/1.1 200", b"HTTP/1.1 2\r\n\r\n", b"J\0\0\0\x0a8.4\r\n\r\n", b"\xff\r\n\r\n"]
        {
            assert!(parse(garbage).is_none());
        }
    }
}
