//! ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! The actions edit a draft of the table (`edit`); what the new definition needs decides how the table gets there (`way`); rows are
//! moved by `copy`. Whatever the way, others see the old table until one durable change makes the new one, and a failure on the way
//! leaves nothing.

mod compute_online;
mod copy;
mod edit;
mod fill_online;
mod instant;
mod locked_rows;
mod online;
mod temporary;
#[cfg(test)]
mod tests;
mod way;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Change, Node, Sequence, Table, TableHold, unique_table_schema};
use shoal_parser::ast::{self, AlterTable, AlterTableAction};
use shoal_txn::foreign_keys::foreign_keys_of;
use shoal_types::{Error, ErrorCode, IndexId, Result, TableSchema};

use super::build::{BuiltTable, assign_new_ids, build, keep_ids};
use super::publish::{self, HiddenTable};
use super::{checks, defaults, errors, foreign_keys, functional, generated_key, lock, trigger};
use crate::account::{self, Privileges};
use crate::counters::Counter;
use crate::databases::{self, no_such_table};
use crate::dml::Affected;
use crate::dml::load::insert_settings;
use crate::resolve::Statistics;
use crate::session::Session;
use way::{Way, keeps_sequence};

type TableName = (String, String);

pub async fn run(session: &mut Session, statement: &AlterTable) -> Result<Affected> {
    session.count(Counter::ComAlterTable);
    alter(session, statement, Privileges::ALTER).await
}

pub async fn create_index(session: &mut Session, statement: &ast::CreateIndex) -> Result<Affected> {
    session.count(Counter::ComCreateIndex);
    let alteration = AlterTable {
        name: statement.table.clone(),
        actions: vec![AlterTableAction::AddKey(statement.key.clone())],
        algorithm: statement.algorithm,
        lock: statement.lock,
        validation: None,
    };
    alter(session, &alteration, Privileges::INDEX).await
}

pub async fn drop_index(session: &mut Session, statement: &ast::DropIndex) -> Result<Affected> {
    session.count(Counter::ComDropIndex);
    let alteration = AlterTable {
        name: statement.table.clone(),
        actions: vec![AlterTableAction::DropIndex(statement.name.clone())],
        algorithm: statement.algorithm,
        lock: statement.lock,
        validation: None,
    };
    alter(session, &alteration, Privileges::INDEX).await
}

async fn alter(session: &mut Session, statement: &AlterTable, needed: Privileges) -> Result<Affected> {
    let name = super::qualified(session, &statement.name)?;
    if let Some(table) = session.temporary_table(&name.0, &name.1).cloned() {
        return temporary::alter(session, statement, &table).await;
    }
    super::database::check_changeable(session, &name.0)?;
    account::require(session, &name.0, Some(&name.1), needed)?;
    for action in &statement.actions {
        if let AlterTableAction::RenameTable(to) = action {
            let to = super::qualified(session, to)?;
            super::drop::check_rename(session, &name, &to)?;
        }
    }
    publish::drop_abandoned_indexes(&session.server.node).await;
    let mut building = online::Building::default();
    let outcome = alter_table(session, statement, &name, &mut building).await;
    building.end(&session.server.node, outcome.is_ok()).await;
    outcome
}

