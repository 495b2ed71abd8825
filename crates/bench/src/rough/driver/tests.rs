use std::thread;

use super::*;
use crate::canned;

/// The port of a responder that lives as long as this process.
fn responder() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || canned::serve_on(listener));
    port
}

#[test]
fn every_session_runs_its_script_to_the_end() {
    let scripts = (0..20).map(|session| {
        let mut left = session;
        let script = move |last: Option<&Answer>, statement: &mut String| {
            assert!(last.is_none_or(|answer| answer.errno == 0));
            if left == 0 {
                return Next::Done;
            }
            left -= 1;
            statement.push_str("UPDATE t SET c = 1");
            Next::Event
        };
        Box::new(script) as Box<dyn Script>
    });
    let driver = Driver::connect(responder(), "", scripts.collect()).unwrap();
    let tally = driver.run(&Until::time(Duration::ZERO, Duration::from_secs(60))).unwrap();
    assert_eq!(tally.events_of_all_time, (0..20).sum::<u64>());
    assert_eq!(tally.errors_in_all(), 0);
}

#[test]
fn rows_are_counted_and_a_transaction_is_one_event() {
    let mut statements = vec![(Next::Begin, "BEGIN"), (Next::Middle, "SELECT c FROM t"), (Next::End, "COMMIT")];
    statements.reverse();
    let mut rows = 0;
    let script = move |last: Option<&Answer>, statement: &mut String| {
        rows += last.map_or(0, |answer| answer.rows);
        let Some((kind, text)) = statements.pop() else {
            assert_eq!(rows, 1);
            return Next::Done;
        };
        statement.push_str(text);
        kind
    };
    let driver = Driver::connect(responder(), "", vec![Box::new(script)]).unwrap();
    let tally = driver.run(&Until::time(Duration::ZERO, Duration::from_secs(60))).unwrap();
    assert_eq!(tally.events_of_all_time, 1);
}
