//! Privileges: on everything, on databases, on tables; and what running sessions notice of changes.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

/// A server with the databases `test` and `shop`, and `nina` who may do nothing.
fn with_nina() -> TestServer {
    let server = TestServer::start();
    server.sql(
        "CREATE USER nina@'%' IDENTIFIED WITH mysql_native_password BY 'x'; CREATE DATABASE shop;
         CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO shop.goods VALUES (1,'rope');
         CREATE TABLE shop.secrets (id INT PRIMARY KEY)",
    );
    server
}

fn nina(server: &TestServer) -> Client {
    Client::log_in(server.port(), &Login::user("nina", "x")).unwrap()
}

fn refused(client: &mut Client, sql: &str) -> u16 {
    match client.run(sql) {
        Ok(_) => panic!("{sql} was allowed"),
        Err(error) => error.errno(),
    }
}

#[test]
fn a_user_without_privileges_may_do_nothing() {
    if target_is_mariadb() {
        return skip("MariaDB writes accounts in another way");
    }
    let server = with_nina();
    let mut nina = nina(&server);
    for (sql, errno) in [
        ("SELECT * FROM shop.goods", 1142),
        ("INSERT INTO shop.goods VALUES (2,'x')", 1142),
        ("SELECT * FROM mysql.user", 1142),
        ("SELECT (SELECT COUNT(*) FROM mysql.user)", 1142),
        ("SET @name=(SELECT name FROM shop.goods)", 1142),
        ("DO (SELECT name FROM shop.goods)", 1142),
        ("UPDATE shop.goods SET name='x' WHERE id=1", 1142),
        ("DELETE FROM shop.goods", 1142),
        ("TRUNCATE TABLE shop.goods", 1142),
        ("DROP TABLE shop.goods", 1142),
        ("ALTER TABLE shop.goods ADD c INT", 1142),
        ("CREATE INDEX i ON shop.goods (name)", 1142),
        ("CREATE TABLE shop.t (id INT)", 1142),
        ("CREATE DATABASE mine", 1044),
        ("DROP DATABASE shop", 1044),
        ("USE shop", 1044),
        ("CREATE USER z", 1227),
        ("DROP USER root@localhost", 1227),
        ("ALTER USER root@localhost IDENTIFIED BY 'mine'", 1227),
        ("SET PASSWORD FOR root@localhost = 'mine'", 1227),
        ("GRANT ALL ON *.* TO nina@'%'", 1045),
        ("SET GLOBAL max_connections=7", 1227),
    ] {
        assert_eq!(refused(&mut nina, sql), errno, "{sql}");
    }
    let read = nina.prepare("SELECT name FROM shop.goods").unwrap();
    assert_eq!(nina.open_cursor(&read, &[]).unwrap_err().errno(), 1142);
    server.sql("GRANT SELECT ON mysql.* TO nina@'%'");
    assert!(nina.text("SELECT User FROM mysql.user").unwrap().contains(&"nina".to_owned()));
    server.sql("REVOKE SELECT ON mysql.* FROM nina@'%'");
    assert_eq!(nina.text("SELECT 1+1").unwrap(), ["2"]);
    assert_eq!(nina.text("SHOW GRANTS").unwrap(), ["GRANT USAGE ON *.* TO `nina`@`%`"]);
}

