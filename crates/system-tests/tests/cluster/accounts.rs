//! Accounts are the cluster's: what one node is told of them holds at every other.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::{Client, Error, Login};

fn log_in(cluster: &DevCluster, id: u32, user: &str, password: &str) -> Result<Client, Error> {
    let (host, port) = cluster.node(id).mysql.expect("the node takes clients");
    Client::log_in(port, &Login { host, ..Login::user(user, password) })
}

#[test]
fn rules_of_an_account_hold_at_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut client = cluster.client(1);
    let native = "IDENTIFIED WITH mysql_native_password BY";
    for sql in [
        format!("CREATE USER tess {native} 'x' REQUIRE SUBJECT '/CN=tess'"),
        format!("CREATE USER nina {native} 'one' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME UNBOUNDED"),
        format!("CREATE USER nora {native} 'x' WITH MAX_USER_CONNECTIONS 1"),
        "ALTER USER nina IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD".to_owned(),
    ] {
        client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let shown = |id: u32| {
        ["tess", "nina", "nora"]
            .map(|user| cluster.client(id).text(&format!("SHOW CREATE USER {user}")).unwrap().remove(0))
    };
    let expected = shown(1);
    assert!(
        expected[0].contains("REQUIRE SUBJECT '/CN=tess'") && expected[1].contains("PASSWORD_LOCK_TIME UNBOUNDED")
    );
    let errno = |id: u32, user: &str, password: &str| {
        log_in(&cluster, id, user, password).err().map_or(0, |error| error.errno())
    };
    let holds = |id: u32| {
        assert_eq!(shown(id), expected, "node {id}");
        assert_eq!(errno(id, "tess", "x"), 1045, "node {id}: without TLS");
        assert_eq!(
            ["one", "two"].map(|password| errno(id, "nina", password)),
            [0, 0],
            "node {id}: both passwords"
        );
        let _only = log_in(&cluster, id, "nora", "x").unwrap();
        assert_eq!(errno(id, "nora", "x"), 1226, "node {id}: one connection");
    };
    [1, 2].into_iter().for_each(holds);
    // Wrong passwords are counted by each node, and unlocking is for all.
    assert_eq!([errno(2, "nina", "no"), errno(2, "nina", "no"), errno(2, "nina", "two")], [1045, 3955, 3955]);
    assert_eq!(errno(1, "nina", "two"), 0);
    client.execute("ALTER USER nina ACCOUNT UNLOCK").unwrap();
    assert_eq!(errno(2, "nina", "two"), 0);
    cluster.kill_all_and_wait();
    [1, 2].into_iter().for_each(holds);
}

#[test]
fn roles_are_the_clusters_and_running_sessions_notice_their_changes_at_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut client = cluster.client(1);
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.goods (id INT PRIMARY KEY)",
        "CREATE ROLE reader, all_readers",
        "GRANT reader TO all_readers",
        "CREATE USER nina IDENTIFIED WITH mysql_native_password BY 'x' DEFAULT ROLE all_readers",
    ] {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let mut nina = log_in(&cluster, 2, "nina", "x").unwrap();
    assert_eq!(nina.text("SELECT CURRENT_ROLE()").unwrap(), ["`all_readers`@`%`"]);
    let mut errno = || nina.execute("SELECT * FROM shop.goods").err().map_or(0, |error| error.errno());
    assert_eq!(errno(), 1142);
    client.execute("GRANT SELECT ON shop.* TO reader").unwrap();
    assert_eq!(errno(), 0);
    client.execute("DROP ROLE reader").unwrap();
    assert_eq!(errno(), 1142);
    cluster.kill_all_and_wait();
    let shown = cluster.client(2).text("SHOW GRANTS FOR nina").unwrap();
    assert_eq!(shown[1], "GRANT `all_readers`@`%` TO `nina`@`%`");
}

#[test]
fn rules_for_passwords_hold_at_every_node() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let mut client = cluster.client(1);
    let native = "IDENTIFIED WITH mysql_native_password BY";
    for sql in [
        format!("CREATE USER nina {native} 'one' PASSWORD HISTORY 5"),
        format!("CREATE USER nora {native} 'one' PASSWORD EXPIRE"),
        "INSTALL COMPONENT 'file://component_validate_password'".to_owned(),
    ] {
        client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let holds = |id: u32| {
        let mut client = cluster.client(id);
        let mut errno = |sql: &str| client.execute(sql).err().map_or(0, |error| error.errno());
        assert_eq!(errno("ALTER USER nina IDENTIFIED BY 'two'"), 1819, "node {id}");
        assert_eq!(errno("SET GLOBAL validate_password.policy = LOW, GLOBAL validate_password.length = 0"), 0);
        assert_eq!(
            errno(
                "SET GLOBAL validate_password.special_char_count = 0, GLOBAL validate_password.number_count = 0"
            ),
            0
        );
        assert_eq!(errno("SET GLOBAL validate_password.mixed_case_count = 0"), 0);
        assert_eq!(errno("SET PASSWORD FOR nina = 'one!'"), if id == 1 { 0 } else { 3638 }, "node {id}");
        let refused = log_in(&cluster, id, "nora", "one").err().unwrap();
        assert_eq!(refused.errno(), 1862, "node {id}");
    };
    [1, 2].into_iter().for_each(holds);
    cluster.kill_all_and_wait();
    let history = "SELECT COUNT(*) FROM mysql.password_history WHERE User='nina'";
    assert_eq!(cluster.client(2).text(history).unwrap(), ["2"]);
}
