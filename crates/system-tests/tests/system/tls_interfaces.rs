//! TLS on HandlerSocket and on operators' HTTP, by option, with the certificates of MySQL's clients.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{TestServer, http, wait_until};
use shoal_tls::rustls::pki_types::pem::PemObject;
use shoal_tls::rustls::pki_types::{CertificateDer, ServerName};
use shoal_tls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

type Encrypted = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// A client that trusts this authority alone.
fn connect(port: u16, authority: &Path) -> Encrypted {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(StreamOwned::new(session, socket))
}

fn ask(client: &mut Encrypted, line: &str) -> String {
    client.get_mut().write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_line(&mut answer).unwrap();
    answer.trim_end().to_owned()
}

#[test]
fn handlersocket_clients_encrypt_where_the_option_says_so() {
    let (mut server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_tls=ON"]);
    let ca = server.data_dir().join("ca.pem");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(15000))");
    let mut writer = connect(ports.writing, &ca);
    assert_eq!(ask(&mut writer, "P\t1\ttest\tt\tPRIMARY\tid,v\n"), "0\t1");
    assert_eq!(ask(&mut writer, "1\t+\t2\t7\tseven\n"), "0\t1");
    let large = "x".repeat(15_000);
    assert_eq!(ask(&mut writer, &format!("1\t+\t2\t8\t{large}\n")), "0\t1");
    let mut reader = connect(ports.reading, &ca);
    assert_eq!(ask(&mut reader, "P\t1\ttest\tt\tPRIMARY\tid,v\n"), "0\t1");
    assert_eq!(ask(&mut reader, "1\t=\t1\t8\n"), format!("0\t2\t8\t{large}"));
    // Many requests at a time, more than a socket holds of their answers.
    let requests = "1\t=\t1\t8\n".repeat(500);
    reader.get_mut().write_all(requests.as_bytes()).unwrap();
    for _ in 0..500 {
        let mut answer = String::new();
        reader.read_line(&mut answer).unwrap();
        assert_eq!(answer.len(), 15_000 + "0\t2\t8\t\n".len());
    }
    // In clear nothing is answered, and half a handshake holds nobody up.
    let mut plain = TcpStream::connect(("127.0.0.1", ports.reading)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    plain.write_all(b"P\t1\ttest\tt\tPRIMARY\tid,v\n1\t=\t1\t7\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.contains(&b'\n') && !String::from_utf8_lossy(&answer).contains("seven"), "{answer:?}");
    let mut half = TcpStream::connect(("127.0.0.1", ports.reading)).unwrap();
    half.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    assert_eq!(ask(&mut reader, "1\t=\t1\t7\n"), "0\t2\t7\tseven");
    // Certificates of another authority are taken without a restart, for those who come then.
    let other = TestServer::start();
    for file in ["ca.pem", "server-cert.pem", "server-key.pem"] {
        fs::copy(other.data_dir().join(file), server.data_dir().join(file)).unwrap();
    }
    server.sql("ALTER INSTANCE RELOAD TLS");
    let mut newcomer = connect(ports.reading, &other.data_dir().join("ca.pem"));
    assert_eq!(ask(&mut newcomer, "P\t1\ttest\tt\tPRIMARY\tid,v\n"), "0\t1");
    assert_eq!(ask(&mut reader, "1\t=\t1\t7\n"), "0\t2\t7\tseven", "who was there stays");
    server.stop();
}

fn curl(address: &str, path: &str, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail-with-body", "--max-time", "30"]).args(options);
    let output = command.arg(format!("{address}{path}")).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text.into_owned()) } else { Err(errors.into_owned()) }
}

