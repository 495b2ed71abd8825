//! The benchmarks of Shoal against other servers with sysbench, and the canned-answer responder.
//!
//! - [`canned`]: the MySQL protocol with fixed replies: the ceiling that the client itself allows.
//! - [`compare`]: one Shoal process beside MariaDB; sysbench alternates between them; writes the table of ratios.
//! - [`cluster`]: a Shoal cluster beside Galera, nodes that are killed and paused while clients count what they were
//!   promised, and a node that comes back.
//! - [`rough`]: loads that break databases: one hot row, huge statements, thousands of tables, clients that vanish.

pub mod canned;
pub mod cluster;
pub mod compare;
pub mod rough;
mod sysbench;

use std::io;
use std::path::Path;

use shoal_measure::facts::{self, Facts};

/// What these benchmarks are measured on. `shoal`: the server under test, when it takes part.
fn machine(work_dir: &Path, shoal: Option<&Path>) -> io::Result<Facts> {
    let shoal = shoal.map(|path| path.to_string_lossy());
    let mut programs = vec![("sysbench", "sysbench"), ("MariaDB", "mariadbd")];
    programs.extend(shoal.as_deref().map(|path| ("Shoal", path)));
    let mut facts = facts::gather(work_dir, &programs)?;
    facts.extend(facts::commit());
    Ok(facts)
}
