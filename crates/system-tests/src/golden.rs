//! Golden SQL scripts.
