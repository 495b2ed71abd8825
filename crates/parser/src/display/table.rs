//! Table references.

use std::fmt::{self, Display, Formatter};

use super::expr::write_responses;
use super::{comma_list, join, name_list, write_string};
use crate::ast::{
    Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinCondition, JoinKind, JsonTable, JsonTableColumn,
    TableFactor, TableReference,
};

impl Display for TableReference {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.base)?;
        self.joins.iter().try_for_each(|join| write!(formatter, " {join}"))
    }
}

impl Display for Join {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.natural {
            formatter.write_str("natural ")?;
        }
        let word = match self.kind {
            JoinKind::Inner => "join",
            JoinKind::Left => "left join",
            JoinKind::Right => "right join",
            JoinKind::Straight => "straight_join",
        };
        // A right side with joins of its own needs no parentheses: the order of the conditions says it.
        write!(formatter, "{word} {}", self.right)?;
        match &self.condition {
            None => Ok(()),
            Some(JoinCondition::On(condition)) => write!(formatter, " on {condition}"),
            Some(JoinCondition::Using(columns)) => {
                formatter.write_str(" using")?;
                name_list(formatter, columns)
            }
        }
    }
}

fn write_alias(formatter: &mut Formatter<'_>, alias: &Option<Ident>) -> fmt::Result {
    match alias {
        Some(alias) => write!(formatter, " {alias}"),
        None => Ok(()),
    }
}

impl Display for TableFactor {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableFactor::Table { name, partitions, alias, hints } => {
                write!(formatter, "{name}")?;
                if !partitions.is_empty() {
                    formatter.write_str(" partition")?;
                    name_list(formatter, partitions)?;
                }
                write_alias(formatter, alias)?;
                hints.iter().try_for_each(|hint| write!(formatter, " {hint}"))
            }
            TableFactor::Derived { lateral, query, alias, columns } => {
                write!(formatter, "{}({query})", if *lateral { "lateral " } else { "" })?;
                write_alias(formatter, alias)?;
                name_list(formatter, columns)
            }
            TableFactor::JsonTable(table) => write!(formatter, "{table}"),
            TableFactor::Nested(tables) => {
                formatter.write_str("(")?;
                join(formatter, tables, ", ", |formatter, table| write!(formatter, "{table}"))?;
                formatter.write_str(")")
            }
        }
    }
}

impl Display for IndexHint {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.action {
            IndexHintAction::Use => "use index",
            IndexHintAction::Ignore => "ignore index",
            IndexHintAction::Force => "force index",
        })?;
        formatter.write_str(match self.scope {
            None => "",
            Some(IndexHintScope::Join) => " for join",
            Some(IndexHintScope::OrderBy) => " for order by",
            Some(IndexHintScope::GroupBy) => " for group by",
        })?;
        formatter.write_str(" (")?;
        comma_list(formatter, &self.indexes)?;
        formatter.write_str(")")
    }
}

impl Display for JsonTable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "json_table({}, ", self.document)?;
        write_string(formatter, &self.path)?;
        write_columns(formatter, &self.columns)?;
        formatter.write_str(")")?;
        write_alias(formatter, &self.alias)
    }
}

fn write_columns(formatter: &mut Formatter<'_>, columns: &[JsonTableColumn]) -> fmt::Result {
    formatter.write_str(" columns (")?;
    join(formatter, columns, ", ", |formatter, column| write!(formatter, "{column}"))?;
    formatter.write_str(")")
}

impl Display for JsonTableColumn {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonTableColumn::Ordinality(name) => write!(formatter, "{name} for ordinality"),
            JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error } => {
                write!(formatter, "{name} {data_type}{} path ", if *exists { " exists" } else { "" })?;
                write_string(formatter, path)?;
                write_responses(formatter, on_empty, on_error)
            }
            JsonTableColumn::Nested { path, columns } => {
                formatter.write_str("nested path ")?;
                write_string(formatter, path)?;
                write_columns(formatter, columns)
            }
        }
    }
}
