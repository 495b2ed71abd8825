//! Elements of JSON arrays as values of the type that a multi-valued key part has.
//!
//! What is written and what is looked for go through the same conversion, so that values which JSON takes for equal are equal keys. So
//! nothing of it depends on the session: not its SQL mode, its time zone or its clock.

use shoal_types::json::{JsonItem, JsonKind, JsonRef};
use shoal_types::{
    BaseType, Collation, ErrorCode, Result, SqlType, StoreOptions, StoreTarget, TemporalContext, Value,
    store_value,
};

/// Why an element is no value of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is of another kind altogether.
    Invalid,
    /// An array or an object.
    NotScalar,
    /// An integer beyond the type's limits.
    OutOfRange,
    /// A number that no integer or DECIMAL holds.
    FarOutOfRange,
    /// A text longer than the type.
    TooLong,
    /// A text that is no date or time.
    Truncated,
}

/// An element as a value of the type, and whether digits were lost on the way.
pub fn array_element(part: &JsonRef<'_>, element: &SqlType) -> std::result::Result<(Value, bool), Unfit> {
    let is_number = element.is_integer() || element.base == BaseType::Decimal;
    let value = match part.item() {
        JsonItem::Array | JsonItem::Object => return Err(Unfit::NotScalar),
        JsonItem::Bool(truth) if is_number => Value::Int(i64::from(truth)),
        JsonItem::Null | JsonItem::Bool(_) | JsonItem::Opaque(..) => return Err(Unfit::Invalid),
        // What day it is would decide which.
        JsonItem::Time(_) if matches!(element.base, BaseType::Date | BaseType::DateTime) => {
            return Err(Unfit::Truncated);
        }
        JsonItem::Date(_) | JsonItem::Time(_) | JsonItem::DateTime(_) | JsonItem::Timestamp(_) if is_number => {
            return Err(Unfit::Invalid);
        }
        JsonItem::String(text) => Value::Str(text.to_vec()),
        JsonItem::Int(number) => Value::Int(number),
        JsonItem::UInt(number) => Value::UInt(number),
        JsonItem::Double(number) => Value::Double(number),
        JsonItem::Decimal(number) => Value::Decimal(number),
        JsonItem::Date(date) => Value::Date(date),
        JsonItem::Time(time) => Value::Time(time),
        JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => Value::DateTime(moment),
    };
    let options = StoreOptions { strict: true, ignore: false, temporal: TemporalContext::default() };
    let target = StoreTarget { sql_type: element, column: "", row: 1 };
    match store_value(value, Collation::UTF8MB4_BIN, target, &options) {
        Ok((Value::Null, _)) => Err(Unfit::Invalid),
        Ok((value, warning)) => Ok((value, warning.is_some())),
        Err(_) if element.is_temporal() => Err(Unfit::Truncated),
        Err(error) if error.is(ErrorCode::DataTooLong) => Err(Unfit::TooLong),
        Err(error) if error.is(ErrorCode::WarnDataOutOfRange) => Err(match part.kind() {
            JsonKind::Double => Unfit::FarOutOfRange,
            _ => Unfit::OutOfRange,
        }),
        Err(_) => Err(Unfit::Invalid),
    }
}

/// The same of a value that is looked for; NULL: no array has such an element.
pub(crate) fn wanted_element(part: &JsonRef<'_>, element: &SqlType) -> Result<Value> {
    Ok(array_element(part, element).map_or(Value::Null, |(value, _)| value))
}

#[cfg(test)]
mod tests {
    use shoal_types::Json;

    use super::*;

    fn element(json: &str, sql_type: SqlType) -> std::result::Result<(Value, bool), Unfit> {
        array_element(&Json::parse(json.as_bytes()).unwrap().root(), &sql_type)
    }

    #[test]
    fn numbers_that_json_takes_for_equal_are_equal_elements() {
        for json in ["1", "1.0", "1e0"] {
            assert_eq!(element(json, SqlType::bigint(true)).unwrap().0, Value::UInt(1), "{json}");
        }
        assert_eq!(element("true", SqlType::bigint(false)).unwrap().0, Value::Int(1));
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        let text = SqlType::varchar(3, Collation::UTF8MB4_0900_BIN);
        assert_eq!(element("-2", SqlType::bigint(true)), Err(Unfit::OutOfRange));
        assert_eq!(element("1111111111111111111111", SqlType::bigint(true)), Err(Unfit::FarOutOfRange));
        assert_eq!(element("\"x\"", SqlType::bigint(true)), Err(Unfit::Invalid));
        assert_eq!(element("null", SqlType::bigint(true)), Err(Unfit::Invalid));
        assert_eq!(element("[1]", SqlType::bigint(true)), Err(Unfit::NotScalar));
        assert_eq!(element("\"abcd\"", text.clone()), Err(Unfit::TooLong));
        assert_eq!(element("\"abc\"", text).unwrap().0, Value::str("abc"));
        assert_eq!(element("\"asd\"", SqlType::new(BaseType::Date)), Err(Unfit::Truncated));
    }
}
