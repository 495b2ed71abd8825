//! The actions of ALTER TABLE on a draft of the table.
//!
//! Actions name columns as they are called before the statement, whatever the statement renames; keys that the table has refer to
//! columns by those names until all actions are done.

use shoal_parser::ast::{self, AlterTableAction as Action, CharsetChoice, ColumnDefinition, ColumnPosition};
use shoal_types::{
    BaseType, Charset, Collation, ColumnDefault, Error, ErrorCode, Result, SqlType, TableSchema, Warning,
    WarningLevel,
};

use crate::ddl::draft::{DraftColumn, DraftContext, DraftKeyKind, PRIMARY, TableDraft};
use crate::ddl::{checks, column, errors, foreign_keys, functional, options};

/// What the actions make of a table.
pub struct Edited {
    pub draft: TableDraft,
    /// RENAME TO.
    pub rename: Option<ast::ObjectName>,
    /// FORCE: the rows are rewritten whether they must be or not.
    pub force: bool,
    /// AUTO_INCREMENT = n.
    pub auto_increment: Option<u64>,
}

struct Editor<'a> {
    schema: &'a TableSchema,
    context: &'a DraftContext,
    notes: &'a mut Vec<Warning>,
    edited: Edited,
}

/// Applies all actions: first what goes, then what comes and changes.
pub fn edit(
    schema: &TableSchema,
    actions: &[Action],
    context: &DraftContext,
    notes: &mut Vec<Warning>,
) -> Result<Edited> {
    let edited = Edited { draft: TableDraft::of_schema(schema), rename: None, force: false, auto_increment: None };
    let mut editor = Editor { schema, context, notes, edited };
    for action in actions {
        editor.take_away(action)?;
    }
    for action in actions {
        editor.apply(action)?;
    }
    // They bring the indexes that nothing before them has brought.
    for action in actions {
        if let Action::AddForeignKey(key) = action {
            foreign_keys::add(editor.draft(), key)?;
        }
    }
    functional::drop_unused(editor.draft());
    if editor.edited.draft.shown_columns() == 0 {
        let message = "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
        return Err(Error::new(ErrorCode::CantRemoveAllFields, message));
    }
    editor.translate_names();
    // What has lost a column is another index.
    for key in &mut editor.edited.draft.keys {
        key.origin = key.origin.filter(|&origin| schema.indexes[origin].columns.len() == key.parts.len());
    }
    Ok(editor.edited)
}

