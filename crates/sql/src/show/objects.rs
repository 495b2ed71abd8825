//! Databases, tables, columns, indexes and stored programs.

use std::sync::Arc;

use shoal_cluster::{Table, View};
use shoal_parser::ast::{Ident, ObjectName, ShowFilter};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::Listing;
use crate::account;
use crate::ddl::generated_key;
use crate::information_schema::{self, Rows, VirtualTable, row};
use crate::resolve::Resolver;
use crate::session::Session;

/// What a table's name stands for.
pub enum Found {
    Base(Arc<Table>),
    Virtual(VirtualTable),
    View(Arc<View>),
}

fn rows_of(session: &Session) -> Rows<'_> {
    Rows::new(&session.server, &session.shared, &session.variables, &session.state.access)
}

/// Errors: 1046, none is selected.
pub fn current_database(session: &Session) -> Result<String> {
    session.state.database.clone().ok_or_else(|| Error::new(ErrorCode::NoDb, "No database selected"))
}

/// The named database, or the current one. Errors: 1046, 1049, 1044.
fn database_of(session: &Session, schema: Option<&Ident>) -> Result<String> {
    let name = match schema {
        Some(name) => name.value.clone(),
        None => current_database(session)?,
    };
    if let Some(fixed) = information_schema::virtual_database(&name) {
        return Ok(fixed.to_owned());
    }
    crate::databases::check_exists(&session.server.node.catalog(), &name)?;
    account::check_database(session, &name)?;
    Ok(name)
}

/// A table by its name. Errors: 1046, 1109, 1146, 1142.
pub fn find_named(session: &Session, name: &ObjectName) -> Result<Found> {
    let database = match &name.schema {
        Some(schema) => schema.value.clone(),
        None => current_database(session)?,
    };
    find(session, &database, &name.name.value)
}

pub fn find(session: &Session, database: &str, name: &str) -> Result<Found> {
    if let Some(table) = information_schema::virtual_table(database, name)? {
        return Ok(Found::Virtual(table));
    }
    let catalog = session.catalog();
    if let Some(view) = catalog.view(database, name).filter(|_| account::may_see_table(session, database, name)) {
        return Ok(Found::View(Arc::clone(view)));
    }
    let Some(table) = catalog.table(database, name) else {
        return Err(crate::databases::no_such_table(database, name));
    };
    if !table.is_temporary && !account::may_see_table(session, database, name) {
        let (user, host) = (&session.state.access.account.0, &session.shared.host);
        let message = format!("SELECT command denied to user '{user}'@'{host}' for table '{name}'");
        return Err(Error::new(ErrorCode::TableAccessDenied, message));
    }
    Ok(Found::Base(Arc::clone(table)))
}

/// The views of a database that the session may see.
fn views(session: &Session, database: &str) -> Vec<Arc<View>> {
    let viewer = rows_of(session).viewer();
    let Some(found) = viewer.catalog.database(database) else { return Vec::new() };
    found.views.values().filter(|view| viewer.sees_table(database, &view.name)).cloned().collect()
}

/// Tables of a database that the session may see, in the order of their names.
fn base_tables(session: &Session, database: &str) -> Vec<Arc<Table>> {
    let viewer = rows_of(session).viewer();
    let Some(found) = viewer.catalog.database(database) else { return Vec::new() };
    found.tables.values().filter(|table| viewer.sees_table(database, table.name())).cloned().collect()
}

fn virtual_tables(database: &str) -> impl Iterator<Item = VirtualTable> {
    information_schema::all_tables().filter(move |table| information_schema::database_name(*table) == database)
}

pub fn databases(session: &Session, filter: Option<&ShowFilter>) -> Listing {
    let rows = rows_of(session);
    let names = rows.make_named("SCHEMATA").into_iter().map(|row| row.into_iter().skip(1).take(1).collect());
    let listing = Listing { exact_case: true, ..Listing::new("Database n64!", names.collect()) };
    listing.with_pattern_in_heading(filter)
}

