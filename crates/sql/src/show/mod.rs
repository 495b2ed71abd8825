//! SHOW and its kin.
//!
//! Every form is a [`Listing`]: columns and rows made from the dictionary, the counters and the sessions, then filtered by
//! LIKE or WHERE. Rows that information_schema also shows come from there.
//!
//! - `listing`: the listing and its filter; `objects`: databases, tables, columns, indexes; `create`: SHOW CREATE and
//!   accounts; `server`: variables, status and what the server is made of; `conditions`: warnings and errors.
//! - `innodb_status`: the report of SHOW ENGINE INNODB STATUS.
//! - `maintenance`: ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR and FLUSH.

mod conditions;
mod create;
mod innodb_status;
mod listing;
mod maintenance;
mod objects;
mod server;

use shoal_parser::ast::{self, Show, Statement};
use shoal_types::{Collation, Error, ErrorCode, Result};

use crate::frontend::{ResultColumn, ResultSink};
use crate::resolve::scope::ScopeTable;
use crate::session::Session;
pub(crate) use listing::Listing;
pub use maintenance::{flush, maintenance};

/// SHOW.
pub async fn run<S: ResultSink>(session: &mut Session, show: &Show, more: bool, sink: &mut S) -> Result<()> {
    match show {
        Show::Warnings { limit } | Show::Errors { limit } => {
            let errors_only = matches!(show, Show::Errors { .. });
            return conditions::run(session, errors_only, limit.as_ref(), more, sink).await;
        }
        Show::WarningCount | Show::ErrorCount => {
            return conditions::run_count(session, matches!(show, Show::ErrorCount), more, sink);
        }
        _ => {}
    }
    if matches!(show, Show::Profile { .. } | Show::Profiles) {
        session.drop_profile();
    }
    session.clear_conditions();
    let mut listing = listing(session, show)?;
    if let Show::Profile { limit: Some(limit), .. } = show {
        let (skip, take) = conditions::evaluate(session, limit).await?;
        listing.rows = listing.rows.into_iter().skip(skip).take(take).collect();
    }
    send(session, listing, filter_of(show), more, sink)
}

/// DESCRIBE.
pub async fn describe<S: ResultSink>(
    session: &mut Session,
    describe: &ast::Describe,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    session.clear_conditions();
    let mut listing = objects::columns(session, &describe.table, false)?;
    match &describe.column {
        Some(ast::DescribeColumn::Name(name)) => {
            listing.keep_like(&name.value.replace('_', "\\_").replace('%', "\\%").into_bytes());
        }
        Some(ast::DescribeColumn::Pattern(pattern)) => listing.keep_like(pattern),
        None => {}
    }
    send(session, listing, None, more, sink)
}

fn send<S: ResultSink>(
    session: &mut Session,
    mut listing: Listing,
    filter: Option<&ast::ShowFilter>,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    listing.filter(session, filter)?;
    session.send_rows(&listing.columns, &listing.rows, more, sink)
}

/// The LIKE or WHERE of a form.
fn filter_of(show: &Show) -> Option<&ast::ShowFilter> {
    match show {
        Show::Databases { filter }
        | Show::Tables { filter, .. }
        | Show::TableStatus { filter, .. }
        | Show::OpenTables { filter, .. }
        | Show::Triggers { filter, .. }
        | Show::Events { filter, .. }
        | Show::Columns { filter, .. }
        | Show::Variables { filter, .. }
        | Show::Status { filter, .. }
        | Show::Charset { filter }
        | Show::Collation { filter }
        | Show::ProcedureStatus { filter }
        | Show::FunctionStatus { filter } => filter.as_ref(),
        _ => None,
    }
}

