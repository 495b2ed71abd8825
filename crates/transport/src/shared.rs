//! A link's bytes in memory that both processes share: two rings, and the socket of the link as their bell.
//!
//! For nodes of one host. The side that dials makes the memory and passes it over the Unix socket with the handshake's last frame; from then on
//! frames go through the rings. The socket carries bells only, one byte each: for a reader that sleeps, and for a writer that waits
//! for room. It also says when the other process is gone, as any socket does.
//!
//! A worker that is awake needs no bell: its loop (`worker_loop`) looks into the rings (`look`), and asks for the bell only when the thread really
//! sleeps (`fall_asleep`, `wake`). In other threads a reader asks for it whenever it has nothing to read. A worker whose tasks
//! leave it no time to be idle looks all the same: between its pieces of work (`look_in_passing`).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use socket2::SockRef;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;

use crate::ring::{Reader, RingMemory, Writer, ring_bytes};

/// Bytes on their way in one direction; more wait with the sender. Small enough to stay in a core's cache.
const CAPACITY: usize = 256 << 10;
const MEMORY_BYTES: usize = 2 * ring_bytes(CAPACITY);
const BELL: [u8; 1] = [1];

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Memory of a file without a name, mapped.
struct Mapping {
    start: NonNull<u8>,
}

// SAFETY: it is only an address; what is there belongs to the rings.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}
// SAFETY: the mapping is this value's own, page-aligned, and no file behind it can shrink (`Mapping::of`).
unsafe impl RingMemory for Mapping {
    fn bytes(&self) -> NonNull<[u8]> {
        NonNull::slice_from_raw_parts(self.start, MEMORY_BYTES)
    }
}

impl Mapping {
    /// Maps a file that is as large as it should be, and stays so.
    fn of(file: BorrowedFd<'_>) -> io::Result<Mapping> {
        let seals = rustix::fs::fcntl_get_seals(file)?;
        if !seals.contains(SealFlags::SHRINK) || rustix::fs::fstat(file)?.st_size != MEMORY_BYTES as i64 {
            return Err(invalid("the shared memory of the other process is of another size"));
        }
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), MEMORY_BYTES, flags, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `of` with this size; the rings that used it are gone.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), MEMORY_BYTES) };
    }
}

/// Memory for the two rings of a link, which this process is able to map; its descriptor is passed to the other process.
pub(crate) fn make_memory() -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("shoal-link", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, MEMORY_BYTES as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Mapping::of(file.as_fd())?;
    Ok(file)
}

/// The two ends of a link here. `is_maker`: this side made the memory. It must be new: passed on once, to the other side.
pub(crate) fn open(
    memory: &OwnedFd,
    is_maker: bool,
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
) -> io::Result<(SharedReadHalf, SharedWriteHalf)> {
    let mapping: Arc<dyn RingMemory> = Arc::new(Mapping::of(memory.as_fd())?);
    let (first, second) = (0, ring_bytes(CAPACITY));
    let (outwards, inwards) = if is_maker { (first, second) } else { (second, first) };
    // SAFETY: the maker writes the first ring and reads the second, the other side the other way round; each once, because the
    // memory is new.
    let (writer, reader) = unsafe {
        (Writer::new(Arc::clone(&mapping), outwards, CAPACITY), Reader::new(mapping, inwards, CAPACITY))
    };
    let bell = Arc::new(Bell { socket: write, has_room: Notify::new() });
    let inbox = Rc::new(RefCell::new(Inbox { reader, waker: None }));
    INBOXES.with(|inboxes| inboxes.borrow_mut().push(Rc::downgrade(&inbox)));
    let writing = SharedWriteHalf { writer: Mutex::new(writer), bell: Arc::clone(&bell) };
    Ok((SharedReadHalf { inbox, socket: read, bell }, writing))
}

struct Bell {
    socket: OwnedWriteHalf,
    /// The other side has rung: there may be room.
    has_room: Notify,
}

impl Bell {
    fn ring(&self) -> io::Result<()> {
        match SockRef::from(self.socket.as_ref()).send_with_flags(&BELL, libc::MSG_NOSIGNAL) {
            // Full of bells that nobody has heard: one more would not be heard better.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            rung => rung.map(|_| ()),
        }
    }
}

/// What a link writes to.
pub(crate) struct SharedWriteHalf {
    writer: Mutex<Writer>,
    bell: Arc<Bell>,
}

impl SharedWriteHalf {
    /// Puts in what there is room for; `WouldBlock`: there is none, and `writable` will tell.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.lock().write(bytes).map_err(invalid)?;
        if written.ring_bell {
            self.bell.ring()?;
        }
        if written.bytes == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(written.bytes) }
    }

    pub(crate) async fn writable(&self) {
        self.bell.has_room.notified().await;
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        SockRef::from(self.bell.socket.as_ref()).shutdown(std::net::Shutdown::Both)
    }
}

struct Inbox {
    reader: Reader,
    /// The task that reads, while it has nothing to read.
    waker: Option<Waker>,
}

