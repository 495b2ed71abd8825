//! Privileges on columns: who may read and change what, and how it is shown.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

fn with_nina() -> Option<TestServer> {
    if target_is_mariadb() {
        skip("MariaDB shows privileges in its own way");
        return None;
    }
    let server = TestServer::start();
    server.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20) DEFAULT '', price INT, secret INT);
         CREATE TABLE shop.other (id INT PRIMARY KEY, note INT);
         INSERT INTO shop.goods VALUES (1,'rope',5,42),(2,'axe',9,43); INSERT INTO shop.other VALUES (1, 7);
         CREATE USER nina IDENTIFIED WITH mysql_native_password BY 'x'",
    );
    Some(server)
}

fn nina(server: &TestServer) -> Client {
    Client::log_in(server.port(), &Login::user("nina", "x")).unwrap()
}

fn errno(client: &mut Client, sql: &str) -> u16 {
    client.run(sql).err().map_or(0, |error| error.errno())
}

#[test]
fn columns_that_were_not_granted_are_neither_read_nor_changed() {
    let Some(mut server) = with_nina() else { return };
    server.sql("GRANT SELECT (id, NAME), INSERT (id, name), UPDATE (name) ON shop.goods TO nina");
    server.kill();
    server.restart();
    let mut nina = nina(&server);
    let denied = |client: &mut Client, sql: &str, message: &str| {
        let error = client.run(sql).err().unwrap_or_else(|| panic!("{sql} was allowed"));
        assert!(error.errno() == 1143 && error.to_string().contains(message), "{sql}: {error}");
    };
    for sql in [
        "SELECT id, name FROM shop.goods WHERE name > 'a' ORDER BY id",
        "SELECT COUNT(*) FROM shop.goods",
        "SELECT name FROM shop.goods WHERE id = 1",
        "SELECT g.id FROM shop.goods g JOIN shop.goods h USING (id) GROUP BY g.id",
        "SELECT 1 FROM shop.goods",
        "INSERT INTO shop.goods (id, name) VALUES (3, 'saw')",
        "INSERT INTO shop.goods (id, name) VALUES (3, 'saw') ON DUPLICATE KEY UPDATE name = 'hammer'",
        "INSERT INTO shop.goods (id, name) SELECT id + 10, name FROM shop.goods",
        "UPDATE shop.goods SET name = 'adze' WHERE id = 2",
        "USE shop",
        "SHOW TABLES",
    ] {
        assert_eq!(errno(&mut nina, sql), 0, "{sql}");
    }
    assert_eq!(nina.text("SHOW TABLES IN shop").unwrap(), ["goods"]);
    let columns = "SELECT COLUMN_NAME, PRIVILEGES FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop'";
    assert_eq!(nina.text(columns).unwrap(), ["id,select,insert", "name,select,insert,update"]);
    assert_eq!(nina.text("SHOW COLUMNS IN shop.goods").unwrap().len(), 2);
    let of = |privilege: &str, column: &str| {
        format!("{privilege} command denied to user 'nina'@'localhost' for column '{column}' in table 'goods'")
    };
    for (sql, privilege, column) in [
        ("SELECT secret FROM shop.goods", "SELECT", "secret"),
        ("SELECT secret FROM shop.goods WHERE id = 1", "SELECT", "secret"),
        ("SELECT * FROM shop.goods", "SELECT", "price"),
        ("SELECT id FROM shop.goods WHERE secret = 42", "SELECT", "secret"),
        ("SELECT id FROM shop.goods ORDER BY secret", "SELECT", "secret"),
        ("SELECT COUNT(*) FROM shop.goods GROUP BY price", "SELECT", "price"),
        ("SELECT 1 FROM shop.goods HAVING MAX(secret) > 0", "SELECT", "secret"),
        ("SELECT (SELECT MAX(price) FROM shop.goods)", "SELECT", "price"),
        ("SELECT id FROM (SELECT id, secret FROM shop.goods) d", "SELECT", "secret"),
        (
            "SELECT g.id FROM shop.goods g WHERE EXISTS (SELECT 1 FROM shop.goods h WHERE h.id = g.secret)",
            "SELECT",
            "secret",
        ),
        (
            "SELECT g.id FROM shop.goods g LEFT JOIN (shop.goods h JOIN shop.goods i USING (secret)) ON g.id = h.id",
            "SELECT",
            "secret",
        ),
        ("INSERT INTO shop.goods VALUES (4, 'x', 1, 1)", "INSERT", "price"),
        ("INSERT INTO shop.goods (id, secret) VALUES (4, 1)", "INSERT", "secret"),
        ("INSERT INTO shop.goods (id) VALUES (1) ON DUPLICATE KEY UPDATE price = 1", "UPDATE", "price"),
        ("UPDATE shop.goods SET price = 1 WHERE id = 2", "UPDATE", "price"),
        ("UPDATE shop.goods SET name = 'x' WHERE secret = 42", "SELECT", "secret"),
    ] {
        denied(&mut nina, sql, &of(privilege, column));
    }
    for sql in [
        "DELETE FROM shop.goods WHERE id = 1",
        "SELECT note FROM shop.other",
        "REPLACE INTO shop.goods (id) VALUES (1)",
    ] {
        assert_eq!(errno(&mut nina, sql), 1142, "{sql}");
    }
    // Joins within parentheses keep columns that nobody has named.
    let nested =
        "SELECT g.id FROM shop.goods g LEFT JOIN (shop.goods h JOIN shop.goods i USING (id)) ON g.id = h.id";
    assert_eq!(errno(&mut nina, nested), 0);
    let prepared = nina.prepare("SELECT name FROM shop.goods WHERE id = ?").unwrap();
    let one = [shoal_system_tests::client::Value::Int(1)];
    nina.run_statement(&prepared, &one).unwrap();
    server.sql("REVOKE SELECT (name) ON shop.goods FROM nina");
    assert_eq!(nina.run_statement(&prepared, &one).unwrap_err().errno(), 1143);
}

