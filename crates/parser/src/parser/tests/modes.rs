//! SQL modes, comments and the places where names and keywords meet.

use super::{error, expression, statement};
use crate::ast::{Expr, LiteralValue, QueryBody, SelectItem, Statement};
use crate::{ParserMode, parse, parse_expression};

fn string_in(mode: ParserMode, sql: &[u8]) -> Vec<u8> {
    match parse_expression(sql, mode) {
        Ok(Expr::Literal(literal)) => match literal.value {
            LiteralValue::String(string) => string.bytes,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The aliases and texts of the only SELECT's items.
fn items(sql: &str) -> Vec<(Option<String>, String)> {
    let Statement::Query(query) = statement(sql) else { panic!("{sql}") };
    let QueryBody::Select(select) = query.body else { panic!("{sql}") };
    select
        .items
        .into_iter()
        .map(|item| match item {
            SelectItem::Expression { alias, text, .. } => (alias, String::from_utf8(text).expect("text")),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn double_quotes_hold_strings_or_names_by_the_mode() {
    assert_eq!(string_in(ParserMode::NONE, b"\"a\"\"b\""), b"a\"b");
    let expr = parse_expression(b"\"a\"\"b\"", ParserMode::ANSI_QUOTES).expect("a name");
    assert_eq!(expr.to_string(), "`a\"b`");
    assert_eq!(string_in(ParserMode::ANSI_QUOTES, b"'a'"), b"a");
}

#[test]
fn backslashes_escape_or_stand_for_themselves_by_the_mode() {
    assert_eq!(string_in(ParserMode::NONE, br"'a\n\t\r\0\b\Z\\\'\%\_\x'"), b"a\n\t\r\0\x08\x1a\\'\\%\\_x");
    assert_eq!(string_in(ParserMode::NO_BACKSLASH_ESCAPES, br"'a\n\'"), br"a\n\");
    assert_eq!(string_in(ParserMode::NO_BACKSLASH_ESCAPES, b"'it''s'"), b"it's");
    assert_eq!(string_in(ParserMode::NONE, b"'a' 'b'\n\"c\""), b"abc");
}

#[test]
fn built_in_functions_touch_their_parenthesis_unless_spaces_are_ignored() {
    assert!(parse(b"SELECT COUNT (*) FROM t", ParserMode::NONE).is_err());
    assert!(parse(b"SELECT COUNT (*) FROM t", ParserMode::IGNORE_SPACE).is_ok());
    assert!(parse(b"SELECT COUNT(*) FROM t", ParserMode::NONE).is_ok());
    assert!(parse(b"SELECT CONCAT ('a')", ParserMode::NONE).is_ok());
    assert!(parse(b"CREATE TABLE count (max INT, min INT, now INT)", ParserMode::NONE).is_ok());
}

#[test]
fn version_comments_obey_the_version() {
    for (sql, expected) in [
        ("1 /*!80400 + 1 */", "(1 + 1)"),
        ("1 /*!80401 + 1 */", "1"),
        ("1 /*!080400 + 1 */", "(1 + 1)"),
        ("1 /*!080401 + 1 */", "1"),
        ("1 /*! + 1 */", "(1 + 1)"),
        ("1 /*!40000+1*/+2", "((1 + 1) + 2)"),
        ("1 /*!99999 /* inner */ + 1 */ + 3", "(1 + 3)"),
        ("1 /*!50000 + /* inner */ 2 */", "(1 + 2)"),
        ("1 /*!50000 + /*!50001 2 */ */", "(1 + 2)"),
        ("1 /*!50000 + /*!99999 9 */ 2 */", "(1 + 2)"),
        ("1 /*M! + 1 */", "1"),
        ("1 /*M!100100 + 1 */", "1"),
        ("1 /*+ no hint here */", "1"),
        ("2 /**/ * 3", "(2 * 3)"),
        ("'*/' /*!50000 */", "'*/'"),
        ("1 -- comment", "1"),
        ("1 --\t2", "1"),
        ("1 --2", "(1 - -2)"),
        ("1 # comment\n+ 1", "(1 + 1)"),
        ("1 /*!123 + 1 */", "NONE"),
    ] {
        if expected == "NONE" {
            assert!(parse_expression(sql.as_bytes(), ParserMode::NONE).is_err(), "{sql}");
        } else {
            assert_eq!(expression(sql).to_string(), expected, "{sql}");
        }
    }
    assert!(parse(b"SELECT 1 */", ParserMode::NONE).is_err());
    assert!(parse(b"/*!40000 ALTER TABLE `t` DISABLE KEYS */;", ParserMode::NONE).is_ok());
}

#[test]
fn numbers_and_names_share_digits() {
    for (sql, expected) in [
        ("1a", "`1a`"),
        ("1e5", "1e5"),
        ("1e", "`1e`"),
        ("1e+5", "1e+5"),
        ("1e+a", "(`1e` + `a`)"),
        ("0xFg", "`0xFg`"),
        ("0xF", "x'0F'"),
        ("0b12", "`0b12`"),
        ("0b1", "b'00000001'"),
        (".5", ".5"),
        ("1.", "1."),
        ("1.5e3", "1.5e3"),
        ("1.5E-3", "1.5E-3"),
        ("t.1a", "`t`.`1a`"),
        ("t.5", "`t`.`5`"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616"),
        ("$1", "`$1`"),
        ("a$b", "`a$b`"),
        ("1_000", "`1_000`"),
    ] {
        assert_eq!(expression(sql).to_string(), expected, "{sql}");
    }
    assert!(
        matches!(expression("18446744073709551616"), Expr::Literal(literal) if matches!(literal.value, LiteralValue::Decimal(_)))
    );
}

#[test]
fn introducers_are_known_character_sets_alone() {
    assert_eq!(expression("_latin1'a'").to_string(), "_latin1'a'");
    assert_eq!(expression("_UTF8MB4 'a'").to_string(), "_utf8mb4'a'");
    assert_eq!(expression("_latin1").to_string(), "`_latin1`");
    assert_eq!(items("SELECT _mine 'a'"), [(Some("a".to_owned()), "_mine".to_owned())]);
}

#[test]
fn every_word_is_a_name_behind_a_dot() {
    assert_eq!(expression("t.select").to_string(), "`t`.`select`");
    assert_eq!(expression("db.t.from").to_string(), "`db`.`t`.`from`");
    assert!(parse(b"SELECT 1 FROM db.table", ParserMode::NONE).is_ok());
}

#[test]
fn columns_without_alias_keep_their_source_as_written() {
    assert_eq!(
        items("SELECT a  +  1 , COUNT( * ), 'x' y, t . b, now() /* c */ as n"),
        [
            (None, "a  +  1".to_owned()),
            (None, "COUNT( * )".to_owned()),
            (Some("y".to_owned()), "'x'".to_owned()),
            (None, "t . b".to_owned()),
            (Some("n".to_owned()), "now()".to_owned()),
        ]
    );
}

#[test]
fn hints_are_kept_behind_the_verb_alone() {
    let Statement::Update(update) = statement("UPDATE /*+ NO_MERGE(a) */ t SET a = /*+ x */ 1") else { panic!() };
    assert_eq!(update.hints.as_deref(), Some(&b"NO_MERGE(a)"[..]));
    assert!(matches!(statement("/*+ x */ SELECT 1"), Statement::Query(_)));
    assert_eq!(error("SELECT /*+ x").offset, 7);
}

#[test]
fn parameters_are_counted_in_order() {
    let parsed = crate::parse_first(b"SELECT ? FROM t WHERE a IN (?, ?) LIMIT ?; SELECT ?", 0, ParserMode::NONE);
    assert_eq!(parsed.map(|parsed| parsed.parameter_count), Ok(4));
    assert_eq!(expression("? + ?").to_string(), "(? + ?)");
}
