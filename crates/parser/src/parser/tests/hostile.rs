//! Statements made to break the parser: deep, long, cut, random.

use proptest::prelude::*;

use super::super::{EXPRESSION_HEIGHT_MAX, NESTING_MAX};
use crate::ast::{Expr, Statement};
use crate::{Digester, ParseErrorKind, ParserMode, normalised_text, parse, parse_expression, parse_parameterised};

/// Well below the 2 MiB that a thread has by default; a release build needs less than half of what a debug build takes.
const SMALL_STACK_BYTES: usize = 768 * 1024;

/// Runs on a thread with a small stack, so that recursion out of bounds kills the test.
#[expect(clippy::disallowed_methods, reason = "a stack of another size is another thread's")]
fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK_BYTES).spawn(work).expect("a thread starts");
    thread.join().expect("the work ends")
}

/// Parses on a small stack and drops the tree there; the kind of the error, if there was one.
fn outcome(sql: String) -> Option<ParseErrorKind> {
    on_small_stack(move || parse(sql.as_bytes(), ParserMode::NONE).err().map(|error| error.kind))
}

#[test]
fn nesting_without_end_is_an_error_and_no_stack_overflow() {
    let deep = 100_000;
    let wrapped =
        |open: &str, core: &str, close: &str| format!("SELECT {}{core}{}", open.repeat(deep), close.repeat(deep));
    let from = |open: &str, core: &str, close: &str| {
        format!("SELECT 1 FROM {}{core}{}", open.repeat(deep), close.repeat(deep))
    };
    let statements = [
        wrapped("(", "1", ")"),
        wrapped("NOT ", "1", ""),
        wrapped("!", "1", ""),
        wrapped("- ", "1", ""),
        wrapped("~", "1", ""),
        wrapped("BINARY ", "1", ""),
        wrapped("@a:=", "1", ""),
        wrapped("ABS(", "1", ")"),
        wrapped("CAST(", "1", " AS CHAR)"),
        wrapped("CASE WHEN ", "1", " THEN 1 END"),
        wrapped("(SELECT ", "1", ")"),
        wrapped("1 + (", "1", ")"),
        wrapped("1 BETWEEN 1 AND ", "1", ""),
        wrapped("INTERVAL(1, ", "1", ")"),
        wrapped("INTERVAL 1 DAY + ", "1", ""),
        wrapped("INTERVAL (", "1", ") DAY + 1"),
        wrapped("1 IN (", "1", ")"),
        wrapped("EXISTS (SELECT ", "1", ")"),
        wrapped("TRIM(", "1", ")"),
        wrapped("{fn ", "1", "}"),
        from("(", "t", ")"),
        from("(SELECT 1 FROM ", "t", ") x"),
        from("{OJ ", "t", "}"),
        from("((SELECT 1) UNION ", "SELECT 2", ")"),
        format!("SELECT 1 FROM t {} {}", "JOIN t ".repeat(deep), "ON 1 ".repeat(deep)),
        format!("{}SELECT 1{}", "(".repeat(deep), ")".repeat(deep)),
        format!("SELECT 1 FROM JSON_TABLE('', '' {}", "COLUMNS (NESTED PATH '' ".repeat(deep)),
        format!("CREATE PROCEDURE p() {}", "BEGIN ".repeat(deep)),
        format!("CREATE PROCEDURE p() {}", "IF 1 THEN ".repeat(deep)),
        format!("CREATE PROCEDURE p() BEGIN {}", "DECLARE EXIT HANDLER FOR 1 BEGIN ".repeat(deep)),
        format!("CREATE PROCEDURE p() {}", "CREATE PROCEDURE p() ".repeat(deep)),
        format!("WITH {} SELECT 1", "a AS (WITH ".repeat(deep)),
        "SHOW PARSE_TREE ".repeat(deep),
    ];
    for sql in statements {
        let start = sql[..sql.len().min(60)].to_owned();
        assert_eq!(outcome(sql), Some(ParseErrorKind::TooNested), "{start}");
    }
}

#[test]
fn the_deepest_nesting_allowed_fits_a_small_stack() {
    // Two levels are taken by the statement's query and the select item.
    for (open, close, levels_each) in
        [("(", ")", 1), ("(SELECT ", ")", 4), ("1 + (", ")", 2), ("ABS(", ")", 1), ("NOT ", "", 1)]
    {
        let depth = (NESTING_MAX as usize - 4) / levels_each;
        let sql = format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(outcome(sql), None, "{open}");
        let sql = format!("SELECT {}1{}", open.repeat(depth + 5), close.repeat(depth + 5));
        assert_eq!(outcome(sql), Some(ParseErrorKind::TooNested), "{open}");
    }
}

