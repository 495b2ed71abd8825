//! Conditions on a row, true, false or unknown as in SQL.

use std::convert::Infallible;

use shoal_types::key::append_raw;
use shoal_types::row::RowRef;
use shoal_types::{Comparison, Result, truth};

use crate::protocol::{FrameReader, malformed, put_bytes, put_u32};

/// Conditions within conditions that are taken from another node.
const DEPTH_MAX: u32 = 32;

/// A condition on a stored row, in SQL's three-valued logic, without SQL's expressions: any node evaluates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// A column and a constant of its type, in the bytes that it would have as the only part of a key that is ascending and
    /// NOT NULL: the order of the bytes is the order of the values under the column's collation. Unknown if the column is NULL.
    Compare {
        /// Position in the table's rows.
        column: usize,
        /// With the column on its left side.
        comparison: Comparison,
        /// The constant's key bytes.
        key: Vec<u8>,
    },
    /// The column at this position is NULL.
    IsNull(usize),
    /// True if all are; true if there are none.
    And(Vec<Predicate>),
    /// True if any is; false if there are none.
    Or(Vec<Predicate>),
    /// Unknown stays unknown.
    Not(Box<Predicate>),
}

const COMPARE: u8 = 1;
const IS_NULL: u8 = 2;
const AND: u8 = 3;
const OR: u8 = 4;
const NOT: u8 = 5;

/// The comparisons by their numbers in frames.
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn number_of(comparison: Comparison) -> u8 {
    COMPARISONS.iter().position(|one| *one == comparison).unwrap_or(0) as u8
}

impl Predicate {
    /// The row fulfils it.
    pub fn holds(&self, row: RowRef<'_>) -> bool {
        self.test(row, &mut Vec::new()) == Some(true)
    }

    /// `None`: unknown, as is whatever concerns a column that the row does not have. `buffer` is for keys.
    pub(crate) fn test(&self, row: RowRef<'_>, buffer: &mut Vec<u8>) -> Option<bool> {
        let has = |column: usize| column < row.layout().column_count();
        match self {
            Predicate::Compare { column, comparison, key } => {
                if !has(*column) || row.is_null(*column) {
                    return None;
                }
                buffer.clear();
                append_raw(row.raw(*column), &row.layout().types()[*column], 0, buffer);
                Some(comparison.holds(buffer.as_slice().cmp(key)))
            }
            Predicate::IsNull(column) => has(*column).then(|| row.is_null(*column)),
            Predicate::And(parts) => conjunction(true, parts, row, buffer),
            Predicate::Or(parts) => conjunction(false, parts, row, buffer),
            Predicate::Not(inner) => inner.test(row, buffer).map(|holds| !holds),
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Predicate::Compare { column, comparison, key } => {
                out.push(COMPARE);
                put_u32(out, *column as u32);
                out.push(number_of(*comparison));
                put_bytes(out, key);
            }
            Predicate::IsNull(column) => {
                out.push(IS_NULL);
                put_u32(out, *column as u32);
            }
            Predicate::And(parts) | Predicate::Or(parts) => {
                out.push(if matches!(self, Predicate::And(_)) { AND } else { OR });
                put_u32(out, parts.len() as u32);
                parts.iter().for_each(|part| part.put(out));
            }
            Predicate::Not(inner) => {
                out.push(NOT);
                inner.put(out);
            }
        }
    }

    pub(crate) fn read(reader: &mut FrameReader<'_>) -> Result<Predicate> {
        Predicate::read_within(reader, DEPTH_MAX)
    }

    fn read_within(reader: &mut FrameReader<'_>, depth: u32) -> Result<Predicate> {
        let inside = depth.checked_sub(1).ok_or_else(malformed)?;
        Ok(match reader.u8()? {
            COMPARE => Predicate::Compare {
                column: reader.u32()? as usize,
                comparison: *COMPARISONS.get(usize::from(reader.u8()?)).ok_or_else(malformed)?,
                key: reader.bytes()?.to_vec(),
            },
            IS_NULL => Predicate::IsNull(reader.u32()? as usize),
            kind @ (AND | OR) => {
                let count = reader.u32()?;
                // Every part takes bytes, so a count that is made up ends the reading.
                let parts = (0..count).map(|_| Predicate::read_within(reader, inside));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                if kind == AND { Predicate::And(parts) } else { Predicate::Or(parts) }
            }
            NOT => Predicate::Not(Box::new(Predicate::read_within(reader, inside)?)),
            _ => return Err(malformed()),
        })
    }
}

