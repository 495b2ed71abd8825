//! Makes a configuration from a few figures: who is on which host, and how much memory there is.
//!
//! The text is meant to be read and changed by people, so it explains itself, and it passes [`ClusterConfig::parse`] as it
//! is.

use std::fmt::Write;

use crate::check::size;
use crate::cluster::ClusterConfig;

/// What to make a configuration for.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Of the cluster.
    pub name: String,
    /// One data node for each; a host may stand here more than once.
    pub data_hosts: Vec<String>,
    /// Empty: chosen among the data hosts.
    pub mgm_hosts: Vec<String>,
    /// Nodes for MySQL clients apart from the data nodes. Empty: the data nodes serve them.
    pub sql_hosts: Vec<String>,
    /// Bytes for rows and indexes on every data node.
    pub data_memory: u64,
    /// `None`: the usual number for so many hosts.
    pub replicas: Option<u32>,
    /// What the file has as DataDir; empty: `/var/lib/shoal`.
    pub data_dir: String,
    /// Nodes talk over TLS alone, with certificates of this directory.
    pub tls_directory: Option<String>,
}

/// The text of a `config.ini`, or a sentence about what does not fit.
pub fn generate(plan: &Plan) -> Result<String, String> {
    let count = plan.data_hosts.len();
    let replicas = replicas(plan)?;
    let mgm_hosts = mgm_hosts(plan);
    let mut text = String::new();
    let name = if plan.name.is_empty() { "shoal" } else { plan.name.as_str() };
    let _ = write!(
        text,
        "# {name}: {count} data node{}, {replicas} cop{} of everything.\n\
         # The same file goes to every host; a node is started with\n\
         #   shoal start --config config.ini --node-id N\n\
         # and `shoal config check config.ini` tells what this file means.\n\n\
         [system]\n\
         # Nodes of another cluster, and their data directories, are refused by this name.\n\
         Name={name}\n\n",
        if count == 1 { "" } else { "s" },
        if replicas == 1 { "y" } else { "ies" },
    );
    defaults(plan, replicas, &mut text);
    let mut id = 0;
    management(plan, &mgm_hosts, replicas, &mut id, &mut text);
    let roles = if plan.sql_hosts.is_empty() { "# A data node that MySQL clients may connect to.\n" } else { "" };
    for host in &plan.data_hosts {
        id += 1;
        let _ = write!(text, "{roles}[ndbd]\nNodeId={id}\nHostName={host}\n");
        text.push_str(if plan.sql_hosts.is_empty() { "Roles=data,sql\n\n" } else { "\n" });
    }
    for host in &plan.sql_hosts {
        id += 1;
        let _ = write!(text, "# MySQL clients connect here.\n[mysqld]\nNodeId={id}\nHostName={host}\n\n");
    }
    let text = format!("{}\n", text.trim_end());
    // What this module writes is held to the same rules as what people write.
    match ClusterConfig::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            Err(error.defects.iter().map(|defect| defect.message.as_str()).collect::<Vec<_>>().join("; "))
        }
    }
}

fn replicas(plan: &Plan) -> Result<u32, String> {
    let count = plan.data_hosts.len();
    match (plan.replicas, count) {
        (_, 0) => Err("name the hosts of the data nodes, such as --hosts a,b".to_owned()),
        (Some(replicas), _) if !(1..=3).contains(&replicas) => {
            Err(format!("{replicas} replicas: choose 1, 2 or 3"))
        }
        (Some(replicas), _) if count.is_multiple_of(replicas as usize) => Ok(replicas),
        (Some(replicas), _) => Err(format!(
            "{count} data nodes cannot be grouped by {replicas} replicas; name {} hosts or choose another number",
            count.next_multiple_of(replicas as usize)
        )),
        (None, 1) => Ok(1),
        (None, _) if count.is_multiple_of(2) => Ok(2),
        (None, _) if count.is_multiple_of(3) => Ok(3),
        (None, _) => Err(format!(
            "{count} data nodes cannot be grouped by 2 or 3 replicas; name {} hosts, or give --replicas 1 if losing a \
             host may lose its rows",
            count.next_multiple_of(2)
        )),
    }
}

/// The hosts that were asked for; else three different ones if there are so many, else the first.
fn mgm_hosts(plan: &Plan) -> Vec<String> {
    if !plan.mgm_hosts.is_empty() {
        return plan.mgm_hosts.clone();
    }
    let mut different: Vec<String> = Vec::new();
    for host in &plan.data_hosts {
        if !different.contains(host) {
            different.push(host.clone());
        }
    }
    different.truncate(if different.len() >= 3 { 3 } else { 1 });
    different
}

fn defaults(plan: &Plan, replicas: u32, text: &mut String) {
    let data_dir = if plan.data_dir.is_empty() { "/var/lib/shoal" } else { plan.data_dir.as_str() };
    let tls = tls(plan);
    let _ = write!(
        text,
        "[ndbd default]\n\
         # Copies of every row, each on another data node. Fixed once the cluster is created.\n\
         NoOfReplicas={replicas}\n\
         # Rows and indexes of a data node.\n\
         DataMemory={}\n\
         # Every node makes a directory of its own in here.\n\
         DataDir={data_dir}\n\
         # disk: a commit is on the disks of a majority before it is acknowledged;\n\
         # replicated: in the memory of a majority, and on disk a little later.\n\
         CommitDurability=disk\n\
         # A leader that falls silent is replaced after ten of these, in milliseconds.\n\
         HeartbeatIntervalDbDb=100\n{tls}\n\
         [ndb_mgmd default]\n\
         DataDir={data_dir}\n{tls}\n",
        size(plan.data_memory)
    );
    if !plan.sql_hosts.is_empty() {
        let _ = write!(text, "[mysqld default]\nDataDir={data_dir}\n{tls}\n");
    }
}

