//! The crate's public face, in one binary so that it is linked once.

mod nodes;
mod placement;
mod samples;
