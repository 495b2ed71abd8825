//! Proxy users: accounts whose clients are treated as another account, and GRANT ... AS.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

/// A server with the account `shop`, which may read a table, and two that have nothing but a password.
fn started() -> Option<(TestServer, Client)> {
    if target_is_mariadb() {
        skip("MariaDB maps proxy users by plugins alone");
        return None;
    }
    let server = TestServer::start();
    let mut root = server.client();
    for statement in [
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE USER shop@localhost IDENTIFIED BY 's' ACCOUNT LOCK",
        "GRANT SELECT ON test.t TO shop@localhost",
        "CREATE USER ann@localhost IDENTIFIED WITH mysql_native_password BY 'x'",
        "CREATE USER ben@localhost IDENTIFIED BY 'x'",
    ] {
        root.execute(statement).unwrap();
    }
    Some((server, root))
}

fn log_in(server: &TestServer, user: &str) -> Client {
    Client::log_in(server.port(), &Login::user(user, "x")).unwrap()
}

fn errno(client: &mut Client, sql: &str) -> u16 {
    client.execute(sql).err().map_or(0, |error| error.errno())
}

const WHO: &str = "SELECT USER(), CURRENT_USER(), @@proxy_user, @@session.external_user";

#[test]
fn clients_of_a_proxy_user_have_what_the_proxied_account_has() {
    let Some((server, mut root)) = started() else { return };
    root.execute("GRANT PROXY ON shop@localhost TO ann@localhost, ben@localhost").unwrap();
    let read = "SELECT * FROM test.t";
    // Nothing is mapped before somebody says so, for each plugin.
    let as_itself = |user: &str| format!("{user}@localhost,{user}@localhost,NULL,NULL");
    let as_shop = |user: &str| format!("{user}@localhost,shop@localhost,'{user}'@'localhost',NULL");
    let mut ann = log_in(&server, "ann");
    assert_eq!((ann.text(WHO).unwrap().join(","), errno(&mut ann, read)), (as_itself("ann"), 1142));
    root.execute("SET GLOBAL check_proxy_users = ON").unwrap();
    assert_eq!(log_in(&server, "ann").text(WHO).unwrap().join(","), as_itself("ann"));
    root.execute("SET GLOBAL mysql_native_password_proxy_users = ON").unwrap();
    let mut ann = log_in(&server, "ann");
    assert_eq!((ann.text(WHO).unwrap().join(","), errno(&mut ann, read)), (as_shop("ann"), 0));
    assert_eq!(log_in(&server, "ben").text(WHO).unwrap().join(","), as_itself("ben"));
    root.execute("SET GLOBAL sha256_password_proxy_users = ON").unwrap();
    let mut ben = log_in(&server, "ben");
    assert_eq!((ben.text(WHO).unwrap().join(","), errno(&mut ben, read)), (as_shop("ben"), 0));
    assert_eq!(ben.text("SHOW GRANTS").unwrap()[1], "GRANT SELECT ON `test`.`t` TO `shop`@`localhost`");
    assert_eq!(errno(&mut ben, "SET proxy_user = 'x'"), 1238);
    // Another login on the connection is another account's, and a reset keeps it.
    ben.change_user(&Login::user("ann", "x")).unwrap();
    assert_eq!(ben.text(WHO).unwrap().join(","), as_shop("ann"));
    ben.reset_connection().unwrap();
    assert_eq!(ben.text(WHO).unwrap().join(","), as_shop("ann"));
    // The password is the proxy user's, and the proxied account must be there.
    assert!(Client::log_in(server.port(), &Login::user("ann", "s")).is_err());
    root.execute("DROP USER shop@localhost").unwrap();
    assert_eq!(log_in(&server, "ann").text(WHO).unwrap().join(","), as_itself("ann"));
}

