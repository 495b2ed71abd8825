//! Sums, bit operations and moments.

use shoal_types::{BaseType, Decimal, Error, ErrorCode, Result, SqlType, Value};

use super::AggregateKind;
use crate::context::EvalContext;
use crate::convert;

/// A sum and the number of its terms. Integers are summed apart, so that a column of them costs no decimal arithmetic.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    integers: i128,
    rest: Rest,
    count: u64,
}

#[derive(Clone, Debug)]
enum Rest {
    Decimal(Decimal),
    Double(f64),
}

impl Sum {
    pub fn new(sql_type: &SqlType) -> Sum {
        let rest = match sql_type.base {
            BaseType::Decimal => Rest::Decimal(Decimal::ZERO),
            _ => Rest::Double(0.0),
        };
        Sum { integers: 0, rest, count: 0 }
    }

    #[inline]
    pub fn add_integer(&mut self, number: i128, ctx: &mut EvalContext<'_>) -> Result<()> {
        match &mut self.rest {
            Rest::Decimal(_) => {
                // 2^64 rows of 2^63 each still fit.
                self.integers += number;
                self.count += 1;
                Ok(())
            }
            Rest::Double(_) => self.add(&Value::Double(number as f64), ctx),
        }
    }

    pub fn add(&mut self, value: &Value, ctx: &mut EvalContext<'_>) -> Result<()> {
        match &mut self.rest {
            Rest::Decimal(total) => match value {
                Value::Int(number) => self.integers += i128::from(*number),
                Value::UInt(number) => self.integers += i128::from(*number),
                other => *total = add_decimals(total, &convert::to_decimal(other, ctx)?)?,
            },
            Rest::Double(total) => *total += convert::to_f64(value, ctx)?,
        }
        self.count += 1;
        Ok(())
    }

    /// Takes away a term. Of doubles that is not exact.
    pub fn remove(&mut self, value: &Value, ctx: &mut EvalContext<'_>) -> Result<()> {
        match &mut self.rest {
            Rest::Decimal(total) => match value {
                Value::Int(number) => self.integers -= i128::from(*number),
                Value::UInt(number) => self.integers -= i128::from(*number),
                other => *total = total.checked_sub(&convert::to_decimal(other, ctx)?).ok_or_else(overflow)?,
            },
            Rest::Double(total) => *total -= convert::to_f64(value, ctx)?,
        }
        self.count = self.count.saturating_sub(1);
        Ok(())
    }

    pub fn merge(&mut self, other: Sum, ctx: &mut EvalContext<'_>) -> Result<()> {
        self.integers += other.integers;
        match (&mut self.rest, other.rest) {
            (Rest::Decimal(total), Rest::Decimal(more)) => *total = add_decimals(total, &more)?,
            (Rest::Double(total), Rest::Double(more)) => *total += more,
            (Rest::Double(total), Rest::Decimal(more)) => *total += more.to_f64(),
            (Rest::Decimal(total), Rest::Double(more)) => {
                *total = add_decimals(total, &convert::to_decimal(&Value::Double(more), ctx)?)?;
            }
        }
        self.count += other.count;
        Ok(())
    }

    fn value(&self) -> Result<Value> {
        match &self.rest {
            Rest::Double(total) => finite(*total),
            Rest::Decimal(total) if self.integers == 0 => Ok(Value::Decimal(*total)),
            Rest::Decimal(total) => Ok(Value::Decimal(add_decimals(total, &Decimal::new(self.integers, 0))?)),
        }
    }

    pub fn total(&self) -> Result<Value> {
        if self.count == 0 { Ok(Value::Null) } else { self.value() }
    }

    pub fn average(&self, sql_type: &SqlType, ctx: &EvalContext<'_>) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        match self.value()? {
            Value::Decimal(total) => {
                let quotient = total.checked_div(&Decimal::from(self.count), ctx.settings.div_precision_increment);
                let quotient = quotient.ok_or_else(overflow)?;
                Ok(Value::Decimal(quotient.round(i32::from(sql_type.decimals))))
            }
            Value::Double(total) => finite(total / self.count as f64),
            other => Ok(other),
        }
    }
}

