use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::temporal::DateRules;
use crate::{Decimal, Json, TimeZone};

const STRICT: bool = true;
const LAX: bool = false;

fn typed(base: BaseType, length: u32, decimals: u8) -> SqlType {
    SqlType { length, decimals, ..SqlType::new(base) }
}

fn unsigned(base: BaseType) -> SqlType {
    SqlType { unsigned: true, ..SqlType::new(base) }
}

fn text_type(base: BaseType, length: u32) -> SqlType {
    SqlType { collation: Collation::UTF8MB4_0900_AI_CI, ..typed(base, length, 0) }
}

fn labelled(base: BaseType, labels: &[&str]) -> SqlType {
    let labels: Arc<[Box<[u8]>]> = labels.iter().map(|label| Box::from(label.as_bytes())).collect();
    SqlType { labels: Some(labels), ..text_type(base, 0) }
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text.as_bytes()).value)
}

/// The stored value's text and the warning or error, as "level errno: message".
fn stored(value: impl Into<Stimulus>, sql_type: &SqlType, strict: bool) -> (String, String) {
    let rules = DateRules { no_zero_date: strict, no_zero_in_date: strict, allow_invalid_dates: false };
    let temporal = TemporalContext { rules, ..TemporalContext::default() };
    let options = StoreOptions { strict, ignore: false, temporal };
    stored_with(value.into().0, sql_type, &options)
}

fn stored_with(value: Value, sql_type: &SqlType, options: &StoreOptions) -> (String, String) {
    let target = StoreTarget { sql_type, column: "c", row: 3 };
    match store_value(value, Collation::UTF8MB4_0900_AI_CI, target, options) {
        Err(error) => (String::new(), format!("Error {}: {}", error.errno(), error.message())),
        Ok((value, warning)) => {
            let mut text = Vec::new();
            value.append_text_as(sql_type, &mut text);
            let condition = warning.map_or(String::new(), |warning| {
                format!("{:?} {}: {}", warning.level, warning.code.errno(), warning.message)
            });
            (String::from_utf8_lossy(&text).into_owned(), condition)
        }
    }
}

struct Stimulus(Value);

impl From<&str> for Stimulus {
    fn from(text: &str) -> Stimulus {
        Stimulus(Value::str(text))
    }
}

impl From<i64> for Stimulus {
    fn from(number: i64) -> Stimulus {
        Stimulus(Value::Int(number))
    }
}

impl From<f64> for Stimulus {
    fn from(number: f64) -> Stimulus {
        Stimulus(Value::Double(number))
    }
}

impl From<Value> for Stimulus {
    fn from(value: Value) -> Stimulus {
        Stimulus(value)
    }
}

/// Checks what a value becomes without and with strict mode. The condition of strict mode is the same as an error
/// where `strict` is `None`.
fn check(sql_type: &SqlType, cases: Vec<(Stimulus, &str, &str)>) {
    for (Stimulus(value), text, condition) in cases {
        let condition = match condition {
            "range" => "Warning 1264: Out of range value for column 'c' at row 3",
            "cut" => "Warning 1265: Data truncated for column 'c' at row 3",
            "note" => "Note 1265: Data truncated for column 'c' at row 3",
            other => other,
        };
        let outcome = stored(value.clone(), sql_type, LAX);
        assert_eq!(outcome, (text.to_string(), condition.to_string()), "{value:?}");
        let (_, strict) = stored(value.clone(), sql_type, STRICT);
        assert_eq!(strict.starts_with("Error"), condition.starts_with("Warning"), "{value:?}: {strict}");
    }
}

#[test]
fn integers_are_rounded_and_clamped() {
    let int = SqlType::new(BaseType::Int);
    check(
        &int,
        vec![
            ("abc".into(), "0", "Warning 1366: Incorrect integer value: 'abc' for column 'c' at row 3"),
            ("12abc".into(), "12", "cut"),
            ("1.5".into(), "2", ""),
            ("-1.5".into(), "-2", ""),
            (1e20.into(), "2147483647", "range"),
            ("99999999999".into(), "2147483647", "range"),
            (decimal("2.5").into(), "3", ""),
            (2.5.into(), "2", ""),
            ("".into(), "0", "Warning 1366: Incorrect integer value: '' for column 'c' at row 3"),
            (" 7 ".into(), "7", ""),
            (Value::Bit(3, 2).into(), "3", ""),
        ],
    );
    check(
        &unsigned(BaseType::Int),
        vec![
            ((-1).into(), "0", "range"),
            ("-1".into(), "0", "range"),
            (decimal("-0.4").into(), "0", "range"),
            ((-0.4).into(), "0", ""),
            (Value::UInt(4294967295).into(), "4294967295", ""),
            (Value::UInt(4294967296).into(), "4294967295", "range"),
        ],
    );
    check(&SqlType::new(BaseType::TinyInt), vec![(200.into(), "127", "range"), ("-200x".into(), "-128", "range")]);
    check(&unsigned(BaseType::BigInt), vec![("18446744073709551615".into(), "18446744073709551615", "")]);
    assert_eq!(integer_bounds_of(BaseType::MediumInt), (-8388608, 8388607));
}

