//! Moving rows: into a table with another definition, and into the hidden table of a new unique index.
//!
//! The table is locked, so a snapshot shows all of its rows and nobody adds any. Rows are read in the order of the primary key and
//! written in transactions of their own, because nobody sees where they are written.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_cluster::unique::unique_row;
use shoal_txn::foreign_keys::{ForeignKeys, WrittenRow};
use shoal_txn::new_row::duplicate_entry;
use shoal_txn::{Inserted, KeyRange, ReadMode, ScanRequest, TableScan, Transaction, Visit};
use shoal_types::row::RowRef;
use shoal_types::{BaseType, EnumValue, Error, ErrorCode, IndexMethod, Result, SetValue, Value, WarningLevel};

use super::way::holds_as_it_is;
use crate::ddl::stage::RunningStage;
use crate::definition_stages::StageKind;
use crate::dml::DefaultValue;
use crate::dml::insert::InsertSettings;
use crate::dml::row::{RowBuilder, implicit_default};
use crate::dml::rules::{RowRules, column_value};
use crate::execute::ExecContext;
use crate::session::Session;

/// Rows and bytes of one transaction.
const ROWS_PER_COMMIT: usize = 2048;
const BYTES_PER_COMMIT: usize = 4 << 20;

/// All rows of a locked table, in pieces.
struct Source {
    transaction: Transaction,
    scan: TableScan,
    rows_expected: u64,
    rows_read: u64,
}

impl Source {
    fn open(session: &Session, table: &Arc<Table>) -> Source {
        let mut transaction = Transaction::new(Arc::clone(&session.server.node));
        // This session has the table for itself.
        transaction.ignore_metadata_locks(true);
        transaction.start_statement();
        let rows_expected = transaction.row_count(table);
        let scan = transaction.scan(ScanRequest {
            table: Arc::clone(table),
            index: 0,
            ranges: vec![KeyRange::default()],
            descending: false,
            ordered: table.schema.primary_key().method == IndexMethod::BTree,
            partition_key: None,
            mode: ReadMode::default(),
            row_limit: None,
        });
        Source { transaction, scan, rows_expected, rows_read: 0 }
    }

    /// The next rows; none: there are no more.
    async fn next(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        while rows.len() < ROWS_PER_COMMIT && bytes < BYTES_PER_COMMIT {
            let mut take = |row: RowRef<'_>| {
                bytes += row.bytes().len();
                rows.push(row.bytes().to_vec());
                Ok(Visit::Take)
            };
            if !self.scan.next(&mut self.transaction, &mut take).await? {
                break;
            }
        }
        self.rows_read += rows.len() as u64;
        Ok(rows)
    }

    /// The parents' tables are locked for this statement, as its own is.
    async fn check_parents(
        &mut self,
        keys: &ForeignKeys,
        conversion: &Conversion,
        rows: &[Vec<u8>],
    ) -> Result<()> {
        let mut reader = Transaction::new(Arc::clone(self.transaction.node()));
        reader.ignore_metadata_locks(true);
        reader.start_statement();
        let rows: Vec<WrittenRow<'_>> = rows.iter().map(|new| WrittenRow { new, old: None }).collect();
        let outcomes = reader.lock_parents(keys, &conversion.new, &rows).await;
        reader.rollback();
        outcomes?.into_iter().flatten().next().map_or(Ok(()), |error| Err(no_parent_of(conversion, error)))
    }
}

/// How the rows of one table become those of another.
pub struct Conversion {
    pub old: Arc<Table>,
    pub new: Arc<Table>,
    /// For each new column the old one that it comes from.
    pub origins: Vec<Option<usize>>,
    /// For each new column what it has when it comes from none.
    pub defaults: Vec<DefaultValue>,
    pub rules: RowRules,
    /// Rows have to have parents.
    pub foreign: Option<ForeignKeys>,
}

