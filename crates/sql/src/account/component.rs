//! INSTALL COMPONENT and UNINSTALL COMPONENT: there is one, which says what a password must be like.

use shoal_cluster::{Catalog, Change};
use shoal_types::{Error, ErrorCode, Result};

use super::password_policy::{COMPONENT, INSTALLED, is_installed};
use super::{Privileges, require_global};
use crate::session::Session;

/// INSTALL COMPONENT and UNINSTALL COMPONENT. Errors: 1235 for other components, 3529, 3537.
pub fn install(session: &Session, catalog: &Catalog, urns: &[Vec<u8>], installs: bool) -> Result<Vec<Change>> {
    require_global(session, if installs { Privileges::INSERT } else { Privileges::DELETE })?;
    let mut changes = Vec::new();
    for urn in urns {
        let urn = String::from_utf8_lossy(urn);
        if urn != COMPONENT {
            return Err(Error::unsupported(format!("the component {urn}")));
        }
        match (installs, is_installed(catalog)) {
            (true, true) => {
                let message = format!("Cannot load component from specified URN: '{urn}'.");
                return Err(Error::new(ErrorCode::ComponentsCantLoad, message));
            }
            (false, false) => {
                let message = format!("Component specified by URN '{urn}' to unload has not been loaded before.");
                return Err(Error::new(ErrorCode::ComponentsUnloadNotLoaded, message));
            }
            _ => {}
        }
        changes.push(Change::PutVariable { name: INSTALLED.to_owned(), value: installs.then(|| "ON".to_owned()) });
    }
    Ok(changes)
}
