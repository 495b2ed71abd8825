//! CREATE TABLE: from columns, LIKE another table, or AS the result of a query.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
use shoal_parser::ast::{self, CreateTable, DuplicateHandling};
use shoal_types::{Error, ErrorCode, Result, TableSchema, Warning, WarningLevel};

use super::build::{assign_new_ids, build};
use super::draft::{DraftContext, DraftKeyKind, TableDraft, check_object_name};
use super::publish::{self, HiddenTable};
use super::{checks, column, defaults, errors, foreign_keys, functional, generated_key, lock, options, select};
use crate::account::{self, Privileges};
use crate::counters::Counter;
use crate::databases::{self, no_such_table};
use crate::dml::insert::insert;
use crate::dml::load::insert_settings;
use crate::dml::{Affected, InsertPlan, InsertSource};
use crate::plan::QueryPlan;
use crate::session::Session;
use crate::session::plans::PlanKind;

pub async fn create_table(session: &mut Session, statement: &CreateTable) -> Result<Affected> {
    session.count(Counter::ComCreateTable);
    let (database, name) = super::qualified(session, &statement.name)?;
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    account::require(session, &database, Some(&name), Privileges::CREATE)?;
    check_like(session, statement, (&database, &name))?;
    let catalog = session.server.node.catalog();
    let Some(present) = catalog.database(&database) else { return Err(databases::no_such_database(&database)) };
    let collation = present.collation;
    if catalog.table(&database, &name).is_some() || catalog.view(&database, &name).is_some() {
        return exists(session, statement, &name);
    }
    let context = super::context(session, collation);
    if let Some(source) = &statement.like {
        return create_like(session, statement, source, (&database, &name), &context).await;
    }
    let mut notes = Vec::new();
    let mut draft = draft_of(statement, &database, &name, &context, &mut notes)?;
    match &statement.query {
        None => {
            declare_primary_key(session, &mut draft)?;
            let schema = finish(session, draft, &mut notes)?;
            super::add_notes(session, notes);
            publish_empty(session, statement, schema).await
        }
        Some(query) => {
            let query = plan_query(session, query)?;
            let targets = select::add_columns(&mut draft, &query.columns, &session.catalog())?;
            declare_primary_key(session, &mut draft)?;
            let schema = finish(session, draft, &mut notes)?;
            super::add_notes(session, notes);
            let targets = select::targets(&schema, &targets)?;
            publish_filled(session, statement, schema, targets, query).await
        }
    }
}

/// Errors: 1066, a table is to be made like itself.
pub fn check_like(session: &Session, statement: &CreateTable, (database, name): (&str, &str)) -> Result<()> {
    let Some(source) = &statement.like else { return Ok(()) };
    let source = super::qualified(session, source)?;
    match (source.0.as_str(), source.1.as_str()) == (database, name) {
        true => Err(errors::not_unique(name)),
        false => Ok(()),
    }
}

/// IF NOT EXISTS: a note instead of error 1050.
pub fn exists(session: &mut Session, statement: &CreateTable, name: &str) -> Result<Affected> {
    let error = errors::table_exists(name);
    if !statement.if_not_exists {
        return Err(error);
    }
    session.warn(WarningLevel::Note, ErrorCode::TableExists, error.message());
    Ok(Affected::default())
}

pub fn draft_of(
    statement: &CreateTable,
    database: &str,
    name: &str,
    context: &DraftContext,
    notes: &mut Vec<Warning>,
) -> Result<TableDraft> {
    let mut table_options = options::default_options(context);
    options::apply(&statement.options, name, &mut table_options, context, notes)?;
    let mut draft = TableDraft::new(database, name, table_options);
    for definition in &statement.columns {
        let (column, keys) = column::draft_column(definition, draft.options.collation, context, notes)?;
        draft.checks.extend(checks::of_column(definition));
        draft.columns.push(column);
        draft.keys.extend(keys);
    }
    draft.checks.extend(statement.checks.iter().map(checks::of_table));
    checks::name_new(&mut draft);
    for definition in &statement.keys {
        draft.keys.push(column::draft_key(definition)?);
    }
    // They bring the indexes that none of those is.
    for key in &statement.foreign_keys {
        foreign_keys::add(&mut draft, key)?;
    }
    foreign_keys::name_new(&mut draft);
    if let Some(partitioning) = &statement.partitioning {
        draft.partition(partitioning)?;
    }
    Ok(draft)
}