/// Copies all rows; how many there were. Errors: 1062 and whatever conversion has to say; then the new table has some of the rows.
pub async fn copy_rows(session: &mut Session, conversion: &Conversion, settings: InsertSettings) -> Result<u64> {
    let mut source = Source::open(session, &conversion.old);
    session.transaction.start_statement();
    let stage = RunningStage::begin(&session.shared, StageKind::Copy, source.rows_expected);
    session
        .with_context(&[], true, async |ctx| {
            let mut copier = Copier::new(conversion, settings, ctx);
            loop {
                ctx.check_between_batches().await?;
                let rows = source.next().await?;
                if rows.is_empty() {
                    return Ok(source.rows_read);
                }
                stage.set_completed(source.rows_read);
                let mut written = Vec::with_capacity(rows.len());
                for row in rows {
                    written.push(copier.convert(row, ctx)?);
                }
                if let Some(keys) = &conversion.foreign {
                    source.check_parents(keys, conversion, &written).await?;
                }
                ctx.check_between_batches().await?;
                let outcomes = ctx.transaction.insert_many(&conversion.new, &written, false).await?;
                for (row, outcome) in written.iter().zip(outcomes) {
                    if let Inserted::Duplicate { index, .. } = outcome {
                        return Err(duplicate_entry(&conversion.new, index, row));
                    }
                }
                ctx.transaction.commit().await?;
            }
        })
        .await
}

/// The error names the table as it is called, not its hidden copy.
fn no_parent_of(conversion: &Conversion, error: Error) -> Error {
    let message = error.message().replacen("(``.", &format!("(`{}`.", conversion.old.schema.database), 1);
    Error::new(ErrorCode::NoReferencedRow, message)
}

/// Converts one row after the other.
struct Copier<'c> {
    conversion: &'c Conversion,
    builder: RowBuilder<'c>,
    /// Rows are valid as they are.
    verbatim: bool,
    /// The hidden key comes from the old table.
    keeps_hidden_key: bool,
    strict: bool,
    no_zero_date: bool,
    number: u64,
}

impl<'c> Copier<'c> {
    fn new(conversion: &'c Conversion, mut settings: InsertSettings, ctx: &ExecContext<'_>) -> Copier<'c> {
        // A zero that was stored is kept.
        settings.auto_increment.zero_means_next = false;
        let (old, new) = (&conversion.old.schema, &conversion.new.schema);
        let same = |(place, origin): (usize, &Option<usize>)| {
            *origin == Some(place)
                && holds_as_it_is(&old.columns[place].sql_type, &new.columns[place].sql_type)
                && (new.columns[place].nullable || !old.columns[place].nullable)
        };
        let verbatim = old.past_rows.is_empty()
            && old.columns.len() == new.columns.len()
            && conversion.rules.is_empty()
            && conversion.origins.iter().enumerate().all(same);
        let mode = &ctx.eval.settings.sql_mode;
        Copier {
            conversion,
            builder: RowBuilder::new(&conversion.new, false, settings.auto_increment, &ctx.eval),
            verbatim,
            keeps_hidden_key: new.has_hidden_key() && conversion.origins.last().is_some_and(Option::is_some),
            strict: mode.strict,
            no_zero_date: mode.no_zero_date && mode.strict,
            number: 0,
        }
    }

    fn convert(&mut self, row: Vec<u8>, ctx: &mut ExecContext<'_>) -> Result<Vec<u8>> {
        self.number += 1;
        if self.verbatim {
            return Ok(row);
        }
        let conversion = self.conversion;
        let old = conversion.old.layout.row(&row);
        let mut values = Vec::with_capacity(conversion.origins.len());
        for (column, origin) in conversion.origins.iter().enumerate() {
            values.push(match origin {
                // Computed from the others.
                Some(_) if conversion.new.schema.columns[column].generated.is_some() => Value::Null,
                Some(origin) => {
                    let value = old.value(*origin, ctx.eval.zone);
                    self.convert_value(column, *origin, value, ctx)?
                }
                None => self.default_value(column, ctx)?,
            });
        }
        let hidden = if self.keeps_hidden_key { values.last().cloned() } else { None };
        self.builder.numbering.fill(&mut values, ctx.transaction.node())?;
        if let (Some(kept), Some(place)) = (hidden, values.last_mut()) {
            *place = kept;
        }
        let rules = &conversion.rules;
        for (column, expression) in &rules.reading_defaults {
            if conversion.origins[*column].is_none() {
                values[*column] =
                    column_value(*column, expression, &values[..], &self.builder, self.number, &mut ctx.eval)?;
            }
        }
        rules.complete(&mut values, &self.builder, self.number, &mut ctx.eval)?;
        rules.permit(&values[..], false, &mut ctx.eval)?;
        let mut bytes = Vec::with_capacity(row.len() + 16);
        self.builder.encode(&values, &ctx.eval, &mut bytes)?;
        Ok(bytes)
    }

    fn convert_value(
        &self,
        column: usize,
        origin: usize,
        value: Value,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Value> {
        let definition = &self.conversion.new.schema.columns[column];
        let present = &self.conversion.old.schema.columns[origin].sql_type;
        if value.is_null() {
            if definition.nullable || definition.auto_increment {
                return Ok(Value::Null);
            }
            if self.strict {
                return Err(Error::new(ErrorCode::InvalidUseOfNull, "Invalid use of NULL value"));
            }
            let message = format!("Data truncated for column '{}' at row {}", definition.name, self.number);
            ctx.eval.warnings.push(WarningLevel::Warning, ErrorCode::DataTruncated, || message);
            return Ok(implicit_default(&definition.sql_type));
        }
        if holds_as_it_is(present, &definition.sql_type) {
            let labels = definition.sql_type.labels.clone().unwrap_or_default();
            return Ok(match value {
                Value::Enum(member) => Value::Enum(EnumValue { labels, ..member }),
                Value::Set(members) => Value::Set(SetValue { labels, ..members }),
                other => other,
            });
        }
        let value = match value {
            // The empty value that stands for a wrong one stays what it is.
            Value::Enum(member) if member.index == 0 && definition.sql_type.base == BaseType::Enum => {
                let labels = definition.sql_type.labels.clone().unwrap_or_default();
                return Ok(Value::Enum(EnumValue { index: 0, labels }));
            }
            // Labels are what counts when the labels of the type change.
            Value::Enum(_) | Value::Set(_) if definition.sql_type.labels.is_some() => Value::Str(value.to_text()),
            other => other,
        };
        let converted = self.builder.convert(column, value, present.collation, self.number, &mut ctx.eval);
        converted.map_err(|error| match error.is(ErrorCode::DataTooLong) {
            true => {
                let message = format!("Data truncated for column '{}' at row {}", definition.name, self.number);
                Error::new(ErrorCode::DataTruncated, message)
            }
            false => error,
        })
    }

    /// What an added column has in a row that is there already.
    fn default_value(&self, column: usize, ctx: &mut ExecContext<'_>) -> Result<Value> {
        let definition = &self.conversion.new.schema.columns[column];
        match &self.conversion.defaults[column] {
            DefaultValue::AutoIncrement | DefaultValue::Later => Ok(Value::Null),
            DefaultValue::Missing => {
                let zero = match definition.sql_type.base {
                    BaseType::Date => "date",
                    BaseType::DateTime | BaseType::Timestamp => "datetime",
                    _ => "",
                };
                if self.no_zero_date && !zero.is_empty() {
                    let text = if zero == "date" { "0000-00-00" } else { "0000-00-00 00:00:00" };
                    let message = format!(
                        "Incorrect {zero} value: '{text}' for column '{}' at row {}",
                        definition.name, self.number
                    );
                    return Err(Error::new(ErrorCode::TruncatedWrongValue, message));
                }
                Ok(implicit_default(&definition.sql_type))
            }
            DefaultValue::Expression(expression) => {
                let no_row: &[Value] = &[];
                let value = expression.eval(no_row, &mut ctx.eval)?;
                let collation = expression.sql_type().collation;
                self.builder.convert(column, value, collation, self.number, &mut ctx.eval)
            }
        }
    }
}

