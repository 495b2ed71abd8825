//! Accounts are the cluster's: what one node is told of them holds at every other.

use shoal_system_tests::cluster::{DevCluster, Layout, StartedCluster};
use shoal_system_tests::{Client, Error, Login, wait_until};

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

/// This machine's own address that is not on the loopback interface, if it has one.
fn own_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: the system only chooses an address.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

#[test]
fn a_host_whose_connections_break_off_is_let_in_no_more_until_it_is_forgotten() {
    let Some(host) = own_address() else {
        return shoal_system_tests::skip("this machine has the loopback interface alone");
    };
    let hosts = vec!["127.0.0.1".to_owned(); 2];
    let layout = Layout { data_nodes: 1, replicas: 1, hosts, ..Layout::default() };
    let cluster = StartedCluster::start(&layout);
    let port = cluster.node(1).mysql.expect("the node takes clients").1;
    let mut root = Client::log_in(port, &Login::default()).unwrap();
    for sql in
        ["CREATE USER nina IDENTIFIED WITH mysql_native_password BY 'x'", "SET GLOBAL max_connect_errors = 3"]
    {
        root.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let log_in = |password: &str| {
        let login = Login { host: host.clone(), ..Login::user("nina", password) };
        Client::log_in(port, &login).err().map_or(0, |error| error.errno())
    };
    let errors = "SELECT SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, COUNT_HANDSHAKE_ERRORS, COUNT_AUTHENTICATION_ERRORS,
                  FIRST_SEEN <= LAST_SEEN FROM performance_schema.host_cache";
    let break_off = |root: &mut Client, expected: &str| {
        drop(std::net::TcpStream::connect((host.as_str(), port)).unwrap());
        wait_until("the node to notice", || root.text(errors).unwrap() == [expected]);
    };
    break_off(&mut root, "1,0,1,0,1");
    break_off(&mut root, "2,0,2,0,1");
    // Who is let in clears the count; wrong passwords neither clear nor add to it.
    assert_eq!([log_in("no"), log_in("x")], [1045, 0]);
    for (count, expected) in [(1, "1,0,3,1,1"), (2, "2,0,4,1,1"), (3, "3,0,5,1,1")] {
        assert_eq!(log_in("no"), 1045, "{count}");
        let expected = expected.replace(",1,1", &format!(",{},1", count + 1));
        break_off(&mut root, &expected);
    }
    assert_eq!([log_in("x"), log_in("no")], [1129, 1129]);
    // Clients of this machine go on, and say when it is enough.
    assert_eq!(root.text(errors).unwrap(), ["3,2,5,4,1"]);
    Client::log_in(port, &Login::default()).unwrap();
    let mut nina = Client::log_in(port, &Login::user("nina", "x")).unwrap();
    assert_eq!(nina.execute("TRUNCATE TABLE performance_schema.host_cache").unwrap_err().errno(), 1142);
    root.execute("TRUNCATE TABLE performance_schema.host_cache").unwrap();
    assert_eq!(log_in("x"), 0);
    assert_eq!(root.text(errors).unwrap(), Vec::<String>::new());
}