/// Lines for the defaults of every kind of node.
fn tls(plan: &Plan) -> String {
    let Some(directory) = &plan.tls_directory else { return String::new() };
    format!(
        "# Nodes talk over TLS alone: each needs ca.pem and its own node-N-cert.pem and node-N-key.pem in here.\n\
         RequireTls=true\n\
         RequireCertificate=true\n\
         TlsSearchPath={directory}\n"
    )
}

fn management(plan: &Plan, hosts: &[String], replicas: u32, id: &mut u32, text: &mut String) {
    text.push_str("# Management nodes keep the dictionary");
    text.push_str(if replicas == 2 { " and have the third vote when a data node fails.\n" } else { ".\n" });
    if replicas == 2 && hosts.iter().all(|host| plan.data_hosts.contains(host)) && hosts.len() < 3 {
        let _ = write!(
            text,
            "# This one shares its host with a data node: the loss of that host takes two votes of three and stops the\n\
             # cluster. On a third, small host it would survive the loss of any of them.\n"
        );
    }
    for host in hosts {
        *id += 1;
        let _ = write!(text, "[ndb_mgmd]\nNodeId={id}\nHostName={host}\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(hosts: &str, replicas: Option<u32>) -> Plan {
        let data_hosts = hosts.split_terminator(',').map(str::to_owned).collect();
        Plan { data_hosts, replicas, data_memory: 8 << 30, ..Plan::default() }
    }

    #[test]
    fn every_plan_that_makes_sense_becomes_a_file() {
        for (hosts, replicas, copies, mgm, notes) in [
            ("a", None, 1, 1, 0),
            // Two hosts: one of them has two votes of three.
            ("a,b", None, 2, 1, 1),
            ("a,b,c", None, 3, 3, 0),
            ("a,b,c,d", None, 2, 3, 0),
            ("a,b,c,d,e,f", Some(3), 3, 3, 0),
            ("a,b,c,d,e", Some(1), 1, 3, 0),
            ("localhost,localhost", None, 2, 1, 0),
        ] {
            let text = generate(&plan(hosts, replicas)).unwrap_or_else(|reason| panic!("{hosts}: {reason}"));
            let config = ClusterConfig::parse(&text).unwrap_or_else(|error| panic!("{hosts}: {error}"));
            assert_eq!(config.notes.len(), notes, "{hosts}: {:?}", config.notes);
            assert_eq!(config.replicas, copies, "{hosts}");
            assert_eq!(config.mgm_nodes().count(), mgm, "{hosts}");
            assert_eq!(config.data_nodes().count(), hosts.split(',').count(), "{hosts}");
            assert!(
                config.data_nodes().all(|node| node.data_memory == Some(8 << 30) && node.roles.sql),
                "{hosts}"
            );
        }
    }

    #[test]
    fn nodes_for_clients_can_stand_apart() {
        let apart = Plan {
            sql_hosts: vec!["s1".to_owned(), "s2".to_owned()],
            mgm_hosts: vec!["m".to_owned()],
            ..plan("a,b", None)
        };
        let config = ClusterConfig::parse(&generate(&apart).unwrap()).unwrap();
        let hosts: Vec<Option<&str>> = config.sql_nodes().map(|node| node.host.as_deref()).collect();
        assert_eq!(hosts, [Some("s1"), Some("s2")]);
        assert_eq!(config.mgm_nodes().next().and_then(|node| node.host.as_deref()), Some("m"));
    }

    #[test]
    fn a_plan_with_tls_requires_it_of_all_nodes() {
        let tls_directory = Some("/etc/shoal/tls".to_owned());
        let sql_hosts = vec!["s".to_owned()];
        let text = generate(&Plan { tls_directory, sql_hosts, ..plan("a,b", None) }).unwrap();
        let config = ClusterConfig::parse(&text).unwrap();
        assert!(config.describe().contains("between nodes, over TLS\n"), "{}", config.describe());
        for node in &config.nodes {
            assert!(node.node_tls.is_required && node.node_tls.requires_certificate, "node {}", node.id);
            assert_eq!(node.node_tls.search_path.as_deref(), Some("/etc/shoal/tls"));
        }
    }

    #[test]
    fn a_plan_that_does_not_fit_says_what_would() {
        let refusal = |hosts, replicas| generate(&plan(hosts, replicas)).unwrap_err();
        assert_eq!(refusal("", None), "name the hosts of the data nodes, such as --hosts a,b");
        assert_eq!(refusal("a,b", Some(4)), "4 replicas: choose 1, 2 or 3");
        assert_eq!(
            refusal("a,b,c", Some(2)),
            "3 data nodes cannot be grouped by 2 replicas; name 4 hosts or choose another number"
        );
        assert!(
            refusal("a,b,c,d,e", None)
                .starts_with("5 data nodes cannot be grouped by 2 or 3 replicas; name 6 hosts")
        );
        let tiny = Plan { data_memory: 1, ..plan("a", None) };
        assert_eq!(generate(&tiny).unwrap_err(), "DataMemory=1 is out of range; it takes 1M to 16T");
    }
}
