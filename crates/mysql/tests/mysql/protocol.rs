//! The protocol as bytes: what a client sends and exactly what comes back.

use crate::common::raw::{DEPRECATE_EOF, LOCAL_FILES, QUERY_ATTRIBUTES, Raw, SESSION_TRACK, packet};
use crate::common::{Running, eventually};

/// The definition of a column that is an expression: nameless but for its alias.
fn expression(sequence: u8, name: &str, tail: &[u8]) -> Vec<u8> {
    let head = [b"\x03def\0\0\0", &[name.len() as u8][..], name.as_bytes(), b"\0\x0c"].concat();
    packet(sequence, &[&head, tail].concat())
}

const INT: &[u8] = b"\x3f\0\x0b\0\0\0\x03\x80\0\0\0\0";
const TEXT: &[u8] = b"\xff\0\xc8\0\0\0\xfd\0\0\x1f\0\0";
const BIGINT: &[u8] = b"\x3f\0\x15\0\0\0\x08\x80\0\0\0\0";

#[test]
fn a_text_result_with_and_without_eof_packets() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("NULLS");
    raw.expect(b"\x01\0\0\x01\x02");
    raw.expect(&expression(2, "a", TEXT));
    raw.expect(&expression(3, "b", INT));
    raw.expect(b"\x05\0\0\x04\xfe\0\0\x02\0");
    raw.expect(b"\x04\0\0\x05\xfb\x02-1\x03\0\0\x06\x01x\xfb");
    raw.expect(b"\x05\0\0\x07\xfe\0\0\x02\0");

    let mut raw = Raw::root_with(server.port, DEPRECATE_EOF);
    raw.query("NULLS");
    raw.expect(b"\x01\0\0\x01\x02");
    raw.expect(&expression(2, "a", TEXT));
    raw.expect(&expression(3, "b", INT));
    raw.expect(b"\x04\0\0\x04\xfb\x02-1\x03\0\0\x05\x01x\xfb");
    raw.expect(b"\x07\0\0\x06\xfe\0\0\x02\0\0\0");
}

#[test]
fn a_statement_without_rows_has_an_ok_with_its_info() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("INSERT");
    raw.expect(b"\x2e\0\0\x01\0\x02\x07\x02\0\0\0\x26Records: 2  Duplicates: 0  Warnings: 0");
    raw.query("BEGIN");
    raw.expect(b"\x07\0\0\x01\0\0\0\x03\0\0\0");
}

#[test]
fn errors_have_number_state_and_text() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("NONSENSE");
    raw.expect(&packet(1, b"\xff\x28\x04#42000You have an error in your SQL syntax"));
    raw.query("SILENT");
    assert_eq!(raw.receive_error().1, 1105, "a statement without an outcome is told");
    raw.ping();
}

#[test]
fn several_results_follow_each_other() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("MULTI");
    raw.expect(b"\x01\0\0\x01\x01");
    raw.expect(&expression(2, "n", INT));
    raw.expect(b"\x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\x0a\0");
    raw.expect(b"\x07\0\0\x06\0\x05\0\x02\0\0\0");
}

#[test]
fn a_prepared_statement_runs_with_its_parameters() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.command(0x16, b"PARAMETERS ? ?");
    raw.expect(b"\x0c\0\0\x01\0\x01\0\0\0\x01\0\x02\0\0\0\0");
    for sequence in [2, 3] {
        raw.expect(&expression(sequence, "?", b"\x3f\0\x55\x55\0\0\xfd\x80\0\x1f\0\0"));
    }
    raw.expect(b"\x05\0\0\x04\xfe\0\0\x02\0");
    raw.expect(&expression(5, "parameters", TEXT));
    raw.expect(b"\x05\0\0\x06\xfe\0\0\x02\0");

    raw.command(0x18, b"\x01\0\0\0\x01\0long");
    raw.command(0x18, b"\x01\0\0\0\x01\0 data");
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfc\0\x07\0\0\0\0\0\0\0");
    raw.expect(b"\x01\0\0\x01\x01");
    raw.expect(&expression(2, "parameters", TEXT));
    raw.expect(b"\x05\0\0\x03\xfe\0\0\x02\0");
    let text = format!("[Int(7), Str({:?})]", b"long data");
    raw.expect(&packet(4, &[&[0, 0, text.len() as u8], text.as_bytes()].concat()));
    raw.expect(b"\x05\0\0\x05\xfe\0\0\x02\0");

    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\x02\0\x08\0\0\0\0\0\0\0");
    for _ in 0..3 {
        raw.receive();
    }
    let text = "[Int(8), Null]";
    raw.expect(&packet(4, &[&[0, 0, text.len() as u8], text.as_bytes()].concat()));
    raw.receive();

    raw.command(0x19, b"\x01\0\0\0");
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0");
    let (_, errno, text) = raw.receive_error();
    assert_eq!(errno, 1243);
    assert!(text.ends_with("(1) given to mysqld_stmt_execute"), "{text}");
}