fn integer_bounds_of(base: BaseType) -> (i128, i128) {
    numeric::integer_bounds(&SqlType::new(base))
}

#[test]
fn integers_keep_the_class_of_their_column() {
    let options = StoreOptions::default();
    let int = SqlType::new(BaseType::Int);
    let target = |sql_type| StoreTarget { sql_type, column: "c", row: 1 };
    let stored = store_value(Value::UInt(5), Collation::BINARY, target(&int), &options).unwrap();
    assert_eq!(stored, (Value::Int(5), None));
    let big = unsigned(BaseType::BigInt);
    let stored = store_value(Value::Int(5), Collation::BINARY, target(&big), &options).unwrap();
    assert_eq!(stored, (Value::UInt(5), None));
}

#[test]
fn decimals_are_rounded_with_a_note_and_clamped_with_a_warning() {
    check(
        &SqlType::decimal(5, 2),
        vec![
            (decimal("1.005").into(), "1.01", "note"),
            (1000.into(), "999.99", "range"),
            ("1.005".into(), "1.01", "note"),
            ("abc".into(), "0.00", "Warning 1366: Incorrect decimal value: 'abc' for column 'c' at row 3"),
            ("1x".into(), "1.00", "cut"),
            ((-99999).into(), "-999.99", "range"),
            (1.5.into(), "1.50", ""),
            ("1e-10".into(), "0.00", "note"),
            (decimal("999.995").into(), "999.99", "range"),
            (5.into(), "5.00", ""),
        ],
    );
    let (_, error) = stored("1x", &SqlType::decimal(5, 2), STRICT);
    assert_eq!(error, "Error 1366: Incorrect decimal value: '1x' for column 'c' at row 3");
    check(&SqlType { unsigned: true, ..SqlType::decimal(5, 2) }, vec![(decimal("-0.01").into(), "0.00", "range")]);
}

#[test]
fn floats_are_clamped_and_rounded_to_their_declared_digits() {
    let float = typed(BaseType::Float, 12, 31);
    check(
        &float,
        vec![(1e40.into(), "3.40282e38", "range"), ("abc".into(), "0", "cut"), ("1.5x".into(), "1.5", "cut")],
    );
    let declared = typed(BaseType::Float, 5, 2);
    check(
        &declared,
        vec![(1.006.into(), "1.01", ""), (99999.into(), "999.99", "range"), ((-0.004).into(), "0.00", "")],
    );
    check(&SqlType { unsigned: true, ..SqlType::double() }, vec![((-1.5).into(), "0", "range")]);
    check(&SqlType::double(), vec![("1e400".into(), "1.7976931348623157e308", "range")]);
}

#[test]
fn bits_take_bytes_and_numbers() {
    let bits = |value: Value, strict| {
        let options = StoreOptions { strict, ..StoreOptions::default() };
        let sql_type = typed(BaseType::Bit, 12, 0);
        let target = StoreTarget { sql_type: &sql_type, column: "c", row: 3 };
        store_value(value, Collation::BINARY, target, &options)
    };
    assert_eq!(bits(Value::Int(5), LAX).unwrap(), (Value::Bit(5, 12), None));
    assert_eq!(bits(Value::str(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]), LAX).unwrap().0, Value::Bit(0x102, 12));
    assert_eq!(bits(Value::str("abc"), LAX).unwrap().0, Value::Bit(0xfff, 12));
    assert_eq!(bits(Value::Int(-1), STRICT).unwrap_err().message(), "Data too long for column 'c' at row 3");
    assert_eq!(bits(Value::str(""), STRICT).unwrap(), (Value::Bit(0, 12), None));
    assert!(bits(Value::Double(1e30), STRICT).is_err());
}

