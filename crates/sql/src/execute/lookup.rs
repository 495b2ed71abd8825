//! From an access path and its expressions to memcomparable keys and ranges.
//!
//! A constant is converted to the column's type first. Where the conversion changes it (1.5 for an INT column, a string
//! longer than the column), equality finds nothing and a range bound moves to the nearest value that keeps every
//! matching row inside; the conjunct itself is tested again on the rows.

use std::cmp::Ordering;

use shoal_cluster::Table;
use shoal_expr::{EvalContext, Expr, RowSource};
use shoal_txn::KeyRange;
use shoal_types::key::{KeyPart, KeySpec, successor};
use shoal_types::{Result, SqlType, Value};

use crate::convert;
use crate::plan::{AccessPath, PartAccess, RangeBound};

/// No more ranges than this come from IN lists; beyond it the last lists are left to the filter.
const RANGES_MAX: usize = 65_536;

/// What an access path came to with its constants.
#[derive(Debug, PartialEq)]
pub enum Lookup {
    /// Full keys of the primary key or of a unique index.
    Keys(Vec<Vec<u8>>),
    Ranges(Vec<KeyRange>),
}

impl Lookup {
    pub fn is_empty(&self) -> bool {
        match self {
            Lookup::Keys(keys) => keys.is_empty(),
            Lookup::Ranges(ranges) => ranges.is_empty(),
        }
    }
}

