//! A table's definition while it is written: columns and keys by name, before positions and ids are given out.
//!
//! CREATE TABLE makes a draft of the statement, ALTER TABLE makes one of the present schema and edits it; `build` checks a
//! draft and makes the schema of it. Nothing here touches data or the dictionary.

use shoal_expr::{BuildContext, Settings};
use shoal_parser::ast;
use shoal_types::schema::TableOptions;
use shoal_types::{
    CheckConstraint, Collation, Column, Date, DateRules, Error, ErrorCode, ForeignKey, IndexMethod, Result,
    StoreOptions, TableSchema, TemporalContext, TimeZone,
};

use super::errors;

/// The name of the primary key.
pub const PRIMARY: &str = "PRIMARY";
/// Characters of a database's, table's, column's or key's name.
pub const NAME_LENGTH_MAX: usize = 64;

/// What definitions depend on besides the statement.
#[derive(Clone, Debug)]
pub struct DraftContext {
    pub settings: Settings,
    pub zone: TimeZone,
    pub today: Date,
    /// Seconds since 1970.
    pub now_s: u64,
    pub default_engine: String,
    /// NO_ENGINE_SUBSTITUTION is off.
    pub substitute_engine: bool,
    pub database_collation: Collation,
}

impl DraftContext {
    pub fn build(&self) -> BuildContext<'_> {
        BuildContext { settings: self.settings, database: None }
    }

    /// How values are converted: definitions are strict whatever the SQL mode, except about zero dates.
    pub fn store_options(&self) -> StoreOptions {
        let mode = &self.settings.sql_mode;
        let rules = DateRules {
            no_zero_date: mode.no_zero_date && mode.strict,
            no_zero_in_date: mode.no_zero_in_date && mode.strict,
            allow_invalid_dates: mode.allow_invalid_dates,
        };
        let temporal = TemporalContext { rules, zone: self.zone.clone(), today: self.today };
        StoreOptions { strict: true, ignore: false, temporal }
    }
}

#[derive(Clone, Debug)]
pub struct TableDraft {
    pub database: String,
    pub name: String,
    pub columns: Vec<DraftColumn>,
    pub keys: Vec<DraftKey>,
    /// One without a name gets one when all are known.
    pub checks: Vec<DraftCheck>,
    /// The same for foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    pub options: TableOptions,
    /// PARTITION BY KEY with its columns; empty: the primary key. The number of partitions is in the options.
    pub partition_by: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct DraftColumn {
    pub column: Column,
    /// Its position in the table that is altered; `None`: it is added.
    pub origin: Option<usize>,
    /// NULL was written: it cannot become part of a primary key.
    pub null_written: bool,
}

#[derive(Clone, Debug)]
pub struct DraftCheck {
    pub constraint: CheckConstraint,
    /// The column that it was written at, which it may read alone.
    pub column: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftKeyKind {
    Primary,
    Unique,
    Index,
}

#[derive(Clone, Debug)]
pub struct DraftKey {
    pub kind: DraftKeyKind,
    /// `None`: it gets one from its first column.
    pub name: Option<String>,
    pub parts: Vec<DraftPart>,
    pub method: Option<IndexMethod>,
    pub invisible: bool,
    /// Another definition is making it.
    pub building: bool,
    pub comment: String,
    /// Its position in the table that is altered; `None`: it is added.
    pub origin: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct DraftPart {
    /// Empty while it is an expression whose column is not there yet.
    pub column: String,
    /// A functional part: the expression's text, until `functional` has made it a column.
    pub expression: Option<String>,
    pub prefix_length: Option<u64>,
    pub descending: bool,
}

impl DraftPart {
    /// A whole column, ascending.
    pub fn of_column(column: &str) -> DraftPart {
        DraftPart { column: column.to_owned(), expression: None, prefix_length: None, descending: false }
    }
}

impl DraftKey {
    /// A key over whole columns, as column attributes make them.
    pub fn on_column(kind: DraftKeyKind, column: &str) -> DraftKey {
        DraftKey {
            kind,
            name: None,
            parts: vec![DraftPart::of_column(column)],
            method: None,
            invisible: false,
            building: false,
            comment: String::new(),
            origin: None,
        }
    }

    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name))
    }
}

impl TableDraft {
    pub fn new(database: &str, name: &str, options: TableOptions) -> TableDraft {
        TableDraft {
            database: database.to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            keys: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            options,
            partition_by: None,
        }
    }

