//! Privileges as bits. The numbers of the bits are kept in the dictionary: never change them.

use shoal_types::{Error, ErrorCode, Result};

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(pub u64);

/// Where a privilege can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Global,
    Database,
    Table,
}

macro_rules! privileges {
    ($($constant:ident $bit:literal $text:literal $level:ident,)*) => {
        impl Privileges {
            $(#[doc = concat!("`", $text, "`.")] pub const $constant: Privileges = Privileges(1 << $bit);)*
        }

        /// Every privilege that exists, in the order of SHOW GRANTS, with the narrowest level it can be granted at.
        const ALL: &[(Privileges, &str, Level)] = &[$((Privileges::$constant, $text, Level::$level),)*];
    };
}

privileges! {
    SELECT 0 "SELECT" Table,
    INSERT 1 "INSERT" Table,
    UPDATE 2 "UPDATE" Table,
    DELETE 3 "DELETE" Table,
    CREATE 4 "CREATE" Table,
    DROP 5 "DROP" Table,
    RELOAD 6 "RELOAD" Global,
    SHUTDOWN 7 "SHUTDOWN" Global,
    PROCESS 8 "PROCESS" Global,
    FILE 9 "FILE" Global,
    REFERENCES 11 "REFERENCES" Table,
    INDEX 12 "INDEX" Table,
    ALTER 13 "ALTER" Table,
    SHOW_DATABASES 14 "SHOW DATABASES" Global,
    SUPER 15 "SUPER" Global,
    CREATE_TEMPORARY_TABLES 16 "CREATE TEMPORARY TABLES" Database,
    LOCK_TABLES 17 "LOCK TABLES" Database,
    EXECUTE 18 "EXECUTE" Database,
    REPLICATION_SLAVE 19 "REPLICATION SLAVE" Global,
    REPLICATION_CLIENT 20 "REPLICATION CLIENT" Global,
    CREATE_VIEW 21 "CREATE VIEW" Table,
    SHOW_VIEW 22 "SHOW VIEW" Table,
    CREATE_ROUTINE 23 "CREATE ROUTINE" Database,
    ALTER_ROUTINE 24 "ALTER ROUTINE" Database,
    CREATE_USER 25 "CREATE USER" Global,
    EVENT 26 "EVENT" Database,
    TRIGGER 27 "TRIGGER" Table,
    CREATE_TABLESPACE 28 "CREATE TABLESPACE" Global,
    CREATE_ROLE 29 "CREATE ROLE" Global,
    DROP_ROLE 30 "DROP ROLE" Global,
    BACKUP_ADMIN 32 "BACKUP_ADMIN" Global,
    CONNECTION_ADMIN 33 "CONNECTION_ADMIN" Global,
    NDB_STORED_USER 34 "NDB_STORED_USER" Global,
    PERSIST_RO_VARIABLES_ADMIN 35 "PERSIST_RO_VARIABLES_ADMIN" Global,
    ROLE_ADMIN 39 "ROLE_ADMIN" Global,
    SERVICE_CONNECTION_ADMIN 40 "SERVICE_CONNECTION_ADMIN" Global,
    SESSION_VARIABLES_ADMIN 36 "SESSION_VARIABLES_ADMIN" Global,
    SYSTEM_USER 37 "SYSTEM_USER" Global,
    SYSTEM_VARIABLES_ADMIN 38 "SYSTEM_VARIABLES_ADMIN" Global,
}

/// Bits from here on are MySQL's dynamic privileges, which SHOW GRANTS lists on a line of their own.
const FIRST_DYNAMIC_BIT: u32 = 32;

impl Privileges {
    pub(crate) const NONE: Privileges = Privileges(0);
    /// The right to grant what one has; shown as WITH GRANT OPTION.
    pub const GRANT_OPTION: Privileges = Privileges(1 << 10);
    /// What makes checks of single tables needless.
    pub const DATA: Privileges = Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::DELETE.0);

    /// What can be granted on single columns.
    pub(crate) const ON_COLUMNS: Privileges =
        Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);

    pub(crate) const fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All that can be granted at a level, without GRANT OPTION.
    pub fn all_at(level: Level) -> Privileges {
        let allowed = ALL.iter().filter(|(_, _, narrowest)| *narrowest >= level);
        allowed.fold(Privileges::NONE, |set, (privilege, ..)| set.with(*privilege))
    }

    /// The privilege of a GRANT statement, in upper case. Errors: 1221 and 1144 for one that does not exist at the level.
    pub fn by_name(name: &str, level: Level) -> Result<Privileges> {
        match name {
            "ALL PRIVILEGES" => return Ok(Privileges::all_at(level)),
            "USAGE" => return Ok(Privileges::NONE),
            "GRANT OPTION" => return Ok(Privileges::GRANT_OPTION),
            _ => {}
        }
        let Some((privilege, _, narrowest)) = ALL.iter().find(|(_, text, _)| *text == name) else {
            if matches!(name, "PROXY") || name.contains('_') {
                return Err(Error::unsupported(format!("the privilege {name}")));
            }
            return Err(crate::ddl::errors::syntax(name));
        };
        match level {
            _ if *narrowest >= level => Ok(*privilege),
            _ if privilege.0.trailing_zeros() >= FIRST_DYNAMIC_BIT => {
                let message = format!("Illegal privilege level specified for {name}");
                Err(Error::new(ErrorCode::IllegalPrivilegeLevel, message))
            }
            Level::Database => {
                let message = "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES";
                Err(Error::new(ErrorCode::WrongUsage, message))
            }
            _ => {
                let message =
                    "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
                Err(Error::new(ErrorCode::IllegalGrantForTable, message))
            }
        }
    }

    /// Names of the static (or dynamic) ones, in SHOW GRANTS' order.
    pub fn names(self, dynamic: bool) -> Vec<&'static str> {
        let wanted = |privilege: &Privileges| (privilege.0.trailing_zeros() >= FIRST_DYNAMIC_BIT) == dynamic;
        ALL.iter()
            .filter(|(privilege, ..)| wanted(privilege) && self.contains(*privilege))
            .map(|(_, name, _)| *name)
            .collect()
    }

    /// The name of one of them, for messages.
    pub fn first_name(self) -> &'static str {
        ALL.iter().find(|(privilege, ..)| self.contains(*privilege)).map_or("GRANT OPTION", |(_, name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_privilege_has_a_bit_of_its_own() {
        let mut seen = Privileges::GRANT_OPTION;
        for (privilege, name, _) in ALL {
            assert!(!seen.intersects(*privilege), "{name}");
            seen = seen.with(*privilege);
        }
    }

    #[test]
    fn privileges_are_refused_where_they_cannot_be_granted() {
        assert_eq!(Privileges::by_name("SELECT", Level::Table).unwrap(), Privileges::SELECT);
        assert_eq!(Privileges::by_name("RELOAD", Level::Database).unwrap_err().errno(), 1221);
        assert_eq!(Privileges::by_name("EVENT", Level::Table).unwrap_err().errno(), 1144);
        assert_eq!(Privileges::by_name("ROLE_ADMIN", Level::Database).unwrap_err().errno(), 3619);
        assert_eq!(Privileges::by_name("NONSENSE", Level::Global).unwrap_err().errno(), 1064);
        assert!(!Privileges::all_at(Level::Table).intersects(Privileges::LOCK_TABLES));
    }
}