#[test]
fn years_of_two_digits_are_completed() {
    check(
        &SqlType::new(BaseType::Year),
        vec![
            (70.into(), "1970", ""),
            (69.into(), "2069", ""),
            (0.into(), "0000", ""),
            ("0".into(), "2000", ""),
            ("00".into(), "2000", ""),
            ("0000".into(), "0000", ""),
            (1900.into(), "0000", "range"),
            (1901.into(), "1901", ""),
            (2155.into(), "2155", ""),
            (2156.into(), "0000", "range"),
            ("99".into(), "1999", ""),
            ("abc".into(), "0000", "Warning 1366: Incorrect integer value: 'abc' for column 'c' at row 3"),
            ("1999x".into(), "1999", "cut"),
            (100.into(), "0000", "range"),
            (decimal("1.5").into(), "2002", ""),
        ],
    );
}

#[test]
fn characters_beyond_the_length_are_cut() {
    check(
        &text_type(BaseType::Char, 3),
        vec![
            ("abcd".into(), "abc", "cut"),
            ("abc ".into(), "abc", ""),
            ("ab   ".into(), "ab", ""),
            ("abc  d".into(), "abc", "cut"),
            (1234.into(), "123", "cut"),
            ("äöü".into(), "äöü", ""),
        ],
    );
    check(
        &text_type(BaseType::VarChar, 3),
        vec![
            ("abcd".into(), "abc", "cut"),
            ("abc ".into(), "abc", "note"),
            ("ab  ".into(), "ab ", "note"),
            ("äöüß".into(), "äöü", "cut"),
        ],
    );
    let (_, error) = stored("abcd", &text_type(BaseType::VarChar, 3), STRICT);
    assert_eq!(error, "Error 1406: Data too long for column 'c' at row 3");
    // A TEXT is limited in bytes and never cuts a character in two.
    check(&text_type(BaseType::Text, 5), vec![("aäöü".into(), "aäö", "cut"), ("aaää".into(), "aaä", "cut")]);
}

#[test]
fn binary_columns_pad_with_zeros_and_keep_spaces() {
    check(
        &typed(BaseType::Char, 3, 0),
        vec![("abcd".into(), "abc", "cut"), ("ab".into(), "ab\0", ""), ("ab ".into(), "ab ", "")],
    );
    check(&typed(BaseType::VarChar, 3, 0), vec![("abc ".into(), "abc", "cut")]);
}

#[test]
fn strings_are_turned_into_the_columns_character_set() {
    let latin1 = SqlType { collation: Collation::LATIN1_SWEDISH_CI, ..text_type(BaseType::VarChar, 10) };
    let (text, condition) = stored("é", &latin1, STRICT);
    assert_eq!((text.as_bytes(), condition.as_str()), ("\u{fffd}".as_bytes(), ""));
    check(
        &latin1,
        vec![(
            "a😀".into(),
            "a?",
            "Warning 1366: Incorrect string value: '\\xF0\\x9F\\x98\\x80' for column 'c' at row 3",
        )],
    );
    let broken = Value::Str(b"ab\xffcdefghij".to_vec());
    check(
        &text_type(BaseType::VarChar, 20),
        vec![(
            broken.into(),
            "ab",
            "Warning 1366: Incorrect string value: '\\xFFcdefg...' for column 'c' at row 3",
        )],
    );
}

#[test]
fn enums_take_labels_and_indexes() {
    check(
        &labelled(BaseType::Enum, &["a", "B", "c"]),
        vec![
            ("A".into(), "a", ""),
            ("b ".into(), "B", ""),
            ("d".into(), "", "cut"),
            (1.into(), "a", ""),
            (0.into(), "", "cut"),
            (4.into(), "", "cut"),
            ("2".into(), "B", ""),
            ("".into(), "", "cut"),
            (decimal("2.5").into(), "B", ""),
            ((-1).into(), "", "cut"),
        ],
    );
}

#[test]
fn sets_take_lists_and_bits() {
    check(
        &labelled(BaseType::Set, &["x", "y"]),
        vec![
            ("x,y".into(), "x,y", ""),
            ("y,X".into(), "x,y", ""),
            ("z".into(), "", "cut"),
            (3.into(), "x,y", ""),
            (4.into(), "", "cut"),
            ("".into(), "", ""),
            ("x,z".into(), "x", "cut"),
            ("3".into(), "x,y", ""),
            ("x,".into(), "x", "cut"),
        ],
    );
}