pub fn tables(
    session: &Session,
    schema: Option<&Ident>,
    full: bool,
    filter: Option<&ShowFilter>,
) -> Result<Listing> {
    let database = database_of(session, schema)?;
    let mut rows: Vec<Vec<Value>> =
        base_tables(session, &database).iter().map(|table| row![table.name(), "BASE TABLE"]).collect();
    let kind = if database == "information_schema" { "SYSTEM VIEW" } else { "BASE TABLE" };
    rows.extend(virtual_tables(&database).map(|table| row![information_schema::table_name(table), kind]));
    rows.extend(views(session, &database).iter().map(|view| row![&view.name, "VIEW"]));
    rows.sort_by(|left, right| left[0].to_text().cmp(&right[0].to_text()));
    let mut columns = "name n64!, Table_type v11!";
    if !full {
        columns = "name n64!";
        rows.iter_mut().for_each(|row| row.truncate(1));
    }
    let mut listing = Listing { exact_case: true, ..Listing::new(columns, rows) };
    if let Some(first) = listing.columns.first_mut() {
        first.name = format!("Tables_in_{database}");
    }
    Ok(listing.with_pattern_in_heading(filter))
}

/// Chooses columns of a longer row.
fn pick(row: &[Value], places: &[usize]) -> Vec<Value> {
    places.iter().map(|&place| row.get(place).cloned().unwrap_or_default()).collect()
}