/// What sql_generate_invisible_primary_key and sql_require_primary_key ask for. Errors: 4108, 4109, 3750.
pub fn declare_primary_key(session: &Session, draft: &mut TableDraft) -> Result<()> {
    if session.variables.is_on("sql_generate_invisible_primary_key") {
        generated_key::add(draft)?;
    }
    let is_declared = draft.keys.iter().any(|key| key.kind == DraftKeyKind::Primary);
    if !is_declared && session.variables.is_on("sql_require_primary_key") {
        return Err(errors::primary_key_required());
    }
    Ok(())
}

/// A new table's schema with its ids, its default expressions checked.
fn finish(session: &Session, mut draft: TableDraft, notes: &mut Vec<Warning>) -> Result<TableSchema> {
    functional::complete(session, &mut draft, None)?;
    let written = draft.checks.clone();
    let mut schema = build(draft, notes)?.schema;
    checks::check_names(&session.server.node.catalog(), &schema.database, None, &schema.checks)?;
    let rules = defaults::check(session, &schema)?;
    checks::check_columns(&schema, &rules, &written)?;
    foreign_keys::check_changed_columns(&schema, &rules)?;
    foreign_keys::check_new(session, &schema, None)?;
    assign_new_ids(&mut schema, || session.server.node.next_table_id());
    Ok(schema)
}

/// What must still be true when the table appears. `Ok(false)`: it is there already, and that was allowed.
fn check_name_is_free(catalog: &Catalog, statement: &CreateTable, schema: &TableSchema) -> Result<bool> {
    if catalog.database(&schema.database).is_none() {
        return Err(databases::no_such_database(&schema.database));
    }
    match catalog.table(&schema.database, &schema.name) {
        Some(_) if statement.if_not_exists => Ok(false),
        Some(_) => Err(errors::table_exists(&schema.name)),
        None if catalog.view(&schema.database, &schema.name).is_some() => Err(errors::table_exists(&schema.name)),
        None => Ok(true),
    }
}

async fn publish_empty(session: &mut Session, statement: &CreateTable, schema: TableSchema) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    let name = schema.name.clone();
    loop {
        let parents = foreign_keys::parents(&node.catalog(), &schema, None);
        let locks = lock::exclusive(session, &parents).await?;
        let created = publish::change(&node, |catalog| {
            let free = check_name_is_free(catalog, statement, &schema)?;
            let parents = foreign_keys::parents(catalog, &schema, None);
            if !parents.iter().all(|parent| locks.cover(parent)) {
                return Ok((Vec::new(), None));
            }
            let mut changes = Vec::new();
            if free {
                changes.extend(foreign_keys::touch(&parents));
                changes.extend(publish::put_new_table(schema.clone()));
            }
            Ok((changes, Some(free)))
        });
        match created.await? {
            Some(true) => return Ok(Affected::default()),
            Some(false) => return exists(session, statement, &name),
            None => {}
        }
    }
}

async fn create_like(
    session: &mut Session,
    statement: &CreateTable,
    source: &ast::ObjectName,
    name: (&str, &str),
    context: &DraftContext,
) -> Result<Affected> {
    let source = source_of_like(session, source)?;
    let mut schema = like(&source.schema, name, context);
    assign_new_ids(&mut schema, || session.server.node.next_table_id());
    publish_empty(session, statement, schema).await
}

/// The table that is to be looked like. Errors: 1142, 1146, 1347.
pub fn source_of_like(session: &Session, source: &ast::ObjectName) -> Result<Arc<Table>> {
    let (database, name) = super::qualified(session, source)?;
    let catalog = session.catalog();
    let Some(source) = catalog.table(&database, &name) else {
        account::require(session, &database, Some(&name), Privileges::SELECT)?;
        if catalog.view(&database, &name).is_some() {
            let message = format!("'{database}.{name}' is not BASE TABLE");
            return Err(Error::new(ErrorCode::WrongObject, message));
        }
        return Err(no_such_table(&database, &name));
    };
    if !source.is_temporary {
        account::require(session, &database, Some(&name), Privileges::SELECT)?;
    }
    Ok(Arc::clone(source))
}

