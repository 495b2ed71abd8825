//! Who may use the connections that are kept for administrators, and what a connection may hold.

use shoal_types::{Error, ErrorCode, Result};

use crate::account::{self, Privileges};
use crate::execute::connection_memory::ConnectionLimits;
use crate::frontend::Entrance;
use crate::session::Session;

impl Session {
    /// Whether the session's account, with its roles at login, may be connected in this way.
    ///
    /// # Errors
    /// 1040 at the spare connection, 1227 at the administrators' address.
    pub(super) fn check_entrance(&self) -> Result<()> {
        match self.info.entrance {
            Entrance::Ordinary => Ok(()),
            Entrance::Spare if self.is_administrator() => Ok(()),
            Entrance::Spare => Err(too_many_connections()),
            Entrance::Administrative => account::check_admin(self, "SERVICE_CONNECTION_ADMIN"),
        }
    }

    /// What the connection may hold, as of its variables and its account.
    ///
    /// # Errors
    /// 4081, 4082: it holds more than that.
    pub(crate) fn limit_memory(&self) -> Result<()> {
        self.memory.limit(ConnectionLimits::of(&self.variables, self.is_administrator()))
    }

    /// Whoever clears up when connections take too much has no limit himself.
    fn is_administrator(&self) -> bool {
        account::has_global(self, Privileges::CONNECTION_ADMIN.with(Privileges::SUPER))
    }
}

/// Errno 1040.
pub fn too_many_connections() -> Error {
    Error::new(ErrorCode::ConCount, "Too many connections")
}
