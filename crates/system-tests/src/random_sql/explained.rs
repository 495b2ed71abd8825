//! Where MariaDB 10.11 is known not to be MySQL 8.4, each with its reason. Nothing else is tolerated.

use std::collections::BTreeMap;

use super::answer::{Answer, ColumnType, Outcome};

/// Numbers of MariaDB's own for what MySQL has another number: MySQL's, MariaDB's.
const NUMBERS: [(u16, u16); 4] = [(3819, 4025), (3105, 1906), (3106, 1906), (3823, 1901)];
const OWN_NUMBER: &str = "errors of CHECK and of generated columns have numbers of MariaDB's own";

/// Texts in rows that are the same: one of the two servers has the one, the other the other. Why.
const TEXTS: [(&str, &str, &str); 5] = [
    ("838:59:59.999999", "838:59:59.000000", "the largest TIME of MariaDB has a fraction"),
    (".000000'", "'", "a NULL beside a time adds no digits behind its point in MySQL"),
    ("'-0.0", "'0.0", "zeros of MariaDB's decimals have a sign"),
    ("'-0'", "'0'", "a double zero shows its sign in MySQL"),
    ("'0000'", "'0'", "a YEAR of zeros is shown as a number by MariaDB"),
];
/// A duplicate, a parent with children, a child without a parent.
const KEYS: [u16; 3] = [1062, 1451, 1452];
/// Types by their numbers on the wire.
const INTEGER: u8 = 8;
const DECIMAL: u8 = 246;
const LOGARITHM: &str = "a logarithm of what has none is a division by zero in MariaDB";

/// Which of several mixes of collations is told first differs, and so does whether an unused one is.
const MIXES: [u16; 3] = [1267, 1270, 1271];

/// The reason why the two answers may differ, if it is one of those that are known.
pub fn explained(sql: &str, shoal: &Answer, mariadb: &Answer) -> Option<&'static str> {
    let renumbered =
        |number: u16| NUMBERS.iter().find(|(_, own)| *own == number).map_or(number, |(mysql, _)| *mysql);
    match (shoal.errno(), mariadb.errno()) {
        (Some(1364), _) if sql.contains(" ON DUPLICATE KEY UPDATE ") => {
            Some("a column that ON DUPLICATE KEY UPDATE names needs no default in MariaDB")
        }
        // DEFAULT of a column that has none: MariaDB comes to it row by row, MySQL too; Shoal looks before the first row.
        (Some(1364), Some(_)) if sql.contains("DEFAULT") => {
            Some("left: a missing default is told before errors of rows in front of it")
        }
        (Some(_), Some(1364)) if sql.contains("DEFAULT") => {
            Some("left: a missing default is told behind other errors where triggers may set the column")
        }
        (Some(errno @ (1292 | 1365)), None) if mariadb.warnings.contains_key(&errno) => {
            Some("what WHERE of a change cannot convert or divide is an error in MySQL alone")
        }
        (None, Some(4025)) if sql.contains(" IGNORE ") && shoal.warnings.contains_key(&3819) => {
            Some("IGNORE of one row or of UPDATE does not ignore a CHECK in MariaDB")
        }
        (Some(1267 | 1270 | 1271), None) if sql.contains("(SELECT M") => {
            Some("left: MIN and MAX of constants in a subquery are as firm as columns")
        }
        (Some(3020), Some(1365)) => Some(LOGARITHM),
        (Some(1267), None) if sql.contains("IN (SELECT ") => {
            Some("MariaDB does not look at collations of a subquery that it knows to have no rows")
        }
        (None, Some(1140)) if sql.contains("(SELECT M") => {
            Some("an aggregate of constants in a subquery is the outer query's in MariaDB")
        }
        (Some(one), Some(other)) if KEYS.contains(&one) && KEYS.contains(&other) => {
            Some("left: of duplicates, children and parents InnoDB tells in the order of rows and of indexes")
        }
        (Some(_), Some(_)) if writes(sql) && sql.contains(" SELECT ") => {
            Some("left: INSERT ... SELECT evaluates the query of rows behind those that it may not write")
        }
        (Some(one), Some(other)) if MIXES.contains(&one) && MIXES.contains(&other) => {
            Some("of several mixes of collations another one is told first")
        }
        (Some(one), Some(other)) => (one == renumbered(other)).then_some(OWN_NUMBER),
        (None, None) if have_equal_outcomes(shoal, mariadb) => explained_warnings(sql, shoal, mariadb, renumbered),
        _ => explained_texts(sql, shoal, mariadb),
    }
}

