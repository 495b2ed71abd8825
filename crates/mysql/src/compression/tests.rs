use flate2::{Compress, FlushCompress};
use proptest::prelude::*;
use zstd::zstd_safe::CCtx;

use super::*;

const LIMIT: usize = 64 << 20;
const METHODS: [Method; 3] = [
    Method { algorithm: Algorithm::Zlib, level: 6 },
    Method { algorithm: Algorithm::Zstd, level: 3 },
    Method { algorithm: Algorithm::Zstd, level: 22 },
];

fn side(method: Method, codecs: &Rc<Codecs>) -> Compression {
    let mut side = Compression::new(method, Rc::clone(codecs), false);
    side.expect_command(LIMIT);
    side
}

/// All that comes out of `wire`, which arrives in pieces of `piece` bytes.
fn read_all(from: &mut Compression, wire: &[u8], piece: usize) -> Result<Vec<u8>, PacketError> {
    let (mut plain, mut room) = (Vec::new(), [0; 1000]);
    for bytes in wire.chunks(piece) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let free = from.room();
            let count = free.len().min(rest.len());
            free[..count].copy_from_slice(&rest[..count]);
            from.received(count);
            rest = &rest[count..];
        }
        loop {
            match from.read(&mut room)? {
                0 => break,
                count => plain.extend_from_slice(&room[..count]),
            }
        }
        from.rest();
    }
    Ok(plain)
}

fn write_all(into: &mut Compression, plain: &[u8]) -> Vec<u8> {
    let (mut wire, mut rest) = (Vec::new(), plain);
    while !rest.is_empty() {
        match into.write(rest, |_| None) {
            0 => {
                wire.extend_from_slice(into.unsent());
                into.sent(into.unsent().len());
            }
            count => rest = &rest[count..],
        }
    }
    wire.extend_from_slice(into.unsent());
    into.sent(into.unsent().len());
    wire
}

fn packet(sequence: u8, contents: &[u8], plain_size: usize) -> Vec<u8> {
    let (size, plain) = ((contents.len() as u32).to_le_bytes(), (plain_size as u32).to_le_bytes());
    [&size[..3], &[sequence], &plain[..3], contents].concat()
}

fn compressed(algorithm: Algorithm, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(plain.len() + 1000);
    match algorithm {
        Algorithm::Zlib => {
            let mut deflate = Compress::new(flate2::Compression::new(6), true);
            deflate.compress_vec(plain, &mut out, FlushCompress::Finish).unwrap();
        }
        Algorithm::Zstd => {
            CCtx::try_create().unwrap().compress(&mut out, plain, 3).unwrap();
        }
    }
    out
}

fn error_of(algorithm: Algorithm, wire: &[u8], limit: usize) -> Option<PacketError> {
    let mut reader = Compression::new(Method { algorithm, level: 3 }, Rc::default(), false);
    reader.expect_command(limit);
    read_all(&mut reader, wire, wire.len().max(1)).err()
}

#[test]
fn what_is_written_is_read_however_it_arrives() {
    let texts = [vec![], vec![7], b"abc".repeat(40_000), (0..300_000u32).flat_map(u32::to_le_bytes).collect()];
    for method in METHODS {
        let codecs = Rc::default();
        let (mut writer, mut reader) = (side(method, &codecs), side(method, &codecs));
        for text in &texts {
            let wire = write_all(&mut writer, text);
            for piece in [1, 6, 100, 1 << 20] {
                let mut other = side(method, &codecs);
                other.sequence = reader.sequence;
                assert!(
                    read_all(&mut other, &wire, piece).unwrap() == *text,
                    "{method:?} {} in {piece}",
                    text.len()
                );
            }
            assert!(read_all(&mut reader, &wire, 5000).unwrap() == *text);
            assert_eq!(reader.sequence, writer.sequence);
        }
        assert!(write_all(&mut writer, &texts[2]).len() < 5000);
    }
}

#[test]
fn short_and_incompressible_contents_stay_as_they_are() {
    for method in METHODS {
        let mut writer = side(method, &Rc::default());
        assert_eq!(write_all(&mut writer, &[b'a'; 149]), packet(0, &[b'a'; 149], 0));
        let mut random = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as u8
        })
        .take(10_000)
        .collect();
        assert!(write_all(&mut writer, &noise) == packet(1, &noise, 0));
    }
}

