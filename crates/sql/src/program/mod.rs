//! Stored programs: procedures, functions, triggers and events (MySQL 8.4 manual, chapter 27 and 15.6).
//!
//! The dictionary has a program's text. A session that runs it compiles it once (`compile`) into steps over slots (`code`): every
//! parameter, variable and column of NEW and OLD is a slot, and the slots are the parameters of the program's expressions and
//! statements, whose plans are made at their first use and kept (`computed`). `machine` runs the steps in a `frame`: as far as it comes
//! without waiting, it does so in one go, functions and procedures that it calls on its way included (`evaluate`, `call`); only what waits is
//! a future. A function that computes with variables alone needs no statement around it (`at_once`).
//!
//! What a program may do to the world around it is a [`host::Host`]: procedures that CALL runs have all of the session
//! (`session_host`); functions and triggers run inside a statement and have no more than that (`statement_host`).

mod assign;
mod at_once;
pub mod cache;
pub mod call;
pub mod caller;
pub mod code;
pub mod compile;
mod computed;
mod condition;
mod evaluate;
mod frame;
mod handlers;
pub mod host;
mod invoke;
mod machine;
mod place;
pub mod schedule;
pub mod scope;
pub mod session_host;
pub mod set_inside;
pub mod settings;
mod signal;
pub mod sink;
pub mod stack;
mod statement_calls;
pub mod statement_host;
pub mod store;
pub mod text;

pub use cache::ProgramCache;