async fn alter_table(
    session: &mut Session,
    statement: &AlterTable,
    name: &TableName,
    building: &mut online::Building,
) -> Result<Affected> {
    let node = Arc::clone(&session.server.node);
    let table = |node: &Node| node.catalog().table(&name.0, &name.1).cloned();
    loop {
        let Some(present) = table(&node) else { return Err(no_such_table(&name.0, &name.1)) };
        building.keep_of(present.id());
        // What is wrong with the statement is said without waiting for anybody.
        let mut locked = parents_of(&node, &prepare(session, statement, &present, building.ids())?, &present);
        locked.push(Arc::clone(&present));
        let locks = lock::exclusive(session, &locked).await?;
        let Some(present) = table(&node).filter(|table| locks.cover(table)) else { continue };
        session.clear_conditions();
        let prepared = prepare(session, statement, &present, building.ids())?;
        if !parents_of(&node, &prepared, &present).iter().all(|parent| locks.cover(parent)) {
            continue;
        }
        if let Some((schema, ids)) = prepared.builds_online(session, &present) {
            // What was lost to another definition is built again.
            building.add(&node, present.id(), &ids);
            let begun = online::begin(&node, &present, schema).await?;
            drop(locks);
            if begun {
                online::build(session, &node, &present, building.ids()).await?;
            }
            continue;
        }
        let lets_read = prepared.lets_read && locked.len() == 1;
        let hold = if prepared.reads_rows(&present) { node.table_hold(present.id(), lets_read) } else { None };
        let frozen = lets_read.then(|| node.freeze_tables(std::slice::from_ref(&present)));
        let altered = async {
            let (present, prepared) = match &hold {
                None => (present, prepared),
                Some(hold) => {
                    let present = passed(session, &node, &present, hold).await?;
                    session.clear_conditions();
                    let prepared = prepare(session, statement, &present, building.ids())?;
                    (present, prepared)
                }
            };
            // Who reads goes on while the rows are copied.
            let locks = match lets_read {
                true => {
                    drop(locks);
                    None
                }
                false => Some(locks),
            };
            carry_out(session, &node, &present, prepared, Kept { hold: hold.as_ref(), locks }).await
        }
        .await;
        drop(frozen);
        if let (Err(_), Some(hold)) = (&altered, &hold) {
            // If this fails too, the table is free as soon as the management nodes see that the hold is not wanted any more.
            let _ = publish::change(&node, |catalog| Ok((hold.free(catalog), ()))).await;
        }
        return altered;
    }
}

/// How others are kept from the table that is altered.
struct Kept<'k> {
    hold: Option<&'k TableHold>,
    /// `None`: they may read it until the new definition is there.
    locks: Option<lock::TableLocks>,
}

impl Kept<'_> {
    /// Has the table for this session alone. Errors: 1205, 1317.
    async fn exclude_readers(&mut self, session: &Session, table: &Arc<Table>) -> Result<()> {
        if self.locks.is_none() {
            self.locks = Some(lock::exclusive(session, std::slice::from_ref(table)).await?);
        }
        Ok(())
    }

    /// The table is as it was when its rows were copied. Errors: 1297, 1412.
    fn check(&self, catalog: &shoal_cluster::Catalog, table: &Table) -> Result<()> {
        self.hold.map_or(Ok(()), |hold| hold.check(catalog))?;
        match catalog.tables_by_id.get(&table.id()) {
            Some(present) if present.schema.version == table.schema.version => Ok(()),
            _ => {
                let message = "Table definition has changed, please retry transaction";
                Err(Error::new(ErrorCode::TableDefChanged, message))
            }
        }
    }
}

/// Foreign keys come that the rows have to be looked at for.
fn adds_foreign_keys(session: &Session, old: &TableSchema, new: &TableSchema) -> bool {
    let is_new = |key: &shoal_types::ForeignKey| !old.foreign_keys.iter().any(|known| known.name == key.name);
    session.variables.foreign_key_checks && new.foreign_keys.iter().any(is_new)
}

/// The tables that get a child by this.
fn parents_of(node: &Node, prepared: &Prepared, present: &Table) -> Vec<Arc<Table>> {
    foreign_keys::parents(&node.catalog(), &prepared.built.schema, Some(&present.schema))
}

/// The next version of a table that this session has to itself. No partition takes what was planned on the one before, no node lets
/// anybody use this one, whoever missed the locks, and the outcome of everything that was prepared before is known: its rows are
/// all that there are.
async fn passed(session: &Session, node: &Arc<Node>, table: &Arc<Table>, hold: &TableHold) -> Result<Arc<Table>> {
    let mut schema = table.schema.clone();
    schema.version += 1;
    let name = (schema.database.clone(), schema.name.clone());
    let id = table.id();
    publish::change(node, |catalog| match catalog.tables_by_id.contains_key(&id) {
        true => Ok((vec![Change::PutTable(schema), hold.change()], ())),
        false => Err(no_such_table(&name.0, &name.1)),
    })
    .await?;
    let present = node.catalog().tables_by_id.get(&id).cloned();
    let present = present.ok_or_else(|| no_such_table(&name.0, &name.1))?;
    lock::settle(session, std::slice::from_ref(&present)).await?;
    Ok(present)
}

/// A checked alteration.
struct Prepared {
    built: BuiltTable,
    way: Way,
    /// Functional key parts have to be computed for the rows that are there.
    computes: bool,
    /// LOCK=NONE: however small the table is, nobody waits.
    is_lockless: bool,
    /// Others may read the table while its rows are copied.
    lets_read: bool,
    /// The table's name afterwards.
    name: TableName,
    auto_increment: Option<u64>,
}

