//! Subqueries of several columns that are compared with subqueries: `(SELECT 1, 2) = (SELECT 1, 2)`, `(SELECT a, b) IN (SELECT ...)`.
//!
//! The left one becomes a derived table of one row, whose columns are compared as a row constructor's fields are. If it has no row the
//! result is NULL, if it has several it is errno 1242, as for every subquery that stands for one row.

use shoal_expr::Expr;
use shoal_parser::ast;
use shoal_types::Result;

use super::Resolver;
use super::written::{plain_query, plain_select};

/// The derived table; a name that nobody writes.
const LEFT: &str = "\u{0}left";

/// What the left subquery is compared with.
pub enum RowComparison<'q> {
    With(ast::BinaryOperator, &'q ast::Query),
    In { query: &'q ast::Query, negated: bool },
}

impl Resolver<'_> {
    pub(super) fn row_subquery(&mut self, left: &ast::Query, comparison: &RowComparison<'_>) -> Result<Expr> {
        let width = self.nested(left)?.plan.columns.len();
        let column = |number: usize| ast::Ident::new(format!("c{number}"));
        let field = |number: usize| {
            ast::Expr::Column(Box::new(ast::ColumnName {
                schema: None,
                table: Some(ast::Ident::new(LEFT)),
                column: column(number),
            }))
        };
        let fields = Box::new(ast::Expr::Row((0..width).map(field).collect()));
        let expr = match comparison {
            RowComparison::With(operator, query) => ast::Expr::Binary {
                operator: *operator,
                left: fields,
                right: Box::new(ast::Expr::Subquery(Box::new((*query).clone()))),
            },
            RowComparison::In { query, negated } => {
                ast::Expr::InSubquery { operand: fields, query: Box::new((*query).clone()), negated: *negated }
            }
        };
        let base = ast::TableFactor::Derived {
            lateral: false,
            query: Box::new(left.clone()),
            alias: Some(ast::Ident::new(LEFT)),
            columns: (0..width).map(column).collect(),
        };
        let item = ast::SelectItem::Expression { expr, alias: None, text: Vec::new() };
        let select = plain_select(vec![item], vec![ast::TableReference { base, joins: Vec::new() }]);
        self.scalar_subquery(&plain_query(select))
    }
}
