//! The frame: the unit that travels on a link.
//!
//! ```text
//! checksum  u32   crc32c over everything that follows
//! length    u32   bytes that follow this field: 12 + the clock's + the payload's
//! class     u8    what the transport does with it (`Class`)
//! kind      u8    what the handler does with it; the transport does not look at it
//! reserved  u16   0
//! call      u64   the call that the frame belongs to; 0 for one-way frames
//! clock     u64   the sender's hybrid logical clock, as the handler has it; not in the frames of a handshake
//! payload
//! ```
//! Integers are little-endian. The length is judged before anything is allocated for it, and a frame with a wrong length,
//! class or checksum ends its link: whatever follows on that link cannot be trusted.

/// Bytes of checksum and length.
const PREFIX_BYTES: usize = 8;
/// Bytes before the clock, or before the payload where there is none.
const FIXED_BYTES: usize = 20;
const CLOCK_BYTES: usize = 8;
/// Bytes before the payload, at most.
pub const HEADER_BYTES: usize = FIXED_BYTES + CLOCK_BYTES;
/// The largest payload of a frame.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// One way: nobody answers.
    Message = 0,
    Request = 1,
    Reply = 2,
    /// The handler dropped the request; the payload says why, as text.
    Unanswered = 3,
    /// The caller no longer waits for the reply.
    Cancel = 4,
    Ping = 5,
    Pong = 6,
    /// First frame of each side.
    Hello = 7,
    /// The side that dialled accepts the other's hello: the link is up.
    Ready = 8,
    /// The link is refused; the payload says why, as text.
    Refused = 9,
    /// The same, for a while.
    KeptAway = 10,
}

impl Class {
    /// Frames of a handshake have none, so that nodes of all versions can read why they are refused.
    fn has_clock(self) -> bool {
        !matches!(self, Class::Hello | Class::Ready | Class::Refused | Class::KeptAway)
    }

    fn header_bytes(self) -> usize {
        FIXED_BYTES + if self.has_clock() { CLOCK_BYTES } else { 0 }
    }

    fn from_byte(byte: u8) -> Option<Class> {
        Some(match byte {
            0 => Class::Message,
            1 => Class::Request,
            2 => Class::Reply,
            3 => Class::Unanswered,
            4 => Class::Cancel,
            5 => Class::Ping,
            6 => Class::Pong,
            7 => Class::Hello,
            8 => Class::Ready,
            9 => Class::Refused,
            10 => Class::KeptAway,
            _ => return None,
        })
    }
}

/// What a frame says besides its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub class: Class,
    pub kind: u8,
    pub call: u64,
    /// Zero in a handshake.
    pub clock: u64,
}

impl Head {
    pub(crate) fn of(class: Class) -> Head {
        Head { class, kind: 0, call: 0, clock: 0 }
    }
}

/// A received frame; its payload lies in the buffer that it was read into.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub head: Head,
    pub payload: &'a [u8],
}

/// Why received bytes are not a frame. The text is for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame claims {length} bytes; between 12 and {limit} are allowed")]
    Length { length: usize, limit: usize },
    #[error(
        "a frame's checksum is {found:08x} and its content's is {computed:08x}: bytes were damaged on the way"
    )]
    Checksum { found: u32, computed: u32 },
    #[error("a frame has the unknown class {0}")]
    Class(u8),
}

/// A payload of this many bytes is larger than `PAYLOAD_BYTES_MAX`; nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge(pub usize);

/// Takes a half-written frame back if its payload's writer panics.
struct Unfinished<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.buffer.truncate(self.start);
    }
}

