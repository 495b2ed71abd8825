//! Databases.

use shoal_cluster::Catalog;
use shoal_types::Result;

pub fn check_exists(_catalog: &Catalog, _name: &str) -> Result<()> {
    Ok(())
}
