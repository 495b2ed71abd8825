//! Schemas as bytes, for the log and the dictionary.
