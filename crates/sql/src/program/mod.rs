//! Stored programs: procedures, functions, triggers and events (MySQL 8.4 manual, chapter 27 and 15.6).
//!
//! The dictionary has a program's text. A session that runs it compiles it once (`compile`) into steps over slots (`code`): every
//! parameter, variable and column of NEW and OLD is a slot, and the slots are the parameters of the program's expressions and
//! statements, whose plans are made at their first use and kept (`computed`). `machine` runs the steps in a `frame`.
//!
//! What a program may do to the world around it is a [`host::Host`]: procedures that CALL runs have all of the session
//! (`session_host`); functions and triggers run inside a statement and have no more than that (`statement_host`).

mod assign;
pub mod cache;
pub mod call;
pub mod caller;
pub mod code;
pub mod compile;
mod computed;
mod condition;
mod frame;
pub mod host;
mod machine;
mod place;
pub mod schedule;
pub mod scope;
pub mod session_host;
pub mod set_inside;
pub mod settings;
pub mod sink;
pub mod stack;
pub mod statement_host;
pub mod store;
pub mod text;

pub use cache::ProgramCache;
