//! Subqueries in expressions: which run once, which run for every row, and where their results go.

use std::cmp::Ordering;
use std::sync::Arc;

use shoal_expr::{Coercibility, CompareOperator, Expr, build};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::expression::{comparison, operand_columns};
use super::scope::{SUBQUERY_BASE, WINDOW_SUBQUERY_BASE};
use super::windowing::reads_window;
use super::{CommonTable, ResolvedQuery, Resolver, SUBQUERY_DEPTH_MAX};
use crate::execute::lookup::common_key_type;
use crate::plan::row_order::forget_row_order;
use crate::plan::{ConstantSubquery, QueryPlan, SubqueryColumn, SubqueryKind};

impl Resolver<'_> {
    pub(super) fn nested(&mut self, query: &ast::Query) -> Result<ResolvedQuery> {
        if self.scopes.len() >= SUBQUERY_DEPTH_MAX {
            return Err(Error::new(ErrorCode::TooBigSelect, "Too high level of nesting for select"));
        }
        self.query(query)
    }

    /// A derived table: it sees nothing of the query whose FROM clause it stands in, but what is around that.
    pub fn derived_query(&mut self, query: &ast::Query) -> Result<ResolvedQuery> {
        self.hiding_from(self.scopes.len().saturating_sub(1), query)
    }

    /// Resolves a query that sees nothing of the scopes from `depth` on.
    fn hiding_from(&mut self, depth: usize, query: &ast::Query) -> Result<ResolvedQuery> {
        self.without_scopes(depth, |resolver| resolver.nested(query))
    }

    /// Resolves something that sees nothing of the statement around it.
    pub fn isolated<T>(&mut self, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.without_scopes(0, resolve)
    }

    fn without_scopes<T>(&mut self, depth: usize, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let seen: Vec<bool> =
            self.scopes[depth..].iter_mut().map(|scope| std::mem::replace(&mut scope.hidden, true)).collect();
        let resolved = resolve(self);
        for (scope, hidden) in self.scopes[depth..].iter_mut().zip(seen) {
            scope.hidden = hidden;
        }
        resolved
    }

    /// The query of a WITH table, which sees the WITH tables before it.
    pub fn common_table_query(&mut self, common: &Arc<CommonTable>) -> Result<ResolvedQuery> {
        let hidden = self.common_tables.split_off(common.depth);
        let depth = common.scopes.min(self.scopes.len());
        let resolved = match common.recursive {
            true => {
                self.common_tables.push(Arc::clone(common));
                let resolved = self.recursive_query(common, |resolver| resolver.hiding_from(depth, &common.query));
                self.common_tables.truncate(common.depth);
                resolved
            }
            false => self.hiding_from(depth, &common.query),
        };
        self.common_tables.extend(hidden);
        let mut resolved = resolved?;
        super::from::rename_columns(&mut resolved.plan, common.columns.iter().map(String::as_str))?;
        Ok(resolved)
    }

    pub fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Expr> {
        let resolved = self.nested(query)?;
        one_column(&resolved.plan)?;
        let sql_type = resolved.plan.columns[0].sql_type.clone();
        Ok(self.place(resolved, SubqueryKind::Scalar, sql_type, true))
    }

    pub fn exists(&mut self, query: &ast::Query) -> Result<Expr> {
        let resolved = self.nested(query)?;
        Ok(self.place(resolved, SubqueryKind::Exists, SqlType::bigint(false), false))
    }

    pub fn in_subquery(&mut self, operand: &ast::Expr, query: &ast::Query, negated: bool) -> Result<Expr> {
        let left = match operand {
            ast::Expr::Row(fields) => self.expressions(fields)?,
            single => vec![self.expression(single)?],
        };
        let mut resolved = self.nested(query)?;
        if resolved.plan.columns.len() != left.len() {
            return Err(operand_columns(left.len()));
        }
        let mut types = Vec::with_capacity(left.len());
        let mut converted = Vec::with_capacity(left.len());
        for (position, expression) in left.into_iter().enumerate() {
            let (mut ours, mut column) =
                (expression.sql_type().clone(), resolved.plan.columns[position].sql_type.clone());
            let firmness = (expression.coercibility(), resolved.plan.coercibility(position));
            agree_on_collation((&mut ours, firmness.0), (&mut column, firmness.1));
            let target = match common_key_type(&ours, &column) {
                Some(target) => target,
                None => build::comparison_type(self.build(), &expression, &column)?,
            };
            converted.push(build::convert_expr(expression, &target, self.build())?);
            types.push(target);
        }
        convert_columns(&mut resolved.plan, &types, self.build())?;
        let kind = SubqueryKind::In { left: converted, types, negated };
        Ok(self.place(resolved, kind, SqlType::bigint(false), true))
    }

    pub fn quantified(
        &mut self,
        operator: ast::BinaryOperator,
        quantifier: ast::Quantifier,
        left: &ast::Expr,
        query: &ast::Query,
    ) -> Result<Expr> {
        let Some(operator) = comparison(operator) else {
            return Err(Error::unsupported("this operator with ANY"));
        };
        let all = quantifier == ast::Quantifier::All;
        match (operator, all) {
            (CompareOperator::Equal, false) => return self.in_subquery(left, query, false),
            (CompareOperator::NotEqual, true) => return self.in_subquery(left, query, true),
            _ => {}
        }
        let left = self.expression(left)?;
        let resolved = self.nested(query)?;
        one_column(&resolved.plan)?;
        let (mut ours, mut theirs) = (left.sql_type().clone(), resolved.plan.columns[0].sql_type.clone());
        let firmness = (left.coercibility(), resolved.plan.coercibility(0));
        agree_on_collation((&mut ours, firmness.0), (&mut theirs, firmness.1));
        let ours = Expr::column(0, ours, true, "left");
        let theirs = Expr::column(1, theirs, true, "right");
        let compare = build::comparison(operator, ours, theirs, self.build())?;
        let kind = SubqueryKind::Quantified { left, compare, all };
        Ok(self.place(resolved, kind, SqlType::bigint(false), true))
    }

    /// `(a, b) = (SELECT ...)`.
    pub fn row_and_subquery(
        &mut self,
        operator: CompareOperator,
        fields: &[ast::Expr],
        query: &ast::Query,
    ) -> Result<Expr> {
        let left = self.expressions(fields)?;
        let resolved = self.nested(query)?;
        let columns = &resolved.plan.columns;
        if columns.len() != left.len() {
            return Err(operand_columns(left.len()));
        }
        let ours = left.iter().enumerate();
        let ours = ours.map(|(position, field)| Expr::column(position, field.sql_type().clone(), true, "left"));
        let theirs = columns.iter().enumerate();
        let theirs = theirs
            .map(|(position, column)| Expr::column(left.len() + position, column.sql_type.clone(), true, "right"));
        let compare = build::row_comparison(operator, ours.collect(), theirs.collect(), self.build())?;
        let kind = SubqueryKind::Row { left, compare };
        Ok(self.place(resolved, kind, SqlType::bigint(false), true))
    }

    /// Registers a subquery with the block and yields the expression that reads its result.
    pub(super) fn place(
        &mut self,
        mut resolved: ResolvedQuery,
        kind: SubqueryKind,
        sql_type: SqlType,
        nullable: bool,
    ) -> Expr {
        forget_row_order(&mut resolved.plan);
        let coercibility = resolved.plan.coercibility(0);
        let is_single = matches!(kind, SubqueryKind::Scalar | SubqueryKind::Exists);
        let is_once = self.block().calls_once || !resolved.plan.is_run_each_time();
        let is_call = matches!(resolved.plan.body, crate::plan::QueryBody::Call(_));
        let is_sometimes = is_call && self.block().sometimes > 0;
        let constant = resolved.outer.is_empty() && is_single && is_once && !is_sometimes;
        if constant {
            let slot = self.next_slot;
            self.next_slot += 1;
            let exists = matches!(kind, SubqueryKind::Exists);
            let coercibility = if sql_type.is_string() { coercibility } else { Coercibility::Numeric };
            self.block().constants.push(ConstantSubquery { plan: Arc::new(resolved.plan), slot, exists });
            return Expr::parameter(slot, sql_type, nullable, coercibility);
        }
        let block = self.block();
        let late = block.clause.allows_aggregates() && !block.inside_aggregate;
        let plan = Arc::new(resolved.plan);
        let subquery = SubqueryColumn { plan, kind, outer: resolved.outer, needed: None, position: 0 };
        if subquery.row_expressions().any(reads_window) {
            block.window_subqueries.push(subquery);
            let position = WINDOW_SUBQUERY_BASE + block.window_subqueries.len() - 1;
            return Expr::column(position, sql_type, nullable, "subquery");
        }
        let list = if late { &mut block.late_subqueries } else { &mut block.subqueries };
        list.push(subquery);
        let place = (late, list.len() - 1);
        block.subquery_places.push(place);
        let position = SUBQUERY_BASE + block.subquery_places.len() - 1;
        Expr::column(position, sql_type, nullable, "subquery")
    }
}

