//! TLS between nodes: a cluster that requires it lives through faults, shows nobody its rows, and takes in nobody without a certificate.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use shoal_client::{LocalClient, Options, Transporter};
use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::tap::Tap;
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_system_tests::{program, shoal_binary, wait_until};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);
const SECRET: &str = "the balance of Ada is 4711";

fn shoal(arguments: &[&str]) -> program::Output {
    let mut command = Command::new(shoal_binary());
    command.args(arguments);
    program::run(command, b"", DEADLINE, || false).unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A cluster that is not started yet, whose nodes find their certificates in the directory.
struct Encrypted {
    layout: Layout,
    cluster: StartedCluster,
    certificates: TempDir,
}

fn encrypted(layout: Layout) -> Encrypted {
    let certificates = tempfile::tempdir().unwrap();
    let search_path = format!("TlsSearchPath={}", certificates.path().display());
    let everywhere = ["UseShm=0", "RequireTls=1", "RequireCertificate=1", &search_path];
    let everywhere = everywhere.map(str::to_owned).to_vec();
    let layout = Layout { everywhere, ..layout };
    let cluster = StartedCluster::new(&layout);
    make(&cluster, certificates.path());
    Encrypted { layout, cluster, certificates }
}

fn make(cluster: &StartedCluster, directory: &Path) {
    let made = shoal(&["config", "certificates", path(&cluster.config_file()), path(directory)]);
    assert!(made.status.success(), "{}", made.errors());
}

fn server_port(cluster: &StartedCluster, node: u32) -> u16 {
    let text = std::fs::read_to_string(cluster.config_file()).unwrap();
    let section = text.split("\n\n").find(|section| section.contains(&format!("NodeId={node}\n"))).unwrap();
    let port = section.lines().find_map(|line| line.strip_prefix("ServerPort=")).unwrap();
    port.parse().unwrap()
}

/// Node 2 reaches node 1 through a tap from now on.
fn tap(cluster: &StartedCluster) -> (Tap, std::path::PathBuf) {
    let port = server_port(cluster, 1);
    let tap = Tap::before(port);
    let changed = cluster.changed_config(|text| {
        text.replace(&format!("ServerPort={port}\n"), &format!("ServerPort={}\n", tap.port()))
    });
    (tap, changed)
}

fn mgm(address: &str, certificates: Option<&Path>, command: &str) -> program::Output {
    let search_path = certificates.map(|directory| format!("--ndb-tls-search-path={}", path(directory)));
    let mut arguments = vec!["mgm", "-c", address, "-e", command];
    arguments.extend(search_path.as_deref());
    shoal(&arguments)
}

fn management_address(cluster: &StartedCluster) -> String {
    let text = std::fs::read_to_string(cluster.config_file()).unwrap();
    let port = text.lines().find_map(|line| line.strip_prefix("PortNumber=")).unwrap();
    format!("127.0.0.1:{port}")
}

#[test]
fn transfers_survive_a_kill_and_a_rolling_restart_and_no_row_is_on_the_wire() {
    let Encrypted { layout, mut cluster, certificates: _certificates } = encrypted(Layout::default());
    let (tap, through_tap) = tap(&cluster);
    cluster.spawn(1);
    cluster.spawn_with(2, &through_tap);
    cluster.spawn(3);
    cluster.wait_until_started(&layout);
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(20);
    let mut client = cluster.client(2);
    client.execute("CREATE TABLE secrets (id INT PRIMARY KEY, text VARCHAR(100))").unwrap();
    for id in 0..20 {
        client.execute(&format!("INSERT INTO secrets VALUES ({id}, '{SECRET}')")).unwrap();
    }
    let all = cluster.client(1).text("SELECT COUNT(*) FROM secrets").unwrap();
    assert_eq!(all, ["20"]);
    assert!(tap.seen_bytes() > 10_000, "{} bytes went through the tap", tap.seen_bytes());
    assert!(!tap.has_seen(SECRET) && !tap.has_seen("secrets") && !tap.has_seen("SHOL"));
    cluster.kill_node(2);
    workload.wait_for_commits(20);
    cluster.start_again(2);
    workload.wait_for_commits_everywhere(20);
    for node in [1, 2, 3] {
        cluster.stop_node(node);
        workload.wait_for_commits(20);
        cluster.start_again(node);
        workload.wait_for_commits_everywhere(10);
    }
    check(&cluster, &workload.finish());
}

/// The test above proves something: without TLS the tap sees rows.
#[test]
fn without_tls_rows_are_on_the_wire() {
    let layout = Layout { everywhere: vec!["UseShm=0".to_owned()], ..Layout::default() };
    let mut cluster = StartedCluster::new(&layout);
    let (tap, through_tap) = tap(&cluster);
    cluster.spawn(1);
    cluster.spawn_with(2, &through_tap);
    cluster.spawn(3);
    cluster.wait_until_started(&layout);
    let mut client = cluster.client(2);
    client.execute("CREATE TABLE secrets (id INT PRIMARY KEY, text VARCHAR(100))").unwrap();
    client.execute(&format!("INSERT INTO secrets VALUES (1, '{SECRET}')")).unwrap();
    assert!(tap.has_seen(SECRET));
}

fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}

