//! The numbers of requests, and of what work does behind its writes.

pub(super) const WORK: u8 = 1;
pub(super) const UNLOCK: u8 = 2;
pub(super) const ROLL_BACK_TO: u8 = 3;
pub(super) const ROLL_BACK: u8 = 4;
pub(super) const WAIT_EDGES: u8 = 5;
pub(super) const PULSE: u8 = 6;
pub(super) const VISIBLE: u8 = 7;
pub(super) const ENDED_AMONG: u8 = 8;
pub(super) const DECIDE: u8 = 9;
pub(super) const OUTCOME_OF: u8 = 10;
pub(super) const CONFIRM: u8 = 11;
pub(super) const FOLLOW: u8 = 12;

pub(super) const NOTHING: u8 = 0;
pub(super) const READ: u8 = 1;
pub(super) const SCAN: u8 = 2;
pub(super) const COMMIT: u8 = 3;
pub(super) const PREPARE: u8 = 4;
pub(super) const HOME_COMMIT: u8 = 5;
pub(super) const SLICE: u8 = 6;
