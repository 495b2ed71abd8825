//! Whole-partition tests.
