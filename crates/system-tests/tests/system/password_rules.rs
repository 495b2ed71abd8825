//! When passwords must change, and to what.

use shoal_system_tests::{Client, Error, Login, TestServer, skip, target_is_mariadb};

/// CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS.
const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
const NATIVE: &str = "IDENTIFIED WITH mysql_native_password BY";

fn started() -> Option<TestServer> {
    if target_is_mariadb() {
        skip("MariaDB has rules of its own");
        return None;
    }
    Some(TestServer::start())
}

fn log_in(server: &TestServer, user: &str, password: &str) -> Result<Client, Error> {
    let login = Login { extra_capabilities: CAN_HANDLE_EXPIRED_PASSWORDS, ..Login::user(user, password) };
    Client::log_in(server.port(), &login)
}

fn errno(client: &mut Client, sql: &str) -> u16 {
    client.execute(sql).err().map_or(0, |error| error.errno())
}

#[test]
fn whose_password_has_expired_does_nothing_but_change_it() {
    let Some(mut server) = started() else { return };
    server.sql(&format!("CREATE USER nina {NATIVE} 'one' PASSWORD EXPIRE; CREATE USER nora {NATIVE} 'one'"));
    server.sql("GRANT ALL ON *.* TO nina");
    server.kill();
    server.restart();
    // Who cannot be told is not let in.
    let error = Client::log_in(server.port(), &Login::user("nina", "one")).err().unwrap();
    assert_eq!(error.errno(), 1862, "{error}");
    assert!(
        error.to_string().contains("Your password has expired. To log in you must change it using"),
        "{error}"
    );
    let error = server.client().change_user(&Login::user("nina", "one")).unwrap_err();
    assert_eq!(error.errno(), 1862, "{error}");
    let mut nina = log_in(&server, "nina", "one").unwrap();
    for sql in [
        "SELECT 1",
        "DO 1",
        "SET @a = 1",
        "SHOW DATABASES",
        "USE mysql",
        "BEGIN",
        "PREPARE s FROM 'SELECT 1'",
        "ALTER USER nora IDENTIFIED BY 'two'",
        "SET PASSWORD FOR nora = 'two'",
        "ALTER USER nina PASSWORD EXPIRE NEVER",
        "SET ROLE NONE",
        "DROP USER nora",
    ] {
        let error = nina.run(sql).unwrap_err();
        assert_eq!(error.errno(), 1820, "{sql}: {error}");
        assert!(
            error.to_string().contains("You must reset your password using ALTER USER statement before"),
            "{error}"
        );
    }
    assert_eq!(nina.prepare("SELECT 1").err().unwrap().errno(), 1820);
    nina.reset_connection().unwrap();
    assert_eq!(errno(&mut nina, "DO 1"), 1820);
    nina.execute("ALTER USER USER() IDENTIFIED BY 'two'").unwrap();
    nina.execute("DO 1").unwrap();
    assert_eq!(log_in(&server, "nina", "two").unwrap().text("SELECT 1").unwrap(), ["1"]);
    // Another's does not end what runs.
    server.sql("ALTER USER nina PASSWORD EXPIRE");
    nina.execute("DO 1").unwrap();
    let mut other = log_in(&server, "nina", "two").unwrap();
    assert_eq!(errno(&mut other, "DO 1"), 1820);
    other.execute("SET PASSWORD = 'three'").unwrap();
    other.execute("DO 1").unwrap();
}

