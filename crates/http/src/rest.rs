//! Rows by key over HTTP and JSON, in the manner of RonDB's REST server: on the port for operators, if `http_rest` is ON.
//!
//! | request | what it does |
//! |---|---|
//! | `POST /0.1.0/{database}/{table}/pk-read` | reads a row by its primary key |
//! | `POST /0.1.0/{database}/{table}/pk-insert`, `pk-update`, `pk-upsert`, `pk-delete` | changes one |
//! | `POST /0.1.0/batch` | many of them in one transaction: all or nothing, and one snapshot |
//! | `GET /openapi.json`, `GET /api-docs` | describe this, for programs and for people |
//!
//! Who asks says with every request who they are (HTTP's Basic), as an account of the database; its privileges on tables and columns
//! are those of SQL. Rows are read and written through the native client ([`shoal_client::Session::of_node`]) on the thread of this
//! server, which waits for nothing but partitions (what is large becomes text on others): no statement's thread has anything to do with it.
//!
//! - `serve`: requests, and what is refused. `request`: bodies to operations. `value`: values of columns to JSON and back. `problem`: errors to answers.
//! - `login`, `proofs`: who asks. `resolve`: names and rights. `execute`: operations on rows; `answer`: what they have yielded. `docs`: the description.
//!
//! *Must not* run statements. Everything has a limit: bytes, operations, depth, time, requests at a time.

mod answer;
mod docs;
mod execute;
mod login;
mod problem;
mod proofs;
mod request;
mod resolve;
mod serve;
mod value;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Semaphore;

pub use docs::page;
pub use login::account;
pub use problem::Problem;
pub use serve::answer;

use answer::AnswerMemory;
use proofs::Proofs;
use request::PREFIX;

/// Requests that are worked on at a time; others are told to come again.
const REQUESTS_AT_ONCE: usize = 64;
/// Passwords that are checked, or whose answers are delayed, at a time.
const LOGINS_AT_ONCE: usize = 16;

/// What is kept from request to request.
pub struct Rest {
    is_on: AtomicBool,
    requests: Arc<Semaphore>,
    logins: Semaphore,
    proofs: Proofs,
    answers: Arc<AnswerMemory>,
    pub(crate) counters: Counters,
}

/// For `/metrics`.
#[derive(Default)]
pub struct Counters {
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    pub failures: AtomicU64,
}

impl Default for Rest {
    fn default() -> Rest {
        Rest {
            is_on: AtomicBool::default(),
            requests: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
            logins: Semaphore::new(LOGINS_AT_ONCE),
            proofs: Proofs::default(),
            answers: Arc::default(),
            counters: Counters::default(),
        }
    }
}

impl Rest {
    pub fn turn_on(&self) {
        self.is_on.store(true, Ordering::Release);
    }

    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }
}

pub fn is_for_rows(path: &str) -> bool {
    path.starts_with(PREFIX)
}
