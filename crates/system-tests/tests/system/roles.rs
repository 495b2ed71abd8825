//! Roles: what they add, when they are active, and what SHOW and the tables say of them.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

/// A server with tables and the roles `reader` and `writer`, which has `reader`, and the users `nina` and `nora`.
fn with_roles() -> Option<TestServer> {
    if target_is_mariadb() {
        skip("MariaDB has roles of another kind");
        return None;
    }
    let server = TestServer::start();
    server.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20));
         CREATE TABLE shop.secrets (id INT PRIMARY KEY);
         CREATE ROLE reader, writer; CREATE ROLE IF NOT EXISTS reader;
         GRANT SELECT ON shop.goods TO reader; GRANT INSERT, DELETE ON shop.* TO writer; GRANT reader TO writer;
         CREATE USER nina IDENTIFIED WITH mysql_native_password BY 'x';
         CREATE USER nora IDENTIFIED WITH mysql_native_password BY 'x'",
    );
    Some(server)
}

fn log_in(server: &TestServer, user: &str) -> Client {
    Client::log_in(server.port(), &Login::user(user, "x")).unwrap()
}

fn errno(client: &mut Client, sql: &str) -> u16 {
    client.execute(sql).err().map_or(0, |error| error.errno())
}

#[test]
fn a_role_gives_what_it_has_while_it_is_active() {
    let Some(server) = with_roles() else { return };
    let mut root = server.client();
    root.execute("GRANT writer TO nina").unwrap();
    let mut nina = log_in(&server, "nina");
    let (read, write) = ("SELECT * FROM shop.goods", "DELETE FROM shop.secrets");
    let role = "SELECT CURRENT_ROLE()";
    assert_eq!(nina.text(role).unwrap(), ["NONE"]);
    assert_eq!([errno(&mut nina, read), errno(&mut nina, write)], [1142, 1142]);
    nina.execute("SET ROLE writer").unwrap();
    assert_eq!(nina.text(role).unwrap(), ["`writer`@`%`"]);
    // What the role has by another one is there as well.
    assert_eq!([errno(&mut nina, read), errno(&mut nina, write)], [0, 0]);
    assert_eq!(nina.text("SHOW TABLES IN shop").unwrap(), ["goods", "secrets"]);
    nina.execute("USE shop").unwrap();
    for (selection, active) in [
        ("NONE", "NONE"),
        ("ALL", "`writer`@`%`"),
        ("ALL EXCEPT writer", "NONE"),
        ("'writer'@'%'", "`writer`@`%`"),
        ("DEFAULT", "NONE"),
    ] {
        nina.execute(&format!("SET ROLE {selection}")).unwrap();
        assert_eq!(nina.text(role).unwrap(), [active], "{selection}");
    }
    let error = nina.execute("SET ROLE reader").unwrap_err();
    assert_eq!(error.errno(), 3530);
    assert!(error.to_string().contains("`reader`@`%` is not granted to `nina`@`%`"), "{error}");
    // A running session notices what becomes of its roles at its next statement.
    nina.execute("SET ROLE ALL").unwrap();
    let mut prepared = log_in(&server, "nina");
    prepared.execute("SET ROLE writer").unwrap();
    root.execute("REVOKE reader FROM writer").unwrap();
    assert_eq!([errno(&mut nina, read), errno(&mut nina, write)], [1142, 0]);
    root.execute("GRANT SELECT ON *.* TO writer").unwrap();
    assert_eq!([errno(&mut nina, read), errno(&mut prepared, read)], [0, 0]);
    root.execute("REVOKE writer FROM nina").unwrap();
    assert_eq!([errno(&mut nina, read), errno(&mut nina, write)], [1142, 1142]);
    assert_eq!(nina.text(role).unwrap(), ["NONE"]);
    root.execute("GRANT writer TO nina").unwrap();
    nina.execute("SET ROLE writer").unwrap();
    root.execute("DROP ROLE writer").unwrap();
    assert_eq!(errno(&mut nina, write), 1142);
    assert_eq!(root.text("SHOW GRANTS FOR nina").unwrap(), ["GRANT USAGE ON *.* TO `nina`@`%`"]);
    assert_eq!(Client::log_in(server.port(), &Login::user("reader", "")).err().unwrap().errno(), 3118);
}