fn conjunction(all: bool, parts: &[Predicate], row: RowRef<'_>, buffer: &mut Vec<u8>) -> Option<bool> {
    let Ok(truth) = truth::conjunction(all, parts.iter().map(|part| Ok::<_, Infallible>(part.test(row, buffer))));
    truth
}

#[cfg(test)]
mod tests {
    use shoal_types::row::RowLayout;
    use shoal_types::{BaseType, Collation, SqlType, TimeZone, Value};

    use super::*;

    fn key(sql_type: &SqlType, value: Value) -> Vec<u8> {
        let layout = RowLayout::new(vec![sql_type.clone()]);
        let (mut row, mut key) = (Vec::new(), Vec::new());
        layout.encode(&[value], &TimeZone::UTC, &mut row).unwrap();
        append_raw(layout.row(&row).raw(0), sql_type, 0, &mut key);
        key
    }

    #[test]
    fn conditions_are_true_false_or_unknown_and_survive_the_journey() {
        let types = vec![SqlType::new(BaseType::Int), SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI)];
        let layout = RowLayout::new(types.clone());
        let row = |number: Value, text: Value| {
            let mut bytes = Vec::new();
            layout.encode(&[number, text], &TimeZone::UTC, &mut bytes).unwrap();
            bytes
        };
        let (low, none) = (row(Value::Int(-5), Value::str("Ähre")), row(Value::Null, Value::Null));
        let compare = |column: usize, comparison, value| Predicate::Compare {
            column,
            comparison,
            key: key(&types[column], value),
        };
        let test = |predicate: &Predicate, bytes: &[u8]| {
            let mut wire = Vec::new();
            predicate.put(&mut wire);
            let mut reader = FrameReader::new(&wire);
            let read = Predicate::read(&mut reader).unwrap();
            reader.end().unwrap();
            assert_eq!(&read, predicate);
            read.test(layout.row(bytes), &mut Vec::new())
        };
        let less = compare(0, Comparison::Less, Value::Int(3));
        let equal = compare(1, Comparison::Equal, Value::str("ahre"));
        assert_eq!((test(&less, &low), test(&less, &none)), (Some(true), None));
        assert_eq!(test(&equal, &low), Some(true));
        assert_eq!(test(&Predicate::Not(Box::new(equal.clone())), &none), None);
        let is_null = Predicate::IsNull(0);
        assert_eq!((test(&is_null, &low), test(&is_null, &none)), (Some(false), Some(true)));
        let both = Predicate::And(vec![less.clone(), equal.clone()]);
        let either = Predicate::Or(vec![less.clone(), is_null.clone()]);
        assert_eq!((test(&both, &low), test(&both, &none)), (Some(true), None));
        assert_eq!((test(&either, &low), test(&either, &none)), (Some(true), Some(true)));
        let never = Predicate::And(vec![equal, Predicate::Or(Vec::new())]);
        assert_eq!(test(&never, &none), Some(false));
        assert_eq!(test(&Predicate::IsNull(7), &low), None);
    }

    #[test]
    fn what_is_damaged_or_too_deep_is_refused() {
        let mut deep = Predicate::IsNull(0);
        for _ in 0..DEPTH_MAX {
            deep = Predicate::Not(Box::new(deep));
        }
        let mut wire = Vec::new();
        deep.put(&mut wire);
        assert!(Predicate::read(&mut FrameReader::new(&wire)).is_err());
        for wire in [&[AND, 255, 255, 255, 255][..], &[COMPARE, 0, 0, 0, 0, 9, 0, 0, 0, 0], &[9], &[]] {
            assert!(Predicate::read(&mut FrameReader::new(wire)).is_err());
        }
    }
}
