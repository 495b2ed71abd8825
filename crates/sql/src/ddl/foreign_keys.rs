//! FOREIGN KEY in definitions: what is written, what the parent must have, and what becomes of it when tables and columns change.

use std::sync::Arc;

use shoal_cluster::{Catalog, Change, Table};
use shoal_parser::ast;
use shoal_txn::foreign_keys::{index_beginning_with, unique_key_over};
use shoal_types::{
    BaseType, Error, ErrorCode, ForeignKey, ReferentialAction, Result, SqlType, TableId, TableSchema,
};

use super::draft::{DraftKey, DraftKeyKind, DraftPart, TableDraft};
use crate::account::{self, Privileges};
use crate::dml::rules::RowRules;
use crate::session::Session;

type TableName = (String, String);

/// A constraint as written, with the index that it needs if the draft has none. Without a name it gets one in [`name_new`].
/// Errors: 1215 for SET DEFAULT, 1239, 1072.
pub fn add(draft: &mut TableDraft, key: &ast::ForeignKey) -> Result<()> {
    let names = |columns: &[ast::Ident]| columns.iter().map(|column| column.value.clone()).collect::<Vec<_>>();
    let (columns, parent_columns) = (names(&key.columns), names(&key.reference.columns));
    let name = key.constraint.as_ref().map(|name| name.value.clone()).unwrap_or_default();
    if columns.len() != parent_columns.len() {
        let shown = if name.is_empty() { "foreign key without name" } else { &name };
        let message = format!(
            "Incorrect foreign key definition for '{shown}': Key reference and table reference don't match"
        );
        return Err(Error::new(ErrorCode::WrongFkOption, message));
    }
    if let Some(missing) = columns.iter().find(|column| draft.column_position(column).is_none()) {
        let message = format!("Key column '{missing}' doesn't exist in table");
        return Err(Error::new(ErrorCode::KeyColumnDoesNotExist, message));
    }
    let reference = &key.reference;
    let database = reference.table.schema.as_ref().map_or(&draft.database, |database| &database.value);
    let parent = (database.clone(), reference.table.name.value.clone());
    if !has_index(draft, &columns) {
        let index_name = key.constraint.as_ref().or(key.index_name.as_ref()).map(|name| name.value.clone());
        draft.keys.push(index_over(index_name, &columns));
    }
    let on_delete = action(reference.on_delete)?;
    let on_update = action(reference.on_update)?;
    draft.foreign_keys.push(ForeignKey { name, columns, parent, parent_columns, on_delete, on_update });
    Ok(())
}

/// Errors: 1215, InnoDB knows no SET DEFAULT.
fn action(written: Option<ast::ReferentialAction>) -> Result<ReferentialAction> {
    Ok(match written {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => {
            return Err(Error::new(ErrorCode::CannotAddForeign, "Cannot add foreign key constraint"));
        }
    })
}

fn has_index(draft: &TableDraft, columns: &[String]) -> bool {
    let is_whole = |part: &DraftPart, column: &String| {
        part.prefix_length.is_none() && part.column.eq_ignore_ascii_case(column)
    };
    draft.keys.iter().any(|key| {
        key.parts.len() >= columns.len()
            && key.parts.iter().zip(columns).all(|(part, column)| is_whole(part, column))
    })
}

fn index_over(name: Option<String>, columns: &[String]) -> DraftKey {
    let part = |column: &String| DraftPart::of_column(column);
    DraftKey {
        name,
        parts: columns.iter().map(part).collect(),
        ..DraftKey::on_column(DraftKeyKind::Index, &columns[0])
    }
}

/// The name that InnoDB gives to the nth constraint of a table that has none.
fn made_up_name(table: &str, number: usize) -> String {
    format!("{table}_ibfk_{number}")
}

fn made_up_number(table: &str, name: &str) -> Option<usize> {
    name.strip_prefix(table)?.strip_prefix("_ibfk_")?.parse().ok()
}

/// Names what has no name, above all numbers that the table has already. Constraints are in the order of their names, in which they are shown and checked.
pub fn name_new(draft: &mut TableDraft) {
    let numbers = draft.foreign_keys.iter().filter_map(|key| made_up_number(&draft.name, &key.name));
    let mut last = numbers.max().unwrap_or(0);
    for key in draft.foreign_keys.iter_mut().filter(|key| key.name.is_empty()) {
        last += 1;
        key.name = made_up_name(&draft.name, last);
    }
    draft.foreign_keys.sort_by(|one, other| one.name.cmp(&other.name));
}

