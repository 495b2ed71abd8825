//! `shoal dev`: every role in one process.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use shoal_cluster::NodeOptions;
use shoal_http::Stage;
use shoal_mysql::Authenticator;
use shoal_mysql::server::{Listeners, Options, ReservedAddress, WorkerStart, start};
use shoal_sql::Globals;
use shoal_sql::server::{Server, VERSION};
use shoal_sql::shared_server::SharedServer;

use crate::clients::AdminAddress;
use crate::dev_cluster::{self, Plan};
use crate::http::{self, Http};
use crate::process::{DRAIN_PATIENCE, StopSignals, open, schedule_events, tell_service_manager};
use crate::{clients, configuration, error_log, handlersocket, hints, settings, tls};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal dev                                one server, with its data in shoal-data/\n  \
    shoal dev --data-dir trial --mysql-port 3307 --http-port 0\n  \
    shoal dev --set DataMemory=4G --set max_connections=500\n  \
    shoal dev --data-nodes 2                 a cluster: kill a node and see what clients notice\n\n\
    Then: `shoal sql` or any MySQL client, and http://127.0.0.1:8186/ in a browser. Ctrl-C stops it; what was \
    acknowledged is there after the next start, also after kill -9.")]
pub struct DevArguments {
    /// Where data is kept; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "shoal-data")]
    data_dir: PathBuf,

    /// TCP port for MySQL clients; 0 = any free port
    #[arg(long, value_name = "PORT", default_value_t = 3306)]
    mysql_port: u16,

    /// Address for MySQL clients; 0.0.0.0 = every address of this machine. root has no password at first and comes from this machine alone: make
    /// accounts for others
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), conflicts_with = "data_nodes")]
    mysql_address: IpAddr,

    /// A Unix socket for MySQL clients as well
    #[arg(long, value_name = "PATH")]
    mysql_socket: Option<PathBuf>,

    /// TCP port for HandlerSocket clients that read; 0 = any free port. Without it nobody listens
    #[arg(long, value_name = "PORT")]
    hs_port: Option<u16>,

    /// TCP port for HandlerSocket clients that read and write; 0 = any free port. In a cluster each further node takes the next but
    /// one
    #[arg(long, value_name = "PORT")]
    hs_port_wr: Option<u16>,

    /// TCP port for operators' HTTP on loopback: metrics and health; 0 = any free port. In a cluster that of the first management
    /// node, and each further node takes the next one [default: 8186 if it is free]
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,

    /// Worker threads; 0 = one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: usize,

    /// A setting: DataMemory=2G, CommitDurability=replicated, or a system variable such as max_connections=500.
    /// May be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// A cluster of so many data nodes, each a process of its own with the sql role too
    #[arg(long, value_name = "N", help_heading = "Cluster")]
    data_nodes: Option<u32>,

    /// Management nodes of the cluster: 1 or 3
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Cluster")]
    mgm_nodes: u32,

    /// Nodes of the cluster with the sql role alone
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Cluster")]
    sql_nodes: u32,

    /// Copies of every row: 1, 2 or 3; as many as there are data nodes, at most 2, if not given
    #[arg(long, value_name = "N", help_heading = "Cluster")]
    replicas: Option<u32>,

    /// Leave a node of the cluster dead that has died
    #[arg(long, help_heading = "Cluster")]
    no_restart: bool,
}