#[test]
fn grants_allow_what_they_name_and_no_more() {
    if target_is_mariadb() {
        return skip("MariaDB writes accounts in another way");
    }
    let server = with_nina();
    server.sql("GRANT SELECT, INSERT ON shop.* TO nina@'%'; GRANT UPDATE ON shop.goods TO nina@'%'");
    let mut nina = nina(&server);
    nina.run("USE shop; INSERT INTO goods VALUES (2,'net'); UPDATE goods SET name='line' WHERE id=2").unwrap();
    assert_eq!(nina.text("SELECT name FROM goods ORDER BY id").unwrap(), ["rope", "line"]);
    for sql in [
        "DELETE FROM goods WHERE id=1",
        "REPLACE INTO goods VALUES (1,'x')",
        "UPDATE secrets SET id=1",
        "INSERT INTO secrets VALUES (1) ON DUPLICATE KEY UPDATE id=2",
        "CREATE TABLE more (id INT)",
    ] {
        assert_eq!(refused(&mut nina, sql), 1142, "{sql}");
    }
    assert_eq!(
        nina.text("SHOW GRANTS").unwrap(),
        [
            "GRANT USAGE ON *.* TO `nina`@`%`",
            "GRANT SELECT, INSERT ON `shop`.* TO `nina`@`%`",
            "GRANT UPDATE ON `shop`.`goods` TO `nina`@`%`",
        ]
    );
    // Nobody gives away what they may not give.
    assert_eq!(refused(&mut nina, "GRANT SELECT ON shop.* TO nina@'%'"), 1044);
}

#[test]
fn running_sessions_lose_what_is_revoked_at_their_next_statement() {
    if target_is_mariadb() {
        return skip("MariaDB writes accounts in another way");
    }
    let server = with_nina();
    server.sql("GRANT SELECT ON shop.goods TO nina@'%'");
    let mut nina = nina(&server);
    let read = "SELECT COUNT(*) FROM shop.goods";
    let prepared = nina.prepare(read).unwrap();
    assert_eq!(nina.text(read).unwrap(), ["1"]);
    server.sql("REVOKE SELECT ON shop.goods FROM nina@'%'");
    assert_eq!(refused(&mut nina, read), 1142);
    assert_eq!(nina.run_statement(&prepared, &[]).unwrap_err().errno(), 1142);
    server.sql("GRANT ALL ON shop.* TO nina@'%' WITH GRANT OPTION");
    assert_eq!(nina.text(read).unwrap(), ["1"]);
    server.sql("DROP USER nina@'%'");
    assert_eq!(refused(&mut nina, read), 1142);
    assert_eq!(refused(&mut nina, "DROP TABLE shop.goods"), 1142);
}

#[test]
fn accounts_that_are_not_there_are_named() {
    if target_is_mariadb() {
        return skip("MariaDB writes accounts in another way");
    }
    let server = with_nina();
    for (sql, text) in [
        ("CREATE USER nina", "Operation CREATE USER failed for 'nina'@'%'"),
        ("DROP USER a, nina, b@h", "Operation DROP USER failed for 'a'@'%','b'@'h'"),
        ("ALTER USER nobody IDENTIFIED BY 'x'", "Operation ALTER USER failed for 'nobody'@'%'"),
        ("RENAME USER nina TO root@localhost", "Operation RENAME USER failed for 'nina'@'%'"),
        ("REVOKE SELECT ON shop.* FROM nina", "There is no such grant defined for user 'nina' on host '%'"),
        ("GRANT SELECT ON shop.nope TO nina", "Table 'shop.nope' doesn't exist"),
    ] {
        let error = server.sql_error(sql);
        assert!(error.contains(text), "{sql}: {error}");
    }
    server.sql("CREATE USER IF NOT EXISTS nina; DROP USER IF EXISTS nobody; RENAME USER nina TO anna@localhost");
    assert!(Client::log_in(server.port(), &Login::user("anna", "x")).is_ok());
    assert!(Client::log_in(server.port(), &Login::user("nina", "x")).is_err());
}

#[test]
fn a_locked_account_and_one_that_wants_tls_are_out() {
    if target_is_mariadb() {
        return skip("MariaDB writes accounts in another way");
    }
    let server = with_nina();
    let log_in = || Client::log_in(server.port(), &Login::user("nina", "x"));
    server.sql("ALTER USER nina ACCOUNT LOCK");
    assert_eq!(log_in().err().unwrap().errno(), 3118);
    server.sql("ALTER USER nina REQUIRE SSL ACCOUNT UNLOCK");
    assert!(log_in().is_err());
    server.sql("ALTER USER nina REQUIRE NONE");
    assert!(log_in().is_ok());
}
