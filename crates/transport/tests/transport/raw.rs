//! A peer made of a plain socket: the wire format, written down a second time.

use std::io::{Read, Write};
use std::net::TcpStream;

use shoal_transport::Hello;
use shoal_types::NodeId;

pub fn second_node() -> Hello {
    Hello { cluster: "test".into(), node: NodeId(2), incarnation: 1, ..Hello::default() }
}

/// Node 2, incarnation 1, which reads only when it is told to.
pub fn slow_peer(address: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    greet(&mut socket, &second_node());
    ready(&mut socket);
    socket
}

pub fn frame(class: u8, payload: &[u8]) -> Vec<u8> {
    let is_of_handshake = (7..=9).contains(&class);
    let clock = if is_of_handshake { Vec::new() } else { 0_u64.to_le_bytes().to_vec() };
    let mut rest = ((12 + clock.len() + payload.len()) as u32).to_le_bytes().to_vec();
    rest.extend_from_slice(&[class, 0, 0, 0]);
    rest.extend_from_slice(&0_u64.to_le_bytes());
    rest.extend_from_slice(&clock);
    rest.extend_from_slice(payload);
    [crc32c(&rest).to_le_bytes().to_vec(), rest].concat()
}

/// Bit by bit, from the polynomial.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1)))
    })
}

pub fn hello(hello: &Hello) -> Vec<u8> {
    let mut bytes = b"SHOL\x01\x00".to_vec();
    bytes.extend_from_slice(&hello.node.0.to_le_bytes());
    bytes.push(hello.roles);
    bytes.extend_from_slice(&hello.version.to_le_bytes());
    for word in
        [hello.cluster_id, hello.config_generation, hello.config_hash, hello.incarnation, hello.wall_clock_us]
    {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&hello.lane.to_le_bytes());
    bytes.extend_from_slice(&hello.lanes.max(1).to_le_bytes());
    bytes.extend_from_slice(&(hello.cluster.len() as u16).to_le_bytes());
    bytes.extend_from_slice(hello.cluster.as_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

/// Class and payload of the next frame.
pub fn read(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 20];
    socket.read_exact(&mut header).unwrap();
    let length = u32::from_le_bytes(header[4..8].try_into().unwrap()) as usize;
    let mut payload = vec![0; length - 12];
    socket.read_exact(&mut payload).unwrap();
    if !(7..=9).contains(&header[8]) {
        payload.drain(..8);
    }
    (header[8], payload)
}

/// The handshake but for its last word.
pub fn greet(socket: &mut TcpStream, theirs: &Hello) {
    socket.write_all(&frame(7, &hello(theirs))).unwrap();
    assert_eq!(read(socket).0, 7, "a hello");
}

pub fn ready(socket: &mut TcpStream) {
    socket.write_all(&frame(8, b"")).unwrap();
}
