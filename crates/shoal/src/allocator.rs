//! The allocator of the process, and how what it has free goes back to the system.
//!
//! Rows' lists, replies and everything short-lived is allocated by many threads in small pieces; the system's allocator is slower
//! at that. What is freed stays with the process for a second and is given back when somebody allocates or asks. An idle node
//! does neither, so its keeper asks.
//!
//! mimalloc is what is used; a build with the feature `jemalloc` or `system` has another one, so that they can be measured. jemalloc also tells who
//! has allocated what is in use ([`begin_heap_profile`]).

pub use chosen::{begin_heap_profile, release};

#[cfg(all(feature = "mimalloc", not(any(feature = "jemalloc", feature = "system"))))]
mod chosen {
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

    /// This one does not tell who has allocated what.
    pub fn begin_heap_profile() -> Option<shoal_http::profiles::HeapProfile> {
        None
    }
}

#[cfg(all(feature = "jemalloc", not(feature = "system")))]
mod chosen {
    use std::ptr::null_mut;

    #[global_allocator]
    static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

    /// Gives memory that is free back to the system.
    pub fn release() {
        // All arenas: jemalloc's MALLCTL_ARENAS_ALL.
        let decay = c"arena.4096.decay";
        // SAFETY: the name ends with a zero byte, and the command neither reads nor writes a value.
        unsafe { tikv_jemalloc_sys::mallctl(decay.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    }

    /// What jemalloc reads when it starts, before `main`: it is ready to note who allocates, and does not do so yet. When it does, one allocation
    /// in 512 KiB (2 to the 19th bytes) is noted.
    // SAFETY: the name is that of jemalloc's own weak symbol, a pointer to a text that ends with a zero byte; so is this.
    #[unsafe(export_name = "_rjem_malloc_conf")]
    static CONFIGURATION: Option<&'static std::ffi::c_char> =
        Some(unsafe { &*c"prof:true,prof_active:false,lg_prof_sample:19".as_ptr() });

    /// From now on it is noted who allocates. Yields what tells it.
    pub fn begin_heap_profile() -> Option<shoal_http::profiles::HeapProfile> {
        let control = jemalloc_pprof::PROF_CTL.as_ref()?;
        if let Err(error) = control.try_lock().ok()?.activate() {
            tracing::warn!("no heap profiles: jemalloc does not note who allocates: {error}");
            return None;
        }
        Some(heap_profile)
    }

    fn heap_profile() -> Result<Vec<u8>, String> {
        let control = jemalloc_pprof::PROF_CTL.as_ref().ok_or("jemalloc was told not to note who allocates")?;
        control.blocking_lock().dump_pprof().map_err(|error| format!("cannot take a heap profile: {error:#}"))
    }
}

#[cfg(any(feature = "system", not(any(feature = "mimalloc", feature = "jemalloc"))))]
mod chosen {
    #[global_allocator]
    static ALLOCATOR: std::alloc::System = std::alloc::System;

    /// Gives memory that is free back to the system.
    pub fn release() {
        // SAFETY: it takes no pointers and frees nothing that is in use.
        unsafe { libc::malloc_trim(0) };
    }

    /// This one does not tell who has allocated what.
    pub fn begin_heap_profile() -> Option<shoal_http::profiles::HeapProfile> {
        None
    }
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
