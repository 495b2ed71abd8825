//! Integers, DECIMAL, FLOAT, DOUBLE, BIT and YEAR.

use super::{Store, Stored, shown};
use crate::decimal::Decimal;
use crate::error::{Error, ErrorCode};
use crate::number::{self, Converted};
use crate::sql_type::{BaseType, DECIMALS_NOT_FIXED, SqlType};
use crate::temporal::full_year;
use crate::value::Value;

/// The least and greatest value of an integer column.
pub(crate) fn integer_bounds(sql_type: &SqlType) -> (i128, i128) {
    let bits = match sql_type.base {
        BaseType::TinyInt => 8,
        BaseType::SmallInt => 16,
        BaseType::MediumInt => 24,
        BaseType::Int => 32,
        _ => 64,
    };
    if sql_type.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// A string as columns of numbers read it, anything else as usual.
fn rounded_integer(value: &Value) -> Converted<i128> {
    match value {
        Value::Str(text) => parse_integer_rounded(text),
        other => other.to_integer(),
    }
}

/// The value is a text that does not even begin with a number.
fn has_no_number(value: &Value) -> bool {
    match value {
        Value::Str(text) => !number::NumberPrefix::of(text).has_digits(),
        Value::Json(json) => !json.root().as_str().is_some_and(|text| number::NumberPrefix::of(text).has_digits()),
        _ => false,
    }
}

impl Store<'_> {
    pub(super) fn integer(&self, value: Value) -> Stored {
        let (least, greatest) = integer_bounds(self.sql_type());
        let converted = match value {
            Value::Int(number) => Converted::exact(i128::from(number)),
            Value::UInt(number) => Converted::exact(i128::from(number)),
            ref other => rounded_integer(other),
        };
        let clamped = converted.value.clamp(least, greatest);
        let stored =
            if self.sql_type().unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) };
        // A decimal below zero is refused by an unsigned column even if it rounds to zero.
        let is_negative_decimal =
            self.sql_type().unsigned && matches!(&value, Value::Decimal(decimal) if decimal.is_negative());
        if converted.truncated && has_no_number(&value) {
            return self.incorrect("integer", &shown(&value), stored);
        }
        if converted.out_of_range || clamped != converted.value || is_negative_decimal {
            return self.out_of_range(stored);
        }
        if converted.truncated {
            return self.truncated(stored);
        }
        Ok((stored, None))
    }

    pub(super) fn decimal(&self, value: Value) -> Stored {
        let converted = value.to_decimal();
        let (precision, scale) = (self.sql_type().length.min(65) as u8, self.sql_type().decimals);
        let rounded = converted.value.round(i32::from(scale));
        if converted.truncated {
            let fitting = if rounded.fits(precision, scale) { rounded } else { self.greatest_decimal(&rounded) };
            if has_no_number(&value) || self.is_strict() {
                return self.incorrect("decimal", &shown(&value), Value::Decimal(fitting));
            }
            return self.truncated(Value::Decimal(fitting));
        }
        if self.sql_type().unsigned && converted.value.is_negative() {
            return self.out_of_range(Value::Decimal(Decimal::ZERO.round(i32::from(scale))));
        }
        if converted.out_of_range || !rounded.fits(precision, scale) {
            return self.out_of_range(Value::Decimal(self.greatest_decimal(&rounded)));
        }
        let lost_digits = converted.rounded || rounded != converted.value;
        if lost_digits && !matches!(value, Value::Double(_) | Value::Float(_)) {
            return self.truncation_note(Value::Decimal(rounded));
        }
        Ok((Value::Decimal(rounded), None))
    }

    /// The greatest value of the column, with the sign of `decimal`.
    fn greatest_decimal(&self, decimal: &Decimal) -> Decimal {
        let greatest = Decimal::max_value(self.sql_type().length.min(65) as u8, self.sql_type().decimals);
        if decimal.is_negative() { -greatest } else { greatest }
    }

    pub(super) fn float(&self, value: Value) -> Stored {
        let converted = value.to_f64();
        let is_single = self.sql_type().base == BaseType::Float;
        let is_number = !converted.value.is_nan();
        let mut number = if is_number { converted.value } else { 0.0 };
        let mut greatest = if is_single { f64::from(f32::MAX) } else { f64::MAX };
        let decimals = self.sql_type().decimals;
        if decimals < DECIMALS_NOT_FIXED {
            number = number::round_f64(number, i32::from(decimals), false);
            let power = 10f64.powi(i32::from(decimals));
            let digits = self.sql_type().length.min(255) as i32;
            greatest = greatest.min((10f64.powi(digits) - 1.0) / power);
        }
        let least = if self.sql_type().unsigned { 0.0 } else { -greatest };
        // Adding zero turns a negative zero into a positive one.
        let clamped = number.clamp(least, greatest) + 0.0;
        let stored = if is_single { Value::Float(clamped as f32) } else { Value::Double(clamped) };
        // What a FLOAT cannot tell from its greatest value is in range.
        let is_in_range = clamped == number || (is_single && clamped as f32 == number as f32);
        if converted.out_of_range || !is_in_range || !is_number {
            return self.out_of_range(stored);
        }
        if converted.truncated {
            return self.truncated(stored);
        }
        Ok((stored, None))
    }

    pub(super) fn bit(&self, value: Value) -> Stored {
        let width = self.sql_type().length.clamp(1, 64);
        let mask = u64::MAX >> (64 - width);
        let bits = match &value {
            Value::Str(bytes) => {
                let significant = bytes.iter().skip_while(|&&byte| byte == 0);
                if significant.clone().count() > 8 {
                    None
                } else {
                    Some(significant.fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)))
                }
            }
            // Negative numbers are their two's complement.
            other => Some(other.to_integer().value as u64).filter(|_| !other.to_integer().out_of_range),
        };
        match bits {
            Some(bits) if bits <= mask => Ok((Value::Bit(bits, width as u8), None)),
            _ if self.is_strict() => {
                Err(Error::new(ErrorCode::DataTooLong, format!("Data too long{}", self.place())))
            }
            _ => self.out_of_range(Value::Bit(mask, width as u8)),
        }
    }

    pub(super) fn year(&self, value: Value) -> Stored {
        let converted = match &value {
            Value::Date(date) => Converted::exact(i128::from(date.year())),
            Value::DateTime(moment) => Converted::exact(i128::from(moment.year())),
            other => rounded_integer(other),
        };
        // The number 0 and the text '0000' are year 0; the texts '0' and '00' are 2000.
        let is_short_text = matches!(&value, Value::Str(text) if text.trim_ascii().len() != 4);
        let year = match converted.value {
            0 if !is_short_text => Some(0),
            two_digits @ 0..100 => Some(full_year(two_digits as u32)),
            year @ 1901..=2155 => Some(year as u32),
            _ => None,
        };
        let stored = Value::Year(year.unwrap_or(0) as u16);
        if converted.truncated && has_no_number(&value) {
            return self.incorrect("integer", &shown(&value), Value::Year(0));
        }
        if converted.out_of_range || year.is_none() {
            return self.out_of_range(stored);
        }
        if converted.truncated {
            return self.truncated(stored);
        }
        Ok((stored, None))
    }
}

