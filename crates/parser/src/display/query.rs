//! Queries.

use std::fmt::{self, Display, Formatter};

use super::{comma_list, join, name_list, write_string};
use crate::ast::{
    FieldFormat, IntoTarget, LineFormat, LockStrength, LockWait, LockingClause, OrderItem, Query, QueryBody,
    Select, SelectInto, SelectItem, SelectOptions, SetOperator, With,
};
use crate::quote::quote_identifier;

impl Display for Query {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(formatter, "{with} ")?;
        }
        write!(formatter, "{}", self.body)?;
        if !self.order_by.is_empty() {
            formatter.write_str(" order by ")?;
            comma_list(formatter, &self.order_by)?;
        }
        if let Some(limit) = &self.limit {
            write!(formatter, " limit {}", limit.count)?;
            if let Some(offset) = &limit.offset {
                write!(formatter, " offset {offset}")?;
            }
        }
        for clause in &self.locking {
            write!(formatter, " {clause}")?;
        }
        match &self.into {
            Some(into) => write!(formatter, " {into}"),
            None => Ok(()),
        }
    }
}

impl Display for With {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.recursive { "with recursive " } else { "with " })?;
        join(formatter, &self.tables, ", ", |formatter, table| {
            write!(formatter, "{}", table.name)?;
            name_list(formatter, &table.columns)?;
            write!(formatter, " as ({})", table.query)
        })
    }
}

impl Display for QueryBody {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            QueryBody::Select(select) => write!(formatter, "{select}"),
            QueryBody::Table(name) => write!(formatter, "table {name}"),
            QueryBody::Parenthesised(query) => write!(formatter, "({query})"),
            QueryBody::Values(rows) => {
                formatter.write_str("values ")?;
                join(formatter, rows, ", ", |formatter, row| {
                    formatter.write_str("row(")?;
                    comma_list(formatter, row)?;
                    formatter.write_str(")")
                })
            }
            QueryBody::SetOperations(operations) => {
                write!(formatter, "{}", operations.first)?;
                for term in &operations.rest {
                    let operator = match term.operator {
                        SetOperator::Union => "union",
                        SetOperator::Intersect => "intersect",
                        SetOperator::Except => "except",
                    };
                    write!(formatter, " {operator} {}{}", if term.all { "all " } else { "" }, term.body)?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Select {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("select ")?;
        if let Some(hints) = &self.hints {
            write!(formatter, "/*+ {} */ ", String::from_utf8_lossy(hints))?;
        }
        write!(formatter, "{}", self.options)?;
        comma_list(formatter, &self.items)?;
        if self.from_dual {
            formatter.write_str(" from dual")?;
        } else if !self.from.is_empty() {
            formatter.write_str(" from ")?;
            join(formatter, &self.from, ", ", |formatter, table| write!(formatter, "{table}"))?;
        }
        if let Some(selection) = &self.selection {
            write!(formatter, " where {selection}")?;
        }
        if let Some(group_by) = &self.group_by {
            formatter.write_str(" group by ")?;
            comma_list(formatter, &group_by.items)?;
            formatter.write_str(if group_by.with_rollup { " with rollup" } else { "" })?;
        }
        if let Some(having) = &self.having {
            write!(formatter, " having {having}")?;
        }
        if self.windows.is_empty() {
            return Ok(());
        }
        formatter.write_str(" window ")?;
        join(formatter, &self.windows, ", ", |formatter, window| {
            write!(formatter, "{} as {}", window.name, window.specification)
        })
    }
}

impl Display for SelectOptions {
    /// Each option with a blank behind it.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let options = [
            (self.distinct, "distinct "),
            (self.high_priority, "high_priority "),
            (self.straight_join, "straight_join "),
            (self.small_result, "sql_small_result "),
            (self.big_result, "sql_big_result "),
            (self.buffer_result, "sql_buffer_result "),
            (self.no_cache, "sql_no_cache "),
            (self.calc_found_rows, "sql_calc_found_rows "),
        ];
        options.iter().filter(|(set, _)| *set).try_for_each(|(_, word)| formatter.write_str(word))
    }
}

impl Display for SelectItem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectItem::Wildcard => formatter.write_str("*"),
            SelectItem::QualifiedWildcard(name) => write!(formatter, "{name}.*"),
            SelectItem::Expression { expr, alias: None, .. } => write!(formatter, "{expr}"),
            SelectItem::Expression { expr, alias: Some(alias), .. } => {
                write!(formatter, "{expr} AS {}", quote_identifier(alias))
            }
        }
    }
}

impl Display for OrderItem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.expr, if self.descending { " desc" } else { "" })
    }
}

impl Display for LockingClause {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.strength {
            LockStrength::Update => "for update",
            LockStrength::Share => "for share",
        })?;
        if !self.of.is_empty() {
            formatter.write_str(" of ")?;
            comma_list(formatter, &self.of)?;
        }
        formatter.write_str(match self.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        })
    }
}

impl Display for SelectInto {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectInto::Variables(targets) => {
                formatter.write_str("into ")?;
                comma_list(formatter, targets)
            }
            SelectInto::DumpFile(path) => {
                formatter.write_str("into dumpfile ")?;
                write_string(formatter, path)
            }
            SelectInto::OutFile { path, charset, fields, lines } => {
                formatter.write_str("into outfile ")?;
                write_string(formatter, path)?;
                if let Some(charset) = charset {
                    write!(formatter, " character set {charset}")?;
                }
                write!(formatter, "{fields}{lines}")
            }
        }
    }
}

impl Display for IntoTarget {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            IntoTarget::UserVariable(name) => write!(formatter, "@{}", quote_identifier(name)),
            IntoTarget::Local(name) => write!(formatter, "{name}"),
        }
    }
}

/// ` word 'text'` for each that is set; `head` before the first.
fn write_format(formatter: &mut Formatter<'_>, head: &str, parts: &[(&str, &Option<Vec<u8>>)]) -> fmt::Result {
    let mut separator = head;
    for (word, text) in parts {
        if let Some(text) = text {
            write!(formatter, "{separator} {word} by ")?;
            write_string(formatter, text)?;
            separator = "";
        }
    }
    Ok(())
}

impl Display for FieldFormat {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let enclosed = if self.optionally_enclosed { "optionally enclosed" } else { "enclosed" };
        let parts =
            [("terminated", &self.terminated_by), (enclosed, &self.enclosed_by), ("escaped", &self.escaped_by)];
        write_format(formatter, " fields", &parts)
    }
}

impl Display for LineFormat {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let parts = [("starting", &self.starting_by), ("terminated", &self.terminated_by)];
        write_format(formatter, " lines", &parts)
    }
}
