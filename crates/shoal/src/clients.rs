//! How MySQL clients come to a server: for whom proxies are believed to have connected, how silent clients are found gone, and
//! where administrators get in when nobody else does.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

use shoal_mysql::{Keepalive, ProxyNetworks, ReservedAddress};
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

/// The variable `secure_file_priv` names a directory that is there, or none.
///
/// # Errors
/// A sentence that names it.
pub fn check_file_directory(globals: &Globals) -> Result<(), String> {
    let directory = globals.named_text("secure_file_priv");
    if matches!(directory.as_str(), "" | "NULL") || std::path::Path::new(&directory).is_dir() {
        return Ok(());
    }
    Err(format!(
        "secure_file_priv: there is no directory '{directory}'; make it, or write NULL to permit no files"
    ))
}

/// What config.ini says of a server's variables; `--set` comes later and wins.
pub fn configure(globals: &mut Globals, settings: &[(&'static str, String)]) -> Result<(), String> {
    settings
        .iter()
        .try_for_each(|(name, text)| globals.set_at_start(name, text).map_err(|error| error.message().to_owned()))
}

/// Where administrators connect: `admin_address` and `admin_port`. Nobody is let in before [`AdminAddress::listen`].
#[derive(Default)]
pub struct AdminAddress(Option<(ReservedAddress, SocketAddr)>);

impl AdminAddress {
    /// Without an `admin_address` there is none. The port that was found is put into the variable.
    ///
    /// # Errors
    /// A sentence about an address that this host does not have, or that somebody else listens on.
    pub fn reserve(globals: &mut Globals) -> Result<AdminAddress, String> {
        let host = globals.named_text("admin_address");
        if host.is_empty() {
            return Ok(AdminAddress(None));
        }
        let port: u16 = globals.named_text("admin_port").parse().unwrap_or(0);
        let found = (host.as_str(), port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address = found.ok_or_else(|| format!("admin_address: `{host}` has no address"))?;
        if address.ip().is_unspecified() {
            return Err(format!("admin_address: `{host}` is every address; give a single one, such as 127.0.0.1"));
        }
        let cannot = |error| {
            format!(
                "cannot listen for administrators on {address}: {error}; choose another admin_port, 0 for any free one"
            )
        };
        let reserved = ReservedAddress::bind(address).map_err(cannot)?;
        let address = reserved.address().map_err(cannot)?;
        let port = address.port().to_string();
        globals.set_at_start("admin_port", &port).map_err(|error| error.message().to_owned())?;
        Ok(AdminAddress(Some((reserved, address))))
    }

    /// What the ready line says of it, behind `admin` and a separator.
    pub fn ready_word(&self, separator: char) -> String {
        self.0.as_ref().map(|(_, address)| format!(" admin{separator}{address}")).unwrap_or_default()
    }

    /// Lets administrators connect from now on.
    ///
    /// # Errors
    /// Somebody else has been faster.
    pub fn listen(self) -> Result<Vec<TcpListener>, String> {
        let Some((reserved, address)) = self.0 else { return Ok(Vec::new()) };
        let listener = reserved
            .listen()
            .map_err(|error| format!("cannot listen for administrators on {address}: {error}"))?;
        Ok(vec![listener])
    }
}
