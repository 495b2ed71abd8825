use super::{Digest, Digester, LITERALS_MAX, LiteralText};
use crate::ast::{Expr, LiteralValue, Statement};
use crate::{ParserMode, normalised_text, parse_parameterised};

fn digest_in(mode: ParserMode, sql: &str) -> (Digest, Vec<String>) {
    let mut literals = Vec::new();
    let digest = Digester::default().digest(sql.as_bytes(), 0, mode, &mut literals);
    let texts = literals
        .iter()
        .map(|literal| match literal.value(sql.as_bytes(), mode) {
            LiteralText::Integer(value) => value.to_string(),
            LiteralText::Decimal(text) | LiteralText::Float(text) => text.to_owned(),
            LiteralText::String(bytes) => format!("'{}'", String::from_utf8_lossy(&bytes)),
            LiteralText::Hex(bytes) | LiteralText::Bit(bytes) => format!("{bytes:?}"),
        })
        .collect();
    (digest, texts)
}

fn digest(sql: &str) -> (Digest, Vec<String>) {
    digest_in(ParserMode::NONE, sql)
}

#[track_caller]
fn same(left: &str, right: &str) {
    assert_eq!(digest(left).0.hash, digest(right).0.hash, "{left} | {right}");
}

#[track_caller]
fn different(left: &str, right: &str) {
    assert_ne!(digest(left).0.hash, digest(right).0.hash, "{left} | {right}");
}

#[test]
fn statements_that_differ_in_literals_share_a_digest() {
    same("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id = 4711 -- x");
    same("SELECT c FROM t WHERE a='x' AND b=1.50", "SELECT c FROM t WHERE a='it''s' AND b=2.25");
    same("INSERT INTO t VALUES (1,'a')", "INSERT INTO t VALUES (2,'b\\'')");
    same("SELECT c FROM t LIMIT 1", "SELECT c FROM t LIMIT 2");
    same(
        "UPDATE t SET a=a+1 WHERE b IN (1,2) ORDER BY c LIMIT 5",
        "UPDATE t SET a=a+9 WHERE b IN (3,4) ORDER BY c LIMIT 6",
    );
}

#[test]
fn literals_come_out_in_order_with_their_values() {
    let (found, literals) =
        digest("UPDATE t SET a=0xFF, b=b'101', c='x\\ny', d=1e3, e=-1.5 WHERE f=18446744073709551616");
    assert!(found.cacheable);
    assert_eq!(literals, ["[255]", "[5]", "'x\ny'", "1e3", "1.5", "18446744073709551616"]);
}

#[test]
fn what_shapes_a_plan_stays_in_the_digest() {
    // Names of result columns.
    different("SELECT 1 FROM t", "SELECT 2 FROM t");
    different("SELECT a+1 FROM t", "SELECT a + 1 FROM t");
    different("SELECT (SELECT 1 FROM u) FROM t", "SELECT (SELECT 2 FROM u) FROM t");
    different("SELECT * FROM (SELECT 1) x", "SELECT * FROM (SELECT 2) x");
    different("INSERT INTO t SELECT 1 FROM u", "INSERT INTO t SELECT 2 FROM u");
    // Positions.
    different("SELECT a, b FROM t ORDER BY 1", "SELECT a, b FROM t ORDER BY 2");
    different("SELECT a, b FROM t GROUP BY 1 HAVING a > 1", "SELECT a, b FROM t GROUP BY 2 HAVING a > 1");
    different(
        "SELECT a FROM t ORDER BY (SELECT b FROM u ORDER BY 1 LIMIT 1), 1",
        "SELECT a FROM t ORDER BY (SELECT b FROM u ORDER BY 1 LIMIT 1), 2",
    );
    // Types.
    different("SELECT a FROM t WHERE CAST(b AS CHAR(1)) = 'x'", "SELECT a FROM t WHERE CAST(b AS CHAR(2)) = 'x'");
    different("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = '1'");
    different("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 1.0");
    different("SELECT a FROM t WHERE b = 1.0", "SELECT a FROM t WHERE b = 1.00");
    different("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 9223372036854775808");
    different("SELECT a FROM t WHERE b = 9223372036854775808", "SELECT a FROM t WHERE b = 18446744073709551616");
    same("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 9223372036854775807");
    different("SELECT a FROM t WHERE ROUND(b, 1) = 1", "SELECT a FROM t WHERE ROUND(b, 2) = 1");
    different("SELECT a FROM t WHERE j->'$.a' = 1", "SELECT a FROM t WHERE j->'$.b' = 1");
    // Structure.
    different("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1,2)");
    different("SELECT a FROM t WHERE b = -1", "SELECT a FROM t WHERE b = 1");
    different("SELECT a FROM t WHERE b = INTERVAL 1 DAY + c", "SELECT a FROM t WHERE b = INTERVAL 1 HOUR + c");
    different("SELECT a FROM t USE INDEX (x)", "SELECT a FROM t USE INDEX (y)");
    different("SELECT a FROM t WHERE b = _latin1'a'", "SELECT a FROM t WHERE b = _utf8mb4'a'");
    different("SELECT a FROM `t u`", "SELECT a FROM t u");
    different("SELECT a FROM t WHERE @x = 1", "SELECT a FROM t WHERE @y = 1");
    different("UPDATE /*+ A() */ t SET a = 1", "UPDATE /*+ B() */ t SET a = 1");
    different("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 1 /*!50000 AND c = 2 */");
}

