//! Where MariaDB 10.11 is known not to be MySQL 8.4, each with its reason. Nothing else is tolerated.

use super::answer::{Answer, Outcome};

/// Numbers of MariaDB's own for what MySQL has another number: MySQL's, MariaDB's.
const NUMBERS: [(u16, u16); 4] = [(3819, 4025), (3105, 1906), (3106, 1906), (3823, 1901)];
const OWN_NUMBER: &str = "errors of CHECK and of generated columns have numbers of MariaDB's own";

/// Texts in rows: MySQL's, MariaDB's, why.
const TEXTS: [(&str, &str, &str); 1] =
    [("838:59:59.000000", "838:59:59.999999", "the largest TIME of MariaDB has a fraction")];

/// The reason why the two answers may differ, if it is one of those that are known.
pub fn explained(sql: &str, shoal: &Answer, mariadb: &Answer) -> Option<&'static str> {
    if shoal.errno() == Some(1364) && sql.contains(" ON DUPLICATE KEY UPDATE ") {
        return Some("a column that ON DUPLICATE KEY UPDATE names needs no default in MariaDB");
    }
    if shoal.errno() == Some(1292) && mariadb.warnings.contains_key(&1292) {
        return Some("a conversion that loses something in WHERE of a change is an error in MySQL alone");
    }
    if let (Some(one), Some(other)) = (shoal.errno(), mariadb.errno()) {
        return NUMBERS.contains(&(one, other)).then_some(OWN_NUMBER);
    }
    let renumbered =
        |number: u16| NUMBERS.iter().find(|(_, own)| *own == number).map_or(number, |(mysql, _)| *mysql);
    if shoal.outcome == mariadb.outcome {
        let theirs = mariadb.warnings.iter().map(|(number, count)| (renumbered(*number), *count)).collect();
        return (shoal.warnings == theirs).then_some(OWN_NUMBER);
    }
    explained_texts(shoal, mariadb)
}

fn explained_texts(shoal: &Answer, mariadb: &Answer) -> Option<&'static str> {
    let Outcome::Rows { rows, .. } = &mariadb.outcome else { return None };
    for (mysql, own, reason) in TEXTS {
        let mut changed: Vec<Vec<String>> = rows.clone();
        changed.iter_mut().flatten().for_each(|value| *value = value.replace(own, mysql));
        changed.sort();
        if shoal.sorted_rows().as_ref() == Some(&changed) {
            return Some(reason);
        }
    }
    None
}
