//! The configuration as `ndbinfo.config_params` and `ndbinfo.config_values` show it: every parameter of config.ini, and what it comes to
//! at this node.

use shoal_cluster::{Durability, NodeOptions};
use shoal_config::parameters::{Effect, Parameter, ValueKind, all};
use shoal_config::{ClusterConfig, NodeConfig};
use shoal_sql::server::{Configuration, Parameter as Shown};

fn shown(parameter: &Parameter) -> Shown {
    let (kind, range) = match parameter.value {
        ValueKind::Number { min, max } => ("unsigned", Some((min, max))),
        ValueKind::Bool => ("bool", None),
        ValueKind::Text => ("string", None),
        ValueKind::Choice(_) => ("enum", None),
    };
    let (description, status) = match parameter.effect {
        Effect::Used => ("", ""),
        Effect::None(reason) => (reason, "no effect"),
        Effect::Refused(reason) => (reason, "refused"),
    };
    Shown {
        name: parameter.name.to_owned(),
        description: description.to_owned(),
        kind,
        default: parameter.default.to_owned(),
        range,
        status,
    }
}

/// A parameter that several kinds of sections have is shown once, as it is in the first of them.
fn parameters() -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for parameter in all() {
        if !found.iter().any(|known| known.name == parameter.name) {
            found.push(shown(parameter));
        }
    }
    found
}

/// What the node was opened with, whether it has a config.ini or not.
fn of_options(options: &NodeOptions) -> Vec<(&'static str, Option<String>)> {
    let durability = match options.durability {
        Durability::Disk => "disk",
        Durability::Replicated => "replicated",
    };
    vec![
        ("CommitDurability", Some(durability.to_owned())),
        ("DataDir", Some(options.data_dir.display().to_string())),
        ("DataMemory", options.data_memory.map(|bytes| bytes.to_string())),
        ("FragmentLogFileSize", Some(options.log_segment_bytes.to_string())),
        (
            "MaxDiskWriteSpeed",
            Some(options.checkpoint_bytes_per_second).filter(|&rate| rate > 0).map(|rate| rate.to_string()),
        ),
        ("TimeBetweenGlobalCheckpoints", Some(options.global_checkpoint_interval.as_millis().to_string())),
    ]
}

fn of_cluster(config: &ClusterConfig, me: &NodeConfig) -> Vec<(&'static str, Option<String>)> {
    let number = |number: u64| Some(number.to_string());
    vec![
        ("NodeId", number(me.id.0.into())),
        ("HostName", me.host.clone()),
        ("Roles", Some(me.roles.to_string())),
        ("ServerPort", number(me.server_port.into())),
        ("MySQLPort", me.mysql_port.and_then(|port| number(port.into()))),
        ("HttpPort", me.http_port.and_then(|port| number(port.into()))),
        ("NoOfReplicas", number(config.replicas.into())),
        ("NoOfPartitions", number(config.partitions.into())),
        ("HeartbeatIntervalDbDb", number(config.heartbeat_ms)),
        ("ElectionTimeout", number(config.election_timeout_ms)),
        ("TransactionDeadlockDetectionTimeout", config.lock_wait_timeout_ms.and_then(number)),
        ("ConnectionPool", number(config.connection_pool.into())),
        ("SendBufferMemory", config.send_buffer_bytes.and_then(number)),
        ("MaxNoOfExecutionThreads", me.execution_threads.and_then(|threads| number(threads.into()))),
        ("SchedulerSpinTimer", me.spin_us.and_then(number)),
        ("UseShm", Some(u8::from(me.use_shm).to_string())),
        ("RequireTls", Some(u8::from(me.node_tls.is_required).to_string())),
        ("RequireCertificate", Some(u8::from(me.node_tls.requires_certificate).to_string())),
    ]
}

/// Of a node; without a config.ini of a process that is the whole database. What is not configured is left out.
pub fn of_node(options: &NodeOptions, config: Option<(&ClusterConfig, &NodeConfig)>) -> Configuration {
    let mut values = of_options(options);
    match config {
        Some((config, me)) => values.extend(of_cluster(config, me)),
        None => values.push(("NoOfPartitions", options.partitions.map(|count| count.to_string()))),
    }
    let mut values: Vec<(String, String)> =
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if let Some((_, me)) = config {
        values.extend(me.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    }
    Configuration { parameters: parameters(), values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_parameters_that_there_are() {
        let text = "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nHostName=localhost\n[ndbd]\nHostName=localhost\nDataMemory=64M\n";
        let directory = std::env::temp_dir().join(format!("shoal-configuration-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("config.ini");
        std::fs::write(&file, text).unwrap();
        let config = ClusterConfig::read(&file).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let me = config.data_nodes().next().unwrap();
        let options = NodeOptions { data_memory: me.data_memory, ..NodeOptions::new("/data") };
        let configuration = of_node(&options, Some((&config, me)));
        for (name, _) in &configuration.values {
            assert!(configuration.parameters.iter().any(|known| known.name == *name), "{name} is no parameter");
        }
        let value = |wanted: &str| configuration.values.iter().find(|(name, _)| name == wanted);
        assert_eq!(value("DataMemory").unwrap().1, (64 << 20).to_string());
        assert_eq!(value("NoOfReplicas").unwrap().1, "1");
    }
}