#[test]
fn nodes_without_the_right_certificate_are_refused_and_named_in_the_log() {
    let Encrypted { layout, mut cluster, certificates } = encrypted(Layout::default());
    cluster.start_all(&layout);
    let workload = Workload::start(&cluster, Plan { nodes: vec![1], threads: 2, ..Plan::new() });
    workload.wait_for_commits(10);
    cluster.stop_node(2);
    let address = management_address(&cluster);
    let log_has = |words: &[&str]| {
        let shown = mgm(&address, Some(certificates.path()), "CLUSTERLOG 200");
        assert!(shown.status.success(), "{}", shown.errors());
        shown.text().lines().any(|line| words.iter().all(|word| line.contains(word)))
    };
    let with_path =
        |directory: &Path| cluster.changed_config(|text| text.replace(path(certificates.path()), path(directory)));

    let foreign = tempfile::tempdir().unwrap();
    make(&cluster, foreign.path());
    let said = cluster.refused(2, &with_path(foreign.path()), &[]);
    says(&said, &["certificate of node", "is not signed by the certificate authority of this cluster"]);
    wait_until("the log to name the node with the foreign certificate", || {
        log_has(&["node 2", "was refused", "is not signed by the certificate authority"])
    });

    // The certificate of node 3 under the name of node 2's.
    let other = tempfile::tempdir().unwrap();
    for (from, to) in [("ca", "ca"), ("node-3-cert", "node-2-cert"), ("node-3-key", "node-2-key")] {
        let file = |directory: &Path, name: &str| directory.join(format!("{name}.pem"));
        std::fs::copy(file(certificates.path(), from), file(other.path(), to)).unwrap();
    }
    let said = cluster.refused(2, &with_path(other.path()), &[]);
    says(&said, &["node-2-cert.pem", "this certificate is for node 3, not for node 2"]);

    let empty = tempfile::tempdir().unwrap();
    let said = cluster.refused(2, &with_path(empty.path()), &[]);
    says(&said, &["node 2 needs a certificate (RequireTls", "node-2-cert.pem", "shoal config certificates"]);

    // One whose own configuration requires nothing.
    let lax = cluster.changed_config(|text| text.replace("RequireTls=1\nRequireCertificate=1\n", ""));
    let laxer = std::fs::read_to_string(&lax).unwrap().replace(path(certificates.path()), path(empty.path()));
    std::fs::write(&lax, laxer).unwrap();
    let said = cluster.refused(2, &lax, &[]);
    says(&said, &["takes links with TLS only (RequireTls)", "node 2 has come without a certificate"]);
    wait_until("the log to name the node without a certificate", || {
        log_has(&["Node 2", "refuse", "node 2 has come without a certificate"])
    });

    workload.wait_for_commits(20);
    cluster.start_again(2);
    workload.wait_for_commits(10);
    check(&cluster, &workload.finish());
}

