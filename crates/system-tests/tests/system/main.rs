//! The system tests, in one binary so that they share its build. `cargo test -p shoal-system-tests NAME` runs some.

mod abuse;
mod accounts;
mod clients;
mod crash;
mod golden;
mod isolation;
mod lifecycle;
mod protocol;
mod show_objects;
mod status;
mod storage_limits;
mod whitepaper;
