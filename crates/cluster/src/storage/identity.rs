//! Whose data directory this is: a small text file that is written once and checked at every start.
//!
//! It keeps a node from starting on another cluster's or another node's data, and remembers what the log cannot tell
//! in time: whether the replicas in the directory have ever taken part in their groups, whether the last stop was a clean
//! one, and whether replicas have acknowledged anything from memory that a crash may have taken with it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use shoal_replication::Promises;
use shoal_types::{Error, Result};

use crate::base::topology::ClusterOptions;

const FILE: &str = "identity";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    path: PathBuf,
    cluster: String,
    node: u32,
    /// Partitions and who keeps them.
    placement: String,
    pub(crate) promises: Promises,
}

fn refused(directory: &Path, reason: &str, remedy: &str) -> Error {
    Error::unknown(format!("the data directory {} {reason}; {remedy}", directory.display()))
}

fn placement_text(options: &ClusterOptions) -> String {
    let voters = (0..=options.partition_count()).map(|partition| {
        let placement = options.placement(partition);
        let voters: Vec<String> = placement.voters().iter().map(u64::to_string).collect();
        voters.join(",")
    });
    voters.collect::<Vec<_>>().join(" ")
}

impl Identity {
    /// Reads the directory's identity, or gives it one.
    ///
    /// # Errors
    /// The directory belongs to another cluster, another node, or other partitions.
    pub(crate) fn open(directory: &Path, options: &ClusterOptions) -> Result<Identity> {
        let path = directory.join(FILE);
        let wanted = Identity {
            path: path.clone(),
            cluster: options.name.clone(),
            node: options.me.0,
            placement: placement_text(options),
            promises: Promises::NONE,
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if directory.join("log").exists() {
                    let remedy =
                        "start it with `shoal dev --data-dir`, or give the node a directory of its own in DataDir";
                    return Err(refused(directory, "belongs to a database that is no cluster", remedy));
                }
                wanted.write()?;
                return Ok(wanted);
            }
            Err(error) => {
                return Err(refused(directory, &format!("cannot be read: {error}"), "see to its permissions"));
            }
        };
        let found = Identity::parse(&path, &text).ok_or_else(|| {
            refused(
                directory,
                "has a damaged file `identity`",
                "restore it from another start of the node, or start the node with an empty directory",
            )
        })?;
        if found.cluster != wanted.cluster {
            let reason = format!("belongs to the cluster '{}', not to '{}'", found.cluster, wanted.cluster);
            return Err(refused(directory, &reason, "check DataDir and the Name of the cluster in config.ini"));
        }
        if found.node != wanted.node {
            let reason = format!("belongs to node {}, not to node {}", found.node, wanted.node);
            return Err(refused(directory, &reason, "check DataDir in config.ini and --node-id"));
        }
        if found.placement != wanted.placement {
            let remedy = "nodes, NoOfReplicas and partitions cannot be changed afterwards: use the config.ini that the cluster was made with";
            return Err(refused(directory, "was made for other partitions or replicas", remedy));
        }
        Ok(found)
    }

    fn parse(path: &Path, text: &str) -> Option<Identity> {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        Some(Identity {
            path: path.to_owned(),
            cluster: value("cluster")?.to_owned(),
            node: value("node")?.parse().ok()?,
            placement: value("placement")?.to_owned(),
            promises: Promises {
                initialised: value("initialised")? == "yes",
                clean: value("clean")? == "yes",
                // Older versions did not note it: it may have been so.
                from_memory: value("replicated").is_none_or(|value| value == "yes"),
            },
        })
    }

    /// Makes the identity durable as it is.
    pub(crate) fn write(&self) -> Result<()> {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let text = format!(
            "# Whose data this is. Do not edit.\ncluster={}\nnode={}\nplacement={}\ninitialised={}\nclean={}\nreplicated={}\n",
            self.cluster,
            self.node,
            self.placement,
            yes(self.promises.initialised),
            yes(self.promises.clean),
            yes(self.promises.from_memory)
        );
        let write = || -> std::io::Result<()> {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let temporary = self.path.with_extension("new");
            let mut file = File::create(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|error| Error::unknown(format!("cannot write {}: {error}", self.path.display())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shoal_types::NodeId;

    use super::*;
    use crate::base::topology::{NodeEntry, Placement, Roles};

    fn options(name: &str, me: u32) -> ClusterOptions {
        let data = Roles { data: true, ..Roles::default() };
        let node = |id| NodeEntry { id: NodeId(id), roles: data, address: None };
        ClusterOptions {
            name: name.into(),
            me: NodeId(me),
            nodes: vec![node(1), node(2)],
            placements: vec![Placement { replicas: vec![NodeId(1), NodeId(2)], witness: None }],
            config_hash: 0,
            heartbeat: Duration::from_millis(100),
            timing: shoal_partition::Timing::default(),
            lanes: 1,
            unsent_bytes_max: None,
            transporter: shoal_transport::Transporter::default(),
            tls: Default::default(),
        }
    }

    #[test]
    fn a_directory_keeps_its_identity_and_refuses_others() {
        let directory = tempfile::tempdir().unwrap();
        let mut identity = Identity::open(directory.path(), &options("reef", 1)).unwrap();
        assert!(!identity.promises.initialised);
        identity.promises.initialised = true;
        identity.promises.clean = false;
        identity.write().unwrap();
        assert_eq!(Identity::open(directory.path(), &options("reef", 1)).unwrap(), identity);
        let other =
            |options: ClusterOptions| Identity::open(directory.path(), &options).unwrap_err().message().to_owned();
        assert!(other(options("atoll", 1)).contains("belongs to the cluster 'reef', not to 'atoll'"));
        assert!(other(options("reef", 2)).contains("belongs to node 1, not to node 2"));
        let mut more = options("reef", 1);
        more.placements.push(more.placements[0].clone());
        assert!(other(more).contains("other partitions"));
    }

    #[test]
    fn a_file_of_a_version_that_noted_no_durability_is_read_and_trusted_only_after_a_clean_stop() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Identity::open(directory.path(), &options("reef", 1)).unwrap();
        for clean in [true, false] {
            let mut identity = open();
            (identity.promises.initialised, identity.promises.clean) = (true, clean);
            identity.write().unwrap();
            let file = directory.path().join(FILE);
            let text = fs::read_to_string(&file).unwrap();
            let old: String =
                text.lines().filter(|line| !line.starts_with("replicated")).map(|l| format!("{l}\n")).collect();
            fs::write(&file, old).unwrap();
            assert_eq!(open().promises.begin_process(false), !clean);
        }
    }

    #[test]
    fn the_directory_of_a_single_database_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("log")).unwrap();
        let error = Identity::open(directory.path(), &options("reef", 1)).unwrap_err();
        assert!(error.message().contains("no cluster"), "{}", error.message());
    }
}
