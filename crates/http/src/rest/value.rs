//! Values of columns as JSON, and back.
//!
//! Numbers are numbers but for DECIMAL, which programs would make floating-point numbers of: it is a string. Bytes and BIT are base64;
//! dates and times are as MySQL prints them, TIMESTAMP in UTC; a document is itself. What a value becomes in its column is the native
//! client's concern: it converts as a strict INSERT does.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value as Json;
use shoal_types::{BaseType, Charset, Decimal, Error, ErrorCode, Result, SqlType, Value};

/// Its values are not text.
fn is_bytes(sql_type: &SqlType) -> bool {
    sql_type.is_binary_string() || matches!(sql_type.base, BaseType::Geometry | BaseType::Bit)
}

/// Appends a value of a column.
pub fn append(value: &Value, sql_type: &SqlType, out: &mut String) {
    let charset = sql_type.collation.charset();
    match value {
        Value::Null => out.push_str("null"),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::UInt(number) => out.push_str(&number.to_string()),
        Value::Year(year) => out.push_str(&year.to_string()),
        // Columns hold no infinities.
        Value::Float(number) => out.push_str(&serde_json::to_string(number).unwrap_or_default()),
        Value::Double(number) => out.push_str(&serde_json::to_string(number).unwrap_or_default()),
        Value::Bit(bits, width) => {
            let bytes = bits.to_be_bytes();
            append_base64(&bytes[8 - usize::from((*width).clamp(1, 64)).div_ceil(8)..], out);
        }
        Value::Str(bytes) if is_bytes(sql_type) => append_base64(bytes, out),
        Value::Str(bytes) => append_text(bytes, charset, out),
        Value::Enum(member) => append_text(member.label(), charset, out),
        Value::Set(members) => append_text(&members.text(), charset, out),
        Value::Json(document) => {
            let mut text = Vec::new();
            document.append_text(&mut text);
            out.push_str(&String::from_utf8_lossy(&text));
        }
        Value::Decimal(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            append_text(&value.to_text(), Charset::Utf8mb4, out);
        }
    }
}

fn append_base64(bytes: &[u8], out: &mut String) {
    out.push('"');
    BASE64_STANDARD.encode_string(bytes, out);
    out.push('"');
}

fn append_text(bytes: &[u8], charset: Charset, out: &mut String) {
    let converted = Charset::convert(bytes, charset, Charset::Utf8mb4).bytes;
    append_string(&String::from_utf8_lossy(&converted), out);
}

pub fn append_string(text: &str, out: &mut String) {
    out.push_str(&Json::from(text).to_string());
}

/// The value that is meant by JSON for a column.
///
/// # Errors
/// 1264, 1366: nothing of the column's type can be meant by it.
pub fn from_json(json: &Json, sql_type: &SqlType, column: &str) -> Result<Value> {
    if sql_type.base == BaseType::Json {
        return Ok(if json.is_null() { Value::Null } else { Value::str(json.to_string()) });
    }
    let wrong = |what: &str| {
        let text = format!("Incorrect value for column '{column}': {what}");
        Error::new(ErrorCode::TruncatedWrongValueForField, text)
    };
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(truth) => Ok(Value::Int(i64::from(*truth))),
        Json::Number(number) => number_value(&number.to_string()).ok_or_else(|| {
            Error::new(ErrorCode::WarnDataOutOfRange, format!("Out of range value for column '{column}'"))
        }),
        Json::String(text) if is_bytes(sql_type) => {
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| wrong("bytes are sent in base64"))?;
            match sql_type.base {
                BaseType::Bit => bits(&bytes).ok_or_else(|| wrong("it has more than 64 bits")),
                _ => Ok(Value::Str(bytes)),
            }
        }
        Json::String(text) => Ok(Value::str(text.as_bytes())),
        Json::Array(_) | Json::Object(_) => Err(wrong("only columns of type JSON take arrays and objects")),
    }
}

/// The number behind these bytes, the first of which is the highest.
fn bits(bytes: &[u8]) -> Option<Value> {
    let leading = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[leading..];
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    (bytes.len() <= 8).then(|| Value::UInt(number(bytes)))
}

