//! What the planner reads off expressions; grouping keys and order; rows at rest.

use shoal_types::row::RowLayout;
use shoal_types::{BaseType, Collation, SqlType, TimeZone, Value};

use super::{build, sql};
use crate::analysis::{self, ColumnCondition};
use crate::build::{self, BuildContext};
use crate::compare::compare;
use crate::context::{EvalContext, Settings};
use crate::expr::{Expr, MAX_DEPTH};
use crate::group_key::append_group_key;
use crate::operator::CompareOperator;
use crate::row_source::{JoinedRow, RowSource};

fn columns() -> [(&'static str, SqlType); 3] {
    [
        ("k", SqlType { length: 11, ..SqlType::new(BaseType::Int) }),
        ("c", SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI)),
        ("d", SqlType::new(BaseType::Date)),
    ]
}

#[test]
fn comparisons_of_columns_with_constants_are_recognised() {
    let columns = columns();
    let comparison = |sql: &str| {
        let expr = build(sql, &columns);
        analysis::as_column_comparison(&expr).map(|(column, operator, _)| (column, operator))
    };
    assert_eq!(comparison("k = 5"), Some((0, CompareOperator::Equal)));
    assert_eq!(comparison("5 < k"), Some((0, CompareOperator::Greater)));
    assert_eq!(comparison("k >= 1 + 2"), Some((0, CompareOperator::GreaterOrEqual)));
    assert_eq!(comparison("c = 'x'"), Some((1, CompareOperator::Equal)));
    assert_eq!(comparison("d < '2024-01-01'"), Some((2, CompareOperator::Less)));
    assert_eq!(comparison("k = ?"), Some((0, CompareOperator::Equal)));
    assert_eq!(comparison("NOT k = 5"), Some((0, CompareOperator::NotEqual)));
    assert_eq!(comparison("NOT (k < 5)"), Some((0, CompareOperator::GreaterOrEqual)));
    assert_eq!(comparison("k = '5'"), Some((0, CompareOperator::Equal)));
    assert_eq!(comparison("c = 5"), None, "a text compared as a number has another order");
    assert_eq!(comparison("c COLLATE utf8mb4_bin = 'x'"), None);
    assert_eq!(comparison("k + 1 = 5"), None);
    assert_eq!(comparison("k = k + 1"), None);
    assert_eq!(comparison("k = RAND()"), None);
}

#[test]
fn conditions_that_an_index_serves_are_recognised() {
    let columns = columns();
    let condition = |sql: &str| {
        let expr = build(sql, &columns);
        analysis::as_column_constraint(&expr).map(|constraint| {
            let kind = match constraint.condition {
                ColumnCondition::Compare { operator, .. } => operator.symbol().to_owned(),
                ColumnCondition::Between { .. } => "between".to_owned(),
                ColumnCondition::In { constants } => format!("in {}", constants.len()),
                ColumnCondition::IsNull => "null".to_owned(),
                ColumnCondition::IsNotNull => "not null".to_owned(),
                ColumnCondition::LikePrefix { prefix, is_whole } => {
                    format!("like {} {is_whole}", String::from_utf8(prefix).unwrap())
                }
            };
            (constraint.column, kind)
        })
    };
    let found = |column: usize, kind: &str| Some((column, kind.to_owned()));
    assert_eq!(condition("k BETWEEN 1 AND 5"), found(0, "between"));
    assert_eq!(condition("k IN (1, 2, 3)"), found(0, "in 3"));
    assert_eq!(condition("k IS NULL"), found(0, "null"));
    assert_eq!(condition("NOT (k IS NULL)"), found(0, "not null"));
    assert_eq!(condition("c LIKE 'ab%'"), found(1, "like ab false"));
    assert_eq!(condition("c LIKE 'ab'"), found(1, "like ab true"));
    assert_eq!(condition("c LIKE '%ab'"), None);
    assert_eq!(condition("k NOT IN (1, 2)"), None);
    assert_eq!(condition("k LIKE '1%'"), None);
    assert_eq!(condition("c IN ('a', 5)"), None);
}