#[test]
fn dates_are_cut_from_datetimes_and_impossible_ones_are_zero() {
    let date = SqlType::new(BaseType::Date);
    check(
        &date,
        vec![
            ("2024-01-31".into(), "2024-01-31", ""),
            ("2024-02-30".into(), "0000-00-00", "range"),
            ("abc".into(), "0000-00-00", "cut"),
            ("2024-01-31 10:00:00".into(), "2024-01-31", "note"),
            (20240131.into(), "2024-01-31", ""),
            (20240230.into(), "0000-00-00", "cut"),
            ("2024-01-31x".into(), "2024-01-31", "cut"),
            (20240131101112.into(), "2024-01-31", "note"),
        ],
    );
    assert_eq!(stored("0000-00-00", &date, LAX), ("0000-00-00".into(), "".into()));
    assert_eq!(
        stored("0000-00-00", &date, STRICT).1,
        "Error 1292: Incorrect date value: '0000-00-00' for column 'c' at row 3"
    );
    assert_eq!(
        stored("2024-02-30", &date, STRICT).1,
        "Error 1292: Incorrect date value: '2024-02-30' for column 'c' at row 3"
    );
    assert_eq!(
        stored(20240230, &date, STRICT).1,
        "Error 1292: Incorrect date value: '20240230' for column 'c' at row 3"
    );
}

#[test]
fn times_are_clamped_and_rounded_to_their_digits() {
    check(
        &typed(BaseType::Time, 0, 2),
        vec![
            ("10:11:12".into(), "10:11:12.00", ""),
            ("abc".into(), "00:00:00.00", "cut"),
            ("850:00:00".into(), "838:59:59.00", "range"),
            ("10:60:00".into(), "00:00:00.00", "range"),
            ("10:11:12.555".into(), "10:11:12.56", ""),
            (101112.into(), "10:11:12.00", ""),
            ("10:11:12x".into(), "10:11:12.00", "cut"),
            ("2024-01-31 10:11:12".into(), "10:11:12.00", "note"),
        ],
    );
    let (_, error) = stored("850:00:00", &typed(BaseType::Time, 0, 0), STRICT);
    assert_eq!(error, "Error 1292: Incorrect time value: '850:00:00' for column 'c' at row 3");
}

#[test]
fn datetimes_are_rounded_to_their_digits() {
    check(
        &SqlType::datetime(1),
        vec![
            ("2024-01-31 10:11:12.55".into(), "2024-01-31 10:11:12.6", ""),
            ("abc".into(), "0000-00-00 00:00:00.0", "cut"),
            ("2024-01-31 10:11:12x".into(), "2024-01-31 10:11:12.0", "cut"),
            (20240131.into(), "2024-01-31 00:00:00.0", ""),
            (12.into(), "0000-00-00 00:00:00.0", "cut"),
            ("9999-12-31 23:59:59.99".into(), "0000-00-00 00:00:00.0", "range"),
            (decimal("20240131101112.55").into(), "2024-01-31 10:11:12.6", ""),
        ],
    );
}

#[test]
fn timestamps_have_the_range_of_32_bits_in_utc() {
    let timestamp = SqlType::new(BaseType::Timestamp);
    check(
        &timestamp,
        vec![
            ("2024-01-31 10:11:12".into(), "2024-01-31 10:11:12", ""),
            ("1960-01-01".into(), "0000-00-00 00:00:00", "range"),
            ("1970-01-01 00:00:00".into(), "0000-00-00 00:00:00", "range"),
            ("1970-01-01 00:00:01".into(), "1970-01-01 00:00:01", ""),
            ("2038-01-19 03:14:07".into(), "2038-01-19 03:14:07", ""),
            ("2038-01-19 03:14:08".into(), "0000-00-00 00:00:00", "range"),
            ("2024-00-01".into(), "0000-00-00 00:00:00", "range"),
        ],
    );
    assert_eq!(
        stored("2040-01-01", &timestamp, STRICT).1,
        "Error 1292: Incorrect datetime value: '2040-01-01' for column 'c' at row 3"
    );
    assert_eq!(stored("0000-00-00", &timestamp, LAX), ("0000-00-00 00:00:00".into(), "".into()));
    let temporal =
        TemporalContext { zone: TimeZone::parse("Europe/Berlin").unwrap(), ..TemporalContext::default() };
    let mut options = StoreOptions { temporal, ..StoreOptions::default() };
    assert_eq!(
        stored_with(Value::str("2024-03-31 02:30:00"), &timestamp, &options),
        ("2024-03-31 03:00:00".into(), "Warning 1299: Invalid TIMESTAMP value in column 'c' at row 3".into())
    );
    options.strict = true;
    assert_eq!(
        stored_with(Value::str("2024-03-31 02:30:00"), &timestamp, &options).1,
        "Error 1292: Incorrect datetime value: '2024-03-31 02:30:00' for column 'c' at row 3"
    );
    options.ignore = true;
    assert!(stored_with(Value::str("2024-03-31 02:30:00"), &timestamp, &options).1.starts_with("Warning"));
}

