use crate::ast::{Query, Statement};
use crate::{ParserMode, parse, parse_expression};

fn shown(sql: &str) -> String {
    parse_expression(sql.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}")).to_string()
}

#[test]
fn generated_columns_and_checks_look_as_mysql_shows_them() {
    for (sql, expected) in [
        ("a+1", "(`a` + 1)"),
        ("a > 0 AND b IS NOT NULL", "((`a` > 0) and (`b` is not null))"),
        ("CONCAT(first, ' ', `last name`)", "concat(`first`,' ',`last name`)"),
        ("case when a then 1 else 'x' end", "(case when `a` then 1 else 'x' end)"),
        ("a NOT IN (1,2)", "(`a` not in (1,2))"),
        ("!a", "(not(`a`))"),
        ("- 5", "-5"),
        ("- - 5", "-(-5)"),
        ("cast(j->>'$.a' as char(10))", "cast(`j`->>'$.a' as char(10))"),
        ("now() + interval 1 day", "(now() + interval 1 day)"),
        ("uuid()", "uuid()"),
        ("_utf8mb4'it''s\\n'", "_utf8mb4'it''s\\n'"),
        ("x'0aFF'", "x'0AFF'"),
    ] {
        assert_eq!(shown(sql), expected);
    }
}

#[test]
fn strings_outside_utf_8_are_shown_in_hexadecimal() {
    let Ok(expr) = parse_expression(b"_latin1'\xe9'", ParserMode::NONE) else {
        panic!("any byte may be in a string")
    };
    assert_eq!(expr.to_string(), "_latin1 x'E9'");
}

/// The tree without the case of names and the source texts of select items, which showing changes.
fn shape(query: &Query) -> String {
    let tree = format!("{query:?}").to_lowercase();
    let mut parts = tree.split("text: [");
    let mut shape = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shape.push_str(part.split_once(']').map_or(part, |(_, rest)| rest));
    }
    shape
}

#[test]
fn every_query_of_the_corpus_says_the_same_when_shown_and_parsed_again() {
    let text = include_str!("../../testscripts/mysql-statements.txt");
    let mut queries = 0;
    for sql in text.lines().filter(|line| !line.starts_with('#')) {
        for statement in parse(sql.as_bytes(), ParserMode::NONE).expect("the corpus parses") {
            let Statement::Query(query) = statement else { continue };
            let original = query;
            let first = original.to_string();
            let again =
                parse(first.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{first}: {error}"));
            let [Statement::Query(query)] = again.as_slice() else { panic!("{first}") };
            assert_eq!(first, query.to_string(), "{sql}");
            assert_eq!(shape(&original), shape(query), "{sql}");
            queries += 1;
        }
    }
    assert_eq!(queries, 50);
}
