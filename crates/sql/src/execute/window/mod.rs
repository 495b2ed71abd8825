//! Windows: rows are kept, sorted, and get what the window functions say of them.
//!
//! All rows of a block are kept ([`rows`]). For each order that some window needs they are sorted once, and moved into that
//! order, so that everything behind the sort walks over memory. Then each window goes over its partitions ([`run`]), and each
//! of its functions over the rows of a partition: by the row's place and its peers ([`ranks`]), by the values of other rows
//! ([`values`]), or by the rows of its frame ([`aggregates`]). Both ends of a frame only ever move on ([`frame`]); so counts and exact
//! sums take in and give away each row once, and the least and greatest values wait in a queue.
//!
//! Everything that is kept counts in the statement's memory, and every loop looks at the interrupt.

pub mod aggregates;
pub mod frame;
pub mod ranks;
pub mod rows;
pub mod run;
pub mod sort;
pub mod spans;
pub mod values;

#[cfg(test)]
mod tests;
