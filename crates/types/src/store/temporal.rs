//! DATE, TIME, DATETIME and TIMESTAMP.

use super::{Store, Stored, shown};
use crate::error::{Error, ErrorCode};
use crate::number::Converted;
use crate::value::Value;
use crate::{Date, DateTime, Time};

/// The range of TIMESTAMP, 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 UTC.
const TIMESTAMP_MIN_MICROS: i64 = 1_000_000;
const TIMESTAMP_MAX_MICROS: i64 = (1 << 31) * 1_000_000 - 1;

impl Store<'_> {
    /// Errno 1292 in strict mode, else `nearest` with warning 1264 or 1265.
    fn incorrect_temporal(&self, class: &str, value: &Value, nearest: Value, out_of_range: bool) -> Stored {
        if self.is_strict() {
            let message = format!("Incorrect {class} value: '{}'{}", shown(value), self.place());
            return Err(Error::new(ErrorCode::TruncatedWrongValue, message));
        }
        if out_of_range { self.out_of_range(nearest) } else { self.truncated(nearest) }
    }

    /// What a conversion and the column's fractional digits made of `value`.
    fn finish(
        &self,
        class: &str,
        value: &Value,
        converted: Converted<Option<Value>>,
        zero: Value,
        dropped_part: bool,
    ) -> Stored {
        match converted.value {
            None => self.incorrect_temporal(class, value, zero, converted.out_of_range),
            Some(stored) if converted.truncated || converted.out_of_range => {
                self.incorrect_temporal(class, value, stored, converted.out_of_range)
            }
            Some(stored) if dropped_part => self.truncation_note(stored),
            Some(stored) => Ok((stored, None)),
        }
    }

    pub(super) fn date(&self, value: Value) -> Stored {
        let converted = value.to_date(&self.options.temporal);
        let drops_time = converted.rounded;
        self.finish(
            "date",
            &value,
            converted.map(|date| date.map(Value::Date)),
            Value::Date(Date::ZERO),
            drops_time,
        )
    }

    pub(super) fn time(&self, value: Value) -> Stored {
        let fsp = self.sql_type().decimals;
        let converted = value.to_time();
        let has_date = matches!(value, Value::DateTime(_) | Value::Date(_)) || is_datetime_text(&value);
        let rounded = converted.map(|time| time.map(|time| Value::Time(time.round(fsp))));
        self.finish("time", &value, rounded, Value::Time(Time { micros: 0, fsp }), has_date)
    }

    pub(super) fn datetime(&self, value: Value) -> Stored {
        let rounded = self.rounded_datetime(&value).map(|moment| moment.map(Value::DateTime));
        self.finish("datetime", &value, rounded, self.zero_datetime(), false)
    }

    fn zero_datetime(&self) -> Value {
        Value::DateTime(DateTime { fsp: self.sql_type().decimals, ..DateTime::ZERO })
    }

    fn rounded_datetime(&self, value: &Value) -> Converted<Option<DateTime>> {
        value.to_datetime(&self.options.temporal).and_then(|moment| {
            let Some(moment) = moment else {
                return Converted::exact(None);
            };
            let rounded = moment.round(self.sql_type().decimals);
            Converted { out_of_range: rounded.is_none(), ..Converted::exact(rounded) }
        })
    }

    pub(super) fn timestamp(&self, value: Value) -> Stored {
        let zone = &self.options.temporal.zone;
        let mut converted = self.rounded_datetime(&value);
        let Some(moment) = converted.value.filter(|moment| !moment.is_zero()) else {
            let stored = converted.map(|moment| moment.map(Value::DateTime));
            return self.finish("datetime", &value, stored, self.zero_datetime(), false);
        };
        let micros = zone.to_utc_micros(moment);
        if !moment.date().is_complete() || !(TIMESTAMP_MIN_MICROS..=TIMESTAMP_MAX_MICROS).contains(&micros) {
            return self.incorrect_temporal("datetime", &value, self.zero_datetime(), true);
        }
        if zone.is_in_gap(moment) {
            let shifted = Value::DateTime(zone.from_utc_micros(micros, moment.fsp));
            if !self.is_strict() {
                let message = format!(
                    "Invalid TIMESTAMP value in column '{}' at row {}",
                    self.target.column, self.target.row
                );
                return self.unfit(shifted, ErrorCode::WarnInvalidTimestamp, message);
            }
            converted.truncated = true;
        }
        let stored = converted.map(|moment| moment.map(Value::DateTime));
        self.finish("datetime", &value, stored, self.zero_datetime(), false)
    }
}

/// The text is a whole datetime, not a time alone: it has a date before its first blank or T.
fn is_datetime_text(value: &Value) -> bool {
    let Value::Str(text) = value else {
        return false;
    };
    let text = text.trim_ascii();
    let head_length = text.iter().position(|byte| matches!(byte, b' ' | b'T')).unwrap_or(0);
    let separators = text[..head_length].iter().skip(1).filter(|byte| byte.is_ascii_punctuation()).count();
    separators == 2
}
