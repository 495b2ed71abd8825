//! Grouping keys: bytes that are equal exactly if values of one type are equal.

use shoal_types::{BaseType, Decimal, SqlType, Value};

/// Appends the key of a value of type `sql_type`: for GROUP BY, DISTINCT, UNION and hash joins. Keys of several values
/// may stand behind each other.
///
/// ```text
/// 0                     NULL
/// 1 number (16 bytes)   integers, as i128 big-endian
/// 2 bits (8)            DOUBLE and FLOAT
/// 3 length, text        DECIMAL without trailing zeros
/// 4 sort key            strings: the collation's key with its terminator
/// 5 number (8)          temporal values, ENUM, SET
/// 6 length, bytes       anything else, as text
/// ```
pub fn append_group_key(value: &Value, sql_type: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Int(number) => append_integer(i128::from(*number), out),
        Value::UInt(number) | Value::Bit(number, _) => append_integer(i128::from(*number), out),
        Value::Year(year) => append_integer(i128::from(*year), out),
        Value::Float(number) => append_float(f64::from(*number), out),
        Value::Double(number) => append_float(*number, out),
        Value::Decimal(number) => append_decimal(number, out),
        Value::Str(text) if sql_type.base == BaseType::Geometry => append_bytes(6, text, out),
        Value::Str(text) => {
            out.push(4);
            sql_type.collation.append_sort_key(text, None, out);
        }
        Value::Date(date) => append_word(u64::from(date.0), out),
        Value::Time(time) => append_word(time.micros as u64, out),
        Value::DateTime(datetime) => append_word(datetime.packed, out),
        Value::Enum(member) => append_word(u64::from(member.index), out),
        Value::Set(members) => append_word(members.bits, out),
        Value::Json(_) => append_bytes(6, &value.to_text(), out),
    }
}

/// Appends a key that only the very same value has, of values of one type: texts that are equal by their collation are told apart, and
/// so are 1.0 and 1.00, as expressions may tell them apart.
pub fn append_exact_key(value: &Value, sql_type: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Str(text) => append_bytes(4, text, out),
        Value::Double(number) => append_bytes(2, &number.to_bits().to_be_bytes(), out),
        Value::Decimal(number) => {
            append_decimal(number, out);
            out.push(number.scale());
        }
        other => append_group_key(other, sql_type, out),
    }
}

fn append_integer(number: i128, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&number.to_be_bytes());
}

fn append_float(number: f64, out: &mut Vec<u8>) {
    out.push(2);
    // -0 equals 0.
    out.extend_from_slice(&(number + 0.0).to_bits().to_be_bytes());
}

fn append_word(word: u64, out: &mut Vec<u8>) {
    out.push(5);
    out.extend_from_slice(&word.to_be_bytes());
}

fn append_decimal(number: &Decimal, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[3, 0]);
    number.append_text(out);
    if number.scale() > 0 {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
    // At most 65 digits, a sign and a point.
    out[start + 1] = (out.len() - start - 2) as u8;
}

fn append_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}
