//! The three ways of caching_sha2_password, with PyMySQL, which knows all of them: from the cache, through TLS, and with the server's RSA key.

use std::process::Command;

use shoal_system_tests::{TestServer, clients_folder, skip, target_is_mariadb, wait_until};

/// Logs in and prints the account, and which packets the server has sent to check the password: 3 (from the cache), 4 (in full), key.
const LOGIN: &str = r#"
import sys, ssl
import pymysql
from pymysql import _auth, connections
port, password, way, path = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
seen = []
original = connections.Connection._read_packet
def read_packet(self, *arguments):
    packet = original(self, *arguments)
    if packet.is_extra_auth_data():
        data = bytes(packet._data[1:])
        seen.append(str(data[0]) if len(data) == 1 else "key")
    return packet
connections.Connection._read_packet = read_packet
options = dict(host="127.0.0.1", port=port, user="susan", password=password, ssl_disabled=True)
if way == "tls":
    options["ssl_disabled"] = False
    options["ssl_ca"] = path + "ca.pem"
    options["ssl_verify_cert"] = True
if way == "given":
    options["server_public_key"] = open(path + "public_key.pem", "rb").read()
try:
    connection = pymysql.connect(**options)
except pymysql.err.OperationalError as error:
    print(error.args[0], " ".join(seen))
    sys.exit(0)
connections.Connection._read_packet = original
cursor = connection.cursor()
cursor.execute("SELECT CURRENT_USER()")
print(cursor.fetchone()[0], " ".join(seen))
"#;

/// That of `scripts/client-packages`, which has the library, or the system's, which may.
fn python() -> Command {
    let own = clients_folder().join("python/bin/python");
    Command::new(if own.exists() { own } else { "python3".into() })
}

fn log_in(server: &TestServer, password: &str, way: &str, path: &str) -> String {
    let mut command = python();
    command.args(["-c", LOGIN, &server.port().to_string(), password, way, path]);
    let output = server.finish(command, b"");
    assert!(output.status.success(), "{}", output.errors());
    output.text().trim().to_owned()
}

/// A server with the account, and the folder of its keys.
fn started() -> Option<(TestServer, String)> {
    let has_client =
        python().args(["-c", "import pymysql, cryptography"]).output().is_ok_and(|run| run.status.success());
    if target_is_mariadb() || !has_client {
        skip("needs caching_sha2_password, and PyMySQL with cryptography");
        return None;
    }
    let server = TestServer::start();
    server.sql("CREATE USER susan IDENTIFIED WITH caching_sha2_password BY 'geheim'");
    let authority = server.client().text("SELECT @@ssl_ca").unwrap().remove(0);
    let path = authority.trim_end_matches("ca.pem").to_owned();
    wait_until("the key for passwords", || !public_key(&server).is_empty());
    Some((server, path))
}

fn public_key(server: &TestServer) -> String {
    server.client().text("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'").unwrap().remove(0)
        ["Caching_sha2_password_rsa_public_key,".len()..]
        .to_owned()
}

#[test]
fn a_password_is_asked_for_in_full_once_through_tls_and_by_rsa() {
    for (way, in_full) in [("tls", "susan@% 4"), ("rsa", "susan@% 4 key"), ("given", "susan@% 4")] {
        let Some((server, path)) = started() else { return };
        let wrong = in_full.replace("susan@%", "1045");
        assert_eq!(log_in(&server, "falsch", way, &path), wrong, "{way}: a wrong password");
        assert_eq!(log_in(&server, "geheim", way, &path), in_full, "{way}");
        assert_eq!(log_in(&server, "geheim", way, &path), "susan@% 3", "{way}: from the cache");
        // A password that changes is not in the cache.
        server.sql("ALTER USER susan IDENTIFIED BY 'neu'");
        assert_eq!(log_in(&server, "geheim", way, &path), wrong, "{way}: the old password");
        assert_eq!(log_in(&server, "neu", way, &path), in_full, "{way}: the new password");
    }
}

#[test]
fn the_key_is_kept_beside_the_certificates_and_may_be_given() {
    let Some((mut server, path)) = started() else { return };
    let public = std::fs::read_to_string(format!("{path}public_key.pem")).unwrap();
    assert_eq!(public_key(&server).trim(), public.trim());
    server.kill();
    server.restart();
    wait_until("the key for passwords", || !public_key(&server).is_empty());
    assert_eq!(public_key(&server).trim(), public.trim());
    assert_eq!(log_in(&server, "geheim", "given", &path), "susan@% 4");
    let private = format!("caching_sha2_password_private_key_path={path}private_key.pem");
    let other = TestServer::start_with(&["--set", &private]);
    other.sql("CREATE USER susan IDENTIFIED BY 'geheim'");
    assert_eq!(log_in(&other, "geheim", "given", &path), "susan@% 4");
}
