//! What holds for any bytes that a client may send before and beside its statements: headers of proxies, packets, answers to the
//! greeting, parameters. Half of the inputs are valid ones with some of their bytes changed, cut or doubled, which go further in than
//! rubbish does. (Compressed packets: `compression/tests.rs`.)

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::constants::Capabilities;
use crate::handshake::{HandshakeResponse, Introduction, LOGIN_PAYLOAD_SIZE_MAX, is_tls_request};
use crate::packet::{PacketError, PacketReader, PacketWriter, Payload};
use crate::parameters::{BoundParameters, query_attribute};
use crate::proxy::{Beginning, beginning, is_header};

/// What becomes of a valid input.
#[derive(Clone, Debug)]
enum Damage {
    Change(Index, u8),
    Cut(Index),
    Double(Index),
    Insert(Index, u8),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Change(at, byte)),
        any::<Index>().prop_map(Damage::Cut),
        any::<Index>().prop_map(Damage::Double),
        (any::<Index>(), prop_oneof![Just(0), Just(0xff), Just(0xfe), Just(0xfc)])
            .prop_map(|(at, byte)| Damage::Insert(at, byte)),
    ];
    vec(one, 0..4)
}

fn damaged(mut bytes: Vec<u8>, damage: &[Damage]) -> Vec<u8> {
    for one in damage {
        if bytes.is_empty() {
            break;
        }
        match one {
            Damage::Change(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Double(at) => bytes.extend_from_within(at.index(bytes.len())..),
            Damage::Insert(at, byte) => bytes.insert(at.index(bytes.len()), *byte),
        }
    }
    bytes
}

fn measured(bytes: &[u8]) -> Vec<u8> {
    [&[bytes.len() as u8], bytes].concat()
}

/// A client's answer to the greeting, with everything that it may hold.
fn response(capabilities: u32) -> Vec<u8> {
    let attributes = [measured(b"_client_name"), measured(b"libmysql"), measured(b"_pid"), measured(b"")].concat();
    [
        &capabilities.to_le_bytes()[..],
        &[0, 0, 0, 1, 45],
        &[0; 23],
        b"nina\0",
        &measured(&[7; 32]),
        b"test\0caching_sha2_password\0",
        &measured(&attributes),
        &[3],
    ]
    .concat()
}

const ALL: Capabilities = Capabilities(u32::MAX);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn an_answer_to_the_greeting_is_understood_or_refused(
        claimed in prop_oneof![Just(u32::MAX), Just(0x01ff_a28d), any::<u32>()],
        offered in any::<u32>(),
        is_tls in any::<bool>(),
        damage in damage(),
    ) {
        let valid = response(claimed | Capabilities::PROTOCOL_41.0);
        let payload = damaged(valid, &damage);
        is_tls_request(&payload);
        if let Ok(parsed) = HandshakeResponse::parse(&payload, Capabilities(offered), is_tls) {
            prop_assert_eq!(parsed.capabilities.0 & !offered, 0, "only what was offered");
            let introduction = &parsed.introduction;
            // Nothing becomes larger than what was sent, but for letters that were none.
            let kept = introduction.user.len() + introduction.answer.len() + introduction.plugin.len();
            prop_assert!(kept <= 3 * payload.len() + 32 && payload.len() <= LOGIN_PAYLOAD_SIZE_MAX);
            prop_assert!(introduction.attributes.len() <= payload.len());
        }
        let _ = Introduction::parse_change_user(&payload[payload.len().min(32)..], Capabilities(offered));
    }

    #[test]
    fn any_bytes_are_understood_or_refused(bytes in vec(any::<u8>(), 0..300), count in 0..70_000usize) {
        let _ = HandshakeResponse::parse(&bytes, ALL, true);
        let _ = Introduction::parse_change_user(&bytes, ALL);
        let _ = query_attribute(&mut Payload::new(&bytes), Some("a"));
        let mut values = Vec::new();
        for attributes in [false, true] {
            let mut bound = BoundParameters::default();
            let decoded = bound.decode(&mut Payload::new(&bytes), count, attributes, &mut values);
            prop_assert!(decoded.is_err() || values.len() == count);
            prop_assert!(count <= 8 * bytes.len() || decoded.is_err(), "{count} values out of {} bytes", bytes.len());
        }
    }

    #[test]
    fn parameters_are_decoded_or_refused(damage in damage(), count in 1..6usize) {
        let types = [[253, 0], [8, 0x80], [5, 0], [12, 0], [11, 0]];
        let values: [&[u8]; 5] =
            [b"\x03abc", &7u64.to_le_bytes(), &1.5f64.to_le_bytes(), &[4, 0xea, 7, 11, 24], &[8, 0, 1, 0, 0, 0, 2, 3, 4]];
        let body = [&[0, 1][..], &types[..count].concat(), &values[..count].concat()].concat();
        let mut decoded = Vec::new();
        let payload = damaged(body, &damage);
        let outcome = BoundParameters::default().decode(&mut Payload::new(&payload), count, false, &mut decoded);
        prop_assert!(outcome.is_err() || decoded.len() == count);
        prop_assert!(!damage.is_empty() || outcome.is_ok());
    }

    #[test]
    fn a_header_of_a_proxy_takes_no_more_than_there_is(damage in damage(), more in vec(any::<u8>(), 0..20)) {
        let header = [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"[..], &[10, 1, 2, 3, 10, 0, 0, 1, 0x30, 0x39, 0x0c, 0xea]].concat();
        let received = [damaged(header, &damage), more].concat();
        for end in 0..=received.len() {
            let received = &received[..end];
            if let Beginning::Header { bytes, .. } = beginning(received) {
                prop_assert!(bytes <= received.len() && is_header(received));
                // What comes behind a header does not change it.
                prop_assert_eq!(beginning(&received[..bytes]), beginning(received));
            }
        }
    }

    #[test]
    fn packets_come_out_as_they_went_in_however_they_arrive(
        payloads in vec(vec(any::<u8>(), 0..3000), 1..5),
        pieces in vec(1..2000usize, 1..40),
    ) {
        let mut writer = PacketWriter::default();
        payloads.iter().for_each(|payload| writer.packet(payload));
        let (read, error) = read_in_pieces(writer.unsent(), &pieces, 1 << 20);
        prop_assert_eq!((read, error), (payloads, None));
    }

    #[test]
    fn a_reader_of_any_bytes_ends_with_packets_or_an_error(
        bytes in vec(any::<u8>(), 0..5000),
        header in vec(any::<u8>(), 0..3),
        pieces in vec(1..2000usize, 1..10),
        limit in 0..10_000usize,
    ) {
        let wire = [&header[..], &[0, 0], &bytes].concat();
        let (read, _) = read_in_pieces(&wire, &pieces, limit);
        prop_assert!(read.iter().all(|payload| payload.len() <= limit));
        prop_assert!(read.iter().map(|payload| payload.len() + 4).sum::<usize>() <= wire.len());
    }
}

/// All packets of `wire`, which arrives in pieces of these sizes over and over, and what ended the connection.
fn read_in_pieces(wire: &[u8], pieces: &[usize], limit: usize) -> (Vec<Vec<u8>>, Option<PacketError>) {
    let (mut reader, mut read) = (PacketReader::default(), Vec::new());
    let mut rest = wire;
    let mut sizes = pieces.iter().cycle();
    loop {
        loop {
            match reader.next(limit) {
                Ok(Some(range)) => read.push(reader.payload(range).to_vec()),
                Ok(None) => break,
                Err(error) => return (read, Some(error)),
            }
        }
        // Its memory follows what has come, not what a header says.
        assert!(!reader.is_larger_than(2 * wire.len() + (16 << 10)));
        if rest.is_empty() {
            return (read, None);
        }
        let room = reader.room();
        let count = rest.len().min(room.len()).min(*sizes.next().unwrap_or(&1));
        room[..count].copy_from_slice(&rest[..count]);
        reader.received(count);
        rest = &rest[count..];
    }
}
