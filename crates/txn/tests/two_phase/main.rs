//! Two-phase commit as a whole: the coordinator, several partitions with logs and checkpoints of their own, and all
//! that can happen to messages and processes in between.

mod random;
mod server;
mod sweep;
mod world;