#[test]
fn proxies_are_granted_by_those_who_may_and_shown() {
    let Some((server, mut root)) = started() else { return };
    let grants = |client: &mut Client, of: &str| client.text(&format!("SHOW GRANTS FOR {of}")).unwrap();
    let last = "GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION";
    assert!(grants(&mut root, "CURRENT_USER").contains(&last.to_owned()));
    let (to_ben, from_ben) =
        ("GRANT PROXY ON shop@localhost TO ben@localhost", "REVOKE PROXY ON shop@localhost FROM ben@localhost");
    let mut ann = log_in(&server, "ann");
    assert_eq!(errno(&mut ann, to_ben), 1698);
    // Oneself may be given by oneself.
    assert_eq!(errno(&mut ann, "GRANT PROXY ON ann@localhost TO ben@localhost"), 0);
    root.execute("GRANT PROXY ON shop@localhost TO ann@localhost").unwrap();
    assert_eq!(errno(&mut ann, to_ben), 1698);
    root.execute("GRANT PROXY ON shop@localhost TO ann@localhost WITH GRANT OPTION").unwrap();
    assert_eq!(errno(&mut ann, to_ben), 0);
    assert_eq!(
        grants(&mut root, "ben@localhost")[1..],
        [
            "GRANT PROXY ON `ann`@`localhost` TO `ben`@`localhost`",
            "GRANT PROXY ON `shop`@`localhost` TO `ben`@`localhost`"
        ]
    );
    let rows = root.text(
        "SELECT CONCAT_WS(' ', Host, User, Proxied_host, Proxied_user, With_grant, Grantor, Timestamp > NOW() - INTERVAL 1 HOUR) \
         FROM mysql.proxies_priv WHERE User <> 'root' ORDER BY User, Proxied_user",
    );
    assert_eq!(
        rows.unwrap(),
        [
            "localhost ann localhost shop 1 root@localhost 1",
            "localhost ben localhost ann 0 ann@localhost 1",
            "localhost ben localhost shop 0 ann@localhost 1"
        ]
    );
    assert_eq!(errno(&mut ann, from_ben), 0);
    assert_eq!(errno(&mut ann, from_ben), 1141);
    assert_eq!(errno(&mut root, "GRANT PROXY ON shop@localhost TO nobody@localhost"), 1410);
    assert_eq!(errno(&mut root, "REVOKE IF EXISTS PROXY ON shop@localhost FROM ben@localhost"), 0);
    assert_eq!(errno(&mut root, "REVOKE PROXY ON shop@localhost FROM nobody IGNORE UNKNOWN USER"), 0);
    assert_eq!(errno(&mut root, "GRANT PROXY ON shop@localhost TO ben@localhost AS root@localhost"), 1064);
    // They are in the dictionary, which a restart reads back.
    let mut server = server;
    server.restart();
    let mut root = server.client();
    assert_eq!(
        grants(&mut root, "ann@localhost")[1],
        "GRANT PROXY ON `shop`@`localhost` TO `ann`@`localhost` WITH GRANT OPTION"
    );
}

#[test]
fn grant_as_names_accounts_and_roles_that_there_are() {
    let Some((_server, mut root)) = started() else { return };
    root.execute("CREATE ROLE r").unwrap();
    root.execute("GRANT r TO shop@localhost").unwrap();
    for (tail, expected) in [
        ("AS shop@localhost", 0),
        ("AS shop@localhost WITH ROLE r", 0),
        ("AS shop@localhost WITH ROLE ALL EXCEPT r", 0),
        ("WITH GRANT OPTION AS shop@localhost WITH ROLE NONE", 0),
        ("AS nobody@localhost", 3836),
        ("AS ben@localhost WITH ROLE r", 3836),
    ] {
        assert_eq!(errno(&mut root, &format!("GRANT SELECT ON *.* TO ann@localhost {tail}")), expected, "{tail}");
    }
    assert_eq!(errno(&mut root, "GRANT SELECT ON test.* TO ann@localhost AS shop@localhost"), 3835);
    assert_eq!(
        root.text("SHOW GRANTS FOR ann@localhost").unwrap(),
        ["GRANT SELECT ON *.* TO `ann`@`localhost` WITH GRANT OPTION"]
    );
}
