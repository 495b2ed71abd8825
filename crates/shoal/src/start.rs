//! `shoal start`: one node of a cluster.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use shoal_cluster::{
    ClusterOptions, Durability, Node, NodeEntry, NodeOptions, Placement, Roles, Stop, TlsOptions, Transporter,
    timing, worker_loop,
};
use shoal_config::{ClusterConfig, NodeConfig};
use shoal_http::Stage;
use shoal_mysql::Authenticator;
use shoal_mysql::server::{Listeners, Options, ReservedAddress, bind_tcp, start_workers};
use shoal_sql::event_scheduler::EventScheduler;
use shoal_sql::server::{Server, VERSION};
use shoal_sql::shared_server::SharedServer;
use shoal_sql::{Globals, tell_nodes};
use shoal_tls::PasswordKey;
use shoal_types::{ErrorCode, NodeId};

use crate::clients::AdminAddress;
use crate::http::{self, Http};
use crate::process::{DRAIN_PATIENCE, StopSignals, open, schedule_events, start_again, tell_service_manager};
use crate::{clients, configuration, error_log, handlersocket, node_tls, settings, system, tls};

/// How long the nodes of an earlier supervisor may take to leave their directories.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);
/// Between two attempts to have the accounts.
const ACCOUNTS_AGAIN_AFTER: Duration = Duration::from_millis(200);
/// How long others are given to take over what this node leads before it stops.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal config generate --hosts a,b --memory 8G > config.ini    make a file, and copy it to all hosts\n  \
    shoal start --config config.ini --node-id 1                   on host a; then the other nodes, in any order\n\n\
    A node waits for those that it needs, says for whom, and prints `shoal is ready` when it serves. SIGTERM hands over what it \
    leads and ends it with status 0: let a service manager start it again on any other status.")]
pub struct StartArguments {
    /// The cluster's configuration, in the format of NDB's config.ini; the same file on all nodes
    #[arg(long, value_name = "FILE", default_value = "config.ini")]
    config: PathBuf,

    /// Which of the nodes in the configuration this process is
    #[arg(long, value_name = "N")]
    node_id: u32,

    /// Directories with the certificates of TLS between nodes, separated by colons [default: TlsSearchPath in the configuration, then
    /// $HOME/ndb-tls]
    #[arg(long, value_name = "DIR[:DIR]")]
    ndb_tls_search_path: Option<String>,

    /// A setting of this node alone, as in `shoal dev`. May be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// TCP port for operators' HTTP instead of HttpPort in the configuration; 0 = any free port
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,

