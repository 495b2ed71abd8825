//! PARTITION (p0, ...) behind a table's name: rows of the other partitions are not there.
//!
//! A table PARTITION BY KEY has as many partitions as its definition says, whatever the cluster keeps its rows in: which one a row is in
//! follows from the hash of its partitioning columns.

use shoal_cluster::Table;
use shoal_expr::{Expr, build};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::Resolver;
use super::expression::integer_literal;

impl Resolver<'_> {
    /// What rows of the named partitions fulfil, over the table's columns; `None`: no partition is named.
    ///
    /// # Errors
    /// 1735, there is no such partition; 1747, there are none at all.
    pub fn partition_set(&self, table: &Table, names: &[ast::Ident]) -> Result<Option<Expr>> {
        if names.is_empty() {
            return Ok(None);
        }
        let options = &table.schema.options;
        if !options.partitioned_by_key {
            return Err(not_partitioned());
        }
        let count = options.partitions.max(1);
        let mut chosen = Vec::with_capacity(names.len());
        for name in names {
            let digits =
                name.value.strip_prefix(['p', 'P']).filter(|digits| *digits == "0" || !digits.starts_with('0'));
            let number = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|number| *number < count);
            let Some(number) = number else {
                let message = format!("Unknown partition '{}' in table '{}'", name.value, table.name());
                return Err(Error::new(ErrorCode::UnknownPartition, message));
            };
            chosen.push(integer_literal(u64::from(number)));
        }
        let columns = table.partition_key.parts.iter().map(|part| {
            let column = &table.schema.columns[part.column];
            Expr::column(part.column, column.sql_type.clone(), column.nullable, &column.name)
        });
        let number = build::partition_number(count, columns.collect(), self.build())?;
        build::in_list(number, chosen, false, self.build()).map(Some)
    }

    /// The same where the table's first column has this position.
    pub(super) fn partition_set_at(
        &self,
        table: &Table,
        names: &[ast::Ident],
        first: usize,
    ) -> Result<Option<Expr>> {
        let set = self.partition_set(table, names)?;
        Ok(set.map(|set| set.map_columns(&mut |position| position + first)))
    }
}

/// Errno 1747.
pub fn not_partitioned() -> Error {
    Error::new(ErrorCode::PartitionClauseOnNonpartitioned, "PARTITION () clause on non partitioned table")
}