#[test]
fn conjunctions_are_flat() {
    let columns = columns();
    let expr = build("k = 1 AND (c = 'x' AND d IS NULL) AND k < 9", &columns);
    assert_eq!(analysis::conjuncts(&expr).len(), 4);
    let terms = analysis::split_conjunction(expr.clone());
    let joined = analysis::join_conjunction(terms, &BuildContext::default()).unwrap().unwrap();
    assert_eq!(joined, expr);
    assert!(analysis::join_conjunction(Vec::new(), &BuildContext::default()).unwrap().is_none());
    assert_eq!(analysis::disjuncts(&build("k = 1 OR k = 2 OR k = 3", &columns)).len(), 3);
    assert!(analysis::is_never_true(&build("1 = 0", &columns)));
    assert!(analysis::is_always_true(&build("1 = 1", &columns)));
}

#[test]
fn constant_terms_vanish() {
    let columns = columns();
    let text = |sql: &str| build(sql, &columns).to_string();
    assert_eq!(text("1 = 1 AND k = 5"), "(k = 5)");
    assert_eq!(text("k = 5 AND 1 = 0"), "0");
    assert_eq!(text("k = 5 OR TRUE"), "1");
    assert_eq!(text("k = 5 OR FALSE"), "(k = 5)");
    assert_eq!(text("k AND 1"), "(k)", "a number is still turned into a truth value");
    assert_eq!(text("k = 5 AND NULL"), "((k = 5) and NULL)");
    assert_eq!(text("RAND() > 2 AND 0"), "((rand() > 2) and 0)");
}

#[test]
fn columns_are_found_and_moved() {
    let columns = columns();
    let expr = build("k + 1 > 2 AND c = 'x' OR k IS NULL", &columns);
    assert_eq!(expr.columns_used(), [0, 1]);
    let moved = expr.map_columns(&mut |position| position + 10);
    assert_eq!(moved.columns_used(), [10, 11]);
}

#[test]
fn rows_compare_column_by_column() {
    let context = BuildContext::default();
    let numbers = |numbers: &[i64]| numbers.iter().map(|number| Expr::integer(*number)).collect::<Vec<_>>();
    let truth = |operator, left: &[i64], right: &[i64]| {
        let expr = build::row_comparison(operator, numbers(left), numbers(right), &context).unwrap();
        super::constant(&expr) == Value::Int(1)
    };
    assert!(truth(CompareOperator::Equal, &[1, 2], &[1, 2]));
    assert!(truth(CompareOperator::NotEqual, &[1, 2], &[1, 3]));
    assert!(truth(CompareOperator::Less, &[1, 2, 9], &[1, 3, 0]));
    assert!(truth(CompareOperator::LessOrEqual, &[1, 2], &[1, 2]));
    assert!(!truth(CompareOperator::Less, &[1, 2], &[1, 2]));
    assert!(truth(CompareOperator::GreaterOrEqual, &[2, 0], &[1, 9]));
    let rows = vec![numbers(&[1, 2]), numbers(&[3, 4])];
    let found = build::row_in_list(numbers(&[3, 4]), rows, false, &context).unwrap();
    assert_eq!(super::constant(&found), Value::Int(1));
    let wrong = build::row_comparison(CompareOperator::Equal, numbers(&[1]), numbers(&[1, 2]), &context);
    assert_eq!(wrong.unwrap_err().errno(), 1241);
}

#[test]
fn grouping_keys_are_equal_exactly_for_equal_values() {
    let text = SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI);
    let key = |value: &Value, sql_type: &SqlType| {
        let mut key = Vec::new();
        append_group_key(value, sql_type, &mut key);
        key
    };
    let decimal = |text: &str| Value::Decimal(shoal_types::Decimal::parse(text.as_bytes()).value);
    let exact = SqlType::decimal(10, 4);
    assert_eq!(key(&Value::str("abc"), &text), key(&Value::str("ABC"), &text));
    assert_ne!(key(&Value::str("abc"), &text), key(&Value::str("abd"), &text));
    assert_eq!(key(&decimal("1.50"), &exact), key(&decimal("1.5"), &exact));
    assert_ne!(key(&decimal("10"), &exact), key(&decimal("1"), &exact));
    assert_eq!(key(&Value::Double(0.0), &SqlType::double()), key(&Value::Double(-0.0), &SqlType::double()));
    assert_eq!(key(&Value::Int(5), &SqlType::bigint(false)), key(&Value::UInt(5), &SqlType::bigint(true)));
    assert_ne!(key(&Value::Null, &text), key(&Value::str(""), &text));
    let pair =
        |first: &str, second: &str| [key(&Value::str(first), &text), key(&Value::str(second), &text)].concat();
    assert_ne!(pair("a", "bc"), pair("ab", "c"));
}