/// A table is called otherwise: names that were made up follow it, and references to itself.
pub fn rename(keys: &mut [ForeignKey], from: &TableName, to: &TableName) {
    for key in keys {
        if let Some(number) = made_up_number(&from.1, &key.name) {
            key.name = made_up_name(&to.1, number);
        }
        if key.parent == *from {
            key.parent = to.clone();
        }
    }
}

/// Checks the foreign keys that `old` has not. Parents that are missing are waited for where foreign_key_checks is off.
/// Errors: 1142, 1822, 1824, 1826, 1830, 3734, 3780, 6125.
pub fn check_new(session: &Session, schema: &TableSchema, old: Option<&TableSchema>) -> Result<()> {
    let catalog = session.server.node.catalog();
    check_names(&catalog, schema, old.map(|old| old.id))?;
    let is_new = |key: &&ForeignKey| old.is_none_or(|old| !old.foreign_keys.contains(key));
    for key in schema.foreign_keys.iter().filter(is_new) {
        let (database, name) = &key.parent;
        let is_self = (database, name) == (&schema.database, &schema.name);
        if !is_self {
            account::require(session, database, Some(name), Privileges::REFERENCES)?;
        }
        let own = schema.clone();
        let parent = match (is_self, catalog.table(database, name)) {
            (true, _) => Table::new(own, Arc::new(shoal_cluster::Sequence::new(1))),
            (false, Some(parent)) => Table::new(parent.schema.clone(), Arc::new(shoal_cluster::Sequence::new(1))),
            (false, None) if !session.variables.foreign_key_checks => continue,
            (false, None) => {
                let message = format!("Failed to open the referenced table '{name}'");
                return Err(Error::new(ErrorCode::FkCannotOpenParent, message));
            }
        };
        check_against(schema, key, &parent)?;
    }
    Ok(())
}

fn check_names(catalog: &Catalog, schema: &TableSchema, own: Option<TableId>) -> Result<()> {
    let duplicate = |name: &str| {
        Err(Error::new(ErrorCode::FkDupName, format!("Duplicate foreign key constraint name '{name}'")))
    };
    let keys = &schema.foreign_keys;
    for (position, key) in keys.iter().enumerate() {
        if keys[..position].iter().any(|other| other.name.eq_ignore_ascii_case(&key.name)) {
            return duplicate(&key.name);
        }
    }
    let Some(database) = catalog.database(&schema.database).filter(|_| !keys.is_empty()) else { return Ok(()) };
    for table in database.tables.values().filter(|table| Some(table.id()) != own) {
        for other in &table.schema.foreign_keys {
            if let Some(key) = keys.iter().find(|key| key.name.eq_ignore_ascii_case(&other.name)) {
                return duplicate(&key.name);
            }
        }
    }
    Ok(())
}

fn check_against(schema: &TableSchema, key: &ForeignKey, parent: &Table) -> Result<()> {
    let name = &key.name;
    let mut referenced = Vec::with_capacity(key.columns.len());
    for (column, parent_column) in key.columns.iter().zip(&key.parent_columns) {
        let Some(own) = schema.column_position(column).map(|position| &schema.columns[position]) else { continue };
        let Some(position) = parent.schema.column_position(parent_column) else {
            let message = format!(
                "Failed to add the foreign key constraint. Missing column '{parent_column}' for constraint '{name}' in \
                 the referenced table '{}'",
                parent.schema.name
            );
            return Err(Error::new(ErrorCode::FkNoColumnParent, message));
        };
        let set_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
        if set_null && !own.nullable {
            let message = format!(
                "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{name}' SET NULL"
            );
            return Err(Error::new(ErrorCode::FkColumnNotNull, message));
        }
        if !are_compatible(&own.sql_type, &parent.schema.columns[position].sql_type) {
            return Err(incompatible(column, parent_column, name));
        }
        referenced.push(position);
    }
    if unique_key_over(parent, &referenced).is_some() {
        return Ok(());
    }
    let (code, what) = match index_beginning_with(parent, &referenced) {
        Some(_) => (ErrorCode::FkNoUniqueIndexParent, "unique key"),
        None => (ErrorCode::FkNoIndexParent, "index"),
    };
    let message = format!(
        "Failed to add the foreign key constraint. Missing {what} for constraint '{name}' in the referenced table '{}'",
        parent.schema.name
    );
    Err(Error::new(code, message))
}

