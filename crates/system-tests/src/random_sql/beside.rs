//! Two servers' answers to one statement.

use super::answer::{Answer, Outcome};
use super::check::Finding;
use super::explained::explained;

/// How close the answers have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// Another server of the same kind: all is equal.
    Same,
    /// MariaDB: equal but for what is explained.
    MariaDb,
}

pub fn compare(sql: &str, one: &Answer, other: &Answer, closeness: Closeness) -> Finding {
    let Some(label) = difference(sql, one, other, closeness) else { return Finding::None };
    if closeness == Closeness::MariaDb
        && let Some(reason) = explained(sql, one, other)
    {
        return Finding::Explained(reason);
    }
    if is_query(sql) && (one.fails_by_value() || other.fails_by_value()) && label.starts_with("errno") {
        return Finding::Undecided;
    }
    Finding::Difference { label, text: format!("{}\n  and {}", shown(one), shown(other)) }
}

fn is_query(sql: &str) -> bool {
    sql.starts_with("SELECT") || sql.starts_with("WITH")
}

fn shown(answer: &Answer) -> String {
    let text = match &answer.outcome {
        Outcome::Rows { columns, rows } => {
            let types: Vec<String> = columns
                .iter()
                .map(|column| {
                    let unsigned = if column.is_unsigned { "u" } else { "" };
                    format!("{}{unsigned}.{}/{}", column.kind, column.decimals, column.collation)
                })
                .collect();
            let mut lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
            lines.truncate(40);
            format!("{} rows [{}] {{{}}}", rows.len(), types.join(" "), lines.join("; "))
        }
        other => format!("{other:?} {}", answer.message),
    };
    match answer.warnings.is_empty() {
        true => text,
        false => format!("{text} warnings {:?}", answer.warnings),
    }
}

/// What differs, in a word or two.
fn difference(sql: &str, one: &Answer, other: &Answer, closeness: Closeness) -> Option<String> {
    match (&one.outcome, &other.outcome) {
        (Outcome::Lost(_), _) | (_, Outcome::Lost(_)) => return Some("lost".into()),
        (Outcome::Failed(left), Outcome::Failed(right)) if left == right => return None,
        (Outcome::Failed(_), _) | (_, Outcome::Failed(_)) => {
            let number = |answer: &Answer| answer.errno().map_or("none".to_owned(), |errno| errno.to_string());
            return Some(format!("errno {} {}", number(one), number(other)));
        }
        (Outcome::Done { affected: left }, Outcome::Done { affected: right }) => {
            if left != right && !sql.starts_with("ALTER") {
                return Some("affected".into());
            }
        }
        (Outcome::Rows { columns, rows }, Outcome::Rows { columns: theirs, rows: others }) => {
            let are_equal = match is_ordered(sql) {
                true => rows == others,
                false => one.sorted_rows() == other.sorted_rows(),
            };
            if !are_equal {
                return Some("rows".into());
            }
            if closeness == Closeness::Same && columns != theirs {
                return Some("types".into());
            }
            let kinds = |all: &[super::answer::ColumnType]| {
                all.iter().map(super::answer::ColumnType::class).collect::<Vec<_>>()
            };
            if kinds(columns) != kinds(theirs) {
                return Some("types".into());
            }
        }
        _ => return Some("rows and none".into()),
    }
    let are_equal = match (closeness, is_query(sql), sql.contains(" VALUES ")) {
        (Closeness::Same, ..) | (_, false, true) => one.warnings == other.warnings,
        // How often an expression is evaluated is the plan's business.
        _ => one.warnings.keys().eq(other.warnings.keys()),
    };
    // Which operands of these are evaluated, and how often, is the plan's business.
    let depends = [" FROM t", " FROM v", " OR ", " AND ", "IF(", "CASE "].iter().any(|word| sql.contains(word));
    let is_compared = !(is_query(sql) && depends);
    (!are_equal && is_compared).then(|| "warnings".into())
}

/// Whether the statement orders its rows, outside of parentheses.
fn is_ordered(sql: &str) -> bool {
    let mut depth = 0;
    sql.char_indices().any(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && sql[at..].starts_with(" ORDER BY ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_order_outside_of_parentheses_is_the_statements() {
        assert!(is_ordered("SELECT (SELECT 1) FROM t ORDER BY id"));
        assert!(!is_ordered("SELECT GROUP_CONCAT(a ORDER BY a) FROM t"));
    }
}
