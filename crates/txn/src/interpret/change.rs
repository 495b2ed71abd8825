//! Changes of a row that are made where it lies, under its lock: columns are replaced, counted up, or changed in parts.

use shoal_types::row::{RowRef, decode_column, encode_column};
use shoal_types::{
    Collation, Decimal, Error, ErrorCode, Result, StoreOptions, StoreTarget, TimeZone, Value, store_value,
};

use super::bytes::{BytesChange, Within};
use super::predicate::Predicate;
use crate::protocol::{FrameReader, malformed, put_bytes, put_u32, put_u64};

/// What becomes of a row if it fulfils a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowChange {
    /// `None`: always.
    pub condition: Option<Predicate>,
    /// Made one after the other.
    pub assignments: Vec<Assignment>,
}

/// What one column becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Position in the table's rows.
    pub column: usize,
    /// What it becomes, or what is added to it.
    pub operand: Operand,
}

/// The right side of an assignment, evaluated where the row lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The column's stored bytes; `None`: NULL.
    Set(Option<Vec<u8>>),
    /// Added to an integer column; NULL stays NULL.
    AddInteger(i64),
    /// Added to a FLOAT or DOUBLE column.
    AddDouble(f64),
    /// Added to a DECIMAL column.
    AddDecimal(Decimal),
    /// Some bytes of a long value.
    Bytes(BytesChange),
}

const SET_NULL: u8 = 0;
const SET: u8 = 1;
const ADD_INTEGER: u8 = 2;
const ADD_DOUBLE: u8 = 3;
const ADD_DECIMAL: u8 = 4;
const BYTES: u8 = 5;

/// Error 1264. The coordinator knows the column's name, the leader its place.
fn out_of_range(column: usize) -> Error {
    Error::new(ErrorCode::WarnDataOutOfRange, format!("Out of range value for column {} of the table", column + 1))
}

fn wrong_type(column: usize) -> Error {
    Error::unknown(format!("internal: column {} cannot be counted up so", column + 1))
}

impl RowChange {
    /// The new row; `None`: the row does not fulfil the condition.
    pub fn apply(&self, row: RowRef<'_>) -> Result<Option<Vec<u8>>> {
        if let Some(condition) = &self.condition
            && condition.test(row, &mut Vec::new()) != Some(true)
        {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.assignments.len());
        for one in &self.assignments {
            if one.column >= row.layout().column_count() {
                return Err(malformed());
            }
            values.push((one.column, one.operand.apply(row, one.column)?));
        }
        let changes: Vec<(usize, Option<&[u8]>)> =
            values.iter().map(|(column, raw)| (*column, raw.as_deref())).collect();
        let mut new = Vec::with_capacity(row.bytes().len() + 16);
        row.layout().encode_replaced(row, &changes, &mut new)?;
        Ok(Some(new))
    }
}

impl RowChange {
    /// If it changes nothing but some bytes of one value that is not NULL, for any row: the column, and which bytes.
    pub(crate) fn within(&self, row: RowRef<'_>) -> Result<Option<(usize, Within<'_>)>> {
        let (None, [Assignment { column, operand: Operand::Bytes(change) }]) =
            (&self.condition, self.assignments.as_slice())
        else {
            return Ok(None);
        };
        if *column >= row.layout().column_count() || row.is_null(*column) {
            return Ok(None);
        }
        Ok(change.within(row, *column)?.map(|within| (*column, within)))
    }
}

