use std::sync::Arc;

use super::*;
use crate::constants::{Capabilities, status};
use crate::packet::PacketWriter;
use shoal_sql::frontend::{Summary, Tracked};
use shoal_types::row::RowLayout;
use shoal_types::temporal::DateRules;
use shoal_types::value::{EnumValue, SetValue};
use shoal_types::{Date, DateTime, Decimal, Time, TimeZone, Value};

fn labels() -> Arc<[Box<[u8]>]> {
    [&b"red"[..], b"green"].map(Box::from).into()
}

fn utf8(base: BaseType, length: u32) -> SqlType {
    SqlType { collation: Collation::UTF8MB4_0900_AI_CI, length, ..SqlType::new(base) }
}

/// One column of every type with a value, its text and its binary form.
fn samples() -> Vec<(SqlType, Value, Vec<u8>, Vec<u8>)> {
    let unsigned = |base| SqlType { unsigned: true, ..SqlType::new(base) };
    let fsp = |base, decimals| SqlType { decimals, ..SqlType::new(base) };
    let members = |base| SqlType { labels: Some(labels()), ..utf8(base, 0) };
    let datetime = DateTime::new([2024, 2, 29, 13, 14, 15], 123_000, 3, DateRules::default()).unwrap();
    let text = |text: &str| text.as_bytes().to_vec();
    let measured = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    vec![
        (SqlType::new(BaseType::TinyInt), Value::Int(-5), text("-5"), vec![0xfb]),
        (unsigned(BaseType::TinyInt), Value::UInt(200), text("200"), vec![200]),
        (SqlType::new(BaseType::SmallInt), Value::Int(-300), text("-300"), vec![0xd4, 0xfe]),
        (SqlType::new(BaseType::MediumInt), Value::Int(-2), text("-2"), vec![0xfe, 0xff, 0xff, 0xff]),
        (unsigned(BaseType::MediumInt), Value::UInt(0xff_ffff), text("16777215"), vec![0xff, 0xff, 0xff, 0]),
        (SqlType::new(BaseType::Int), Value::Int(-1), text("-1"), vec![0xff; 4]),
        (unsigned(BaseType::BigInt), Value::UInt(u64::MAX), text("18446744073709551615"), vec![0xff; 8]),
        (
            SqlType::new(BaseType::BigInt),
            Value::Int(i64::MIN),
            text("-9223372036854775808"),
            vec![0, 0, 0, 0, 0, 0, 0, 0x80],
        ),
        (fsp(BaseType::Float, 31), Value::Float(1.5), text("1.5"), 1.5f32.to_le_bytes().to_vec()),
        (SqlType::double(), Value::Double(-0.25), text("-0.25"), (-0.25f64).to_le_bytes().to_vec()),
        (SqlType::decimal(10, 2), Value::Decimal(Decimal::new(-1250, 2)), text("-12.50"), measured("-12.50")),
        (
            SqlType { length: 12, ..SqlType::new(BaseType::Bit) },
            Value::Bit(0xabc, 12),
            vec![0x0a, 0xbc],
            vec![2, 0x0a, 0xbc],
        ),
        (SqlType::new(BaseType::Year), Value::Year(2024), text("2024"), vec![0xe8, 7]),
        (
            SqlType::new(BaseType::Date),
            Value::Date(Date(2024 << 9 | 2 << 5 | 29)),
            text("2024-02-29"),
            vec![4, 0xe8, 7, 2, 29],
        ),
        (
            fsp(BaseType::Time, 0),
            Value::Time(Time { micros: -(26 * 3600 + 62) * 1_000_000, fsp: 0 }),
            text("-26:01:02"),
            vec![8, 1, 1, 0, 0, 0, 2, 1, 2],
        ),
        (
            fsp(BaseType::DateTime, 3),
            Value::DateTime(datetime),
            text("2024-02-29 13:14:15.123"),
            vec![11, 0xe8, 7, 2, 29, 13, 14, 15, 0x78, 0xe0, 0x01, 0],
        ),
        (
            fsp(BaseType::Timestamp, 3),
            Value::DateTime(datetime),
            text("2024-02-29 13:14:15.123"),
            vec![11, 0xe8, 7, 2, 29, 13, 14, 15, 0x78, 0xe0, 0x01, 0],
        ),
        (utf8(BaseType::Char, 10), Value::str("gr\u{fc}n"), text("gr\u{fc}n"), measured("gr\u{fc}n")),
        (utf8(BaseType::VarChar, 10), Value::str(""), text(""), measured("")),
        (utf8(BaseType::Text, 65_535), Value::str("text"), text("text"), measured("text")),
        (
            members(BaseType::Enum),
            Value::Enum(EnumValue { index: 2, labels: labels() }),
            text("green"),
            measured("green"),
        ),
        (
            members(BaseType::Set),
            Value::Set(SetValue { bits: 3, labels: labels() }),
            text("red,green"),
            measured("red,green"),
        ),
    ]
}

fn encoder(sql_type: &SqlType) -> ColumnEncoder {
    ColumnEncoder::new(sql_type, Some(Collation::UTF8MB4_0900_AI_CI))
}

#[test]
fn every_type_has_its_text_and_binary_form_from_a_value() {
    for (sql_type, value, expected_text, expected_binary) in samples() {
        let column = encoder(&sql_type);
        let (mut as_text, mut as_binary) = (Vec::new(), Vec::new());
        text::append_value(&value, &column, &mut as_text);
        binary::append_value(&value, &column, &mut as_binary).unwrap();
        assert_eq!(as_text[0] as usize, expected_text.len(), "{sql_type:?}");
        assert_eq!(as_text[1..], expected_text, "text of {sql_type:?}");
        assert_eq!(as_binary, expected_binary, "binary form of {sql_type:?}");
    }
}

