//! How operators bind, shown with every operation in parentheses.

use super::{error, expression};
use crate::{ParserMode, parse_expression};

#[track_caller]
fn binds(sql: &str, expected: &str) {
    assert_eq!(expression(sql).to_string().replace('`', ""), expected, "{sql}");
}

#[track_caller]
fn binds_in(mode: ParserMode, sql: &str, expected: &str) {
    let expr = parse_expression(sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(expr.to_string().replace('`', ""), expected, "{sql}");
}

#[track_caller]
fn refused(sql: &str) {
    let error = parse_expression(sql.as_bytes(), ParserMode::NONE);
    assert!(error.is_err(), "{sql} parsed into {}", error.map(|expr| expr.to_string()).unwrap_or_default());
}

#[test]
fn arithmetic_binds_as_in_mysql() {
    binds("a ^ b * c", "((a ^ b) * c)");
    binds("a * b ^ c", "(a * (b ^ c))");
    binds("a + b * c - d", "((a + (b * c)) - d)");
    binds("a - b - c", "((a - b) - c)");
    binds("a DIV b MOD c % d / e", "((((a DIV b) % c) % d) / e)");
    binds("a << b + c", "(a << (b + c))");
    binds("a & b << c", "(a & (b << c))");
    binds("a | b & c", "(a | (b & c))");
    binds("-a ^ b", "(-a ^ b)");
    binds("-a * b", "(-a * b)");
    binds("~a & b", "(~a & b)");
    binds("- -1", "-(-1)");
    binds("5--1", "(5 - -1)");
}

#[test]
fn comparisons_chain_to_the_left_and_take_predicates_as_operands() {
    binds("a = b = c", "((a = b) = c)");
    binds("a = b IS NULL", "((a = b) is null)");
    binds("a IS NULL = b", "((a is null) = b)");
    binds("a = b IN (1)", "(a = (b in (1)))");
    binds("a IN (1) = b", "((a in (1)) = b)");
    binds("a + 1 IN (1, 2)", "((a + 1) in (1,2))");
    binds("a | b = c", "((a | b) = c)");
    binds("a = b LIKE c", "(a = (b like c))");
    binds("a <=> b <> c", "((a <=> b) <> c)");
    refused("a IN (1) IN (2)");
    refused("a LIKE 'x' LIKE 'y'");
}

#[test]
fn between_takes_the_next_and() {
    binds("a BETWEEN 1 AND 2 AND b", "((a between 1 and 2) and b)");
    binds("a NOT BETWEEN b + 1 AND c * 2 OR d", "((a not between (b + 1) and (c * 2)) or d)");
    binds("a BETWEEN 1 AND b BETWEEN 2 AND 3", "(a between 1 and (b between 2 and 3))");
}

#[test]
fn logic_binds_not_and_xor_or() {
    binds("a OR b AND c", "(a or (b and c))");
    binds("a XOR b AND c", "(a xor (b and c))");
    binds("a OR b XOR c", "(a or (b xor c))");
    binds("NOT a = b", "(not((a = b)))");
    binds("NOT a AND b", "((not(a)) and b)");
    binds("NOT a IN (1)", "(not((a in (1))))");
    binds("NOT NOT a", "(not((not(a))))");
    binds("a AND NOT b", "(a and (not(b)))");
    binds("a && b || c", "((a and b) or c)");
    binds("(a AND b) AND c", "(a and b and c)");
    binds("a AND (b AND c)", "(a and (b and c))");
    refused("1 + NOT a");
    refused("a = NOT b");
}

#[test]
fn the_bang_binds_tighter_than_not() {
    binds("!a = b", "((not(a)) = b)");
    binds("!a + b", "((not(a)) + b)");
    binds_in(ParserMode::HIGH_NOT_PRECEDENCE, "NOT a = b", "((not(a)) = b)");
    binds_in(ParserMode::HIGH_NOT_PRECEDENCE, "NOT a BETWEEN 1 AND 2", "((not(a)) between 1 and 2)");
}

#[test]
fn pipes_are_or_or_concatenation_by_the_mode() {
    binds("a || b AND c", "(a or (b and c))");
    binds_in(ParserMode::PIPES_AS_CONCAT, "a || b = c", "((a || b) = c)");
    binds_in(ParserMode::PIPES_AS_CONCAT, "a || b ^ c", "((a || b) ^ c)");
    binds_in(ParserMode::PIPES_AS_CONCAT, "-a || b", "(-a || b)");
    binds_in(ParserMode::PIPES_AS_CONCAT, "a LIKE b || '%'", "(a like (b || '%'))");
}

#[test]
fn binary_and_collate_bind_tightest() {
    binds("BINARY a = b", "((binary a) = b)");
    binds("BINARY a + b", "((binary a) + b)");
    binds("BINARY a COLLATE utf8mb4_bin", "(binary (a collate utf8mb4_bin))");
    binds("a = b COLLATE utf8mb4_bin", "(a = (b collate utf8mb4_bin))");
    binds("-a COLLATE latin1_bin", "-(a collate latin1_bin)");
    binds("a || b COLLATE latin1_bin", "(a or (b collate latin1_bin))");
}

#[test]
fn assignment_takes_everything_to_its_right() {
    binds("@a := @b := 3", "(@a:=(@b:=3))");
    binds("@a := 1 OR 2", "(@a:=(1 or 2))");
    binds("1 + @a := b = 2", "(1 + (@a:=(b = 2)))");
}

#[test]
fn intervals_are_operands_of_plus_and_minus() {
    binds("d + INTERVAL 1 DAY", "(d + interval 1 day)");
    binds(
        "d + INTERVAL a + 1 DAY - INTERVAL '1:1' HOUR_MINUTE",
        "((d + interval (a + 1) day) - interval '1:1' hour_minute)",
    );
    binds("INTERVAL 1 DAY + d", "(d + interval 1 day)");
    binds("INTERVAL 1 DAY + d > e", "((d + interval 1 day) > e)");
    binds("d + INTERVAL (1) DAY", "(d + interval 1 day)");
    binds("d + INTERVAL (1) + 2 DAY", "(d + interval (1 + 2) day)");
    binds("INTERVAL(a, 1, 2)", "interval(a,1,2)");
    binds("d + INTERVAL(a, 1, 2) * 3", "(d + (interval(a,1,2) * 3))");
    binds("DATE_SUB(d, INTERVAL 1 WEEK)", "(d - interval 1 week)");
    binds("ADDDATE(d, 5)", "adddate(d,5)");
    refused("INTERVAL 1 DAY");
    refused("DATE_ADD(d, 5)");
}

#[test]
fn quantified_comparisons_need_a_subquery() {
    binds("a > ALL (SELECT 1)", "(a > all (select 1))");
    binds("a = SOME (TABLE t)", "(a = any (table t))");
    binds("any = some", "(any = some)");
}

#[test]
fn subqueries_in_parentheses_may_be_parts_of_larger_ones() {
    binds("(SELECT 1) + 1", "((select 1) + 1)");
    binds("((SELECT 1) UNION (SELECT 2))", "((select 1) union (select 2))");
    binds("((SELECT 1) LIMIT 1)", "((select 1) limit 1)");
    binds("((SELECT 1), 2)", "row((select 1),2)");
    binds("a IN ((SELECT 1) UNION SELECT 2)", "(a in ((select 1) union select 2))");
    binds("a IN ((SELECT 1), 2)", "(a in ((select 1),2))");
    binds("a IN ((SELECT 1))", "(a in (select 1))");
    binds("EXISTS ((SELECT 1))", "exists(select 1)");
}

#[test]
fn rows_have_two_fields_or_more() {
    binds("(1)", "1");
    binds("(1, 2) = ROW(a, b)", "(row(1,2) = row(a,b))");
    refused("ROW(1)");
    refused("()");
}

#[test]
fn special_calls_come_as_the_calls_they_mean() {
    binds("SUBSTR(a FROM 2)", "substring(a,2)");
    binds("MID(a, 1, 2)", "substring(a,1,2)");
    binds("POSITION('x' IN a)", "locate('x',a)");
    binds("CURRENT_TIMESTAMP", "now()");
    binds("CURRENT_TIMESTAMP(3)", "now(3)");
    binds("LOCALTIME()", "now()");
    binds("CURRENT_DATE", "curdate()");
    binds("TRIM(a)", "trim(a)");
    binds("TRIM('x' FROM a)", "trim(both 'x' from a)");
    binds("TRIM(TRAILING FROM a)", "trim(trailing from a)");
    binds("SCHEMA()", "database()");
    binds("STD(a)", "stddev_pop(a)");
    binds("TIMESTAMPADD(SQL_TSI_DAY, 1, a)", "timestampadd(DAY,1,a)");
    binds("GET_FORMAT(DATETIME, 'ISO')", "get_format(datetime,'ISO')");
    binds("db.f(1, 2)", "db.f(1,2)");
    binds("CONVERT(a, UNSIGNED INTEGER)", "cast(a as unsigned)");
    binds("CAST(a AS DATETIME(3))", "cast(a as datetime(3))");
    binds("IF(a, b, c)", "if(a,b,c)");
    binds("REPLACE(a, 'x', 'y')", "replace(a,'x','y')");
    binds("INSERT(a, 1, 2, 'x')", "insert(a,1,2,'x')");
    binds("LEFT(a, 1)", "left(a,1)");
    binds("DATE(a)", "date(a)");
    binds("TIME '1:2:3'", "time'1:2:3'");
    binds("{fn now()}", "now()");
    refused("COUNT()");
    refused("SUM(a, b)");
    refused("ROW_NUMBER()");
}

#[test]
fn a_comma_or_a_word_in_the_wrong_place_is_found() {
    assert_eq!(error("SELECT 1 +").offset, 10);
    assert_eq!(error("SELECT (1, ) FROM t").offset, 11);
    assert_eq!(error("SELECT CASE a END").offset, 14);
}
