//! Temporal values from text.
