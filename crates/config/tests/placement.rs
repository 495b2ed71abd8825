//! Where partitions live, as worked out from whole files.

use shoal_config::ClusterConfig;
use shoal_types::NodeId;

fn placements(config: &ClusterConfig) -> Vec<String> {
    config.partition_map().iter().chain([&config.meta_placement()]).map(ToString::to_string).collect()
}

#[test]
fn two_replicas_share_the_leadership_and_the_manager_has_the_third_vote() {
    let config = ClusterConfig::parse(include_str!("../samples/two_data_one_mgm_two_sql.ini")).unwrap();
    assert_eq!(config.replicas, 2);
    assert_eq!(
        placements(&config),
        ["0: 2,3 witness 1", "1: 3,2 witness 1", "2: 2,3 witness 1", "3: 3,2 witness 1", "4: 1"]
    );
    let sql: Vec<NodeId> = config.sql_nodes().map(|node| node.id).collect();
    assert_eq!(sql, [NodeId(4), NodeId(5)]);
    assert_eq!(config.node(NodeId(3)).unwrap().server_address().as_deref(), Some("198.51.100.40:2202"));
    assert_eq!(config.node(NodeId(1)).unwrap().server_address().as_deref(), Some("198.51.100.10:1186"));
}