/// Evaluates the path's expressions over `row`.
pub fn lookup<R: RowSource + ?Sized>(
    table: &Table,
    path: &AccessPath,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Lookup> {
    if path.is_full() {
        return Ok(Lookup::Ranges(vec![KeyRange::default()]));
    }
    let spec = &table.keys[path.index];
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for (part, access) in spec.parts.iter().zip(&path.parts) {
        match access {
            PartAccess::Equal { alternatives, null_safe } => {
                prefixes = extend_equal(prefixes, part, alternatives, *null_safe, row, eval)?;
            }
            PartAccess::Null => {
                for prefix in &mut prefixes {
                    part.append_value(&Value::Null, eval.zone, prefix)?;
                }
            }
            last => return Ok(Lookup::Ranges(last_part_ranges(prefixes, part, last, row, eval)?)),
        }
    }
    if path.unique {
        return Ok(Lookup::Keys(prefixes));
    }
    Ok(Lookup::Ranges(prefixes.into_iter().map(prefix_range).collect()))
}

/// The bytes of the partition key if the path fixes it.
pub fn pruning_key<R: RowSource + ?Sized>(
    table: &Table,
    path: &AccessPath,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Option<Vec<u8>>> {
    let Some(expressions) = &path.pruning else { return Ok(None) };
    let mut key = Vec::with_capacity(32);
    for (part, expression) in table.partition_key.parts.iter().zip(expressions) {
        match equal_value(expression, part, row, eval)? {
            Some(value) => part.append_value(&value, eval.zone, &mut key)?,
            None => return Ok(None),
        }
    }
    Ok(Some(key))
}

/// The bytes of the leading parts of an index that have these values; `None`: no row can have them.
pub fn key_of_values<R: RowSource + ?Sized>(
    spec: &KeySpec,
    values: &[Expr],
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(32);
    for (part, expression) in spec.parts.iter().zip(values) {
        let value = expression.eval(row, eval)?;
        if value.is_null() && part.nullable {
            part.append_value(&Value::Null, eval.zone, &mut key)?;
            continue;
        }
        match convert::for_lookup(value, expression.sql_type(), &part.sql_type, eval.zone) {
            Some((value, _)) if !value.is_null() => part.append_value(&value, eval.zone, &mut key)?,
            _ => return Ok(None),
        }
    }
    Ok(Some(key))
}

fn equal_value<R: RowSource + ?Sized>(
    expression: &Expr,
    part: &KeyPart,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Option<Value>> {
    let value = expression.eval(row, eval)?;
    if value.is_null() {
        return Ok(None);
    }
    match convert::for_lookup(value, expression.sql_type(), &part.sql_type, eval.zone) {
        Some((value, Ordering::Equal)) => Ok(Some(value)),
        _ => Ok(None),
    }
}

/// Appends the bytes of the only value that a part may have; false: no row has it.
fn append_equal<R: RowSource + ?Sized>(
    part: &KeyPart,
    expression: &Expr,
    null_safe: bool,
    row: &R,
    eval: &mut EvalContext<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    let value = expression.eval(row, eval)?;
    if value.is_null() {
        if null_safe && part.nullable {
            part.append_value(&Value::Null, eval.zone, key)?;
        }
        return Ok(null_safe && part.nullable);
    }
    match convert::for_lookup(value, expression.sql_type(), &part.sql_type, eval.zone) {
        Some((value, Ordering::Equal)) => part.append_value(&value, eval.zone, key).map(|()| true),
        _ => Ok(false),
    }
}

/// The key that a path of equalities with one value each looks for; false: no row has it.
pub fn only_key<R: RowSource + ?Sized>(
    table: &Table,
    path: &AccessPath,
    row: &R,
    eval: &mut EvalContext<'_>,
    key: &mut Vec<u8>,
) -> Result<bool> {
    key.clear();
    for (part, access) in table.keys[path.index].parts.iter().zip(&path.parts) {
        let PartAccess::Equal { alternatives, null_safe } = access else { return Ok(false) };
        let Some(expression) = alternatives.first() else { return Ok(false) };
        if !append_equal(part, expression, *null_safe, row, eval, key)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn extend_equal<R: RowSource + ?Sized>(
    prefixes: Vec<Vec<u8>>,
    part: &KeyPart,
    alternatives: &[Expr],
    null_safe: bool,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Vec<Vec<u8>>> {
    if let ([expression], 1) = (alternatives, prefixes.len()) {
        let mut prefixes = prefixes;
        let may_be = append_equal(part, expression, null_safe, row, eval, &mut prefixes[0])?;
        return Ok(if may_be { prefixes } else { Vec::new() });
    }
    let mut encoded: Vec<Vec<u8>> = Vec::with_capacity(alternatives.len());
    for expression in alternatives {
        if let Some(value) = equal_value(expression, part, row, eval)? {
            let mut bytes = Vec::with_capacity(16);
            part.append_value(&value, eval.zone, &mut bytes)?;
            encoded.push(bytes);
        }
    }
    encoded.sort_unstable();
    encoded.dedup();
    let mut extended = Vec::with_capacity((prefixes.len() * encoded.len()).min(RANGES_MAX));
    for prefix in &prefixes {
        for bytes in &encoded {
            let mut key = Vec::with_capacity(prefix.len() + bytes.len());
            key.extend_from_slice(prefix);
            key.extend_from_slice(bytes);
            extended.push(key);
        }
    }
    Ok(extended)
}

fn last_part_ranges<R: RowSource + ?Sized>(
    prefixes: Vec<Vec<u8>>,
    part: &KeyPart,
    access: &PartAccess,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Vec<KeyRange>> {
    if let PartAccess::Ranges(alternatives) = access {
        let mut bounds = Vec::with_capacity(alternatives.len());
        for range in alternatives {
            bounds.extend(part_bounds(part, range.low.as_ref(), range.high.as_ref(), row, eval)?);
        }
        let bounds = disjoint(bounds);
        let all = prefixes
            .iter()
            .flat_map(|prefix| bounds.iter().filter_map(|(low, high)| range_behind(prefix.clone(), low, high)));
        return Ok(all.collect());
    }
    let bounds = match access {
        PartAccess::Range { low, high } => part_bounds(part, low.as_ref(), high.as_ref(), row, eval)?,
        PartAccess::NotNull => Some((not_null_start(part), Vec::new())),
        PartAccess::Prefix(pattern) => match pattern.eval(row, eval)? {
            Value::Str(pattern) => like_bounds(part, &pattern),
            _ => None,
        },
        PartAccess::Equal { .. } | PartAccess::Null | PartAccess::Ranges(_) => None,
    };
    let Some((low, high)) = bounds else { return Ok(Vec::new()) };
    Ok(prefixes.into_iter().filter_map(|prefix| range_behind(prefix, &low, &high)).collect())
}

/// The range of one part's bytes behind a prefix; `None` if it is empty.
fn range_behind(prefix: Vec<u8>, low: &[u8], high: &[u8]) -> Option<KeyRange> {
    let mut start = prefix.clone();
    start.extend_from_slice(low);
    let end = if high.is_empty() {
        successor(&prefix).unwrap_or_default()
    } else {
        let mut end = prefix;
        end.extend_from_slice(high);
        end
    };
    (end.is_empty() || start < end).then_some(KeyRange { start, end })
}

/// Ranges (start, exclusive end; an empty end is none) in order, those that touch made one, so that no row is seen twice.
fn disjoint(mut ranges: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    ranges.retain(|(start, end)| end.is_empty() || start < end);
    ranges.sort_unstable();
    let mut merged: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match merged.last_mut() {
            Some((_, last)) if last.is_empty() || start <= *last => {
                if end.is_empty() || !last.is_empty() && end > *last {
                    *last = end;
                }
            }
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Start and (exclusive; empty = none) end of the bytes of one part; `None`: nothing can match.
fn part_bounds<R: RowSource + ?Sized>(
    part: &KeyPart,
    low: Option<&RangeBound>,
    high: Option<&RangeBound>,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut smallest = None;
    if let Some(bound) = low {
        match bound_bytes(bound, part, true, row, eval)? {
            Some(found) => smallest = Some(found),
            None => return Ok(None),
        }
    }
    let mut greatest = None;
    if let Some(bound) = high {
        match bound_bytes(bound, part, false, row, eval)? {
            Some(found) => greatest = Some(found),
            None => return Ok(None),
        }
    }
    if part.descending {
        std::mem::swap(&mut smallest, &mut greatest);
    }
    let start = match smallest {
        Some((bytes, true)) => bytes,
        Some((bytes, false)) => match successor(&bytes) {
            None => return Ok(None),
            Some(start) => start,
        },
        None if part.descending => Vec::new(),
        None => not_null_start(part),
    };
    let end = match greatest {
        Some((bytes, true)) => successor(&bytes).unwrap_or_default(),
        Some((bytes, false)) => bytes,
        // A descending nullable part has NULL (0xFF) behind everything else.
        None if part.descending && part.nullable => vec![0xFF],
        None => Vec::new(),
    };
    Ok(Some((start, end)))
}

/// The encoded bound and whether values equal to it belong to the range.
fn bound_bytes<R: RowSource + ?Sized>(
    bound: &RangeBound,
    part: &KeyPart,
    is_low: bool,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<Option<(Vec<u8>, bool)>> {
    let value = bound.value.eval(row, eval)?;
    if value.is_null() {
        return Ok(None);
    }
    let Some((converted, ordering)) =
        convert::for_lookup(value, bound.value.sql_type(), &part.sql_type, eval.zone)
    else {
        return Ok(Some((if is_low { not_null_start(part) } else { vec![0xFF; 12] }, true)));
    };
    let inclusive = match ordering {
        Ordering::Equal => bound.inclusive,
        // The column's nearest value lies below the constant: it does not satisfy `> constant` but does `< constant`.
        Ordering::Less => !is_low,
        Ordering::Greater => is_low,
    };
    let mut bytes = Vec::with_capacity(16);
    part.append_value(&converted, eval.zone, &mut bytes)?;
    // A prefix key part knows only the beginning of the value: rows equal in the prefix may lie on either side.
    Ok(Some((bytes, inclusive || part.prefix_length > 0)))
}

fn not_null_start(part: &KeyPart) -> Vec<u8> {
    if part.nullable && !part.descending { vec![1] } else { Vec::new() }
}

fn like_bounds(part: &KeyPart, pattern: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let literal_length =
        pattern.iter().position(|byte| matches!(byte, b'%' | b'_' | b'\\')).unwrap_or(pattern.len());
    let prefix = &pattern[..literal_length];
    let (low, high) = part.sql_type.collation.like_prefix_range(prefix);
    let null_marker: &[u8] = if part.nullable { &[1] } else { &[] };
    let mark = |bytes: Vec<u8>| -> Vec<u8> { null_marker.iter().copied().chain(bytes).collect() };
    if part.descending || part.prefix_length > 0 {
        return Some((if part.descending { Vec::new() } else { null_marker.to_vec() }, Vec::new()));
    }
    let end = high.map(mark).unwrap_or_default();
    Some((mark(low), end))
}

/// All keys that begin with `prefix`.
pub fn prefix_range(prefix: Vec<u8>) -> KeyRange {
    let end = successor(&prefix).unwrap_or_default();
    KeyRange { start: prefix, end }
}

/// The leading `count` parts of an index as a key of their own.
pub fn leading_parts(spec: &KeySpec, count: usize) -> KeySpec {
    KeySpec { parts: spec.parts[..count.min(spec.parts.len())].to_vec() }
}

/// The type in which values of two types are compared for equality by bytes, if there is one.
pub fn common_key_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if left == right {
        return Some(left.clone());
    }
    if left.is_string() && right.is_string() {
        return (left.collation == right.collation)
            .then(|| SqlType::varchar(left.length.max(right.length), left.collation));
    }
    let is_exact = |sql_type: &SqlType| sql_type.is_integer() || sql_type.base == shoal_types::BaseType::Decimal;
    if is_exact(left) && is_exact(right) {
        return Some(SqlType::decimal(65, left.decimals.max(right.decimals).min(30)));
    }
    if left.is_numeric() && right.is_numeric() {
        return Some(SqlType::double());
    }
    if left.is_temporal() && left.base == right.base {
        return Some(left.clone());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_become_one() {
        let range = |start: u8, end: u8| (vec![start], if end == 0 { Vec::new() } else { vec![end] });
        let merged = disjoint(vec![range(5, 9), range(1, 3), range(3, 4), range(8, 0), range(9, 9)]);
        assert_eq!(merged, [range(1, 4), range(5, 0)]);
    }
}
