//! Where sessions wait: for a lock, for a commit to be applied, for a definition.
//!
//! A waiter owns one slot for as long as it lives and uses it for one wait after the other. A token names a slot and
//! the number of the wait, so that a signal that comes too late, for a wait that was given up, is ignored.
//! A signal that comes before the waiter is polled is kept: none is lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context, Poll, Waker};

/// Bits of a token that name the slot; the others number its waits.
const SLOT_BITS: u32 = 24;

#[derive(Default)]
pub struct WaitSlots {
    slots: RwLock<Vec<Arc<Slot>>>,
    free: Mutex<Vec<u32>>,
}

#[derive(Default)]
struct Slot {
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    generation: u64,
    /// Signals that are still to come.
    left: u32,
    lost: bool,
    waker: Option<Waker>,
}

/// A waiter's slot.
pub struct Waiter {
    slots: Arc<WaitSlots>,
    slot: Arc<Slot>,
    index: u32,
    token: u64,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WaitSlots {
    pub fn waiter(self: &Arc<Self>) -> Waiter {
        let reused = lock(&self.free).pop();
        let (index, slot) = match reused {
            Some(index) => {
                let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
                (index, Arc::clone(&slots[index as usize]))
            }
            None => {
                let slot = Arc::new(Slot::default());
                let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
                slots.push(Arc::clone(&slot));
                (slots.len() as u32 - 1, slot)
            }
        };
        let mut waiter = Waiter { slots: Arc::clone(self), slot, index, token: 0 };
        waiter.arm(1);
        waiter
    }

    /// One of the signals that the token waits for.
    pub fn signal(&self, token: u64) {
        self.deliver(token, false);
    }

    /// The thing that the token waits for will not come.
    pub fn signal_lost(&self, token: u64) {
        self.deliver(token, true);
    }

    fn deliver(&self, token: u64, lost: bool) {
        let waker = {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let Some(slot) = slots.get((token & ((1 << SLOT_BITS) - 1)) as usize) else { return };
            let mut state = lock(&slot.state);
            if state.generation != token >> SLOT_BITS || state.left == 0 {
                return;
            }
            state.left -= 1;
            state.lost |= lost;
            if state.left > 0 {
                return;
            }
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Waiter {
    /// The token of the present wait.
    #[inline]
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Begins another wait, for `signals` signals; signals for earlier tokens count no more.
    pub fn arm(&mut self, signals: u32) -> u64 {
        let mut state = lock(&self.slot.state);
        state.generation = (state.generation + 1) & (u64::MAX >> SLOT_BITS);
        state.left = signals;
        state.lost = false;
        state.waker = None;
        self.token = state.generation << SLOT_BITS | u64::from(self.index);
        self.token
    }

    pub fn is_done(&self) -> bool {
        lock(&self.slot.state).left == 0
    }

    /// Ready when all signals have come: `true` unless one of them said that the thing is lost.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<bool> {
        let mut state = lock(&self.slot.state);
        if state.left == 0 {
            return Poll::Ready(!state.lost);
        }
        match &state.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => state.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    pub async fn wait(&self) -> bool {
        std::future::poll_fn(|context| self.poll(context)).await
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.arm(0);
        lock(&self.slots.free).push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_signal_is_kept_until_it_is_asked_for_and_a_late_one_is_ignored() {
        let slots = Arc::new(WaitSlots::default());
        let mut waiter = slots.waiter();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let first = waiter.arm(2);
        slots.signal(first);
        assert!(waiter.poll(&mut context).is_pending());
        slots.signal(first);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(waiter.poll(&mut context), Poll::Ready(true));
        waiter.arm(1);
        slots.signal(first);
        assert!(waiter.poll(&mut context).is_pending());
        slots.signal_lost(waiter.token());
        assert_eq!(waiter.poll(&mut context), Poll::Ready(false));
    }

    #[test]
    fn no_signal_is_lost_between_threads() {
        let slots = Arc::new(WaitSlots::default());
        let mut waiter = slots.waiter();
        let (sender, receiver) = std::sync::mpsc::channel::<u64>();
        let signaller = std::thread::spawn({
            let slots = Arc::clone(&slots);
            move || receiver.iter().for_each(|token| slots.signal(token))
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for _ in 0..20_000 {
                sender.send(waiter.arm(1)).unwrap();
                assert!(waiter.wait().await);
            }
        });
        drop(sender);
        signaller.join().unwrap();
    }

    #[test]
    fn slots_are_used_again_and_a_dead_waiters_token_reaches_nobody() {
        let slots = Arc::new(WaitSlots::default());
        let old = slots.waiter().token();
        let waiter = slots.waiter();
        assert_eq!(old & 0xFF_FFFF, waiter.token() & 0xFF_FFFF);
        slots.signal(old);
        assert!(!waiter.is_done());
    }
}