fn have_equal_outcomes(one: &Answer, other: &Answer) -> bool {
    match (&one.outcome, &other.outcome) {
        (Outcome::Rows { columns, rows }, Outcome::Rows { columns: theirs, rows: others }) => {
            rows == others && columns.iter().map(ColumnType::class).eq(theirs.iter().map(ColumnType::class))
        }
        (one, other) => one == other,
    }
}

fn writes(sql: &str) -> bool {
    sql.starts_with("INSERT ") || sql.starts_with("REPLACE ")
}

fn explained_warnings(
    sql: &str,
    shoal: &Answer,
    mariadb: &Answer,
    renumbered: impl Fn(u16) -> u16,
) -> Option<&'static str> {
    let theirs: BTreeMap<u16, usize> =
        mariadb.warnings.iter().map(|(number, count)| (renumbered(*number), *count)).collect();
    if shoal.warnings == theirs {
        return Some(OWN_NUMBER);
    }
    let without = |warnings: &BTreeMap<u16, usize>, numbers: &[u16]| {
        let mut rest = warnings.clone();
        rest.retain(|number, _| !numbers.contains(number));
        rest
    };
    if sql.starts_with("UPDATE IGNORE ") && without(&shoal.warnings, &KEYS) == theirs {
        return Some("UPDATE IGNORE tells of no duplicates, parents and children in MariaDB");
    }
    if without(&theirs, &[1916]) == shoal.warnings {
        return Some("MariaDB warns of decimals that are no BIGINT");
    }
    if sql.contains(" IGNORE ") && without(&shoal.warnings, &[1364]) == without(&theirs, &[1364]) {
        return Some("left: a missing default beside triggers is told once a statement");
    }
    if shoal.warnings.contains_key(&3020) && without(&shoal.warnings, &[3020]) == without(&theirs, &[1365]) {
        return Some(LOGARITHM);
    }
    if sql.starts_with("INSERT IGNORE ") && without(&shoal.warnings, &KEYS) == without(&theirs, &KEYS) {
        return Some("left: INSERT IGNORE of a row that is a duplicate and has no parent tells of the parent");
    }
    None
}

fn explained_texts(sql: &str, shoal: &Answer, mariadb: &Answer) -> Option<&'static str> {
    let (Outcome::Rows { rows: ours, columns }, Outcome::Rows { rows: theirs, columns: others }) =
        (&shoal.outcome, &mariadb.outcome)
    else {
        return None;
    };
    if shoal.sorted_rows() == mariadb.sorted_rows() {
        let is_mixed = |(one, other): (&ColumnType, &ColumnType)| {
            one.class() == other.class() || (one.class(), other.class()) == (INTEGER, DECIMAL)
        };
        if ours == theirs && columns.iter().zip(others).all(is_mixed) {
            return Some("integers with and without sign come together as DECIMAL in MariaDB");
        }
        let kinds = columns.iter().zip(others).enumerate();
        let mut differing = kinds.filter(|(_, (one, other))| one.class() != other.class()).map(|(at, _)| at);
        let is_empty = |at: usize| ours.iter().all(|row| row[at] == "NULL");
        return (ours == theirs && sql.contains("NULL") && differing.all(is_empty))
            .then_some("of a NULL beside values MariaDB makes a type of its own");
    }
    TEXTS.iter().find(|(from, to, _)| with(ours, from, to) == with(theirs, from, to)).map(|(_, _, reason)| *reason)
}

/// The rows with a text changed, sorted.
fn with(rows: &[Vec<String>], from: &str, to: &str) -> Vec<Vec<String>> {
    let mut changed = rows.to_vec();
    changed.iter_mut().flatten().for_each(|value| *value = value.replace(from, to));
    changed.sort();
    changed
}
