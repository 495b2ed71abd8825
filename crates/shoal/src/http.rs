//! The HTTP server of a node: where it listens, and what it is told of the node's life.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use shoal_config::NodeConfig;
use shoal_http::{AccountKey, Accounts, Checking, HttpServer, Login, Questions, Stage, Watched};
use shoal_mysql::server::bind_tcp;
use shoal_mysql::{Authenticator, Claim};
use shoal_sql::Globals;
use shoal_sql::server::Server;
use shoal_sql::shared_server::SharedServer;
use shoal_tls::Acceptor;

use crate::allocator;

/// Where `shoal dev` listens unless it is told otherwise.
pub const PORT_DEFAULT: u16 = 8186;

/// What HTTP is encrypted with, if the variable `http_tls` says so: the certificates of MySQL's clients, which a new data directory gets
/// now, as HTTP is there before the data is read back.
///
/// # Errors
/// A sentence about what is missing for that.
pub fn tls(globals: &mut Globals, data_dir: &Path) -> Result<Option<Arc<Acceptor>>, String> {
    if globals.named_text("http_tls") != "ON" {
        return Ok(None);
    }
    std::fs::create_dir_all(data_dir).map_err(|error| format!("cannot make {}: {error}", data_dir.display()))?;
    let acceptor = crate::tls::prepare(globals, data_dir)?;
    acceptor.map(Some).ok_or_else(|| "http_tls=ON needs TLS, which tls_version turns off".to_owned())
}

/// What is served beside what operators look at.
#[derive(Clone, Copy)]
pub struct Extras {
    /// Rows: the variable `http_rest`.
    rest: bool,
    /// Profiles of the process: `http_profiles`.
    profiles: bool,
}

impl Extras {
    pub fn of(globals: &Globals) -> Extras {
        let is_on = |name: &str| globals.named_text(name) == "ON";
        Extras { rest: is_on("http_rest"), profiles: is_on("http_profiles") }
    }
}

/// What operators look at over HTTP. Without a port it is there and nobody sees it.
pub struct Http {
    watched: Arc<Watched>,
    server: Option<HttpServer>,
}

impl Http {
    fn start(listener: Option<TcpListener>, extras: Extras, tls: Option<Arc<Acceptor>>) -> Result<Http, String> {
        let watched = Watched::new();
        if extras.rest {
            watched.turn_rest_on();
        }
        if extras.profiles && listener.is_some() {
            watched.turn_profiles_on(allocator::begin_heap_profile());
        }
        let start = |listener| HttpServer::start(listener, Arc::clone(&watched), tls);
        let server = listener.map(start).transpose();
        let server = server.map_err(|error| format!("cannot start the HTTP server: {error}"))?;
        Ok(Http { watched, server })
    }

    /// For `shoal dev`: on this port; without one on the usual one, if nobody else has it.
    pub fn for_dev(port: Option<u16>, extras: Extras, tls: Option<Arc<Acceptor>>) -> Result<Http, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(PORT_DEFAULT)));
        let listener = match bind_tcp(address) {
            Ok(listener) => Some(listener),
            Err(error) if port.is_none() && error.kind() == ErrorKind::AddrInUse => {
                tracing::warn!(
                    "no HTTP: somebody else listens on {address}; choose another port with --http-port, 0 for any free one"
                );
                None
            }
            Err(error) => {
                return Err(format!(
                    "cannot listen for HTTP on {address}: {error}; choose another port with --http-port, 0 for any free one"
                ));
            }
        };
        Http::start(listener, extras, tls)
    }

    /// For a node of a cluster: on the port that was given, or else that of the configuration.
    pub fn for_node(
        me: &NodeConfig,
        port: Option<u16>,
        extras: Extras,
        tls: Option<Arc<Acceptor>>,
    ) -> Result<Http, String> {
        let Some(port) = port.or(me.http_port) else { return Http::start(None, extras, None) };
        let host = me.http_address.as_deref().unwrap_or("127.0.0.1");
        let address = (host, port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address = address.ok_or_else(|| format!("HttpAddress `{host}` of node {} has no address", me.id))?;
        let listener = bind_tcp(address).map_err(|error| {
            format!("cannot listen for HTTP on {address}: {error}; choose another HttpPort in config.ini")
        })?;
        Http::start(Some(listener), Extras { rest: extras.rest && me.roles.sql, ..extras }, tls)
    }

    pub fn watched(&self) -> &Arc<Watched> {
        &self.watched
    }

    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(HttpServer::address)
    }

    /// What a ready line says of it, behind `http` and a separator.
    pub fn address_text(&self) -> String {
        self.address().map_or_else(|| "-".to_owned(), |address| address.to_string())
    }

    pub fn set_server(&self, server: &Arc<Server>) {
        self.watched.set_server(server);
        server.node.set_operator_answers(Arc::new(Questions(Arc::downgrade(&self.watched))));
    }

    /// Who may log in to the page for operators.
    pub fn set_accounts(&self, server: &Arc<Server>, authenticator: &Arc<Authenticator>) {
        let accounts = DatabaseAccounts {
            frontend: SharedServer(Arc::clone(server)),
            authenticator: Arc::clone(authenticator),
        };
        self.watched.set_accounts(Box::new(accounts));
    }

    pub fn reach(&self, stage: Stage) {
        self.watched.reach(stage);
    }

    /// The last thing that ends.
    pub fn stop(self) {
        if let Some(server) = self.server {
            server.stop();
        }
    }
}

/// The accounts of the database, as MySQL clients log in to them.
struct DatabaseAccounts {
    frontend: SharedServer,
    authenticator: Arc<Authenticator>,
}

impl Accounts for DatabaseAccounts {
    fn check(&self, login: Login) -> Checking<'_> {
        Box::pin(async move {
            let Login { user, host, is_local, is_encrypted, password } = login;
            let claim = Claim { user, host, is_local, is_encrypted, password: password.into_bytes() };
            let account = self.authenticator.check_password(&self.frontend, claim).await;
            account.map(|account| -> AccountKey { (account.user, account.host) })
        })
    }
}
