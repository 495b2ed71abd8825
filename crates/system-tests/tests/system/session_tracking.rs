//! What clients are told with the end of a statement: status flags, and changes of their session.

use shoal_system_tests::client::{
    CLIENT_SESSION_TRACK, Done, SERVER_SESSION_STATE_CHANGED, SERVER_STATUS_IN_TRANS,
    SERVER_STATUS_IN_TRANS_READONLY, SERVER_STATUS_NO_BACKSLASH_ESCAPES,
};
use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb};

const VARIABLE: u8 = 0;
const SCHEMA: u8 = 1;
const CHANGE: u8 = 2;
const CHARACTERISTICS: u8 = 4;
const TRANSACTION: u8 = 5;

fn done(client: &mut Client, sql: &str) -> Done {
    client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn told(client: &mut Client, sql: &str) -> Vec<(u8, String)> {
    let done = done(client, sql);
    assert_eq!(done.status & SERVER_SESSION_STATE_CHANGED != 0, !done.changes.is_empty());
    done.changes.into_iter().map(|(kind, texts)| (kind, texts.join("="))).collect()
}

fn tracking(server: &TestServer) -> Client {
    let login = Login { extra_capabilities: CLIENT_SESSION_TRACK, ..Login::default() };
    Client::log_in(server.port(), &login).unwrap()
}

fn pairs(expected: &[(u8, &str)]) -> Vec<(u8, String)> {
    expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

#[test]
fn read_only_transactions_refuse_writes_and_say_so_in_their_flags() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let flags = |client: &mut Client, sql: &str| {
        done(client, sql).status & (SERVER_STATUS_IN_TRANS | SERVER_STATUS_IN_TRANS_READONLY)
    };
    let both = SERVER_STATUS_IN_TRANS | SERVER_STATUS_IN_TRANS_READONLY;
    assert_eq!(flags(&mut client, "START TRANSACTION READ ONLY"), both);
    assert_eq!(client.text("SELECT * FROM t").unwrap(), ["1"]);
    for write in ["INSERT INTO t VALUES (2)", "UPDATE t SET id = 3", "DELETE FROM t", "REPLACE INTO t VALUES (1)"]
    {
        assert_eq!(client.execute(write).unwrap_err().errno(), 1792, "{write}");
    }
    assert_eq!(flags(&mut client, "DO 1"), both, "an error has not ended it");
    assert_eq!(flags(&mut client, "COMMIT"), 0);
    // For every transaction of the session, and against it.
    client.run("SET SESSION transaction_read_only = ON").unwrap();
    assert_eq!(client.execute("INSERT INTO t VALUES (2)").unwrap_err().errno(), 1792);
    assert_eq!(flags(&mut client, "BEGIN"), both);
    assert_eq!(flags(&mut client, "START TRANSACTION READ WRITE"), SERVER_STATUS_IN_TRANS);
    client.run("INSERT INTO t VALUES (2); COMMIT; SET SESSION transaction_read_only = OFF").unwrap();
    // For the next one alone.
    client.run("SET TRANSACTION READ ONLY").unwrap();
    assert_eq!(client.execute("DELETE FROM t WHERE id = 2").unwrap_err().errno(), 1792);
    client.run("SELECT * FROM t; DELETE FROM t WHERE id = 2").unwrap();
    assert_eq!(done(&mut client, "DO 1").status & SERVER_STATUS_NO_BACKSLASH_ESCAPES, 0);
    let modes = done(&mut client, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    assert_ne!(modes.status & SERVER_STATUS_NO_BACKSLASH_ESCAPES, 0);
}

#[test]
fn the_default_database_and_variables_are_told_when_they_are_set() {
    let server = TestServer::start();
    let mut client = tracking(&server);
    assert_eq!(told(&mut client, "USE test"), pairs(&[(SCHEMA, "test")]));
    assert_eq!(told(&mut client, "DO 1"), []);
    assert_eq!(told(&mut client, "SET autocommit = 0"), pairs(&[(VARIABLE, "autocommit=OFF")]));
    assert_eq!(told(&mut client, "SET autocommit = ON"), pairs(&[(VARIABLE, "autocommit=ON")]));
    let mut names = told(&mut client, "SET NAMES latin1");
    names.sort();
    let all = ["character_set_client=latin1", "character_set_connection=latin1", "character_set_results=latin1"];
    assert_eq!(names, pairs(&all.map(|text| (VARIABLE, text))));
    assert_eq!(told(&mut client, "SET sql_safe_updates = 1"), []);
    let chosen = "SET session_track_schema = OFF, session_track_system_variables = 'sql_safe_updates'";
    told(&mut client, chosen);
    assert_eq!(told(&mut client, "USE test"), []);
    assert_eq!(told(&mut client, "SET sql_safe_updates = 0"), pairs(&[(VARIABLE, "sql_safe_updates=OFF")]));
    client.run("SET session_track_system_variables = '*'").unwrap();
    assert_eq!(told(&mut client, "SET wait_timeout = 100, @a = 1"), pairs(&[(VARIABLE, "wait_timeout=100")]));
    // Those who have not asked are not told.
    let mut deaf = server.client();
    assert_eq!(told(&mut deaf, "SET autocommit = 1"), []);
}

#[test]
fn any_change_of_the_session_is_told_if_that_is_wanted() {
    let server = TestServer::start();
    let mut client = tracking(&server);
    client.run("SET session_track_state_change = ON, session_track_system_variables = ''").unwrap();
    for change in ["SET @a = 1", "SET wait_timeout = 100", "PREPARE s FROM 'SELECT 1'"] {
        assert_eq!(told(&mut client, change), pairs(&[(CHANGE, "1")]), "{change}");
    }
    assert_eq!(told(&mut client, "USE test"), pairs(&[(SCHEMA, "test"), (CHANGE, "1")]));
    assert_eq!(told(&mut client, "DO 1"), []);
}

#[test]
fn what_a_transaction_has_done_is_told_to_those_who_would_move_it() {
    if target_is_mariadb() {
        return skip("MariaDB words characteristics in its own way");
    }
    let server = TestServer::start();
    let mut client = tracking(&server);
    client
        .run("USE test; CREATE TABLE t (id INT PRIMARY KEY); SET session_track_transaction_info = 'CHARACTERISTICS'")
        .unwrap();
    let isolation = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
    assert_eq!(told(&mut client, isolation), pairs(&[(CHARACTERISTICS, &format!("{isolation};"))]));
    let start = "START TRANSACTION READ WRITE";
    let expected = [(TRANSACTION, "T_______"), (CHARACTERISTICS, &format!("{isolation}; {start};"))];
    assert_eq!(told(&mut client, start), pairs(&expected));
    assert_eq!(told(&mut client, "INSERT INTO t VALUES (1)"), pairs(&[(TRANSACTION, "T___W___")]));
    assert_eq!(told(&mut client, "INSERT INTO t VALUES (2)"), []);
    assert_eq!(told(&mut client, "COMMIT"), pairs(&[(TRANSACTION, "________"), (CHARACTERISTICS, "")]));
    client.run("SET session_track_transaction_info = 'STATE', autocommit = 0").unwrap();
    assert_eq!(told(&mut client, "DELETE FROM t WHERE id = 1"), pairs(&[(TRANSACTION, "I___W___")]));
    client.run("SELECT * FROM t").unwrap();
    assert_eq!(told(&mut client, "ROLLBACK"), pairs(&[(TRANSACTION, "________")]));
    let error = client.execute("SET session_track_transaction_info = 'SOME'").unwrap_err();
    assert_eq!(error.errno(), 1231);
}
