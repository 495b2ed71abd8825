//! Many connections: what an idle one takes.

use shoal_system_tests::{Client, TestServer, process};

const CLIENTS: u64 = 2_000;
/// The server's memory for one, without what the system keeps for its socket.
const BYTES_EACH_MAX: u64 = 16 << 10;

#[test]
fn an_idle_connection_takes_little_memory_also_when_it_has_done_something() {
    let server = TestServer::start();
    let connect = |count: u64| (0..count).map(|_| server.client()).collect::<Vec<Client>>();
    // Buffers that the connections of a worker share are there from the first of them on.
    let mut first = connect(200);
    let before = process::resident_bytes(server.process()).unwrap();
    let mut clients = connect(CLIENTS);
    let each = (process::resident_bytes(server.process()).unwrap() - before) / CLIENTS;
    assert!(each <= BYTES_EACH_MAX, "{each} bytes for each of {CLIENTS} connections");
    let served: Vec<_> = [first.last_mut(), clients.last_mut()]
        .into_iter()
        .flatten()
        .map(|client| client.text("SELECT 1").unwrap())
        .collect();
    assert_eq!(served, [["1"], ["1"]]);
    for client in &mut clients {
        client.text("SELECT 1").unwrap();
    }
    let each = (process::resident_bytes(server.process()).unwrap() - before) / CLIENTS;
    assert!(each <= 2 * BYTES_EACH_MAX, "{each} bytes for each after a statement");
}
