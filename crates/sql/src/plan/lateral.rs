//! LATERAL derived tables: queries of a FROM clause that read the tables before them.

use std::sync::Arc;

use shoal_expr::Expr;

use super::{Input, JoinStep, QueryPlan};

/// A query and what it reads of the row so far.
#[derive(Debug)]
pub struct Lateral {
    pub plan: Arc<QueryPlan>,
    /// Slots to fill from the row before the query runs.
    pub outer: Vec<(usize, Expr)>,
}

impl Input {
    /// Which rows it has depends on the row so far.
    pub fn depends_on_row(&self) -> bool {
        match self {
            Input::Table(input) => input.access.depends_on_row,
            Input::Lateral(_) => true,
            Input::JsonTable(table) => !table.document.columns_used().is_empty(),
            Input::Derived(_) | Input::Virtual(_) | Input::Working | Input::Rows(_) => false,
        }
    }

    /// The expressions over the row so far that decide which rows it has.
    pub fn visit_row_expressions(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Input::Lateral(lateral) => lateral.outer.iter_mut().for_each(|(_, expression)| visit(expression)),
            Input::JsonTable(table) => visit(&mut table.document),
            _ => {}
        }
    }
}

impl JoinStep {
    /// Its rows are made for one row at a time.
    pub fn is_lateral(&self) -> bool {
        !matches!(self.input, Input::Table(_)) && self.input.depends_on_row()
    }
}