#[test]
fn a_stored_row_gives_the_same_bytes_as_its_values() {
    let samples = samples();
    let layout = RowLayout::new(samples.iter().map(|sample| sample.0.clone()).collect());
    let values: Vec<Value> = samples.iter().map(|sample| sample.1.clone()).collect();
    let mut bytes = Vec::new();
    layout.encode(&values, &TimeZone::UTC, &mut bytes).unwrap();
    let row = layout.row(&bytes);
    for (position, (sql_type, _, expected_text, expected_binary)) in samples.iter().enumerate() {
        let column = encoder(sql_type);
        let (mut as_text, mut as_binary) = (Vec::new(), Vec::new());
        text::append_stored(&row, position, &column, &TimeZone::UTC, &mut as_text);
        binary::append_stored(&row, position, &column, &TimeZone::UTC, &mut as_binary).unwrap();
        assert_eq!(as_text[1..], expected_text[..], "text of {sql_type:?}");
        assert_eq!(as_binary, *expected_binary, "binary form of {sql_type:?}");
    }
}

#[test]
fn zero_temporal_values_take_no_bytes() {
    for (base, value) in [
        (BaseType::Date, Value::Date(Date::ZERO)),
        (BaseType::DateTime, Value::DateTime(DateTime::ZERO)),
        (BaseType::Time, Value::Time(Time { micros: 0, fsp: 0 })),
    ] {
        let mut out = Vec::new();
        binary::append_value(&value, &encoder(&SqlType::new(base)), &mut out).unwrap();
        assert_eq!(out, [0]);
    }
}

#[test]
fn a_value_of_another_class_takes_the_columns_form() {
    let binary = |value: Value, sql_type: SqlType| {
        let mut out = Vec::new();
        binary::append_value(&value, &encoder(&sql_type), &mut out).map(|()| out)
    };
    assert_eq!(binary(Value::str("12"), SqlType::new(BaseType::SmallInt)).unwrap(), [12, 0]);
    assert_eq!(binary(Value::Int(2), SqlType::double()).unwrap(), 2f64.to_le_bytes());
    assert_eq!(binary(Value::Int(7), SqlType::varchar(9, Collation::BINARY)).unwrap(), b"\x017");
    assert!(binary(Value::str("no date"), SqlType::new(BaseType::Date)).is_err());
}

#[test]
fn texts_are_converted_to_the_clients_character_set() {
    let sql_type = utf8(BaseType::VarChar, 10);
    let column = ColumnEncoder::new(&sql_type, Some(Collation::LATIN1_SWEDISH_CI));
    let mut out = Vec::new();
    text::append_value(&Value::str("gr\u{fc}n"), &column, &mut out);
    assert_eq!(out, b"\x04gr\xfcn");
    let binary = ColumnEncoder::new(&SqlType::varchar(10, Collation::BINARY), Some(Collation::LATIN1_SWEDISH_CI));
    let mut out = Vec::new();
    text::append_value(&Value::str("gr\u{fc}n"), &binary, &mut out);
    assert_eq!(out, "\x05gr\u{fc}n".as_bytes());
}

#[test]
fn a_measured_text_may_be_longer_than_one_byte_tells() {
    let mut out = vec![9];
    append_measured(&mut out, |out| out.extend_from_slice(&[b'x'; 300]));
    assert_eq!(out[..5], [9, 0xfc, 0x2c, 1, b'x']);
    assert_eq!(out.len(), 304);
}

#[test]
fn the_ends_of_results_are_the_documented_bytes() {
    let summary = Summary {
        affected_rows: 3,
        last_insert_id: 300,
        warnings: 1,
        autocommit: true,
        more_results: true,
        info: "Rows".into(),
        tracked: Some(Box::new(Tracked { schema: Some("shop".into()), ..Tracked::default() })),
        ..Summary::default()
    };
    let written = |capabilities, write: fn(&Summary, Capabilities, &mut PacketWriter)| {
        let mut out = PacketWriter::default();
        write(&summary, capabilities, &mut out);
        out.unsent().to_vec()
    };
    let plain = written(Capabilities::PROTOCOL_41, write_ok);
    assert_eq!(plain, b"\x0e\0\0\0\0\x03\xfc\x2c\x01\x0a\0\x01\0\x04Rows");
    let tracking = written(Capabilities::SESSION_TRACK, write_ok);
    assert_eq!(tracking, b"\x16\0\0\0\0\x03\xfc\x2c\x01\x0a\x40\x01\0\x04Rows\x07\x01\x05\x04shop");
    let flags = status::AUTOCOMMIT;
    let mut out = PacketWriter::default();
    write_end_of_rows(&summary, flags, Capabilities::PROTOCOL_41, &mut out);
    write_end_of_rows(&summary, flags, Capabilities::DEPRECATE_EOF, &mut out);
    assert_eq!(out.unsent(), b"\x05\0\0\0\xfe\x01\0\x02\0\x07\0\0\x01\xfe\0\0\x02\0\x01\0");
}

#[test]
fn the_null_bitmap_of_a_binary_row_starts_at_its_third_bit() {
    let mut out = Vec::new();
    let bitmap = binary::append_header(7, &mut out);
    assert_eq!(out, [0, 0, 0]);
    binary::mark_null(bitmap, 0, &mut out);
    binary::mark_null(bitmap, 6, &mut out);
    assert_eq!(out, [0, 0b100, 1]);
}
