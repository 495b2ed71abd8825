//! Queries that are made instead of written.

use shoal_parser::ast;

/// `SELECT items FROM ...` and nothing else.
pub fn plain_select(items: Vec<ast::SelectItem>, from: Vec<ast::TableReference>) -> ast::Select {
    ast::Select {
        hints: None,
        options: Default::default(),
        items,
        from,
        from_dual: false,
        selection: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
    }
}

/// A query that is this SELECT.
pub fn plain_query(select: ast::Select) -> ast::Query {
    ast::Query {
        with: None,
        body: ast::QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into: None,
    }
}