impl Prepared {
    /// What the table becomes depends on its rows.
    fn reads_rows(&self, present: &Table) -> bool {
        self.rewrites_rows(present) || self.adds_unique()
    }

    fn rewrites_rows(&self, present: &Table) -> bool {
        // A counter can be lowered only where there are no rows.
        let lowers = self.auto_increment.is_some() && present.uses_sequence;
        self.way >= Way::Rebuild || lowers
    }

    fn adds_unique(&self) -> bool {
        let is_added = |(position, index): (usize, &shoal_types::Index)| {
            index.unique && self.built.index_origins.get(position).is_none_or(Option::is_none)
        };
        self.built.schema.indexes.iter().enumerate().any(is_added)
    }

    /// The table with indexes that are built first, while others use it.
    fn builds_online(&self, session: &Session, present: &Arc<Table>) -> Option<(TableSchema, Vec<IndexId>)> {
        let is_worth_it = || self.is_lockless || session.statistics().row_count(present) >= online::ROWS_MIN;
        let is_in_place = self.way == Way::InPlace || self.computes;
        let lowers = self.auto_increment.is_some() && present.uses_sequence;
        if !is_in_place || lowers || !is_worth_it() {
            return None;
        }
        online::with_building(present, &self.built, || session.server.node.next_table_id())
    }
}

/// `building`: the indexes that the statement has had built already.
fn prepare(
    session: &mut Session,
    statement: &AlterTable,
    table: &Arc<Table>,
    building: &[IndexId],
) -> Result<Prepared> {
    let schema = &table.schema;
    let catalog = session.server.node.catalog();
    let Some(database) = catalog.database(&schema.database) else {
        return Err(databases::no_such_database(&schema.database));
    };
    let context = super::context(session, database.collation);
    let mut notes = Vec::new();
    let mut edited = edit::edit(schema, &statement.actions, &context, &mut notes)?;
    let is_own = |origin: usize| {
        let index = &schema.indexes[origin];
        index.building && building.contains(&index.id)
    };
    edited.draft.keys.retain(|key| !key.origin.is_some_and(is_own));
    let (_, rules) = defaults::resolve(session, table)?;
    checks::follow_columns(schema, &rules, &mut edited.draft)?;
    functional::complete(session, &mut edited.draft, Some(schema))?;
    let (force, auto_increment) = (edited.force, edited.auto_increment);
    let name = match &edited.rename {
        Some(name) => super::qualified(session, name)?,
        None => (schema.database.clone(), schema.name.clone()),
    };
    let is_taken = match table.is_temporary {
        true => session.temporary_table(&name.0, &name.1).is_some(),
        false => catalog.table(&name.0, &name.1).is_some(),
    };
    if name != (schema.database.clone(), schema.name.clone()) && is_taken {
        return Err(errors::table_exists(&name.1));
    }
    let generates_keys = session.variables.is_on("sql_generate_invisible_primary_key");
    generated_key::check_kept(schema, &edited.draft, generates_keys)?;
    generated_key::keep_first(schema, &mut edited.draft)?;
    checks::name_new(&mut edited.draft);
    foreign_keys::name_new(&mut edited.draft);
    if name.1 != schema.name {
        let constraints = edited.draft.checks.iter_mut().map(|check| &mut check.constraint);
        checks::rename(constraints, &schema.name, &name.1);
    }
    let present = (schema.database.clone(), schema.name.clone());
    if name != present {
        foreign_keys::rename(&mut edited.draft.foreign_keys, &present, &name);
    }
    let written = edited.draft.checks.clone();
    let mut built = build(edited.draft, &mut notes)?;
    if session.variables.is_on("sql_require_primary_key") && !generated_key::declares_primary(&built.schema) {
        return Err(errors::primary_key_required());
    }
    if !table.is_temporary {
        checks::check_names(&catalog, &name.0, Some(schema.id), &built.schema.checks)?;
    }
    if schema.has_hidden_key() && built.schema.has_hidden_key() {
        // The hidden key stays what it is.
        built.index_origins[0] = Some(0);
        if let Some(origin) = built.column_origins.last_mut() {
            *origin = Some(schema.columns.len() - 1);
        }
    }
    online::take_over(schema, &mut built, building);
    let rules = defaults::check(session, &built.schema)?;
    checks::check_columns(&built.schema, &rules, &written)?;
    foreign_keys::check_changed_columns(&built.schema, &rules)?;
    if !table.is_temporary {
        foreign_keys::check_new(session, &built.schema, Some(schema))?;
        foreign_keys::check_kept(session, &catalog, table, &built)?;
    }
    let demands = way::Demands { force, parents: adds_foreign_keys(session, schema, &built.schema) };
    let asked = way::Asked { algorithm: statement.algorithm, lock: statement.lock };
    let mut least = way::least(schema, &built, demands);
    if table.is_temporary {
        least.way = Way::Copy;
    }
    let way = way::choose(least, (&schema.database, &schema.name), asked)?;
    super::add_notes(session, notes);
    // Unless they are computed beside writers, the rows are written anew.
    let computes = least.computes && way == Way::InPlace;
    let way = if computes { Way::Rebuild } else { way };
    let lets_read = way >= Way::Rebuild && least.lets_read() && statement.lock != Some(ast::AlterLock::Exclusive);
    let is_lockless = statement.lock == Some(ast::AlterLock::None);
    Ok(Prepared { built, way, computes, is_lockless, lets_read, name, auto_increment })
}

