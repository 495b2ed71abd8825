//! The page, from the binary: nothing of it comes from elsewhere, and the browser is told so.

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};

use crate::reply::{Reply, reply};

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [(&str, &str); 4] = [
    ("/charts.js", include_str!("page/charts.js")),
    ("/digests.js", include_str!("page/digests.js")),
    ("/panels.js", include_str!("page/panels.js")),
    ("/dashboard.js", include_str!("page/dashboard.js")),
];
const ICON: &str = include_str!("page/icon.svg");

/// Only what is listed: no inline script or style, no frames, no forms that go elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The file of the page at a path.
pub fn asset(path: &str) -> Option<Reply> {
    let (content_type, text) = match path {
        "/" => ("text/html; charset=utf-8", HTML),
        "/style.css" => ("text/css; charset=utf-8", STYLE),
        "/icon.svg" => ("image/svg+xml", ICON),
        _ => {
            let (_, text) = SCRIPTS.iter().find(|(known, _)| *known == path)?;
            ("text/javascript; charset=utf-8", *text)
        }
    };
    Some(file(content_type, text))
}

/// A file from the binary, with what its browser is told.
pub fn file(content_type: &'static str, text: &'static str) -> Reply {
    let mut reply = reply(StatusCode::OK, content_type, text);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_but_its_own_files() {
        for (name, text) in SCRIPTS.iter().copied().chain([("html", HTML), ("css", STYLE), ("icon", ICON)]) {
            for foreign in ["http:", "https:", "src=\"//", "@import", "innerHTML", "eval(", "document.write"] {
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(foreign), "{name}: {foreign}");
            }
        }
        for inline in ["<style", "style=\"", "onclick", "onload", "<script>"] {
            assert!(!HTML.contains(inline), "{inline}");
        }
        for part in HTML.split(['"']).filter(|part| part.ends_with(".js") || part.ends_with(".css")) {
            assert!(asset(part).is_some(), "{part}");
        }
        assert!(asset("/other").is_none() && asset("/../Cargo.toml").is_none());
    }
}
