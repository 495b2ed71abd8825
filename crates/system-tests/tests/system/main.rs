//! The system tests, in one binary so that they share its build. `cargo test -p shoal-system-tests NAME` runs some.

mod abuse;
mod accounts;
mod charsets;
mod clients;
mod crash;
mod ddl_alter;
mod ddl_load;
mod ddl_privileges;
mod golden;
mod handlersocket;
mod handlersocket_abuse;
mod handlersocket_mariadb;
mod handlersocket_sql;
mod isolation;
mod lifecycle;
mod memory;
mod protocol;
mod read_only;
mod show_objects;
mod status;
mod storage_limits;
mod user_locks;
mod whitepaper;
