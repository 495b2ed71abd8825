//! Two passwords at a time, accounts that wrong passwords lock, limits of connections.

use shoal_system_tests::{Client, Error, Login, TestServer, skip, target_is_mariadb, wait_until};

fn log_in(server: &TestServer, user: &str, password: &str) -> Result<Client, Error> {
    Client::log_in(server.port(), &Login::user(user, password))
}

/// The number of the error; 0: let in.
fn refusal(server: &TestServer, user: &str, password: &str) -> u16 {
    log_in(server, user, password).err().map_or(0, |error| {
        assert_ne!(error.errno(), 0, "{error}");
        error.errno()
    })
}

/// Logs in with the mariadb client, which knows the full exchange of caching_sha2_password.
fn is_let_in(server: &TestServer, user: &str, password: &str) -> bool {
    let mut command = std::process::Command::new("mariadb");
    command.args(["--no-defaults", "--host=127.0.0.1", &format!("--port={}", server.port())]).args([
        &format!("--user={user}"),
        &format!("--password={password}"),
        "-e",
        "SELECT 1",
    ]);
    server.finish(command, b"").status.success()
}

#[test]
fn an_old_password_is_good_until_it_is_discarded() {
    if target_is_mariadb() {
        return skip("MariaDB has one password at a time");
    }
    let mut server = TestServer::start();
    for (user, plugin) in [("nina", "mysql_native_password"), ("susan", "caching_sha2_password")] {
        server.sql(&format!("CREATE USER {user} IDENTIFIED WITH {plugin} BY 'one'"));
        server.sql(&format!("ALTER USER {user} IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD"));
    }
    server.kill();
    server.restart();
    for user in ["nina", "susan"] {
        // Twice: in full, and from the cache.
        for password in ["one", "two", "one", "two"] {
            assert!(is_let_in(&server, user, password), "{user} {password}");
        }
        assert!(!is_let_in(&server, user, "three"));
        // The one before goes when another one is retained.
        server.sql(&format!("SET PASSWORD FOR {user} = 'three' RETAIN CURRENT PASSWORD"));
        assert_eq!(
            ["one", "two", "three"].map(|password| is_let_in(&server, user, password)),
            [false, true, true]
        );
        server.sql(&format!("ALTER USER {user} DISCARD OLD PASSWORD"));
        assert_eq!(["two", "three"].map(|password| is_let_in(&server, user, password)), [false, true]);
    }
    server.sql("CREATE USER bare; CREATE USER rich IDENTIFIED BY 'x'");
    for (statement, errno) in [
        ("ALTER USER bare IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD", 3878),
        ("ALTER USER rich IDENTIFIED WITH mysql_native_password BY 'y' RETAIN CURRENT PASSWORD", 3894),
        ("ALTER USER rich IDENTIFIED BY '' RETAIN CURRENT PASSWORD", 3895),
    ] {
        assert_eq!(server.client().execute(statement).unwrap_err().errno(), errno, "{statement}");
    }
}

#[test]
fn wrong_passwords_in_a_row_lock_an_account_until_it_is_unlocked() {
    if target_is_mariadb() {
        return skip("MariaDB has no FAILED_LOGIN_ATTEMPTS");
    }
    let server = TestServer::start();
    let identified = "IDENTIFIED WITH mysql_native_password BY 'geheim'";
    server.sql(&format!("CREATE USER nina {identified} FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3"));
    server.sql(&format!("CREATE USER nora {identified} FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME UNBOUNDED"));
    assert_eq!(["wrong", "geheim", "wrong"].map(|password| refusal(&server, "nina", password)), [1045, 0, 1045]);
    assert_eq!(["wrong", "geheim"].map(|password| refusal(&server, "nina", password)), [3955, 3955]);
    let error = log_in(&server, "nina", "geheim").err().unwrap().to_string();
    let told = "Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive failed logins.";
    assert!(error.contains(told), "{error}");
    assert_eq!(refusal(&server, "nora", "wrong"), 3955);
    let error = log_in(&server, "nora", "geheim").err().unwrap().to_string();
    assert!(error.contains("blocked for unlimited day(s) (unlimited day(s) remaining) due to 1 "), "{error}");
    let mut client = server.client();
    assert_eq!(client.change_user(&Login::user("nora", "geheim")).unwrap_err().errno(), 3955);
    server.sql("ALTER USER nina ACCOUNT UNLOCK; ALTER USER nora FAILED_LOGIN_ATTEMPTS 0");
    assert_eq!(["nina", "nora"].map(|user| refusal(&server, user, "geheim")), [0, 0]);
    let shown = server.client().text("SHOW CREATE USER nina").unwrap().remove(0);
    assert!(shown.ends_with(" CURRENT DEFAULT FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3"), "{shown}");
}

