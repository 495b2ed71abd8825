//! The contexts of questions for the read index: who asks.

/// Replica, its life, number and kind, before a read's own context.
pub(super) const READ_HEADER_BYTES: usize = 25;

/// Who wants to know the read index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadKind {
    Caller = 0,
    /// A replica that wants to know when it has caught up.
    Amnesiac = 1,
}
