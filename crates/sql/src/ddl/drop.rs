//! DROP TABLE, TRUNCATE TABLE, RENAME TABLE.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_cluster::{Catalog, Change, Table};
use shoal_parser::ast;
use shoal_types::{ErrorCode, Result, TableSchema, WarningLevel};

use super::build::assign_new_ids;
use super::draft::check_object_name;
use super::forget::forgettable;
use super::{errors, foreign_keys, lock, publish, trigger};
use crate::account::{self, Privileges};
use crate::counters::Counter;
use crate::databases::no_such_table;
use crate::dml::Affected;
use crate::session::Session;

/// A database and a table's name in it.
type TableName = (String, String);

pub async fn drop_tables(session: &mut Session, statement: &ast::DropTable) -> Result<Affected> {
    session.count(Counter::ComDropTable);
    let mut names: Vec<TableName> = Vec::with_capacity(statement.names.len());
    let mut own: Vec<Arc<Table>> = Vec::new();
    for name in &statement.names {
        let name = super::qualified(session, name)?;
        let table = session.temporary_table(&name.0, &name.1);
        let is_there_twice = table.is_some_and(|table| own.iter().any(|other| other.id() == table.id()));
        if is_there_twice || names.contains(&name) {
            return Err(errors::not_unique(&name.1));
        }
        if let Some(table) = table {
            own.push(Arc::clone(table));
            continue;
        }
        super::database::check_changeable(session, &name.0)?;
        if !statement.temporary {
            account::require(session, &name.0, Some(&name.1), Privileges::DROP)?;
        }
        names.push(name);
    }
    let missing = match statement.temporary {
        true => names.iter().map(|(database, name)| format!("{database}.{name}")).collect(),
        false => drop_shared(session, statement, &names).await?,
    };
    if !missing.is_empty() && !statement.if_exists {
        return Err(errors::unknown_tables(&missing.join(",")));
    }
    for table in own {
        session.drop_temporary(table.id()).await;
    }
    for name in missing {
        session.warn(WarningLevel::Note, ErrorCode::BadTable, errors::unknown_tables(&name).message());
    }
    Ok(Affected::default())
}

/// Drops the tables that all share, if none is missing or that is allowed; those that are.
async fn drop_shared(session: &Session, statement: &ast::DropTable, names: &[TableName]) -> Result<Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let checks_keys = session.variables.foreign_key_checks;
    let node = Arc::clone(&session.server.node);
    loop {
        let present = present_tables(session, names);
        let locks = lock::exclusive(session, &present).await?;
        let dropped = publish::change(&node, |catalog| {
            let mut changes = Vec::new();
            let (mut missing, mut tables) = (Vec::new(), Vec::new());
            for (database, name) in names {
                match catalog.table(database, name) {
                    Some(table) if !locks.cover(table) => return Ok((Vec::new(), None)),
                    Some(table) => {
                        changes.extend(trigger::dropped_with(catalog, table));
                        changes.push(Change::DropTable(table.id()));
                        tables.push(Arc::clone(table));
                    }
                    None => missing.push(format!("{database}.{name}")),
                }
            }
            if !missing.is_empty() && !statement.if_exists {
                return Err(errors::unknown_tables(&missing.join(",")));
            }
            if checks_keys {
                foreign_keys::check_drop(catalog, &tables)?;
            }
            Ok((changes, Some(missing)))
        });
        if let Some(missing) = dropped.await? {
            return Ok(missing);
        }
    }
}

fn present_tables(session: &Session, names: &[TableName]) -> Vec<Arc<Table>> {
    let catalog = session.server.node.catalog();
    names.iter().filter_map(|(database, name)| catalog.table(database, name).cloned()).collect()
}

/// TRUNCATE: an empty table with the same definition in the place of the old one.
pub async fn truncate(session: &mut Session, name: &ast::ObjectName) -> Result<Affected> {
    session.count(Counter::ComTruncate);
    let (database, name) = super::qualified(session, name)?;
    if let Some((name, forget)) = forgettable(&database, &name) {
        account::require(session, "performance_schema", Some(name), Privileges::DROP)?;
        forget(&session.server);
        return Ok(Affected::default());
    }
    super::database::check_changeable(session, &database)?;
    account::require(session, &database, Some(&name), Privileges::DROP)?;
    let checks_keys = session.variables.foreign_key_checks;
    let node = Arc::clone(&session.server.node);
    loop {
        let present = present_tables(session, &[(database.clone(), name.clone())]);
        let locks = lock::exclusive(session, &present).await?;
        let truncated = publish::change(&node, |catalog| {
            let table = catalog.table(&database, &name).ok_or_else(|| no_such_table(&database, &name))?;
            if !locks.cover(table) {
                return Ok((Vec::new(), false));
            }
            if checks_keys {
                foreign_keys::check_truncate(catalog, table)?;
            }
            let mut schema = table.schema.clone();
            let version = schema.version;
            assign_new_ids(&mut schema, || node.next_table_id());
            schema.version = version + 1;
            schema.options.auto_increment = 1;
            let mut changes = vec![Change::DropTable(table.id())];
            changes.extend(publish::put_new_table(schema));
            Ok((changes, true))
        });
        if truncated.await? {
            return Ok(Affected::default());
        }
    }
}

