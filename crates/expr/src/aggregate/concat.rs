//! GROUP_CONCAT.

use std::cmp::Ordering;

use shoal_types::{Charset, ErrorCode, Result, SqlType, Value};

use super::Aggregate;
use crate::compare::compare;
use crate::context::EvalContext;

#[derive(Clone, Debug)]
pub(super) struct Concatenation {
    separator: Vec<u8>,
    charset: Charset,
    argument_types: Vec<SqlType>,
    /// Types of the sort keys and whether they descend.
    order: Vec<(SqlType, bool)>,
    rows: Vec<Row>,
    /// Bytes of the texts and separators of `rows`.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Row {
    text: Vec<u8>,
    keys: Vec<Value>,
}

impl Concatenation {
    pub fn new(aggregate: &Aggregate) -> Concatenation {
        Concatenation {
            separator: aggregate.separator.clone(),
            charset: aggregate.sql_type.collation.charset(),
            argument_types: aggregate.arguments.iter().map(|argument| argument.sql_type().clone()).collect(),
            order: aggregate
                .order_by
                .iter()
                .map(|(key, descending)| (key.sql_type().clone(), *descending))
                .collect(),
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// `values`: the arguments, then the sort keys. Without an order nothing is kept beyond `limit` bytes but one row,
    /// by which `finish` notices that there was more. About what is kept of the row.
    pub fn add(&mut self, mut values: Vec<Value>, limit: usize) -> usize {
        if self.order.is_empty() && self.bytes > limit.saturating_add(self.separator.len()) {
            return 0;
        }
        let keys = values.split_off(self.argument_types.len().min(values.len()));
        let mut text = Vec::new();
        for (value, sql_type) in values.iter().zip(&self.argument_types) {
            match value {
                Value::Str(part) => text.extend_from_slice(part),
                other => other.append_text_as(sql_type, &mut text),
            }
        }
        self.bytes += text.len() + self.separator.len();
        let key_bytes: usize = keys.iter().map(|key| size_of::<Value>() + key.heap_bytes()).sum();
        let kept = text.capacity() + key_bytes + 2 * size_of::<Row>();
        self.rows.push(Row { text, keys });
        kept
    }

    pub fn merge(&mut self, other: Concatenation) {
        self.bytes += other.bytes;
        self.rows.extend(other.rows);
    }

    fn sort(&mut self) {
        let order = &self.order;
        if order.is_empty() {
            return;
        }
        self.rows.sort_by(|left, right| {
            for ((sql_type, descending), (first, second)) in order.iter().zip(left.keys.iter().zip(&right.keys)) {
                let ordering = compare(first, second, sql_type);
                let ordering = if *descending { ordering.reverse() } else { ordering };
                if ordering.is_ne() {
                    return ordering;
                }
            }
            Ordering::Equal
        });
    }

    /// The text, cut at group_concat_max_len bytes with a warning.
    pub fn finish(mut self, ctx: &mut EvalContext<'_>) -> Result<Value> {
        if self.rows.is_empty() {
            return Ok(Value::Null);
        }
        self.sort();
        let limit = ctx.settings.group_concat_max_len;
        let mut text = Vec::new();
        for (position, row) in self.rows.iter().enumerate() {
            if position > 0 {
                text.extend_from_slice(&self.separator);
            }
            text.extend_from_slice(&row.text);
            if text.len() > limit {
                text.truncate(limit);
                text.truncate(self.charset.well_formed_length(&text));
                ctx.warn_or_fail(ErrorCode::CutValueGroupConcat, || {
                    format!("Row {} was cut by GROUP_CONCAT()", position + 1)
                })?;
                break;
            }
        }
        Ok(Value::Str(text))
    }
}
