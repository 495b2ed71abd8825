//! Ids, roles, hosts and ports, as worked out from whole files.

use proptest::prelude::*;
use shoal_config::{ClusterConfig, Durability, HandlerSocketConfig, NodeConfig};
use shoal_types::NodeId;

fn parse(text: &str) -> ClusterConfig {
    ClusterConfig::parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn refusal(text: &str) -> String {
    match ClusterConfig::parse(text) {
        Ok(_) => panic!("this was accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

fn node(config: &ClusterConfig, id: u32) -> &NodeConfig {
    config.node(NodeId(id)).unwrap_or_else(|| panic!("no node {id} in {config:?}"))
}

/// One management node and one data node; the eighth line is the last.
const SMALL: &str =
    "[ndb_mgmd]\nNodeId=1\nHostName=m\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\nNodeId=2\nHostName=a\n";

#[test]
fn ids_are_given_out_in_the_order_of_the_file_past_those_that_are_taken() {
    let config = parse(
        "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nHostName=m\n[ndbd]\nHostName=a\n[ndbd]\nNodeId=3\nHostName=b\n\
         [ndbd]\nHostName=c\n[mysqld]\nNodeId=5\n[mysqld]\n",
    );
    let roles: Vec<String> = config.nodes.iter().map(|node| format!("{} {}", node.id, node.roles)).collect();
    assert_eq!(roles, ["1 mgm", "2 data", "3 data", "4 data", "5 sql", "6 sql"]);
    // The third section may have neither 2 nor 3, and the last neither 3 nor 4.
    let config = parse(
        "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nHostName=m\n[ndbd]\nNodeId=3\nHostName=a\n[ndbd]\nHostName=b\n\
         [ndbd]\nNodeId=2\nHostName=c\n[ndbd]\nHostName=d\n",
    );
    let hosts: Vec<String> =
        config.nodes.iter().map(|node| format!("{} {}", node.id, node.host.as_deref().unwrap_or("-"))).collect();
    assert_eq!(hosts, ["1 m", "2 c", "3 a", "4 b", "5 d"]);
}

#[test]
fn a_manager_and_a_client_node_with_one_id_are_one_process() {
    let config = parse(&format!("{SMALL}[mysqld]\nNodeId=1\n[mysqld]\nNodeId=2\nHostName=A\nMySQLPort=3310\n"));
    assert_eq!(node(&config, 1).roles.to_string(), "mgm,sql");
    assert_eq!(node(&config, 1).host.as_deref(), Some("m"));
    assert_eq!(node(&config, 2).roles.to_string(), "data,sql");
    assert_eq!(node(&config, 2).mysql_port, Some(3310));
}

#[test]
fn api_nodes_serve_mysql_clients_where_no_node_is_called_mysqld() {
    let old = parse(&format!("{SMALL}[api]\n[api]\n"));
    assert_eq!(old.sql_nodes().count(), 2);
    let with_mysqld = parse(&format!("{SMALL}[mysqld]\n[api]\n[api]\nMySQLPort=3310\n"));
    let roles: Vec<String> = with_mysqld.nodes.iter().skip(2).map(|node| node.roles.to_string()).collect();
    assert_eq!(roles, ["sql", "api", "sql"]);
    let without = parse(SMALL);
    assert!(
        without.notes.iter().any(|note| note.message.contains("no node has the role sql")),
        "{:?}",
        without.notes
    );
}

#[test]
fn one_id_on_two_hosts_or_of_one_kind_is_refused() {
    let other_host = refusal(&format!("{SMALL}[mysqld]\nNodeId=1\nHostName=elsewhere\n"));
    assert!(other_host.starts_with("line 9: NodeId=1 is also that of line 1, on another host"), "{other_host}");
    let one_kind = refusal(&format!("{SMALL}[ndbd]\nNodeId=2\nHostName=b\n"));
    assert_eq!(one_kind, "line 9: NodeId=2 is taken by the section in line 6; give every node its own");
}

#[test]
fn data_nodes_must_fill_their_groups() {
    let text = SMALL.replace("NoOfReplicas=1", "NoOfReplicas=2");
    assert_eq!(
        refusal(&text),
        "line 5: 1 data node cannot be grouped by NoOfReplicas=2; add [ndbd] sections up to 2, or set NoOfReplicas to 1"
    );
    assert!(
        refusal(&SMALL.replace("NoOfReplicas=1", "NoOfReplicas=4")).contains("NoOfReplicas=4 is not supported")
    );
    assert!(refusal("[ndb_mgmd]\nHostName=m\n").contains("there is no data node"));
    assert!(refusal("[ndbd]\nHostName=m\n").contains("there is no management node"));
}

#[test]
fn a_cluster_has_one_or_three_managers_and_two_with_a_note() {
    let with = |count: usize| format!("{SMALL}{}", "[ndb_mgmd]\nHostName=x\n".repeat(count - 1));
    let is_noted = |count| {
        let notes = parse(&with(count)).notes;
        notes.iter().any(|note| note.line == 9 && note.message.contains("two management nodes"))
    };
    assert_eq!([1, 2, 3].map(is_noted), [false, true, false]);
    assert_eq!(refusal(&with(4)), "line 13: 4 management nodes; a cluster has 1 or 3 of them");
}

#[test]
fn localhost_is_a_host_only_when_all_are_there() {
    let mixed = refusal("[ndb_mgmd]\nHostName=m\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\n");
    assert!(
        mixed.starts_with("line 5: node 2 is on localhost (the default HostName), where node 1 on m"),
        "{mixed}"
    );
    parse("[ndb_mgmd]\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\nHostName=127.0.0.1\n");
}

#[test]
fn ports_of_one_host_differ_by_themselves_and_must_differ_when_given() {
    let config = parse(
        "[ndb_mgmd]\n[ndbd default]\nNoOfReplicas=2\nRoles=data,sql\n[ndbd]\nServerPort=2203\n[ndbd]\n[ndbd]\n[ndbd]\n",
    );
    let ports: Vec<(u16, Option<u16>)> =
        config.nodes.iter().map(|node| (node.server_port, node.mysql_port)).collect();
    let expected = [(1186, None), (2203, Some(3306)), (2202, Some(3307)), (2204, Some(3308)), (2205, Some(3309))];
    assert_eq!(ports, expected);
    let clash = refusal(&format!("{SMALL}ServerPort=5000\n[mysqld]\nHostName=a\nMySQLPort=5000\n"));
    assert_eq!(
        clash,
        "line 10: MySQLPort 5000 of node 3 is also ServerPort of node 2 on the same host; choose another"
    );
}

#[test]
fn a_node_with_the_sql_role_has_a_handlersocket_door_where_it_is_given_ports() {
    let door = "HandlerSocketPort=9998\nHandlerSocketPortWr=9999\nHandlerSocketSecretWr=reef\n";
    let config = parse(&format!("{SMALL}{door}[mysqld]\nHandlerSocketPortWr=9999\nHandlerSocketAddress=::1\n"));
    assert_eq!(node(&config, 2).handlersocket, HandlerSocketConfig::default());
    let found = &node(&config, 3).handlersocket;
    assert_eq!((found.port, found.port_wr), (None, Some(9999)));
    assert_eq!(found.address.as_deref(), Some("::1"));
    let both = parse(&format!("{SMALL}Roles=data,sql\n{door}"));
    let found = &node(&both, 2).handlersocket;
    assert_eq!((found.port, found.port_wr), (Some(9998), Some(9999)));
    assert_eq!((found.secret.as_deref(), found.secret_wr.as_deref()), (None, Some("reef")));
    let clash = refusal(&format!("{SMALL}Roles=data,sql\nHandlerSocketPort=3306\nMySQLPort=3306\n"));
    assert_eq!(
        clash,
        "line 6: HandlerSocketPort 3306 of node 2 is also MySQLPort of node 2 on the same host; choose another"
    );
}

#[test]
fn an_address_with_colons_is_put_in_brackets() {
    let config = parse(&SMALL.replace("HostName=a", "HostName=fd00::7"));
    assert_eq!(node(&config, 2).server_address().as_deref(), Some("[fd00::7]:2202"));
}

#[test]
fn the_directory_of_a_node_is_its_own() {
    let config = parse(&SMALL.replace("NoOfReplicas=1", "NoOfReplicas=1\nDataDir=/d\nFileSystemPath=/f"));
    assert_eq!(node(&config, 2).data_dir.to_str(), Some("/f/shoal_2"));
    assert_eq!(node(&config, 1).data_dir.to_str(), Some("./shoal_1"));
}

#[test]
fn a_value_of_a_node_comes_before_its_default_wherever_that_stands() {
    let config = parse(&format!("{SMALL}DataMemory=1G\n[ndbd default]\nDataMemory=2G\nMaxDiskWriteSpeed=30M\n"));
    assert_eq!(node(&config, 2).data_memory, Some(1 << 30));
    assert_eq!(node(&config, 2).checkpoint_bytes_per_second, Some(30 << 20));
    assert!(config.notes.iter().any(|note| note.line == 10 && note.message.contains("stands behind")));
    let twice = refusal(&format!("{SMALL}[ndbd default]\nNoOfReplicas=1\n"));
    assert!(twice.contains("line 10: NoOfReplicas has a default already, in line 5"), "{twice}");
}

#[test]
fn what_holds_for_the_cluster_cannot_differ_between_nodes() {
    let text = format!("{SMALL}HeartbeatIntervalDbDb=200\n[ndbd]\nHostName=b\nHeartbeatIntervalDbDb=100\n");
    let message = refusal(&text);
    assert!(message.starts_with("line 12: HeartbeatIntervalDbDb differs from line 9"), "{message}");
}

#[test]
fn times_and_durability_are_read() {
    let defaults = parse(SMALL);
    assert_eq!((defaults.heartbeat_ms, defaults.election_timeout_ms), (100, 1000));
    assert_eq!((defaults.durability, defaults.lock_wait_timeout_ms), (Durability::Disk, None));
    let text = "NoOfReplicas=1\nHeartbeatIntervalDbDb=20\nCommitDurability=Replicated\n\
                TransactionDeadlockDetectionTimeout=5000\nTimeBetweenGlobalCheckpoints=50\nArbitrationTimeout=3000";
    let config = parse(&SMALL.replace("NoOfReplicas=1", text));
    assert_eq!((config.heartbeat_ms, config.election_timeout_ms), (20, 200));
    assert_eq!((config.durability, config.lock_wait_timeout_ms), (Durability::Replicated, Some(5000)));
    assert_eq!(config.global_checkpoint_interval_ms, 50);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s)(\\[(ndbd|ndb_mgmd|mysqld|tcp)( default)?\\]|[A-Za-z]{1,8}|NodeId|Roles|ThreadConfig|=|:|[0-9,{}-]{1,6}|\n| ){0,60}") {
        let _ = ClusterConfig::parse(&text).map(|config| config.describe());
    }

    #[test]
    fn a_damaged_sample_is_understood_or_refused(
        position in any::<prop::sample::Index>(),
        length in 0usize..12,
        replacement in "(?s)[\\[\\]=:,{}0-9a-zM\n -]{0,6}",
    ) {
        let sample = include_str!("../../samples/tuned_for_production.ini");
        let start = position.index(sample.len());
        let end = (start + length).min(sample.len());
        let damaged = format!("{}{replacement}{}", &sample[..start], &sample[end..]);
        match ClusterConfig::parse(&damaged) {
            Ok(config) => {
                prop_assert_eq!(config.partition_map().len(), config.partitions as usize);
                prop_assert!(!config.describe().is_empty());
            }
            Err(error) => prop_assert!(!error.defects.is_empty() && error.defects.iter().all(|defect| defect.line < 120)),
        }
    }
}

#[test]
fn nodes_of_one_host_share_its_cores_unless_the_file_says_how_many_threads() {
    let config = parse(
        "[ndb_mgmd]\nNodeId=1\nHostName=a\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\nNodeId=2\nHostName=a\n\
         [ndbd]\nNodeId=3\nHostName=b\n[ndbd]\nNodeId=4\nHostName=b\nMaxNoOfExecutionThreads=6\n\
         [mysqld]\nNodeId=5\nHostName=a\n[mysqld]\nNodeId=6\n[mysqld]\nNodeId=7\n",
    );
    let threads = |id: u32| config.worker_threads(node(&config, id), 16);
    assert_eq!([1, 2, 3, 4, 5, 6, 7].map(threads), [1, 8, 8, 6, 8, 16, 16]);
    assert_eq!(config.worker_threads(node(&config, 2), 1), 1, "never none");
}

#[test]
fn data_nodes_of_one_host_divide_its_memory() {
    let config = parse(
        "[ndb_mgmd]\nNodeId=1\nHostName=a\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\nNodeId=2\nHostName=a\n\
         [ndbd]\nNodeId=3\nHostName=b\n[ndbd]\nNodeId=4\nHostName=b\n[mysqld]\nNodeId=5\nHostName=a\n",
    );
    assert_eq!([2, 3, 4].map(|id| config.data_nodes_beside(node(&config, id))), [1, 2, 2]);
}

#[test]
fn variables_of_tls_are_given_to_nodes_that_serve_clients() {
    let config = parse(
        "[ndb_mgmd]\nNodeId=1\nssl_ca=unused.pem\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\nNodeId=2\n\
         [mysqld default]\nssl_cert=c.pem\nSSL_KEY=k.pem\n[mysqld]\nNodeId=5\n[mysqld]\nNodeId=6\nssl_cert=own.pem\n",
    );
    let tls = |id: u32| {
        let pairs = node(&config, id).variables.iter();
        pairs.map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([1, 2, 5, 6].map(tls), ["", "", "ssl_cert=c.pem ssl_key=k.pem", "ssl_cert=own.pem ssl_key=k.pem"]);
}
