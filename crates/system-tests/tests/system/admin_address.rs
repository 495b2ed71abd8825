//! Connections for administrators: one beyond `max_connections`, and those at `admin_address`.

use shoal_system_tests::{Client, Login, TestServer, wait_until};

fn log_in(port: u16, user: &str) -> Result<Client, u16> {
    let login = Login { user: user.into(), database: String::new(), ..Login::default() };
    Client::log_in(port, &login).map_err(|error| error.errno())
}

fn server(arguments: &[&str]) -> TestServer {
    let server = TestServer::start_with(arguments);
    server.sql(
        "CREATE USER plain; CREATE USER operator; GRANT SERVICE_CONNECTION_ADMIN ON *.* TO operator;
         CREATE USER killer; GRANT CONNECTION_ADMIN ON *.* TO killer;
         CREATE ROLE ops; GRANT SERVICE_CONNECTION_ADMIN ON *.* TO ops; CREATE USER deputy DEFAULT ROLE ops; GRANT ops TO deputy",
    );
    server
}

fn admin_port(server: &TestServer) -> u16 {
    server.sql("SELECT @@admin_port").trim().parse().unwrap()
}

#[test]
fn the_connection_beyond_the_limit_is_for_administrators() {
    let server = server(&[]);
    server.sql("SET GLOBAL max_connections=3");
    wait_until("nobody is connected", || {
        server.sql("SHOW STATUS LIKE 'Threads_connected'").trim().ends_with("\t1")
    });
    let mut plain = Vec::new();
    wait_until("all connections are taken", || match log_in(server.port(), "plain") {
        Ok(client) => {
            plain.push(client);
            false
        }
        Err(errno) => {
            assert_eq!(errno, 1040);
            plain.len() == 3
        }
    });
    assert_eq!(log_in(server.port(), "operator").err(), Some(1040), "that is another privilege");
    let mut killer = None;
    wait_until("the spare connection is free", || {
        killer = log_in(server.port(), "killer").ok();
        killer.is_some()
    });
    assert_eq!(log_in(server.port(), "root").err(), Some(1040), "there is one of them");
    let id = plain.pop().unwrap().connection_id();
    killer.unwrap().execute(&format!("KILL {id}")).ok();
    wait_until("there is room again", || log_in(server.port(), "plain").is_ok());
}

#[test]
fn administrators_get_in_at_their_own_address_whoever_else_is_there() {
    let server = server(&["--set", "admin_address=127.0.0.1", "--set", "admin_port=0"]);
    let port = admin_port(&server);
    assert_ne!(port, server.port());
    assert_eq!(log_in(port, "plain").err(), Some(1227));
    assert_eq!(log_in(port, "killer").err(), Some(1227));
    assert!(log_in(port, "deputy").is_ok(), "by a default role");
    server.sql("SET GLOBAL max_connections=1");
    let mut busy = Vec::new();
    wait_until("all connections are taken", || match log_in(server.port(), "root") {
        Ok(client) => {
            busy.push(client);
            false
        }
        Err(errno) => errno == 1040 && busy.len() == 2,
    });
    let mut administrators: Vec<Client> = (0..5).map(|_| log_in(port, "operator").unwrap()).collect();
    let operator = &mut administrators[0];
    assert_eq!(operator.text("SELECT @@admin_address, 1").unwrap(), ["127.0.0.1,1"]);
    let error = operator.change_user(&Login { user: "plain".into(), database: String::new(), ..Login::default() });
    assert_eq!(error.unwrap_err().errno(), 1227);
    drop(administrators);
    drop(busy);
    wait_until("ordinary clients get in again", || log_in(server.port(), "plain").is_ok());
}

#[test]
fn an_admin_address_must_be_one_address_of_this_host() {
    for (address, reason) in [("0.0.0.0", "single one"), ("192.0.2.1", "cannot listen for administrators")] {
        let setup = shoal_system_tests::harness_setup(&["--set", &format!("admin_address={address}")]);
        let error = setup.start().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
