//! What accounts insist on before TLS clients are let in, with the client library's own TLS.

use std::process::Command;

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

struct Directory<'a> {
    server: &'a TestServer,
    /// Where the server keeps its certificates.
    path: String,
}

impl<'a> Directory<'a> {
    fn of(server: &'a TestServer) -> Directory<'a> {
        let path = server.client().text("SELECT @@ssl_ca").unwrap().remove(0);
        Directory { server, path: path.trim_end_matches("ca.pem").to_owned() }
    }

    /// Options that show the client's certificate.
    fn certificate(&self) -> Vec<String> {
        let path = &self.path;
        vec![format!("--ssl-cert={path}client-cert.pem"), format!("--ssl-key={path}client-key.pem")]
    }

    /// What the client prints, or its error.
    fn log_in(&self, user: &str, options: &[String], sql: &str) -> Result<String, String> {
        let mut command = Command::new("mariadb");
        command
            .args(["--no-defaults", "--host=127.0.0.1", "--batch", "--skip-column-names"])
            .arg(format!("--port={}", self.server.port()))
            .args([&format!("--user={user}"), "--password=geheim"])
            .args(options)
            .args(["-e", sql]);
        let output = self.server.finish(command, b"");
        if output.status.success() { Ok(output.text().trim().to_owned()) } else { Err(output.errors()) }
    }

    fn is_let_in(&self, user: &str, options: &[String]) -> bool {
        match self.log_in(user, options, "SELECT CURRENT_USER()") {
            Ok(account) => {
                assert_eq!(account, format!("{user}@%"));
                true
            }
            Err(error) => {
                assert!(error.contains("ERROR 1045 (28000)"), "{user} {options:?}: {error}");
                false
            }
        }
    }
}

fn options(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

const SUBJECT: &str = "/CN=Shoal auto-generated client certificate";
const ISSUER: &str = "/CN=Shoal auto-generated CA certificate";

#[test]
fn every_requirement_lets_in_those_who_meet_it_alone() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    let directory = Directory::of(&server);
    let (plain, tls, shown) = (options(&["--skip-ssl"]), options(&["--ssl"]), directory.certificate());
    // Without TLS, with it, and with a certificate as well.
    for (user, require, expected) in [
        ("anyone", "NONE".to_owned(), [true, true, true]),
        ("tls", "SSL".to_owned(), [false, true, true]),
        ("shower", "X509".to_owned(), [false, false, true]),
        ("named", format!("SUBJECT '{SUBJECT}'"), [false, false, true]),
        ("owner", format!("ISSUER '{ISSUER}' AND SUBJECT '{SUBJECT}'"), [false, false, true]),
        ("stranger", format!("SUBJECT '{SUBJECT}' ISSUER '/CN=Somebody'"), [false, false, false]),
        ("suite", "CIPHER 'TLS_AES_128_GCM_SHA256'".to_owned(), [false, true, true]),
        ("other", "CIPHER 'ECDHE-RSA-AES128-GCM-SHA256'".to_owned(), [false, false, false]),
    ] {
        server.sql(&format!("CREATE USER {user} IDENTIFIED BY 'geheim' REQUIRE {require}"));
        let found = [&plain, &tls, &shown].map(|options| directory.is_let_in(user, options));
        assert_eq!(found, expected, "REQUIRE {require}");
    }
    // What is altered holds at the next login, and outlives a crash.
    server.sql("ALTER USER shower REQUIRE NONE; ALTER USER anyone REQUIRE X509");
    assert!(directory.is_let_in("shower", &plain));
    assert!(!directory.is_let_in("anyone", &tls));
    assert!(directory.is_let_in("anyone", &shown));
}

#[test]
fn requirements_are_kept_and_shown_as_mysql_shows_them() {
    if target_is_mariadb() {
        return skip("MariaDB shows accounts in its own way");
    }
    let mut server = TestServer::start();
    server.sql(
        "CREATE USER a IDENTIFIED BY 'x' REQUIRE X509; CREATE USER b REQUIRE CIPHER 'C' AND SUBJECT '/CN=it''s' ISSUER '/CN=i'",
    );
    server.kill();
    server.restart();
    let mut client = server.client();
    let shown = |client: &mut shoal_system_tests::Client, user: &str| {
        client.text(&format!("SHOW CREATE USER {user}")).unwrap().remove(0)
    };
    assert!(shown(&mut client, "a").contains(" REQUIRE X509 PASSWORD EXPIRE "));
    let text = shown(&mut client, "b");
    assert!(text.contains(" REQUIRE SUBJECT '/CN=it''s' ISSUER '/CN=i' CIPHER 'C' PASSWORD "), "{text}");
    let columns = "SELECT User, ssl_type, ssl_cipher, x509_issuer, x509_subject FROM mysql.user ORDER BY User";
    assert_eq!(client.text(columns).unwrap(), ["a,X509,,,", "b,SPECIFIED,C,/CN=i,/CN=it's", "root,,,,"]);
    // The statement makes the account again.
    client.run(&format!("DROP USER b; {text}")).unwrap();
    assert_eq!(shown(&mut client, "b"), text);
}

#[test]
fn the_requirement_holds_for_a_change_of_users_as_well() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    server.sql("CREATE USER tess IDENTIFIED WITH mysql_native_password BY 'geheim' REQUIRE SSL");
    let mut client = server.client();
    let error = client.change_user(&shoal_system_tests::Login::user("tess", "geheim")).unwrap_err();
    assert_eq!(error.errno(), 1045, "{error}");
}

#[test]
fn status_variables_tell_of_the_servers_certificate_and_of_resumed_sessions() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    let directory = Directory::of(&server);
    server.sql("CREATE USER tess IDENTIFIED BY 'geheim'");
    let told = directory
        .log_in(
            "tess",
            &options(&["--ssl"]),
            "SHOW STATUS LIKE 'Ssl\\_server\\_not%'; SHOW STATUS LIKE 'Current_tls_version'",
        )
        .unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("Ssl_server_not_after\tDec 31 00:00:00 20"), "{told}");
    assert!(lines[1].starts_with("Ssl_server_not_before\tJan  1 00:00:00 20"), "{told}");
    assert_eq!(lines[2], "Current_tls_version\tTLSv1.2,TLSv1.3");
    let session = "SHOW STATUS WHERE Variable_name IN ('Ssl_sessions_reused', 'Ssl_verify_mode')";
    let told = directory.log_in("tess", &options(&["--ssl"]), session).unwrap();
    assert_eq!(told, "Ssl_sessions_reused\t0\nSsl_verify_mode\t5");
}

#[test]
fn certificates_of_ones_own_are_given_by_options() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 takes other options");
    }
    let maker = TestServer::start();
    let own = Directory::of(&maker).path;
    let settings = ["ca", "cert", "key"].map(|what| match what {
        "ca" => format!("ssl_ca={own}ca.pem"),
        what => format!("ssl_{what}={own}server-{what}.pem"),
    });
    let mut arguments = Vec::new();
    for setting in &settings {
        arguments.extend(["--set", setting.as_str()]);
    }
    let server = TestServer::start_with(&arguments);
    server.sql("CREATE USER tess IDENTIFIED BY 'geheim' REQUIRE X509");
    assert_eq!(server.client().text("SELECT @@ssl_ca").unwrap(), [format!("{own}ca.pem")]);
    let directory = Directory { server: &server, path: own };
    assert!(directory.is_let_in("tess", &directory.certificate()));
}
