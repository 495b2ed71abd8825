//! Operations under way, and the two ways to wait for them.
//!
//! An operation is a future that nobody but its waiter polls. A thread that waits parks without the interpreter's lock, and wakes now and
//! then to see whether a signal has come. An event loop has one [`Completions`]: wakers note there which operation is to be looked at and
//! write a byte into a socket that the loop watches, so that the client's threads need no lock of the interpreter and many completions are
//! one turn of the loop.
//!
//! An operation that is dropped before its end is cancelled: see [`cancellable`].

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use shoal_client::{Error, Result};
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::error::raised;

/// How long a thread waits before it looks for signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

type Running = Pin<Box<dyn Future<Output = Result<Answer>> + Send>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes what runs on a client's thread end when the other half is dropped, which its waiter holds.
pub fn cancellable() -> (oneshot::Sender<()>, oneshot::Receiver<()>) {
    oneshot::channel()
}

/// Runs `work` until its end, or until the waiter has gone away.
pub async fn unless_cancelled<T>(
    cancelled: oneshot::Receiver<()>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        // First: nothing is to begin that nobody waits for any more.
        _ = cancelled => Err(Error::unknown("the operation was cancelled")),
        result = work => result,
    }
}

/// An operation that has begun when it is first waited for.
#[pyclass(frozen, module = "shoal")]
pub struct Operation {
    running: Mutex<Option<Running>>,
}

impl Operation {
    pub fn new(running: impl Future<Output = Result<Answer>> + Send + 'static) -> Operation {
        Operation { running: Mutex::new(Some(Box::pin(running))) }
    }

    fn poll(&self, waker: &Waker) -> Poll<Result<Answer>> {
        let mut running = lock(&self.running);
        let Some(future) = running.as_mut() else {
            return Poll::Ready(Err(crate::error::misused("this operation is over")));
        };
        let polled = future.as_mut().poll(&mut Context::from_waker(waker));
        if polled.is_ready() {
            *running = None;
        }
        polled
    }

    fn cancel(&self) {
        *lock(&self.running) = None;
    }
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[pymethods]
impl Operation {
    /// Waits on this thread. A signal whose handler raises cancels the operation, and so does the timeout.
    #[pyo3(signature = (timeout=None))]
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<Duration>) -> PyResult<Bound<'py, PyAny>> {
        let waker = Waker::from(Arc::new(Parked(std::thread::current())));
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let polled = py.detach(|| {
                let polled = self.poll(&waker);
                if polled.is_pending() && left != Some(Duration::ZERO) {
                    std::thread::park_timeout(left.map_or(SIGNALS_EVERY, |left| left.min(SIGNALS_EVERY)));
                }
                polled
            });
            match polled {
                Poll::Ready(Ok(answer)) => return answer.into_python(py),
                Poll::Ready(Err(error)) => return Err(raised(py, &error)),
                Poll::Pending if left == Some(Duration::ZERO) => {
                    self.cancel();
                    return Err(PyTimeoutError::new_err("the operation took too long"));
                }
                Poll::Pending => {}
            }
            if let Err(interrupted) = py.check_signals() {
                self.cancel();
                return Err(interrupted);
            }
        }
    }
}

/// Which operations of an event loop are to be looked at.
struct Ready {
    numbers: Mutex<Vec<u64>>,
    bell: UnixStream,
}

/// Wakes the loop for one operation.
struct Ring {
    number: u64,
    ready: Arc<Ready>,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        let mut numbers = lock(&self.ready.numbers);
        numbers.push(self.number);
        if numbers.len() == 1 {
            // A full socket rings as well.
            let _ = (&self.ready.bell).write(&[1]);
        }
    }
}

/// An operation, who looks at it, and the asyncio future that is told.
struct Awaited {
    operation: Py<Operation>,
    waker: Waker,
    future: Py<PyAny>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    operations: HashMap<u64, Awaited>,
}

/// The operations that one event loop waits for.
#[pyclass(frozen, module = "shoal")]
pub struct Completions {
    ready: Arc<Ready>,
    heard: UnixStream,
    waiting: Mutex<Waiting>,
}

impl Completions {
    /// Looks at an operation, and tells its future if it is over.
    fn look(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        let found = lock(&self.waiting).operations.get(&number).map(|awaited| {
            let (operation, future) = (awaited.operation.clone_ref(py), awaited.future.clone_ref(py));
            (operation, awaited.waker.clone(), future)
        });
        // It was cancelled meanwhile.
        let Some((operation, waker, future)) = found else { return Ok(()) };
        let Poll::Ready(result) = operation.get().poll(&waker) else { return Ok(()) };
        // Objects that are let go of may run anything, so not under the lock.
        let awaited = lock(&self.waiting).operations.remove(&number);
        drop(awaited);
        let future = future.bind(py);
        if future.call_method0("done")?.is_truthy()? {
            return Ok(());
        }
        match result.map_err(|error| raised(py, &error)).and_then(|answer| answer.into_python(py)) {
            Ok(value) => future.call_method1("set_result", (value,))?,
            Err(error) => future.call_method1("set_exception", (error.into_value(py),))?,
        };
        Ok(())
    }
}

#[pymethods]
impl Completions {
    #[new]
    fn new() -> PyResult<Completions> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let ready = Arc::new(Ready { numbers: Mutex::default(), bell });
        Ok(Completions { ready, heard, waiting: Mutex::default() })
    }

    /// What the event loop watches for being readable.
    fn fileno(&self) -> i32 {
        self.heard.as_raw_fd()
    }

    /// Begins an operation and has its end told to an asyncio future; yields its number.
    fn start(&self, py: Python<'_>, operation: Py<Operation>, future: Py<PyAny>) -> PyResult<u64> {
        let number = {
            let mut waiting = lock(&self.waiting);
            waiting.last += 1;
            let number = waiting.last;
            let waker = Waker::from(Arc::new(Ring { number, ready: Arc::clone(&self.ready) }));
            waiting.operations.insert(number, Awaited { operation, waker, future });
            number
        };
        self.look(py, number)?;
        Ok(number)
    }

    /// Cancels an operation, if it is not over.
    fn cancel(&self, number: u64) {
        let awaited = lock(&self.waiting).operations.remove(&number);
        if let Some(awaited) = awaited {
            awaited.operation.get().cancel();
        }
    }

    /// Looks at all operations that have rung.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        let mut bytes = [0; 64];
        loop {
            match (&self.heard).read(&mut bytes) {
                Ok(64) => {}
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(PyRuntimeError::new_err(format!("an event loop's bell broke: {error}"))),
            }
        }
        let numbers = std::mem::take(&mut *lock(&self.ready.numbers));
        numbers.into_iter().try_for_each(|number| self.look(py, number))
    }
}
