//! Where a request comes from: pages of others must not have one made by the browser of somebody who has logged in.
//!
//! A page elsewhere can send requests here, and by a name that it lets lead to this machine even read the answers (DNS rebinding). So
//! requests name this server by an address, `localhost` or the host's own name, and what browsers say of the page that asks must fit.
//! Programs say nothing of that, and have no cookies of anybody else.

use std::net::IpAddr;

use hyper::StatusCode;
use hyper::header::{self, HeaderMap};

/// Why a request is not answered.
pub type Refused = (StatusCode, &'static str);

/// A header that is there once, as text.
pub fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A proxy has passed the request on: nobody knows whom it is from.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name))
}

/// # Errors
/// The request was made by a page from elsewhere, or might have been.
pub fn check(headers: &HeaderMap, changes_something: bool) -> Result<(), Refused> {
    check_of(headers, changes_something, true)
}

/// The same; `by_name`: also by the name that the request has for this machine. Behind TLS a name is proven by the certificate.
///
/// # Errors
/// The same.
pub fn check_of(headers: &HeaderMap, changes_something: bool, by_name: bool) -> Result<(), Refused> {
    let host = text(headers, "host").unwrap_or_default();
    if by_name && !names_this_machine(host) {
        let why = "use this machine's address, its name or `localhost` to come here: other names may lead anywhere tomorrow";
        return Err((StatusCode::MISDIRECTED_REQUEST, why));
    }
    let foreign = Err((StatusCode::FORBIDDEN, "the request comes from a page of another server"));
    if let Some(site) = text(headers, "sec-fetch-site") {
        return if site == "same-origin" || site == "none" && !changes_something { Ok(()) } else { foreign };
    }
    match headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default()) {
        None => Ok(()),
        Some(origin) => {
            let of_scheme = |scheme: &str| origin.strip_prefix(scheme).is_some_and(|rest| rest == host);
            if of_scheme("http://") || of_scheme("https://") { Ok(()) } else { foreign }
        }
    }
}

/// Whether a Host header is an address, `localhost`, or what the system calls itself.
fn names_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
            _ => return false,
        },
        None => host.split(':').next().unwrap_or_default(),
    };
    let own = rustix::system::uname();
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || own.nodename().to_str().is_ok_and(|own| !own.is_empty() && own.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn status(changes: bool, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        check(&map, changes).map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn names_that_may_lead_anywhere_are_refused() {
        for host in ["127.0.0.1:8186", "127.0.0.1", "[::1]:8186", "[fe80::1]", "localhost:8186", "LOCALHOST"] {
            assert_eq!(status(true, &[("host", host)]), 200, "{host}");
        }
        let own = rustix::system::uname().nodename().to_str().unwrap().to_owned();
        assert_eq!(status(true, &[("host", &format!("{own}:8186"))]), 200);
        for host in ["", "evil.example:8186", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "[::1]x"]
        {
            assert_eq!(status(true, &[("host", host)]), 421, "{host}");
        }
    }

    #[test]
    fn pages_of_other_servers_are_refused() {
        let host = ("host", "127.0.0.1:8186");
        let site = |site| ("sec-fetch-site", site);
        let origin = |origin| ("origin", origin);
        for (changes, second, expected) in [
            (true, site("same-origin"), 200),
            (true, site("same-site"), 403),
            (true, site("cross-site"), 403),
            (true, site("none"), 403),
            (false, site("none"), 200),
            (false, site("cross-site"), 403),
            (true, origin("http://127.0.0.1:8186"), 200),
            (true, origin("https://127.0.0.1:8186"), 200),
            (true, origin("http://127.0.0.1:3000"), 403),
            (true, origin("http://evil.example"), 403),
            (true, origin("null"), 403),
            (true, ("accept", "*/*"), 200),
        ] {
            assert_eq!(status(changes, &[host, second]), expected, "{second:?}");
        }
    }
}
