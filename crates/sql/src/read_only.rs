//! `read_only` and `super_read_only`: whose writes this SQL node refuses.
//!
//! The variables' texts live with all others; what statements look at is one number beside them, which those that only read never
//! look at. A statement is judged when it begins, and a transaction that has written once more when it commits.

use std::sync::atomic::{AtomicU8, Ordering};

use shoal_types::{Error, ErrorCode};

use crate::account::Privileges;
use crate::variables::Globals;

/// Whom `read_only` does not concern, unless `super_read_only` is on.
pub(crate) const EXEMPT: Privileges = Privileges::SUPER.with(Privileges::CONNECTION_ADMIN);

const OFF: u8 = 0;
const BUT_FOR_ADMINISTRATORS: u8 = 1;
const FOR_ALL: u8 = 2;

/// Who may write.
#[derive(Debug, Default)]
pub struct ReadOnly(AtomicU8);

impl ReadOnly {
    pub fn of(globals: &Globals) -> ReadOnly {
        let read_only = ReadOnly::default();
        read_only.follow(globals);
        read_only
    }

    /// Takes over what the variables say.
    pub fn follow(&self, globals: &Globals) {
        let level = match (globals.is_on("super_read_only"), globals.is_on("read_only")) {
            (true, _) => FOR_ALL,
            (false, true) => BUT_FOR_ADMINISTRATORS,
            (false, false) => OFF,
        };
        self.0.store(level, Ordering::Release);
    }

    /// Whether writes are refused of someone of whom `is_administrator` says whether he may administer.
    #[inline]
    pub(crate) fn refuses(&self, is_administrator: impl FnOnce() -> bool) -> bool {
        match self.0.load(Ordering::Acquire) {
            OFF => false,
            BUT_FOR_ADMINISTRATORS => !is_administrator(),
            _ => true,
        }
    }

    /// Error 1290, with the option that has refused.
    pub(crate) fn refusal(&self) -> Error {
        let option = if self.0.load(Ordering::Acquire) == FOR_ALL { "--super-read-only" } else { "--read-only" };
        let message =
            format!("The MySQL server is running with the {option} option so it cannot execute this statement");
        Error::new(ErrorCode::OptionPreventsStatement, message)
    }
}