/// The integer nearest to the number that a text begins with, as columns take it ('1.9' is 2, '1e3' is 1000; halves
/// are rounded away from zero). Clamped to -2^63 .. 2^64-1.
fn parse_integer_rounded(text: &[u8]) -> Converted<i128> {
    let prefix = number::NumberPrefix::of(text);
    if prefix.fraction.is_empty() && prefix.exponent == 0 {
        let mut result = number::parse_integer(prefix.text);
        result.truncated = !prefix.is_whole;
        return result;
    }
    let (least, greatest) = (i128::from(i64::MIN), i128::from(u64::MAX));
    Decimal::parse(text).and_then(|decimal| {
        let rounded = decimal.scale() > 0 && decimal.round(0) != decimal;
        let clamp_to = if decimal.is_negative() { least } else { greatest };
        match decimal.to_i128() {
            Some(number) if (least..=greatest).contains(&number) => {
                Converted { rounded, ..Converted::exact(number) }
            }
            _ => Converted::clamped(clamp_to),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_with_fractions_are_rounded_to_integers() {
        assert_eq!(parse_integer_rounded(b"1.5").value, 2);
        assert_eq!(parse_integer_rounded(b"-1.5").value, -2);
        assert_eq!(parse_integer_rounded(b"1e3"), Converted::exact(1000));
        assert_eq!(parse_integer_rounded(b"12x"), Converted::truncated(12));
        assert!(parse_integer_rounded(b"1e30").out_of_range);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_some_integer(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_integer_rounded(&bytes);
        }
    }
}
