//! Text forms of values, and the conversions between classes that every expression uses.
//!
//! Conversions give the nearest value of the wanted class together with what was lost on the way ([`Converted`]); the
//! caller turns that into MySQL's warnings and errors, whose texts depend on where it happened. NULL converts to the
//! zero of the class (or to `None`), unmarked: whether it is allowed is asked before.

use std::borrow::Cow;

use crate::json::JsonItem;
use crate::number::{
    self, Converted, append_f32, append_f64, append_f64_fixed, append_i64, append_padded, append_u64,
};
use crate::sql_type::{BaseType, DECIMALS_NOT_FIXED, SqlType};
use crate::temporal::{DateRules, FSP_MAX, TemporalContext};
use crate::value::Value;
use crate::{Date, DateTime, Decimal, Time};

/// Text of a value.
impl Value {
    /// Appends the value as MySQL prints it; nothing for NULL. BIT is its raw bytes.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => {}
            Value::Int(number) => append_i64(*number, out),
            Value::UInt(number) => append_u64(*number, out),
            Value::Float(number) => append_f32(*number, out),
            Value::Double(number) => append_f64(*number, out),
            Value::Decimal(decimal) => decimal.append_text(out),
            Value::Str(text) => out.extend_from_slice(text),
            Value::Date(date) => date.append_text(out),
            Value::Time(time) => time.append_text(out),
            Value::DateTime(moment) => moment.append_text(out),
            Value::Year(year) => append_padded(u32::from(*year), 4, out),
            Value::Bit(bits, width) => append_bit_bytes(*bits, *width, out),
            Value::Enum(member) => out.extend_from_slice(member.label()),
            Value::Set(members) => out.extend_from_slice(&members.text()),
            Value::Json(json) => json.append_text(out),
        }
    }

    /// Appends the value of a column or expression of type `sql_type`: with ZEROFILL, and FLOAT and DOUBLE with their
    /// declared digits after the point.
    pub fn append_text_as(&self, sql_type: &SqlType, out: &mut Vec<u8>) {
        let start = out.len();
        match (self, sql_type.base) {
            (Value::Float(number), BaseType::Float) if sql_type.decimals < DECIMALS_NOT_FIXED => {
                append_f64_fixed(f64::from(*number), sql_type.decimals, out);
            }
            (Value::Double(number), BaseType::Double) if sql_type.decimals < DECIMALS_NOT_FIXED => {
                append_f64_fixed(*number, sql_type.decimals, out);
            }
            _ => self.append_text(out),
        }
        if sql_type.zerofill && sql_type.is_numeric() && sql_type.base != BaseType::Bit && !self.is_null() {
            fill_with_zeros(start, zerofill_width(sql_type), out);
        }
    }

    /// The value as a text without a column's format: see `append_text`.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.append_text(&mut text);
        text
    }

    /// The text of a string without copying it, of any other value as a copy.
    pub fn as_text(&self) -> Cow<'_, [u8]> {
        match self {
            Value::Str(text) => Cow::Borrowed(text),
            Value::Enum(member) => Cow::Borrowed(member.label()),
            other => Cow::Owned(other.to_text()),
        }
    }

    /// A number, or a value that is a number wherever one is wanted (temporal values, YEAR, BIT).
    pub fn is_numeric(&self) -> bool {
        !matches!(self, Value::Str(_) | Value::Enum(_) | Value::Set(_) | Value::Json(_) | Value::Null)
    }
}

/// The bytes of BIT(width), the most significant first.
fn append_bit_bytes(bits: u64, width: u8, out: &mut Vec<u8>) {
    let bytes = usize::from(width).div_ceil(8).clamp(1, 8);
    out.extend_from_slice(&bits.to_be_bytes()[8 - bytes..]);
}

/// Characters that a ZEROFILL column shows: the display width, with the point of DECIMAL.
fn zerofill_width(sql_type: &SqlType) -> usize {
    let point = sql_type.base == BaseType::Decimal && sql_type.decimals > 0;
    sql_type.length as usize + usize::from(point)
}