/// Runs until SIGTERM or SIGINT.
pub fn run(arguments: &DevArguments) -> Result<(), String> {
    if let Some(data_nodes) = arguments.data_nodes {
        return dev_cluster::run(&Plan {
            data_dir: arguments.data_dir.clone(),
            mysql_port: arguments.mysql_port,
            hs_port: arguments.hs_port,
            hs_port_wr: arguments.hs_port_wr,
            http_port: arguments.http_port,
            data_nodes,
            mgm_nodes: arguments.mgm_nodes,
            sql_nodes: arguments.sql_nodes,
            replicas: arguments.replicas.unwrap_or(data_nodes.min(2)),
            restart: !arguments.no_restart,
            settings: arguments.settings.clone(),
        });
    }
    let mut options = NodeOptions::new(&arguments.data_dir);
    let mut globals = Globals::default();
    for setting in &arguments.settings {
        settings::apply(setting, &mut options, &mut globals)?;
    }
    for (name, port) in
        [("handlersocket_port", arguments.hs_port), ("handlersocket_port_wr", arguments.hs_port_wr)]
    {
        if let Some(port) = port {
            handlersocket::set_port(&mut globals, name, port)?;
        }
    }
    error_log::begin(&mut globals, &arguments.data_dir)?;
    let handlersocket = handlersocket::bind(&mut globals)?;
    let address = SocketAddr::new(arguments.mysql_address, arguments.mysql_port);
    let cannot_listen = |error| {
        format!("cannot listen on {address}: {error}; choose another port with --mysql-port, 0 for any free one")
    };
    let reserved = ReservedAddress::bind(address).map_err(cannot_listen)?;
    clients::check_file_directory(&globals)?;
    let admin = AdminAddress::reserve(&mut globals)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let spin = options.spin;
    let http_tls = http::tls(&mut globals, &arguments.data_dir)?;
    let http = Http::for_dev(arguments.http_port, http::Extras::of(&globals), http_tls.clone())?;
    let configuration = configuration::of_node(&options, None);
    let node = open(options, http.watched())?;
    let listener = reserved.listen().map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let acceptor = match http_tls {
        Some(prepared) => Some(prepared),
        None => tls::prepare(&mut globals, &arguments.data_dir)?,
    };
    let (proxies, keepalive) = (clients::proxies(&globals)?, clients::keepalive(&globals));
    let server = Server::new(Arc::clone(&node), globals);
    server.set_configuration(configuration);
    http.set_server(&server);
    tls::attach(&server, acceptor.as_ref());
    let authenticator = Arc::new(Authenticator::new(tls::password_key(&server, &arguments.data_dir)?));
    http.set_accounts(&server, &authenticator);
    server.set_listening(address.port(), &arguments.data_dir);
    runtime.block_on(server.bootstrap()).map_err(|error| error.to_string())?;
    let handlersocket =
        handlersocket.map(|bound| handlersocket::Running::new(bound, &server, acceptor.clone())).transpose()?;
    let handlersocket_server = handlersocket.as_ref().map(|running| Arc::clone(&running.server));
    let admin_word = admin.ready_word(' ');
    let mut listeners = Listeners { tcp: vec![listener], unix: Vec::new(), administrative: admin.listen()? };
    if let Some(path) = &arguments.mysql_socket {
        let _ = std::fs::remove_file(path);
        let socket =
            UnixListener::bind(path).map_err(|error| format!("cannot listen on {}: {error}", path.display()))?;
        listeners.unix.push(socket);
    }
    // Before anybody hears that the server is ready: from then on a signal means an orderly end.
    let mut stop_signals = runtime.block_on(async { StopSignals::listen() })?;
    let on_worker_start =
        handlersocket_server.clone().map(|server| Arc::new(move |_| server.start_worker()) as WorkerStart);
    let mysql_options = Options {
        workers: arguments.workers,
        spin,
        on_worker_start,
        tls: acceptor,
        authenticator,
        proxies,
        keepalive,
    };
    let mysql_server = start(Arc::new(SharedServer(Arc::clone(&server))), listeners, mysql_options)
        .map_err(|error| format!("cannot start the MySQL server: {error}"))?;
    let hs_ports = handlersocket.map_or(Ok(String::new()), |running| running.open(' '))?;
    let events = schedule_events(&server)?;
    http.reach(Stage::Serving);
    tracing::info!(system = true, "ready for connections: mysql {address}, version {VERSION}");
    announce(address, &http, &(hs_ports + &admin_word));
    tell_service_manager("READY=1");
    runtime.block_on(stop_signals.wait());
    http.reach(Stage::Stopping);
    tell_service_manager("STOPPING=1");
    tracing::info!(system = true, "stopping: waiting for running statements");
    if let Some(server) = handlersocket_server {
        server.stop(DRAIN_PATIENCE);
    }
    events.stop();
    mysql_server.stop(DRAIN_PATIENCE);
    server.query_logs.stop();
    if let Some(path) = &arguments.mysql_socket {
        let _ = std::fs::remove_file(path);
    }
    let closed = node.close().map_err(|error| error.to_string());
    http.stop();
    closed
}

/// The line that other tools wait for, and a hint for people.
fn announce(address: SocketAddr, http: &Http, more: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "shoal is ready: mysql {address} http {}{more}", http.address_text());
    let _ = out.flush();
    hints::tell(&address.to_string(), http.address().map(|page| page.to_string()).as_deref());
}
