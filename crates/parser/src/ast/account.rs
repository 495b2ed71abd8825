//! Users, roles and privileges.

use super::{Ident, ObjectName};

/// `user[@host]`: an account or a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountName {
    /// `user`, `'user'@'host'`.
    Named {
        /// The user's name; empty is the anonymous user.
        user: Vec<u8>,
        /// `None`: not written, which means `%`.
        host: Option<Vec<u8>>,
    },
    /// CURRENT_USER, and USER() in ALTER USER.
    CurrentUser,
}

/// `CREATE | ALTER USER users [DEFAULT ROLE ..] [REQUIRE ..] [WITH ..] options`.
#[derive(Debug, Clone, PartialEq)]
pub struct UserDefinition {
    /// IF NOT EXISTS of CREATE, IF EXISTS of ALTER.
    pub if_clause: bool,
    /// At least one; what follows holds for all of them.
    pub users: Vec<UserSpecification>,
    /// DEFAULT ROLE.
    pub default_roles: Option<RoleSelection>,
    /// None: no REQUIRE clause.
    pub require: Option<TlsRequirement>,
    /// MAX_QUERIES_PER_HOUR and friends, by upper-case name.
    pub limits: Vec<(String, u64)>,
    /// PASSWORD EXPIRE and so on, in the order they are written.
    pub password_options: Vec<PasswordOption>,
    /// ACCOUNT LOCK: Some(true); ACCOUNT UNLOCK: Some(false).
    pub locked: Option<bool>,
    /// COMMENT or ATTRIBUTE.
    pub comment: Option<UserComment>,
}

/// `account [IDENTIFIED ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpecification {
    /// The account.
    pub account: AccountName,
    /// The first factor; `None`: no password for CREATE, no change for ALTER.
    pub authentication: Option<Authentication>,
    /// The factors after the first (AND IDENTIFIED ..), and ALTER USER's ADD/MODIFY/DROP n FACTOR.
    pub more_factors: Vec<FactorChange>,
    /// ALTER USER .. DISCARD OLD PASSWORD.
    pub discard_old_password: bool,
}

/// `IDENTIFIED [WITH plugin] [BY .. | AS ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Authentication {
    /// WITH; `None`: the server's default, or the plugin the account has.
    pub plugin: Option<String>,
    /// BY or AS; `None`: neither.
    pub secret: Option<AuthenticationSecret>,
    /// REPLACE 'current password'.
    pub replace: Option<Vec<u8>>,
    /// RETAIN CURRENT PASSWORD: the old password stays valid as well.
    pub retain_current: bool,
}

/// What an account is identified by.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthenticationSecret {
    /// BY 'password'.
    Password(Vec<u8>),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS 'stored hash'.
    Hash(Vec<u8>),
}

/// A change to a second or third factor.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorChange {
    /// `ADD n FACTOR IDENTIFIED ..`, and AND IDENTIFIED of CREATE USER.
    Add {
        /// 2 or 3.
        factor: u64,
        /// The factor.
        authentication: Authentication,
    },
    /// `MODIFY n FACTOR IDENTIFIED ..`.
    Modify {
        /// 2 or 3.
        factor: u64,
        /// The factor from now on.
        authentication: Authentication,
    },
    /// `DROP n FACTOR`.
    Drop {
        /// 2 or 3.
        factor: u64,
    },
}

/// REQUIRE: what an account's connections must have.
#[derive(Debug, Clone, PartialEq)]
pub enum TlsRequirement {
    /// NONE.
    None,
    /// SSL: TLS.
    Ssl,
    /// X509: a valid certificate of the client.
    X509,
    /// `SUBJECT 's' AND ISSUER 'i' AND CIPHER 'c'`, in any order; `None`: any.
    Specified {
        /// The subject of the client's certificate.
        subject: Option<Vec<u8>>,
        /// Who has signed it.
        issuer: Option<Vec<u8>>,
        /// The cipher of the connection.
        cipher: Option<Vec<u8>>,
    },
}

/// An amount that may be left to the server's default (`DEFAULT`: None).
pub type OrDefault = Option<u64>;