fn fill_with_zeros(start: usize, width: usize, out: &mut Vec<u8>) {
    const ZEROFILL_WIDTH_MAX: usize = 255;
    let missing = width.min(ZEROFILL_WIDTH_MAX).saturating_sub(out.len() - start);
    // ZEROFILL columns are unsigned, so there is no sign to keep in front.
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

/// Numbers of a value.
impl Value {
    /// The value as an integer from -2^63 to 2^64-1. Numbers with a fraction are rounded; a string is read up to its
    /// first byte that is no digit.
    pub fn to_integer(&self) -> Converted<i128> {
        match self {
            Value::Null => Converted::exact(0),
            Value::Int(number) => Converted::exact(i128::from(*number)),
            Value::UInt(number) => Converted::exact(i128::from(*number)),
            Value::Float(number) => double_to_integer(f64::from(*number)),
            Value::Double(number) => double_to_integer(*number),
            Value::Decimal(decimal) => decimal_to_integer(decimal),
            Value::Str(text) => number::parse_integer(text),
            Value::Date(date) => Converted::exact(i128::from(date.to_number())),
            Value::Time(time) => Converted::exact(i128::from(time.to_number())),
            Value::DateTime(moment) => Converted::exact(i128::from(moment.to_number())),
            Value::Year(year) => Converted::exact(i128::from(*year)),
            Value::Bit(bits, _) => Converted::exact(i128::from(*bits)),
            Value::Enum(member) => Converted::exact(i128::from(member.index)),
            Value::Set(members) => Converted::exact(i128::from(members.bits)),
            Value::Json(json) => match json.root().item() {
                JsonItem::Bool(truth) => Converted::exact(i128::from(truth)),
                JsonItem::Int(number) => Converted::exact(i128::from(number)),
                JsonItem::UInt(number) => Converted::exact(i128::from(number)),
                JsonItem::Double(number) => double_to_integer(number),
                JsonItem::Decimal(decimal) => decimal_to_integer(&decimal),
                JsonItem::String(text) => number::parse_integer(text),
                JsonItem::Date(date) => Converted::exact(i128::from(date.to_number())),
                JsonItem::Time(time) => Converted::exact(i128::from(time.to_number())),
                JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => {
                    Converted::exact(i128::from(moment.to_number()))
                }
                JsonItem::Null | JsonItem::Array | JsonItem::Object | JsonItem::Opaque(..) => {
                    Converted::truncated(0)
                }
            },
        }
    }

    /// As [`Value::to_integer`], clamped to i64.
    pub fn to_i64(&self) -> Converted<i64> {
        match self {
            Value::Int(number) => Converted::exact(*number),
            other => other.to_integer().and_then(number::integer_to_i64),
        }
    }

    /// As [`Value::to_integer`], clamped to u64.
    pub fn to_u64(&self) -> Converted<u64> {
        match self {
            Value::UInt(number) => Converted::exact(*number),
            other => other.to_integer().and_then(number::integer_to_u64),
        }
    }

    /// As in arithmetic with doubles; NULL is 0.
    pub fn to_f64(&self) -> Converted<f64> {
        match self {
            Value::Null => Converted::exact(0.0),
            Value::Int(number) => Converted::exact(*number as f64),
            Value::UInt(number) => Converted::exact(*number as f64),
            Value::Float(number) => Converted::exact(f64::from(*number)),
            Value::Double(number) => Converted::exact(*number),
            Value::Decimal(decimal) => Converted::exact(decimal.to_f64()),
            Value::Str(text) => number::parse_f64(text),
            Value::Time(time) => Converted::exact(time.to_f64()),
            Value::DateTime(moment) => Converted::exact(moment.to_f64()),
            Value::Json(json) => match json.root().item() {
                JsonItem::Double(number) => Converted::exact(number),
                JsonItem::Decimal(decimal) => Converted::exact(decimal.to_f64()),
                JsonItem::String(text) => number::parse_f64(text),
                JsonItem::Time(time) => Converted::exact(time.to_f64()),
                JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => Converted::exact(moment.to_f64()),
                _ => self.to_integer().map(|number| number as f64),
            },
            other => other.to_integer().map(|number| number as f64),
        }
    }

    /// Temporal values keep as many digits after the point as their fsp.
    pub fn to_decimal(&self) -> Converted<Decimal> {
        match self {
            Value::Decimal(decimal) => Converted::exact(*decimal),
            Value::Float(number) => Decimal::from_f64(f64::from(*number)),
            Value::Double(number) => Decimal::from_f64(*number),
            Value::Str(text) => Decimal::parse(text),
            Value::Time(time) => Converted::exact(time.to_decimal()),
            Value::DateTime(moment) => Converted::exact(moment.to_decimal()),
            Value::Json(json) => match json.root().item() {
                JsonItem::Double(number) => Decimal::from_f64(number),
                JsonItem::Decimal(decimal) => Converted::exact(decimal),
                JsonItem::String(text) => Decimal::parse(text),
                JsonItem::Time(time) => Converted::exact(time.to_decimal()),
                JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => Converted::exact(moment.to_decimal()),
                _ => self.to_integer().map(|number| Decimal::new(number, 0)),
            },
            other => other.to_integer().map(|number| Decimal::new(number, 0)),
        }
    }

    /// Whether the value counts as true in a condition; `None` for NULL. A string counts as the number it begins
    /// with.
    pub fn to_bool(&self) -> Option<bool> {
        Some(match self {
            Value::Null => return None,
            Value::Int(number) => *number != 0,
            Value::UInt(number) => *number != 0,
            Value::Decimal(decimal) => !decimal.is_zero(),
            Value::Date(date) => !date.is_zero(),
            Value::Time(time) => time.micros != 0,
            Value::DateTime(moment) => !moment.is_zero(),
            other => other.to_f64().value != 0.0,
        })
    }
}

fn double_to_integer(number: f64) -> Converted<i128> {
    const GREATEST: f64 = 18_446_744_073_709_551_616.0;
    const LEAST: f64 = -9_223_372_036_854_775_808.0;
    let integral = number.round_ties_even();
    if (LEAST..GREATEST).contains(&integral) {
        Converted { rounded: integral != number, ..Converted::exact(integral as i128) }
    } else if number.is_nan() {
        Converted::clamped(0)
    } else {
        Converted::clamped(if number < 0.0 { i128::from(i64::MIN) } else { i128::from(u64::MAX) })
    }
}

fn decimal_to_integer(decimal: &Decimal) -> Converted<i128> {
    let (least, greatest) = (i128::from(i64::MIN), i128::from(u64::MAX));
    let rounded = decimal.scale() > 0 && decimal.round(0) != *decimal;
    match decimal.to_i128() {
        Some(number) if (least..=greatest).contains(&number) => Converted { rounded, ..Converted::exact(number) },
        _ => Converted::clamped(if decimal.is_negative() { least } else { greatest }),
    }
}

/// Dates and times of a value. `None`: NULL, or a value that is none under the rules (then `truncated` is set).
impl Value {
    /// `rounded` is set when a time of day was dropped.
    pub fn to_date(&self, context: &TemporalContext) -> Converted<Option<Date>> {
        match self {
            Value::Date(date) => checked(*date, context.rules, Date::is_valid),
            other => {
                let moment = other.to_datetime(context);
                let drops_time = moment.value.is_some_and(|moment| moment.micros_of_day() != 0);
                Converted { rounded: moment.rounded | drops_time, ..moment.map(|value| value.map(DateTime::date)) }
            }
        }
    }

    /// A TIME becomes a moment of the context's current day.
    pub fn to_datetime(&self, context: &TemporalContext) -> Converted<Option<DateTime>> {
        match self {
            Value::Null => Converted::exact(None),
            Value::DateTime(moment) => checked(*moment, context.rules, |moment, rules| {
                moment.is_zero() && !rules.no_zero_date || moment.date().is_valid(rules)
            }),
            Value::Date(date) => {
                checked(*date, context.rules, Date::is_valid).map(|date| Some(DateTime::from_date(date?, 0, 0)))
            }
            Value::Time(time) => required(time.on_day(context.today)),
            Value::Year(year) => required(
                Date::new(u32::from(*year), 0, 0, context.rules).map(|date| DateTime::from_date(date, 0, 0)),
            ),
            Value::Str(text) => DateTime::parse(text, context),
            Value::Enum(_) | Value::Set(_) => DateTime::parse(&self.as_text(), context),
            Value::Decimal(_) | Value::Float(_) | Value::Double(_) => self.number_to_datetime(context.rules),
            Value::Int(_) | Value::UInt(_) | Value::Bit(..) => {
                required(DateTime::from_number(self.to_i64().value, context.rules))
            }
            Value::Json(json) => match json.root().item() {
                JsonItem::Date(date) => Value::Date(date).to_datetime(context),
                JsonItem::Time(time) => Value::Time(time).to_datetime(context),
                JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => {
                    Value::DateTime(moment).to_datetime(context)
                }
                JsonItem::String(text) => DateTime::parse(text, context),
                JsonItem::Int(number) => required(DateTime::from_number(number, context.rules)),
                _ => Converted::truncated(None),
            },
        }
    }

    /// As a TIME; `None` for NULL and for what is no time.
    pub fn to_time(&self) -> Converted<Option<Time>> {
        match self {
            Value::Null => Converted::exact(None),
            Value::Time(time) => Converted::exact(Some(*time)),
            Value::DateTime(moment) => Converted::exact(Some(moment.time())),
            Value::Date(_) => Converted::exact(Some(Time::ZERO)),
            Value::Str(text) => Time::parse(text),
            Value::Enum(_) | Value::Set(_) => Time::parse(&self.as_text()),
            Value::Decimal(_) | Value::Float(_) | Value::Double(_) => self.number_to_time(),
            Value::Int(_) | Value::UInt(_) | Value::Bit(..) | Value::Year(_) => {
                Time::from_number(self.to_i64().value)
            }
            Value::Json(json) => match json.root().item() {
                JsonItem::Time(time) => Converted::exact(Some(time)),
                JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => Converted::exact(Some(moment.time())),
                JsonItem::Date(_) => Converted::exact(Some(Time::ZERO)),
                JsonItem::String(text) => Time::parse(text),
                JsonItem::Int(number) => Time::from_number(number),
                _ => Converted::truncated(None),
            },
        }
    }

    /// YYYYMMDDHHMMSS.ffffff.
    fn number_to_datetime(&self, rules: DateRules) -> Converted<Option<DateTime>> {
        let (whole, micros, fsp) = self.split_seconds();
        let Some(moment) = DateTime::from_number(whole, rules).filter(|_| micros >= 0) else {
            return Converted::truncated(None);
        };
        if micros == 0 {
            return Converted::exact(Some(DateTime { fsp, ..moment }));
        }
        let total = moment.micros_since_year_zero() + micros;
        let has_date = moment.date().is_complete();
        required(if has_date { DateTime::from_micros_since_year_zero(total, fsp) } else { None })
    }

    /// HHMMSS.ffffff.
    fn number_to_time(&self) -> Converted<Option<Time>> {
        let (whole, micros, fsp) = self.split_seconds();
        Time::from_number(whole).and_then(|time| match time {
            Some(time) => Time::from_micros(time.micros + micros, fsp).map(Some),
            None => Converted::exact(None),
        })
    }

    /// A number's integer part, its fraction in microseconds (of the same sign, rounded) and the fsp that shows it.
    fn split_seconds(&self) -> (i64, i64, u8) {
        let decimal = self.to_decimal().value;
        let fsp = decimal.scale().min(FSP_MAX);
        let rounded = decimal.round(i32::from(FSP_MAX));
        match rounded.unscaled() {
            Some(micros) => {
                let whole =
                    i64::try_from(micros / 1_000_000).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX });
                (whole, (micros % 1_000_000) as i64, fsp)
            }
            None => (if decimal.is_negative() { i64::MIN } else { i64::MAX }, 0, fsp),
        }
    }
}