#[test]
fn clients_of_the_nodes_port_need_a_certificate_of_the_cluster() {
    let Encrypted { layout, mut cluster, certificates } = encrypted(Layout::default());
    let slot = "\n[api]\nNodeId=9\n";
    let with_slot = cluster.changed_config(|text| text + slot);
    std::fs::copy(with_slot, cluster.config_file()).unwrap();
    cluster.start_all(&layout);
    let address = management_address(&cluster);
    let shown = mgm(&address, Some(certificates.path()), "SHOW");
    assert!(shown.status.success(), "{}", shown.errors());
    let links = mgm(&address, Some(certificates.path()), "TLS INFO");
    says(&links.text(), &["node-3-cert.pem", "Node 1: TLS 1.3", "Node 2: TLS 1.3"]);
    let refused = mgm(&address, None, "SHOW");
    says(&refused.errors(), &["takes clients with TLS only", "--ndb-tls-search-path"]);
    let by_config = shoal(&["mgm", "--config", path(&cluster.config_file()), "-e", "SHOW"]);
    assert!(by_config.status.success(), "{}", by_config.errors());

    cluster.client(1).execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let options = |directory: Option<&Path>| Options {
        transporter: Transporter::Tcp,
        tls_search_path: directory.map(Path::to_owned),
        ..Options::default()
    };
    let client = LocalClient::connect(&address, options(Some(certificates.path()))).unwrap();
    wait_until("the client to know the table", || {
        client.block_on(async { tokio::task::yield_now().await });
        client.table("test", "t").is_ok()
    });
    let table = client.table("test", "t").unwrap();
    client.block_on(client.insert(&table, &["id"], vec![7.into()])).unwrap();
    assert_eq!(cluster.client(2).text("SELECT id FROM t").unwrap(), ["7"]);
    let error = LocalClient::connect(&address, options(None)).err().unwrap();
    says(error.message(), &["takes clients with TLS only"]);
    let foreign = tempfile::tempdir().unwrap();
    make(&cluster, foreign.path());
    let error = LocalClient::connect(&address, options(Some(foreign.path()))).err().unwrap();
    says(error.message(), &["is not signed by"]);
}

#[test]
fn a_configuration_is_made_together_with_its_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let (config, tls) = (folder.path().join("config.ini"), folder.path().join("tls"));
    let hosts = "127.0.0.1,127.0.0.1";
    let made = shoal(&["config", "generate", "--hosts", hosts, "--memory", "64M", "--tls", path(&tls)]);
    assert!(made.status.success(), "{}", made.errors());
    std::fs::write(&config, made.text()).unwrap();
    let checked = shoal(&["config", "check", path(&config)]);
    assert!(checked.status.success(), "{}", checked.errors());
    for name in ["ca", "node-1-cert", "node-2-key", "node-3-cert", "client-key"] {
        assert!(tls.join(format!("{name}.pem")).is_file(), "{name}");
    }
    let old = std::fs::read(tls.join("node-1-cert.pem")).unwrap();
    let again = shoal(&["config", "certificates", path(&config), path(&tls)]);
    says(&again.errors(), &["node 1: has one"]);
    assert_eq!(std::fs::read(tls.join("node-1-cert.pem")).unwrap(), old);
    let renewed = shoal(&["config", "certificates", path(&config), path(&tls), "--renew", "--days", "90"]);
    says(&renewed.errors(), &["node 1: a new certificate for 90 days"]);
    assert_ne!(std::fs::read(tls.join("node-1-cert.pem")).unwrap(), old);
}
