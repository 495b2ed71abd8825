//! The system tests, in one binary so that they share its build. `cargo test -p shoal-system-tests NAME` runs some.

mod clients;
mod crash;
mod isolation;
mod storage_limits;
mod whitepaper;
