//! The crate's public face, in one binary so that it is linked once.

mod authentication;
mod common;
mod lifecycle;
mod mariadb_client;
mod protocol;