#[test]
fn order_puts_null_first_and_follows_the_collation() {
    let text = SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI);
    let mut values = vec![Value::str("b"), Value::Null, Value::str("A"), Value::str("a1"), Value::str("B")];
    values.sort_by(|left, right| compare(left, right, &text));
    let expected = [Value::Null, Value::str("A"), Value::str("a1"), Value::str("b"), Value::str("B")];
    assert_eq!(values, expected);
    let mixed = compare(&Value::UInt(u64::MAX), &Value::Int(-1), &SqlType::bigint(true));
    assert!(mixed.is_gt());
}

#[test]
fn filters_read_stored_rows_in_place() {
    let columns = columns();
    let layout = RowLayout::new(columns.iter().map(|(_, sql_type)| sql_type.clone()).collect());
    let values = [Value::Int(-7), Value::str("x"), Value::Null];
    let mut bytes = Vec::new();
    layout.encode(&values, &TimeZone::UTC, &mut bytes).unwrap();
    let row = layout.row(&bytes);
    let other = [Value::Int(1)];
    let joined = JoinedRow { left: &row, right: other.as_slice(), split: 3 };
    for (sql, expected) in [
        ("k = -7", Some(true)),
        ("k BETWEEN 5 AND 10", Some(false)),
        ("k BETWEEN -10 AND 0", Some(true)),
        ("c = 'X'", Some(true)),
        ("c > 'y'", Some(false)),
        ("d IS NULL", Some(true)),
        ("d = '2024-01-01'", None),
        ("k < 0 AND c LIKE 'x%'", Some(true)),
        ("k IN (1,2,3,4,5,-7)", Some(true)),
        ("c IN ('q','r','s','t','X')", Some(true)),
        ("k", Some(true)),
    ] {
        let expr = sql::read(sql, &columns, &BuildContext::default()).unwrap();
        let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
        assert_eq!(expr.eval_bool(&row, &mut ctx).unwrap(), expected, "{sql}");
        assert_eq!(expr.eval_bool(&values, &mut ctx).unwrap(), expected, "{sql}");
        assert_eq!(expr.eval_bool(&joined, &mut ctx).unwrap(), expected, "{sql}");
    }
    assert_eq!(joined.integer(3), Some(1));
    assert!(joined.is_null(4));
}

#[test]
fn the_deepest_expression_is_evaluated_and_dropped_on_an_ordinary_stack() {
    let context = BuildContext::default();
    let column = || Expr::column(0, SqlType::double(), false, "f");
    let mut expr = column();
    let mut refused = None;
    for _ in 0..u32::from(MAX_DEPTH) + 10 {
        match build::binary(build::BinaryOperator::Add, expr.clone(), column(), &context) {
            Ok(deeper) => expr = deeper,
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    assert!(refused.is_some(), "there is no limit");
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    let value = expr.eval(&[Value::Double(1.0)], &mut ctx).unwrap();
    assert_eq!(value, Value::Double(f64::from(MAX_DEPTH)));
    assert!(expr.to_string().len() > 400);
}

#[test]
fn a_long_disjunction_is_not_deep() {
    let context = BuildContext::default();
    let columns = columns();
    let terms = (0..10_000).map(|number| {
        let column = Expr::column(0, columns[0].1.clone(), false, "k");
        build::comparison(CompareOperator::Equal, column, Expr::integer(number), &context).unwrap()
    });
    let expr = build::or(terms.collect(), &context).unwrap();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    assert_eq!(expr.eval_bool(&[Value::Int(9_999)], &mut ctx).unwrap(), Some(true));
}

#[test]
fn temporary_columns_have_the_types_of_create_table_select() {
    let columns = columns();
    let stored = |sql: &str| build::stored_type(&build(sql, &columns)).base;
    assert_eq!(stored("1"), BaseType::Int);
    assert_eq!(stored("k"), BaseType::Int);
    assert_eq!(stored("CAST(k AS SIGNED)"), BaseType::BigInt);
    assert_eq!(stored("NULL"), BaseType::Char);
    assert_eq!(stored("1.5"), BaseType::Decimal);
    assert_eq!(stored("CONCAT(c, 'x')"), BaseType::VarChar);
    assert_eq!(stored("NOW()"), BaseType::DateTime);
}