#[test]
fn an_idle_side_keeps_no_buffer() {
    let codecs = Rc::default();
    let mut one = side(METHODS[1], &codecs);
    let wire = write_all(&mut one, &b"abc".repeat(100_000));
    one.sequence = 0;
    read_all(&mut one, &wire, 3000).unwrap();
    assert_eq!((one.held_bytes(), one.unsent().len()), (0, 0));
}

#[test]
fn wrong_numbers_and_lengths_beyond_the_limit_are_refused_by_the_header() {
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let contents = compressed(algorithm, b"hello");
        assert_eq!(error_of(algorithm, &packet(0, &contents, 5), 1000), None);
        assert_eq!(error_of(algorithm, &packet(1, &contents, 5), 1000), Some(PacketError::OutOfOrder));
        let next = [packet(0, &contents, 5), packet(0, &contents, 5)].concat();
        assert_eq!(error_of(algorithm, &next, 1000), Some(PacketError::OutOfOrder));
        for lie in [&[255, 255, 255, 0, 5, 0, 0][..], &[5, 0, 0, 0, 255, 255, 255], &[255, 255, 255, 0, 0, 0, 0]] {
            assert_eq!(error_of(algorithm, lie, 1000), Some(PacketError::TooLarge));
            assert_eq!(error_of(algorithm, lie, LIMIT), None);
        }
    }
}

#[test]
fn contents_that_become_more_or_less_than_promised_are_spoilt() {
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
        let plain = vec![b'x'; 5000];
        let contents = compressed(algorithm, &plain);
        let is_spoilt = |contents: &[u8], size| {
            assert_eq!(error_of(algorithm, &packet(0, contents, size), LIMIT), Some(PacketError::Spoilt));
        };
        for size in [1, 4999, 5001, (16 << 20) - 1] {
            is_spoilt(&contents, size);
        }
        is_spoilt(&[&contents[..], b"!"].concat(), 5000);
        is_spoilt(&contents[..contents.len() - 1], 5000);
        is_spoilt(&[], 5000);
        is_spoilt(b"no stream of any kind", 5000);
        // A bomb stops where it has become as large as it said.
        let bomb = compressed(algorithm, &vec![0; 100 << 20]);
        assert_eq!(error_of(algorithm, &packet(0, &bomb, 1000), 1 << 20), Some(PacketError::Spoilt));
    }
}

#[test]
fn several_packets_share_a_compressed_one_and_one_lies_in_several() {
    let codecs = Rc::default();
    let mut reader = side(METHODS[0], &codecs);
    let parts = [&b"one"[..], b"", &[b'y'; 5000], b"three"];
    let mut wire = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        wire.extend(match part.len() {
            0 => packet(number as u8, b"", 0),
            size => packet(number as u8, &compressed(Algorithm::Zlib, part), size),
        });
    }
    assert_eq!(read_all(&mut reader, &wire, 10).unwrap(), parts.concat());
    assert_eq!(reader.sequence, 4);
    reader.expect_command(LIMIT);
    assert_eq!(reader.sequence, 0);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..10),
        sizes in prop::collection::vec(0usize..400, 10),
        zlib: bool,
    ) {
        let algorithm = if zlib { Algorithm::Zlib } else { Algorithm::Zstd };
        let wire: Vec<u8> = chunks.iter().zip(&sizes).enumerate().flat_map(|(number, (chunk, size))| packet(number as u8, chunk, *size)).collect();
        error_of(algorithm, &wire, 1000);
        error_of(algorithm, &chunks.concat(), LIMIT);
    }

    #[test]
    fn a_spoilt_byte_is_an_error_or_other_text_and_never_a_panic(
        text in prop::collection::vec(b'a'..b'f', 100..3000),
        at: prop::sample::Index,
        flip in 1u8..=255,
        zlib: bool,
        piece in 1usize..200,
    ) {
        let method = METHODS[usize::from(!zlib)];
        let mut wire = write_all(&mut side(method, &Rc::default()), &text);
        let place = at.index(wire.len());
        wire[place] ^= flip;
        let mut reader = side(method, &Rc::default());
        if let Ok(read) = read_all(&mut reader, &wire, piece) {
            prop_assert!(read.len() <= 20 << 20);
        }
    }
}