/// Appends a frame to `buffer`; `payload` appends the payload, which nothing in `head` is older than.
pub(crate) fn append(
    buffer: &mut Vec<u8>,
    head: Head,
    payload: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TooLarge> {
    let start = buffer.len();
    let header_bytes = head.class.header_bytes();
    let mut header = [0; HEADER_BYTES];
    header[8] = head.class as u8;
    header[9] = head.kind;
    header[12..20].copy_from_slice(&head.call.to_le_bytes());
    header[FIXED_BYTES..].copy_from_slice(&head.clock.to_le_bytes());
    match head.class.has_clock() {
        true => buffer.extend_from_slice(&header),
        false => buffer.extend_from_slice(&header[..FIXED_BYTES]),
    }
    let unfinished = Unfinished { buffer, start };
    payload(unfinished.buffer);
    let payload_bytes = unfinished.buffer.len() - start - header_bytes;
    if payload_bytes > PAYLOAD_BYTES_MAX {
        return Err(TooLarge(payload_bytes));
    }
    let frame = &mut unfinished.buffer[start..];
    let length = (frame.len() - PREFIX_BYTES) as u32;
    frame[4..8].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32c::crc32c(&frame[4..]);
    frame[..4].copy_from_slice(&checksum.to_le_bytes());
    std::mem::forget(unfinished);
    Ok(())
}

/// The frame at the beginning of `bytes` and its size, or `None` if more bytes are needed. `payload_bytes_max` is what the
/// reader is ready to take.
pub(crate) fn decode(bytes: &[u8], payload_bytes_max: usize) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let Some((prefix, _)) = bytes.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let word = |at: usize| u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]);
    let length = word(4) as usize;
    let limit = payload_bytes_max + HEADER_BYTES - PREFIX_BYTES;
    if !(FIXED_BYTES - PREFIX_BYTES..=limit).contains(&length) {
        return Err(FrameError::Length { length, limit });
    }
    let size = PREFIX_BYTES + length;
    let Some(frame) = bytes.get(..size) else { return Ok(None) };
    let (found, computed) = (word(0), crc32c::crc32c(&frame[4..]));
    if found != computed {
        return Err(FrameError::Checksum { found, computed });
    }
    let class = Class::from_byte(frame[8]).ok_or(FrameError::Class(frame[8]))?;
    let Some(payload) = frame.get(class.header_bytes()..) else {
        return Err(FrameError::Length { length, limit });
    };
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&frame[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let clock = if class.has_clock() { word(FIXED_BYTES) } else { 0 };
    let head = Head { class, kind: frame[9], call: word(12), clock };
    Ok(Some((Frame { head, payload }, size)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let clock = 0x1112_1314_1516_1718;
        let head = Head { class: Class::Request, kind: 7, call: 0x0102_0304_0506_0708, clock };
        append(&mut bytes, head, |buffer| buffer.extend_from_slice(payload)).unwrap();
        bytes
    }

    #[test]
    fn the_layout_on_the_wire_is_as_the_module_head_says() {
        let bytes = frame(b"ab");
        assert_eq!(bytes[4..8], [22, 0, 0, 0]);
        assert_eq!(bytes[8..20], [1, 7, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[20..], [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, b'a', b'b']);
        assert_eq!(bytes[..4], crc32c::crc32c(&bytes[4..]).to_le_bytes());
        let mut hello = Vec::new();
        append(&mut hello, Head { clock: 5, ..Head::of(Class::Hello) }, |buffer| buffer.push(b'h')).unwrap();
        assert_eq!(hello[8..], [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'h']);
        let (decoded, _) = decode(&hello, PAYLOAD_BYTES_MAX).unwrap().unwrap();
        assert_eq!((decoded.payload, decoded.head.clock), (&b"h"[..], 0));
    }

    #[test]
    fn a_frame_too_short_for_its_clock_is_none() {
        for length in 12..20_u32 {
            let mut bytes = vec![0; 8 + length as usize];
            bytes[4..8].copy_from_slice(&length.to_le_bytes());
            let checksum = crc32c::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&checksum.to_le_bytes());
            assert!(matches!(decode(&bytes, 100), Err(FrameError::Length { .. })), "{length}");
        }
    }

    #[test]
    fn every_prefix_of_a_frame_asks_for_more() {
        let bytes = frame(b"payload");
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length], PAYLOAD_BYTES_MAX), Ok(None), "{length} bytes");
        }
        let (decoded, size) = decode(&bytes, PAYLOAD_BYTES_MAX).unwrap().unwrap();
        assert_eq!((decoded.payload, decoded.head.kind, size), (&b"payload"[..], 7, bytes.len()));
    }

    #[test]
    fn a_flipped_bit_anywhere_is_never_taken_for_a_frame() {
        let bytes = frame(b"payload");
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(decode(&damaged, PAYLOAD_BYTES_MAX), Ok(Some(_))), "bit {bit}");
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_before_the_bytes_arrive() {
        let mut bytes = frame(&[0; 101]);
        bytes.truncate(8);
        assert_eq!(decode(&bytes, 100), Err(FrameError::Length { length: 121, limit: 120 }));
        bytes[4..8].copy_from_slice(&11_u32.to_le_bytes());
        assert_eq!(decode(&bytes, 100), Err(FrameError::Length { length: 11, limit: 120 }));
    }

    #[test]
    fn a_payload_beyond_the_bound_leaves_the_buffer_as_it_was() {
        let mut buffer = frame(b"first");
        let before = buffer.clone();
        let too_large = append(&mut buffer, Head::of(Class::Message), |buffer| {
            buffer.resize(buffer.len() + PAYLOAD_BYTES_MAX + 1, 0);
        });
        assert_eq!(too_large, Err(TooLarge(PAYLOAD_BYTES_MAX + 1)));
        assert_eq!(buffer, before);
    }

    #[test]
    fn a_payload_whose_writer_panics_leaves_the_buffer_as_it_was() {
        let mut buffer = frame(b"first");
        let before = buffer.clone();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = append(&mut buffer, Head::of(Class::Message), |buffer| {
                buffer.push(1);
                panic!("on purpose");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(buffer, before);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic_the_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, PAYLOAD_BYTES_MAX);
        }
    }
}
