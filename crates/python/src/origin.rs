//! The process that a client was connected in.

use pyo3::prelude::*;

use crate::error::forked;

/// Of the process whose threads a client's are.
pub struct Origin {
    process: u32,
}

impl Origin {
    /// This process.
    pub fn here() -> Origin {
        Origin { process: std::process::id() }
    }

    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// # Errors
    /// This process is a fork of the one that the client is in.
    pub fn check(&self) -> PyResult<()> {
        if self.is_here() { Ok(()) } else { Err(forked(self.process)) }
    }
}
