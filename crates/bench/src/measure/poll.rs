//! A thin safe wrapper around epoll: level-triggered readability, tokens are file descriptors.
//!
//! Invariants for the `unsafe` blocks: the epoll descriptor is owned by this value and open as long as it lives;
//! the event buffer is a local array whose length is passed with it, and only the entries the kernel filled are read.
//! A watched descriptor that is closed leaves the set by itself.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

const EVENTS_PER_WAIT: usize = 256;

pub struct Poll {
    descriptor: OwnedFd,
}

impl Poll {
    pub fn new() -> io::Result<Poll> {
        // SAFETY: no pointers are passed; the result is checked before it is owned.
        let raw = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `raw` was just created and belongs to nobody else.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Poll { descriptor })
    }

    /// Reports `descriptor` from now on whenever it is readable.
    pub fn watch(&self, descriptor: RawFd) -> io::Result<()> {
        let mut event =
            libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLRDHUP) as u32, u64: descriptor as u64 };
        // SAFETY: both descriptors are open and `event` lives through the call.
        let result =
            unsafe { libc::epoll_ctl(self.descriptor.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Blocks until something is readable, or until `patience` is over, and fills `ready` with the descriptors.
    pub fn wait(&self, ready: &mut Vec<usize>, patience: Option<Duration>) -> io::Result<()> {
        let patience_ms = patience.map_or(-1, |patience| patience.as_millis().min(i32::MAX as u128) as i32);
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_PER_WAIT];
        ready.clear();
        // SAFETY: the buffer and its length belong together and live through the call.
        let count = unsafe {
            libc::epoll_wait(self.descriptor.as_raw_fd(), events.as_mut_ptr(), EVENTS_PER_WAIT as i32, patience_ms)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            };
        }
        ready.extend(events[..count as usize].iter().map(|event| event.u64 as usize));
        Ok(())
    }
}