fn add_decimals(left: &Decimal, right: &Decimal) -> Result<Decimal> {
    left.checked_add(right).ok_or_else(overflow)
}

fn overflow() -> Error {
    Error::new(ErrorCode::DataOutOfRange, "DECIMAL value is out of range in 'sum'")
}

fn finite(number: f64) -> Result<Value> {
    if number.is_finite() {
        return Ok(Value::Double(number));
    }
    Err(Error::new(ErrorCode::DataOutOfRange, "DOUBLE value is out of range in 'sum'"))
}

/// BIT_AND, BIT_OR and BIT_XOR, over numbers or over byte strings of one length.
#[derive(Clone, Debug)]
pub(super) struct BitState {
    kind: AggregateKind,
    number: u64,
    /// Over byte strings: the result so far, once there is one.
    bytes: Option<Option<Vec<u8>>>,
}

impl BitState {
    pub fn new(kind: AggregateKind, sql_type: &SqlType) -> BitState {
        let number = if kind == AggregateKind::BitAnd { u64::MAX } else { 0 };
        BitState { kind, number, bytes: sql_type.is_string().then_some(None) }
    }

    fn combine(&self, left: u64, right: u64) -> u64 {
        match self.kind {
            AggregateKind::BitAnd => left & right,
            AggregateKind::BitOr => left | right,
            _ => left ^ right,
        }
    }

    pub fn add(&mut self, value: &Value, ctx: &mut EvalContext<'_>) -> Result<()> {
        if self.bytes.is_some() {
            return self.add_bytes(&value.as_text());
        }
        self.number = self.combine(self.number, convert::to_bits(value, ctx)?);
        Ok(())
    }

    fn add_bytes(&mut self, added: &[u8]) -> Result<()> {
        let combined = match &self.bytes {
            Some(Some(present)) if present.len() != added.len() => {
                return Err(Error::new(
                    ErrorCode::WrongArguments,
                    "Binary operands of bitwise operators must be of equal length",
                ));
            }
            Some(Some(present)) => present
                .iter()
                .zip(added)
                .map(|(left, right)| self.combine(u64::from(*left), u64::from(*right)) as u8)
                .collect(),
            _ => added.to_vec(),
        };
        self.bytes = Some(Some(combined));
        Ok(())
    }

    pub fn merge(&mut self, other: BitState) -> Result<()> {
        match other.bytes {
            Some(Some(bytes)) => self.add_bytes(&bytes),
            Some(None) => Ok(()),
            None => {
                self.number = self.combine(self.number, other.number);
                Ok(())
            }
        }
    }

    /// Without rows: all bits set for BIT_AND, none for the others. Over no byte strings MySQL gives one byte.
    pub fn result(self) -> Value {
        match self.bytes {
            None => Value::UInt(self.number),
            Some(Some(bytes)) => Value::Str(bytes),
            Some(None) => Value::Str(vec![self.number as u8]),
        }
    }
}

/// Count, mean and sum of squared differences (Welford's recurrence, and Chan's for merging).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        let difference = number - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (number - self.mean);
    }

    pub fn merge(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        let count = self.count + other.count;
        let difference = other.mean - self.mean;
        let weight = other.count as f64 / count as f64;
        self.squares += other.squares + difference * difference * self.count as f64 * weight;
        self.mean += difference * weight;
        self.count = count;
    }

    pub fn result(&self, sample: bool, root: bool) -> Value {
        let least = if sample { 2 } else { 1 };
        if self.count < least {
            return Value::Null;
        }
        let divisor = if sample { self.count - 1 } else { self.count };
        let variance = self.squares / divisor as f64;
        Value::Double(if root { variance.sqrt() } else { variance })
    }
}
