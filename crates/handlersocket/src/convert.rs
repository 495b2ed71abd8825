//! Values of requests as columns hold them, and as keys compare them.
//!
//! Texts on the wire are utf8mb4. They are converted as a strict INSERT does: what does not fit its column is an error. The
//! common keys (integers, and texts that are stored as they come) are encoded straight from the line.

use shoal_cluster::Table;
use shoal_txn::new_row::null_refused;
use shoal_types::key::{KeyPart, append_raw};
use shoal_types::{
    BaseType, Charset, Collation, Column, Date, DateRules, IndexMethod, Result, StoreOptions, StoreTarget,
    TemporalContext, TimeZone, Value, store_value,
};

/// Texts come in this one's character set.
const WIRE: Collation = Collation::UTF8MB4_BIN;

/// How values are stored: MySQL's default SQL mode.
pub fn store_options(zone: &TimeZone, today: Date) -> StoreOptions {
    let rules = DateRules { no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false };
    let temporal = TemporalContext { rules, zone: zone.clone(), today };
    StoreOptions { strict: true, ignore: false, temporal }
}

/// A value of a request as its column holds it.
///
/// # Errors
/// 1048 for NULL where it may not be; what strict mode says of values that do not fit.
pub fn column_value(column: &Column, text: Option<&[u8]>, options: &StoreOptions) -> Result<Value> {
    let Some(text) = text else {
        return match column.nullable {
            true => Ok(Value::Null),
            false => Err(null_refused(column)),
        };
    };
    stored(column, Value::Str(text.to_vec()), options)
}

/// Any value as the column holds it.
pub fn stored(column: &Column, value: Value, options: &StoreOptions) -> Result<Value> {
    let target = StoreTarget { sql_type: &column.sql_type, column: &column.name, row: 1 };
    Ok(store_value(value, WIRE, target, options)?.0)
}

/// What has to be known of an index to find with it.
#[derive(Debug)]
pub struct KeyShape {
    pub is_unique: bool,
    /// Only whole keys can be found.
    pub is_hash: bool,
    parts: Vec<PartShape>,
}

/// How a key's part is encoded from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartShape {
    Integer,
    /// Stored as it comes, if it is well formed and not longer than this many bytes (so no longer in characters either).
    Text(usize),
    /// By way of a value.
    Value,
}

impl KeyShape {
    pub fn of(table: &Table, index: usize) -> KeyShape {
        let definition = &table.schema.indexes[index];
        KeyShape {
            is_unique: definition.unique || index == 0,
            is_hash: definition.method == IndexMethod::Hash,
            parts: table.keys[index].parts.iter().map(PartShape::of).collect(),
        }
    }

    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Appends one part of a key of the index.
    #[inline]
    pub fn append_part(
        &self,
        table: &Table,
        index: usize,
        position: usize,
        text: Option<&[u8]>,
        options: &StoreOptions,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let part = &table.keys[index].parts[position];
        match (self.parts[position], text) {
            (PartShape::Integer, Some(text)) => {
                if let Some(number) = short_integer(text)
                    && fits(part, number)
                {
                    return part.append_value(&Value::Int(number), &options.temporal.zone, out);
                }
            }
            (PartShape::Text(bytes_max), Some(text)) if text.len() <= bytes_max && is_text(part, text) => {
                if part.nullable {
                    out.push(1);
                }
                append_raw(text, &part.sql_type, part.prefix_length, out);
                return Ok(());
            }
            _ => {}
        }
        let column = &table.schema.columns[part.column];
        part.append_value(&column_value(column, text, options)?, &options.temporal.zone, out)
    }
}

impl PartShape {
    fn of(part: &KeyPart) -> PartShape {
        let charset = part.sql_type.collation.charset();
        match part.sql_type.base {
            _ if part.sql_type.is_int() => PartShape::Integer,
            BaseType::VarChar if !part.descending && matches!(charset, Charset::Utf8mb4 | Charset::Binary) => {
                PartShape::Text(part.sql_type.length as usize)
            }
            _ => PartShape::Value,
        }
    }
}

fn is_text(part: &KeyPart, text: &[u8]) -> bool {
    text.is_ascii() || part.sql_type.collation.charset().is_well_formed(text)
}