    /// The draft of a table as it is.
    pub fn of_schema(schema: &TableSchema) -> TableDraft {
        let kept = |column: &Column| !column.hidden || column.is_functional();
        let shown = schema.columns.iter().enumerate().filter(|(_, column)| kept(column));
        let columns = shown.map(|(position, column)| DraftColumn {
            column: column.clone(),
            origin: Some(position),
            null_written: false,
        });
        let hidden_key = schema.has_hidden_key();
        let keys = schema.indexes.iter().enumerate().skip(usize::from(hidden_key));
        let keys = keys.map(|(position, index)| DraftKey {
            kind: match (index.name.as_str(), index.unique) {
                (PRIMARY, _) => DraftKeyKind::Primary,
                (_, true) => DraftKeyKind::Unique,
                (_, false) => DraftKeyKind::Index,
            },
            name: Some(index.name.clone()),
            parts: index.columns.iter().map(|part| part_of_schema(schema, part)).collect(),
            method: Some(index.method),
            invisible: index.invisible,
            building: index.building,
            comment: index.comment.clone(),
            origin: Some(position),
        });
        let names = || schema.partition_columns.iter().map(|&column| schema.columns[column].name.clone());
        TableDraft {
            database: schema.database.clone(),
            name: schema.name.clone(),
            columns: columns.collect(),
            keys: keys.collect(),
            checks: schema
                .checks
                .iter()
                .cloned()
                .map(|constraint| DraftCheck { constraint, column: None })
                .collect(),
            foreign_keys: schema.foreign_keys.clone(),
            options: schema.options.clone(),
            partition_by: schema.options.partitioned_by_key.then(|| names().collect()),
        }
    }

    /// Columns that users know; those of functional key parts come behind them.
    pub fn shown_columns(&self) -> usize {
        self.columns.iter().take_while(|draft| !draft.column.hidden).count()
    }

    /// Position of a column by its present name.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|draft| draft.column.name.eq_ignore_ascii_case(name))
    }

    pub fn check_position(&self, name: &str) -> Option<usize> {
        self.checks.iter().position(|check| check.constraint.name.eq_ignore_ascii_case(name))
    }

    pub fn foreign_key_position(&self, name: &str) -> Option<usize> {
        self.foreign_keys.iter().position(|key| key.name.eq_ignore_ascii_case(name))
    }

    pub fn key_position(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|key| key.is_named(name))
    }

    /// Takes the options of PARTITION BY. Errors: 1235 for methods other than KEY, 1499 and 1504 for impossible numbers.
    pub fn partition(&mut self, partitioning: &ast::Partitioning) -> Result<()> {
        let columns = match &partitioning.method {
            ast::PartitionMethod::Key { columns, .. } => columns,
            ast::PartitionMethod::Hash { .. } => return Err(Error::unsupported("PARTITION BY HASH")),
            ast::PartitionMethod::Range(_) => return Err(Error::unsupported("PARTITION BY RANGE")),
            ast::PartitionMethod::RangeColumns(_) => return Err(Error::unsupported("PARTITION BY RANGE COLUMNS")),
            ast::PartitionMethod::List(_) => return Err(Error::unsupported("PARTITION BY LIST")),
            ast::PartitionMethod::ListColumns(_) => return Err(Error::unsupported("PARTITION BY LIST COLUMNS")),
        };
        if partitioning.subpartition.is_some() {
            return Err(Error::unsupported("SUBPARTITION BY"));
        }
        let named = partitioning.partitions.len() as u64;
        let count = partitioning.partition_count.or((named > 0).then_some(named));
        if count == Some(0) {
            let message = "Number of partitions = 0 is not an allowed value";
            return Err(Error::new(ErrorCode::PartitionNoPartitions, message));
        }
        if count.is_some_and(|count| count > PARTITIONS_MAX) {
            return Err(Error::new(
                ErrorCode::TooManyPartitions,
                "Too many partitions (including subpartitions) were defined",
            ));
        }
        if named > 0 && count != Some(named) {
            return Err(Error::new(
                ErrorCode::PartitionWrongNoPart,
                "Wrong number of partitions defined, mismatch with previous setting",
            ));
        }
        self.partition_by = Some(columns.iter().map(|column| column.value.clone()).collect());
        self.options.partitions = count.unwrap_or(0) as u32;
        Ok(())
    }
}

/// MySQL's limit; how many partitions there are is the cluster's business.
const PARTITIONS_MAX: u64 = 8192;

fn part_of_schema(schema: &TableSchema, part: &shoal_types::IndexColumn) -> DraftPart {
    DraftPart {
        column: schema.columns[part.column].name.clone(),
        expression: None,
        prefix_length: (part.prefix_length > 0).then_some(u64::from(part.prefix_length)),
        descending: part.descending,
    }
}

/// Checks the name of a database or table. Errors: 1102 or 1103, 1059.
pub fn check_object_name(name: &str, database: bool) -> Result<()> {
    if name.chars().count() > NAME_LENGTH_MAX {
        return Err(errors::too_long_identifier(name));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        let (code, what) = match database {
            true => (ErrorCode::WrongDbName, "database"),
            false => (ErrorCode::WrongTableName, "table"),
        };
        return Err(Error::new(code, format!("Incorrect {what} name '{name}'")));
    }
    Ok(())
}
