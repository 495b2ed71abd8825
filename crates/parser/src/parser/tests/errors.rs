//! Where errors point and what they say.

use super::error;
use crate::{NEAR_BYTES_MAX, ParseErrorKind, ParserMode, parse, parse_first};

#[test]
fn a_syntax_error_reads_as_mysql_says_it() {
    let error = error("SELECT * FROM t WHERE\n  a == 1");
    assert_eq!(
        error.to_string(),
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use near '= 1' at line 2"
    );
    assert_eq!((error.errno(), error.sqlstate(), error.line, error.offset), (1064, "42000", 2, 27));
}

#[test]
fn an_error_at_the_end_quotes_nothing() {
    let error = error("SELECT * FROM");
    assert_eq!((error.near.as_slice(), error.offset), (&b""[..], 13));
}

#[test]
fn the_quoted_text_is_cut_at_a_character() {
    let sql = format!("SELEC {}", "ü".repeat(100));
    let error = error(&sql);
    assert_eq!(error.offset, 0);
    assert!(error.near.len() <= NEAR_BYTES_MAX);
    assert!(std::str::from_utf8(&error.near).is_ok());
    assert!(error.near.len() >= NEAR_BYTES_MAX - 1);
}

#[test]
fn an_unterminated_string_or_comment_is_quoted_from_its_start() {
    for (sql, offset) in [
        ("SELECT 'abc", 7),
        ("SELECT 1 /* abc", 9),
        ("SELECT `abc", 7),
        ("SELECT 1 /*!40000 + 1", 21),
        ("SELECT x'0'", 7),
        ("SELECT x'0g'", 7),
        ("SELECT b'012'", 7),
        ("SELECT 'a\\'", 7),
    ] {
        assert_eq!(error(sql).offset, offset, "{sql}");
    }
}

#[test]
fn nothing_to_run_is_an_empty_query() {
    for sql in
        ["", "  ", ";", " ; ;\n", "-- only a comment", "/* a */ # b", "/*!99999 SELECT 1 */", "/*M! SELECT 1 */"]
    {
        let error = error(sql);
        assert_eq!((error.kind, error.errno()), (ParseErrorKind::EmptyQuery, 1065), "{sql}");
        assert_eq!(error.to_string(), "Query was empty");
    }
}

#[test]
fn what_follows_a_whole_statement_is_an_error() {
    assert_eq!(error("SELECT 1 FROM t WHERE a = 1 b").offset, 28);
    assert_eq!(error("COMMIT now").offset, 7);
    assert_eq!(error("SELECT 1)").offset, 8);
}

#[test]
fn reserved_words_are_no_names() {
    assert_eq!(error("SELECT 1 FROM select").offset, 14);
    assert_eq!(error("CREATE TABLE t (order INT)").offset, 16);
    assert_eq!(error("SELECT 1 AS from").offset, 12);
}

#[test]
fn keywords_of_one_statement_are_refused_in_another() {
    for sql in [
        "SELECT a, * FROM t",
        "DELETE t1 FROM t1, t2 ORDER BY a",
        "SELECT 1 FROM a LEFT JOIN b",
        "SELECT 1 FROM a NATURAL JOIN b ON 1",
        "INSERT INTO t SET a",
        "REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
        "CREATE TABLE t",
        "SELECT 1 INTO @a UNION SELECT 2",
        "COMMIT AND CHAIN RELEASE",
        "SHOW FULL INDEX FROM t",
        "START TRANSACTION READ ONLY, READ WRITE",
        "CREATE OR REPLACE PROCEDURE p() SELECT 1",
        "CREATE PROCEDURE p() BEGIN SELECT 1 END",
        "CREATE PROCEDURE p() a: LOOP SELECT 1; END LOOP b",
        "LEAVE a",
        "IF 1 THEN SELECT 1; END IF",
        "EXPLAIN FORMAT=JSON COMMIT",
        "ALTER TABLE t ADD",
        "LOCK TABLES t",
        "SELECT 1 LIMIT 'a'",
        "SELECT 1 LIMIT -1",
    ] {
        assert_eq!(error(sql).kind, ParseErrorKind::Syntax, "{sql}");
    }
}

#[test]
fn statements_run_one_at_a_time_and_errors_come_when_their_turn_comes() {
    let sql = b" SELECT 1;; SELEC 2; SELECT 3 ";
    let first = parse_first(sql, 0, ParserMode::NONE).expect("the first statement is right");
    assert_eq!((first.start, first.end, first.next), (1, 9, Some(12)));
    let error = parse_first(sql, 12, ParserMode::NONE).expect_err("the second is wrong");
    assert_eq!((error.offset, error.line), (12, 1));
    assert_eq!(error.near, b"SELEC 2; SELECT 3 ");
    let third = parse_first(sql, 20, ParserMode::NONE).expect("the third statement is right");
    assert_eq!((third.start, third.end, third.next), (21, 29, None));
    assert!(parse(sql, ParserMode::NONE).is_err());
}

#[test]
fn a_start_beyond_the_end_is_an_empty_query() {
    let error = parse_first(b"SELECT 1", 100, ParserMode::NONE).expect_err("nothing is there");
    assert_eq!(error.kind, ParseErrorKind::EmptyQuery);
}
