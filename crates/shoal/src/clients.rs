//! How MySQL clients come to a server: for whom proxies are believed to have connected, and how silent clients are found gone.

use std::time::Duration;

use shoal_mysql::{Keepalive, ProxyNetworks};
use shoal_sql::Globals;

/// The variable `proxy_protocol_networks`.
///
/// # Errors
/// A sentence about what is no network in it.
pub fn proxies(globals: &Globals) -> Result<ProxyNetworks, String> {
    ProxyNetworks::parse(&globals.named_text("proxy_protocol_networks"))
}

/// The variables `tcp_keepalive_time`, `tcp_keepalive_interval` and `tcp_keepalive_probes`; 0 is as the system has it.
pub fn keepalive(globals: &Globals) -> Keepalive {
    let given = |name: &str| globals.named_text(name).parse::<u32>().ok().filter(|&number| number > 0);
    let seconds = |name: &str| given(name).map(|seconds| Duration::from_secs(seconds.into()));
    Keepalive {
        time: seconds("tcp_keepalive_time"),
        interval: seconds("tcp_keepalive_interval"),
        probes: given("tcp_keepalive_probes"),
    }
}
