//! Where sessions wait: for a lock, for a commit to be applied, for a definition.
//!
//! A waiter owns one slot for as long as it lives and uses it for one wait after the other. A token names a slot and
//! the number of the wait, so that a signal that comes too late, for a wait that was given up, is ignored.
//! A signal that comes before the waiter is polled is kept: none is lost. Whoever has nothing to do but to pass the end on leaves a
//! function in the slot (`Waiter::call`), which runs where the last signal is given: no task is woken for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context, Poll, Waker};

/// Bits of a token that name the slot; the others number its waits.
const SLOT_BITS: u32 = 24;

/// What the waiters of a node wait on. Tokens name a slot and one wait on it; a signal that comes too late hits nobody.
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
    listener: Listener,
}

/// Who hears of the last signal.
#[derive(Default)]
enum Listener {
    #[default]
    Nobody,
    Task(Waker),
    Function(Box<dyn FnOnce(bool) + Send>),
}

/// A waiter's slot.
pub struct Waiter {
    slots: Arc<WaitSlots>,
    slot: Arc<Slot>,
    index: u32,
    token: u64,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    crate::base::panics::held(mutex.lock())
}

impl WaitSlots {
    /// A waiter of its own for the caller; its slot is used again after it.
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
        let (listener, has_come) = {
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
            (std::mem::take(&mut state.listener), !state.lost)
        };
        match listener {
            Listener::Nobody => {}
            Listener::Task(waker) => waker.wake(),
            Listener::Function(ended) => ended(has_come),
        }
    }
}

impl Waiter {
    /// Names the waiter among all of this process that live.
    #[inline]
    pub fn session(&self) -> u32 {
        self.index
    }

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
        state.listener = Listener::Nobody;
        self.token = state.generation << SLOT_BITS | u64::from(self.index);
        self.token
    }

    /// All signals have come.
    pub fn is_done(&self) -> bool {
        lock(&self.slot.state).left == 0
    }

    /// Ready when all signals have come: `true` unless one of them said that the thing is lost.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<bool> {
        let mut state = lock(&self.slot.state);
        if state.left == 0 {
            return Poll::Ready(!state.lost);
        }
        match &state.listener {
            Listener::Task(waker) if waker.will_wake(context.waker()) => {}
            _ => state.listener = Listener::Task(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Has `ended` called with what [`Waiter::wait`] would yield: on the thread that gives the last signal, which may hold locks of its
    /// own, or here if that has been given. Not at all if the signals never come.
    pub fn call(self, ended: impl FnOnce(bool) + Send + 'static) {
        let slot = Arc::clone(&self.slot);
        let mut state = lock(&slot.state);
        if state.left > 0 {
            // The slot belongs to the function until that has run.
            let waiter = self;
            state.listener = Listener::Function(Box::new(move |has_come| {
                drop(waiter);
                ended(has_come);
            }));
            return;
        }
        let has_come = !state.lost;
        drop(state);
        drop(self);
        ended(has_come);
    }

    /// Until all signals have come. False: one of them said that the thing is lost.
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
    fn a_function_is_called_once_with_the_last_signal_and_its_slot_is_free_then() {
        let slots = Arc::new(WaitSlots::default());
        let (sender, receiver) = std::sync::mpsc::channel();
        let call = |signals: u32| {
            let mut waiter = slots.waiter();
            let (token, sender) = (waiter.arm(signals), sender.clone());
            waiter.call(move |has_come| sender.send((token, has_come)).unwrap());
            token
        };
        let token = call(2);
        slots.signal(token);
        assert!(receiver.try_recv().is_err());
        slots.signal(token);
        slots.signal(token);
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(token, true)]);
        let again = call(1);
        assert_eq!((again & 0xFF_FFFF, again != token), (token & 0xFF_FFFF, true));
        slots.signal_lost(again);
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(again, false)]);
        let waiter = slots.waiter();
        slots.signal(waiter.token());
        waiter.call(move |has_come| sender.send((0, has_come)).unwrap());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(0, true)]);
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
