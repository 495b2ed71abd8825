//! Values of the binary protocol: each in the form that its column's type asks for, NULLs in a bitmap.

use shoal_types::row::{RowRef, little_endian_word};
use shoal_types::temporal::TemporalContext;
use shoal_types::{BaseType, Date, DateTime, Error, Result, Time, TimeZone, Value};

use super::{ColumnEncoder, text};

/// The first two bits of a row's null bitmap are unused.
const BITMAP_OFFSET: usize = 2;
const HOURS_PER_DAY: u32 = 24;

/// Appends the packet's header and an empty null bitmap; the bitmap's place.
pub fn append_header(column_count: usize, out: &mut Vec<u8>) -> usize {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (column_count + BITMAP_OFFSET).div_ceil(8), 0);
    bitmap
}

pub fn mark_null(bitmap: usize, column: usize, out: &mut [u8]) {
    let bit = column + BITMAP_OFFSET;
    out[bitmap + bit / 8] |= 1 << (bit % 8);
}

/// Appends a value that is not NULL. Errors: the value has no form of the column's type.
pub fn append_value(value: &Value, column: &ColumnEncoder, out: &mut Vec<u8>) -> Result<()> {
    match column.sql_type.base {
        BaseType::TinyInt => out.push(integer(value) as u8),
        BaseType::SmallInt | BaseType::Year => out.extend_from_slice(&(integer(value) as u16).to_le_bytes()),
        BaseType::MediumInt | BaseType::Int => out.extend_from_slice(&(integer(value) as u32).to_le_bytes()),
        BaseType::BigInt => out.extend_from_slice(&integer(value).to_le_bytes()),
        BaseType::Float => match value {
            Value::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
            other => out.extend_from_slice(&(other.to_f64().value as f32).to_le_bytes()),
        },
        BaseType::Double => match value {
            Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            other => out.extend_from_slice(&other.to_f64().value.to_le_bytes()),
        },
        BaseType::Date => match value {
            Value::Date(date) => append_date(*date, out),
            other => append_date(other.to_date(&lenient()).value.ok_or_else(|| mismatch(value, column))?, out),
        },
        BaseType::DateTime | BaseType::Timestamp => match value {
            Value::DateTime(datetime) => append_datetime(*datetime, out),
            other => {
                let datetime = other.to_datetime(&lenient()).value;
                append_datetime(datetime.ok_or_else(|| mismatch(value, column))?, out);
            }
        },
        BaseType::Time => match value {
            Value::Time(time) => append_time(*time, out),
            other => append_time(other.to_time().value.ok_or_else(|| mismatch(value, column))?, out),
        },
        BaseType::Null
        | BaseType::Decimal
        | BaseType::Bit
        | BaseType::Char
        | BaseType::VarChar
        | BaseType::Text
        | BaseType::Enum
        | BaseType::Set
        | BaseType::Json
        | BaseType::Geometry => text::append_value(value, column, out),
    }
    Ok(())
}

/// Column `position` of a stored row, which is not NULL.
pub fn append_stored(
    row: &RowRef<'_>,
    position: usize,
    column: &ColumnEncoder,
    zone: &TimeZone,
    out: &mut Vec<u8>,
) -> Result<()> {
    let raw = row.raw(position);
    let sql_type = &row.layout().types()[position];
    match sql_type.base {
        // At rest as on the wire: little-endian of the same width.
        BaseType::TinyInt
        | BaseType::SmallInt
        | BaseType::Int
        | BaseType::BigInt
        | BaseType::Float
        | BaseType::Double => out.extend_from_slice(raw),
        BaseType::MediumInt => {
            let word = little_endian_word(raw) as u32;
            let wide = if sql_type.unsigned { word } else { ((word << 8) as i32 >> 8) as u32 };
            out.extend_from_slice(&wide.to_le_bytes());
        }
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Geometry => column.append_string(raw, out),
        _ => append_value(&row.value(position, zone), column, out)?,
    }
    Ok(())
}

/// The two's complement of any value, as the integer types of the wire cut it to their width.
fn integer(value: &Value) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) => *number,
        Value::Year(year) => u64::from(*year),
        Value::Bit(bits, _) => *bits,
        other => match other.to_i64() {
            converted if converted.out_of_range => other.to_u64().value,
            converted => converted.value as u64,
        },
    }
}

fn lenient() -> TemporalContext {
    TemporalContext::default()
}

fn mismatch(value: &Value, column: &ColumnEncoder) -> Error {
    Error::unknown(format!("internal: {value:?} is no value of a column of type {:?}", column.sql_type.base))
}

fn append_date(date: Date, out: &mut Vec<u8>) {
    if date.is_zero() {
        return out.push(0);
    }
    out.push(4);
    append_day(date, out);
}

fn append_day(date: Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&(date.year() as u16).to_le_bytes());
    out.extend_from_slice(&[date.month() as u8, date.day() as u8]);
}

/// As short as the value allows: nothing, the date, the date and the time of day, and those with microseconds.
fn append_datetime(datetime: DateTime, out: &mut Vec<u8>) {
    let micros = datetime.microsecond();
    let clock = [datetime.hour() as u8, datetime.minute() as u8, datetime.second() as u8];
    if micros == 0 && clock == [0; 3] {
        return append_date(datetime.date(), out);
    }
    out.push(if micros == 0 { 7 } else { 11 });
    append_day(datetime.date(), out);
    out.extend_from_slice(&clock);
    if micros != 0 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}

fn append_time(time: Time, out: &mut Vec<u8>) {
    if time.micros == 0 {
        return out.push(0);
    }
    let micros = time.subsecond_micros();
    out.push(if micros == 0 { 8 } else { 12 });
    out.push(u8::from(time.is_negative()));
    out.extend_from_slice(&(time.hours() / HOURS_PER_DAY).to_le_bytes());
    out.extend_from_slice(&[(time.hours() % HOURS_PER_DAY) as u8, time.minutes() as u8, time.seconds() as u8]);
    if micros != 0 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
}