/// What a parent changes in a row is looked at by no CHECK, and no generated column follows it. Errors: 3823, 1235.
pub fn check_changed_columns(schema: &TableSchema, rules: &RowRules) -> Result<()> {
    let changes = |action| matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull);
    for key in &schema.foreign_keys {
        if key.on_delete != ReferentialAction::SetNull && !changes(key.on_update) {
            continue;
        }
        for (column, position) in key.columns.iter().filter_map(|name| Some((name, schema.column_position(name)?)))
        {
            let reads = |expression: &shoal_expr::Expr| expression.columns_used().contains(&position);
            if let Some(check) = rules.checks.iter().find(|check| reads(&check.condition)) {
                let message = format!(
                    "Column '{column}' cannot be used in a check constraint '{}': needed in a foreign key constraint '{}' \
                     referential action.",
                    check.name, key.name
                );
                return Err(Error::new(ErrorCode::CheckUsesForeignKeyColumn, message));
            }
            if rules.generated.iter().any(|(_, value)| reads(value)) {
                return Err(Error::unsupported(format!(
                    "a foreign key that changes column '{column}', which a generated column reads"
                )));
            }
        }
    }
    Ok(())
}

fn incompatible(column: &str, parent_column: &str, name: &str) -> Error {
    let message = format!(
        "Referencing column '{column}' and referenced column '{parent_column}' in foreign key constraint '{name}' are \
         incompatible."
    );
    Error::new(ErrorCode::FkIncompatibleColumns, message)
}

/// Keys of both types are the same bytes for the same values. Lengths of texts may differ, as in InnoDB.
fn are_compatible(child: &SqlType, parent: &SqlType) -> bool {
    let is_text = |one: &SqlType| matches!(one.base, BaseType::Char | BaseType::VarChar);
    (child.base == parent.base || is_text(child) && is_text(parent))
        && child.unsigned == parent.unsigned
        && child.decimals == parent.decimals
        && child.collation == parent.collation
        && (child.base != BaseType::Decimal || child.length == parent.length)
}

/// What an alteration may not take from the foreign keys that stay, as child and as parent; the parent's columns are followed by its
/// children's definitions. Errors: 1553, 1828, 1829, 1832, 1833.
pub fn check_kept(
    session: &Session,
    catalog: &Catalog,
    old: &Table,
    built: &super::build::BuiltTable,
) -> Result<()> {
    let new = Table::new(built.schema.clone(), Arc::new(shoal_cluster::Sequence::new(1)));
    let schema = &old.schema;
    let origin_of = |position: usize| built.column_origins.iter().position(|origin| *origin == Some(position));
    for key in
        schema.foreign_keys.iter().filter(|key| new.schema.foreign_keys.iter().any(|kept| kept.name == key.name))
    {
        for column in &key.columns {
            let Some(position) = schema.column_position(column) else { continue };
            let Some(place) = origin_of(position) else {
                let message =
                    format!("Cannot drop column '{column}': needed in a foreign key constraint '{}'", key.name);
                return Err(Error::new(ErrorCode::FkColumnCannotDrop, message));
            };
            let changed = !are_compatible(&schema.columns[position].sql_type, &new.schema.columns[place].sql_type);
            if changed && session.variables.foreign_key_checks {
                let message =
                    format!("Cannot change column '{column}': used in a foreign key constraint '{}'", key.name);
                return Err(Error::new(ErrorCode::FkColumnCannotChange, message));
            }
        }
    }
    for key in &new.schema.foreign_keys {
        let columns: Option<Vec<usize>> =
            key.columns.iter().map(|name| new.schema.column_position(name)).collect();
        if columns.is_some_and(|columns| index_beginning_with(&new, &columns).is_none()) {
            return Err(needed_index(old, &new));
        }
    }
    for child in catalog.children_of(&schema.database, &schema.name) {
        let of_this = |key: &&ForeignKey| key.parent == (schema.database.clone(), schema.name.clone());
        for key in
            child.schema.foreign_keys.iter().filter(of_this).filter(|_| session.variables.foreign_key_checks)
        {
            check_kept_by_parent(old, &new, key, &child.schema.name, &origin_of)?;
        }
    }
    Ok(())
}

fn check_kept_by_parent(
    old: &Table,
    new: &Table,
    key: &ForeignKey,
    child: &str,
    origin_of: &dyn Fn(usize) -> Option<usize>,
) -> Result<()> {
    let mut referenced = Vec::new();
    for column in &key.parent_columns {
        let Some(position) = old.schema.column_position(column) else { continue };
        let name = &key.name;
        let Some(place) = origin_of(position) else {
            let message = format!(
                "Cannot drop column '{column}': needed in a foreign key constraint '{name}' of table '{child}'"
            );
            return Err(Error::new(ErrorCode::FkColumnCannotDropChild, message));
        };
        if !are_compatible(&old.schema.columns[position].sql_type, &new.schema.columns[place].sql_type) {
            let message = format!(
                "Cannot change column '{column}': used in a foreign key constraint '{name}' of table '{child}'"
            );
            return Err(Error::new(ErrorCode::FkColumnCannotChangeChild, message));
        }
        referenced.push(place);
    }
    match unique_key_over(new, &referenced) {
        Some(_) => Ok(()),
        None => Err(needed_index(old, new)),
    }
}

