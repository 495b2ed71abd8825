//! CREATE, ALTER and DROP VIEW.
//!
//! A view is the text of its query and what that meant when it was made: names are looked up anew wherever it is used.

use std::sync::Arc;

use shoal_cluster::{Change, View};
use shoal_parser::ast::{self, CheckOption, SqlSecurity, ViewAlgorithm, ViewDefinition};
use shoal_types::{Column, Error, ErrorCode, Result, SqlType, WarningLevel};

use super::draft::check_object_name;
use super::{errors, publish};
use crate::account::{self, Privileges};
use crate::databases::{self, no_such_table};
use crate::dml::Affected;
use crate::session::Session;
use crate::session::plans::PlanKind;

/// What is done with a view of that name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Create,
    Alter,
}

pub async fn put(session: &mut Session, definition: &ViewDefinition, put: Put) -> Result<Affected> {
    let (database, name) = super::qualified(session, &definition.name)?;
    check_object_name(&name, false)?;
    super::database::check_changeable(session, &database)?;
    let replaces = put == Put::Alter || definition.or_replace;
    let needed = if replaces { Privileges::CREATE_VIEW.with(Privileges::DROP) } else { Privileges::CREATE_VIEW };
    account::require(session, &database, Some(&name), needed)?;
    let view = described(session, definition, (&database, &name))?;
    let node = Arc::clone(&session.server.node);
    let exists = publish::change(&node, |catalog| {
        databases::check_exists(catalog, &database)?;
        if catalog.table(&database, &name).is_some() {
            return Err(if replaces { not_a_view(&database, &name) } else { errors::table_exists(&name) });
        }
        match (catalog.view(&database, &name), put) {
            (None, Put::Alter) => Err(no_such_table(&database, &name)),
            (Some(_), Put::Create) if definition.if_not_exists => Ok((Vec::new(), true)),
            (Some(_), Put::Create) if !replaces => Err(errors::table_exists(&name)),
            _ => Ok((vec![Change::PutView(Box::new(view.clone()))], false)),
        }
    })
    .await?;
    if exists {
        session.warn(WarningLevel::Note, ErrorCode::TableExists, errors::table_exists(&name).message());
    }
    Ok(Affected::default())
}

/// Errors: what is wrong with the query; 1060, 1350, 1351, 1353.
fn described(session: &Session, definition: &ViewDefinition, (database, name): (&str, &str)) -> Result<View> {
    if definition.query.into.is_some() {
        return Err(Error::new(ErrorCode::ViewSelectClause, "View's SELECT contains a 'INTO' clause"));
    }
    let statement = ast::Statement::Query(definition.query.clone());
    let plan = session.make_plan(&statement, 0, Some(&[]))?;
    if plan.names_variables {
        let message = "View's SELECT contains a variable or parameter";
        return Err(Error::new(ErrorCode::ViewSelectVariable, message));
    }
    account::check_plan(&session.asking(), &plan)?;
    if let Some(table) = plan.tables.iter().find(|table| table.is_temporary) {
        let message = format!("View's SELECT refers to a temporary table '{}'", table.name());
        return Err(Error::new(ErrorCode::ViewSelectTmptable, message));
    }
    let (PlanKind::PointSelect { query, .. } | PlanKind::Select { query, .. }) = &plan.kind else {
        return Err(Error::unsupported("this query in a view"));
    };
    let names: Vec<String> = definition.columns.iter().map(|name| name.value.clone()).collect();
    if !names.is_empty() && names.len() != query.columns.len() {
        let message = "In definition of view, derived table or common table expression, SELECT list and column names list \
                       have different column counts";
        return Err(Error::new(ErrorCode::ViewWrongList, message));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(query.columns.len());
    for (position, found) in query.columns.iter().enumerate() {
        let name = names.get(position).unwrap_or(&found.name);
        if columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)) {
            return Err(errors::duplicate_column(name));
        }
        columns.push(column(name, &found.sql_type, !found.flags.not_null));
    }
    let definer = match &definition.definer {
        Some(account) => account::account_key(session, account)?,
        None => session.state.access.account.clone(),
    };
    if definer != session.state.access.account {
        account::require_global(session, Privileges::SUPER)?;
    }
    Ok(View {
        database: database.to_owned(),
        name: name.to_owned(),
        names,
        query: definition.query.to_string(),
        context: session.state.database.clone().unwrap_or_default(),
        definer,
        is_invokers: definition.security == Some(SqlSecurity::Invoker),
        algorithm: match definition.algorithm {
            None | Some(ViewAlgorithm::Undefined) => "UNDEFINED",
            Some(ViewAlgorithm::Merge) => "MERGE",
            Some(ViewAlgorithm::TempTable) => "TEMPTABLE",
        }
        .to_owned(),
        check_option: match definition.check_option {
            None => "",
            Some(CheckOption::Cascaded) => "CASCADED",
            Some(CheckOption::Local) => "LOCAL",
        }
        .to_owned(),
        collation: session.variables.settings.collation_connection,
        columns,
    })
}

fn column(name: &str, sql_type: &SqlType, nullable: bool) -> Column {
    Column { nullable, ..Column::new(name, sql_type.clone()) }
}

pub async fn drop(session: &mut Session, statement: &ast::DropObjects) -> Result<Affected> {
    let mut names = Vec::with_capacity(statement.names.len());
    for name in &statement.names {
        let name = super::qualified(session, name)?;
        super::database::check_changeable(session, &name.0)?;
        account::require(session, &name.0, Some(&name.1), Privileges::DROP)?;
        names.push(name);
    }
    let node = Arc::clone(&session.server.node);
    let missing = publish::change(&node, |catalog| {
        let (mut changes, mut missing) = (Vec::new(), Vec::new());
        for (database, name) in &names {
            if catalog.table(database, name).is_some() {
                return Err(not_a_view(database, name));
            }
            match catalog.view(database, name) {
                Some(_) => changes.push(Change::DropView { database: database.clone(), name: name.clone() }),
                None => missing.push(format!("{database}.{name}")),
            }
        }
        if !missing.is_empty() && !statement.if_exists {
            return Err(errors::unknown_tables(&missing.join(",")));
        }
        Ok((changes, missing))
    })
    .await?;
    for name in missing {
        session.warn(WarningLevel::Note, ErrorCode::BadTable, errors::unknown_tables(&name).message());
    }
    Ok(Affected::default())
}

/// Error 1347.
pub fn not_a_view(database: &str, name: &str) -> Error {
    Error::new(ErrorCode::WrongObject, format!("'{database}.{name}' is not VIEW"))
}

/// SHOW CREATE VIEW.
pub fn create_view_text(view: &View) -> String {
    use shoal_parser::quote_identifier as quote;
    let columns: Vec<String> = view.columns.iter().map(|column| quote(&column.name)).collect();
    let columns = if view.names.is_empty() { String::new() } else { format!(" ({})", columns.join(",")) };
    let security = if view.is_invokers { "INVOKER" } else { "DEFINER" };
    let option = match view.check_option.as_str() {
        "" => String::new(),
        option => format!(" WITH {option} CHECK OPTION"),
    };
    format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {security} VIEW {}{columns} AS {}{option}",
        view.algorithm,
        quote(&view.definer.0),
        quote(&view.definer.1),
        quote(&view.name),
        view.query
    )
}
