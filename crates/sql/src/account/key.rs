//! What accounts are known by, and how they are written.

use shoal_parser::quote_identifier;

/// User and host.
pub type AccountKey = (String, String);

/// `'user'@'host'` for messages.
pub fn shown((user, host): &AccountKey) -> String {
    format!("'{user}'@'{host}'")
}

/// The account in backticks, as statements about roles show it.
pub fn quoted((user, host): &AccountKey) -> String {
    format!("{}@{}", quote_identifier(user), quote_identifier(host))
}
