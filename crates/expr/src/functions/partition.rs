//! The number of the partition that a row of a table PARTITION BY KEY is in. Its name cannot be written in a statement.

use shoal_types::key::KeyPart;
use shoal_types::{HASH_BUCKETS, Result, Value, hash_bucket};

use super::{Function, MANY};
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] =
    &[Function::new("PARTITION NUMBER", 2, MANY, |d| d.integer(10), number).takes_nulls()];

/// (number of partitions, partitioning columns in the order of the key): partitions are runs of hash buckets.
fn number(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = match values.first() {
        Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(1).max(1),
        _ => 1,
    };
    let mut key = Vec::with_capacity(32);
    for (value, argument) in values.iter().zip(&call.arguments).skip(1) {
        let part = KeyPart {
            column: 0,
            sql_type: argument.sql_type().clone(),
            nullable: false,
            prefix_length: 0,
            descending: false,
            multi_valued: false,
        };
        part.append_value(value, ctx.zone, &mut key)?;
    }
    let number = u128::from(hash_bucket(&key)) * u128::from(count) / u128::from(HASH_BUCKETS);
    Ok(Value::Int(number as i64))
}
