use proptest::prelude::*;

use super::*;

const LIMIT: usize = 64 << 20;

fn receive(reader: &mut PacketReader, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let room = reader.room();
        let count = room.len().min(rest.len());
        room[..count].copy_from_slice(&rest[..count]);
        reader.received(count);
        rest = &rest[count..];
    }
}

fn next(reader: &mut PacketReader) -> Option<Vec<u8>> {
    let range = reader.next(LIMIT).unwrap()?;
    Some(reader.payload(range).to_vec())
}

#[test]
fn payloads_around_the_continuation_limit_come_back_as_they_went() {
    for size in [0, 1, PAYLOAD_SIZE_MAX - 1, PAYLOAD_SIZE_MAX, PAYLOAD_SIZE_MAX + 1, 2 * PAYLOAD_SIZE_MAX + 5] {
        let payload: Vec<u8> = (0..size).map(|position| (position % 251) as u8).collect();
        let mut writer = PacketWriter::default();
        writer.packet(&payload);
        writer.packet(b"next");
        let packets = size / PAYLOAD_SIZE_MAX + 1;
        assert_eq!(usize::from(writer.sequence), packets + 1, "packets of {size} bytes");
        assert_eq!(writer.unsent().len(), size + packets * HEADER_SIZE + 8);
        let mut reader = PacketReader::default();
        receive(&mut reader, writer.unsent());
        assert!(next(&mut reader) == Some(payload), "payload of {size} bytes");
        assert_eq!(next(&mut reader).as_deref(), Some(&b"next"[..]));
        assert!(reader.is_empty());
    }
}

#[test]
fn a_payload_that_arrives_byte_by_byte_is_whole_only_at_its_last_byte() {
    let mut reader = PacketReader::default();
    let bytes = [3, 0, 0, 0, b'a', b'b', b'c'];
    for byte in &bytes[..6] {
        receive(&mut reader, std::slice::from_ref(byte));
        assert_eq!(next(&mut reader), None);
    }
    receive(&mut reader, &bytes[6..]);
    assert_eq!(next(&mut reader).as_deref(), Some(&b"abc"[..]));
    assert_eq!(reader.sequence, 1);
}

#[test]
fn a_length_over_the_limit_is_refused_before_anything_is_allocated() {
    let mut reader = PacketReader::default();
    receive(&mut reader, &[0xff, 0xff, 0xff, 0]);
    assert_eq!(reader.next(1000), Err(PacketError::TooLarge));
    assert!(reader.room().len() < 10_000);
}

#[test]
fn the_limit_counts_all_parts_of_a_continued_payload() {
    let mut reader = PacketReader::default();
    receive(&mut reader, &[0xff, 0xff, 0xff, 0]);
    receive(&mut reader, &vec![0; PAYLOAD_SIZE_MAX]);
    assert_eq!(reader.next(PAYLOAD_SIZE_MAX + 10), Ok(None));
    receive(&mut reader, &[11, 0, 0, 1]);
    assert_eq!(reader.next(PAYLOAD_SIZE_MAX + 10), Err(PacketError::TooLarge));
}

#[test]
fn a_wrong_sequence_number_is_noticed() {
    let mut reader = PacketReader::default();
    receive(&mut reader, &[0, 0, 0, 1]);
    assert_eq!(reader.next(LIMIT), Err(PacketError::OutOfOrder));
}

#[test]
fn room_grows_with_what_arrived_only() {
    let mut reader = PacketReader::default();
    receive(&mut reader, &[0xff, 0xff, 0xff, 0, 1, 2, 3]);
    assert_eq!(reader.next(LIMIT), Ok(None));
    assert!(reader.room().len() <= 8192);
}

#[test]
fn an_unread_rest_moves_to_another_reader() {
    let (mut from, mut to) = (PacketReader::default(), PacketReader::default());
    receive(&mut from, &[1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b']);
    assert_eq!(next(&mut from).as_deref(), Some(&b"a"[..]));
    from.hand_over(&mut to);
    assert!(from.is_empty());
    assert_eq!(next(&mut to).as_deref(), Some(&b"b"[..]));
}

#[test]
fn illegal_length_bytes_are_malformed() {
    for bytes in [&[0xfb][..], &[0xff], &[0xfc, 1], &[0xfd, 1, 2], &[0xfe, 1, 2, 3, 4, 5, 6, 7], &[]] {
        assert_eq!(Payload::new(bytes).length(), Err(Malformed), "{bytes:?}");
    }
    assert_eq!(Payload::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).length_bytes(), Err(Malformed));
    assert_eq!(Payload::new(b"no end").terminated(), Err(Malformed));
}

#[test]
fn a_buffer_that_grows_is_reckoned_with_its_copy() {
    let mut reader = PacketReader::default();
    reader.give_buffer(vec![0; 1 << 20]);
    assert_eq!(reader.bytes_for_room(), 1 << 20);
    reader.room();
    reader.received(1 << 20);
    assert_eq!(reader.bytes_for_room(), 3 << 20, "the old one and one twice as large");
    reader.room();
    assert_eq!(reader.bytes_for_room(), 2 << 20, "the old one is gone");
}

proptest! {
    #[test]
    fn lengths_survive(length: u64) {
        let mut bytes = Vec::new();
        append_length(&mut bytes, length);
        prop_assert_eq!(Payload::new(&bytes).length(), Ok(length));
    }

    #[test]
    fn arbitrary_bytes_never_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut reader = PacketReader::default();
        'stream: for chunk in chunks {
            receive(&mut reader, &chunk);
            loop {
                match reader.next(1 << 16) {
                    Ok(Some(range)) => {
                        let mut payload = Payload::new(reader.payload(range));
                        while payload.length_bytes().is_ok() || payload.terminated().is_ok() {}
                        reader.sequence = 0;
                    }
                    Ok(None) => break,
                    Err(_) => break 'stream,
                }
            }
        }
    }
}
