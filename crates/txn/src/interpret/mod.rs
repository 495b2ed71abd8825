//! What is evaluated where a row lies: conditions, choices of columns, changes in place.
//!
//! They travel in frames, so they are small languages of their own: constants are in the bytes that keys and rows have, and nothing
//! in them can fail but a number, or a value of bytes, that grows out of its column. Columns are named by position in the table's rows.

mod bytes;
mod change;
mod predicate;
mod pushed_filter;
mod row_order;
mod stage;

pub use bytes::{BytesChange, ROW_BYTES_MAX, value_bytes_max};
pub use change::{Assignment, Operand, RowChange};
pub use predicate::Predicate;
pub use pushed_filter::PushedFilter;

pub(crate) use change::ChangeOfRow;
pub(crate) use pushed_filter::{FilteredScan, WireFilter};
pub(crate) use stage::{Staged, check_frame, stage};
