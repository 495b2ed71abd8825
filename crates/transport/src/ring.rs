//! A ring of bytes in memory that two processes share: one writes, the other reads, neither makes a system call.
//!
//! ```text
//! offset    0   written   u64   bytes that the writer has put in since the beginning
//!          64   read      u64   bytes that the reader has taken out
//!         128   asleep    u32   1: the reader sleeps, and wants the bell when there is something to read
//!         192   waits     u32   1: the writer waits for room, and wants the bell when there is some
//!         256   data      the capacity, a power of two
//! ```
//! Each end keeps its own position privately and only publishes it; what the other end publishes is judged on every look,
//! because the other process may be broken. A position that cannot be ends the link. Bytes are copied out before anybody looks at
//! them, so what the other process does to them later does not matter.
//!
//! Nobody misses the bell: the reader sets `asleep`, then looks once more; the writer publishes, then looks at `asleep`. Between
//! its two steps each has a sequentially consistent fence, so at least one of them sees what the other did (the same for `waits`).

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

const READ_AT: usize = 64;
const ASLEEP_AT: usize = 128;
const WAITS_AT: usize = 192;
const DATA_AT: usize = 256;

/// Bytes of memory that a ring of `capacity` bytes takes.
pub(crate) const fn ring_bytes(capacity: usize) -> usize {
    DATA_AT + capacity
}

/// Memory that holds rings. Its address does not change, and it stays until the value is dropped.
///
/// # Safety
/// `bytes` must be readable and writable memory, aligned to 64 bytes, that nothing else in this process refers to but
/// the rings that are made of it.
pub(crate) unsafe trait RingMemory: Send + Sync + 'static {
    fn bytes(&self) -> NonNull<[u8]>;
}

/// The other end published a position that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the other process has broken the shared memory: {written} bytes written and {read} read of a ring of {capacity}"
)]
pub(crate) struct BrokenRing {
    written: u64,
    read: u64,
    capacity: usize,
}

/// One ring within its memory.
struct Ring {
    start: NonNull<u8>,
    capacity: usize,
    /// Keeps the memory there.
    _memory: Arc<dyn RingMemory>,
}

// SAFETY: all that is shared is reached through atomics, and the data by one writer and one reader, each of which is
// one value that its owner uses by `&mut`.
unsafe impl Send for Ring {}

impl Ring {
    fn new(memory: Arc<dyn RingMemory>, offset: usize, capacity: usize) -> Ring {
        let bytes = memory.bytes();
        assert!(capacity.is_power_of_two() && offset.is_multiple_of(64), "rings are aligned");
        assert!(offset + ring_bytes(capacity) <= bytes.len(), "a ring lies within its memory");
        // SAFETY: the offset lies within the memory.
        let start = unsafe { bytes.cast::<u8>().add(offset) };
        Ring { start, capacity, _memory: memory }
    }

    fn written(&self) -> &AtomicU64 {
        // SAFETY: within the memory, aligned, and only ever used as an atomic.
        unsafe { self.start.cast().as_ref() }
    }

    fn read(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.start.add(READ_AT).cast().as_ref() }
    }

    fn asleep(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.start.add(ASLEEP_AT).cast().as_ref() }
    }

    fn waits(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.start.add(WAITS_AT).cast().as_ref() }
    }

    /// Bytes in the ring between two positions, one of which came from outside.
    fn filled(&self, written: u64, read: u64) -> Result<usize, BrokenRing> {
        let filled = written.wrapping_sub(read);
        if filled > self.capacity as u64 {
            return Err(BrokenRing { written, read, capacity: self.capacity });
        }
        Ok(filled as usize)
    }

    /// The data from `position` on: up to the ring's end, and from its beginning.
    fn pieces(&self, position: u64, length: usize) -> [(NonNull<u8>, usize); 2] {
        let at = position as usize & (self.capacity - 1);
        let first = length.min(self.capacity - at);
        // SAFETY: `at` is below the capacity.
        unsafe {
            let data = self.start.add(DATA_AT);
            [(data.add(at), first), (data, length - first)]
        }
    }
}

/// The end that puts bytes in.
pub(crate) struct Writer {
    ring: Ring,
    written: u64,
}

/// What `Writer::write` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub bytes: usize,
    /// The reader sleeps: ring for it.
    pub ring_bell: bool,
}