/// RENAME TABLE: from left to right, all or nothing.
pub async fn rename(session: &mut Session, pairs: &[(ast::ObjectName, ast::ObjectName)]) -> Result<Affected> {
    session.count(Counter::ComRenameTable);
    let mut names: Vec<(TableName, TableName)> = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        let (from, to) = (super::qualified(session, from)?, super::qualified(session, to)?);
        check_rename(session, &from, &to)?;
        names.push((from, to));
    }
    let node = Arc::clone(&session.server.node);
    let sources: Vec<TableName> = names.iter().map(|(from, _)| from.clone()).collect();
    loop {
        let present = present_tables(session, &sources);
        let locks = lock::exclusive(session, &present).await?;
        let renamed = publish::change(&node, |catalog| {
            let renamed = plan_renames(catalog, &names)?;
            if !renamed.iter().all(|(table, _)| locks.cover(table)) {
                return Ok((Vec::new(), false));
            }
            let mut changes = Vec::new();
            for (table, to) in &renamed {
                let from = (table.schema.database.as_str(), table.schema.name.as_str());
                changes.extend(trigger::renamed_with(catalog, from, (&to.0, &to.1))?);
            }
            changes.extend(renamed_schemas(catalog, &renamed).into_iter().map(Change::PutTable));
            Ok((changes, true))
        });
        if renamed.await? {
            return Ok(Affected::default());
        }
    }
}

/// The tables as they are called then, and those whose foreign keys refer to them.
fn renamed_schemas(catalog: &Catalog, renamed: &[(Arc<Table>, TableName)]) -> Vec<TableSchema> {
    let name_of = |table: &Table| (table.schema.database.clone(), table.schema.name.clone());
    let mut schemas: Vec<TableSchema> = Vec::with_capacity(renamed.len());
    for (table, to) in renamed {
        let mut schema = table.schema.clone();
        schema.version += 1;
        super::checks::rename(schema.checks.iter_mut(), &table.schema.name, &to.1);
        foreign_keys::rename(&mut schema.foreign_keys, &name_of(table), to);
        (schema.database, schema.name) = to.clone();
        schemas.push(schema);
    }
    for (table, to) in renamed {
        let from = name_of(table);
        for child in foreign_keys::follow_parent(catalog, (&from, to), &[], table.id()) {
            match schemas.iter_mut().find(|schema| schema.id == child.id) {
                Some(schema) => foreign_keys::rename(&mut schema.foreign_keys, &from, to),
                None => schemas.push(child),
            }
        }
    }
    schemas
}

/// The tables that get another name, and their names. Errors: 1049, 1050, 1146.
fn plan_renames(catalog: &Catalog, names: &[(TableName, TableName)]) -> Result<Vec<(Arc<Table>, TableName)>> {
    // Where names lead after the renames so far; `None`: nowhere.
    let mut moved: HashMap<TableName, Option<Arc<Table>>> = HashMap::new();
    for (from, to) in names {
        crate::databases::check_exists(catalog, &to.0)?;
        let find = |name: &TableName| match moved.get(name) {
            Some(table) => table.clone(),
            None => catalog.table(&name.0, &name.1).cloned(),
        };
        let table = find(from).ok_or_else(|| no_such_table(&from.0, &from.1))?;
        if find(to).is_some() {
            return Err(errors::table_exists(&to.1));
        }
        moved.insert(from.clone(), None);
        moved.insert(to.clone(), Some(table));
    }
    Ok(moved.into_iter().filter_map(|(name, table)| Some((table?, name))).collect())
}

/// Names and privileges of a rename. Errors: 1103, 1059, 1142, 1044.
pub fn check_rename(session: &Session, from: &TableName, to: &TableName) -> Result<()> {
    check_object_name(&to.1, false)?;
    super::database::check_changeable(session, &from.0)?;
    super::database::check_changeable(session, &to.0)?;
    account::require(session, &from.0, Some(&from.1), Privileges::ALTER.with(Privileges::DROP))?;
    account::require(session, &to.0, Some(&to.1), Privileges::CREATE.with(Privileges::INSERT))
}
