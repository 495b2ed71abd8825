//! Users, roles and privileges.

use super::{Ident, ObjectName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountName {
    Named {
        user: Vec<u8>,
        /// None: not written, which means `%`.
        host: Option<Vec<u8>>,
    },
    /// CURRENT_USER.
    CurrentUser,
}

/// CREATE USER and ALTER USER.
#[derive(Debug, Clone, PartialEq)]
pub struct UserDefinition {
    /// IF NOT EXISTS of CREATE, IF EXISTS of ALTER.
    pub if_clause: bool,
    pub users: Vec<UserSpecification>,
    /// DEFAULT ROLE.
    pub default_roles: Option<RoleSelection>,
    /// None: no REQUIRE clause.
    pub require: Option<TlsRequirement>,
    /// MAX_QUERIES_PER_HOUR and friends, by upper-case name.
    pub limits: Vec<(String, u64)>,
    pub password_options: Vec<PasswordOption>,
    /// ACCOUNT LOCK: Some(true); ACCOUNT UNLOCK: Some(false).
    pub locked: Option<bool>,
    pub comment: Option<UserComment>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserSpecification {
    pub account: AccountName,
    pub authentication: Option<Authentication>,
    /// The factors after the first (AND IDENTIFIED ..), and ALTER USER's ADD/MODIFY/DROP n FACTOR.
    pub more_factors: Vec<FactorChange>,
    /// ALTER USER .. DISCARD OLD PASSWORD.
    pub discard_old_password: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Authentication {
    pub plugin: Option<String>,
    pub secret: Option<AuthenticationSecret>,
    /// REPLACE 'current password'.
    pub replace: Option<Vec<u8>>,
    pub retain_current: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuthenticationSecret {
    /// BY 'password'.
    Password(Vec<u8>),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS 'stored hash'.
    Hash(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum FactorChange {
    Add { factor: u64, authentication: Authentication },
    Modify { factor: u64, authentication: Authentication },
    Drop { factor: u64 },
}

#[derive(Debug, Clone, PartialEq)]
pub enum TlsRequirement {
    None,
    Ssl,
    X509,
    Specified { subject: Option<Vec<u8>>, issuer: Option<Vec<u8>>, cipher: Option<Vec<u8>> },
}

/// An amount that may be left to the server's default (`DEFAULT`: None).
pub type OrDefault = Option<u64>;

#[derive(Debug, Clone, PartialEq)]
pub enum PasswordOption {
    ExpireNow,
    ExpireDefault,
    ExpireNever,
    ExpireIntervalDays(u64),
    History(OrDefault),
    ReuseIntervalDays(OrDefault),
    /// PASSWORD REQUIRE CURRENT [DEFAULT | OPTIONAL]: true, None, false.
    RequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// None: UNBOUNDED.
    LockTimeDays(Option<u64>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum UserComment {
    Comment(Vec<u8>),
    Attribute(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RoleSelection {
    None,
    All,
    AllExcept(Vec<AccountName>),
    Default,
    Roles(Vec<AccountName>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropAccounts {
    pub if_exists: bool,
    pub accounts: Vec<AccountName>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub what: Grantable,
    pub to: Vec<AccountName>,
    /// WITH GRANT OPTION, or WITH ADMIN OPTION for roles.
    pub with_grant_option: bool,
    /// AS user [WITH ROLE ..].
    pub as_user: Option<(AccountName, Option<RoleSelection>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub if_exists: bool,
    pub what: Grantable,
    pub from: Vec<AccountName>,
    pub ignore_unknown_user: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Grantable {
    Privileges {
        privileges: Vec<Privilege>,
        object: ObjectType,
        level: PrivilegeLevel,
    },
    Roles(Vec<AccountName>),
    /// GRANT PROXY ON account.
    Proxy(AccountName),
    /// REVOKE ALL PRIVILEGES, GRANT OPTION: everything, everywhere.
    AllAndGrantOption,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    /// Upper case, words separated by one space: `SELECT`, `ALL PRIVILEGES`, `CREATE TEMPORARY TABLES`, `NDB_STORED_USER`.
    pub name: String,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectType {
    Table,
    Function,
    Procedure,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PrivilegeLevel {
    /// `*.*`
    Global,
    /// `*`: everything in the current schema.
    CurrentSchema,
    /// `schema.*`
    Schema(Ident),
    Object(ObjectName),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetPassword {
    /// None: the current user.
    pub account: Option<AccountName>,
    /// None: TO RANDOM.
    pub password: Option<Vec<u8>>,
    pub replace: Option<Vec<u8>>,
    pub retain_current: bool,
}