/// Fills the hidden table of a new unique index, the index at `index` of `new`, from the rows of a locked table whose rows fit the new
/// definition as they are. Errors: 1062.
pub async fn fill_unique(
    session: &mut Session,
    old: &Arc<Table>,
    new: &Table,
    index: usize,
    hidden: &Arc<Table>,
) -> Result<()> {
    let mut source = Source::open(session, old);
    session.transaction.start_statement();
    let stage = RunningStage::begin(&session.shared, StageKind::ReadRows, source.rows_expected);
    loop {
        session.shared.interrupt.check_between_batches().await?;
        let rows = source.next().await?;
        if rows.is_empty() {
            return Ok(());
        }
        stage.set_completed(source.rows_read);
        let mut entries = Vec::with_capacity(rows.len());
        let mut sources = Vec::with_capacity(rows.len());
        for row in &rows {
            let stored = new.layout.row(row);
            if new.keys[index].has_null(stored) {
                continue;
            }
            let (mut key, mut primary_key) = (Vec::new(), Vec::new());
            new.keys[index].append_from_row(stored, &mut key);
            new.keys[0].append_from_row(stored, &mut primary_key);
            entries.push(unique_row(&key, &primary_key)?);
            sources.push(row);
        }
        let outcomes = session.transaction.insert_many(hidden, &entries, false).await?;
        for (row, outcome) in sources.into_iter().zip(outcomes) {
            if outcome != Inserted::Done {
                return Err(duplicate_entry(new, index, row));
            }
        }
        session.transaction.commit().await?;
    }
}
