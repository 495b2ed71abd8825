//! CREATE TEMPORARY TABLE, and TRUNCATE of what it has made.
//!
//! Nobody else sees these tables, so no lock is taken and the dictionary that all share stays as it is. CREATE and DROP TEMPORARY TABLE
//! leave the running transaction open, as in MySQL: rows that a SELECT brings are part of it, the table itself is not.

use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
use shoal_parser::ast::{CreateTable, ObjectName, Statement};
use shoal_types::{Error, ErrorCode, Result, TableSchema, Warning};

use super::build::{assign_new_ids, build};
use super::draft::{TableDraft, check_object_name};
use super::{checks, create, defaults, functional, select};
use crate::account::{self, Privileges};
use crate::counters::Counter;
use crate::databases;
use crate::dml::Affected;
use crate::plan::QueryPlan;
use crate::session::Session;

/// The statement says that it is about temporary tables, and does not end the running transaction.
pub fn is_about_temporary(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(create) => create.temporary,
        Statement::DropTable(drop) => drop.temporary,
        _ => false,
    }
}

/// All tables that the statement defines are temporary ones of the session.
pub fn concerns_temporary_alone(session: &Session, statement: &Statement) -> bool {
    let is_own = |name: &ObjectName| named(session, name).is_some();
    match statement {
        Statement::AlterTable(alter) => is_own(&alter.name),
        Statement::CreateIndex(create) => is_own(&create.table),
        Statement::DropIndex(drop) => is_own(&drop.table),
        Statement::TruncateTable(name) => is_own(name),
        Statement::DropTable(drop) => drop.names.iter().all(is_own),
        _ => false,
    }
}

/// The session's temporary table that a name means.
pub fn named(session: &Session, name: &ObjectName) -> Option<Arc<Table>> {
    let (database, name) = super::qualified(session, name).ok()?;
    session.temporary_table(&database, &name).cloned()
}

/// What no temporary table has. Errors: 1215, 1562.
pub fn check_draft(draft: &TableDraft) -> Result<()> {
    if !draft.foreign_keys.is_empty() {
        return Err(Error::new(ErrorCode::CannotAddForeign, "Cannot add foreign key constraint"));
    }
    if draft.partition_by.is_some() {
        let message = "Cannot create temporary table with partitions";
        return Err(Error::new(ErrorCode::PartitionNoTemporary, message));
    }
    Ok(())
}

pub async fn create(session: &mut Session, statement: &CreateTable) -> Result<Affected> {
    session.count(Counter::ComCreateTable);
    let (database, name) = super::qualified(session, &statement.name)?;
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    account::require(session, &database, None, Privileges::CREATE_TEMPORARY_TABLES)?;
    create::check_like(session, statement, (&database, &name))?;
    let catalog = session.catalog();
    let Some(present) = catalog.database(&database) else { return Err(databases::no_such_database(&database)) };
    if session.temporary_table(&database, &name).is_some() {
        return create::exists(session, statement, &name);
    }
    let context = super::context(session, present.collation);
    let mut notes = Vec::new();
    if let Some(source) = &statement.like {
        let source = create::source_of_like(session, source)?;
        let mut schema = create::like(session, &source.schema, (&database, &name), &context, &mut notes)?;
        super::add_notes(session, notes);
        check_draft(&TableDraft::of_schema(&schema))?;
        assign_ids(session, &mut schema)?;
        return add(session, schema).await;
    }
    let mut draft = create::draft_of(statement, &database, &name, &context, &mut notes)?;
    check_draft(&draft)?;
    let Some(query) = &statement.query else {
        let schema = finish(session, draft, &mut notes)?;
        super::add_notes(session, notes);
        return add(session, schema).await;
    };
    let query = create::plan_query(session, query)?;
    let targets = select::add_columns(&mut draft, &query.columns, &catalog)?;
    let schema = finish(session, draft, &mut notes)?;
    super::add_notes(session, notes);
    let targets = select::targets(&schema, &targets)?;
    add_filled(session, statement, schema, targets, query).await
}

/// The schema with its ids. Names of constraints need only be different within the table.
fn finish(session: &mut Session, mut draft: TableDraft, notes: &mut Vec<Warning>) -> Result<TableSchema> {
    create::declare_primary_key(session, &mut draft)?;
    functional::complete(session, &mut draft, None)?;
    let written = draft.checks.clone();
    let mut schema = build(draft, notes)?.schema;
    checks::check_names(&Catalog::default(), &schema.database, None, &schema.checks)?;
    let rules = defaults::check(session, &schema)?;
    checks::check_columns(&schema, &rules, &written)?;
    assign_ids(session, &mut schema)?;
    Ok(schema)
}

/// Ids of a table that is made anew.
pub fn assign_ids(session: &mut Session, schema: &mut TableSchema) -> Result<()> {
    let store = session.temporary_store()?;
    assign_new_ids(schema, || store.next_id());
    Ok(())
}

async fn add(session: &mut Session, schema: TableSchema) -> Result<Affected> {
    let (table, kept) = session.create_temporary(schema).await?;
    session.add_temporary(table, kept);
    Ok(Affected::default())
}

/// The table has its name when it has its rows; a failure leaves neither.
async fn add_filled(
    session: &mut Session,
    statement: &CreateTable,
    schema: TableSchema,
    targets: Vec<usize>,
    query: QueryPlan,
) -> Result<Affected> {
    let (table, kept) = session.create_temporary(schema).await?;
    session.begin_statement(false, true)?;
    let savepoint = session.explicit_transaction.then(|| session.transaction.savepoint());
    let filled = async {
        let affected = create::fill(session, statement, &table, targets, query).await?;
        if !session.explicit_transaction {
            session.commit_statement(true).await?;
        }
        Ok(affected)
    }
    .await;
    match filled {
        Ok(affected) => {
            session.add_temporary(table, kept);
            Ok(create::with_warnings(session, affected))
        }
        Err(error) => {
            session.undo_statement(&error, savepoint.as_ref());
            session.discard_temporary(kept).await;
            Err(error)
        }
    }
}

/// TRUNCATE: an empty table with the same definition in the place of the old one.
pub async fn truncate(session: &mut Session, table: &Arc<Table>) -> Result<Affected> {
    session.count(Counter::ComTruncate);
    let mut schema = table.schema.clone();
    assign_ids(session, &mut schema)?;
    schema.options.auto_increment = 1;
    let (empty, kept) = session.create_temporary(schema).await?;
    session.drop_temporary(table.id()).await;
    session.add_temporary(empty, kept);
    Ok(Affected::default())
}
