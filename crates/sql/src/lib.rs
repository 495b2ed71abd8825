//! The SQL node: resolve, plan, optimise, execute; sessions, system variables, information_schema.

pub mod frontend;
