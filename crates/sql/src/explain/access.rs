//! An access path in the words of EXPLAIN.

use shoal_cluster::Table;
use shoal_expr::{EvalContext, Expr};
use shoal_txn::Transaction;
use shoal_types::key::KeyPart;
use shoal_types::row::fixed_width;
use shoal_types::{BaseType, Value};

use crate::execute::lookup::{Lookup, lookup, pruning_key};
use crate::plan::{AccessPath, PartAccess, TableInput};

/// How the rows of one table are found.
#[derive(Debug, Default)]
pub struct AccessFacts {
    /// const, eq_ref, ref, range, index or ALL.
    pub kind: &'static str,
    pub key: Option<String>,
    pub key_length: Option<String>,
    pub reference: Option<String>,
    pub partitions: String,
    pub rows: u64,
    /// The constants cannot match any row.
    pub impossible: bool,
}

pub fn facts(transaction: &Transaction, eval: &mut EvalContext<'_>, input: &TableInput) -> AccessFacts {
    let TableInput { table, access, .. } = input;
    let index = table.schema.indexes.get(access.index);
    let uses_key = !access.is_full() || access.ordered || access.index != 0;
    let no_row: &[Value] = &[];
    let known = !access.depends_on_row && !expressions(access).any(|expr| !expr.parameters_used().is_empty());
    let found = if known { lookup(table, access, no_row, eval).ok() } else { None };
    let is_constant = access.unique && !access.depends_on_row && alternatives(access) == 1;
    AccessFacts {
        kind: kind(access, is_constant),
        key: index.filter(|_| uses_key).map(|index| index.name.clone()),
        key_length: uses_key.then(|| key_length(table, access).to_string()),
        reference: reference(access),
        partitions: partitions(transaction, eval, table, access, found.as_ref()),
        rows: rows(transaction, input, found.as_ref()),
        impossible: known && !access.is_full() && found.as_ref().is_some_and(Lookup::is_empty),
    }
}

fn kind(access: &AccessPath, is_constant: bool) -> &'static str {
    let several = |part: &PartAccess| match part {
        PartAccess::Equal { alternatives, .. } => alternatives.len() > 1,
        PartAccess::Null => false,
        PartAccess::Range { .. } | PartAccess::Ranges(_) | PartAccess::Prefix(_) | PartAccess::NotNull => true,
    };
    match access {
        _ if is_constant => "const",
        access if access.is_full() && (access.ordered || access.index != 0) => "index",
        access if access.is_full() => "ALL",
        access if access.parts.iter().any(several) => "range",
        access if access.unique => "eq_ref",
        _ => "ref",
    }
}

/// Lookups of one evaluation.
fn alternatives(access: &AccessPath) -> usize {
    access.parts.iter().fold(1, |product, part| match part {
        PartAccess::Equal { alternatives, .. } => product.saturating_mul(alternatives.len()),
        _ => product,
    })
}

/// Every expression that the path evaluates.
fn expressions(access: &AccessPath) -> impl Iterator<Item = &Expr> {
    let parts = access.parts.iter().flat_map(|part| -> Vec<&Expr> {
        match part {
            PartAccess::Equal { alternatives, .. } => alternatives.iter().collect(),
            PartAccess::Ranges(ranges) => {
                let bounds = ranges.iter().flat_map(|range| range.low.iter().chain(&range.high));
                bounds.map(|bound| &bound.value).collect()
            }
            PartAccess::Range { low, high } => low.iter().chain(high).map(|bound| &bound.value).collect(),
            PartAccess::Prefix(pattern) => vec![pattern],
            PartAccess::Null | PartAccess::NotNull => Vec::new(),
        }
    });
    parts.chain(access.pruning.iter().flatten())
}

