//! Rows of earlier versions as those of the present.

use super::RowLayout;
use crate::schema::{PastColumn, PastRows};
use crate::sql_type::{BaseType, SqlType};
use crate::{Collation, TimeZone, Value};

fn types(texts: usize) -> Vec<SqlType> {
    let mut types = vec![SqlType::new(BaseType::Int), SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI)];
    types.extend((0..texts).map(|_| SqlType::new(BaseType::Text)));
    types
}

/// What was (int, varchar, text) is (text, int, bigint): the varchar is gone, and the bigint came with 7.
fn layouts() -> (RowLayout, RowLayout) {
    let present = vec![SqlType::new(BaseType::Text), SqlType::new(BaseType::Int), SqlType::new(BaseType::BigInt)];
    let past = PastRows {
        widths: vec![Some(4), None, None],
        columns: vec![PastColumn::At(2), PastColumn::At(0), PastColumn::Value(Some(7_u64.to_le_bytes().to_vec()))],
    };
    (RowLayout::new(types(1)), RowLayout::with_past(present, &[past]))
}

#[test]
fn rows_from_before_a_definition_have_the_columns_that_came_with_it() {
    let (old, new) = layouts();
    for text in [vec![b'y'; 3], vec![b'z'; 70_000]] {
        let mut row = Vec::new();
        let values = [Value::Int(-5), Value::str("gone"), Value::Str(text.clone())];
        old.encode(&values, &TimeZone::UTC, &mut row).unwrap();
        let expected = [Value::Str(text), Value::Int(-5), Value::Int(7)];
        let read = new.checked_row(&row).unwrap();
        assert_eq!(read.values(&TimeZone::UTC), expected);
        let current = read.current_bytes();
        assert_ne!(&*current, &row[..]);
        let again = new.checked_row(&current).unwrap();
        assert_eq!(again.values(&TimeZone::UTC), expected);
        assert_eq!(again.current_bytes(), current);
        let mut changed = Vec::new();
        new.encode_changed(read, &[(1, Value::Null)], &TimeZone::UTC, &mut changed).unwrap();
        assert_eq!(new.row(&changed).value(1, &TimeZone::UTC), Value::Null);
        // Whoever does not know the version yet neither reads beyond it nor blames its sender.
        assert!(old.checked_row(&current).is_err_and(|error| !error.is_spoilt()));
        assert!(old.row(&current).is_null(0) && old.row(&current).raw(2).is_empty());
        assert!(new.splice(read, 0, 0, 0, b"x").is_none());
    }
}

#[test]
fn a_null_of_an_earlier_row_stays_one() {
    let (old, new) = layouts();
    let mut row = Vec::new();
    old.encode(&[Value::Null, Value::Null, Value::Null], &TimeZone::UTC, &mut row).unwrap();
    assert_eq!(new.row(&row).values(&TimeZone::UTC), [Value::Null, Value::Null, Value::Int(7)]);
    for length in 0..row.len() {
        assert!(new.checked_row(&row[..length]).is_err(), "{length} bytes");
    }
}
