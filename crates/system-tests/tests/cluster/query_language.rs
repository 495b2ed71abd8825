//! Queries whose parts read each other's rows, at nodes that do not have all of them.

use shoal_system_tests::Client;
use shoal_system_tests::cluster::DevCluster;

fn run(client: &mut Client, sql: &str) {
    client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn with_tree() -> DevCluster {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut client = cluster.client(1);
    run(&mut client, "SET cte_max_recursion_depth = 10000");
    run(&mut client, "CREATE TABLE tree (id INT PRIMARY KEY, parent INT, KEY (parent))");
    run(
        &mut client,
        "INSERT INTO tree WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 5000) \
         SELECT x, IF(x = 1, NULL, x DIV 2) FROM n",
    );
    cluster
}

#[test]
fn a_tree_is_walked_by_its_index_on_every_node() {
    let cluster = with_tree();
    for node in [1, 2] {
        let mut client = cluster.client(node);
        let walk = "WITH RECURSIVE t AS (SELECT id, 0 AS depth FROM tree WHERE parent IS NULL UNION ALL \
                    SELECT c.id, depth + 1 FROM t JOIN tree c ON c.parent = t.id) \
                    SELECT COUNT(*), SUM(id), MAX(depth) FROM t";
        assert_eq!(client.text(walk).unwrap(), ["5000,12502500,12"]);
        let plan = client.text(&format!("EXPLAIN FORMAT=TREE {walk}")).unwrap().join("\n");
        assert!(plan.contains("Index lookup on c using parent"), "{plan}");
        let upwards = "WITH RECURSIVE up AS (SELECT id, parent FROM tree WHERE id = 4999 UNION ALL \
                       SELECT p.id, p.parent FROM up JOIN tree p ON p.id = up.parent) SELECT COUNT(*), MIN(id) FROM up";
        assert_eq!(client.text(upwards).unwrap(), ["13,1"]);
    }
}

#[test]
fn lateral_tables_json_tables_and_changes_see_all_rows() {
    let cluster = with_tree();
    let (mut one, mut other) = (cluster.client(1), cluster.client(2));
    let lateral = "SELECT COUNT(*), SUM(l.c) FROM tree t, LATERAL (SELECT COUNT(*) AS c FROM tree c WHERE c.parent = t.id) l";
    for client in [&mut one, &mut other] {
        assert_eq!(client.text(lateral).unwrap(), ["5000,4999"]);
    }
    run(&mut other, "CREATE TABLE docs (id INT PRIMARY KEY, doc JSON)");
    run(&mut other, "INSERT INTO docs SELECT id, JSON_ARRAY(id, id + 1, id + 2) FROM tree WHERE id <= 300");
    let values = "SELECT COUNT(*), SUM(v) FROM docs, JSON_TABLE(doc, '$[*]' COLUMNS (v INT PATH '$')) j";
    for client in [&mut one, &mut other] {
        assert_eq!(client.text(values).unwrap(), ["900,136350"]);
    }
    run(
        &mut one,
        "WITH RECURSIVE below AS (SELECT 2 AS id UNION ALL SELECT c.id FROM below b JOIN tree c ON c.parent = b.id) \
         DELETE FROM tree WHERE id IN (SELECT id FROM below)",
    );
    let left = "WITH RECURSIVE t AS (SELECT 1 AS id UNION ALL SELECT c.id FROM t JOIN tree c ON c.parent = t.id) \
                SELECT COUNT(*), (SELECT COUNT(*) FROM tree) FROM t";
    let left_there = other.text(left).unwrap();
    assert_eq!(left_there, one.text(left).unwrap());
    let counts: Vec<&str> = left_there[0].split(',').collect();
    assert_eq!(counts[0], counts[1], "every row that is left is below the root");
}

#[test]
fn handlers_and_partitions_read_rows_of_other_nodes() {
    let cluster = with_tree();
    let mut client = cluster.client(2);
    run(&mut client, "CREATE TABLE parts (id INT PRIMARY KEY, v INT) PARTITION BY KEY (id) PARTITIONS 3");
    run(&mut client, "INSERT INTO parts SELECT id, 0 FROM tree WHERE id <= 1000");
    let mut total = 0;
    for part in ["p0", "p1", "p2"] {
        let count = client.text(&format!("SELECT COUNT(*) FROM parts PARTITION ({part})")).unwrap();
        total += count[0].parse::<u32>().unwrap();
        run(&mut client, &format!("UPDATE parts PARTITION ({part}) SET v = v + 1"));
    }
    assert_eq!(total, 1000);
    assert_eq!(client.text("SELECT DISTINCT v FROM parts").unwrap(), ["1"]);
    run(&mut client, "HANDLER tree OPEN AS h");
    let rows = client.text("HANDLER h READ `PRIMARY` FIRST LIMIT 3000").unwrap();
    assert_eq!((rows.len(), rows[2999].as_str()), (3000, "3000,1500"));
    let next = client.text("HANDLER h READ `PRIMARY` NEXT LIMIT 3000").unwrap();
    assert_eq!((next.len(), next[0].as_str(), next[1999].as_str()), (2000, "3001,1500", "5000,2500"));
    assert_eq!(client.text("HANDLER h READ parent = (77)").unwrap(), ["154,77"]);
    run(&mut client, "HANDLER h CLOSE");
}