impl Writer {
    /// The writer of a ring that nobody has used.
    ///
    /// # Safety
    /// The ring has no other writer, in any process that behaves.
    pub(crate) unsafe fn new(memory: Arc<dyn RingMemory>, offset: usize, capacity: usize) -> Writer {
        Writer { ring: Ring::new(memory, offset, capacity), written: 0 }
    }

    fn room(&self) -> Result<usize, BrokenRing> {
        let read = self.ring.read().load(Ordering::Acquire);
        Ok(self.ring.capacity - self.ring.filled(self.written, read)?)
    }

    /// Puts in what there is room for. If that is not all, the bell will ring when there is more room.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<Written, BrokenRing> {
        let mut done = self.write_some(bytes)?;
        if done < bytes.len() {
            self.ring.waits().store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            // What was taken out before it could see that somebody waits.
            done += self.write_some(&bytes[done..])?;
        }
        fence(Ordering::SeqCst);
        let asleep = self.ring.asleep();
        let ring_bell = done > 0 && asleep.load(Ordering::Relaxed) == 1 && asleep.swap(0, Ordering::Relaxed) == 1;
        Ok(Written { bytes: done, ring_bell })
    }

    fn write_some(&mut self, bytes: &[u8]) -> Result<usize, BrokenRing> {
        let length = bytes.len().min(self.room()?);
        let mut rest = bytes;
        for (place, piece) in self.ring.pieces(self.written, length) {
            let (now, later) = rest.split_at(piece);
            // SAFETY: the reader does not touch this part before `written` covers it.
            unsafe { place.copy_from_nonoverlapping(NonNull::from(now).cast(), piece) };
            rest = later;
        }
        self.written += length as u64;
        self.ring.written().store(self.written, Ordering::Release);
        Ok(length)
    }
}

/// The end that takes bytes out.
pub(crate) struct Reader {
    ring: Ring,
    read: u64,
}

impl Reader {
    /// The reader of a ring that nobody has used.
    ///
    /// # Safety
    /// The ring has no other reader, in any process that behaves.
    pub(crate) unsafe fn new(memory: Arc<dyn RingMemory>, offset: usize, capacity: usize) -> Reader {
        Reader { ring: Ring::new(memory, offset, capacity), read: 0 }
    }

    /// Whether there is something to read, or to complain of.
    pub(crate) fn has_bytes(&self) -> bool {
        self.ring.written().load(Ordering::Acquire) != self.read
    }