#[test]
fn operators_http_is_encrypted_by_option() {
    let mut server = TestServer::start_with(&["--set", "http_tls=ON"]);
    let (address, ca) = (server.http(), server.data_dir().join("ca.pem"));
    let trusted = ["--cacert", ca.to_str().unwrap()];
    let metrics = curl(&format!("https://{address}"), "/metrics", &trusted).unwrap();
    assert!(http::samples(&metrics).len() > 50);
    assert!(curl(&format!("https://{address}"), "/readyz", &trusted).is_ok());
    assert!(curl(&format!("https://{address}"), "/healthz", &[]).unwrap_err().contains("certificate"));
    let old = [&trusted[..], &["--tls-max", "1.1"]].concat();
    assert!(curl(&format!("https://{address}"), "/healthz", &old).is_err());
    assert!(http::try_get(&address, "/metrics").is_err(), "in clear");
    // Sockets that say nothing, or half of a handshake, or nonsense, hold nobody up and do not keep the server from stopping.
    let silent: Vec<TcpStream> = (0..20)
        .map(|number| {
            let mut socket = http::connect(&address);
            let beginnings: [&[u8]; 3] = [b"", &[0x16, 3, 1, 2, 0, 1, 0], b"GET / HTTP/1.1\r\n\r\n"];
            socket.write_all(beginnings[number % 3]).unwrap();
            socket
        })
        .collect();
    assert!(curl(&format!("https://{address}"), "/metrics", &trusted).is_ok());
    let other = TestServer::start();
    for file in ["ca.pem", "server-cert.pem", "server-key.pem"] {
        fs::copy(other.data_dir().join(file), server.data_dir().join(file)).unwrap();
    }
    server.sql("ALTER INSTANCE RELOAD TLS");
    wait_until("the new certificate", || curl(&format!("https://{address}"), "/healthz", &trusted).is_ok());
    server.stop();
    drop(silent);
    server.restart();
    let address = server.http();
    assert!(curl(&format!("https://{address}"), "/healthz", &trusted).is_ok(), "after a restart");
}

/// What a login over HTTPS is answered.
fn log_in(address: &str, user: &str, password: &str, options: &[&str]) -> Result<String, String> {
    let login = format!("{{\"user\": \"{user}\", \"password\": \"{password}\"}}");
    let options = [options, &["--header", "Content-Type: application/json", "--data", &login]].concat();
    curl(&format!("https://{address}"), "/api/login", &options)
}

#[test]
fn accounts_that_insist_on_tls_log_in_over_https() {
    let mut server = TestServer::start_with(&["--set", "http_tls=ON"]);
    let (address, ca) = (server.http(), server.data_dir().join("ca.pem"));
    let trusted = ["--cacert", ca.to_str().unwrap()];
    server.sql("CREATE USER plain IDENTIFIED BY 'right'; CREATE USER tls IDENTIFIED BY 'right' REQUIRE SSL");
    server.sql("CREATE USER shown IDENTIFIED BY 'right' REQUIRE X509");
    server.sql("SET GLOBAL require_secure_transport = ON");
    for user in ["plain", "tls"] {
        let answer = log_in(&address, user, "right", &trusted).unwrap();
        assert!(answer.contains(user), "{answer}");
        assert!(log_in(&address, user, "wrong", &trusted).is_err(), "{user}");
    }
    assert!(log_in(&address, "shown", "right", &trusted).is_err(), "nobody shows a certificate here");
    server.stop();
}

#[test]
fn rest_takes_passwords_of_accounts_that_insist_on_tls_and_comes_by_any_name() {
    let server = TestServer::start_with(&["--set", "http_tls=ON", "--set", "http_rest=ON"]);
    let (address, ca) = (server.http(), server.data_dir().join("ca.pem"));
    let trusted = ["--cacert", ca.to_str().unwrap()];
    server.sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (7)");
    server.sql("CREATE USER tls IDENTIFIED BY 'right' REQUIRE SSL; GRANT SELECT ON test.t TO tls");
    let read = |password: &str, host: &str| {
        let (login, host) = (format!("tls:{password}"), format!("Host: {host}"));
        let body = r#"{"filters":[{"column":"id","value":7}]}"#;
        let asked =
            ["--user", &login, "--header", &host, "--header", "Content-Type: application/json", "--data", body];
        curl(&format!("https://{address}"), "/0.1.0/test/t/pk-read", &[&trusted[..], &asked].concat())
    };
    assert_eq!(read("right", "db.example:8186").unwrap().trim(), r#"{"data":{"id":7}}"#);
    assert!(read("wrong", "localhost").unwrap_err().contains("401"));
}