#[test]
fn a_stored_row_is_sent_in_both_protocols() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    let text = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-\
                28203206787-41238978918-19503783441";
    raw.query("SELECT c FROM sbtest1 WHERE id=1");
    raw.expect(b"\x01\0\0\x01\x01");
    let definition = b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\xff\0\xe0\x01\0\0\xfe\x01\0\0\0\0";
    raw.expect(&packet(2, definition));
    raw.receive();
    raw.expect(&packet(4, &[&[119], text.as_bytes()].concat()));
    raw.receive();
    raw.command(0x16, b"SELECT c FROM sbtest1 WHERE id=?");
    for _ in 0..5 {
        raw.receive();
    }
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\0\x01\x03\0\x01\0\0\0");
    raw.receive();
    raw.expect(&packet(2, definition));
    raw.receive();
    raw.expect(&packet(4, &[&[0, 0, 119], text.as_bytes()].concat()));
}

#[test]
fn a_cursor_is_fetched_in_portions() {
    let server = Running::start();
    for (capabilities, end) in [(0, &b"\xfe\0\0"[..]), (DEPRECATE_EOF, b"\xfe\0\0")] {
        let mut raw = Raw::root_with(server.port, capabilities);
        let finish = |sequence, flags: u8| match capabilities {
            0 => packet(sequence, &[end, &[flags, 0]].concat()),
            _ => packet(sequence, &[end, &[flags, 0, 0, 0]].concat()),
        };
        raw.command(0x16, b"CURSOR");
        while raw.receive().0 < if capabilities == 0 { 3 } else { 2 } {}
        raw.command(0x17, b"\x01\0\0\0\x01\x01\0\0\0");
        raw.expect(b"\x01\0\0\x01\x01");
        raw.expect(&expression(2, "n", BIGINT));
        raw.expect(&finish(3, 0x42));
        raw.command(0x1c, b"\x01\0\0\0\x03\0\0\0");
        for number in 0..3u8 {
            raw.expect(&packet(1 + number, &[0, 0, number, 0, 0, 0, 0, 0, 0, 0]));
        }
        raw.expect(&finish(4, 0x42));
        raw.command(0x1c, b"\x01\0\0\0\x03\0\0\0");
        for number in 0..2u8 {
            raw.expect(&packet(1 + number, &[0, 0, 3 + number, 0, 0, 0, 0, 0, 0, 0]));
        }
        raw.expect(&finish(3, 0x82));
    }
}

#[test]
fn small_commands_answer_as_documented() {
    let server = Running::start();
    let mut raw = Raw::root_with(server.port, SESSION_TRACK);
    raw.ping();
    raw.command(2, b"shop");
    raw.expect(b"\x10\0\0\x01\0\0\0\x02\x40\0\0\0\x07\x01\x05\x04shop");
    raw.command(2, b"missing");
    assert_eq!(raw.receive_error().1, 1049);
    raw.command(9, b"");
    raw.expect(&packet(1, b"Uptime: 1  Threads: 1"));
    raw.command(0x1b, &[0, 0]);
    raw.expect(b"\x05\0\0\x01\xfe\0\0\x02\0");
    raw.command(0x1f, b"");
    raw.expect(b"\x07\0\0\x01\0\0\0\x02\0\0\0");
    raw.command(4, b"sbtest1\0%");
    let definition =
        b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\x0c\xff\0\xe0\x01\0\0\xfe\x01\0\0\0\0\xfb";
    raw.expect(&packet(1, definition));
    raw.expect(b"\x05\0\0\x02\xfe\0\0\x02\0");
    raw.command(0x0d, b"");
    assert_eq!(raw.receive_error().1, 1235);
    raw.command(0x77, b"");
    assert_eq!(raw.receive_error().1, 1047);
    raw.send(0, b"");
    assert_eq!(raw.receive_error().1, 1047, "a packet without a command");
    raw.ping();
    raw.command(1, b"");
    raw.expect_end();
}

#[test]
fn commands_sent_together_are_answered_in_order() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    let commands: Vec<u8> =
        (0..500).flat_map(|number| packet(0, format!("\x03ECHO {number}").as_bytes())).collect();
    raw.bytes(&commands);
    for number in 0..500 {
        for _ in 0..3 {
            raw.receive();
        }
        let text = number.to_string();
        raw.expect(&packet(4, &[&[text.len() as u8], text.as_bytes()].concat()));
        raw.receive();
    }
}