/// Everything that a form lists, before its filter.
fn listing(session: &mut Session, show: &Show) -> Result<Listing> {
    match show {
        Show::Databases { filter } => Ok(objects::databases(session, filter.as_ref())),
        Show::Tables { full, schema, filter, .. } => {
            objects::tables(session, schema.as_ref(), *full, filter.as_ref())
        }
        Show::TableStatus { schema, .. } => objects::table_status(session, schema.as_ref()),
        Show::OpenTables { schema, .. } => objects::open_tables(session, schema.as_ref()),
        Show::Triggers { schema, .. } => objects::triggers(session, schema.as_ref()),
        Show::Events { schema, .. } => objects::events(session, schema.as_ref()),
        Show::Columns { full, table, .. } => objects::columns(session, table, *full),
        Show::Index { table, selection, .. } => {
            let mut listing = objects::indexes(session, table)?;
            if let Some(condition) = selection {
                listing.keep_where(session, condition)?;
            }
            Ok(listing)
        }
        Show::Create(create) => create::show_create(session, create),
        Show::Grants { account, using } => create::grants(session, account.as_ref(), using),
        Show::ProcedureStatus { .. } => Ok(objects::routines(session, "PROCEDURE")),
        Show::FunctionStatus { .. } => Ok(objects::routines(session, "FUNCTION")),
        Show::ProcedureCode(_) => Err(needs_debug_build("SHOW PROCEDURE CODE")),
        Show::FunctionCode(_) => Err(needs_debug_build("SHOW FUNCTION CODE")),
        Show::ParseTree(_) => Err(Error::unsupported("SHOW PARSE_TREE")),
        Show::Warnings { .. } | Show::Errors { .. } => Ok(conditions::listing(session, false)),
        Show::WarningCount => Ok(conditions::count_listing(session, false)),
        Show::ErrorCount => Ok(conditions::count_listing(session, true)),
        other => server::listing(session, other),
    }
}

/// Errors: 1289, as of MySQL's usual builds.
fn needs_debug_build(feature: &str) -> Error {
    let message = format!(
        "The '{feature}' feature is disabled; you need MySQL built with '--with-debug' to have it working"
    );
    Error::new(ErrorCode::FeatureDisabled, message)
}

/// The columns that a statement's result will have, for PREPARE; none for statements without a result.
pub fn result_columns(session: &mut Session, statement: &Statement) -> Result<Vec<ResultColumn>> {
    Ok(match statement {
        Statement::Show(show) => listing(session, show)?.columns,
        Statement::Describe(describe) => objects::columns(session, &describe.table, false)?.columns,
        Statement::Explain(explain) => crate::explain::result_columns(explain),
        Statement::TableMaintenance(maintenance) => maintenance::columns(maintenance.kind),
        _ => Vec::new(),
    })
}

/// COM_FIELD_LIST: the columns of a table whose names are like the pattern (empty: all).
pub fn field_list(session: &mut Session, table: &str, pattern: &str) -> Result<Vec<ResultColumn>> {
    let database = objects::current_database(session)?;
    let columns = match objects::find(session, &database, table)? {
        objects::Found::Virtual(table) => crate::information_schema::columns(table),
        objects::Found::View(view) => {
            let column = |column: &shoal_types::Column| ResultColumn {
                database: database.clone(),
                table: view.name.clone(),
                original_table: view.name.clone(),
                name: column.name.clone(),
                original_name: column.name.clone(),
                sql_type: column.sql_type.clone(),
                flags: Default::default(),
            };
            view.columns.iter().map(column).collect()
        }
        objects::Found::Base(table) => {
            let scoped = ScopeTable::of_base(&table, table.name());
            let shown = scoped.columns.into_iter().filter(|column| !column.hidden);
            let column = |column: crate::resolve::scope::ScopeColumn| ResultColumn {
                database: database.clone(),
                table: table.name().to_owned(),
                original_table: table.name().to_owned(),
                name: column.name,
                original_name: column.original,
                sql_type: column.sql_type,
                flags: column.flags,
            };
            shown.map(column).collect()
        }
    };
    let wanted = |column: &ResultColumn| {
        let collation = Collation::UTF8MB4_GENERAL_CI;
        pattern.is_empty() || collation.like(column.name.as_bytes(), pattern.as_bytes(), Some('\\'))
    };
    Ok(columns.into_iter().filter(wanted).collect())
}
