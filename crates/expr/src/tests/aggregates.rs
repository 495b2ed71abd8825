//! Aggregates over small tables; merged halves give the same result as the whole.

use shoal_types::{BaseType, Collation, Decimal, SqlType, TimeZone, Value};

use super::{shown, sql};
use crate::aggregate::{Accumulator, Aggregate};
use crate::build::BuildContext;
use crate::context::{EvalContext, Settings};
use crate::expr::Expr;

fn columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("i", SqlType { length: 11, ..SqlType::new(BaseType::Int) }),
        ("d", SqlType::decimal(6, 2)),
        ("f", SqlType::double()),
        ("s", SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI)),
    ]
}

fn rows() -> Vec<[Value; 4]> {
    let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).value);
    vec![
        [Value::Int(3), decimal("1.50"), Value::Double(1.0), Value::str("b")],
        [Value::Int(1), decimal("2.25"), Value::Double(2.0), Value::str("A")],
        [Value::Null, Value::Null, Value::Null, Value::Null],
        [Value::Int(3), decimal("1.50"), Value::Double(4.0), Value::str("a")],
        [Value::Int(-2), decimal("-7.00"), Value::Double(5.0), Value::str("c")],
    ]
}

fn build(name: &str, arguments: &[&str], distinct: bool) -> Aggregate {
    let context = BuildContext::default();
    let columns = columns();
    if name == "COUNT(*)" {
        return Aggregate::count_rows();
    }
    let arguments = arguments.iter().map(|sql| sql::read(sql, &columns, &context).unwrap()).collect();
    Aggregate::new(name, arguments, distinct, &context).unwrap()
}

fn run(aggregate: &Aggregate, rows: &[[Value; 4]], split: Option<usize>) -> (String, Vec<String>) {
    run_with(aggregate, rows, split, Settings::default())
}

fn run_with(
    aggregate: &Aggregate,
    rows: &[[Value; 4]],
    split: Option<usize>,
    settings: Settings,
) -> (String, Vec<String>) {
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, settings);
    let (head, tail) = rows.split_at(split.unwrap_or(rows.len()));
    let mut accumulator = Accumulator::new(aggregate);
    for row in head {
        accumulator.add(aggregate, row, &mut ctx).unwrap();
    }
    if split.is_some() {
        let mut second = Accumulator::new(aggregate);
        for row in tail {
            second.add(aggregate, row, &mut ctx).unwrap();
        }
        accumulator.merge(second, &mut ctx).unwrap();
    }
    let value = accumulator.finish(&mut ctx).unwrap();
    let warnings = ctx.warnings.list().iter().map(|warning| warning.message.clone()).collect();
    (shown(&value, &aggregate.sql_type), warnings)
}

#[test]
fn aggregates_of_all_rows_and_of_merged_halves_agree() {
    for (name, arguments, distinct, expected) in [
        ("COUNT(*)", &[][..], false, "5"),
        ("COUNT", &["i"], false, "4"),
        ("COUNT", &["i"], true, "3"),
        ("COUNT", &["s"], true, "3"),
        ("COUNT", &["i", "s"], true, "4"),
        ("COUNT", &["i + 1"], false, "4"),
        ("SUM", &["i"], false, "5"),
        ("SUM", &["i"], true, "2"),
        ("SUM", &["d"], false, "-1.75"),
        ("SUM", &["f"], false, "12"),
        ("SUM", &["s"], false, "0"),
        ("AVG", &["i"], false, "1.2500"),
        ("AVG", &["d"], false, "-0.437500"),
        ("AVG", &["f"], false, "3"),
        ("AVG", &["i"], true, "0.6667"),
        ("MIN", &["i"], false, "-2"),
        ("MAX", &["d"], false, "2.25"),
        ("MIN", &["s"], false, "A"),
        ("MAX", &["s"], false, "c"),
        ("BIT_OR", &["i + 2"], false, "7"),
        ("BIT_AND", &["i + 2"], false, "0"),
        ("BIT_XOR", &["i"], true, "18446744073709551612"),
        ("VAR_POP", &["f"], false, "2.5"),
        ("VARIANCE", &["f"], false, "2.5"),
        ("VAR_SAMP", &["f"], false, "3.3333333333333335"),
        ("STDDEV_SAMP", &["f"], false, "1.8257418583505538"),
        ("STD", &["f"], false, "1.5811388300841898"),
        ("ANY_VALUE", &["i"], false, "3"),
        ("GROUP_CONCAT", &["i"], false, "3,1,3,-2"),
        ("GROUP_CONCAT", &["i"], true, "3,1,-2"),
        ("GROUP_CONCAT", &["s", "i"], false, "b3,A1,a3,c-2"),
        ("JSON_ARRAYAGG", &["i"], false, "[3, 1, null, 3, -2]"),
    ] {
        let aggregate = build(name, arguments, distinct);
        let rows = rows();
        assert_eq!(run(&aggregate, &rows, None).0, expected, "{name} {arguments:?}");
        for split in 0..=rows.len() {
            assert_eq!(run(&aggregate, &rows, Some(split)).0, expected, "{name} {arguments:?} split at {split}");
        }
    }
}