/// Of two texts of one character set, the one with the firmer collation gives it to the other: a constant has that of a column.
fn agree_on_collation(left: (&mut SqlType, Coercibility), right: (&mut SqlType, Coercibility)) {
    let are_texts = left.0.is_string() && right.0.is_string();
    if !are_texts || left.0.collation.charset() != right.0.collation.charset() {
        return;
    }
    match left.1.cmp(&right.1) {
        Ordering::Less => right.0.collation = left.0.collation,
        Ordering::Greater => left.0.collation = right.0.collation,
        Ordering::Equal => {}
    }
}

fn one_column(plan: &QueryPlan) -> Result<()> {
    if plan.columns.len() == 1 { Ok(()) } else { Err(operand_columns(1)) }
}

/// Makes a query yield its columns in these types.
pub fn convert_columns(
    plan: &mut QueryPlan,
    types: &[SqlType],
    context: &shoal_expr::BuildContext<'_>,
) -> Result<()> {
    match &mut plan.body {
        crate::plan::QueryBody::Block(block) => {
            for (expression, target) in block.projection.iter_mut().zip(types) {
                if expression.sql_type() != target {
                    let present = std::mem::replace(expression, Expr::null());
                    *expression = build::convert_expr(present, target, context)?;
                }
            }
        }
        crate::plan::QueryBody::SetOperation(operation) => operation.types = types.to_vec(),
        // Where a query may stand, neither a function nor a table of WITH does.
        crate::plan::QueryBody::Recursion(_) | crate::plan::QueryBody::Call(_) => {}
    }
    for (column, target) in plan.columns.iter_mut().zip(types) {
        column.sql_type = target.clone();
    }
    Ok(())
}