#[test]
fn query_attributes_are_understood_and_ignored() {
    let server = Running::start();
    let mut raw = Raw::root_with(server.port, QUERY_ATTRIBUTES);
    raw.command(3, b"\x01\x01\0\x01\xfd\0\x01k\x01vINSERT");
    assert_eq!(raw.receive().1[0], 0);
    raw.command(3, b"\0\x01INSERT");
    assert_eq!(raw.receive().1[0], 0);
    raw.command(0x16, b"PARAMETERS ?");
    for _ in 0..5 {
        raw.receive();
    }
    // One parameter and an attribute: the number of values is sent, and types have names.
    raw.command(0x17, b"\x01\0\0\0\x08\x01\0\0\0\x02\0\x01\x01\0\0\xfd\0\x01k\x05\x01v");
    for _ in 0..3 {
        raw.receive();
    }
    raw.expect(b"\x0b\0\0\x04\0\0\x08[Int(5)]");
    raw.receive();
    // Without attributes it is sent all the same.
    raw.command(0x17, b"\x01\0\0\0\0\x01\0\0\0\x01\0\x01\x01\0\0\x06");
    for _ in 0..3 {
        raw.receive();
    }
    raw.expect(b"\x0b\0\0\x04\0\0\x08[Int(6)]");
    raw.receive();
    raw.command(3, b"\xfb");
    assert_eq!(raw.receive_error().1, 1835);
    raw.command(3, b"\0\x01INSERT");
    assert_eq!(raw.receive().1[0], 0);
}

#[test]
fn a_local_file_is_asked_for_and_read_to_its_empty_packet() {
    let server = Running::start();
    let mut raw = Raw::root_with(server.port, LOCAL_FILES);
    raw.query("LOAD data.csv");
    raw.expect(&packet(1, b"\xfbdata.csv"));
    raw.send(2, b"1,2\n");
    raw.send(3, b"3,4\n");
    raw.send(4, b"");
    raw.expect(b"\x12\0\0\x05\0\x08\0\x02\0\0\0\x0aRecords: 1");

    raw.query("LOAD refused");
    raw.expect(&packet(1, b"\xfbrefused"));
    raw.send(2, b"1,2\n");
    // The next command comes with the end of the file, in one segment.
    raw.bytes(&[packet(3, b""), packet(0, b"\x0e")].concat());
    assert_eq!(raw.receive_error().0, 4, "the error comes after the file");
    raw.expect(b"\x07\0\0\x01\0\0\0\x02\0\0\0");

    let mut raw = Raw::root(server.port);
    raw.query("LOAD data.csv");
    assert_eq!(raw.receive_error().1, 3948);
}

#[test]
fn packets_over_sixteen_megabytes_pass_in_both_directions() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    const FULL: usize = 0xff_ffff;
    for text_size in [FULL - 5 - 1, FULL - 5, 2 * FULL - 6, 2 * FULL + 100] {
        let mut payload = b"\x03ECHO ".to_vec();
        payload.resize(6 + text_size, b'x');
        let mut sequence = 0;
        let mut rest = &payload[..];
        loop {
            let (part, tail) = rest.split_at(rest.len().min(FULL));
            raw.send(sequence, part);
            sequence += 1;
            rest = tail;
            if part.len() < FULL {
                break;
            }
        }
        let (first, _) = raw.receive();
        assert_eq!(first, sequence);
        raw.receive();
        raw.receive();
        let mut row = Vec::new();
        loop {
            let (_, part) = raw.receive();
            row.extend_from_slice(&part);
            if part.len() < FULL {
                break;
            }
        }
        let head = if text_size < 1 << 24 { 4 } else { 9 };
        assert_eq!(row.len(), head + text_size);
        assert!(row[head..].iter().all(|byte| *byte == b'x'));
        raw.receive();
    }
}

#[test]
fn a_large_result_is_sent_while_it_is_made() {
    let server = Running::start();
    let mut raw = Raw::root(server.port);
    raw.query("LARGE 2000");
    for _ in 0..3 {
        raw.receive();
    }
    for number in 0..2000usize {
        let (sequence, row) = raw.receive();
        assert_eq!(usize::from(sequence), (4 + number) % 256);
        assert_eq!(row.len(), 10_003);
        assert_eq!(row[3], b'a' + (number % 26) as u8);
    }
    raw.receive();
    raw.ping();
}

#[test]
fn traffic_is_counted() {
    let server = Running::start();
    Raw::root(server.port).ping();
    eventually("the bytes of a login and a ping", || {
        server.fake.received.load(std::sync::atomic::Ordering::SeqCst) > 60
    });
}