async fn carry_out(
    session: &mut Session,
    node: &Arc<Node>,
    table: &Arc<Table>,
    prepared: Prepared,
    kept: Kept<'_>,
) -> Result<Affected> {
    let Prepared { mut built, way, name, auto_increment, .. } = prepared;
    let present = match way {
        Way::Instant | Way::InPlace => table.next_auto_increment.load(Ordering::Relaxed).max(1),
        // The table gets another sequence, which goes on where this one is.
        Way::Rebuild | Way::Copy if keeps_sequence(&table.schema, &built.schema, &built.column_origins) => {
            node.next_number(table).await?
        }
        Way::Rebuild | Way::Copy => 1,
    };
    let counter = match auto_increment {
        // It can be lowered only where there are no rows.
        Some(asked) if session.transaction.row_count(table) == 0 => asked,
        Some(asked) => asked.max(present),
        None => present,
    };
    built.schema.options.auto_increment = counter;
    let rows = match way {
        Way::Instant | Way::InPlace => {
            keep_ids(&mut built, &table.schema, || node.next_table_id());
            built.schema.past_rows = instant::past_rows(session, &table.schema, &built)?;
            in_place(session, node, table, built, name, &kept).await?;
            if auto_increment.is_some() {
                table.next_auto_increment.store(counter, Ordering::Relaxed);
            }
            0
        }
        Way::Rebuild | Way::Copy => {
            assign_new_ids(&mut built.schema, || node.next_table_id());
            let copied = by_copy(session, node, table, built, name, kept).await?;
            // InnoDB rebuilds in place, which affects no rows.
            if way == Way::Copy { copied } else { 0 }
        }
    };
    let info = format!("Records: {rows}  Duplicates: 0  Warnings: {}", session.state.warning_count);
    Ok(Affected { rows, info, ..Affected::default() })
}

/// The dictionary changes, and with it indexes within the partitions. New unique indexes have their hidden tables filled first.
async fn in_place(
    session: &mut Session,
    node: &Arc<Node>,
    table: &Arc<Table>,
    built: BuiltTable,
    name: TableName,
    kept: &Kept<'_>,
) -> Result<()> {
    let mut schema = built.schema;
    let mut hidden = Vec::new();
    let outcome = fill_unique_indexes(session, node, table, &schema, &built.index_origins, &mut hidden).await;
    if let Err(error) = outcome {
        session.transaction.rollback();
        for hidden in hidden {
            hidden.discard().await;
        }
        return Err(error);
    }
    (schema.database, schema.name) = name.clone();
    publish::change(node, |catalog| {
        check_target(catalog, table, &name)?;
        kept.check(catalog, table)?;
        hidden.iter().try_for_each(|hidden| hidden.check_is_whole(catalog))?;
        let mut changes = relatives(catalog, table, &schema, &built.column_origins)?;
        changes.push(Change::PutTable(schema));
        Ok((changes, ()))
    })
    .await?;
    hidden.into_iter().for_each(HiddenTable::taken);
    Ok(())
}

