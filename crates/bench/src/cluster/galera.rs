//! Two MariaDB servers that Galera replicates between, on loopback.
//!
//! Settings: those that Galera demands (row format, `innodb_autoinc_lock_mode=2`). Flushing is the caller's choice: MariaDB's
//! manual recommends `innodb_flush_log_at_trx_commit=0`, where the other node, not the disk, keeps a commit safe. The group's
//! timeouts are long, because the benchmark pauses both servers while others are measured.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::server::{find_program, tail};
use shoal_testkit::{Client, Server, Setup};

const PROVIDERS: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib/x86_64-linux-gnu/galera/libgalera_smm.so",
];
const BUFFER_POOL_BYTES: u64 = 2 << 30;
/// The second server gets its state from the first by a backup of it.
const JOINED_WITHIN: Duration = Duration::from_secs(120);
const SYNCED_WITHIN: Duration = Duration::from_secs(30);
/// Of the log of a server that did not do its part.
const LOG_LINES: usize = 25;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where a node talks to the other.
struct Ports {
    group: u16,
    increments: u16,
    state: u16,
}

/// When a commit is written to a node's disk: `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Once a second.
    EverySecond = 0,
    EveryCommit = 1,
}

/// Both servers; clients use the first.
pub fn start(work_dir: &Path, flush: Flush) -> io::Result<Vec<Server>> {
    let provider = provider()?;
    let first = ports()?;
    let second = ports()?;
    let address = format!("gcomm://127.0.0.1:{}", first.group);
    let first = node(work_dir, &provider, &first, flush, "gcomm://")?.argument("--wsrep-new-cluster").start()?;
    let second = node(work_dir, &provider, &second, flush, &address)?.start();
    // Why a state transfer failed is in the log of the one that gave it.
    let second = second.map_err(|error| {
        let giver = tail(&first.log(), LOG_LINES);
        io::Error::other(format!("the second node of Galera: {error}\nThe first node's log:\n{giver}"))
    })?;
    let servers = vec![first, second];
    for server in &servers {
        wait_until_synced(server, servers.len())?;
        let mut client = Client::connect(server.port()).map_err(io::Error::other)?;
        // Not an argument: the state transfer would hand it on to mariadb-backup, which does not know it.
        let set = client.execute(&format!("SET GLOBAL innodb_buffer_pool_size = {BUFFER_POOL_BYTES}"));
        set.map_err(io::Error::other)?;
    }
    Ok(servers)
}

fn provider() -> io::Result<PathBuf> {
    if find_program("mariadbd").is_none() {
        return Err(io::Error::other("mariadb-server is not installed; `make bench-cluster` installs it"));
    }
    let provider = PROVIDERS.iter().map(PathBuf::from).find(|path| path.is_file());
    provider.ok_or_else(|| io::Error::other("galera-4 is not installed; `make bench-cluster` installs it"))
}

/// How the second server gets its first state.
fn state_transfer() -> io::Result<&'static str> {
    let has = |program: &str| find_program(program).is_some();
    match (has("mariadb-backup") && has("socat"), has("rsync")) {
        (true, _) => Ok("mariabackup"),
        (false, true) => Ok("rsync"),
        (false, false) => Err(io::Error::other(
            "Galera needs mariadb-backup and socat, or rsync, for its second node; `make bench-cluster` installs them",
        )),
    }
}

fn node(work_dir: &Path, provider: &Path, ports: &Ports, flush: Flush, cluster: &str) -> io::Result<Setup> {
    let provider_options = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{};ist.recv_addr=127.0.0.1:{};evs.suspect_timeout=PT30M;\
         evs.inactive_timeout=PT30M;evs.install_timeout=PT30S;gmcast.peer_timeout=PT30M",
        ports.group, ports.increments
    );
    let mut setup = Setup::mariadb()
        .parent(work_dir)
        .argument("--max-connections=1000")
        .argument("--binlog-format=ROW")
        .argument("--innodb-autoinc-lock-mode=2")
        .argument(format!("--innodb-flush-log-at-trx-commit={}", flush as u8))
        .argument("--wsrep-on=ON")
        .argument(format!("--wsrep-provider={}", provider.display()))
        .argument("--wsrep-cluster-name=shoal-bench")
        .argument(format!("--wsrep-cluster-address={cluster}"))
        .argument("--wsrep-node-address=127.0.0.1")
        .argument(format!("--wsrep-sst-method={}", state_transfer()?))
        .argument("--wsrep-sst-auth=root:")
        .argument(format!("--wsrep-sst-receive-address=127.0.0.1:{}", ports.state))
        .argument(format!("--wsrep-provider-options={provider_options}"));
    setup.own_process_group = true;
    setup.ready_within = JOINED_WITHIN;
    Ok(setup)
}

/// Ports that nobody listens on just now, held together until all are found so that they differ.
fn ports() -> io::Result<Ports> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners = [listen()?, listen()?, listen()?];
    let port = |index: usize| listeners[index].local_addr().map(|address| address.port());
    Ok(Ports { group: port(0)?, increments: port(1)?, state: port(2)? })
}

fn wait_until_synced(server: &Server, size: usize) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let state = state_of(server.port());
        if matches!(&state, Ok((state, members)) if state == "Synced" && *members == size.to_string()) {
            return Ok(());
        }
        if started.elapsed() > SYNCED_WITHIN {
            return Err(io::Error::other(format!("Galera did not become synced: {state:?}")));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The state of the node and the number of members that it sees.
fn state_of(port: u16) -> Result<(String, String), shoal_testkit::Error> {
    let mut client = Client::connect(port)?;
    let mut status = |name: &str| -> Result<String, shoal_testkit::Error> {
        let lines = client.text(&format!("SHOW STATUS LIKE '{name}'"))?;
        let value = lines.first().and_then(|line| line.split_once(','));
        Ok(value.map_or_else(String::new, |(_, value)| value.to_string()))
    };
    let state = status("wsrep_local_state_comment")?;
    Ok((state, status("wsrep_cluster_size")?))
}