pub fn table_status(session: &Session, schema: Option<&Ident>) -> Result<Listing> {
    const PLACES: &[usize] = &[2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
    const COLUMNS: &str = "Name n64!, Engine v64, Version i, Row_format v10, Rows U, Avg_row_length U, Data_length U, \
        Max_data_length U, Index_length U, Data_free U, Auto_increment U, Create_time s, Update_time d, Check_time d, \
        Collation v64, Checksum b, Create_options v256, Comment t";
    let database = database_of(session, schema)?;
    let source = rows_of(session);
    let tables = base_tables(session, &database);
    let mut rows: Vec<Vec<Value>> =
        tables.iter().map(|table| pick(&information_schema::table_row(&source, table), PLACES)).collect();
    rows.extend(
        virtual_tables(&database).map(|table| pick(&information_schema::virtual_table_row(table), PLACES)),
    );
    rows.extend(views(session, &database).iter().map(|view| pick(&information_schema::view_row(view), PLACES)));
    rows.sort_by(|left, right| left[0].to_text().cmp(&right[0].to_text()));
    Ok(Listing { exact_case: true, ..Listing::new(COLUMNS, rows) })
}

/// Every table is always open.
pub fn open_tables(session: &Session, schema: Option<&Ident>) -> Result<Listing> {
    let names = match schema {
        Some(_) => vec![database_of(session, schema)?],
        None => rows_of(session).viewer().databases().map(|database| database.name.clone()).collect(),
    };
    let mut rows = Vec::new();
    for database in names {
        let tables = base_tables(session, &database);
        rows.extend(tables.iter().map(|table| row![&database, table.name(), 0u64, 0u64]));
    }
    let listing = Listing::new("Database n64!, Table n64!, In_use b!, Name_locked i!", rows);
    Ok(Listing { like_column: 1, exact_case: true, ..listing })
}

/// SHOW COLUMNS and DESCRIBE.
pub fn columns(session: &Session, table: &ObjectName, full: bool) -> Result<Listing> {
    const SHORT: &[usize] = &[3, 15, 6, 16, 5, 17];
    const FULL: &[usize] = &[3, 15, 14, 6, 16, 5, 17, 18, 19];
    let rows = match find_named(session, table)? {
        Found::Base(table) => {
            let shows = information_schema::shows_generated_keys(&session.variables);
            information_schema::columns_of(&rows_of(session).viewer(), &table, shows)
        }
        Found::Virtual(table) => information_schema::columns_of_virtual(table),
        Found::View(view) => {
            check_usable(session, &view)?;
            information_schema::columns_of_view(&rows_of(session).viewer(), &view)
        }
    };
    let (places, columns) = match full {
        false => (SHORT, "Field v64, Type m!, Null v3!, Key v3!, Default t, Extra v256"),
        true => (
            FULL,
            "Field v64, Type m!, Collation v64, Null v3!, Key v3!, Default t, Extra v256, Privileges v154, Comment t!",
        ),
    };
    Ok(Listing::new(columns, rows.iter().map(|row| pick(row, places)).collect()))
}

/// Errors: 1356, the view reads what is no longer there.
fn check_usable(session: &Session, view: &Arc<View>) -> Result<()> {
    let planner = session.planner();
    let around = planner.surroundings();
    let environment = planner.environment(&around, Some(&[]), None);
    match Resolver::new(&environment, 0).view_query(view) {
        Err(error) if error.errno() == ErrorCode::ViewInvalid.errno() => Err(error),
        _ => Ok(()),
    }
}

pub fn indexes(session: &Session, table: &ObjectName) -> Result<Listing> {
    const PLACES: &[usize] = &[2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
    const COLUMNS: &str = "Table n64!, Non_unique i!, Key_name v64, Seq_in_index u!, Column_name v64, Collation v1, \
        Cardinality b, Sub_part b, Packed x, Null v3!, Index_type v11!, Comment v8!, Index_comment v2048!, \
        Visible v3!, Expression l";
    let rows = match find_named(session, table)? {
        Found::Base(table) => {
            let shows = information_schema::shows_generated_keys(&session.variables);
            let schema = generated_key::shown(&table.schema, shows);
            information_schema::statistics_of(&schema, session.transaction.row_count(&table))
        }
        Found::Virtual(_) => Vec::new(),
        Found::View(view) => {
            check_usable(session, &view)?;
            Vec::new()
        }
    };
    Ok(Listing::new(COLUMNS, rows.iter().map(|row| pick(row, PLACES)).collect()))
}

/// The rows of a table of information_schema about stored programs.
fn programs(session: &Session, rows: fn(&Rows<'_>) -> Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows(&rows_of(session))
}

/// The columns at these places, of the rows whose column at `place` is `name`.
fn picked(rows: Vec<Vec<Value>>, (place, name): (usize, Option<&str>), columns: &[usize]) -> Vec<Vec<Value>> {
    let is_wanted = |row: &Vec<Value>| name.is_none_or(|name| row[place] == Value::str(name));
    let pick = |row: Vec<Value>| columns.iter().map(|&column| row[column].clone()).collect();
    rows.into_iter().filter(is_wanted).map(pick).collect()
}

pub fn triggers(session: &Session, schema: Option<&Ident>) -> Result<Listing> {
    let database = database_of(session, schema)?;
    let columns = "Trigger v64!, Event v6!, Table n64!, Statement l!, Timing v6!, Created s!, sql_mode v520!, \
        Definer v288!, character_set_client v64!, collation_connection v64!, Database Collation v64!";
    let mut rows = programs(session, information_schema::programs::triggers);
    rows.sort_by_cached_key(|row| {
        let event = ["INSERT", "UPDATE", "DELETE"].iter().position(|event| row[3] == Value::str(*event));
        (row[6].to_text(), event, row[11] != Value::str("BEFORE"), row[7].to_u64().value)
    });
    let rows = picked(rows, (1, Some(&database)), &[2, 3, 6, 9, 11, 16, 17, 18, 19, 20, 21]);
    Ok(Listing { like_column: 2, ..Listing::new(columns, rows) })
}

pub fn events(session: &Session, schema: Option<&Ident>) -> Result<Listing> {
    let database = database_of(session, schema)?;
    let columns = "Db n64!, Name v64!, Definer v288!, Time zone v64!, Type v9!, Execute at d, Interval value v256, \
        Interval field v18, Starts d, Ends d, Status v21!, Originator u!, character_set_client v64!, \
        collation_connection v64!, Database Collation v64!";
    let rows = programs(session, information_schema::programs::events);
    let rows = picked(rows, (1, Some(&database)), &[1, 2, 3, 4, 7, 8, 9, 10, 12, 13, 14, 20, 21, 22, 23]);
    Ok(Listing { like_column: 1, ..Listing::new(columns, rows) })
}

pub fn routines(session: &Session, kind: &str) -> Listing {
    let columns = "Db n64!, Name v64!, Type v9!, Definer v288!, Modified s!, Created s!, Security_type v7!, \
        Comment t!, character_set_client v64!, collation_connection v64!, Database Collation v64!";
    let rows = programs(session, information_schema::programs::routines);
    let rows = picked(rows, (4, Some(kind)), &[2, 3, 4, 27, 24, 23, 22, 26, 28, 29, 30]);
    Listing { like_column: 1, ..Listing::new(columns, rows) }
}
