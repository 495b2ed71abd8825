//! The golden SQL scripts of `crates/system-tests/golden/`.