fn required<T>(value: Option<T>) -> Converted<Option<T>> {
    Converted { truncated: value.is_none(), ..Converted::exact(value) }
}

fn checked<T: Copy>(value: T, rules: DateRules, is_valid: impl Fn(T, DateRules) -> bool) -> Converted<Option<T>> {
    required(is_valid(value, rules).then_some(value))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{EnumValue, Json, SetValue};

    fn text(value: Value) -> String {
        String::from_utf8(value.to_text()).unwrap()
    }

    fn text_as(value: Value, sql_type: SqlType) -> String {
        let mut out = b"|".to_vec();
        value.append_text_as(&sql_type, &mut out);
        String::from_utf8(out[1..].to_vec()).unwrap()
    }

    fn labels() -> Arc<[Box<[u8]>]> {
        [&b"small"[..], b"medium", b"large"].map(Box::from).into()
    }

    fn decimal(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text.as_bytes()).value)
    }

    fn datetime(text: &str) -> Value {
        Value::DateTime(DateTime::parse(text.as_bytes(), &TemporalContext::default()).value.unwrap())
    }

    #[test]
    fn every_class_has_its_text() {
        assert_eq!(text(Value::Int(-5)), "-5");
        assert_eq!(text(Value::Double(1e20)), "1e20");
        assert_eq!(text(Value::Year(0)), "0000");
        assert_eq!(text(Value::Enum(EnumValue { index: 2, labels: labels() })), "medium");
        assert_eq!(text(Value::Enum(EnumValue { index: 0, labels: labels() })), "");
        assert_eq!(text(Value::Set(SetValue { bits: 5, labels: labels() })), "small,large");
        assert_eq!(text(Value::Json(Json::parse(b"[1,2]").unwrap())), "[1, 2]");
        assert_eq!(text(Value::Null), "");
        assert_eq!(Value::Bit(5, 1).to_text(), [5]);
        assert_eq!(Value::Bit(0x0102, 9).to_text(), [1, 2]);
        assert_eq!(text(datetime("2024-01-31 10:00:00.50")), "2024-01-31 10:00:00.50");
    }

    #[test]
    fn columns_show_zerofill_and_their_declared_digits() {
        let int = SqlType { zerofill: true, unsigned: true, length: 5, ..SqlType::new(BaseType::Int) };
        assert_eq!(text_as(Value::UInt(42), int.clone()), "00042");
        assert_eq!(text_as(Value::UInt(1234567), int.clone()), "1234567");
        assert_eq!(text_as(Value::Null, int), "");
        let float = SqlType { decimals: 2, length: 7, ..SqlType::new(BaseType::Float) };
        assert_eq!(text_as(Value::Float(1.5), float), "1.50");
        let decimal_type = SqlType { zerofill: true, unsigned: true, ..SqlType::decimal(6, 2) };
        assert_eq!(text_as(decimal("1.50"), decimal_type), "0001.50");
        assert_eq!(text_as(Value::Double(0.1), SqlType::double()), "0.1");
    }

    #[test]
    fn values_become_integers() {
        assert_eq!(Value::str("12abc").to_i64(), Converted::truncated(12));
        assert_eq!(Value::str("1.9").to_i64().value, 1);
        assert_eq!(decimal("1.5").to_i64().value, 2);
        assert_eq!(Value::Double(2.5).to_i64().value, 2);
        assert_eq!(Value::Double(1e30).to_i64(), Converted::clamped(i64::MAX));
        assert_eq!(Value::Int(-1).to_u64(), Converted::clamped(0));
        assert_eq!(Value::UInt(u64::MAX).to_i64(), Converted::clamped(i64::MAX));
        assert_eq!(datetime("2024-01-31 10:00:00").to_i64().value, 20240131100000);
        assert_eq!(Value::Enum(EnumValue { index: 3, labels: labels() }).to_i64().value, 3);
        assert_eq!(Value::Json(Json::parse(b"true").unwrap()).to_i64().value, 1);
        assert!(Value::Json(Json::parse(b"[]").unwrap()).to_i64().truncated);
        assert_eq!(Value::Null.to_i64(), Converted::exact(0));
    }

    #[test]
    fn values_become_true_or_false() {
        let truths = [
            (Value::Int(0), Some(false)),
            (Value::Null, None),
            (Value::str("0.5"), Some(true)),
            (Value::str("abc"), Some(false)),
            (decimal("0.00"), Some(false)),
            (Value::Double(-0.0), Some(false)),
            (Value::Json(Json::parse(b"0").unwrap()), Some(false)),
            (Value::Date(Date::ZERO), Some(false)),
        ];
        for (value, truth) in truths {
            assert_eq!(value.to_bool(), truth, "{value:?}");
        }
    }

    #[test]
    fn values_become_decimals_and_doubles() {
        assert_eq!(text(Value::Decimal(datetime("2024-01-31 10:00:00.5").to_decimal().value)), "20240131100000.5");
        assert_eq!(
            Value::str("1e-2x").to_decimal().map(|value| value.to_string()),
            Converted::truncated("0.01".into())
        );
        assert_eq!(Value::Json(Json::parse(b"\"1.5\"").unwrap()).to_f64().value, 1.5);
        assert_eq!(Value::Year(2024).to_f64().value, 2024.0);
    }

    #[test]
    fn values_become_dates_and_times() {
        let context =
            TemporalContext { today: Date::new(2024, 5, 6, DateRules::default()).unwrap(), ..Default::default() };
        let moment = |value: Value| value.to_datetime(&context).value.map(|moment| moment.to_string());
        assert_eq!(moment(Value::Int(20240131)).as_deref(), Some("2024-01-31 00:00:00"));
        assert_eq!(moment(decimal("20240131101112.5")).as_deref(), Some("2024-01-31 10:11:12.5"));
        assert_eq!(
            moment(Value::Time(Time::from_parts(true, 1, 0, 0, 0, 0).value)).as_deref(),
            Some("2024-05-05 23:00:00")
        );
        assert_eq!(moment(Value::Date(context.today)).as_deref(), Some("2024-05-06 00:00:00"));
        assert_eq!(moment(Value::str("x")), None);
        assert_eq!(moment(Value::Null), None);
        assert_eq!(moment(Value::Int(i64::MAX)), None);
        let cut = datetime("2024-01-31 10:00:00").to_date(&context);
        assert!(cut.rounded && !cut.truncated);
        let time = |value: Value| value.to_time().value.map(|time| time.to_string());
        assert_eq!(time(Value::Int(101112)).as_deref(), Some("10:11:12"));
        assert_eq!(time(decimal("-101112.25")).as_deref(), Some("-10:11:12.25"));
        assert_eq!(time(datetime("2024-01-31 10:00:00.5")).as_deref(), Some("10:00:00.5"));
        assert_eq!(time(Value::Double(1e30)).as_deref(), Some("838:59:59"));
        let strict = TemporalContext { rules: DateRules { no_zero_date: true, ..Default::default() }, ..context };
        assert_eq!(Value::Date(Date::ZERO).to_date(&strict), Converted::truncated(None));
        assert_eq!(Value::DateTime(DateTime::ZERO).to_datetime(&strict), Converted::truncated(None));
    }
}