    /// Appends what is there to `buffer`, as far as its capacity goes, and says how much that was. `ring_bell`: the writer waits for
    /// room.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<(usize, bool), BrokenRing> {
        let written = self.ring.written().load(Ordering::Acquire);
        let length = self.ring.filled(written, self.read)?.min(buffer.capacity() - buffer.len());
        for (place, piece) in self.ring.pieces(self.read, length) {
            let end = buffer.len();
            // SAFETY: the writer does not touch this part before `read` covers it, and there is room for `piece` bytes, which
            // are initialised when the length says so.
            unsafe {
                buffer.as_mut_ptr().add(end).copy_from_nonoverlapping(place.as_ptr(), piece);
                buffer.set_len(end + piece);
            }
        }
        if length == 0 {
            return Ok((0, false));
        }
        self.read += length as u64;
        self.ring.read().store(self.read, Ordering::Release);
        fence(Ordering::SeqCst);
        let waits = self.ring.waits();
        let ring_bell = waits.load(Ordering::Relaxed) == 1 && waits.swap(0, Ordering::Relaxed) == 1;
        Ok((length, ring_bell))
    }

    /// Asks for the bell. False: there is something to read, do not sleep.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.ring.asleep().store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.has_bytes() {
            self.wake();
            return false;
        }
        true
    }

    /// Wants no bell any more.
    pub(crate) fn wake(&self) {
        self.ring.asleep().store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;
    use std::sync::mpsc;

    use super::*;

    const CAPACITY: usize = 256;

    #[repr(align(64))]
    struct Heap(UnsafeCell<[u8; ring_bytes(CAPACITY)]>);

    // SAFETY: only the rings look at it.
    unsafe impl Sync for Heap {}
    // SAFETY: as above.
    unsafe impl RingMemory for Heap {
        fn bytes(&self) -> NonNull<[u8]> {
            NonNull::slice_from_raw_parts(NonNull::from(&self.0).cast(), ring_bytes(CAPACITY))
        }
    }

    fn ring() -> (Writer, Reader) {
        let memory: Arc<dyn RingMemory> = Arc::new(Heap(UnsafeCell::new([0; ring_bytes(CAPACITY)])));
        // SAFETY: one of each.
        unsafe { (Writer::new(Arc::clone(&memory), 0, CAPACITY), Reader::new(memory, 0, CAPACITY)) }
    }

    #[test]
    fn bytes_come_out_in_order_across_the_end_of_the_ring() {
        let (mut writer, mut reader) = ring();
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for round in 0..50_u8 {
            let chunk = vec![round; 100];
            let bytes = writer.write(&chunk).unwrap().bytes;
            sent.extend_from_slice(&chunk[..bytes]);
            received.reserve(77);
            let mut some = Vec::with_capacity(77);
            reader.read(&mut some).unwrap();
            received.append(&mut some);
        }
        let mut rest = Vec::with_capacity(CAPACITY);
        reader.read(&mut rest).unwrap();
        received.append(&mut rest);
        assert_eq!(received, sent);
        assert!(sent.len() > 10 * CAPACITY);
    }

    #[test]
    fn the_bell_rings_once_for_who_asked_for_it() {
        let (mut writer, mut reader) = ring();
        assert!(!writer.write(b"a").unwrap().ring_bell, "nobody sleeps");
        assert!(!reader.fall_asleep(), "there is something to read");
        let mut buffer = Vec::with_capacity(CAPACITY);
        assert_eq!(reader.read(&mut buffer), Ok((1, false)));
        assert!(reader.fall_asleep());
        assert!(writer.write(b"b").unwrap().ring_bell);
        assert!(!writer.write(b"c").unwrap().ring_bell);
        assert_eq!(writer.write(&[1; CAPACITY]).unwrap().bytes, CAPACITY - 2);
        let mut buffer = Vec::with_capacity(10);
        assert_eq!(reader.read(&mut buffer), Ok((10, true)), "the writer waits for room");
        assert_eq!(writer.write(&[2; 10]).unwrap().bytes, 10);
        let mut buffer = Vec::with_capacity(10);
        assert_eq!(reader.read(&mut buffer), Ok((10, false)));
    }

    #[test]
    fn positions_that_cannot_be_are_an_error_at_both_ends() {
        let (mut writer, mut reader) = ring();
        writer.write(b"abc").unwrap();
        writer.ring.written().store(CAPACITY as u64 + 1, Ordering::Relaxed);
        assert!(reader.has_bytes());
        assert!(reader.read(&mut Vec::with_capacity(10)).is_err());
        reader.ring.read().store(4, Ordering::Relaxed);
        assert!(writer.write(b"abc").is_err());
    }

    /// Both ends sleep whenever they can, and only a bell wakes them: one that is lost stops this for ever.
    #[test]
    fn no_bell_is_lost_between_threads() {
        const BYTES: usize = if cfg!(miri) { 2_000 } else { 2_000_000 };
        let (mut writer, mut reader) = ring();
        let (ring_reader, reader_bell) = mpsc::channel();
        let (ring_writer, writer_bell) = mpsc::channel();
        let write = move || {
            let bytes: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
            let mut rest = &bytes[..];
            let mut step = 1;
            while !rest.is_empty() {
                let wanted = rest.len().min(step);
                let Written { bytes, ring_bell } = writer.write(&rest[..wanted]).unwrap();
                if ring_bell {
                    ring_reader.send(()).unwrap();
                }
                rest = &rest[bytes..];
                if bytes < wanted {
                    writer_bell.recv().unwrap();
                }
                step = step % 600 + 7;
            }
        };
        let thread = std::thread::spawn(write);
        let mut received = 0;
        let mut buffer = Vec::with_capacity(100);
        while received < BYTES {
            buffer.clear();
            let (bytes, ring_bell) = reader.read(&mut buffer).unwrap();
            if ring_bell {
                // The writer may have ended meanwhile: the last bell is for nobody.
                let _ = ring_writer.send(());
            }
            let expected = (received..).map(|i| (i % 251) as u8);
            assert!(buffer.iter().copied().eq(expected.take(bytes)));
            received += bytes;
            if bytes == 0 && reader.fall_asleep() {
                reader_bell.recv().unwrap();
            }
        }
        thread.join().unwrap();
    }
}
