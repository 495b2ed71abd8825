//! Certificates for TLS between nodes: where they are looked for, and `shoal config certificates`, which makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::TlsOptions;
use shoal_config::{ClusterConfig, NodeConfig};
use shoal_tls::{Authority, Identity, NodeTls};

/// Below the home directory, as NDB has it.
const DEFAULT_DIRECTORY: &str = "ndb-tls";
const DAY: Duration = Duration::from_secs(86_400);

/// The directories of a search path: those that are given, or `$HOME/ndb-tls`.
fn directories(given: &[Option<&str>]) -> Vec<PathBuf> {
    let given = given.iter().flatten().find(|path| !path.is_empty());
    match given {
        Some(path) => path.split(':').filter(|directory| !directory.is_empty()).map(PathBuf::from).collect(),
        None => {
            std::env::var_os("HOME").map(|home| Path::new(&home).join(DEFAULT_DIRECTORY)).into_iter().collect()
        }
    }
}

fn shown(directories: &[PathBuf]) -> String {
    directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(":")
}

/// A node's certificate, and which nodes have no links without one.
///
/// # Errors
/// What is there cannot be used, or the node needs a certificate and has none.
pub fn of_node(config: &ClusterConfig, me: &NodeConfig, search_path: Option<&str>) -> Result<TlsOptions, String> {
    let path = directories(&[search_path, me.node_tls.search_path.as_deref()]);
    let own = NodeTls::open(&path, Identity::Node(me.id.0)).map_err(|error| error.to_string())?;
    let is_required = me.node_tls.is_required || me.node_tls.requires_certificate;
    match &own {
        Some(tls) => {
            tracing::info!(
                system = true,
                "node {}: TLS 1.3 with other nodes by {}",
                me.id,
                tls.certificate_file().display()
            );
        }
        None if is_required => {
            let parameter = if me.node_tls.is_required { "RequireTls" } else { "RequireCertificate" };
            return Err(format!(
                "node {0} needs a certificate ({parameter} in config.ini), and there is no node-{0}-cert.pem in {1}; make it with \
                 `shoal config certificates`, and name its directory by TlsSearchPath or --ndb-tls-search-path",
                me.id,
                shown(&path)
            ));
        }
        None => {}
    }
    let required_by = config.nodes.iter().filter(|node| node.node_tls.is_required).map(|node| node.id);
    Ok(TlsOptions { own: own.map(Arc::new), required_by: required_by.collect() })
}

/// A client's certificate, of the directories that were asked for or that the management nodes of `config` have. `None`: no directory was
/// named, or only the configuration names one and it has no client's certificate.
///
/// # Errors
/// The directory that was asked for has none, or it cannot be used.
pub fn of_client(
    config: Option<&ClusterConfig>,
    search_path: Option<&str>,
) -> Result<Option<Arc<NodeTls>>, String> {
    let configured =
        config.and_then(|config| config.mgm_nodes().find_map(|node| node.node_tls.search_path.as_deref()));
    let path = directories(&[search_path, configured]);
    let tls = NodeTls::open(&path, Identity::Client).map_err(|error| error.to_string())?;
    match (tls, search_path) {
        (None, Some(_)) => {
            Err(format!("there is no client-cert.pem in {}; `shoal config certificates` makes one", shown(&path)))
        }
        (tls, _) => Ok(tls.map(Arc::new)),
    }
}

/// Makes the authority if there is none, and a certificate for a client and for every node that has none; with `renew` for all.
/// Returns a line for each.
///
/// # Errors
/// The directory cannot be written, or holds something else.
pub fn make(config: &ClusterConfig, directory: &Path, renew: bool, days: u32) -> Result<Vec<String>, String> {
    let authority = Authority::of_directory(directory, &config.name).map_err(|error| error.to_string())?;
    let has_role = |node: &&NodeConfig| node.roles.mgm || node.roles.data || node.roles.sql;
    let nodes = config.nodes.iter().filter(has_role).map(|node| Identity::Node(node.id.0));
    let mut made = Vec::new();
    for identity in nodes.chain([Identity::Client]) {
        let is_new = renew || !Authority::has_issued(directory, identity);
        if is_new {
            authority.issue(directory, identity, DAY * days).map_err(|error| error.to_string())?;
        }
        made.push(match is_new {
            true => format!("{identity}: a new certificate for {days} days"),
            false => format!("{identity}: has one (--renew makes a new one)"),
        });
    }
    Ok(made)
}
