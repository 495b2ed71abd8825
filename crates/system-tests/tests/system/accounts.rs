//! Accounts and passwords, with the client library's own login and with ours.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

fn create_user(server: &TestServer, name: &str, plugin: &str, password: &str) {
    let identified = match (target_is_mariadb(), plugin) {
        (true, _) => format!("IDENTIFIED BY '{password}'"),
        (false, plugin) => format!("IDENTIFIED WITH {plugin} BY '{password}'"),
    };
    server.sql(&format!("CREATE USER '{name}'@'%' {identified}; GRANT ALL ON *.* TO '{name}'@'%'"));
}

/// Logs in with the mariadb client.
fn mariadb_login(server: &TestServer, user: &str, password: &str) -> Result<String, String> {
    let mut command = std::process::Command::new("mariadb");
    command
        .args(["--no-defaults", "--host=127.0.0.1", "--batch", "--skip-column-names"])
        .arg(format!("--port={}", server.port()))
        .args([&format!("--user={user}"), &format!("--password={password}")])
        .args(["-e", "SELECT CURRENT_USER()"]);
    let output = server.finish(command, b"");
    match output.status.success() {
        true => Ok(output.text().trim().to_string()),
        false => Err(output.errors()),
    }
}

#[test]
fn a_native_password_is_checked() {
    let server = TestServer::start();
    create_user(&server, "nina", "mysql_native_password", "s3cret");
    assert_eq!(mariadb_login(&server, "nina", "s3cret").unwrap(), "nina@%");
    for wrong in ["", "S3cret", "s3cret "] {
        let error = mariadb_login(&server, "nina", wrong).unwrap_err();
        assert!(error.contains("1045") && error.contains("Access denied"), "{error}");
    }
    let mut client = Client::log_in(server.port(), &Login::user("nina", "s3cret")).unwrap();
    assert_eq!(client.text("SELECT CURRENT_USER()").unwrap(), ["nina@%"]);
    let error = Client::log_in(server.port(), &Login::user("nina", "wrong")).err().unwrap();
    assert_eq!(error.errno(), 1045, "{error}");
    let error = mariadb_login(&server, "nobody", "s3cret").unwrap_err();
    assert!(error.contains("1045"), "{error}");
}

#[test]
fn a_caching_sha2_password_is_checked_in_full_and_from_the_cache() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 has no caching_sha2_password");
    }
    let mut server = TestServer::start();
    create_user(&server, "susan", "caching_sha2_password", "s3cret-ü");
    let error = mariadb_login(&server, "susan", "wrong").unwrap_err();
    assert!(error.contains("1045"), "{error}");
    // The first login takes the full exchange, the second may be answered from the cache.
    for _ in 0..2 {
        assert_eq!(mariadb_login(&server, "susan", "s3cret-ü").unwrap(), "susan@%");
    }
    let login = Login::user("susan", "s3cret-ü");
    let mut client = Client::log_in(server.port(), &login).unwrap();
    assert_eq!(client.text("SELECT CURRENT_USER()").unwrap(), ["susan@%"]);
    assert!(Client::log_in(server.port(), &Login::user("susan", "wrong")).is_err());
    // The account outlives a crash, the cache does not.
    server.kill();
    server.restart();
    assert_eq!(mariadb_login(&server, "susan", "s3cret-ü").unwrap(), "susan@%");
    assert!(mariadb_login(&server, "susan", "wrong").is_err());
}

#[test]
fn a_new_password_replaces_the_old_one_and_a_dropped_user_is_out() {
    let server = TestServer::start();
    create_user(&server, "nina", "mysql_native_password", "one");
    server.sql("ALTER USER 'nina'@'%' IDENTIFIED BY 'two'");
    assert!(mariadb_login(&server, "nina", "one").is_err());
    assert_eq!(mariadb_login(&server, "nina", "two").unwrap(), "nina@%");
    server.sql("DROP USER 'nina'@'%'");
    assert!(mariadb_login(&server, "nina", "two").is_err());
}

#[test]
fn changing_the_user_starts_a_fresh_session() {
    let server = TestServer::start();
    create_user(&server, "nina", "mysql_native_password", "s3cret");
    let mut client = server.client();
    client.run("SET @mine=1; CREATE TABLE t (id INT PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1)").unwrap();
    let mut login = Login::user("nina", "s3cret");
    login.database = "test".into();
    client.change_user(&login).unwrap();
    let session = client.text("SELECT CURRENT_USER(), DATABASE(), @mine, COUNT(*) FROM t").unwrap();
    assert_eq!(session, ["nina@%,test,NULL,0"]);
    login.password = "wrong".into();
    assert_eq!(client.change_user(&login).unwrap_err().errno(), 1045);
}

#[test]
fn more_connections_than_allowed_are_refused_with_1040() {
    let server = TestServer::start();
    server.sql("SET GLOBAL max_connections=20");
    let mut open = Vec::new();
    let refused = loop {
        match Client::connect(server.port()) {
            Ok(client) => open.push(client),
            Err(error) => break error,
        }
        assert!(open.len() < 40, "no connection was refused");
    };
    assert_eq!(refused.errno(), 1040, "{refused}");
    assert!((19..=21).contains(&open.len()), "{}", open.len());
    drop(open);
    shoal_system_tests::wait_until("room for a connection", || Client::connect(server.port()).is_ok());
}