/// A number as it is written: exactly, but with an exponent. `None`: it is larger than numbers are.
fn number_value(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(Value::Int(number));
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(Value::UInt(number));
    }
    let decimal = Decimal::parse(text.as_bytes());
    if !text.contains(['e', 'E']) && !decimal.truncated && !decimal.out_of_range {
        return Some(Value::Decimal(decimal.value));
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Double)
}

#[cfg(test)]
mod tests {
    use shoal_types::{Collation, Date, DateRules};

    use super::*;

    fn shown(value: &Value, sql_type: &SqlType) -> String {
        let mut out = String::new();
        append(value, sql_type, &mut out);
        serde_json::from_str::<Json>(&out).unwrap_or_else(|error| panic!("{out}: {error}"));
        out
    }

    fn read(text: &str, sql_type: &SqlType) -> Result<Value> {
        from_json(&serde_json::from_str(text).unwrap(), sql_type, "c")
    }

    #[test]
    fn every_kind_of_value_has_its_form() {
        let text = SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI);
        let bytes = SqlType::varchar(20, Collation::BINARY);
        let of = SqlType::new;
        let zerofill = SqlType { zerofill: true, unsigned: true, length: 5, ..of(BaseType::Int) };
        let date = Date::new(2024, 2, 29, DateRules::default()).unwrap();
        for (value, sql_type, expected) in [
            (Value::Null, &text, "null"),
            (Value::Int(-7), &of(BaseType::Int), "-7"),
            (Value::UInt(7), &zerofill, "7"),
            (Value::UInt(u64::MAX), &SqlType::bigint(true), "18446744073709551615"),
            (Value::Float(0.1), &of(BaseType::Float), "0.1"),
            (Value::Double(1e300), &of(BaseType::Double), "1e+300"),
            (Value::Decimal(Decimal::parse(b"1.50").value), &SqlType::decimal(5, 2), "\"1.50\""),
            (Value::str("a\"\n\u{1}\u{e4}"), &text, "\"a\\\"\\n\\u0001\u{e4}\""),
            (Value::Str(vec![0, 255]), &bytes, "\"AP8=\""),
            (Value::Bit(258, 9), &of(BaseType::Bit), "\"AQI=\""),
            (Value::Year(1999), &of(BaseType::Year), "1999"),
            (Value::Date(date), &of(BaseType::Date), "\"2024-02-29\""),
        ] {
            assert_eq!(shown(&value, sql_type), expected);
        }
    }

    #[test]
    fn numbers_are_taken_as_they_are_written() {
        let int = SqlType::new(BaseType::BigInt);
        assert_eq!(read("9007199254740993", &int).unwrap(), Value::Int(9_007_199_254_740_993));
        assert_eq!(read("18446744073709551615", &int).unwrap(), Value::UInt(u64::MAX));
        let exact = "12345678901234567890.123456789";
        assert_eq!(read(exact, &int).unwrap(), Value::Decimal(Decimal::parse(exact.as_bytes()).value));
        assert_eq!(read("1.5e3", &int).unwrap(), Value::Double(1500.0));
        assert_eq!(read("true", &int).unwrap(), Value::Int(1));
        assert_eq!(read("1e999", &int).unwrap_err().errno(), 1264);
    }

    #[test]
    fn strings_mean_what_their_column_holds() {
        let bytes = SqlType::varchar(20, Collation::BINARY);
        assert_eq!(read("\"AP8=\"", &bytes).unwrap(), Value::Str(vec![0, 255]));
        assert_eq!(read("\"no base64\"", &bytes).unwrap_err().errno(), 1366);
        let bit = SqlType::new(BaseType::Bit);
        assert_eq!(read("\"AAAAAAAAAAAAAQI=\"", &bit).unwrap(), Value::UInt(258));
        assert_eq!(read("\"AQAAAAAAAAAA\"", &bit).unwrap_err().errno(), 1366);
        let json = SqlType::new(BaseType::Json);
        assert_eq!(read("{\"b\": [1, 1.10]}", &json).unwrap(), Value::str("{\"b\":[1,1.10]}"));
        assert_eq!(read("\"x\"", &json).unwrap(), Value::str("\"x\""));
        assert_eq!(read("[1]", &SqlType::new(BaseType::Int)).unwrap_err().errno(), 1366);
    }
}