#[test]
fn json_columns_take_json_texts_only() {
    let json = SqlType::new(BaseType::Json);
    assert_eq!(stored("{\"b\":1,\"a\":[]}", &json, STRICT), ("{\"a\": [], \"b\": 1}".into(), "".into()));
    assert_eq!(
        stored("abc", &json, LAX).1,
        "Error 3140: Invalid JSON text: \"Invalid value.\" at position 0 in value for column 'c'."
    );
    assert!(stored(1, &json, LAX).1.starts_with("Error 3140: Invalid JSON text: \"not a JSON text"));
    let document = Value::Json(Json::parse(b"[1]").unwrap());
    assert_eq!(stored(document, &json, STRICT), ("[1]".into(), "".into()));
    let target = StoreTarget { sql_type: &json, column: "c", row: 1 };
    let refused = store_value(Value::str("[1]"), Collation::BINARY, target, &StoreOptions::default());
    assert_eq!(refused.unwrap_err().errno(), 3144);
}

#[test]
fn null_stays_null() {
    assert_eq!(stored(Value::Null, &SqlType::new(BaseType::Int), STRICT), ("".into(), "".into()));
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>().prop_map(Value::Double),
        any::<f32>().prop_map(Value::Float),
        "-?[0-9]{1,40}[.][0-9]{0,30}".prop_map(|text| decimal(&text)),
        proptest::collection::vec(any::<u8>(), 0..30).prop_map(Value::Str),
        "[0-9]{2,4}-[0-9]{2}-[0-9]{2}[ T]?([0-9]{2}:){0,2}[0-9]{0,2}[.]?[0-9]{0,8}".prop_map(Value::str),
        any::<u64>().prop_map(|bits| Value::Bit(bits, 64)),
        (0..4_000_000i64).prop_map(|day| Value::Date(crate::Date::from_day_number(day))),
        (-3_000_000_000_000..3_000_000_000_000i64).prop_map(|micros| Value::Time(crate::Time { micros, fsp: 6 })),
        "[0-9\\[\\]{}\",:]{0,20}"
            .prop_filter_map("json", |text| Json::parse(text.as_bytes()).ok().map(Value::Json)),
    ]
}

fn any_type() -> impl Strategy<Value = SqlType> {
    prop_oneof![
        Just(SqlType::new(BaseType::TinyInt)),
        Just(unsigned(BaseType::BigInt)),
        (1..=65u32, 0..=30u8).prop_map(|(length, decimals)| SqlType::decimal(length, decimals.min(length as u8))),
        Just(typed(BaseType::Float, 10, 3)),
        Just(SqlType::double()),
        (1..=64u32).prop_map(|length| typed(BaseType::Bit, length, 0)),
        Just(SqlType::new(BaseType::Year)),
        Just(SqlType::new(BaseType::Date)),
        (0..=6u8).prop_map(|fsp| typed(BaseType::Time, 0, fsp)),
        (0..=6u8).prop_map(SqlType::datetime),
        (0..=6u8).prop_map(|fsp| typed(BaseType::Timestamp, 0, fsp)),
        (0..10u32).prop_map(|length| text_type(BaseType::Char, length)),
        (0..10u32).prop_map(|length| text_type(BaseType::VarChar, length)),
        (0..10u32).prop_map(|length| typed(BaseType::Char, length, 0)),
        (1..10u32).prop_map(|length| text_type(BaseType::Text, length)),
        Just(labelled(BaseType::Enum, &["1", "x", "yy"])),
        Just(labelled(BaseType::Set, &["1", "x", "yy"])),
        Just(SqlType::new(BaseType::Json)),
    ]
}

proptest! {
    /// Whatever comes in, the row takes what comes out, and storing it again changes nothing.
    #[test]
    fn what_is_stored_fits_its_column_for_good(value in any_value(), sql_type in any_type()) {
        let options = StoreOptions::default();
        let target = StoreTarget { sql_type: &sql_type, column: "c", row: 1 };
        if let Ok((value, _)) = store_value(value, Collation::UTF8MB4_0900_AI_CI, target, &options) {
            let layout = crate::row::RowLayout::new(vec![sql_type.clone()]);
            let mut row = Vec::new();
            layout.encode(std::slice::from_ref(&value), &TimeZone::UTC, &mut row).unwrap();
            prop_assert_eq!(layout.row(&row).value(0, &TimeZone::UTC), value.clone());
            let again = store_value(value.clone(), sql_type.collation, target, &options).unwrap();
            prop_assert_eq!(again, (value, None));
        }
    }
}
