//! Views where they are used.

use std::sync::Arc;

use shoal_cluster::View;
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::{ResolvedQuery, Resolver};
use super::from::rename_columns;
use crate::account::{self, Privileges};

/// Views within views.
const DEPTH_MAX: usize = 60;

impl<'a> Resolver<'a> {
    /// The query of a view, which sees nothing of the statement around it. Errors: 1356, 1462.
    pub fn view_query(&mut self, view: &'a Arc<View>) -> Result<ResolvedQuery> {
        self.views_used.push(Arc::clone(view));
        if self.views_inside.len() >= DEPTH_MAX || self.views_inside.iter().any(|outer| Arc::ptr_eq(outer, view)) {
            let message = format!("`{}`.`{}` contains view recursion", view.database, view.name);
            return Err(Error::new(ErrorCode::ViewRecursive, message));
        }
        let Some(query) = parsed(&view.query) else { return Err(broken(view)) };
        let (common, cacheable) = (std::mem::take(&mut self.common_tables), !self.uncacheable);
        let used_before = self.tables_used.len();
        self.views_inside.push(view);
        let resolved = self.isolated_query(&query);
        self.views_inside.pop();
        self.common_tables = common;
        if cacheable {
            self.uncacheable = false;
        }
        let mut resolved = resolved.map_err(|error| invalid(view, error))?;
        rename_columns(&mut resolved.plan, view.names.iter().map(String::as_str)).map_err(|error| invalid(view, error))?;
        if !view.is_invokers {
            self.check_definer(view, used_before)?;
        }
        Ok(resolved)
    }

    /// The definer may read what the view reads; then everybody may who may read the view. Errors: 1356.
    fn check_definer(&mut self, view: &View, used_before: usize) -> Result<()> {
        let catalog = self.environment.catalog;
        for (position, table) in self.tables_used.iter().enumerate().skip(used_before) {
            if self.tables_of_definers.contains(&position) {
                continue;
            }
            let (database, name) = (&table.schema.database, &table.schema.name);
            let rights = account::of_account(catalog, &view.definer, true, database, name);
            if !rights.contains(Privileges::SELECT) {
                return Err(broken(view));
            }
        }
        self.tables_of_definers.extend(used_before..self.tables_used.len());
        Ok(())
    }
}

fn parsed(text: &str) -> Option<ast::Query> {
    match shoal_parser::parse_first(text.as_bytes(), 0, Default::default()).ok()?.statement {
        ast::Statement::Query(query) => Some(*query),
        _ => None,
    }
}

/// What is wrong inside a view is told of the view.
fn invalid(view: &View, error: Error) -> Error {
    const OF_NAMES: [ErrorCode; 6] = [
        ErrorCode::NoSuchTable,
        ErrorCode::BadField,
        ErrorCode::BadDb,
        ErrorCode::SpDoesNotExist,
        ErrorCode::ViewWrongList,
        ErrorCode::NonUniq,
    ];
    if OF_NAMES.iter().any(|code| error.is(*code)) { broken(view) } else { error }
}

fn broken(view: &View) -> Error {
    let message = format!(
        "View '{}.{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to \
         use them",
        view.database, view.name
    );
    Error::new(ErrorCode::ViewInvalid, message)
}
