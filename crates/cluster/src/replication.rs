//!

pub(crate) mod commit;
pub(crate) mod driver;
pub(crate) mod hand_over;
pub(crate) mod transfer;
pub(crate) mod two_phase;
