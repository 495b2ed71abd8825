//! The PROXY protocol: clients of a proxy that is believed are whom it names; nobody else names anybody.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use shoal_system_tests::{Client, Login, TestServer};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PATIENCE: Duration = Duration::from_secs(20);

fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    [SIGNATURE, &[command, family], &(rest.len() as u16).to_be_bytes(), rest].concat()
}

/// For a client at this address.
fn for_client(address: [u8; 4]) -> Vec<u8> {
    header(0x21, 0x11, &[&address[..], &[10, 0, 0, 1], &[0x30, 0x39, 0x0c, 0xea]].concat())
}

/// A proxy that begins every connection with these bytes, some at a time. Returns its port.
fn proxy(server: u16, header: Vec<u8>, step: usize) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)) else { return };
            server.set_nodelay(true).unwrap();
            for piece in header.chunks(step) {
                let _ = server.write_all(piece);
            }
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            for (mut from, mut to) in [(client, server), back] {
                thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut bytes) {
                        if to.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    port
}

fn log_in(port: u16, user: &str) -> Result<Client, String> {
    let login = Login { user: user.into(), database: String::new(), patience: PATIENCE, ..Login::default() };
    Client::log_in(port, &login).map_err(|error| error.to_string())
}

fn server(networks: &str) -> TestServer {
    let server = TestServer::start_with(&["--set", &format!("proxy_protocol_networks={networks}")]);
    let mut root = server.client();
    for host in ["10.1.2.3", "127.0.0.1", "localhost", "fd00::7"] {
        root.execute(&format!("CREATE USER guest@'{host}'")).unwrap();
    }
    server
}

fn user(port: u16) -> String {
    log_in(port, "guest").unwrap().text("SELECT USER()").unwrap().concat()
}

#[test]
fn a_client_is_whom_a_proxy_names_that_is_believed() {
    let server = server("192.0.2.0/24,localhost");
    for step in [1, 7, 1000] {
        assert_eq!(user(proxy(server.port(), for_client([10, 1, 2, 3]), step)), "guest@10.1.2.3");
    }
    let v6: Vec<u8> = [&[0xfd, 0][..], &[0; 13], &[7], &[0; 16], &[0; 4], &[4, 0, 1, 9]].concat();
    assert_eq!(user(proxy(server.port(), header(0x21, 0x21, &v6), 1000)), "guest@fd00::7");
    // A loopback address that a proxy names need not be of this machine.
    assert_eq!(user(proxy(server.port(), for_client([127, 0, 0, 1]), 1000)), "guest@127.0.0.1");
    // The proxy itself, and a client without a proxy.
    assert_eq!(user(proxy(server.port(), header(0x20, 0, &[]), 1000)), "guest@localhost");
    assert_eq!(user(server.port()), "guest@localhost");
    // Accounts are of the client, not of the proxy.
    let error = log_in(proxy(server.port(), for_client([10, 9, 9, 9]), 1000), "guest").err().unwrap();
    assert!(error.contains("'guest'@'10.9.9.9'"), "{error}");
}

#[test]
fn headers_that_are_bad_or_come_from_anywhere_else_are_refused() {
    let believing = server("localhost");
    let bad = [
        header(0x11, 0x11, &[0; 12]),
        header(0x2f, 0x11, &[0; 12]),
        header(0x21, 0x11, &[0; 3]),
        header(0x21, 0x12, &[0; 12]),
        // It claims more than any proxy tells.
        header(0x21, 0x11, &[0; 4000])[..16].to_vec(),
    ];
    for header in bad {
        let mut socket = TcpStream::connect(("127.0.0.1", believing.port())).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&header).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("Bad handshake"), "{answer}");
    }
    // Two headers are one too many.
    let twice = [for_client([10, 1, 2, 3]), for_client([10, 1, 2, 3])].concat();
    assert!(log_in(proxy(believing.port(), twice, 1000), "guest").is_err());
    assert_eq!(user(believing.port()), "guest@localhost");
    let other = server("192.0.2.0/24");
    let error = log_in(proxy(other.port(), for_client([10, 1, 2, 3]), 1000), "guest").err().unwrap();
    assert!(error.contains("Proxy header is not accepted from localhost"), "{error}");
    assert_eq!(user(other.port()), "guest@localhost");
}