/// What a link reads from. It stays in the thread in which it was opened.
pub(crate) struct SharedReadHalf {
    inbox: Rc<RefCell<Inbox>>,
    socket: OwnedReadHalf,
    bell: Arc<Bell>,
}

impl SharedReadHalf {
    /// Appends what has come to `buffer`, as far as its capacity goes; 0: the other side is gone.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|context| self.poll_read(context, buffer)).await
    }

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let coop = ready!(tokio::task::coop::poll_proceed(context));
        let mut inbox = self.inbox.borrow_mut();
        inbox.waker = None;
        let mut is_closed = false;
        loop {
            let (bytes, ring_bell) = inbox.reader.read(buffer).map_err(invalid)?;
            if ring_bell {
                self.bell.ring()?;
            }
            if bytes > 0 || is_closed {
                coop.made_progress();
                return Poll::Ready(Ok(bytes));
            }
            match poll_bells(&mut self.socket, context) {
                Poll::Ready(Ok(0)) => is_closed = true,
                Poll::Ready(Ok(_)) => self.bell.has_room.notify_one(),
                // What came before the end is still to be read.
                Poll::Ready(Err(error)) if inbox.reader.has_bytes() => drop(error),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending if IS_WORKER.get() || inbox.reader.fall_asleep() => {
                    inbox.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Pending => {}
            }
        }
    }
}

/// Takes the bells that have rung; 0: the socket's end.
fn poll_bells(socket: &mut OwnedReadHalf, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    let mut bells = [0; 64];
    let mut buffer = ReadBuf::new(&mut bells);
    ready!(Pin::new(socket).poll_read(context, &mut buffer))?;
    Poll::Ready(Ok(buffer.filled().len()))
}

/// Looks into the rings for each question to the system whether a socket has something: that costs as much as all of them.
const LOOKS_PER_QUESTION: u32 = 4;
/// After work from a socket so many questions come with one look each: more such work is likely.
const SOCKET_WARMTH: u32 = 64;

/// Pieces of work between two looks into the rings of a worker that does not sleep.
const LOOK_EVERY: u32 = 8;

thread_local! {
    /// Counts pieces of work.
    static PASSED: Cell<u32> = const { Cell::new(0) };
    /// The rings that tasks of this thread read.
    static INBOXES: RefCell<Vec<Weak<RefCell<Inbox>>>> = const { RefCell::new(Vec::new()) };
    /// This thread looks into the rings by itself, and says when it sleeps.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// Counts questions down since work has come from a socket.
    static SOCKET_WARMTH_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// How often a worker that looks on looks into the rings before it asks the system again.
pub(crate) fn looks_per_question() -> u32 {
    match SOCKET_WARMTH_LEFT.get().checked_sub(1) {
        Some(left) => {
            SOCKET_WARMTH_LEFT.set(left);
            1
        }
        None if INBOXES.with_borrow(|inboxes| !inboxes.is_empty()) => LOOKS_PER_QUESTION,
        None => 1,
    }
}

/// Calls `look` for the inboxes whose tasks wait.
fn for_each_waiting(mut look: impl FnMut(&mut Inbox)) {
    let _ = INBOXES.try_with(|inboxes| {
        inboxes.borrow_mut().retain(|inbox| {
            let Some(inbox) = inbox.upgrade() else { return false };
            // A task that reads right now has no need of this.
            if let Ok(mut inbox) = inbox.try_borrow_mut()
                && inbox.waker.is_some()
            {
                look(&mut inbox);
            }
            true
        });
    });
}

/// Wakes the tasks of this thread for which something has come.
pub(crate) fn look() {
    for_each_waiting(|inbox| {
        if inbox.reader.has_bytes()
            && let Some(waker) = inbox.waker.take()
        {
            waker.wake();
        }
    });
}

/// This thread is about to sleep: asks for bells, or wakes the tasks for which something has come.
pub(crate) fn fall_asleep() {
    IS_WORKER.set(true);
    for_each_waiting(|inbox| {
        if !inbox.reader.fall_asleep()
            && let Some(waker) = inbox.waker.take()
        {
            waker.wake();
        }
    });
}

/// To be called after every piece of work that came from a socket and may be followed by the next one at once: a worker that has always something to do never
/// is idle, and its loop does not look into its rings. Now and then this does.
///
/// Not a timer: setting one wakes the runtime by a system call, and the sleep that is cut short by that looks like the sleep of a busy worker.
pub fn look_in_passing() {
    SOCKET_WARMTH_LEFT.set(SOCKET_WARMTH);
    look_after_work();
}

/// The same after a piece of work that came through a ring.
pub(crate) fn look_after_work() {
    let passed = PASSED.get().wrapping_add(1);
    PASSED.set(passed);
    if passed.is_multiple_of(LOOK_EVERY) {
        look();
    }
}

/// This thread goes on: no bells are needed.
pub(crate) fn wake() {
    for_each_waiting(|inbox| {
        inbox.reader.wake();
        if inbox.reader.has_bytes()
            && let Some(waker) = inbox.waker.take()
        {
            waker.wake();
        }
    });
}