impl Editor<'_> {
    fn draft(&mut self) -> &mut TableDraft {
        &mut self.edited.draft
    }

    /// Position in the draft of a column by its name before the statement.
    fn find(&self, name: &str) -> Option<usize> {
        let origin = self.schema.column_position(name)?;
        self.edited.draft.columns.iter().position(|draft| draft.origin == Some(origin))
    }

    fn require(&self, name: &str) -> Result<usize> {
        self.find(name).ok_or_else(|| errors::no_such_column(name, &self.schema.name))
    }

    /// DROP in all its forms.
    fn take_away(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::DropColumn(name) => self.drop_column(&name.value),
            Action::DropPrimaryKey => self.drop_key(PRIMARY),
            Action::DropIndex(name) => self.drop_key(&name.value),
            Action::DropConstraint(name) => {
                let unique = |key: &crate::ddl::draft::DraftKey| key.kind != DraftKeyKind::Index;
                match self.edited.draft.key_position(&name.value).map(|at| unique(&self.edited.draft.keys[at])) {
                    Some(true) => self.drop_key(&name.value),
                    _ if self.edited.draft.foreign_key_position(&name.value).is_some() => {
                        self.drop_foreign_key(&name.value)
                    }
                    _ if self.edited.draft.check_position(&name.value).is_some() => self.drop_check(&name.value),
                    _ => Err(Error::new(
                        ErrorCode::ConstraintNotFound,
                        format!("Constraint '{}' does not exist.", name.value),
                    )),
                }
            }
            Action::DropForeignKey(name) => self.drop_foreign_key(&name.value),
            Action::DropCheck(name) => self.drop_check(&name.value),
            _ => Ok(()),
        }
    }

    fn drop_column(&mut self, name: &str) -> Result<()> {
        let position = self.find(name).ok_or_else(|| errors::cannot_drop(name))?;
        let draft = self.draft();
        draft.columns.remove(position);
        for key in &mut draft.keys {
            key.parts.retain(|part| !part.column.eq_ignore_ascii_case(name));
        }
        draft.keys.retain(|key| !key.parts.is_empty());
        Ok(())
    }

    fn drop_key(&mut self, name: &str) -> Result<()> {
        let draft = self.draft();
        let found = draft.keys.iter().position(|key| key.is_named(name) && key.origin.is_some());
        draft.keys.remove(found.ok_or_else(|| errors::cannot_drop(name))?);
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &str) -> Result<()> {
        let found = self.edited.draft.foreign_key_position(name).ok_or_else(|| errors::cannot_drop(name))?;
        self.draft().foreign_keys.remove(found);
        Ok(())
    }

    fn drop_check(&mut self, name: &str) -> Result<()> {
        let found = self.edited.draft.check_position(name).ok_or_else(|| no_such_check(name))?;
        self.draft().checks.remove(found);
        Ok(())
    }

    fn apply(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::AddColumn { column, position } => self.add_column(column, position.as_ref()),
            Action::AddKey(key) => {
                let key = column::draft_key(key)?;
                self.draft().keys.push(key);
                Ok(())
            }
            Action::ChangeColumn { old_name, column, position } => {
                self.change_column(&old_name.value, column, position.as_ref())
            }
            Action::ModifyColumn { column, position } => {
                self.change_column(&column.name.value, column, position.as_ref())
            }
            Action::RenameColumn { from, to } => {
                let position = self.require(&from.value)?;
                self.draft().columns[position].column.name = to.value.clone();
                Ok(())
            }
            Action::SetColumnDefault { column, default, is_expression } => {
                self.set_default(&column.value, Some((default, *is_expression)))
            }
            Action::DropColumnDefault { column } => self.set_default(&column.value, None),
            Action::SetColumnVisible { column, visible } => {
                let position = self.require(&column.value)?;
                self.draft().columns[position].column.invisible = !visible;
                Ok(())
            }
            Action::RenameIndex { from, to } => {
                let position = self.require_key(&from.value)?;
                self.draft().keys[position].name = Some(to.value.clone());
                Ok(())
            }
            Action::SetIndexVisible { index, visible } => {
                let position = self.require_key(&index.value)?;
                self.draft().keys[position].invisible = !visible;
                Ok(())
            }
            Action::ConvertCharset { charset, collation } => self.convert(charset, collation.as_deref()),
            Action::Options(written) => self.apply_options(written),
            other => self.apply_to_table(other),
        }
    }

    fn apply_to_table(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::RenameTable(name) => self.edited.rename = Some(name.clone()),
            Action::Force => self.edited.force = true,
            Action::OrderBy(_) => {
                let message = format!(
                    "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                    self.schema.name
                );
                self.notes.push(Warning { level: WarningLevel::Warning, code: ErrorCode::UnknownError, message });
            }
            Action::EnableKeys | Action::DisableKeys => {}
            Action::AddForeignKey(_) => {}
            Action::AddCheck(check) => {
                let check = checks::of_table(check);
                self.draft().checks.push(check);
            }
            Action::SetConstraintEnforced { name, enforced } => {
                let found = self.edited.draft.check_position(&name.value);
                let found = found.ok_or_else(|| no_such_check(&name.value))?;
                self.draft().checks[found].constraint.enforced = *enforced;
            }
            Action::DiscardTablespace | Action::ImportTablespace => return Err(Error::unsupported("TABLESPACE")),
            Action::SecondaryLoad | Action::SecondaryUnload => return Err(Error::unsupported("SECONDARY_LOAD")),
            other => return self.repartition(other),
        }
        Ok(())
    }

    fn repartition(&mut self, action: &Action) -> Result<()> {
        if let Action::PartitionBy(partitioning) = action {
            return self.draft().partition(partitioning);
        }
        let (name, count) = match action {
            Action::RemovePartitioning => ("REMOVE PARTITIONING", 0),
            Action::AddPartitions { definitions, count } => {
                ("ADD PARTITION", count.unwrap_or(definitions.len() as u64) as i64)
            }
            Action::CoalescePartition(count) => ("COALESCE PARTITION", -i64::try_from(*count).unwrap_or(i64::MAX)),
            Action::ReorganizePartitions { names, .. } if names.is_empty() => ("", 0),
            Action::ReorganizePartitions { .. } => ("REORGANIZE PARTITION", 0),
            Action::DropPartitions(_) => ("DROP PARTITION", 0),
            Action::ExchangePartition { .. } => ("EXCHANGE PARTITION", 0),
            Action::TruncatePartitions(_) => ("TRUNCATE PARTITION", 0),
            Action::AnalyzePartitions(_) => ("ANALYZE PARTITION", 0),
            Action::CheckPartitions { .. } => ("CHECK PARTITION", 0),
            Action::OptimizePartitions(_) => ("OPTIMIZE PARTITION", 0),
            Action::RebuildPartitions(_) => ("REBUILD PARTITION", 0),
            Action::RepairPartitions { .. } => ("REPAIR PARTITION", 0),
            Action::DiscardPartitionTablespace(_) | Action::ImportPartitionTablespace(_) => ("TABLESPACE", 0),
            _ => return Ok(()),
        };
        if self.edited.draft.partition_by.is_none() {
            let message = "Partition management on a not partitioned table is not possible";
            return Err(Error::new(ErrorCode::PartitionMgmtOnNonpartitioned, message));
        }
        let draft = self.draft();
        match action {
            Action::RemovePartitioning => {
                draft.partition_by = None;
                Ok(())
            }
            Action::AddPartitions { .. } | Action::CoalescePartition(_) => {
                let present = i64::from(draft.options.partitions.max(1));
                let changed = present.saturating_add(count);
                if changed < 1 {
                    return Err(Error::new(
                        ErrorCode::DropLastPartition,
                        "Cannot remove all partitions, use DROP TABLE instead",
                    ));
                }
                draft.options.partitions = u32::try_from(changed).unwrap_or(u32::MAX).min(8192);
                Ok(())
            }
            _ if name.is_empty() => Ok(()),
            _ => Err(Error::unsupported(name)),
        }
    }

    fn require_key(&self, name: &str) -> Result<usize> {
        self.edited.draft.key_position(name).ok_or_else(|| errors::no_such_key(name, &self.schema.name))
    }

    fn add_column(&mut self, definition: &ColumnDefinition, position: Option<&ColumnPosition>) -> Result<()> {
        let table = self.edited.draft.options.collation;
        let (column, keys) = column::draft_column(definition, table, self.context, self.notes)?;
        self.draft().keys.extend(keys);
        self.draft().checks.extend(checks::of_column(definition));
        self.place(column, position, None)
    }

    fn change_column(
        &mut self,
        old_name: &str,
        definition: &ColumnDefinition,
        position: Option<&ColumnPosition>,
    ) -> Result<()> {
        let at = self.require(old_name)?;
        let table = self.edited.draft.options.collation;
        let (mut column, keys) = column::draft_column(definition, table, self.context, self.notes)?;
        column.origin = self.edited.draft.columns[at].origin;
        let draft = self.draft();
        draft.keys.extend(keys);
        draft.checks.extend(checks::of_column(definition));
        draft.columns.remove(at);
        self.place(column, position, Some(at))
    }

    /// Puts a column where it is said, or at `usual` (the end if that is not given).
    fn place(
        &mut self,
        column: DraftColumn,
        position: Option<&ColumnPosition>,
        usual: Option<usize>,
    ) -> Result<()> {
        let name = self.schema.name.clone();
        let draft = self.draft();
        let at = match position {
            Some(ColumnPosition::First) => 0,
            Some(ColumnPosition::After(before)) => {
                let before = &before.value;
                draft.column_position(before).ok_or_else(|| errors::no_such_column(before, &name))? + 1
            }
            None => usual.unwrap_or(draft.shown_columns()),
        };
        draft.columns.insert(at, column);
        Ok(())
    }

    fn set_default(&mut self, name: &str, default: Option<(&ast::Expr, bool)>) -> Result<()> {
        let position = self.require(name)?;
        let column = &self.edited.draft.columns[position].column;
        let default = match default {
            Some(_) if column.auto_increment => return Err(errors::invalid_default(name)),
            Some((expr, is_expression)) => {
                column::column_default(expr, is_expression, name, &column.sql_type, column.nullable, self.context)?
            }
            None => ColumnDefault::None,
        };
        self.draft().columns[position].column.default = default;
        Ok(())
    }

    fn apply_options(&mut self, written: &[ast::TableOption]) -> Result<()> {
        for option in written {
            if let ast::TableOption::AutoIncrement(value) = option {
                self.edited.auto_increment = Some((*value).max(1));
            }
        }
        let name = self.schema.name.clone();
        options::apply(written, &name, &mut self.edited.draft.options, self.context, self.notes)
    }

    /// CONVERT TO CHARACTER SET: all texts, and the default for columns to come.
    fn convert(&mut self, charset: &CharsetChoice, collation: Option<&str>) -> Result<()> {
        let charset = match charset {
            CharsetChoice::Named(name) => Charset::resolve(name)?,
            CharsetChoice::National => Charset::Utf8mb3,
            CharsetChoice::Default => self.context.database_collation.charset(),
        };
        let collation = match collation {
            Some(name) => Collation::resolve(name)?,
            None => charset.default_collation(),
        };
        collation.check_charset(charset)?;
        if collation.is_binary() {
            return Err(Error::unsupported("CONVERT TO CHARACTER SET binary"));
        }
        let store_options = self.context.store_options();
        let draft = self.draft();
        draft.options.collation = collation;
        for column in draft.columns.iter_mut().map(|draft| &mut draft.column) {
            if column.sql_type.is_string() && !column.sql_type.is_binary_string() {
                let from = column.sql_type.collation;
                column.sql_type = converted_type(&column.sql_type, collation, &column.name)?;
                if let ColumnDefault::Value(value) = &column.default {
                    let target =
                        shoal_types::StoreTarget { sql_type: &column.sql_type, column: &column.name, row: 1 };
                    let stored = shoal_types::store_value(value.clone(), from, target, &store_options);
                    let (value, _) = stored.map_err(|_| errors::invalid_default(&column.name))?;
                    column.default = ColumnDefault::Value(value);
                }
            }
        }
        Ok(())
    }

    /// Keys and partitioning that the table had speak of columns by their new names.
    fn translate_names(&mut self) {
        let schema = self.schema;
        let columns = &self.edited.draft.columns;
        let new_name = |old: &str| {
            let origin = schema.column_position(old)?;
            let found = columns.iter().find(|draft| draft.origin == Some(origin))?;
            Some(found.column.name.clone())
        };
        let renamed: Vec<(String, String)> = schema
            .columns
            .iter()
            .filter_map(|column| Some((column.name.clone(), new_name(&column.name)?)))
            .collect();
        for key in &mut self.edited.draft.foreign_keys {
            if schema.foreign_keys.iter().any(|old| old.name == key.name) {
                foreign_keys::rename_columns(&mut key.columns, &renamed);
                if key.parent == (schema.database.clone(), schema.name.clone()) {
                    foreign_keys::rename_columns(&mut key.parent_columns, &renamed);
                }
            }
        }
        for key in self.edited.draft.keys.iter_mut().filter(|key| key.origin.is_some()) {
            for part in &mut key.parts {
                if let Some(name) = new_name(&part.column) {
                    part.column = name;
                }
            }
        }
        let untouched = schema.options.partitioned_by_key;
        let present: Vec<String> =
            schema.partition_columns.iter().map(|&column| schema.columns[column].name.clone()).collect();
        if untouched && self.edited.draft.partition_by.as_ref() == Some(&present) {
            let names = present.iter().map(|name| new_name(name).unwrap_or_else(|| name.clone())).collect();
            self.edited.draft.partition_by = Some(names);
        }
    }
}

