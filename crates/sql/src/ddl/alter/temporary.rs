//! ALTER TABLE of a temporary table: a new one gets its rows and then its place, unless all that changes is the name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::Table;
use shoal_parser::ast::{AlterTable, AlterTableAction};
use shoal_types::{Error, ErrorCode, Result};

use super::copy::{Conversion, copy_rows};
use super::{Prepared, prepare};
use crate::ddl::{checks, defaults, errors, temporary};
use crate::dml::Affected;
use crate::dml::load::insert_settings;
use crate::session::Session;

pub async fn alter(session: &mut Session, statement: &AlterTable, table: &Arc<Table>) -> Result<Affected> {
    if let [AlterTableAction::RenameTable(to)] = &statement.actions[..] {
        let (database, name) = crate::ddl::qualified(session, to)?;
        return rename(session, table, database, name);
    }
    let Prepared { mut built, name, auto_increment, .. } = prepare(session, statement, table, &[])?;
    if !built.schema.foreign_keys.is_empty() {
        return Err(Error::new(ErrorCode::CannotAddForeign, "Cannot add foreign key constraint"));
    }
    let present = table.next_auto_increment.load(Ordering::Relaxed).max(1);
    let counter = match auto_increment {
        // It can be lowered only where there are no rows.
        Some(asked) if session.transaction.row_count(table) == 0 => asked,
        Some(asked) => asked.max(present),
        None => present,
    };
    temporary::assign_ids(session, &mut built.schema)?;
    built.schema.options.auto_increment = counter;
    (built.schema.database, built.schema.name) = name;
    let (new, kept) = session.create_temporary(built.schema).await?;
    let copied = async {
        let (defaults, rules) = defaults::resolve(session, &new)?;
        let (old, new, origins) = (Arc::clone(table), Arc::clone(&new), built.column_origins);
        let conversion = Conversion { old, new, origins, defaults, rules, foreign: None };
        let settings = insert_settings(session);
        copy_rows(session, &conversion, settings).await
    }
    .await;
    let rows = match copied {
        Ok(rows) => rows,
        Err(error) => {
            session.transaction.rollback();
            session.discard_temporary(kept).await;
            return Err(error);
        }
    };
    new.next_auto_increment.fetch_max(counter, Ordering::Relaxed);
    session.drop_temporary(table.id()).await;
    session.add_temporary(new, kept);
    let info = format!("Records: {rows}  Duplicates: 0  Warnings: {}", session.state.warning_count);
    Ok(Affected { rows, info, ..Affected::default() })
}

/// Errors: 1049, 1050, 1103, 1059.
fn rename(session: &mut Session, table: &Arc<Table>, database: String, name: String) -> Result<Affected> {
    crate::ddl::draft::check_object_name(&name, false)?;
    crate::databases::check_exists(&session.server.node.catalog(), &database)?;
    let taken = session.temporary_table(&database, &name);
    if taken.is_some_and(|taken| taken.id() != table.id()) {
        return Err(errors::table_exists(&name));
    }
    let mut schema = table.schema.clone();
    checks::rename(schema.checks.iter_mut(), &table.schema.name, &name);
    (schema.database, schema.name) = (database, name);
    session.redefine_temporary(Arc::new(Table::temporary(table, schema)));
    Ok(Affected::default())
}
