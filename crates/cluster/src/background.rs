//! Work that takes long and should not get in the way of what clients wait for: reading a directory back, taking a copy in.
//!
//! Its threads have a lower priority. Where others want the cores as well, on a host with several nodes or with clients, it takes longer and
//! they go on; where nobody does, it takes all there is.

use shoal_types::{Error, Result};

/// About a tenth of the weight of a thread that serves clients (sched(7)).
const NICE: i32 = 10;

/// Lowers the priority of the current thread, for good: raising it again needs a privilege.
pub(crate) fn stand_back() {
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority of a background thread could not be lowered");
    }
}

/// Runs `work` in a thread of its own that stands back.
pub(crate) async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let body = move || {
        stand_back();
        // Nobody waits any more if the asker has gone.
        let _ = sender.send(work());
    };
    let thread = std::thread::Builder::new().name("shoal-background".into()).spawn(body);
    thread.map_err(|error| Error::unknown(format!("cannot start a background thread: {error}")))?;
    receiver.await.map_err(|_| Error::unknown("internal: work in the background failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority() -> i32 {
        // Linux keeps it by thread.
        rustix::process::getpriority_process(None).unwrap()
    }

    #[test]
    fn background_work_stands_back_and_its_asker_does_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let before = priority();
        let there = runtime.block_on(in_background(priority)).unwrap();
        assert!(there > before || there == 19, "{there} and {before}");
        assert_eq!(priority(), before);
        assert!(runtime.block_on(in_background(|| panic!("on purpose"))).map(|()| ()).is_err());
    }
}