fn no_such_check(name: &str) -> Error {
    let message = format!("Check constraint '{name}' is not found in the table.");
    Error::new(ErrorCode::CheckConstraintNotFound, message)
}

/// A text type in another character set: TEXT grows so that as many characters fit, labels are converted.
fn converted_type(sql_type: &SqlType, collation: Collation, name: &str) -> Result<SqlType> {
    let (from, to) = (sql_type.collation.charset(), collation.charset());
    let mut converted = SqlType { collation, ..sql_type.clone() };
    if sql_type.base == BaseType::Text && to.char_bytes_max() > from.char_bytes_max() {
        let bytes = u64::from(sql_type.length) / from.char_bytes_max() as u64 * to.char_bytes_max() as u64;
        let sizes = [0xFF, 0xFFFF, 0xFF_FFFF, u32::MAX];
        converted.length = sizes.into_iter().find(|&size| bytes <= u64::from(size)).unwrap_or(u32::MAX);
    }
    if sql_type.base == BaseType::VarChar {
        let limit = 65_535 / to.char_bytes_max() as u32;
        if sql_type.length > limit {
            let message =
                format!("Column length too big for column '{name}' (max = {limit}); use BLOB or TEXT instead");
            return Err(Error::new(ErrorCode::TooBigFieldLength, message));
        }
    }
    if let Some(labels) = &sql_type.labels {
        let labels = labels.iter().map(|label| {
            let label = Charset::convert(label, from, to);
            if label.is_exact() {
                return Ok(label.bytes.into_owned().into_boxed_slice());
            }
            let message = format!("Invalid {} character string in column '{name}'", to.name());
            Err(Error::new(ErrorCode::InvalidCharacterString, message))
        });
        converted.labels = Some(labels.collect::<Result<Vec<_>>>()?.into());
    }
    Ok(converted)
}
