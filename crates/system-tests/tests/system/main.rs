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
mod interrupt;
mod isolation;
mod lifecycle;
mod locking_reads;
mod protocol;
mod read_only;
mod rough;
mod show_objects;
mod sleep;
mod status;
mod storage_limits;
mod user_locks;
mod whitepaper;
