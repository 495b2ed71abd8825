//! How a running statement is told to stop: KILL, KILL QUERY, max_execution_time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use shoal_cluster::{Node, look_in_passing};
use shoal_types::{Error, ErrorCode, Result};

use crate::frontend::KillSignal;

/// How long a statement works before its worker's other sessions have their turn, which they need three of for a commit. It is asked for
/// between batches of rows, so a turn takes this or a batch, whichever is longer.
const TURN_US: u64 = 150;

/// Shared by the session and whoever may kill it.
pub struct Interrupt {
    pub connection: Arc<KillSignal>,
    query_killed: AtomicBool,
    /// When the running statement has used up max_execution_time, milliseconds after `epoch`; 0 = never.
    deadline_ms: AtomicU64,
    epoch: Instant,
    /// When the running statement's turn began, microseconds after `epoch`; 0 = it has not looked at the clock yet.
    turn_began_us: AtomicU64,
    /// What the statement waits for is to be told of a KILL QUERY and of the deadline instead of the statement.
    is_kill_survived: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// Whose log the worker's other sessions append to.
    node: Option<Arc<Node>>,
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt {
            connection: Arc::default(),
            query_killed: AtomicBool::new(false),
            deadline_ms: AtomicU64::new(0),
            epoch: Instant::now(),
            turn_began_us: AtomicU64::new(0),
            is_kill_survived: AtomicBool::new(false),
            waker: Mutex::new(None),
            node: None,
        }
    }
}

impl Interrupt {
    pub fn of(node: &Arc<Node>) -> Interrupt {
        Interrupt { node: Some(Arc::clone(node)), ..Interrupt::default() }
    }

    /// Ends the running statement; the connection stays.
    pub fn kill_query(&self) {
        self.query_killed.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }

    /// Ends the connection and what it runs.
    pub fn kill_connection(&self) {
        self.connection.kill();
        self.kill_query();
    }

    /// What the client has sent is about to be shown as running: a KILL QUERY from before that meant something else.
    pub fn forget_kill(&self) {
        if self.query_killed.load(Ordering::Relaxed) {
            self.query_killed.store(false, Ordering::Relaxed);
        }
    }

    /// A statement begins. `limit_ms` 0 = no limit.
    pub fn start_statement(&self, limit_ms: u64) {
        let deadline = if limit_ms == 0 { 0 } else { self.epoch.elapsed().as_millis() as u64 + limit_ms };
        self.deadline_ms.store(deadline, Ordering::Relaxed);
        self.turn_began_us.store(0, Ordering::Relaxed);
        self.is_kill_survived.store(false, Ordering::Relaxed);
    }

    /// The statement has worked for so long that others should have their turn. The first question begins the turn.
    pub fn is_turn_over(&self) -> bool {
        let now = self.epoch.elapsed().as_micros() as u64;
        match self.turn_began_us.load(Ordering::Relaxed) {
            0 => {
                self.turn_began_us.store(now.max(1), Ordering::Relaxed);
                false
            }
            began => now.saturating_sub(began) >= TURN_US,
        }
    }

    /// Errors: 1317 killed, 3024 out of time.
    pub fn check(&self) -> Result<()> {
        if self.query_killed.load(Ordering::Acquire) || self.connection.is_killed() {
            return Err(Error::new(ErrorCode::QueryInterrupted, "Query execution was interrupted"));
        }
        let deadline = self.deadline_ms.load(Ordering::Relaxed);
        if deadline != 0 && self.epoch.elapsed().as_millis() as u64 >= deadline {
            let message = "Query execution was interrupted, maximum statement execution time exceeded";
            return Err(Error::new(ErrorCode::QueryTimeout, message));
        }
        Ok(())
    }

    /// The same, between batches of rows. When its turn is over, the worker's other sessions have theirs: a long statement
    /// neither keeps them waiting nor keeps out the KILL that is meant for it. Call it at least once in a millisecond or so.
    pub async fn check_between_batches(&self) -> Result<()> {
        self.give_way().await;
        self.check()
    }

    /// Other sessions have their turn if it is over; for what is to be done to its end.
    pub async fn give_way(&self) {
        look_in_passing();
        if self.is_turn_over() {
            tokio::task::yield_now().await;
            // Other threads that want this core have theirs: the system would let them wait for some milliseconds.
            std::thread::yield_now();
            self.turn_began_us.store(0, Ordering::Relaxed);
            if let Some(node) = &self.node {
                node.flush_in_passing();
            }
        }
    }

    /// Waits until the pause is over or the statement was killed.
    pub async fn sleep(&self, pause: Duration) {
        let killed = std::future::poll_fn(|context| {
            *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            if self.check().is_err() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        tokio::select! {
            () = killed => {}
            () = tokio::time::sleep(pause) => {}
            () = self.deadline() => {}
        }
    }

    /// The same for a statement that survives a KILL QUERY and the end of max_execution_time here, once. Returns whether there
    /// was one. Errors: 1317, the connection was killed.
    pub async fn sleep_and_survive(&self, pause: Duration) -> Result<bool> {
        self.is_kill_survived.store(true, Ordering::Relaxed);
        self.sleep(pause).await;
        self.is_kill_survived.store(false, Ordering::Relaxed);
        if self.check().is_ok() {
            return Ok(false);
        }
        self.query_killed.store(false, Ordering::Release);
        self.deadline_ms.store(0, Ordering::Relaxed);
        self.check().map(|()| true)
    }

    /// Ready when max_execution_time is over.
    async fn deadline(&self) {
        match self.deadline_ms.load(Ordering::Relaxed) {
            0 => std::future::pending().await,
            deadline => tokio::time::sleep_until((self.epoch + Duration::from_millis(deadline)).into()).await,
        }
    }

    /// Runs something that waits for others; a KILL ends the wait, and so does max_execution_time.
    pub async fn guard<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = std::pin::pin!(work);
        let mut deadline = std::pin::pin!(self.deadline());
        std::future::poll_fn(|context| {
            if let std::task::Poll::Ready(done) = work.as_mut().poll(context) {
                return std::task::Poll::Ready(done);
            }
            *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            // The timer's answer is that of the check: it is polled to be woken.
            let _ = deadline.as_mut().poll(context);
            match self.check() {
                Ok(()) => std::task::Poll::Pending,
                Err(_) if self.is_kill_survived.load(Ordering::Relaxed) => {
                    context.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
                Err(error) => std::task::Poll::Ready(Err(error)),
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process list shows a statement before it runs: a KILL QUERY from in between was forgotten.
    #[test]
    fn a_kill_between_being_shown_and_being_run_counts_and_one_from_before_does_not() {
        let interrupt = Interrupt::default();
        interrupt.kill_query();
        interrupt.forget_kill();
        interrupt.start_statement(0);
        assert!(interrupt.check().is_ok());
        interrupt.kill_query();
        interrupt.start_statement(1000);
        assert_eq!(interrupt.check().unwrap_err().errno(), 1317);
    }
}
