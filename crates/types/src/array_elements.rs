//! The elements of an array that a multi-valued key part computes, as its hidden column keeps them.
//!
//! Frozen on disk: for each distinct element, in ascending order, two bytes that tell the length (little-endian) and the element as
//! [`crate::key`] writes it, neither marked as nullable nor inverted. So an index makes its entries without knowing what JSON is.

use crate::row::{decode_column, fixed_width};
use crate::{BaseType, SqlType, TimeZone, Value};

/// The column's bytes for these elements, in any order, which may be there several times. `None`: one is longer than any key.
pub fn encode(mut elements: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    elements.sort_unstable();
    elements.dedup();
    let mut out = Vec::with_capacity(elements.iter().map(|element| element.len() + 2).sum());
    for element in &elements {
        out.extend_from_slice(&u16::try_from(element.len()).ok()?.to_le_bytes());
        out.extend_from_slice(element);
    }
    Some(out)
}

/// The elements of a column's bytes. Bytes that are none, which another node may have sent, end them.
pub fn iter(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (element, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        bytes = rest;
        Some(element)
    })
}

/// An element as a value of its type, which is none whose keys are weights of a collation.
pub fn value(element: &[u8], sql_type: &SqlType) -> Value {
    let raw: Vec<u8> = match sql_type.base {
        BaseType::Decimal => element.to_vec(),
        BaseType::Char | BaseType::VarChar => unescaped(element),
        base => {
            let is_signed = base == BaseType::Time || sql_type.is_int() && !sql_type.unsigned;
            let mut raw = element.to_vec();
            if let Some(first) = raw.first_mut().filter(|_| is_signed) {
                *first ^= 0x80;
            }
            raw.reverse();
            raw
        }
    };
    match fixed_width(sql_type).is_some_and(|width| width != raw.len()) {
        true => Value::Null,
        false => decode_column(&raw, sql_type, &TimeZone::UTC),
    }
}

/// A text whose zeros are 00 FF, up to 00 00.
fn unescaped(element: &[u8]) -> Vec<u8> {
    let text = element.strip_suffix(&[0, 0]).unwrap_or(element);
    let mut raw = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        raw.push(byte);
        if byte == 0 {
            bytes.next();
        }
    }
    raw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyPart;
    use crate::{Collation, Date, DateRules, Decimal};

    #[test]
    fn elements_are_turned_back_into_their_values() {
        let text = SqlType::varchar(10, Collation::UTF8MB4_0900_BIN);
        for (value, sql_type) in [
            (Value::Int(-5), SqlType::bigint(false)),
            (Value::UInt(u64::MAX), SqlType::bigint(true)),
            (Value::str("a\0b"), text.clone()),
            (Value::str(""), text),
            (Value::Decimal(Decimal::from(-12i64).round(2)), SqlType::decimal(10, 2)),
            (Value::Date(Date::new(2019, 2, 1, DateRules::default()).unwrap()), SqlType::new(BaseType::Date)),
        ] {
            let part = KeyPart {
                column: 0,
                sql_type: sql_type.clone(),
                nullable: false,
                prefix_length: 0,
                descending: false,
                multi_valued: true,
            };
            let mut element = Vec::new();
            part.append_value(&value, &TimeZone::UTC, &mut element).unwrap();
            assert_eq!(super::value(&element, &sql_type), value);
        }
    }

    #[test]
    fn elements_come_back_sorted_and_once() {
        let bytes = encode(vec![vec![3], vec![1, 2], Vec::new(), vec![3]]).unwrap();
        assert_eq!(iter(&bytes).collect::<Vec<_>>(), [&[][..], &[1, 2], &[3]]);
        assert_eq!(iter(&encode(Vec::new()).unwrap()).count(), 0);
        assert!(encode(vec![vec![0; 65_536]]).is_none());
    }

    #[test]
    fn bytes_that_are_cut_off_end_the_elements() {
        let bytes = encode(vec![vec![1, 2, 3], vec![4, 5]]).unwrap();
        for length in 0..bytes.len() {
            assert!(iter(&bytes[..length]).count() < 2);
        }
    }
}
