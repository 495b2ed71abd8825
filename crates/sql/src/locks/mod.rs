//! Transactions and locks of this node, in the words that MySQL's tables have for them.
//!
//! `names`: what locks are called, and what they are on; `transactions`: who holds and waits; `figures`: what is counted; `deadlock`: the latest deadlock, kept
//! with the statements that were in it. `information_schema` makes rows of these, `show` the report of SHOW ENGINE INNODB STATUS.

pub(crate) mod deadlock;
pub(crate) mod figures;
pub(crate) mod names;
pub(crate) mod owners;
pub(crate) mod transactions;