#[test]
fn aggregates_of_no_rows() {
    for (name, arguments, expected) in [
        ("COUNT(*)", &[][..], "0"),
        ("COUNT", &["i"], "0"),
        ("SUM", &["i"], "NULL"),
        ("AVG", &["i"], "NULL"),
        ("MIN", &["s"], "NULL"),
        ("GROUP_CONCAT", &["s"], "NULL"),
        ("BIT_AND", &["i"], "18446744073709551615"),
        ("BIT_OR", &["i"], "0"),
        ("STD", &["f"], "NULL"),
        ("JSON_ARRAYAGG", &["i"], "NULL"),
        ("JSON_OBJECTAGG", &["s", "i"], "NULL"),
    ] {
        assert_eq!(run(&build(name, arguments, false), &[], None).0, expected, "{name}");
    }
}

#[test]
fn group_concat_sorts_separates_and_is_cut() {
    let context = BuildContext::default();
    let columns = columns();
    let column = |name: &str| sql::read(name, &columns, &context).unwrap();
    let make = |order: Vec<(Expr, bool)>, separator: &str| {
        let separator = Some(separator.as_bytes().to_vec());
        Aggregate::group_concat(vec![column("s")], true, order, separator, &context).unwrap()
    };
    let aggregate = make(vec![(column("s"), true)], "; ");
    assert_eq!(run(&aggregate, &rows(), None).0, "c; b; A");
    let aggregate = make(vec![(column("i"), false), (column("s"), true)], "");
    assert_eq!(run(&aggregate, &rows(), Some(2)).0, "cAb");
    let settings = Settings { group_concat_max_len: 4, ..Settings::default() };
    let aggregate = make(Vec::new(), "--");
    let (text, warnings) = run_with(&aggregate, &rows(), None, settings);
    assert_eq!(text, "b--A");
    assert_eq!(warnings, ["Row 3 was cut by GROUP_CONCAT()"]);
}

#[test]
fn sums_of_integers_do_not_overflow_where_decimals_do_not() {
    let aggregate = build("SUM", &["i"], false);
    let row = [Value::Int(i64::MAX), Value::Null, Value::Null, Value::Null];
    let rows = vec![row.clone(), row];
    assert_eq!(run(&aggregate, &rows, None).0, "18446744073709551614");
    assert_eq!(aggregate.sql_type.base, BaseType::Decimal);
}

#[test]
fn aggregates_check_their_arguments() {
    let context = BuildContext::default();
    assert_eq!(Aggregate::new("SUM", Vec::new(), false, &context).unwrap_err().errno(), 1582);
    assert_eq!(
        Aggregate::new("COUNT", vec![Expr::null(), Expr::null()], false, &context).unwrap_err().errno(),
        1582
    );
    assert!(Aggregate::is_aggregate("group_concat") && !Aggregate::is_aggregate("concat"));
    let keys = Aggregate::new("JSON_OBJECTAGG", vec![Expr::null(), Expr::integer(1)], false, &context).unwrap();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    let mut accumulator = Accumulator::new(&keys);
    let error = accumulator.add(&keys, &[Value::Null], &mut ctx).unwrap_err();
    assert_eq!(error.errno(), 3158);
}
