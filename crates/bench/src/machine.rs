//! The machine under a benchmark that sets servers beside each other.

use std::io;
use std::path::Path;

use crate::measure::facts::{self, Facts};

/// What these benchmarks are measured on. `shoal`: the server under test, when it takes part.
pub fn machine(work_dir: &Path, shoal: Option<&Path>) -> io::Result<Facts> {
    let shoal = shoal.map(|path| path.to_string_lossy());
    let mut programs = vec![("sysbench", "sysbench"), ("MariaDB", "mariadbd")];
    programs.extend(shoal.as_deref().map(|path| ("Shoal", path)));
    let mut facts = facts::gather(work_dir, &programs)?;
    facts.extend(facts::commit());
    Ok(facts)
}
