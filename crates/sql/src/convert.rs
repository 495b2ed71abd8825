//! Constants as a column would hold them, for index lookups.

use std::cmp::Ordering;

use shoal_expr::compare;
use shoal_types::{BaseType, SqlType, StoreOptions, StoreTarget, TemporalContext, TimeZone, Value, store_value};

/// Converts `value` to `target` and tells how the result compares with the value: `Less` means that the result lies
/// below it. `None`: the value has no place in the column's order.
pub fn for_lookup(value: Value, from: &SqlType, target: &SqlType, zone: &TimeZone) -> Option<(Value, Ordering)> {
    match (&value, target.base) {
        (
            Value::Int(number),
            BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt,
        ) => {
            return Some(integer(i128::from(*number), target));
        }
        (
            Value::UInt(number),
            BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt,
        ) => {
            return Some(integer(i128::from(*number), target));
        }
        (Value::Str(text), BaseType::VarChar | BaseType::Text)
            if from.collation == target.collation && text.len() <= target.length as usize =>
        {
            return Some((value, Ordering::Equal));
        }
        _ => {}
    }
    let temporal = TemporalContext { zone: zone.clone(), ..TemporalContext::default() };
    let options = StoreOptions { strict: false, ignore: true, temporal };
    let place = StoreTarget { sql_type: target, column: "", row: 1 };
    let original = value.clone();
    let (converted, _) = store_value(value, from.collation, place, &options).ok()?;
    let ordering = compare_across(&converted, target, &original, from)?;
    Some((converted, ordering))
}

/// An integer clamped into the range of an integer column.
fn integer(number: i128, target: &SqlType) -> (Value, Ordering) {
    let bits = match target.base {
        BaseType::TinyInt => 8,
        BaseType::SmallInt => 16,
        BaseType::MediumInt => 24,
        BaseType::Int => 32,
        _ => 64,
    };
    let (least, greatest) = match target.unsigned {
        true => (0, (1i128 << bits) - 1),
        false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    let clamped = number.clamp(least, greatest);
    let value = if target.unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) };
    (value, clamped.cmp(&number))
}

fn compare_across(converted: &Value, target: &SqlType, original: &Value, from: &SqlType) -> Option<Ordering> {
    if target.is_temporal() {
        return match (converted, original) {
            (Value::Null, _) => None,
            (Value::Date(date), Value::DateTime(time)) => {
                Some(shoal_types::DateTime::from_date(*date, 0, 0).packed.cmp(&time.packed))
            }
            (Value::DateTime(left), Value::DateTime(right)) => Some(left.packed.cmp(&right.packed)),
            (Value::Time(left), Value::Time(right)) => Some(left.micros.cmp(&right.micros)),
            _ => Some(Ordering::Equal),
        };
    }
    if target.is_numeric() {
        if let (Value::Decimal(left), Value::Decimal(right)) = (converted, original) {
            return Some(left.cmp(right));
        }
        let exact = |value: &Value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Decimal(_));
        if exact(converted) && exact(original) {
            return Some(converted.to_decimal().value.cmp(&original.to_decimal().value));
        }
        return converted.to_f64().value.partial_cmp(&original.to_f64().value);
    }
    match (converted, original) {
        (Value::Str(_), Value::Str(_)) => {
            let sql_type = SqlType::varchar(target.length.max(from.length), target.collation);
            Some(compare(converted, original, &sql_type))
        }
        (Value::Enum(member), Value::Str(text)) => {
            // What is no member was stored as the empty string (index 0), and is found by it.
            target.collation.equal(member.label(), text).then_some(Ordering::Equal)
        }
        (Value::Set(members), Value::Str(text)) => {
            target.collation.equal(&members.text(), text).then_some(Ordering::Equal)
        }
        _ => Some(Ordering::Equal),
    }
}