#[test]
fn an_account_has_as_many_connections_as_it_may() {
    let server = TestServer::start();
    let identified = match target_is_mariadb() {
        true => "IDENTIFIED BY 'x'",
        false => "IDENTIFIED WITH mysql_native_password BY 'x'",
    };
    server.sql(&format!("CREATE USER nina {identified} WITH MAX_USER_CONNECTIONS 2"));
    server.sql(&format!("CREATE USER nora {identified} WITH MAX_CONNECTIONS_PER_HOUR 3"));
    let mut open = vec![log_in(&server, "nina", "x").unwrap(), log_in(&server, "nina", "x").unwrap()];
    let error = log_in(&server, "nina", "x").err().unwrap();
    assert_eq!(error.errno(), 1226, "{error}");
    assert!(
        error.to_string().contains("'nina' has exceeded the 'max_user_connections' resource (current value: 2)")
    );
    open.pop();
    wait_until("room for a connection", || refusal(&server, "nina", "x") == 0);
    for _ in 0..3 {
        assert_eq!(refusal(&server, "nora", "x"), 0);
    }
    let error = log_in(&server, "nora", "x").err().unwrap();
    assert!(error.errno() == 1226 && error.to_string().contains("'max_connections_per_hour'"), "{error}");
    if target_is_mariadb() {
        return skip("MariaDB shows accounts in its own way");
    }
    // A user who comes by COM_CHANGE_USER counts, too; and goes.
    let mut client = server.client();
    let nina = Login::user("nina", "x");
    client.change_user(&nina).unwrap();
    assert_eq!(server.client().change_user(&nina).unwrap_err().errno(), 1226);
    client.change_user(&Login::default()).unwrap();
    server.client().change_user(&nina).unwrap();
    let shown = server.client().text("SHOW CREATE USER nina").unwrap().remove(0);
    assert!(shown.contains(" REQUIRE NONE WITH MAX_USER_CONNECTIONS 2 PASSWORD EXPIRE "), "{shown}");
    let columns =
        "SELECT User, max_connections, max_user_connections FROM mysql.user WHERE User LIKE 'n%' ORDER BY User";
    assert_eq!(server.client().text(columns).unwrap(), ["nina,0,2", "nora,3,0"]);
    // The variable is for accounts that have no limit of their own.
    server.sql(&format!("SET GLOBAL max_user_connections = 1; CREATE USER nelly {identified}"));
    let _one = log_in(&server, "nelly", "x").unwrap();
    assert_eq!(refusal(&server, "nelly", "x"), 1203);
}

#[test]
fn an_account_has_as_many_statements_an_hour_as_it_may() {
    if target_is_mariadb() {
        return skip("MariaDB counts in another way");
    }
    let server = TestServer::start();
    let identified = "IDENTIFIED WITH mysql_native_password BY 'x'";
    server.sql(&format!(
        "CREATE TABLE t (id INT PRIMARY KEY); CREATE USER nina {identified} WITH MAX_QUERIES_PER_HOUR 6 MAX_UPDATES_PER_HOUR 2;
         GRANT ALL ON *.* TO nina"
    ));
    let (mut one, mut other) = (log_in(&server, "nina", "x").unwrap(), log_in(&server, "nina", "x").unwrap());
    one.execute("INSERT INTO test.t VALUES (1)").unwrap();
    other.execute("CREATE TABLE test.u (id INT)").unwrap();
    let error = one.execute("UPDATE test.t SET id=2").unwrap_err();
    assert_eq!(error.errno(), 1226);
    assert!(
        error.to_string().contains("User 'nina' has exceeded the 'max_updates' resource (current value: 2)"),
        "{error}"
    );
    let prepared = one.prepare("SELECT id FROM test.t").unwrap();
    one.run_statement(&prepared, &[]).unwrap();
    other.text("SELECT id FROM test.t").unwrap();
    other.execute("SET @a=1").unwrap();
    for client in [&mut one, &mut other] {
        let error = client.text("SELECT id FROM test.t").unwrap_err();
        assert!(error.errno() == 1226 && error.to_string().contains("'max_questions'"), "{error}");
    }
    let mut root = server.client();
    root.execute("FLUSH USER_RESOURCES").unwrap();
    one.execute("UPDATE test.t SET id=2").unwrap();
    root.execute("ALTER USER nina WITH MAX_QUERIES_PER_HOUR 1 MAX_UPDATES_PER_HOUR 0").unwrap();
    // New limits are those of the next connection's, for all.
    let _next = log_in(&server, "nina", "x").unwrap();
    one.execute("UPDATE test.t SET id=3").unwrap();
    assert_eq!(other.execute("DO 1").unwrap_err().errno(), 1226);
    let shown = root.text("SHOW CREATE USER nina").unwrap().remove(0);
    assert!(shown.contains(" WITH MAX_QUERIES_PER_HOUR 1 PASSWORD EXPIRE "), "{shown}");
    let columns = "SELECT max_questions, max_updates FROM mysql.user WHERE User='nina'";
    assert_eq!(root.text(columns).unwrap(), ["1,0"]);
}
