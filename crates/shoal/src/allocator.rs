//! The allocator of the process, and how what it has free goes back to the system.
//!
//! Rows' lists, replies and everything short-lived is allocated by many threads in small pieces; the system's allocator is slower
//! at that. What is freed stays with the process for a second and is given back when somebody allocates or asks. An idle node
//! does neither, so its keeper asks.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    /// Of mimalloc, which is linked as the global allocator: gives back what this thread and the arenas of all have free.
    /// `force`: at once, not when it has been free for a while.
    fn mi_collect(force: bool);
}

/// Gives memory that is free back to the system.
pub fn release() {
    // SAFETY: the function takes no pointers, may be called by any thread at any time, and frees nothing that is in use.
    unsafe { mi_collect(false) }
}

/// Has the system give memory in pages of 4 KiB, whatever it and the allocator would like: a page of 2 MiB is cleared at once when its
/// first byte is written, which takes milliseconds where the host has to find the memory first, and that is mostly under
/// somebody's lock. While a table of five million
/// rows was filled and deleted, partitions were held 559 times for 4 to 8 ms; with small pages 7 times for 4 ms and more, and 4 of these
/// because the holder did not run.
pub fn use_small_pages() {
    // SAFETY: it takes no pointers, and changes nothing but how later page faults are served.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}