#[test]
fn default_and_mandatory_roles_are_there_from_the_start() {
    let Some(mut server) = with_roles() else { return };
    server.sql("GRANT reader, writer TO nina; SET DEFAULT ROLE reader TO nina");
    server.sql("CREATE USER nelly IDENTIFIED WITH mysql_native_password BY 'x' DEFAULT ROLE writer");
    server.kill();
    server.restart();
    let role = |user: &str| log_in(&server, user).text("SELECT CURRENT_ROLE()").unwrap().remove(0);
    assert_eq!(["nina", "nelly", "nora"].map(role), ["`reader`@`%`", "`writer`@`%`", "NONE"]);
    // A session that begins anew has them again, and so has whoever it changes to.
    let mut client = log_in(&server, "nina");
    client.execute("SET ROLE NONE").unwrap();
    client.reset_connection().unwrap();
    assert_eq!(client.text("SELECT CURRENT_ROLE()").unwrap(), ["`reader`@`%`"]);
    client.change_user(&Login::user("nelly", "x")).unwrap();
    assert_eq!(client.text("SELECT CURRENT_ROLE()").unwrap(), ["`writer`@`%`"]);
    let mut root = server.client();
    let shown = root.text("SHOW CREATE USER nelly").unwrap().remove(0);
    assert!(shown.contains("' DEFAULT ROLE `writer`@`%` REQUIRE NONE "), "{shown}");
    // Everybody chooses among their own roles alone.
    let mut nina = log_in(&server, "nina");
    nina.execute("SET DEFAULT ROLE ALL TO nina").unwrap();
    assert_eq!(role("nina"), "`reader`@`%`,`writer`@`%`");
    nina.execute("ALTER USER CURRENT_USER DEFAULT ROLE writer").unwrap();
    assert_eq!(role("nina"), "`writer`@`%`");
    assert_eq!(errno(&mut nina, "SET DEFAULT ROLE writer TO nora"), 1227);
    assert_eq!(errno(&mut root, "SET DEFAULT ROLE writer TO nora"), 3530);
    assert_eq!(errno(&mut root, "ALTER USER nora DEFAULT ROLE writer"), 3530);
    assert_eq!(errno(&mut root, "CREATE USER nobody DEFAULT ROLE nothing"), 3523);
    server.sql("SET DEFAULT ROLE NONE TO nina; SET GLOBAL activate_all_roles_on_login = ON");
    assert_eq!(["nina", "nora"].map(role), ["`reader`@`%`,`writer`@`%`", "NONE"]);
    let mut all = log_in(&server, "nina");
    all.execute("SET ROLE DEFAULT").unwrap();
    assert_eq!(all.text("SELECT CURRENT_ROLE()").unwrap(), ["NONE"], "all is not the default");
    // Mandatory roles are everybody's.
    server.sql("SET GLOBAL mandatory_roles = 'reader, `coming`@`h`'");
    assert_eq!(["nina", "nora"].map(role), ["`reader`@`%`,`writer`@`%`", "`reader`@`%`"]);
    let mut nora = log_in(&server, "nora");
    assert_eq!(errno(&mut nora, "SELECT * FROM shop.goods"), 0);
    assert_eq!(
        nora.text("SHOW GRANTS").unwrap(),
        [
            "GRANT USAGE ON *.* TO `nora`@`%`",
            "GRANT SELECT ON `shop`.`goods` TO `nora`@`%`",
            "GRANT `coming`@`h`,`reader`@`%` TO `nora`@`%`",
        ]
    );
    for statement in ["DROP ROLE reader", "DROP USER reader", "REVOKE reader FROM nina"] {
        let error = root.execute(statement).unwrap_err();
        assert_eq!(error.errno(), 3628, "{statement}");
        assert!(error.to_string().contains("The role `reader`@`%` is a mandatory role and can't be"), "{error}");
    }
    assert_eq!(errno(&mut root, "GRANT SYSTEM_USER ON *.* TO reader"), 3897);
    assert_eq!(errno(&mut root, "SET GLOBAL mandatory_roles = 'reader,'"), 1231);
    assert_eq!(errno(&mut root, "SET GLOBAL mandatory_roles = 'root@localhost'"), 3880);
    server.sql("SET GLOBAL mandatory_roles = ''");
    assert_eq!(errno(&mut nora, "SELECT * FROM shop.goods"), 1142);
}

