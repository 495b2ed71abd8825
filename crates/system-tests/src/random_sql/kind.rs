//! Values of all kinds: few enough that rows meet, with edges among them.

use super::Tree;
use super::chance::Chance;
pub use super::value_kind::Kind;
use crate::sql;

/// Kinds that every oracle knows; JSON is a text in MariaDB.
pub const COMMON_KINDS: [Kind; 8] =
    [Kind::Int, Kind::Decimal, Kind::Double, Kind::Text, Kind::Binary, Kind::Date, Kind::DateTime, Kind::Time];

const INTS: [i64; 16] = [0, 1, 2, 3, 4, 5, 7, 10, 12, 20, 42, 100, -1, -2, -7, 127];
const INT_EDGES: [i64; 12] =
    [128, 255, 256, -128, -129, 32767, 65536, 2147483647, -2147483648, 4294967295, i64::MAX, i64::MIN + 1];
const DECIMALS: [&str; 10] = ["0.0", "0.5", "1.25", "-3.75", "10.00", "99.99", "0.001", "2.0", "-1.5", "7.50"];
const DECIMAL_EDGES: [&str; 4] = ["999.995", "-1000000.0", "12345678901234567890.123456", "0.0000001"];
// Sums of these are exact, in whatever order.
const DOUBLES: [&str; 7] = ["0e0", "0.5e0", "1.25e0", "-2e0", "1e1", "7e0", "-0.25e0"];
const DOUBLE_EDGES: [&str; 3] = ["1e15", "-1e300", "1e-20"];
const TEXTS: [&str; 16] =
    ["", "a", "A", "b", "B", "ab", "AB", "abc", "zz", "10", "1", "-1x", "2.5", "a_b", "c%", "Abc"];
const TEXT_EDGES: [&str; 8] = ["a ", " a", "0x41", "1e1", "10abc", "it's", "a\\b", "longer than ten characters"];
const BINARIES: [&str; 5] = ["X''", "X'00'", "X'4142'", "X'61'", "X'313233'"];
// No UTF-8: such a literal cannot stand beside a text.
const STORED_BINARIES: [&str; 3] = ["X'FF00'", "X'80'", "X'C3'"];
const DATES: [&str; 8] = [
    "2020-02-29",
    "2019-12-31",
    "2020-01-01",
    "2000-01-01",
    "1999-06-15",
    "2021-03-01",
    "2020-02-28",
    "2024-10-27",
];
const DATE_EDGES: [&str; 3] = ["1000-01-01", "9999-12-31", "2038-01-19"];
const TIMES_OF_DAY: [&str; 6] =
    ["00:00:00", "23:59:59", "12:30:00", "01:02:03.5", "10:11:12.123456", "23:59:59.999999"];
const TIMES: [&str; 8] =
    ["00:00:00", "10:11:12", "-01:00:00", "23:59:59", "100:00:00", "-12:30:15", "00:00:01.5", "12:30:00"];
const TIME_EDGES: [&str; 2] = ["838:59:59", "-838:59:59"];
const JSONS: [&str; 12] = [
    "null",
    "1",
    "-2.5",
    "\"a\"",
    "\"A\"",
    "true",
    "[]",
    "{}",
    "[1, 2, 3]",
    "{\"a\": 1, \"b\": [1, \"x\"]}",
    "{\"a\": null}",
    "[\"a\", {\"b\": 10}]",
];
const NULL_PERCENT: usize = 8;
/// A literal outside the usual ones.
const EDGE_PERCENT: usize = 6;

/// Not every statement may meet edges: where rows decide which of them is evaluated, errors depend on the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    None,
    Some,
}

/// A literal of a kind, as an expression.
pub fn literal(chance: &mut Chance, kind: Kind, edges: Edges) -> Tree {
    if chance.percent(NULL_PERCENT) {
        return Tree::null().of(kind);
    }
    let at_edge = edges == Edges::Some && chance.percent(EDGE_PERCENT);
    let mut text = |usual: &[&'static str], edge: &[&'static str]| match at_edge {
        true => chance.one_of(edge),
        false => chance.one_of(usual),
    };
    let tree = match kind {
        Kind::Int if at_edge => Tree::int(chance.one_of(&INT_EDGES)),
        Kind::Int => Tree::int(chance.one_of(&INTS)),
        Kind::Decimal => typed(text(&DECIMALS, &DECIMAL_EDGES)),
        Kind::Double => typed(text(&DOUBLES, &DOUBLE_EDGES)),
        Kind::Text => Tree::text(text(&TEXTS, &TEXT_EDGES)),
        Kind::Binary => typed(text(&BINARIES, &BINARIES)),
        Kind::Date => typed(&format!("DATE'{}'", text(&DATES, &DATE_EDGES))),
        Kind::DateTime => {
            let date = text(&DATES, &DATE_EDGES);
            // Without a fraction: beside a column MariaDB leaves that out.
            typed(&format!("TIMESTAMP'{date} {}'", text(&TIMES_OF_DAY[..3], &TIMES_OF_DAY[..3])))
        }
        Kind::Time => typed(&format!("TIME'{}'", text(&TIMES, &TIME_EDGES))),
        Kind::Json => typed(&format!("CAST('{}' AS JSON)", text(&JSONS, &JSONS))),
    };
    tree.of(kind)
}

fn typed(sql: &str) -> Tree {
    match sql.starts_with('-') {
        true => sql!["(", sql, ")"].expression(),
        false => Tree::from(sql).expression(),
    }
}

/// A value to be stored, mostly one that fits: texts stand for temporal values and documents.
pub fn stored(chance: &mut Chance, kind: Kind, edges: Edges) -> Tree {
    match kind {
        Kind::Json => Tree::text(chance.one_of(&JSONS)),
        Kind::Binary if chance.percent(20) => Tree::from(chance.one_of(&STORED_BINARIES)),
        Kind::Date if chance.percent(50) => Tree::text(chance.one_of(&DATES)),
        Kind::DateTime if chance.percent(50) => {
            Tree::text(&format!("{} {}", chance.one_of(&DATES), chance.one_of(&TIMES_OF_DAY)))
        }
        Kind::Time if chance.percent(50) => Tree::text(chance.one_of(&TIMES)),
        _ => literal(chance, kind, edges),
    }
}