async fn fill_unique_indexes(
    session: &mut Session,
    node: &Arc<Node>,
    table: &Arc<Table>,
    schema: &TableSchema,
    origins: &[Option<usize>],
    hidden: &mut Vec<HiddenTable>,
) -> Result<()> {
    // As the table will be, for its keys.
    let future = Table::new(schema.clone(), Arc::new(Sequence::new(1)));
    for (position, index) in schema.indexes.iter().enumerate() {
        let (None, Some(id)) = (origins[position], index.unique_table) else { continue };
        let unique = HiddenTable::create(node, &unique_table_schema(schema, index, id)).await?;
        let filled = Arc::clone(&unique.table);
        hidden.push(unique);
        copy::fill_unique(session, table, &future, position, &filled).await?;
    }
    Ok(())
}

/// A new table takes all rows and then the old one's place.
async fn by_copy(
    session: &mut Session,
    node: &Arc<Node>,
    table: &Arc<Table>,
    built: BuiltTable,
    name: TableName,
    mut kept: Kept<'_>,
) -> Result<u64> {
    let (mut schema, origins) = (built.schema, built.column_origins);
    let hidden = HiddenTable::create(node, &schema).await?;
    let outcome = async {
        let (defaults, rules) = defaults::resolve(session, &hidden.table)?;
        let foreign = match adds_foreign_keys(session, &table.schema, &hidden.table.schema) {
            true => foreign_keys_of(&node.catalog(), &hidden.table),
            false => None,
        };
        let conversion = copy::Conversion {
            foreign,
            old: Arc::clone(table),
            new: Arc::clone(&hidden.table),
            origins: origins.clone(),
            defaults,
            rules,
        };
        let settings = insert_settings(session);
        copy::copy_rows(session, &conversion, settings).await
    }
    .await;
    let rows = match outcome {
        Ok(rows) => rows,
        Err(error) => {
            session.transaction.rollback();
            hidden.discard().await;
            return Err(error);
        }
    };
    schema.version = table.schema.version.max(hidden.table.schema.version) + 1;
    (schema.database, schema.name) = name.clone();
    let counter = schema.options.auto_increment;
    hidden.table.next_auto_increment.fetch_max(counter, Ordering::Relaxed);
    if hidden.table.uses_sequence
        && let Err(error) = node.report_numbers(&hidden.table).await
    {
        hidden.discard().await;
        return Err(error);
    }
    if let Err(error) = kept.exclude_readers(session, table).await {
        hidden.discard().await;
        return Err(error);
    }
    publish::change(node, |catalog| {
        check_target(catalog, table, &name)?;
        kept.check(catalog, table)?;
        hidden.check_is_whole(catalog)?;
        let mut changes = relatives(catalog, table, &schema, &origins)?;
        changes.extend([Change::DropTable(table.id()), Change::PutTable(schema)]);
        Ok((changes, ()))
    })
    .await?;
    hidden.taken();
    Ok(rows)
}

/// What changes with a table: its children and its triggers follow its names, and its new parents must not be written as if it were none of theirs.
fn relatives(
    catalog: &shoal_cluster::Catalog,
    old: &Table,
    new: &TableSchema,
    origins: &[Option<usize>],
) -> Result<Vec<Change>> {
    let name_of = |schema: &TableSchema| (schema.database.clone(), schema.name.clone());
    let renamed: Vec<(String, String)> = origins
        .iter()
        .zip(&new.columns)
        .filter_map(|(origin, column)| Some((old.schema.columns[(*origin)?].name.clone(), column.name.clone())))
        .collect();
    let (from, to) = (name_of(&old.schema), name_of(new));
    let children = foreign_keys::follow_parent(catalog, (&from, &to), &renamed, old.id());
    let parents = foreign_keys::parents(catalog, new, Some(&old.schema));
    let mut changes: Vec<Change> =
        foreign_keys::touch(&parents).chain(children.into_iter().map(Change::PutTable)).collect();
    if from != to {
        changes.extend(trigger::renamed_with(catalog, (&from.0, &from.1), (&to.0, &to.1))?);
    }
    Ok(changes)
}

/// The name that the table is about to have is its own or nobody's. Errors: 1049, 1050.
fn check_target(catalog: &shoal_cluster::Catalog, table: &Table, name: &TableName) -> Result<()> {
    databases::check_exists(catalog, &name.0)?;
    match catalog.table(&name.0, &name.1) {
        Some(other) if other.id() != table.id() => Err(errors::table_exists(&name.1)),
        _ => Ok(()),
    }
}
