//! The HTTP server of a node: where it listens, and what it is told of the node's life.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;

use shoal_config::NodeConfig;
use shoal_http::{HttpServer, Stage, Watched};
use shoal_mysql::server::bind_tcp;
use shoal_sql::server::Server;

/// Where `shoal dev` listens unless it is told otherwise.
pub const PORT_DEFAULT: u16 = 8186;

/// What operators look at over HTTP. Without a port it is there and nobody sees it.
pub struct Http {
    watched: Arc<Watched>,
    server: Option<HttpServer>,
}

impl Http {
    fn start(listener: Option<TcpListener>) -> Result<Http, String> {
        let watched = Watched::new();
        let start = |listener| HttpServer::start(listener, Arc::clone(&watched));
        let server = listener.map(start).transpose();
        let server = server.map_err(|error| format!("cannot start the HTTP server: {error}"))?;
        Ok(Http { watched, server })
    }

    /// For `shoal dev`: on this port; without one on the usual one, if nobody else has it.
    pub fn for_dev(port: Option<u16>) -> Result<Http, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(PORT_DEFAULT)));
        let listener = match bind_tcp(address) {
            Ok(listener) => Some(listener),
            Err(error) if port.is_none() && error.kind() == ErrorKind::AddrInUse => {
                eprintln!(
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
        Http::start(listener)
    }

    /// For a node of a cluster: on the port that was given, or else that of the configuration.
    pub fn for_node(me: &NodeConfig, port: Option<u16>) -> Result<Http, String> {
        let Some(port) = port.or(me.http_port) else { return Http::start(None) };
        let host = me.http_address.as_deref().unwrap_or("127.0.0.1");
        let address = (host, port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
        let address = address.ok_or_else(|| format!("HttpAddress `{host}` of node {} has no address", me.id))?;
        let listener = bind_tcp(address).map_err(|error| {
            format!("cannot listen for HTTP on {address}: {error}; choose another HttpPort in config.ini")
        })?;
        Http::start(Some(listener))
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
