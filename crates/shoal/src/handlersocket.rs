//! The HandlerSocket server of a node with the sql role: its settings, and what it asks the SQL layer for.

use std::net::SocketAddr;
use std::sync::Arc;

use shoal_cluster::{Node, Table};
use shoal_config::HandlerSocketConfig;
use shoal_handlersocket::{
    Account, Host, Listeners, Rights, Server as HandlerSocketServer, Settings, Surroundings,
};
use shoal_sql::server::Server;
use shoal_sql::{Globals, Privileges, interfaces};
use shoal_tls::Acceptor;
use shoal_types::{Result, Value};

/// Sockets that listen, and how they are to be served.
pub struct Bound {
    settings: Settings,
    listeners: Listeners,
}

/// Listens where the variables say; `None`: nowhere. The ports that were found are put into the variables.
pub fn bind(globals: &mut Globals) -> std::result::Result<Option<Bound>, String> {
    let Some(settings) = Settings::read(|name| globals.named_text(name))? else { return Ok(None) };
    let listeners = Listeners::bind(&settings)?;
    let (reading, writing) = listeners.addresses();
    for (name, address) in [("handlersocket_port", reading), ("handlersocket_port_wr", writing)] {
        if let Some(address) = address {
            set_port(globals, name, address.port())?;
        }
    }
    Ok(Some(Bound { settings, listeners }))
}

/// What config.ini says of HandlerSocket becomes the variables' values; `--set` comes later and wins.
pub fn configure(globals: &mut Globals, settings: &HandlerSocketConfig) -> std::result::Result<(), String> {
    for (name, port) in [("handlersocket_port", settings.port), ("handlersocket_port_wr", settings.port_wr)] {
        if let Some(port) = port {
            set_port(globals, name, port)?;
        }
    }
    let texts = [
        ("handlersocket_address", &settings.address),
        ("handlersocket_plain_secret", &settings.secret),
        ("handlersocket_plain_secret_wr", &settings.secret_wr),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            globals.set_at_start(name, text).map_err(|error| error.message().to_owned())?;
        }
    }
    Ok(())
}

pub fn set_port(globals: &mut Globals, name: &str, port: u16) -> std::result::Result<(), String> {
    globals.set_at_start(name, &port.to_string()).map_err(|error| error.message().to_owned())
}

/// The HandlerSocket server of this process, closed until [`Running::open`]; its workers are those of the MySQL server.
pub struct Running {
    pub server: Arc<HandlerSocketServer>,
    listeners: Listeners,
    reading: Option<SocketAddr>,
    writing: Option<SocketAddr>,
}

impl Running {
    /// `tls`: what clients encrypt with if `handlersocket_tls` says so.
    ///
    /// # Errors
    /// It says so, and there is none.
    pub fn new(
        bound: Bound,
        server: &Arc<Server>,
        tls: Option<Arc<Acceptor>>,
    ) -> std::result::Result<Running, String> {
        if bound.settings.requires_tls && tls.is_none() {
            return Err("handlersocket_tls=ON needs TLS, which tls_version turns off".to_owned());
        }
        let (reading, writing) = bound.listeners.addresses();
        let handlersocket = HandlerSocketServer::new(bound.settings, Arc::new(SqlHost(Arc::clone(server))), tls);
        let counted = Arc::clone(&handlersocket);
        server.set_interface_status(Box::new(move || counted.status()));
        Ok(Running { server: handlersocket, listeners: bound.listeners, reading, writing })
    }

    /// Lets clients in, and yields what the ready line says of the ports, each word after a `separator`.
    pub fn open(self, separator: char) -> std::result::Result<String, String> {
        self.server
            .accept(self.listeners)
            .map_err(|error| format!("cannot start the HandlerSocket server: {error}"))?;
        let port = |name: &str, address: Option<SocketAddr>| {
            address.map(|address| format!(" {name}{separator}{address}")).unwrap_or_default()
        };
        Ok(port("hs", self.reading) + &port("hs-wr", self.writing))
    }
}

/// The SQL layer as the HandlerSocket server sees it.
struct SqlHost(Arc<Server>);

impl Host for SqlHost {
    fn node(&self) -> &Arc<Node> {
        &self.0.node
    }

    fn rights(&self, account: &Account, by_secret: bool, database: &str, table: &str) -> Rights {
        let key = (account.user.clone(), account.host.clone());
        let present = self.0.rights(&key, by_secret, database, table);
        Rights {
            select: present.contains(Privileges::SELECT),
            insert: present.contains(Privileges::INSERT),
            update: present.contains(Privileges::UPDATE),
            delete: present.contains(Privileges::DELETE),
        }
    }

    fn refuses_writes(&self, account: &Account) -> bool {
        self.0.refuses_writes_of(|| (account.user.clone(), account.host.clone()))
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { zone: self.0.time_zone(), now_micros }
    }

    fn expression_default(&self, table: &Arc<Table>, column: usize) -> Result<Value> {
        interfaces::expression_default(&self.0, table, column)
    }
}

fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}
