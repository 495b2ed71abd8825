//! Where MariaDB 10.11 is known not to be MySQL 8.4, each with its reason. Nothing else is tolerated.

use super::answer::Answer;

/// Pairs of error numbers that say the same: MySQL's, MariaDB's, why.
const NUMBERS: [(u16, u16, &str); 3] = [
    (3819, 4025, "a violated CHECK has a number of MariaDB's own"),
    (3105, 1906, "so has a value for a generated column"),
    (3106, 1906, "so has a value for a generated column"),
];

/// The reason why the two answers may differ, if it is one of those that are known.
pub fn explained(shoal: &Answer, mariadb: &Answer) -> Option<&'static str> {
    if let (Some(one), Some(other)) = (shoal.errno(), mariadb.errno()) {
        let known = NUMBERS.iter().find(|(mysql, mariadb, _)| (*mysql, *mariadb) == (one, other));
        if let Some((_, _, reason)) = known {
            return Some(reason);
        }
    }
    None
}