impl Operand {
    /// The column's stored bytes afterwards; `None`: NULL.
    fn apply(&self, row: RowRef<'_>, column: usize) -> Result<Option<Vec<u8>>> {
        match self {
            Operand::Set(raw) => return Ok(raw.clone()),
            Operand::Bytes(change) => return change.apply(row, column),
            _ => {}
        }
        if row.is_null(column) {
            return Ok(None);
        }
        let sql_type = &row.layout().types()[column];
        let old = decode_column(row.raw(column), sql_type, &TimeZone::UTC);
        let sum = match (self, &old) {
            (Operand::AddInteger(number), Value::Int(old)) => integer(i128::from(*old) + i128::from(*number)),
            (Operand::AddInteger(number), Value::UInt(old)) => integer(i128::from(*old) + i128::from(*number)),
            (Operand::AddDouble(number), Value::Double(old)) => Some(Value::Double(old + number)),
            (Operand::AddDouble(number), Value::Float(old)) => Some(Value::Double(f64::from(*old) + number)),
            (Operand::AddDecimal(number), Value::Decimal(old)) => old.checked_add(number).map(Value::Decimal),
            _ => return Err(wrong_type(column)),
        };
        // What a column takes is the same as in an UPDATE.
        let options = StoreOptions { strict: true, ..StoreOptions::default() };
        let target = StoreTarget { sql_type, column: "", row: 0 };
        let stored = sum.and_then(|sum| store_value(sum, Collation::BINARY, target, &options).ok());
        let (value, _) = stored.ok_or_else(|| out_of_range(column))?;
        encode_column(&value, sql_type, &TimeZone::UTC)
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Operand::Set(None) => out.push(SET_NULL),
            Operand::Set(Some(raw)) => {
                out.push(SET);
                put_bytes(out, raw);
            }
            Operand::AddInteger(number) => {
                out.push(ADD_INTEGER);
                put_u64(out, *number as u64);
            }
            Operand::AddDouble(number) => {
                out.push(ADD_DOUBLE);
                put_u64(out, number.to_bits());
            }
            Operand::AddDecimal(number) => {
                out.push(ADD_DECIMAL);
                let mut text = Vec::new();
                number.append_text(&mut text);
                put_bytes(out, &text);
            }
            Operand::Bytes(change) => {
                out.push(BYTES);
                change.put(out);
            }
        }
    }

    fn read(reader: &mut FrameReader<'_>) -> Result<Operand> {
        Ok(match reader.u8()? {
            SET_NULL => Operand::Set(None),
            SET => Operand::Set(Some(reader.bytes()?.to_vec())),
            ADD_INTEGER => Operand::AddInteger(reader.u64()? as i64),
            ADD_DOUBLE => Operand::AddDouble(f64::from_bits(reader.u64()?)),
            ADD_DECIMAL => Operand::AddDecimal(Decimal::parse(reader.bytes()?).value),
            BYTES => Operand::Bytes(BytesChange::read(reader)?),
            _ => return Err(malformed()),
        })
    }
}

/// A number in the range of BIGINT or BIGINT UNSIGNED.
fn integer(sum: i128) -> Option<Value> {
    let signed = i64::try_from(sum).map(Value::Int);
    signed.or_else(|_| u64::try_from(sum).map(Value::UInt)).ok()
}

/// A change and the primary key of its row, as the bytes of a write.
pub(crate) struct ChangeOfRow<'a> {
    pub primary_key: &'a [u8],
    pub change: RowChange,
}

impl<'a> ChangeOfRow<'a> {
    pub fn put(primary_key: &[u8], change: &RowChange, out: &mut Vec<u8>) {
        put_bytes(out, primary_key);
        out.push(u8::from(change.condition.is_some()));
        if let Some(condition) = &change.condition {
            condition.put(out);
        }
        put_u32(out, change.assignments.len() as u32);
        for one in &change.assignments {
            put_u32(out, one.column as u32);
            one.operand.put(out);
        }
    }

