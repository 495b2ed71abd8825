//! What all threads of a client share: its node of the cluster.
//!
//! A client is a node in an `[api]` slot: it has links to all others, hears who leads what, follows the dictionary and coordinates its
//! transactions, as SQL nodes do. It keeps no rows and nothing on disk.

use std::sync::{Arc, OnceLock};

use shoal_cluster::{JoinError, JoinOptions, Node, NodeOptions, join};
use shoal_tls::{Identity, NodeTls};
use shoal_types::{Error, ErrorCode, Result};

use crate::options::Options;
use crate::table::Table;

/// The port of management nodes.
const PORT: u16 = 1186;

pub(crate) struct Core {
    pub node: Arc<Node>,
    pub options: Options,
    /// Why the node has stopped.
    failure: Arc<OnceLock<String>>,
}

impl Core {
    /// Joins the cluster that these nodes, separated by commas, belong to. The links are opened when `workers` threads start
    /// theirs.
    pub fn join(addresses: &str, options: &Options, workers: usize) -> Result<Core> {
        let lanes = u16::try_from(workers).unwrap_or(u16::MAX);
        let asked = JoinOptions { lanes, transporter: options.transporter, tls: certificate(options)? };
        let cluster = join(&with_ports(addresses), &asked).map_err(|error| match error {
            JoinError::Refused(error) => error,
            JoinError::Unreachable(reasons) => unreachable_cluster(&reasons),
        })?;
        let failure: Arc<OnceLock<String>> = Arc::default();
        let noted = Arc::clone(&failure);
        let node_options = NodeOptions {
            spin: options.spin,
            on_fatal: Arc::new(move |reason| {
                // The first one is the cause of the others.
                let _ = noted.set(reason.to_owned());
            }),
            ..NodeOptions::without_directory(cluster)
        };
        let node = Node::open(node_options)?;
        shoal_txn::serve_cluster(&node);
        node.open_links(workers, None)?;
        Ok(Core { node, options: options.clone(), failure })
    }

    /// A process that is a node already: nothing is joined, and nothing closed.
    pub fn of_node(node: &Arc<Node>, options: Options) -> Core {
        Core { node: Arc::clone(node), options, failure: Arc::default() }
    }

    /// On each worker's thread, in its loop.
    pub fn start_worker(&self, worker: usize) {
        if let Some(transport) = self.node.cluster().and_then(|cluster| cluster.transport()) {
            transport.start_worker(worker);
        }
    }

    /// Waits until operations can begin: the dictionary is here, and every partition has a leader.
    pub async fn wait_until_ready(&self) -> Result<()> {
        self.node.start_cluster_thread()?;
        let mut missing = String::from("the cluster");
        let ready = self.node.wait_until_ready(|what| what.clone_into(&mut missing));
        let in_time = tokio::time::timeout(self.options.connect_timeout, async {
            tokio::select! {
                ready = ready => ready,
                reason = self.failed() => Err(Error::unknown(reason)),
            }
        });
        match in_time.await {
            Ok(ready) => ready?,
            Err(_) => {
                return Err(unreachable_cluster(&format!(
                    "still waiting for {missing} after {:?}",
                    self.options.connect_timeout
                )));
            }
        }
        self.node.set_serving(None);
        Ok(())
    }

    /// Ends with the reason why the node has stopped, if it does.
    async fn failed(&self) -> String {
        loop {
            if let Some(reason) = self.failure.get() {
                return reason.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    pub fn table(self: &Arc<Self>, database: &str, name: &str) -> Result<Table> {
        if let Some(reason) = self.failure.get() {
            return Err(Error::unknown(format!("this client has stopped: {reason}")));
        }
        Table::find(&self.node, database, name)
    }

    /// Closes the links. Transactions that are under way end with error 1297.
    pub fn close(&self) {
        if let Some(transport) = self.node.cluster().and_then(|cluster| cluster.transport()) {
            transport.stop();
        }
        // Nothing was kept, so nothing can fail to be written.
        let _ = self.node.close();
    }
}

fn certificate(options: &Options) -> Result<Option<Arc<NodeTls>>> {
    let Some(directory) = &options.tls_search_path else { return Ok(None) };
    match NodeTls::open(std::slice::from_ref(directory), Identity::Client) {
        Ok(Some(tls)) => Ok(Some(Arc::new(tls))),
        Ok(None) => Err(Error::unknown(format!(
            "there is no client-cert.pem in {}; `shoal config certificates` makes one",
            directory.display()
        ))),
        Err(error) => Err(Error::unknown(error.to_string())),
    }
}

/// Error 1297: it may pass.
fn unreachable_cluster(reasons: &str) -> Error {
    Error::new(
        ErrorCode::GetTemporaryErrmsg,
        format!("Got temporary error: can't connect to the cluster: {reasons}"),
    )
}

fn with_ports(addresses: &str) -> Vec<String> {
    let addresses = addresses.split(',').map(str::trim).filter(|address| !address.is_empty());
    let has_port = |address: &str| address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    addresses.map(|one| if has_port(one) { one.to_owned() } else { format!("{one}:{PORT}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_port_have_the_management_nodes_one() {
        assert_eq!(with_ports("a, b:7,[::1]:8 ,"), ["a:1186", "b:7", "[::1]:8"]);
    }

    #[test]
    fn where_nobody_listens_the_error_names_the_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let error = Core::join(&address, &Options::default(), 1).err().unwrap();
        assert_eq!(error.errno(), 1297);
        assert!(error.message().contains(&address), "{error}");
    }
}