#[test]
fn the_mode_is_part_of_the_digest() {
    let sql = "SELECT a FROM t WHERE b || c";
    assert_ne!(digest(sql).0.hash, digest_in(ParserMode::PIPES_AS_CONCAT, sql).0.hash);
}

#[test]
fn plain_statements_alone_are_cacheable() {
    for (sql, cacheable) in [
        ("SELECT a FROM t", true),
        ("insert into t values (1)", true),
        ("REPLACE INTO t VALUES (1)", true),
        ("UPDATE t SET a = 1", true),
        ("DELETE FROM t", true),
        ("; SELECT a FROM t", true),
        ("(SELECT a FROM t)", false),
        ("SELECT a FROM t WHERE b = ?", false),
        ("SELECT ? FROM t", false),
        ("SELECT a FROM t WHERE b = 'x", false),
        ("CREATE TABLE t (a INT)", false),
        ("SHOW TABLES", false),
        ("", false),
    ] {
        assert_eq!(digest(sql).0.cacheable, cacheable, "{sql}");
    }
}

#[test]
fn the_digest_covers_the_first_statement() {
    let mut literals = Vec::new();
    let sql = b"SELECT a FROM t WHERE b=1 ; SELECT 2";
    let mut digester = Digester::default();
    let first = digester.digest(sql, 0, ParserMode::NONE, &mut literals);
    assert_eq!((first.start, first.end, first.next, literals.len()), (0, 25, Some(28), 1));
    let second = digester.digest(sql, 28, ParserMode::NONE, &mut literals);
    assert_eq!((second.start, second.end, second.next, literals.len()), (28, 36, None, 0));
    assert_eq!(first.hash, digest("SELECT a FROM t WHERE b=5").0.hash);
}