#[test]
fn long_chains_of_and_and_or_are_flat() {
    for (word, parts) in [("OR", 100_000), ("AND", 100_000), ("||", 1000), ("&&", 1000)] {
        let sql = format!("a=1{}", format!(" {word} a=2").repeat(parts));
        let operands = on_small_stack(move || match parse_expression(sql.as_bytes(), ParserMode::NONE) {
            Ok(Expr::And(operands) | Expr::Or(operands)) => operands.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(operands, parts + 1);
    }
}

#[test]
fn long_chains_of_other_operators_are_bounded_in_height() {
    for operator in ["+", "-", "*", "=", "|", "XOR", "DIV"] {
        let chain = |length: u32| format!("SELECT 1{}", format!(" {operator} 1").repeat(length as usize));
        assert_eq!(outcome(chain(EXPRESSION_HEIGHT_MAX - 1)), None, "{operator}");
        assert_eq!(outcome(chain(100_000)), Some(ParseErrorKind::TooNested), "{operator}");
    }
}

#[test]
fn heights_of_nested_chains_add_up() {
    let chain = " + 1".repeat(600);
    assert_eq!(outcome(format!("SELECT (1{chain})")), None);
    assert_eq!(outcome(format!("SELECT (1{chain}){chain}")), Some(ParseErrorKind::TooNested));
    assert_eq!(outcome(format!("SELECT ABS(1{chain}){chain}")), Some(ParseErrorKind::TooNested));
    assert_eq!(outcome(format!("SELECT 1 = (1{chain}) OR 1 = (1{chain})")), None);
    assert_eq!(outcome(format!("SELECT (SELECT 1{chain}){chain}")), Some(ParseErrorKind::TooNested));
}

#[test]
fn long_lists_are_flat() {
    let rows = format!("INSERT INTO t VALUES (1){}", ",(1)".repeat(100_000));
    assert_eq!(outcome(rows), None);
    let unions = format!("SELECT 1{}", " UNION SELECT 1".repeat(50_000));
    assert_eq!(outcome(unions), None);
    let joins = format!("SELECT 1 FROM t{}", " JOIN t ON 1".repeat(50_000));
    assert_eq!(outcome(joins), None);
    let collations = format!("SELECT 'a'{}", " COLLATE x".repeat(900));
    assert_eq!(outcome(collations), None);
}

#[test]
fn bytes_outside_utf_8_are_allowed_in_strings_and_refused_in_names() {
    let Ok(statements) = parse(b"INSERT INTO t VALUES ('\xff\xfe\\'\x80', _latin1 '\xe9')", ParserMode::NONE)
    else {
        panic!("strings may hold any byte");
    };
    let Statement::Insert(insert) = &statements[0] else { panic!("{statements:?}") };
    assert!(format!("{insert:?}").contains("bytes: [255, 254, 39, 128]"));
    let error = parse(b"SELECT 1 FROM `a\xff`", ParserMode::NONE).expect_err("the name is not UTF-8");
    assert_eq!((error.kind, error.offset), (ParseErrorKind::InvalidName, 14));
    let error = parse(b"SELECT 1 FROM a\xff", ParserMode::NONE).expect_err("the name is not UTF-8");
    assert_eq!(error.kind, ParseErrorKind::InvalidName);
}

#[test]
fn names_may_be_any_utf_8() {
    let Ok(_) = parse("SELECT größe AS `größe, 大` FROM tàble".as_bytes(), ParserMode::NONE) else {
        panic!("names are UTF-8");
    };
}

/// Every public reader of client bytes over `sql`.
fn read_all(sql: &[u8], mode: ParserMode) {
    let _ = parse(sql, mode);
    let _ = parse_expression(sql, mode);
    let mut literals = Vec::new();
    let digest = Digester::default().digest(sql, 0, mode, &mut literals);
    for literal in &literals {
        literal.value(sql, mode);
    }
    if let Ok(parsed) = parse_parameterised(sql, 0, mode) {
        assert_eq!(parsed.literal_count as usize, literals.len());
        assert!(digest.start == parsed.start);
    }
    normalised_text(sql, 0, mode);
}

fn modes() -> impl Strategy<Value = ParserMode> {
    proptest::collection::vec(0..5usize, 0..3).prop_map(|picks| {
        let all = [
            ParserMode::ANSI_QUOTES,
            ParserMode::PIPES_AS_CONCAT,
            ParserMode::NO_BACKSLASH_ESCAPES,
            ParserMode::IGNORE_SPACE,
            ParserMode::HIGH_NOT_PRECEDENCE,
        ];
        picks.into_iter().fold(ParserMode::NONE, |mode, pick| mode | all[pick])
    })
}

/// Words and marks of the corpus, to be thrown together.
fn corpus_tokens() -> Vec<String> {
    let mut tokens: Vec<String> = super::corpus::entries()
        .iter()
        .flat_map(|entry| entry.sql.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for mark in [
        "(", ")", ",", ";", ".", "*", "=", "'", "\"", "`", "/*", "*/", "/*!", "/*!50000", "--", "@", "@@", "->",
        "{", "}", ":",
    ] {
        tokens.extend(std::iter::repeat_n(mark.to_owned(), 20));
    }
    tokens.sort_unstable();
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_never_panic(sql in proptest::collection::vec(any::<u8>(), 0..200), mode in modes()) {
        read_all(&sql, mode);
    }

    #[test]
    fn a_statement_of_the_corpus_with_pieces_replaced_never_panics(
        pick in any::<proptest::sample::Index>(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 0..3u8), 1..6),
        mode in modes(),
    ) {
        let tokens = corpus_tokens();
        let entries = super::corpus::entries();
        let mut words: Vec<String> = entries[pick.index(entries.len())].sql.split(' ').map(str::to_owned).collect();
        for (place, token, action) in edits {
            let place = place.index(words.len());
            let token = tokens[token.index(tokens.len())].clone();
            match action {
                0 => words[place] = token,
                1 => words.insert(place, token),
                _ if words.len() > 1 => { words.remove(place); }
                _ => {}
            }
        }
        read_all(words.join(" ").as_bytes(), mode);
    }

    #[test]
    fn token_soup_never_panics(picks in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40), mode in modes()) {
        let tokens = corpus_tokens();
        let soup: Vec<&str> = picks.iter().map(|pick| tokens[pick.index(tokens.len())].as_str()).collect();
        read_all(soup.join(" ").as_bytes(), mode);
    }
}
