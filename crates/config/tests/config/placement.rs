//! Where partitions live, as worked out from whole files, and when two files are the same cluster.

use std::collections::BTreeMap;

use shoal_config::ClusterConfig;
use shoal_types::{NodeId, PartitionId};

fn parse(text: &str) -> ClusterConfig {
    ClusterConfig::parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn placements(config: &ClusterConfig) -> Vec<String> {
    config.partition_map().iter().chain([&config.meta_placement()]).map(ToString::to_string).collect()
}

/// A file with so many data nodes on hosts d1.. and management nodes on m1..
fn cluster(data: usize, replicas: usize, mgm: usize, more: &str) -> String {
    let mut text = format!("[ndbd default]\nNoOfReplicas={replicas}\n{more}\n");
    (1..=data).for_each(|number| text.push_str(&format!("[ndbd]\nHostName=d{number}\n")));
    (1..=mgm).for_each(|number| text.push_str(&format!("[ndb_mgmd]\nHostName=m{number}\n")));
    text
}

#[test]
fn one_replica_has_no_witness() {
    assert_eq!(placements(&parse(&cluster(2, 1, 1, ""))), ["0: 1", "1: 2", "2: 1", "3: 2", "4: 3"]);
}

#[test]
fn witnesses_rotate_over_the_management_nodes() {
    let config = parse(&cluster(2, 2, 3, "PartitionsPerNode=3"));
    assert_eq!(
        placements(&config),
        [
            "0: 1,2 witness 3",
            "1: 2,1 witness 4",
            "2: 1,2 witness 5",
            "3: 2,1 witness 3",
            "4: 1,2 witness 4",
            "5: 2,1 witness 5",
            "6: 3,4,5"
        ]
    );
}

#[test]
fn every_shape_spreads_copies_and_leadership_evenly() {
    for (groups, replicas, mgm, per_node) in
        [(1, 1, 1, 2), (3, 1, 1, 2), (1, 2, 1, 1), (2, 2, 3, 3), (3, 2, 1, 2), (1, 3, 3, 2), (2, 3, 1, 4)]
    {
        let config = parse(&cluster(groups * replicas, replicas, mgm, &format!("PartitionsPerNode={per_node}")));
        let shape = format!("{groups} groups of {replicas}, {mgm} mgm, {per_node} per node");
        let map = config.partition_map();
        assert_eq!(map.len(), groups * replicas * per_node, "{shape}");
        let mut leads: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (number, placement) in map.iter().enumerate() {
            assert_eq!(placement.partition, PartitionId(number as u32));
            *leads.entry(placement.voters[0]).or_default() += 1;
            let mut members = placement.voters.clone();
            members.extend(placement.witness);
            let voters = members.len();
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), voters, "{shape}: a node votes twice in {placement}");
            assert_eq!(placement.voters.len(), replicas, "{shape}");
            assert_eq!(placement.witness.is_some(), replicas == 2, "{shape}");
            assert!(
                placement.voters.iter().all(|id| config.node(*id).is_some_and(|node| node.roles.data)),
                "{shape}"
            );
        }
        assert!(leads.values().all(|count| *count == per_node), "{shape}: {leads:?}");
    }
}

#[test]
fn a_witness_is_on_a_host_without_a_copy_if_there_is_one() {
    let text = "[ndbd default]\nNoOfReplicas=2\n\
                [ndb_mgmd]\nHostName=a\n[ndb_mgmd]\nHostName=b\n[ndb_mgmd]\nHostName=c\n\
                [ndbd]\nHostName=a\n[ndbd]\nHostName=b\n[ndbd]\nHostName=c\n[ndbd]\nHostName=d\n";
    let config = parse(text);
    assert_eq!(config.node_groups(), [[NodeId(4), NodeId(5)], [NodeId(6), NodeId(7)]]);
    for placement in config.partition_map() {
        let allowed: &[u32] = if placement.voters.contains(&NodeId(4)) { &[3] } else { &[1, 2] };
        assert!(placement.witness.is_some_and(|id| allowed.contains(&id.0)), "{placement}");
    }
}

#[test]
fn a_node_with_both_roles_is_not_its_own_witness() {
    let both = "[ndbd default]\nNoOfReplicas=2\n[ndb_mgmd]\nNodeId=1\nHostName=a\n[ndbd]\nNodeId=1\nHostName=a\n\
                [ndbd]\nNodeId=2\nHostName=b\n";
    let config = parse(both);
    assert!(config.partition_map().iter().all(|placement| placement.witness.is_none()));
    assert!(config.notes.iter().any(|note| note.message.contains("third vote")), "{:?}", config.notes);
}

#[test]
fn node_groups_follow_the_file_where_it_gives_them() {
    let text = "[ndbd default]\nNoOfReplicas=2\n[ndb_mgmd]\nNodeId=9\nHostName=m\n\
                [ndbd]\nNodeId=1\nHostName=a\nNodeGroup=1\n[ndbd]\nNodeId=2\nHostName=b\nNodeGroup=0\n\
                [ndbd]\nNodeId=3\nHostName=c\nNodeGroup=1\n[ndbd]\nNodeId=4\nHostName=d\nNodeGroup=0\n";
    assert_eq!(parse(text).node_groups(), [[NodeId(2), NodeId(4)], [NodeId(1), NodeId(3)]]);
}

#[test]
fn the_hash_tells_what_must_agree_from_what_may_differ() {
    let base = cluster(2, 2, 1, "");
    let config = parse(&base);
    let may_differ = [
        cluster(2, 2, 1, "DataMemory=2G\nMaxNoOfTables=400\nLockPagesInMainMemory=1"),
        cluster(2, 2, 1, "CommitDurability=replicated"),
        base.replace("d1", "elsewhere"),
        format!("{base}[mysqld]\nHostName=s1\n"),
    ];
    for text in may_differ {
        assert_eq!(parse(&text).hash(), config.hash(), "{text}");
    }
    let must_agree = [
        cluster(2, 2, 1, "PartitionsPerNode=3"),
        cluster(2, 2, 3, ""),
        cluster(4, 2, 1, ""),
        cluster(2, 1, 1, ""),
        format!("[system]\nName=other\n{base}"),
    ];
    for text in must_agree {
        assert_ne!(parse(&text).hash(), config.hash(), "{text}");
        assert_ne!(parse(&text).placement_hash(), config.placement_hash(), "{text}");
    }
    // Times must agree while nodes run together, but a stopped cluster may come back with others.
    let slower = parse(&cluster(2, 2, 1, "ElectionTimeout=2000"));
    assert_ne!(slower.hash(), config.hash());
    assert_eq!(slower.placement_hash(), config.placement_hash());
}

#[test]
fn the_placement_hash_of_a_file_never_changes() {
    // Data directories are tied to it. If this fails, existing clusters would not start any more.
    assert_eq!(parse(&cluster(2, 2, 1, "")).placement_hash(), 9_071_457_655_866_935_179);
}
