//! The page for operators as a program uses it: requests in JSON, with the cookie of a login.

use serde_json::{Value, json};

use crate::http::{Answer, parse, send};

/// One viewer.
pub struct Page {
    pub address: String,
    pub cookie: Option<String>,
}

impl Page {
    pub fn of(address: &str) -> Page {
        Page { address: address.to_owned(), cookie: None }
    }

    /// Panics unless the account is let in.
    pub fn log_in(address: &str, user: &str, password: &str) -> Page {
        let mut page = Page::of(address);
        let answer = page.try_log_in(user, password);
        assert_eq!(answer.status, 200, "{user}: {}", answer.body);
        page
    }

    /// Logs in, and keeps the cookie if it was right.
    pub fn try_log_in(&mut self, user: &str, password: &str) -> Answer {
        let answer = self.post("login", &json!({ "user": user, "password": password }));
        let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        if let Some(cookie) = cookie {
            self.cookie = Some(cookie.split(';').next().unwrap_or_default().to_owned());
        }
        answer
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, "Content-Type: application/json\r\n", &body.to_string())
    }

    /// With headers of one's own, each with its line end.
    pub fn post_with(&self, path: &str, headers: &str, body: &str) -> Answer {
        self.request("POST", path, &format!("{headers}Content-Length: {}\r\n", body.len()), body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "", "")
    }

    /// An answer that is known to come.
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", answer.body))
    }

    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.to_ascii_lowercase().contains("host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let cookie = self.cookie.as_ref().map_or_else(String::new, |cookie| format!("Cookie: {cookie}\r\n"));
        let request =
            format!("{method} /api/{path} HTTP/1.1\r\n{host}{cookie}{headers}Connection: close\r\n\r\n{body}");
        let text = send(&self.address, request.as_bytes()).unwrap_or_else(|error| panic!("{path}: {error}"));
        parse(&text).unwrap_or_else(|| panic!("{path}: no HTTP: {text}"))
    }

    /// The session with this number, if the viewer sees it.
    pub fn session(&self, node: u32, id: u32) -> Option<Value> {
        let statements = self.json("statements");
        let sessions = statements["nodes"][node.to_string()]["sessions"].as_array()?;
        sessions.iter().find(|session| session["id"] == json!(id)).cloned()
    }
}