/// A definition like another, without ids.
pub fn like(source: &TableSchema, (database, name): (&str, &str), context: &DraftContext) -> TableSchema {
    let mut schema = source.clone();
    schema.database = database.to_owned();
    schema.name = name.to_owned();
    // As in MySQL.
    schema.foreign_keys.clear();
    for (number, check) in schema.checks.iter_mut().enumerate() {
        check.name = checks::made_up_name(name, number + 1);
    }
    schema.options.auto_increment = 1;
    schema.options.created_at_s = context.now_s;
    schema
}

/// The query of CREATE TABLE ... SELECT.
pub fn plan_query(session: &Session, query: &ast::Query) -> Result<QueryPlan> {
    let types = session.bound_types();
    let plan = session.make_plan(&ast::Statement::Query(Box::new(query.clone())), types.len(), Some(&types))?;
    account::check_plan(&session.asking(), &plan)?;
    match plan.kind {
        PlanKind::PointSelect { query, .. } | PlanKind::Select { query, into: None } => Ok(query),
        _ => Err(Error::unsupported("INTO in CREATE TABLE ... SELECT")),
    }
}

/// The table appears with its rows, or not at all.
async fn publish_filled(
    session: &mut Session,
    statement: &CreateTable,
    schema: TableSchema,
    targets: Vec<usize>,
    query: QueryPlan,
) -> Result<Affected> {
    account::require(session, &schema.database, Some(&schema.name), Privileges::INSERT)?;
    let node = Arc::clone(&session.server.node);
    let hidden = HiddenTable::create(&node, &schema).await?;
    session.transaction.start_statement();
    let filled = async {
        let affected = fill(session, statement, &hidden.table, targets, query).await?;
        session.commit().await?;
        Ok(with_warnings(session, affected))
    };
    let affected = match filled.await {
        Ok(affected) => affected,
        Err(error) => {
            session.rollback();
            hidden.discard().await;
            return Err(error);
        }
    };
    let table = Arc::clone(&hidden.table);
    let name = schema.name.clone();
    let created = publish::change(&node, |catalog| {
        hidden.check_is_whole(catalog)?;
        let free = check_name_is_free(catalog, statement, &schema)?;
        let mut changes = Vec::new();
        if free {
            changes.extend(foreign_keys::touch(&foreign_keys::parents(catalog, &schema, None)));
            changes.push(publish::rename_hidden(&table, schema));
        }
        Ok((changes, free))
    })
    .await?;
    if !created {
        return exists(session, statement, &name);
    }
    hidden.taken();
    Ok(affected)
}

/// Inserts what the query yields. The caller has begun a statement, and ends it.
pub async fn fill(
    session: &mut Session,
    statement: &CreateTable,
    table: &Arc<Table>,
    targets: Vec<usize>,
    query: QueryPlan,
) -> Result<Affected> {
    let (defaults, rules) = defaults::resolve(session, table)?;
    let plan = InsertPlan {
        calls: HashMap::new(),
        duplicate_calls: HashMap::new(),
        table: Arc::clone(table),
        targets,
        source: InsertSource::Query(Arc::new(query)),
        defaults,
        rules,
        replace: statement.duplicates == DuplicateHandling::Replace,
        ignore: statement.duplicates == DuplicateHandling::Ignore,
        on_duplicate: Vec::new(),
        constants: Vec::new(),
        usage: session
            .table_usage
            .of_table(table, |id| session.server.node.catalog().tables_by_id.contains_key(&id)),
    };
    let settings = insert_settings(session);
    let parameters = session.bound.clone();
    session.with_context(&[], &parameters, true, async |ctx| insert(&plan, settings, ctx).await).await
}

/// What the statement tells of its rows.
pub fn with_warnings(session: &Session, mut affected: Affected) -> Affected {
    affected.info = format!("{}  Warnings: {}", affected.info, session.state.warning_count);
    affected
}
