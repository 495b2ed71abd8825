//! The page for operators at `/`, and what it asks under `/api/`.
//!
//! Whoever looks logs in with an account of the database and sees what that account may see: figures and the nodes of the cluster
//! everybody, statements of others and the cluster's events with PROCESS; KILL has SQL's rules. Before that there is a form and nothing
//! else.
//!
//! - [`assets`]: the page itself, from the binary. It loads nothing from elsewhere.
//! - `api`: requests, and what is refused. `login`, `sessions`: who has logged in.
//! - `figures`, `history`, `warnings`: what a node tells of itself; an hour of it is kept. `statements`: sessions and who waits for whom.
//! - `digests`: what kinds of statements have cost.
//! - `nodes`: the same of all nodes. A node asks the others over their links (`questions`), so a browser needs one address.
//!
//! *Must not* run statements (but have a sample explained), nor keep more than fixed budgets allow.

mod api;
mod assets;
mod digests;
mod figures;
mod history;
pub(crate) mod login;
mod nodes;
pub(crate) mod origin;
mod questions;
mod sessions;
mod statements;
mod warnings;

use std::pin::Pin;
use std::sync::OnceLock;

use shoal_types::Result;
use tokio::sync::Semaphore;

pub use api::{answer, is_for_api};
pub use assets::{asset, file};
pub use history::SAMPLE_EVERY;
pub use questions::Questions;

use digests::Trends;
use history::History;
use sessions::Sessions;

/// Passwords that are checked, or whose answers are delayed, at a time.
const LOGINS_AT_ONCE: usize = 16;

/// User and host, as accounts are known by.
pub type AccountKey = (String, String);

/// Somebody who says who they are.
pub struct Login {
    pub user: String,
    /// Their address.
    pub host: String,
    /// It is this machine's.
    pub is_local: bool,
    /// Nobody else has read it.
    pub is_encrypted: bool,
    pub password: String,
}

/// An answer in the making.
pub type Checking<'a> = Pin<Box<dyn Future<Output = Result<AccountKey>> + 'a>>;

/// The accounts of the database, of which the page knows no more. Failures are counted, delayed and worded there.
pub trait Accounts: Send + Sync {
    /// The account that the login proves.
    fn check(&self, login: Login) -> Checking<'_>;
}

/// What the page keeps.
pub struct Dashboard {
    accounts: OnceLock<Box<dyn Accounts>>,
    sessions: Sessions,
    logins: Semaphore,
    pub(crate) history: History,
    pub(crate) trends: Trends,
}

impl Default for Dashboard {
    fn default() -> Dashboard {
        Dashboard {
            accounts: OnceLock::new(),
            sessions: Sessions::default(),
            logins: Semaphore::new(LOGINS_AT_ONCE),
            history: History::default(),
            trends: Trends::default(),
        }
    }
}

impl Dashboard {
    /// Who may log in. Once.
    pub(crate) fn set_accounts(&self, accounts: Box<dyn Accounts>) {
        let _ = self.accounts.set(accounts);
    }
}