/// A plain number of up to 18 digits.
#[inline]
fn short_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if negative { -number } else { number })
}

fn fits(part: &KeyPart, number: i64) -> bool {
    let bits = match part.sql_type.base {
        BaseType::TinyInt => 8,
        BaseType::SmallInt => 16,
        BaseType::MediumInt => 24,
        BaseType::Int => 32,
        // No number of 18 digits is too large for it.
        _ => return number >= 0 || !part.sql_type.unsigned,
    };
    match part.sql_type.unsigned {
        true => (0..1 << bits).contains(&number),
        false => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_types::SqlType;

    fn key_of(sql_type: SqlType, text: Option<&[u8]>, nullable: bool) -> [Result<Vec<u8>>; 2] {
        use shoal_cluster::Sequence;
        use shoal_types::schema::{Index, TableOptions};
        use shoal_types::{IndexId, TableId, TableSchema};
        let column = Column { nullable, ..Column::new("c", sql_type) };
        let schema = TableSchema {
            id: TableId(1),
            version: 1,
            database: "d".into(),
            name: "t".into(),
            columns: vec![column],
            indexes: vec![Index::new(IndexId(0), "PRIMARY", &[0], true, IndexMethod::BTree)],
            partition_columns: vec![0],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            past_rows: Vec::new(),
            options: TableOptions::new("NDB", Collation::UTF8MB4_BIN),
        };
        let table = Table::new(schema, std::sync::Arc::new(Sequence::new(1)));
        let options = store_options(&TimeZone::UTC, Date::ZERO);
        let mut quick = Vec::new();
        let quick_done = KeyShape::of(&table, 0).append_part(&table, 0, 0, text, &options, &mut quick);
        let mut slow = Vec::new();
        let value = column_value(&table.schema.columns[0], text, &options);
        let slow_done = value
            .and_then(|value| table.keys[0].parts[0].append_value(&value, &TimeZone::UTC, &mut slow))
            .map(|()| slow);
        [quick_done.map(|()| quick), slow_done]
    }

    #[test]
    fn the_short_way_to_a_key_ends_where_the_long_one_does() {
        let integers =
            [BaseType::TinyInt, BaseType::SmallInt, BaseType::MediumInt, BaseType::Int, BaseType::BigInt];
        let numbers =
            ["0", "-0", "-1", "7", "127", "128", "-129", "8388608", "4294967296", "99999999999999999999"];
        for base in integers {
            for unsigned in [false, true] {
                for text in numbers.iter().chain(&["", " 5", "1.5", "x"]) {
                    let sql_type = SqlType { unsigned, ..SqlType::new(base) };
                    let [quick, slow] = key_of(sql_type, Some(text.as_bytes()), false);
                    match (quick, slow) {
                        (Ok(quick), Ok(slow)) => assert_eq!(quick, slow, "{base:?} {text}"),
                        (Err(quick), Err(slow)) => assert_eq!(quick.errno(), slow.errno(), "{base:?} {text}"),
                        other => panic!("{base:?} {text}: {other:?}"),
                    }
                }
            }
        }
        for collation in [Collation::UTF8MB4_0900_AI_CI, Collation::UTF8MB4_BIN, Collation::BINARY] {
            for text in [&b""[..], b"reef", "Küste".as_bytes(), b"\xff", b"much too long for it"] {
                for nullable in [false, true] {
                    let [quick, slow] = key_of(SqlType::varchar(8, collation), Some(text), nullable);
                    match (quick, slow) {
                        (Ok(quick), Ok(slow)) => assert_eq!(quick, slow, "{collation:?} {text:?}"),
                        (Err(quick), Err(slow)) => {
                            assert_eq!(quick.errno(), slow.errno(), "{collation:?} {text:?}")
                        }
                        other => panic!("{collation:?} {text:?}: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn null_is_refused_where_it_may_not_be() {
        let [quick, _] = key_of(SqlType::new(BaseType::Int), None, false);
        assert_eq!(quick.unwrap_err().errno(), 1048);
        let [quick, _] = key_of(SqlType::new(BaseType::Int), None, true);
        assert_eq!(quick.unwrap(), [0]);
    }
}