#[test]
fn roles_are_granted_by_those_who_administer_them() {
    let Some(server) = with_roles() else { return };
    let mut root = server.client();
    let mut nina = log_in(&server, "nina");
    let error = nina.execute("GRANT reader TO nora").unwrap_err();
    assert_eq!(error.errno(), 1227);
    assert!(
        error.to_string().contains("(at least one of) the WITH ADMIN, ROLE_ADMIN, SUPER privilege(s)"),
        "{error}"
    );
    root.execute("GRANT reader TO nina WITH ADMIN OPTION").unwrap();
    nina.execute("GRANT reader TO nora").unwrap();
    assert_eq!(errno(&mut nina, "GRANT writer TO nora"), 1227);
    root.execute("GRANT ROLE_ADMIN ON *.* TO nina").unwrap();
    nina.execute("GRANT writer TO nora").unwrap();
    nina.execute("REVOKE writer FROM nora").unwrap();
    assert_eq!(errno(&mut nina, "CREATE ROLE mine"), 1227);
    root.execute("GRANT CREATE ROLE, DROP ROLE ON *.* TO nina").unwrap();
    nina.execute("CREATE ROLE mine").unwrap();
    nina.execute("DROP ROLE mine").unwrap();
    for (statement, errno, message) in [
        ("CREATE ROLE reader", 1396, "Operation CREATE ROLE failed for 'reader'@'%'"),
        ("DROP ROLE nothing", 1396, "Operation DROP ROLE failed for 'nothing'@'%'"),
        ("GRANT nothing TO nina", 3523, "Unknown authorization ID `nothing`@`%`"),
        ("GRANT reader TO nothing", 3523, "Unknown authorization ID `nothing`@`%`"),
        ("GRANT reader TO ''@h", 3876, "Cannot grant roles to an anonymous user."),
        (
            "GRANT writer TO reader",
            4027,
            "User account `writer`@`%` is directly or indirectly granted to the role `reader`@`%`. The GRANT would create a loop",
        ),
        ("GRANT SELECT ON *.* TO nora WITH ADMIN OPTION", 1064, "near 'ADMIN OPTION'"),
        ("GRANT writer TO nora WITH GRANT OPTION", 1064, "near 'GRANT OPTION'"),
        ("REVOKE writer FROM nora", 3530, "`writer`@`%` is not granted to `nora`@`%`"),
        ("REVOKE writer FROM nothing", 3523, "Unknown authorization ID `nothing`@`%`"),
        ("RENAME USER reader TO eater", 3532, "Renaming of a role identifier is forbidden"),
    ] {
        let error = root.execute(statement).unwrap_err();
        assert_eq!(error.errno(), errno, "{statement}: {error}");
        assert!(error.to_string().contains(message), "{statement}: {error}");
    }
    root.execute("DROP ROLE IF EXISTS nothing").unwrap();
    root.execute("REVOKE IF EXISTS writer, nothing FROM nora, nobody IGNORE UNKNOWN USER").unwrap();
    let warnings = root.text("SHOW WARNINGS").unwrap();
    let numbers: Vec<&str> = warnings.iter().filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(numbers, ["3530", "3523", "3162"]);
    // An account that has roles keeps them under another name.
    root.execute("RENAME USER nora TO norah").unwrap();
    assert_eq!(root.text("SHOW GRANTS FOR norah").unwrap()[1], "GRANT `reader`@`%` TO `norah`@`%`");
}

