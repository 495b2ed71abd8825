//! Rough loads on two data nodes, small; `make rough` measures them.

use std::thread;

use shoal_system_tests::cluster::DevCluster;

/// Sessions at both nodes that add to one row: each gets it in its turn, whoever leads it.
#[test]
fn sixty_four_clients_of_two_nodes_add_to_one_row_without_an_error() {
    for durability in ["disk", "replicated"] {
        let set = format!("--set=CommitDurability={durability}");
        let cluster = DevCluster::start(&["--data-nodes", "2", &set]);
        let mut client = cluster.client(1);
        client.run("CREATE TABLE hot (id INT PRIMARY KEY, n INT); INSERT INTO hot VALUES (1, 0)").unwrap();
        thread::scope(|scope| {
            for session in 0..64 {
                let cluster = &cluster;
                scope.spawn(move || {
                    let mut client = cluster.client(1 + session % 2);
                    for _ in 0..15 {
                        let done = client.execute("UPDATE hot SET n = n + 1 WHERE id = 1").unwrap();
                        assert_eq!(done.affected_rows, 1);
                    }
                });
            }
        });
        assert_eq!(client.text("SELECT n FROM hot").unwrap(), [(64 * 15).to_string()], "{durability}");
    }
}
