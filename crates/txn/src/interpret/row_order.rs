//! How the rows of an ordered scan are compared.

use shoal_types::key::{KeyPart, KeySpec};
use shoal_types::row::{RowRef, fixed_width};

/// Rows are compared by a number that is less for those that come first, their head, and only where two are equal by their keys.
#[derive(Default)]
pub(crate) struct RowOrder {
    /// The key consists of these integers and fits into the head: no keys are made.
    integers: Vec<IntegerPart>,
    descending: bool,
}

/// An integer column as a part of the head.
struct IntegerPart {
    column: usize,
    bits: u32,
    sign_bit: u64,
    /// One bit more tells NULL from values.
    nullable: bool,
    inverts: bool,
}

impl IntegerPart {
    fn of(part: &KeyPart) -> Option<IntegerPart> {
        let bits = 8 * fixed_width(&part.sql_type).filter(|_| part.sql_type.is_int())? as u32;
        let sign_bit = if part.sql_type.unsigned { 0 } else { 1 << (bits - 1) };
        Some(IntegerPart {
            column: part.column,
            bits,
            sign_bit,
            nullable: part.nullable,
            inverts: part.descending,
        })
    }

    fn bits_of_head(&self) -> u32 {
        self.bits + u32::from(self.nullable)
    }

    #[inline]
    fn value(&self, row: RowRef<'_>) -> u128 {
        let is_null = self.nullable && row.is_null(self.column);
        let value = if is_null { 0 } else { u128::from(row.word(self.column) ^ self.sign_bit) };
        let value = if self.nullable && !is_null { value | 1 << self.bits } else { value };
        if self.inverts { !value & ((1 << self.bits_of_head()) - 1) } else { value }
    }
}

impl RowOrder {
    /// Of the rows of an index with this key. `needs_keys`: whoever scans asks for keys as well.
    pub fn of(key: &KeySpec, descending: bool, needs_keys: bool) -> RowOrder {
        let integers: Option<Vec<IntegerPart>> = key.parts.iter().map(IntegerPart::of).collect();
        let fits = |parts: &Vec<IntegerPart>| {
            !needs_keys && parts.iter().map(IntegerPart::bits_of_head).sum::<u32>() <= u128::BITS
        };
        RowOrder { integers: integers.filter(fits).unwrap_or_default(), descending }
    }

    /// The head of a row. Appends the row's key, unless the head is all of it.
    #[inline]
    pub fn head_of(&self, row: RowRef<'_>, spec: &KeySpec, key: &mut Vec<u8>) -> u128 {
        let head = match &self.integers[..] {
            [] => {
                let start = key.len();
                spec.append_from_row(row, key);
                first_bytes(&key[start..])
            }
            [part] => part.value(row),
            parts => parts.iter().fold(0, |head, part| head << part.bits_of_head() | part.value(row)),
        };
        if self.descending { !head } else { head }
    }
}

fn first_bytes(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; size_of::<u128>()];
            bytes[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::row::RowLayout;
    use shoal_types::{BaseType, SqlType, TimeZone, Value};

    use super::*;

    /// Heads of integers stand for keys, so they must be in the keys' order.
    #[test]
    fn heads_are_in_the_order_of_keys() {
        let types = [SqlType::new(BaseType::MediumInt), SqlType::bigint(false), SqlType::new(BaseType::TinyInt)];
        let layout = RowLayout::new(types.to_vec());
        let part = |column: usize, nullable, descending| KeyPart {
            column,
            sql_type: types[column].clone(),
            nullable,
            prefix_length: 0,
            descending,
            multi_valued: false,
        };
        let specs = [
            vec![part(0, false, false)],
            vec![part(1, true, true), part(0, false, false)],
            vec![part(2, true, false), part(1, true, true), part(0, true, true)],
        ];
        let numbers = [None, Some(-5), Some(0), Some(3), Some(-128), Some(127)];
        let value = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
        let mut rows = Vec::new();
        for first in numbers.into_iter().flatten() {
            for (second, third) in numbers.iter().flat_map(|&one| numbers.map(|other| (one, other))) {
                let mut row = Vec::new();
                layout
                    .encode(&[Value::Int(first), value(second), value(third)], &TimeZone::UTC, &mut row)
                    .unwrap();
                rows.push(row);
            }
        }
        for parts in specs {
            let spec = KeySpec { parts };
            for descending in [false, true] {
                let order = RowOrder::of(&spec, descending, false);
                let mut entries: Vec<(Vec<u8>, u128)> = Vec::new();
                for row in &rows {
                    let (row, mut key, mut none) = (layout.row(row), Vec::new(), Vec::new());
                    spec.append_from_row(row, &mut key);
                    entries.push((key, order.head_of(row, &spec, &mut none)));
                    assert!(none.is_empty(), "a key was made");
                }
                entries.sort();
                let by_head = |pair: &[(Vec<u8>, u128)]| match descending {
                    false => pair[0].1.cmp(&pair[1].1),
                    true => pair[1].1.cmp(&pair[0].1),
                };
                assert!(entries.windows(2).all(|pair| by_head(pair) == pair[0].0.cmp(&pair[1].0)));
            }
        }
    }
}