/// Error 1553, about the index that is not there any more.
fn needed_index(old: &Table, new: &Table) -> Error {
    let is_kept = |name: &str| new.schema.indexes.iter().any(|index| index.name == name);
    let gone = old.schema.indexes.iter().find(|index| !is_kept(&index.name));
    let name = gone.map_or("PRIMARY", |index| &index.name);
    let message = format!("Cannot drop index '{name}': needed in a foreign key constraint");
    Error::new(ErrorCode::DropIndexFk, message)
}

/// The tables that new foreign keys refer to, but for the child itself.
pub fn parents(catalog: &Catalog, schema: &TableSchema, old: Option<&TableSchema>) -> Vec<Arc<Table>> {
    let is_new = |key: &&ForeignKey| old.is_none_or(|old| !old.foreign_keys.contains(key));
    let is_other = |key: &&ForeignKey| key.parent != (schema.database.clone(), schema.name.clone());
    let keys = schema.foreign_keys.iter().filter(is_new).filter(is_other);
    let mut parents: Vec<Arc<Table>> =
        keys.filter_map(|key| catalog.table(&key.parent.0, &key.parent.1).cloned()).collect();
    parents.sort_unstable_by_key(|parent| parent.id());
    parents.dedup_by_key(|parent| parent.id());
    parents
}

/// Another version of each parent: nothing goes on that was planned when it had no such child.
pub fn touch(parents: &[Arc<Table>]) -> impl Iterator<Item = Change> + '_ {
    parents.iter().map(|parent| {
        let mut schema = parent.schema.clone();
        schema.version += 1;
        Change::PutTable(schema)
    })
}

/// What the children of a table that is called otherwise, or whose columns are, look like then. `columns`: old and new names.
pub fn follow_parent(
    catalog: &Catalog,
    (from, to): (&TableName, &TableName),
    columns: &[(String, String)],
    own: TableId,
) -> Vec<TableSchema> {
    let mut changed = Vec::new();
    for child in catalog.children_of(&from.0, &from.1).into_iter().filter(|child| child.id() != own) {
        let mut schema = child.schema.clone();
        for key in schema.foreign_keys.iter_mut().filter(|key| key.parent == *from) {
            key.parent = to.clone();
            rename_columns(&mut key.parent_columns, columns);
        }
        if schema != child.schema {
            schema.version += 1;
            changed.push(schema);
        }
    }
    changed
}

/// Gives columns their new names.
pub fn rename_columns(names: &mut [String], renamed: &[(String, String)]) {
    for name in names {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)) {
            name.clone_from(new);
        }
    }
}

/// A table is not dropped while another refers to it, unless that goes as well. Errors: 3730.
pub fn check_drop(catalog: &Catalog, dropped: &[Arc<Table>]) -> Result<()> {
    for table in dropped {
        for child in catalog.children_of(&table.schema.database, &table.schema.name) {
            if dropped.iter().any(|other| other.id() == child.id()) {
                continue;
            }
            let of_this =
                |key: &&ForeignKey| (&key.parent.0, &key.parent.1) == (&table.schema.database, &table.schema.name);
            let key = child.schema.foreign_keys.iter().find(of_this);
            let message = format!(
                "Cannot drop table '{}' referenced by a foreign key constraint '{}' on table '{}'.",
                table.schema.name,
                key.map_or("", |key| &key.name),
                child.schema.name
            );
            return Err(Error::new(ErrorCode::FkCannotDropParent, message));
        }
    }
    Ok(())
}

/// Errors: 1701.
pub fn check_truncate(catalog: &Catalog, table: &Table) -> Result<()> {
    let schema = &table.schema;
    let children = catalog.children_of(&schema.database, &schema.name);
    let Some(child) = children.into_iter().find(|child| child.id() != table.id()) else { return Ok(()) };
    let of_this = |key: &&ForeignKey| (&key.parent.0, &key.parent.1) == (&schema.database, &schema.name);
    let key = child.schema.foreign_keys.iter().find(of_this).map_or("", |key| &key.name);
    let message = format!(
        "Cannot truncate a table referenced in a foreign key constraint (`{}`.`{}`, CONSTRAINT `{key}`)",
        child.schema.database, child.schema.name
    );
    Err(Error::new(ErrorCode::TruncateIllegalFk, message))
}
