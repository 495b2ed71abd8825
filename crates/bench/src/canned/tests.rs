use super::*;
use std::io::Read;

fn start() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve_on(listener));
    TcpStream::connect(address).unwrap()
}

fn packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).unwrap();
    body
}

fn send(stream: &mut TcpStream, sequence: u8, body: &[u8]) {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes[3] = sequence;
    bytes.extend_from_slice(body);
    stream.write_all(&bytes).unwrap();
}

fn log_in(deprecate_eof: bool) -> TcpStream {
    let mut stream = start();
    assert_eq!(packet(&mut stream)[0], 10);
    let flags = if deprecate_eof { 1u32 << 24 } else { 0 };
    send(&mut stream, 1, &flags.to_le_bytes());
    assert_eq!(packet(&mut stream)[0], 0);
    stream
}

#[test]
fn a_select_has_one_row_of_119_characters() {
    let mut stream = log_in(false);
    send(&mut stream, 0, b"\x03SELECT c FROM sbtest1 WHERE id=1");
    assert_eq!(packet(&mut stream), [1]);
    assert!(packet(&mut stream).starts_with(b"\x03def"));
    assert_eq!(packet(&mut stream)[0], 0xfe);
    let row = packet(&mut stream);
    assert_eq!((row[0], row.len()), (119, 120));
    assert_eq!(packet(&mut stream)[0], 0xfe);
}

#[test]
fn a_client_that_deprecates_eof_gets_none_after_the_columns() {
    let mut stream = log_in(true);
    send(&mut stream, 0, b"\x03 select 1");
    assert_eq!(packet(&mut stream), [1]);
    packet(&mut stream);
    assert_eq!(packet(&mut stream)[0], 119);
    assert_eq!(packet(&mut stream)[0], 0xfe);
}

#[test]
fn other_statements_are_ok_and_a_prepared_one_counts_its_parameters() {
    let mut stream = log_in(true);
    send(&mut stream, 0, b"\x03BEGIN");
    assert_eq!(packet(&mut stream)[0], 0);
    send(&mut stream, 0, b"\x16UPDATE t SET c=? WHERE id=?");
    let reply = packet(&mut stream);
    assert_eq!(reply[5..9], [0, 0, 2, 0]);
    packet(&mut stream);
    packet(&mut stream);
    send(&mut stream, 0, b"\x17\x01\0\0\0\0\x01\0\0\0");
    assert_eq!(packet(&mut stream)[0], 0);
}

#[test]
fn a_packet_larger_than_the_first_buffer_is_answered() {
    let mut stream = log_in(true);
    let mut insert = b"\x03INSERT INTO t VALUES ".to_vec();
    insert.resize(100_000, b'x');
    send(&mut stream, 0, &insert);
    assert_eq!(packet(&mut stream)[0], 0);
}

#[test]
fn pipelined_queries_are_answered_in_order() {
    let mut stream = log_in(true);
    for _ in 0..3 {
        send(&mut stream, 0, b"\x0e");
    }
    for _ in 0..3 {
        assert_eq!(packet(&mut stream)[0], 0);
    }
}