/// What equalities compare with: constants, columns of tables before this one, or something computed from them or from
/// another query.
fn reference(access: &AccessPath) -> Option<String> {
    let of = |expression: &Expr| match expression {
        Expr::Column(column) => column.name.replace('`', ""),
        other if other.columns_used().is_empty() && other.parameters_used().is_empty() => "const".to_owned(),
        _ => "func".to_owned(),
    };
    let mut names = Vec::new();
    for part in &access.parts {
        match part {
            PartAccess::Equal { alternatives, .. } => match &alternatives[..] {
                [single] => names.push(of(single)),
                _ => return None,
            },
            PartAccess::Null => names.push("const".to_owned()),
            PartAccess::Range { .. } | PartAccess::Ranges(_) | PartAccess::Prefix(_) | PartAccess::NotNull => {
                return None;
            }
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}

/// Bytes of the used key parts as MySQL counts them; of all parts when the whole index is read.
fn key_length(table: &Table, access: &AccessPath) -> u64 {
    let parts = &table.keys[access.index].parts;
    let used = if access.is_full() { parts.len() } else { access.parts.len() };
    parts.iter().take(used).map(part_length).sum()
}

fn part_length(part: &KeyPart) -> u64 {
    let sql_type = &part.sql_type;
    let fraction = u64::from(sql_type.decimals).div_ceil(2);
    let characters = |count: u32| u64::from(count) * sql_type.collation.charset().char_bytes_max() as u64;
    let bytes = match sql_type.base {
        BaseType::Time => 3 + fraction,
        BaseType::DateTime => 5 + fraction,
        BaseType::Timestamp => 4 + fraction,
        BaseType::Char => characters(if part.prefix_length > 0 { part.prefix_length } else { sql_type.length }),
        BaseType::VarChar | BaseType::Text => {
            let count = if part.prefix_length > 0 { part.prefix_length } else { sql_type.length };
            characters(count) + 2
        }
        _ => fixed_width(sql_type).unwrap_or(0) as u64,
    };
    bytes + u64::from(part.nullable)
}

/// The partitions that are read: `p0,p1,...`.
fn partitions(
    transaction: &Transaction,
    eval: &mut EvalContext<'_>,
    table: &Table,
    access: &AccessPath,
    found: Option<&Lookup>,
) -> String {
    let no_row: &[Value] = &[];
    if let Some(found) = found.filter(|_| !table.is_temporary) {
        if let Ok(Some(key)) = pruning_key(table, access, no_row, eval) {
            return format!("p{}", transaction.partition_of(&key));
        }
        if let (Lookup::Keys(keys), 0) = (found, access.index) {
            let mut buffer = Vec::new();
            let numbers: Option<Vec<u32>> = keys
                .iter()
                .map(|key| {
                    buffer.clear();
                    table.partition_key_of(key, &mut buffer).map(|part| transaction.partition_of(part))
                })
                .collect();
            if let Some(mut numbers) = numbers {
                numbers.sort_unstable();
                numbers.dedup();
                return names(numbers);
            }
        }
    }
    all_partitions(transaction, table)
}

/// Temporary tables have one partition.
pub fn all_partitions(transaction: &Transaction, table: &Table) -> String {
    names(0..if table.is_temporary { 1 } else { transaction.partition_count() })
}

/// `p0,p1` for these partitions.
pub fn names(numbers: impl IntoIterator<Item = u32>) -> String {
    let names: Vec<String> = numbers.into_iter().map(|number| format!("p{number}")).collect();
    names.join(",")
}

fn rows(transaction: &Transaction, input: &TableInput, found: Option<&Lookup>) -> u64 {
    let TableInput { table, access, .. } = input;
    match found {
        _ if access.is_full() => transaction.row_count(table),
        Some(Lookup::Keys(keys)) => keys.len() as u64,
        Some(Lookup::Ranges(ranges)) => {
            let sum: u64 = ranges.iter().map(|range| transaction.estimate_rows(table, access.index, range)).sum();
            sum.max(1)
        }
        None if access.unique => 1,
        None => access.estimated_rows,
    }
}