#[test]
fn grants_on_columns_are_shown_and_taken_back() {
    let Some(server) = with_nina() else { return };
    let mut root = server.client();
    let show = |root: &mut Client| root.text("SHOW GRANTS FOR nina").unwrap().split_off(1);
    root.execute(
        "GRANT SELECT (id), UPDATE, INSERT (id, name), REFERENCES (id) ON shop.goods TO nina WITH GRANT OPTION",
    )
    .unwrap();
    let to = "ON `shop`.`goods` TO `nina`@`%`";
    assert_eq!(
        show(&mut root),
        [format!("GRANT SELECT (`id`), INSERT (`id`, `name`), UPDATE, REFERENCES (`id`) {to} WITH GRANT OPTION")]
    );
    for (query, expected) in [
        (
            "SELECT * FROM information_schema.COLUMN_PRIVILEGES ORDER BY COLUMN_NAME, PRIVILEGE_TYPE",
            vec![
                "'nina'@'%',def,shop,goods,id,INSERT,YES",
                "'nina'@'%',def,shop,goods,id,REFERENCES,YES",
                "'nina'@'%',def,shop,goods,id,SELECT,YES",
                "'nina'@'%',def,shop,goods,name,INSERT,YES",
            ],
        ),
        (
            "SELECT Host, Db, User, Table_name, Column_name, Column_priv FROM mysql.columns_priv",
            vec!["%,shop,nina,goods,id,Select,Insert,References", "%,shop,nina,goods,name,Insert"],
        ),
        (
            "SELECT Db, User, Table_name, Table_priv, Column_priv FROM mysql.tables_priv",
            vec!["shop,nina,goods,Update,Grant,Select,Insert,References"],
        ),
    ] {
        assert_eq!(root.text(query).unwrap(), expected, "{query}");
    }
    // Who has a column may give it, and no other.
    server.sql("CREATE USER nora");
    let mut nina = nina(&server);
    assert_eq!(errno(&mut nina, "GRANT SELECT (id) ON shop.goods TO nora"), 0);
    assert_eq!(errno(&mut nina, "GRANT SELECT (secret) ON shop.goods TO nora"), 1142);
    assert_eq!(errno(&mut nina, "GRANT SELECT ON shop.goods TO nora"), 1142);
    for (sql, number) in [
        ("GRANT SELECT (nothing) ON shop.goods TO nina", 1054),
        ("GRANT SELECT (id) ON shop.nothing TO nina", 1146),
        ("GRANT SELECT (id) ON shop.* TO nina", 1144),
        ("GRANT SELECT (id) ON *.* TO nina", 1144),
        ("GRANT DELETE (id) ON shop.goods TO nina", 1064),
        ("GRANT ALL (id) ON shop.goods TO nina", 1064),
        ("REVOKE SELECT (name) ON shop.goods FROM nina", 1147),
        ("GRANT ROLE_ADMIN ON shop.* TO nina", 3619),
    ] {
        assert_eq!(errno(&mut root, sql), number, "{sql}");
    }
    root.execute("REVOKE INSERT (id), GRANT OPTION ON shop.goods FROM nina").unwrap();
    assert_eq!(show(&mut root), [format!("GRANT SELECT (`id`), INSERT (`name`), UPDATE, REFERENCES (`id`) {to}")]);
    // Of the table means of all its columns.
    root.execute("REVOKE INSERT, SELECT ON shop.goods FROM nina").unwrap();
    assert_eq!(show(&mut root), [format!("GRANT UPDATE, REFERENCES (`id`) {to}")]);
    root.execute("REVOKE ALL PRIVILEGES, GRANT OPTION FROM nina").unwrap();
    assert_eq!(show(&mut root), Vec::<String>::new());
    // Roles have them, too.
    server.sql("CREATE ROLE r; GRANT SELECT (id) ON shop.goods TO r; GRANT r TO nina; GRANT CONNECTION_ADMIN ON *.* TO nina");
    assert_eq!(errno(&mut nina, "SELECT id FROM shop.goods"), 1142);
    nina.execute("SET ROLE r").unwrap();
    assert_eq!(errno(&mut nina, "SELECT id FROM shop.goods"), 0);
    assert_eq!(errno(&mut nina, "SELECT name FROM shop.goods"), 1143);
    let of_roles = "SELECT GRANTEE, COLUMN_NAME, PRIVILEGE_TYPE FROM information_schema.ROLE_COLUMN_GRANTS";
    assert_eq!(nina.text(of_roles).unwrap(), ["r,id,Select"]);
    let dynamic = "SELECT * FROM mysql.global_grants WHERE USER='nina'";
    assert_eq!(root.text(dynamic).unwrap(), ["nina,%,CONNECTION_ADMIN,N"]);
}
