//! TLS on the MySQL port, with the client library's own TLS and with bytes that are none.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

/// Client capabilities: PROTOCOL_41, SSL, SECURE_CONNECTION, PLUGIN_AUTH.
const TLS_CAPABILITIES: u32 = 1 << 9 | 1 << 11 | 1 << 15 | 1 << 19;

fn mariadb(
    server: &TestServer,
    user: &str,
    password: &str,
    options: &[&str],
    sql: &str,
) -> shoal_testkit::program::Output {
    let mut command = std::process::Command::new("mariadb");
    command
        .args(["--no-defaults", "--host=127.0.0.1", "--batch", "--skip-column-names"])
        .arg(format!("--port={}", server.port()))
        .args([&format!("--user={user}"), &format!("--password={password}")])
        .args(options)
        .args(["-e", sql]);
    server.finish(command, b"")
}

fn answer(server: &TestServer, user: &str, password: &str, options: &[&str], sql: &str) -> String {
    let output = mariadb(server, user, password, options, sql);
    assert!(output.status.success(), "{options:?} {sql}: {}", output.errors());
    output.text().trim().to_owned()
}

fn refusal(server: &TestServer, user: &str, password: &str, options: &[&str]) -> String {
    let output = mariadb(server, user, password, options, "SELECT 1");
    assert!(!output.status.success(), "{options:?} was let in");
    output.errors()
}

fn variable(server: &TestServer, name: &str) -> String {
    server.client().text(&format!("SELECT @@{name}")).unwrap().remove(0)
}

#[test]
fn clients_verify_the_servers_certificate_and_are_told_the_cipher() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    let authority = format!("--ssl-ca={}", variable(&server, "ssl_ca"));
    let verified = [authority.as_str(), "--ssl-verify-server-cert"];
    let session = "SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Ssl_version')";
    let told = answer(&server, "root", "", &verified, session);
    assert_eq!(told, "Ssl_cipher\tTLS_AES_128_GCM_SHA256\nSsl_version\tTLSv1.3");
    let told = answer(&server, "root", "", &[&verified[..], &["--tls-version=TLSv1.2"]].concat(), session);
    assert_eq!(told, "Ssl_cipher\tECDHE-ECDSA-AES256-GCM-SHA384\nSsl_version\tTLSv1.2");
    assert_eq!(answer(&server, "root", "", &["--skip-ssl"], session), "Ssl_cipher\t\nSsl_version");
    let accepts = server.client().text("SHOW STATUS LIKE 'Ssl_accepts'").unwrap();
    assert_eq!(accepts, ["Ssl_accepts,2"]);
}

#[test]
fn large_packets_go_both_ways_and_the_client_certificate_is_checked() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    let authority = variable(&server, "ssl_ca");
    let own = |name: &str| authority.replace("ca.pem", name);
    let (cert, key) =
        (format!("--ssl-cert={}", own("client-cert.pem")), format!("--ssl-key={}", own("client-key.pem")));
    let options = ["--ssl", "--max-allowed-packet=64M", &cert, &key];
    let sql = format!("SELECT LENGTH('{}'), REPEAT('abc', 3000000)", "x".repeat(100_000));
    let told = answer(&server, "root", "", &options, &sql);
    assert_eq!(told.len(), "100000\t".len() + 9_000_000);
    // A certificate that the authority has not signed.
    let foreign = TestServer::start();
    let other = variable(&foreign, "ssl_ca");
    let (cert, key) = (
        format!("--ssl-cert={}", other.replace("ca.pem", "client-cert.pem")),
        format!("--ssl-key={}", other.replace("ca.pem", "client-key.pem")),
    );
    let error = refusal(&server, "root", "", &["--ssl", &cert, &key]);
    assert!(error.contains("2026") || error.contains("2013"), "{error}");
    assert_eq!(server.client().text("SELECT 1").unwrap(), ["1"]);
}

#[test]
fn accounts_and_the_server_can_insist_on_it() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    server.sql("CREATE USER tess IDENTIFIED BY 'geheim' REQUIRE SSL; GRANT ALL ON *.* TO tess");
    assert!(refusal(&server, "tess", "geheim", &["--skip-ssl"]).contains("1045"));
    assert_eq!(answer(&server, "tess", "geheim", &["--ssl"], "SELECT CURRENT_USER()"), "tess@%");
    assert!(refusal(&server, "tess", "wrong", &["--ssl"]).contains("1045"));
    answer(&server, "tess", "geheim", &["--ssl"], "SET GLOBAL require_secure_transport = ON");
    assert!(refusal(&server, "root", "", &["--skip-ssl"]).contains("3159"));
    assert_eq!(answer(&server, "root", "", &["--ssl"], "SELECT 1"), "1");
}

#[test]
fn certificates_are_read_again_without_a_restart() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let (server, other) = (TestServer::start(), TestServer::start());
    let files = ["ca.pem", "server-cert.pem", "server-key.pem"];
    let (mine, theirs) = (variable(&server, "ssl_ca"), variable(&other, "ssl_ca"));
    let verified = [format!("--ssl-ca={theirs}"), "--ssl-verify-server-cert".to_owned()];
    let verified: Vec<&str> = verified.iter().map(String::as_str).collect();
    assert!(refusal(&server, "root", "", &verified).contains("2026"));
    // A key that does not belong to the certificate: what was there goes on.
    std::fs::copy(theirs.replace("ca.pem", files[2]), mine.replace("ca.pem", files[2])).unwrap();
    let error = server.sql_error("ALTER INSTANCE RELOAD TLS");
    assert!(error.contains("3888") && error.contains("server-key.pem"), "{error}");
    assert_eq!(answer(&server, "root", "", &["--ssl"], "SELECT 1"), "1");
    for name in files {
        std::fs::copy(theirs.replace("ca.pem", name), mine.replace("ca.pem", name)).unwrap();
    }
    server.sql("ALTER INSTANCE RELOAD TLS");
    assert_eq!(answer(&server, "root", "", &verified, "SELECT 1"), "1");
}

#[test]
fn what_comes_in_clear_behind_the_request_for_tls_is_never_a_command() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 makes no certificates");
    }
    let server = TestServer::start();
    let mut request = vec![32, 0, 0, 1];
    request.extend_from_slice(&TLS_CAPABILITIES.to_le_bytes());
    request.extend_from_slice(&[0; 28]);
    // The rest of an answer in clear, a query, nothing that is a message of TLS, a message that lies about its length.
    let login =
        [&[58, 0, 0, 2][..], &TLS_CAPABILITIES.to_le_bytes(), &[0; 28], b"root\0\0caching_sha2_password\0"]
            .concat();
    let query = b"\x1a\0\0\0\x03CREATE DATABASE sneaked_in";
    for behind in [&login[..], query, &[0xff; 300], b"\x16\x03\x01\xff\xff\x01\x00\x00\x00", b""] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut header = [0; 4];
        stream.read_exact(&mut header).unwrap();
        stream.read_exact(&mut vec![0; usize::from(header[0])]).unwrap();
        stream.write_all(&[&request[..], behind].concat()).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        // At most an alert.
        assert!(said.is_empty() || said[0] == 0x15, "{said:?}");
    }
    assert_eq!(server.client().text("SHOW DATABASES LIKE 'sneaked%'").unwrap(), Vec::<String>::new());
}