    pub fn read(bytes: &'a [u8]) -> Result<ChangeOfRow<'a>> {
        let mut reader = FrameReader::new(bytes);
        let primary_key = reader.bytes()?;
        let condition = if reader.bool()? { Some(Predicate::read(&mut reader)?) } else { None };
        let count = reader.u32()?;
        let assignments = (0..count)
            .map(|_| Ok(Assignment { column: reader.u32()? as usize, operand: Operand::read(&mut reader)? }))
            .collect::<Result<_>>()?;
        reader.end()?;
        Ok(ChangeOfRow { primary_key, change: RowChange { condition, assignments } })
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::row::RowLayout;
    use shoal_types::{BaseType, SqlType};

    use super::*;

    #[test]
    fn unsigned_columns_of_any_kind_are_not_counted_below_zero() {
        let unsigned = |base| SqlType { unsigned: true, ..SqlType::new(base) };
        let decimal = SqlType { length: 5, decimals: 2, ..unsigned(BaseType::Decimal) };
        let double = SqlType { unsigned: true, ..SqlType::double() };
        let one = Decimal::from(1i64);
        for (sql_type, old, less, much_less) in [
            (unsigned(BaseType::Int), Value::UInt(1), Operand::AddInteger(-1), Operand::AddInteger(-2)),
            (double, Value::Double(1.0), Operand::AddDouble(-1.0), Operand::AddDouble(-2.0)),
            (decimal, Value::Decimal(one), Operand::AddDecimal(-one), Operand::AddDecimal(Decimal::from(-2i64))),
        ] {
            let layout = RowLayout::new(vec![sql_type.clone()]);
            let mut row = Vec::new();
            layout.encode(&[old], &TimeZone::UTC, &mut row).unwrap();
            assert!(less.apply(layout.row(&row), 0).is_ok(), "{sql_type:?}");
            assert_eq!(much_less.apply(layout.row(&row), 0).unwrap_err().errno(), 1264, "{sql_type:?}");
        }
    }

    #[test]
    fn columns_are_set_and_counted_up_within_their_ranges() {
        let types = vec![
            SqlType { unsigned: true, ..SqlType::new(BaseType::TinyInt) },
            SqlType::double(),
            SqlType { length: 5, decimals: 2, ..SqlType::new(BaseType::Decimal) },
            SqlType::new(BaseType::Int),
        ];
        let layout = RowLayout::new(types);
        let decimal = |text: &str| Decimal::parse(text.as_bytes()).value;
        let mut row = Vec::new();
        let old = [Value::UInt(250), Value::Double(1.5), Value::Decimal(decimal("999.00")), Value::Null];
        layout.encode(&old, &TimeZone::UTC, &mut row).unwrap();
        let apply = |assignments: Vec<(usize, Operand)>| {
            let assignments = assignments.into_iter().map(|(column, operand)| Assignment { column, operand });
            let change = RowChange { condition: None, assignments: assignments.collect() };
            let mut wire = Vec::new();
            ChangeOfRow::put(b"key", &change, &mut wire);
            let read = ChangeOfRow::read(&wire)?;
            assert_eq!((read.primary_key, &read.change), (&b"key"[..], &change));
            Ok::<_, Error>(layout.row(&read.change.apply(layout.row(&row))?.unwrap()).values(&TimeZone::UTC))
        };
        let changed = apply(vec![
            (0, Operand::AddInteger(-250)),
            (1, Operand::AddDouble(0.25)),
            (2, Operand::AddDecimal(decimal("0.99"))),
            (3, Operand::AddInteger(7)),
        ]);
        let expected = [Value::UInt(0), Value::Double(1.75), Value::Decimal(decimal("999.99")), Value::Null];
        assert_eq!(changed.unwrap(), expected);
        assert_eq!(apply(vec![(2, Operand::AddDecimal(decimal("1")))]).unwrap_err().errno(), 1264);
        assert_eq!(apply(vec![(0, Operand::AddInteger(5))]).unwrap()[0], Value::UInt(255));
        assert_eq!(apply(vec![(0, Operand::Set(None))]).unwrap()[0], Value::Null);
        assert_eq!(apply(vec![(3, Operand::Set(Some(vec![1, 0, 0, 0])))]).unwrap()[3], Value::Int(1));
        for wrong in [Operand::AddInteger(6), Operand::AddInteger(-251)] {
            assert_eq!(apply(vec![(0, wrong)]).unwrap_err().errno(), 1264);
        }
        assert!(apply(vec![(1, Operand::AddInteger(1))]).is_err());
        assert!(apply(vec![(9, Operand::AddInteger(1))]).is_err());
        assert!(apply(vec![(3, Operand::Set(Some(vec![1])))]).is_err());
    }
}