/// The ordinals of the literals in the tree's debug text.
fn ordinals(sql: &str) -> (Vec<u32>, bool) {
    let parsed =
        parse_parameterised(sql.as_bytes(), 0, ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let tree = format!("{:?}", parsed.statement);
    let found = tree
        .split("ordinal: Some(")
        .skip(1)
        .map(|rest| rest.split(')').next().and_then(|number| number.parse().ok()).expect("a number"))
        .collect();
    (found, parsed.rebindable)
}

#[test]
fn the_parser_gives_each_literal_its_place_in_the_list() {
    assert_eq!(ordinals("SELECT a, 5 FROM t WHERE b=1 AND c='x' LIMIT 3"), (vec![0, 1, 2], true));
    assert_eq!(ordinals("INSERT INTO t (a,b) VALUES (1,'x'),(-2,NULL)"), (vec![0, 1, 2], true));
    assert_eq!(ordinals("SELECT a FROM t ORDER BY 1 LIMIT 2"), (vec![0], true));
}

#[test]
fn a_limit_with_its_offset_first_keeps_the_order_of_the_text() {
    // The tree has the count first.
    assert_eq!(ordinals("SELECT a FROM t LIMIT 5, 10"), (vec![1, 0], true));
}

#[test]
fn literals_that_shape_the_tree_make_it_unfit_for_other_values() {
    for sql in [
        "SELECT a FROM t WHERE b = DATE '2020-01-01'",
        "SELECT a FROM t WHERE b = 'x' 'y'",
        "SELECT a FROM t WHERE b = _latin1'x'",
        "SELECT a FROM t WHERE b = N'x'",
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t HAVING GROUP_CONCAT(a SEPARATOR 'x') = b",
    ] {
        assert!(!ordinals(sql).1, "{sql}");
    }
}

/// Replaces each literal by the one with the same ordinal.
fn literal_values(sql: &str) -> Vec<LiteralValue> {
    let Ok(parsed) = parse_parameterised(sql.as_bytes(), 0, ParserMode::NONE) else { panic!("{sql}") };
    let Statement::Insert(insert) = parsed.statement else { panic!("{sql}") };
    let crate::ast::InsertSource::Values(rows) = insert.source else { panic!("{sql}") };
    rows.into_iter()
        .flatten()
        .filter_map(|expr| match expr {
            Expr::Literal(literal) if literal.ordinal.is_some() => Some(literal.value),
            _ => None,
        })
        .collect()
}

#[test]
fn the_digest_and_the_parser_read_the_same_values() {
    let sql = "INSERT INTO t VALUES (1, 'a\\tb', \"c\"\"d\", 0x4D, b'11', 1.50, 2e3, 99999999999999999999)";
    let mut literals = Vec::new();
    Digester::default().digest(sql.as_bytes(), 0, ParserMode::NONE, &mut literals);
    let parsed = literal_values(sql);
    assert_eq!(parsed.len(), literals.len());
    for (literal, parsed) in literals.iter().zip(parsed) {
        match (literal.value(sql.as_bytes(), ParserMode::NONE), parsed) {
            (LiteralText::Integer(left), LiteralValue::Integer(right)) => assert_eq!(left, right),
            (LiteralText::Decimal(left), LiteralValue::Decimal(right)) => assert_eq!(left, right),
            (LiteralText::Float(left), LiteralValue::Float(right)) => assert_eq!(left, right),
            (LiteralText::String(left), LiteralValue::String(right)) => assert_eq!(left.as_ref(), right.bytes),
            (LiteralText::Hex(left), LiteralValue::Hex(right)) => assert_eq!(left, right.bytes),
            (LiteralText::Bit(left), LiteralValue::Bit(right)) => assert_eq!(left, right.bytes),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_normalised_text_folds_literals_lists_and_rows() {
    for (sql, expected) in [
        ("select a from T where b=1 and c in (1,2,3);", "SELECT `a` FROM `T` WHERE `b` = ? AND `c` IN (...)"),
        ("select a from T where c in (1)", "SELECT `a` FROM `T` WHERE `c` IN (...)"),
        ("INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c')", "INSERT INTO `t` VALUES (...) /* , ... */"),
        ("INSERT INTO t VALUES (1),(2),(3)", "INSERT INTO `t` VALUES (?) /* , ... */"),
        (
            "INSERT INTO t VALUES (1,now()),(2,now())",
            "INSERT INTO `t` VALUES ( ? , `now` ( ) ) , ( ? , `now` ( ) )",
        ),
        (
            "SELECT COUNT(*), a-1 FROM t WHERE b = -1 AND (c > ? OR d)",
            "SELECT `COUNT` ( * ) , `a` - ? FROM `t` WHERE `b` = ? AND ( `c` > ? OR `d` )",
        ),
        ("begin", "BEGIN"),
        ("SELECT 1 /* c */ ; SELECT 2", "SELECT ?"),
        ("SELECT `a``b`, @x", "SELECT `a``b` , @x"),
    ] {
        assert_eq!(normalised_text(sql.as_bytes(), 0, ParserMode::NONE), expected);
    }
}

#[test]
fn a_bulk_load_is_not_cacheable_and_is_not_read_to_its_end() {
    let insert = |rows: usize| format!("INSERT INTO t VALUES {}", vec!["(1, 'a')"; rows].join(","));
    let mut literals = Vec::new();
    let mut digest = |sql: &str| Digester::default().digest(sql.as_bytes(), 0, ParserMode::NONE, &mut literals);
    assert!(digest(&insert(LITERALS_MAX / 2)).cacheable);
    assert!(!digest(&insert(LITERALS_MAX / 2 + 1)).cacheable);
    assert!(literals.len() <= LITERALS_MAX + 1);
}