#[test]
fn grants_and_tables_tell_of_roles() {
    let Some(server) = with_roles() else { return };
    server.sql("GRANT writer TO nina; GRANT reader TO nina WITH ADMIN OPTION; SET DEFAULT ROLE reader TO nina");
    let mut root = server.client();
    let roles = ["GRANT `writer`@`%` TO `nina`@`%`", "GRANT `reader`@`%` TO `nina`@`%` WITH ADMIN OPTION"];
    let usage = "GRANT USAGE ON *.* TO `nina`@`%`";
    let select = "GRANT SELECT ON `shop`.`goods` TO `nina`@`%`";
    let insert = "GRANT INSERT, DELETE ON `shop`.* TO `nina`@`%`";
    assert_eq!(root.text("SHOW GRANTS FOR nina").unwrap(), [usage, roles[0], roles[1]]);
    assert_eq!(root.text("SHOW GRANTS FOR nina USING reader").unwrap(), [usage, select, roles[0], roles[1]]);
    assert_eq!(
        root.text("SHOW GRANTS FOR nina USING writer").unwrap(),
        [usage, insert, select, roles[0], roles[1]]
    );
    assert_eq!(errno(&mut root, "SHOW GRANTS FOR nora USING writer"), 3530);
    let mut nina = log_in(&server, "nina");
    // Of oneself: with what is active.
    assert_eq!(nina.text("SHOW GRANTS").unwrap(), [usage, select, roles[0], roles[1]]);
    for (query, expected) in [
        (
            "SELECT * FROM information_schema.APPLICABLE_ROLES ORDER BY GRANTEE, ROLE_NAME",
            vec![
                "nina,%,nina,%,reader,%,YES,YES,NO",
                "nina,%,nina,%,writer,%,NO,NO,NO",
                "nina,%,writer,%,reader,%,NO,YES,NO",
            ],
        ),
        (
            "SELECT * FROM information_schema.ADMINISTRABLE_ROLE_AUTHORIZATIONS",
            vec!["nina,%,nina,%,reader,%,YES,YES,NO"],
        ),
        ("SELECT * FROM information_schema.ENABLED_ROLES", vec!["reader,%,YES,NO"]),
        (
            "SELECT GRANTEE, TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE, IS_GRANTABLE
             FROM information_schema.ROLE_TABLE_GRANTS",
            vec!["reader,def,shop,goods,Select,NO"],
        ),
    ] {
        assert_eq!(nina.text(query).unwrap(), expected, "{query}");
    }
    assert_eq!(
        root.text("SELECT * FROM mysql.role_edges ORDER BY 2, 4").unwrap(),
        ["%,reader,%,nina,Y", "%,reader,%,writer,N", "%,writer,%,nina,N"]
    );
    assert_eq!(root.text("SELECT * FROM mysql.default_roles").unwrap(), ["%,nina,%,reader"]);
    assert_eq!(root.text("SELECT account_locked FROM mysql.user WHERE User='reader'").unwrap(), ["Y"]);
}

/// What many sessions grant at the same time is all there: once each read the account, added to it and wrote it, and the last one won.
#[test]
fn grants_at_the_same_time_do_not_undo_each_other() {
    let Some(server) = with_roles() else { return };
    std::thread::scope(|scope| {
        for number in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for round in 0..5 {
                    client.execute(&format!("GRANT SELECT ON d{number}_{round}.* TO nina")).unwrap();
                }
            });
        }
    });
    assert_eq!(server.client().text("SHOW GRANTS FOR nina").unwrap().len(), 1 + 8 * 5);
}
