//! Which account a client gets: user names and host patterns, the most specific host first.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::Arc;

use shoal_cluster::{Catalog, User};

use crate::frontend;

/// The account that `user` connecting from `host` is checked against.
pub fn find_user<'c>(catalog: &'c Catalog, user: &str, host: &str) -> Option<&'c Arc<User>> {
    catalog
        .users
        .values()
        .filter(|account| (account.user == user || account.user.is_empty()) && host_matches(&account.host, host))
        .min_by(|left, right| more_specific(left, right))
}

/// The same as a protocol server wants it.
pub fn find(catalog: &Catalog, user: &str, host: &str) -> Option<frontend::Account> {
    let account = find_user(catalog, user, host)?;
    Some(frontend::Account {
        user: account.user.clone(),
        host: account.host.clone(),
        plugin: account.plugin.clone(),
        authentication_string: account.authentication_string.clone(),
        locked: account.locked,
        tls: account.tls.clone(),
        old_authentication_string: account.old_authentication_string.clone(),
        lockout: account.lockout,
    })
}

/// The account's user and host; what the client said if there is none.
pub fn matching(catalog: &Catalog, user: &str, host: &str) -> (String, String) {
    match find_user(catalog, user, host) {
        Some(account) => (account.user.clone(), account.host.clone()),
        None => (user.to_owned(), host.to_owned()),
    }
}

/// Whether a client's host is one of those that an account's host means. `localhost` is the loopback interface.
pub fn host_matches(pattern: &str, host: &str) -> bool {
    let host = host.strip_prefix("::ffff:").unwrap_or(host);
    if pattern.is_empty() || pattern == "%" || pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    if is_loopback(host) && (pattern.eq_ignore_ascii_case("localhost") || wildcard("localhost", pattern)) {
        return true;
    }
    match network_matches(pattern, host) {
        Some(matches) => matches,
        None => wildcard(host, pattern),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// `address/mask` and `address/bits`; `None`: the pattern is not of that form.
fn network_matches(pattern: &str, host: &str) -> Option<bool> {
    let (network, mask) = pattern.split_once('/')?;
    let IpAddr::V4(network) = network.parse::<IpAddr>().ok()? else { return None };
    let mask = match mask.parse::<u32>() {
        Ok(bits) if bits <= 32 => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        _ => match mask.parse::<IpAddr>() {
            Ok(IpAddr::V4(mask)) => u32::from(mask),
            _ => return None,
        },
    };
    let matches = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => u32::from(address) & mask == u32::from(network),
        _ => false,
    };
    Some(matches)
}

/// LIKE without regard to case: `%` is any text, `_` any character, a backslash takes their meaning away.
pub fn wildcard(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().map(|character| character.to_ascii_lowercase()).collect();
    let pattern = compile(pattern);
    // Where to go on after the last `%`, which then takes one character more.
    let (mut at, mut place) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(place) {
            Some(Symbol::Any) => {
                retry = Some((place + 1, at));
                place += 1;
            }
            Some(Symbol::One) => (at, place) = (at + 1, place + 1),
            Some(Symbol::Exactly(character)) if *character == text[at] => (at, place) = (at + 1, place + 1),
            _ => match retry {
                Some((next, taken)) => {
                    retry = Some((next, taken + 1));
                    (at, place) = (taken + 1, next);
                }
                None => return false,
            },
        }
    }
    pattern[place..].iter().all(|symbol| *symbol == Symbol::Any)
}

#[derive(PartialEq)]
enum Symbol {
    Any,
    One,
    Exactly(char),
}

fn compile(pattern: &str) -> Vec<Symbol> {
    let mut symbols = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        symbols.push(match character {
            '%' => Symbol::Any,
            '_' => Symbol::One,
            '\\' => Symbol::Exactly(characters.next().unwrap_or('\\').to_ascii_lowercase()),
            other => Symbol::Exactly(other.to_ascii_lowercase()),
        });
    }
    symbols
}

/// Hosts without wildcards first, then those whose wildcard comes latest; named users before anonymous ones.
fn more_specific(left: &User, right: &User) -> Ordering {
    let rank = |user: &User| {
        let host = user.host.as_str();
        match host.find(['%', '_']) {
            _ if host.is_empty() => (3, 0),
            None if host.contains('/') => (1, 0),
            None => (0, 0),
            Some(at) => (2, usize::MAX - at),
        }
    };
    rank(left).cmp(&rank(right)).then_with(|| left.user.is_empty().cmp(&right.user.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(accounts: &[(&str, &str)]) -> Catalog {
        let mut catalog = Catalog::default();
        for (user, host) in accounts {
            let account = User { user: (*user).to_owned(), host: (*host).to_owned(), ..User::default() };
            catalog.users.insert((account.user.clone(), account.host.clone()), Arc::new(account));
        }
        catalog
    }

    fn host_of(catalog: &Catalog, user: &str, host: &str) -> Option<String> {
        find(catalog, user, host).map(|account| format!("{}@{}", account.user, account.host))
    }

    #[test]
    fn the_most_specific_host_wins() {
        let catalog = catalog(&[("a", "%"), ("a", "10.0.%"), ("a", "10.%"), ("a", "10.0.0.1"), ("", "10.0.0.2")]);
        assert_eq!(host_of(&catalog, "a", "10.0.0.1").as_deref(), Some("a@10.0.0.1"));
        assert_eq!(host_of(&catalog, "a", "10.0.0.9").as_deref(), Some("a@10.0.%"));
        assert_eq!(host_of(&catalog, "a", "10.1.0.9").as_deref(), Some("a@10.%"));
        assert_eq!(host_of(&catalog, "a", "192.168.0.1").as_deref(), Some("a@%"));
        assert_eq!(host_of(&catalog, "a", "10.0.0.2").as_deref(), Some("@10.0.0.2"));
        assert_eq!(host_of(&catalog, "b", "192.168.0.1"), None);
    }

    #[test]
    fn localhost_is_the_loopback_interface_and_nothing_else() {
        let catalog = catalog(&[("root", "localhost")]);
        for host in ["localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(host_of(&catalog, "root", host).is_some(), "{host}");
        }
        for host in ["10.0.0.1", "example.org", "::2"] {
            assert!(host_of(&catalog, "root", host).is_none(), "{host}");
        }
    }

    #[test]
    fn networks_match_by_mask_and_by_bits() {
        for pattern in ["192.168.1.0/255.255.255.0", "192.168.1.0/24"] {
            assert!(host_matches(pattern, "192.168.1.77"), "{pattern}");
            assert!(!host_matches(pattern, "192.168.2.77"), "{pattern}");
        }
        assert!(!host_matches("192.168.1.0/99", "192.168.1.77"));
    }

    #[test]
    fn wildcards_match_as_like_does() {
        assert!(wildcard("db1.example.org", "db_.%.org"));
        assert!(!wildcard("db12.example.org", "db_.%"));
        assert!(wildcard("a%b", "a\\%b"));
        assert!(!wildcard("axb", "a\\%b"));
        assert!(wildcard("", "%%"));
        assert!(!wildcard(&"a".repeat(2000), &"%a".repeat(300).replace("%a", "%a%b")));
    }
}