    /// Stop when the standard input ends, as on SIGTERM
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

/// Runs until SIGTERM or SIGINT, or until the management client stops or restarts the node.
pub fn run(arguments: &StartArguments) -> Result<(), String> {
    // Asked for now, as it may have been replaced by a newer one by the time the node restarts.
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    match serve(arguments)? {
        Some(Stop::Restart) => {
            error_log::end(&Ok(()));
            Err(start_again(&program))
        }
        _ => Ok(()),
    }
}

/// Serves until it is told to stop, and says how if it was a command.
fn serve(arguments: &StartArguments) -> Result<Option<Stop>, String> {
    let config = ClusterConfig::read(&arguments.config)
        .map_err(|error| format!("{}:\n{error}", arguments.config.display()))?;
    let me = config.node(NodeId(arguments.node_id)).ok_or_else(|| {
        let ids: Vec<String> = config.nodes.iter().map(|node| node.id.to_string()).collect();
        format!(
            "node {} is not in {}; it has the nodes {}: choose one of them with --node-id",
            arguments.node_id,
            arguments.config.display(),
            ids.join(", ")
        )
    })?;
    let mut options = node_options(&config, me)?;
    if let Some(cluster) = &mut options.cluster {
        cluster.tls = node_tls::of_node(&config, me, arguments.ndb_tls_search_path.as_deref())?;
    }
    if arguments.until_input_ends {
        // The nodes of a supervisor that was killed end by themselves.
        options.lock_timeout = LOCK_TIMEOUT;
    }
    let mut globals = Globals::default();
    handlersocket::configure(&mut globals, &me.handlersocket)?;
    clients::configure(&mut globals, &me.variables)?;
    for setting in &arguments.settings {
        settings::apply(setting, &mut options, &mut globals)?;
    }
    error_log::begin(&mut globals, &me.data_dir)?;
    if me.lock_pages {
        system::lock_memory()?;
    }
    let server_listener = listen_for_nodes(me)?;
    let mysql_address = match me.mysql_port {
        Some(port) if me.roles.sql => Some(reserve_for_clients(me, port)?),
        _ => None,
    };
    let handlersocket = if me.roles.sql { handlersocket::bind(&mut globals)? } else { None };
    clients::check_file_directory(&globals)?;
    let admin = if me.roles.sql { AdminAddress::reserve(&mut globals)? } else { AdminAddress::default() };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let spin = options.spin;
    for (name, is_on) in
        [("http_tls", me.http_tls), ("http_rest", me.http_rest), ("http_profiles", me.http_profiles)]
    {
        if is_on {
            clients::configure(&mut globals, &[(name, "ON".to_owned())])?;
        }
    }
    let http_tls = http::tls(&mut globals, &me.data_dir)?;
    let http = Http::for_node(me, arguments.http_port, http::Extras::of(&globals), http_tls.clone())?;
    let configuration = configuration::of_node(&options, Some((&config, me)));
    let node = open(options, http.watched())?;
    let acceptor = match http_tls {
        Some(prepared) => Some(prepared),
        None if me.roles.sql => tls::prepare(&mut globals, &me.data_dir)?,
        None => None,
    };
    let (proxies, keepalive) = (clients::proxies(&globals)?, clients::keepalive(&globals));
    let server = Server::new(Arc::clone(&node), globals);
    server.set_configuration(configuration);
    tell_nodes(&server);
    http.set_server(&server);
    tls::attach(&server, acceptor.as_ref());
    let password_key =
        if me.roles.sql { tls::password_key(&server, &me.data_dir)? } else { PasswordKey::default() };
    let authenticator = Arc::new(Authenticator::new(password_key));
    http.set_accounts(&server, &authenticator);
    let handlersocket =
        handlersocket.map(|bound| handlersocket::Running::new(bound, &server, acceptor.clone())).transpose()?;
    let handlersocket_server = handlersocket.as_ref().map(|running| Arc::clone(&running.server));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = config.worker_threads(me, cores);
    shoal_txn::serve_cluster(&node);
    let transport = node.open_links(workers, server_listener).map_err(|error| error.message().to_owned())?;
    let on_start = {
        let (transport, cpus, handlersocket_server) =
            (Arc::clone(&transport), me.cpus.clone(), handlersocket_server.clone());
        Arc::new(move |worker: usize| {
            if let Some(&cpu) = cpus.get(worker)
                && let Err(reason) = system::stay_on(cpu)
            {
                tracing::warn!("{reason}");
            }
            transport.start_worker(worker);
            if let Some(server) = &handlersocket_server {
                server.start_worker();
            }
        })
    };
    let mysql_options = Options {
        workers,
        on_worker_start: Some(on_start),
        spin,
        tls: acceptor,
        authenticator,
        proxies,
        keepalive,
    };
    let mut mysql_server = start_workers(Arc::new(SharedServer(Arc::clone(&server))), mysql_options)
        .map_err(|error| format!("cannot start the worker threads: {error}"))?;
    node.start_cluster_thread().map_err(|error| error.message().to_owned())?;
    let mut stop_signals = runtime.block_on(async { StopSignals::listen() })?;
    node.set_process(stop_signals.commands());
    if arguments.until_input_ends {
        stop_signals.stop_when_input_ends()?;
    }
    let ready = runtime.block_on(async {
        tokio::select! {
            ready = become_ready(&node, &server, me) => ready.map(|()| true),
            () = stop_signals.wait() => Ok(false),
        }
    })?;
    if ready {
        let admin_word = admin.ready_word('=');
        let mut listeners = Listeners { administrative: admin.listen()?, ..Listeners::default() };
        let mut mysql = None;
        if let Some(reserved) = mysql_address {
            let address = reserved.address().map_err(|error| error.to_string())?;
            let listener = reserved.listen().map_err(|error| cannot_listen_for_clients(address, &error))?;
            server.set_listening(address.port(), &me.data_dir);
            listeners.tcp.push(listener);
            mysql = Some(address);
        }
        mysql_server.listen(listeners).map_err(|error| format!("cannot start the MySQL server: {error}"))?;
        node.set_serving(mysql.map(|address| address.to_string()));
        let hs_ports = handlersocket.map_or(Ok(String::new()), |running| running.open('='))?;
        let events = if me.roles.sql { Some(schedule_events(&server)?) } else { None };
        http.reach(Stage::Serving);
        tracing::info!(system = true, "node {} is ready, roles {}, version {VERSION}", me.id, me.roles);
        announce(me, mysql, &http.address_text(), &(hs_ports + &admin_word));
        tell_service_manager("READY=1");
        runtime.block_on(stop_signals.wait());
        events.into_iter().for_each(EventScheduler::stop);
    }
    http.reach(Stage::Stopping);
    tell_service_manager("STOPPING=1");
    tracing::info!(system = true, "node {}: stopping: waiting for running statements", me.id);
    let commanded = stop_signals.commanded();
    if commanded != Some(Stop::WithAll) {
        hand_over(&node);
    }
    if let Some(server) = handlersocket_server {
        server.stop(DRAIN_PATIENCE);
    }
    mysql_server.stop(DRAIN_PATIENCE);
    server.query_logs.stop();
    transport.stop();
    let closed = node.close().map_err(|error| error.message().to_owned());
    http.stop();
    closed.map(|()| commanded)
}

async fn become_ready(node: &Arc<Node>, server: &Server, me: &NodeConfig) -> Result<(), String> {
    let report = |missing: &str| tracing::info!(system = true, "node {}: waiting for {missing}", me.id);
    node.wait_until_ready(report).await.map_err(|error| error.message().to_owned())?;
    if !me.roles.sql {
        return Ok(());
    }
    loop {
        match server.bootstrap().await {
            // Another node is slow, or has just gone: what was made is found made.
            Err(error) if error.is(ErrorCode::GetTemporaryErrmsg) => report(error.message()),
            made => return made.map_err(|error| format!("cannot prepare the accounts: {}", error.message())),
        }
        tokio::time::sleep(ACCOUNTS_AGAIN_AFTER).await;
    }
}

/// Others lead what this node leads, and have their answers, so that its stopping is not noticed.
fn hand_over(node: &Arc<Node>) {
    node.hand_over_leaders();
    let deadline = Instant::now() + HAND_OVER_PATIENCE;
    while (node.leads_for_others() || node.serves_others()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn node_options(config: &ClusterConfig, me: &NodeConfig) -> Result<NodeOptions, String> {
    let mut options = NodeOptions::new(&me.data_dir);
    options.data_memory = me.data_memory;
    options.data_nodes_of_host = config.data_nodes_beside(me);
    options.durability = match config.durability {
        shoal_config::Durability::Disk => Durability::Disk,
        shoal_config::Durability::Replicated => Durability::Replicated,
    };
    options.global_checkpoint_interval = Duration::from_millis(config.global_checkpoint_interval_ms);
    if let Some(rate) = me.checkpoint_bytes_per_second {
        options.checkpoint_bytes_per_second = rate;
    }
    if let Some(micros) = me.spin_us {
        options.spin = Duration::from_micros(micros);
    }
    if me.never_sleeps {
        options.spin = worker_loop::NEVER_SLEEP;
    }
    if let Some(bytes) = me.log_segment_bytes {
        options.log_segment_bytes = bytes;
    }
    options.cluster_log_dir = me.data_dir.parent().map(Path::to_owned);
    options.cluster = Some(cluster_options(config, me.id)?);
    Ok(options)
}

fn cluster_options(config: &ClusterConfig, me: NodeId) -> Result<ClusterOptions, String> {
    let timing = timing(config.heartbeat_ms, config.election_timeout_ms);
    let nodes = config.nodes.iter().map(|node| NodeEntry {
        id: node.id,
        roles: Roles { management: node.roles.mgm, data: node.roles.data, sql: node.roles.sql },
        address: node.server_address(),
    });
    let placements = config.partition_map().into_iter();
    let placements = placements.map(|placed| Placement { replicas: placed.voters, witness: placed.witness });
    Ok(ClusterOptions {
        name: config.name.clone(),
        me,
        nodes: nodes.collect(),
        placements: placements.collect(),
        config_hash: config.hash(),
        timing: timing.map_err(|error| error.message().to_owned())?,
        heartbeat: Duration::from_millis(config.heartbeat_ms),
        lanes: config.connection_pool.clamp(1, u32::from(shoal_cluster::LANES_MAX)) as u16,
        unsent_bytes_max: config.send_buffer_bytes.map(|bytes| bytes as usize),
        transporter: if config.node(me).is_none_or(|node| node.use_shm) {
            Transporter::SharedMemory
        } else {
            Transporter::Tcp
        },
        tls: TlsOptions::default(),
    })
}

fn listen_for_nodes(me: &NodeConfig) -> Result<Option<TcpListener>, String> {
    let Some(address) = me.server_address() else { return Ok(None) };
    let resolved = address.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let resolved = resolved.ok_or_else(|| {
        format!("the host of node {} in `{address}` has no address; check HostName in config.ini", me.id)
    })?;
    let listener = bind_tcp(resolved).map_err(|error| {
        format!(
            "cannot listen for other nodes on {address}: {error}; is node {} running already, or is this another host than its \
             HostName says?",
            me.id
        )
    })?;
    Ok(Some(listener))
}

/// Nobody is let in before the node can serve.
fn reserve_for_clients(me: &NodeConfig, port: u16) -> Result<ReservedAddress, String> {
    let host = me.mysql_address.as_deref().unwrap_or("0.0.0.0");
    let address = (host, port).to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let address: SocketAddr =
        address.ok_or_else(|| format!("MySQLAddress `{host}` of node {} has no address", me.id))?;
    ReservedAddress::bind(address).map_err(|error| cannot_listen_for_clients(address, &error))
}

fn cannot_listen_for_clients(address: SocketAddr, error: &std::io::Error) -> String {
    format!("cannot listen for MySQL clients on {address}: {error}; choose another MySQLPort in config.ini")
}

/// The line that other tools wait for.
fn announce(me: &NodeConfig, mysql: Option<SocketAddr>, http: &str, more: &str) {
    let mysql = mysql.map_or_else(|| "-".into(), |address| address.to_string());
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "shoal is ready: node {} roles={} mysql={mysql} http={http}{more}", me.id, me.roles);
    let _ = out.flush();
}
