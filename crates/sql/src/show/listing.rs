//! A list of rows with names, filtered by LIKE or WHERE.

use shoal_expr::EvalContext;
use shoal_parser::ast::{self, ShowFilter};
use shoal_types::{Collation, Error, Result, Value};

use crate::frontend::ResultColumn;
use crate::information_schema::types_of;
use crate::resolve::scope::ScopeTable;
use crate::resolve::{Clause, Resolver};
use crate::session::Session;

/// A result that is not planned.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
    /// The column that LIKE looks at.
    pub like_column: usize,
    /// Names of databases and tables are told apart by case.
    pub exact_case: bool,
}

impl Listing {
    /// `columns`: see `information_schema::types_of`.
    pub fn new(columns: &str, rows: Vec<Vec<Value>>) -> Listing {
        Listing { columns: types_of(columns), rows, ..Listing::default() }
    }

    /// The heading of the first column says what LIKE chose: `Database (shop%)`.
    pub fn with_pattern_in_heading(mut self, filter: Option<&ShowFilter>) -> Listing {
        if let (Some(ShowFilter::Like(pattern)), Some(first)) = (filter, self.columns.first_mut()) {
            first.name = format!("{} ({})", first.name, String::from_utf8_lossy(pattern));
        }
        self
    }

    pub fn filter(&mut self, session: &mut Session, filter: Option<&ShowFilter>) -> Result<()> {
        match filter {
            None => Ok(()),
            Some(ShowFilter::Like(pattern)) => {
                self.keep_like(pattern);
                Ok(())
            }
            Some(ShowFilter::Where(condition)) => self.keep_where(session, condition),
        }
    }

    pub fn keep_like(&mut self, pattern: &[u8]) {
        let collation = if self.exact_case { Collation::UTF8MB4_BIN } else { Collation::UTF8MB4_GENERAL_CI };
        let place = self.like_column;
        self.rows.retain(|row| match row.get(place) {
            Some(Value::Str(text)) => collation.like(text, pattern, Some('\\')),
            _ => false,
        });
    }

    /// WHERE over the columns by their headings.
    pub fn keep_where(&mut self, session: &mut Session, condition: &ast::Expr) -> Result<()> {
        let condition = {
            let planner = session.planner();
            let around = planner.surroundings();
            let environment = planner.environment(&around, Some(&[]), None);
            let mut resolver = Resolver::new(&environment, 0);
            resolver.block().clause = Clause::Where;
            resolver.scope().add_table(ScopeTable::of_columns("", &self.columns))?;
            let resolved = resolver.expression(condition)?;
            let block = resolver.block();
            if !(block.subqueries.is_empty() && block.late_subqueries.is_empty() && block.constants.is_empty()) {
                return Err(Error::unsupported("subqueries in SHOW ... WHERE"));
            }
            resolved
        };
        let now = session.variables.timestamp_micros.unwrap_or_else(|| session.server.clock_micros());
        let mut eval = EvalContext::new(&[], &session.variables.time_zone, now, session.variables.settings);
        eval.session = Some(&mut session.state);
        let mut kept = Vec::new();
        for row in self.rows.drain(..) {
            if condition.eval_bool(&row, &mut eval)? == Some(true) {
                kept.push(row);
            }
        }
        self.rows = kept;
        Ok(())
    }
}