#[test]
fn passwords_expire_by_their_age() {
    let Some(server) = started() else { return };
    let mut root = server.client();
    server.sql(&format!(
        "CREATE USER nina {NATIVE} 'x'; CREATE USER nora {NATIVE} 'x' PASSWORD EXPIRE NEVER;
         CREATE USER nelly {NATIVE} 'x' PASSWORD EXPIRE INTERVAL 90 DAY PASSWORD HISTORY 5 PASSWORD REUSE INTERVAL 365 DAY
         PASSWORD REQUIRE CURRENT"
    ));
    server.sql("SET GLOBAL default_password_lifetime = 1");
    for user in ["nina", "nora", "nelly"] {
        log_in(&server, user, "x").unwrap().execute("DO 1").unwrap();
    }
    assert_eq!(errno(&mut root, "ALTER USER nina PASSWORD EXPIRE INTERVAL 0 DAY"), 1525);
    assert_eq!(errno(&mut root, "ALTER USER nina PASSWORD HISTORY 99999"), 1064);
    let rules = |root: &mut Client, user: &str| {
        let shown = root.text(&format!("SHOW CREATE USER {user}")).unwrap().remove(0);
        shown[shown.find("PASSWORD EXPIRE").unwrap()..].to_owned()
    };
    for (user, expected) in [
        (
            "nina",
            "PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        ),
        (
            "nora",
            "PASSWORD EXPIRE NEVER ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        ),
        (
            "nelly",
            "PASSWORD EXPIRE INTERVAL 90 DAY ACCOUNT UNLOCK PASSWORD HISTORY 5 PASSWORD REUSE INTERVAL 365 DAY PASSWORD REQUIRE CURRENT",
        ),
    ] {
        assert_eq!(rules(&mut root, user), expected);
    }
    let columns =
        "SELECT User, password_expired, password_last_changed > NOW() - INTERVAL 1 HOUR, password_lifetime,
                   Password_reuse_history, Password_reuse_time, Password_require_current FROM mysql.user
                   WHERE User LIKE 'n%' ORDER BY User";
    assert_eq!(
        root.text(columns).unwrap(),
        ["nelly,N,1,90,5,365,Y", "nina,N,1,NULL,NULL,NULL,NULL", "nora,N,1,0,NULL,NULL,NULL"]
    );
    server.sql("CREATE ROLE r; ALTER USER nora PASSWORD EXPIRE");
    assert!(rules(&mut root, "nora").starts_with("PASSWORD EXPIRE ACCOUNT"));
    assert!(rules(&mut root, "r").starts_with("PASSWORD EXPIRE ACCOUNT LOCK"));
}

#[test]
fn passwords_of_before_are_refused_for_a_while() {
    let Some(mut server) = started() else { return };
    for (user, plugin) in [("nina", "mysql_native_password"), ("susan", "caching_sha2_password")] {
        server.sql(&format!("CREATE USER {user} IDENTIFIED WITH {plugin} BY 'one' PASSWORD HISTORY 2"));
        let mut change =
            |password: &str| errno(&mut server.client(), &format!("ALTER USER {user} IDENTIFIED BY '{password}'"));
        assert_eq!(["one", "two", "one", "three", "one"].map(&mut change), [3638, 0, 3638, 0, 0], "{user}");
        let count = format!("SELECT COUNT(*), MIN(Password) FROM mysql.password_history WHERE User='{user}'");
        assert_eq!(server.client().text(&count).unwrap(), ["2,<secret>"]);
        let error = server.client().execute(&format!("SET PASSWORD FOR {user} = 'three'")).unwrap_err();
        let told = format!(
            "Cannot use these credentials for '{user}@%' because they contradict the password history policy"
        );
        assert!(error.to_string().contains(&told), "{error}");
        server.kill();
        server.restart();
        server.sql(&format!("ALTER USER {user} PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL 1 DAY"));
        let mut change =
            |password: &str| errno(&mut server.client(), &format!("ALTER USER {user} IDENTIFIED BY '{password}'"));
        assert_eq!(["three", "four", "four"].map(&mut change), [3638, 0, 3638], "{user}");
        server.sql(&format!("ALTER USER {user} PASSWORD REUSE INTERVAL DEFAULT"));
        server.sql("SET GLOBAL password_history = 3");
        assert_eq!(errno(&mut server.client(), &format!("ALTER USER {user} IDENTIFIED BY 'four'")), 3638);
        server.sql("SET GLOBAL password_history = 0");
        assert_eq!(errno(&mut server.client(), &format!("ALTER USER {user} IDENTIFIED BY 'four'")), 0);
    }
}

#[test]
fn whoever_changes_their_password_says_what_it_was() {
    let Some(server) = started() else { return };
    server.sql(&format!(
        "CREATE USER nina {NATIVE} 'one' PASSWORD REQUIRE CURRENT; CREATE USER nora {NATIVE} 'one' PASSWORD REQUIRE CURRENT OPTIONAL;
         CREATE USER susan IDENTIFIED BY 'one'"
    ));
    let mut nina = log_in(&server, "nina", "one").unwrap();
    for (sql, number) in [
        ("ALTER USER nina IDENTIFIED BY 'two'", 3892),
        ("SET PASSWORD = 'two'", 3892),
        ("ALTER USER nina IDENTIFIED BY 'two' REPLACE 'wrong'", 3891),
        ("SET PASSWORD = 'two' REPLACE ''", 3891),
        ("ALTER USER nina IDENTIFIED BY 'two' REPLACE 'one'", 0),
        ("SET PASSWORD = 'three' REPLACE 'two'", 0),
    ] {
        assert_eq!(errno(&mut nina, sql), number, "{sql}");
    }
    let mut root = server.client();
    let error = root.execute("ALTER USER nina IDENTIFIED BY 'x' REPLACE 'three'").unwrap_err();
    assert_eq!(error.errno(), 3893);
    assert!(error.to_string().contains("Do not specify the current password while changing it for other users."));
    root.execute("ALTER USER nina IDENTIFIED BY 'x'").unwrap();
    server.sql("SET GLOBAL password_require_current = ON");
    let mut nora = log_in(&server, "nora", "one").unwrap();
    assert_eq!(errno(&mut nora, "SET PASSWORD = 'two'"), 0);
    server.sql("ALTER USER nora PASSWORD REQUIRE CURRENT DEFAULT");
    assert_eq!(errno(&mut nora, "SET PASSWORD = 'three'"), 3892);
    // Who may change everybody's need not say it.
    server.sql("GRANT CREATE USER ON *.* TO nora");
    assert_eq!(errno(&mut nora, "SET PASSWORD = 'three'"), 0);
}

#[test]
fn passwords_are_as_good_as_the_policy_says() {
    let Some(mut server) = started() else { return };
    let mut root = server.client();
    let component = "'file://component_validate_password'";
    root.execute(&format!("CREATE USER nina {NATIVE} 'x'")).unwrap();
    assert_eq!(root.text("SELECT VALIDATE_PASSWORD_STRENGTH('Abcdef1!')").unwrap(), ["0"]);
    assert_eq!(errno(&mut root, &format!("UNINSTALL COMPONENT {component}")), 3537);
    root.execute(&format!("INSTALL COMPONENT {component}")).unwrap();
    assert_eq!(errno(&mut root, &format!("INSTALL COMPONENT {component}")), 3529);
    assert_eq!(errno(&mut root, "INSTALL COMPONENT 'file://component_other'"), 1235);
    server.kill();
    server.restart();
    let mut root = server.client();
    assert_eq!(root.text("SELECT component_urn FROM mysql.component").unwrap(), [component.trim_matches('\'')]);
    let strengths = "SELECT VALIDATE_PASSWORD_STRENGTH('abc'), VALIDATE_PASSWORD_STRENGTH('abcdefg'),
                     VALIDATE_PASSWORD_STRENGTH('abcdefgh'), VALIDATE_PASSWORD_STRENGTH('Abcdef1!'), VALIDATE_PASSWORD_STRENGTH(NULL)";
    assert_eq!(root.text(strengths).unwrap(), ["0,25,50,100,NULL"]);
    for sql in [
        "CREATE USER nora",
        "CREATE USER nora IDENTIFIED WITH mysql_native_password",
        "ALTER USER nina IDENTIFIED WITH caching_sha2_password",
        "CREATE USER nora IDENTIFIED BY 'abcdefgh'",
        "ALTER USER nina IDENTIFIED BY 'Abcdefg1'",
        "SET PASSWORD FOR nina = ''",
        "SET PASSWORD FOR nina = 'Ab1!'",
    ] {
        let error = root.execute(sql).unwrap_err();
        assert_eq!(error.errno(), 1819, "{sql}: {error}");
        assert!(error.to_string().contains("Your password does not satisfy the current policy requirements"));
    }
    for sql in [
        "CREATE USER nora ACCOUNT LOCK",
        "CREATE ROLE r",
        "ALTER USER nina IDENTIFIED BY 'Abcdef1!'",
        "SET GLOBAL validate_password.policy = LOW",
        "ALTER USER nina IDENTIFIED BY 'abcdefgh'",
        "SET GLOBAL validate_password.length = 4, GLOBAL validate_password.special_char_count = 0",
        "SET GLOBAL validate_password.policy = 1",
        "ALTER USER nina IDENTIFIED BY 'Abc1'",
    ] {
        root.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(
        root.text("SELECT @@validate_password.policy, @@GLOBAL.validate_password.length").unwrap(),
        ["MEDIUM,4"]
    );
    assert_eq!(errno(&mut root, "SET PASSWORD FOR nina = 'root'"), 1819);
    assert_eq!(root.text("SHOW VARIABLES LIKE 'validate_password.l%'").unwrap(), ["validate_password.length,4"]);
    root.execute(&format!("UNINSTALL COMPONENT {component}")).unwrap();
    root.execute("SET PASSWORD FOR nina = ''").unwrap();
}

#[test]
fn clients_of_others_are_told_of_roles_and_of_passwords_that_have_expired() {
    let Some(server) = started() else { return };
    server.sql(&format!(
        "CREATE ROLE reader; CREATE USER nina {NATIVE} 'x' DEFAULT ROLE reader; CREATE USER nora {NATIVE} 'x' PASSWORD EXPIRE"
    ));
    let run = |user: &str, sql: &str| {
        let mut command = std::process::Command::new("mariadb");
        command
            .args(["--no-defaults", "--host=127.0.0.1", "--batch", "--skip-column-names", "--password=x"])
            .args([&format!("--port={}", server.port()), &format!("--user={user}"), "-e", sql]);
        let output = server.finish(command, b"");
        if output.status.success() { output.text().trim().to_owned() } else { output.errors() }
    };
    assert_eq!(run("nina", "SELECT CURRENT_ROLE(); SET ROLE NONE; SELECT CURRENT_ROLE()"), "`reader`@`%`\nNONE");
    assert!(run("nora", "SELECT 1").contains("ERROR 1862 (HY000)"), "{}", run("nora", "SELECT 1"));
}

/// The rows of a result as texts.
fn rows(client: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let rows = client.query(sql).unwrap().rows;
    rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn the_server_chooses_passwords() {
    let Some(server) = started() else { return };
    let mut root = server.client();
    let chosen = "IDENTIFIED WITH mysql_native_password BY RANDOM PASSWORD";
    let shown = rows(&mut root, &format!("CREATE USER nina {chosen}, nora {NATIVE} 'x'"));
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!((shown[0][0].as_str(), shown[0][1].as_str(), shown[0][3].as_str()), ("nina", "%", "1"));
    let first = shown[0][2].clone();
    assert_eq!(first.len(), 20);
    log_in(&server, "nina", &first).unwrap();
    // An account that is there already keeps its password, and none is shown.
    root.execute(&format!("CREATE USER IF NOT EXISTS nina {chosen}")).unwrap();
    log_in(&server, "nina", &first).unwrap();
    // The component's rules hold, and what is chosen keeps them.
    root.execute("INSTALL COMPONENT 'file://component_validate_password'").unwrap();
    root.execute("SET generated_random_password_length = 30").unwrap();
    let second = rows(&mut root, "SET PASSWORD FOR nina TO RANDOM RETAIN CURRENT PASSWORD")[0][2].clone();
    assert_eq!(second.len(), 30);
    log_in(&server, "nina", &first).unwrap();
    log_in(&server, "nina", &second).unwrap();
    root.execute("SET generated_random_password_length = 5").unwrap();
    assert_eq!(errno(&mut root, "ALTER USER nina IDENTIFIED BY RANDOM PASSWORD"), 1819);
    log_in(&server, "nina", &second).unwrap();
    // Everybody may have another one of their own.
    let mut nina = log_in(&server, "nina", &second).unwrap();
    let third = rows(&mut nina, "ALTER USER USER() IDENTIFIED BY RANDOM PASSWORD")[0][2].clone();
    log_in(&server, "nina", &third).unwrap();
    assert!(log_in(&server, "nina", &second).is_err());
}

#[test]
fn accounts_carry_attributes() {
    let Some(server) = started() else { return };
    let mut root = server.client();
    let attribute = |root: &mut Client| {
        root.text("SELECT ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER = 'nina'")
            .unwrap()
            .remove(0)
    };
    root.execute("CREATE USER nina COMMENT 'of the shop'").unwrap();
    assert_eq!(attribute(&mut root), r#"{"comment": "of the shop"}"#);
    root.execute(r#"ALTER USER nina ATTRIBUTE '{"phone": "12", "comment": null}'"#).unwrap();
    assert_eq!(attribute(&mut root), r#"{"phone": "12"}"#);
    assert_eq!(errno(&mut root, "ALTER USER nina ATTRIBUTE '[1]'"), 3140);
    assert_eq!(errno(&mut root, "ALTER USER nina ATTRIBUTE 'no json'"), 3140);
    let text = root.text("SHOW CREATE USER nina").unwrap().remove(0);
    assert!(text.ends_with(r#" ATTRIBUTE '{"phone": "12"}'"#), "{text}");
    let text = root.text("SELECT User_attributes FROM mysql.user WHERE User = 'nina'").unwrap();
    assert_eq!(text, [r#"{"metadata": {"phone": "12"}}"#]);
}
