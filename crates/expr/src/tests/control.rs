//! Control flow, casts to numbers, user variables.

use shoal_types::{SqlType, TimeZone, Value};

use super::session::TestSession;
use super::{check, warnings_of};
use crate::build::{self, BuildContext};
use crate::context::{EvalContext, Settings};
use crate::expr::Expr;
use crate::row_source::NoRow;

#[test]
fn choices_convert_their_results_to_one_type() {
    check(&[
        ("CASE 1 WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'more' END", "one"),
        ("CASE WHEN 1>0 THEN 'true' ELSE 'false' END", "true"),
        ("CASE BINARY 'B' WHEN 'a' THEN 1 WHEN 'b' THEN 2 END", "NULL"),
        ("CASE NULL WHEN NULL THEN 1 ELSE 2 END", "2"),
        ("IF(1>2,2,3)", "3"),
        ("IF(1<2,'yes','no')", "yes"),
        ("IF(NULL, 1, 2)", "2"),
        ("IF(1, 1, 2.50)", "1.00"),
        ("IF(0, 1, 2.50)", "2.50"),
        ("IF(1, 1, 'a')", "1"),
        ("IF(1, NULL, 5)", "NULL"),
        ("IFNULL(1,0)", "1"),
        ("IFNULL(NULL,10)", "10"),
        ("IFNULL(1/0,10)", "10.0000"),
        ("IFNULL(1/0,'yes')", "yes"),
        ("NULLIF(1,1)", "NULL"),
        ("NULLIF(1,2)", "1"),
        ("NULLIF('a','A')", "NULL"),
        ("COALESCE(NULL,1)", "1"),
        ("COALESCE(NULL,NULL,NULL)", "NULL"),
        ("COALESCE(NULL, 1, 2.5)", "1.0"),
        ("COALESCE(NULL, DATE'2024-01-01', 'x')", "2024-01-01"),
        ("ISNULL(1+1)", "0"),
        ("ISNULL(1/0)", "1"),
        ("GREATEST(2,0)", "2"),
        ("GREATEST(34.0,3.0,5.0,767.0)", "767.0"),
        ("GREATEST('B','A','C')", "C"),
        ("LEAST(2,0)", "0"),
        ("LEAST('B','A','C')", "A"),
        ("LEAST(1,NULL)", "NULL"),
        ("GREATEST(1, 2.5)", "2.5"),
        ("INTERVAL(23, 1, 15, 17, 30, 44, 200)", "3"),
        ("INTERVAL(10, 1, 10, 100, 1000)", "2"),
        ("INTERVAL(22, 23, 30, 44, 200)", "0"),
        ("INTERVAL(NULL, 1)", "-1"),
    ]);
}

#[test]
fn casts_to_numbers_keep_what_they_can() {
    check(&[
        ("CAST('123abc' AS SIGNED)", "123"),
        ("CAST('-5' AS UNSIGNED)", "18446744073709551611"),
        ("CAST(-1 AS UNSIGNED)", "18446744073709551615"),
        ("CAST(18446744073709551615 AS SIGNED)", "-1"),
        ("CAST(1.5 AS SIGNED)", "2"),
        ("CAST(2.5e0 AS SIGNED)", "2"),
        ("CAST('1.9' AS SIGNED)", "1"),
        ("CAST('12.345' AS DECIMAL(5,2))", "12.35"),
        ("CAST(1234.5 AS DECIMAL(4,1))", "999.9"),
        ("CAST('1e3' AS DECIMAL(10,1))", "1000.0"),
        ("CAST('0x10' AS SIGNED)", "0"),
        ("CAST(X'41' AS UNSIGNED)", "65"),
        ("CAST('1.5' AS DOUBLE)", "1.5"),
        ("CAST(NULL AS SIGNED)", "NULL"),
        ("CAST(TRUE AS SIGNED)", "1"),
        ("CONVERT('7', SIGNED)", "7"),
        ("CAST(1 AS DECIMAL(70,2))", "ERROR 1426"),
    ]);
    assert!(warnings_of("CAST('-5' AS UNSIGNED)").len() <= 1);
}

#[test]
fn user_variables_are_set_and_read_within_a_row() {
    let context = BuildContext::default();
    let assign = build::assign_variable("a", Expr::integer(5), &context).unwrap();
    let read = build::user_variable("a", Some(SqlType::bigint(false)), &context).unwrap();
    let sum = build::binary(build::BinaryOperator::Add, assign, read, &context).unwrap();
    assert!(!sum.is_constant() && sum.needs_session());
    let mut session = TestSession::default();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default()).with_session(&mut session);
    assert_eq!(sum.eval(&NoRow, &mut ctx).unwrap(), Value::Int(10));
}

#[test]
fn an_expression_without_a_session_says_so() {
    let context = BuildContext::default();
    let database = build::function("DATABASE", Vec::new(), &context).unwrap();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    assert!(database.eval(&NoRow, &mut ctx).is_err());
}

#[test]
fn untyped_parameters_take_the_type_of_the_other_side() {
    let context = BuildContext::default();
    let columns = [("k", SqlType::new(shoal_types::BaseType::Int))];
    let expr = super::sql::read("k = ?", &columns, &context).unwrap();
    assert_eq!(expr.to_string(), "(k = ?)");
    let crate::Expr::Call(call) = &expr else { panic!("{expr}") };
    assert_eq!(call.arguments[1].sql_type().base, shoal_types::BaseType::BigInt);
    for (bound, expected) in [
        (Value::Int(5), Some(true)),
        (Value::str("5"), Some(true)),
        (Value::str("6"), Some(false)),
        (Value::Double(5.5), Some(false)),
        (Value::Null, None),
    ] {
        let parameters = [bound];
        let mut ctx = EvalContext::new(&parameters, &TimeZone::UTC, 0, Settings::default());
        assert_eq!(expr.eval_bool(&[Value::Int(5)], &mut ctx).unwrap(), expected, "{parameters:?}");
    }
}

#[test]
fn strict_statements_that_change_data_fail_where_others_warn() {
    let context = BuildContext::default();
    for (sql, errno) in [("1/0", 1365), ("'abc' + 1", 1292), ("CAST('x' AS SIGNED)", 1292)] {
        let expr = super::sql::read(sql, &[], &context).unwrap();
        let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
        ctx.changes_data = true;
        assert_eq!(expr.eval(&NoRow, &mut ctx).unwrap_err().errno(), errno, "{sql}");
        ctx.ignore_errors = true;
        assert!(expr.eval(&NoRow, &mut ctx).is_ok(), "{sql}");
        assert!(ctx.warnings.count() > 0, "{sql}");
    }
}

#[test]
fn sleep_asks_the_executor_to_pause() {
    let context = BuildContext::default();
    let expr = super::sql::read("SLEEP(1.5) + SLEEP(0.5)", &[], &context).unwrap();
    let mut session = TestSession::default();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default()).with_session(&mut session);
    assert_eq!(expr.eval(&NoRow, &mut ctx).unwrap(), Value::Int(0));
    assert_eq!(ctx.pending_sleep, Some(std::time::Duration::from_secs(2)));
}
