//! `/metrics`: figures in Prometheus' text format, made anew for every scrape.
//!
//! Names begin with `shoal_`, and have base units: seconds and bytes. What only grows ends in `_total`. [`node`] has what every node
//! has, [`sql`] what those with sessions have.

mod node;
pub(crate) mod process;
mod sql;
mod text;

use crate::health;
use crate::rest::Counters;
use crate::watched::{Stage, Watched};
use text::{Kind, Text};

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn scrape(watched: &Watched) -> String {
    let mut text = Text::default();
    text.family("shoal_build_info", Kind::Gauge, "Always 1; the version is in the label.")
        .labelled(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.one("shoal_uptime_seconds", Kind::Gauge, "Since the process began.", watched.uptime_s());
    let is_ready = u8::from(health::reason(watched).is_none());
    text.one("shoal_ready", Kind::Gauge, "1 while /readyz answers 200.", is_ready);
    let is_stopping = u8::from(watched.stage() == Stage::Stopping);
    text.one("shoal_stopping", Kind::Gauge, "1 while the node comes to an orderly end.", is_stopping);
    process::write(&mut text);
    let (requests, refused) = (&watched.http.requests, &watched.http.refused_connections);
    text.count("shoal_http_requests_total", "HTTP requests that could be read.", requests);
    text.count("shoal_http_refused_connections_total", "HTTP connections refused as too many.", refused);
    if watched.rest.is_on() {
        let Counters { reads, writes, failures } = &watched.rest.counters;
        text.count("shoal_rest_reads_total", "Rows that were asked for over REST.", reads);
        text.count("shoal_rest_writes_total", "Changes of rows that were asked for over REST.", writes);
        text.count("shoal_rest_failures_total", "REST requests that were refused or failed.", failures);
    }
    if let Some(server) = watched.server() {
        let observed = server.node.observed();
        node::write(&mut text, &server.node, &observed);
        if observed.roles.split(',').any(|role| role == "sql") {
            sql::write(&mut text, &server.figures());
        }
    }
    text.finish()
}