/// Options of CREATE USER and ALTER USER about passwords.
#[derive(Debug, Clone, PartialEq)]
pub enum PasswordOption {
    /// PASSWORD EXPIRE.
    ExpireNow,
    /// PASSWORD EXPIRE DEFAULT.
    ExpireDefault,
    /// PASSWORD EXPIRE NEVER.
    ExpireNever,
    /// `PASSWORD EXPIRE INTERVAL n DAY`.
    ExpireIntervalDays(u64),
    /// `PASSWORD HISTORY n`: so many changes must lie between two uses of a password.
    History(OrDefault),
    /// `PASSWORD REUSE INTERVAL n DAY`: so many days must lie between two uses of a password.
    ReuseIntervalDays(OrDefault),
    /// `PASSWORD REQUIRE CURRENT [DEFAULT | OPTIONAL]`: true, `None`, false.
    RequireCurrent(Option<bool>),
    /// `FAILED_LOGIN_ATTEMPTS n`; 0: any number.
    FailedLoginAttempts(u64),
    /// `PASSWORD_LOCK_TIME n`; `None`: UNBOUNDED.
    LockTimeDays(Option<u64>),
}

/// What an account carries for its administrators.
#[derive(Debug, Clone, PartialEq)]
pub enum UserComment {
    /// `COMMENT 'text'`.
    Comment(Vec<u8>),
    /// `ATTRIBUTE 'json'`.
    Attribute(Vec<u8>),
}

/// Which of the roles granted to an account.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleSelection {
    /// NONE.
    None,
    /// ALL.
    All,
    /// `ALL EXCEPT roles`.
    AllExcept(Vec<AccountName>),
    /// DEFAULT.
    Default,
    /// The roles of a list.
    Roles(Vec<AccountName>),
}

/// `DROP USER | ROLE [IF EXISTS] accounts`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropAccounts {
    /// IF EXISTS: an account that is not there gives a warning, not an error.
    pub if_exists: bool,
    /// At least one.
    pub accounts: Vec<AccountName>,
}

/// `GRANT what TO accounts`.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// What is granted.
    pub what: Grantable,
    /// At least one.
    pub to: Vec<AccountName>,
    /// WITH GRANT OPTION, or WITH ADMIN OPTION for roles.
    pub with_grant_option: bool,
    /// `AS user [WITH ROLE ..]`.
    pub as_user: Option<(AccountName, Option<RoleSelection>)>,
}

/// `REVOKE [IF EXISTS] what FROM accounts [IGNORE UNKNOWN USER]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    /// IF EXISTS: what is not granted gives a warning, not an error.
    pub if_exists: bool,
    /// What is taken back.
    pub what: Grantable,
    /// At least one.
    pub from: Vec<AccountName>,
    /// IGNORE UNKNOWN USER: an account that is not there gives a warning, not an error.
    pub ignore_unknown_user: bool,
}

/// What GRANT and REVOKE are about.
#[derive(Debug, Clone, PartialEq)]
pub enum Grantable {
    /// `privileges ON [object] level`.
    Privileges {
        /// At least one.
        privileges: Vec<Privilege>,
        /// The word before the level; `Table` when not written.
        object: ObjectType,
        /// Where they hold.
        level: PrivilegeLevel,
    },
    /// `GRANT roles TO ..`.
    Roles(Vec<AccountName>),
    /// GRANT PROXY ON account.
    Proxy(AccountName),
    /// REVOKE ALL PRIVILEGES, GRANT OPTION: everything, everywhere.
    AllAndGrantOption,
}

/// `name [(columns)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    /// Upper case, words separated by one space: `SELECT`, `ALL PRIVILEGES`, `CREATE TEMPORARY TABLES`, `NDB_STORED_USER`.
    pub name: String,
    /// Empty: the whole table, or no table.
    pub columns: Vec<Ident>,
}

/// What kind of object the level of a GRANT names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectType {
    /// TABLE.
    Table,
    /// FUNCTION.
    Function,
    /// PROCEDURE.
    Procedure,
}

/// Where privileges hold.
#[derive(Debug, Clone, PartialEq)]
pub enum PrivilegeLevel {
    /// `*.*`
    Global,
    /// `*`: everything in the current schema.
    CurrentSchema,
    /// `schema.*`
    Schema(Ident),
    /// `name` or `schema.name`.
    Object(ObjectName),
}

/// `SET PASSWORD [FOR account] = 'password' | TO RANDOM ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetPassword {
    /// None: the current user.
    pub account: Option<AccountName>,
    /// None: TO RANDOM.
    pub password: Option<Vec<u8>>,
    /// REPLACE 'current password'.
    pub replace: Option<Vec<u8>>,
    /// RETAIN CURRENT PASSWORD: the old password stays valid as well.
    pub retain_current: bool,
}
