//! Calls of stored functions in operands that are not always looked at: of AND and OR behind the first, of IF(), CASE, COALESCE() and IFNULL().
//!
//! A call is made before the expression that reads its result. So each gets the condition under which the expression will: where that does not
//! hold, nothing is called. Conditions are evaluated a second time with the expression; one that may come out differently then is no condition.

use shoal_expr::{BuildContext, Expr, build};
use shoal_parser::ast;
use shoal_types::Result;

use super::Resolver;
use crate::plan::{QueryBody, SubqueryColumn};

/// When an operand is looked at, with those before it.
#[derive(Clone, Copy)]
enum Looks {
    /// AND: none before is false.
    UnlessFalse,
    /// OR: none before is true.
    UnlessTrue,
    /// COALESCE(): all before are NULL.
    WhileNull,
}

impl Resolver<'_> {
    pub(super) fn and_operands(&mut self, operands: &[ast::Expr]) -> Result<Vec<Expr>> {
        self.operands_in_turn(operands, Looks::UnlessFalse)
    }

    pub(super) fn or_operands(&mut self, operands: &[ast::Expr]) -> Result<Vec<Expr>> {
        self.operands_in_turn(operands, Looks::UnlessTrue)
    }

    /// Arguments of a function that looks at its arguments as it needs them, or of any other.
    pub(super) fn arguments_of(&mut self, name: &str, arguments: &[ast::Expr]) -> Result<Vec<Expr>> {
        match (name, arguments) {
            ("coalesce" | "ifnull", _) => self.operands_in_turn(arguments, Looks::WhileNull),
            ("if", [condition, then, otherwise]) => {
                let condition = self.expression(condition)?;
                let holds = |context: &BuildContext<'_>| is_true(&condition, context).map(|one| vec![one]);
                let then = self.operand_where(then, holds)?;
                let fails = |context: &BuildContext<'_>| is_not_true(&condition, context).map(|one| vec![one]);
                let otherwise = self.operand_where(otherwise, fails)?;
                Ok(vec![condition, then, otherwise])
            }
            _ => self.expressions(arguments),
        }
    }

    pub(super) fn case(&mut self, case: &ast::Case) -> Result<Expr> {
        let operand = case.operand.as_ref().map(|operand| self.expression(operand)).transpose()?;
        let mut branches: Vec<(Expr, Expr)> = Vec::with_capacity(case.branches.len());
        for (condition, result) in &case.branches {
            let fail = |context: &BuildContext<'_>| all_fail(operand.as_ref(), &branches, context);
            let condition = match branches.is_empty() {
                true => self.expression(condition)?,
                false => self.operand_where(condition, fail)?,
            };
            let holds = |context: &BuildContext<'_>| {
                let mut conditions = all_fail(operand.as_ref(), &branches, context)?;
                conditions.push(is_true(&tested(operand.as_ref(), &condition, context)?, context)?);
                Ok(conditions)
            };
            let result = self.operand_where(result, holds)?;
            branches.push((condition, result));
        }
        let fail = |context: &BuildContext<'_>| all_fail(operand.as_ref(), &branches, context);
        let otherwise = case.otherwise.as_ref();
        let otherwise = otherwise.map(|otherwise| self.operand_where(otherwise, fail)).transpose()?;
        build::case(operand, branches, otherwise, self.build())
    }

    fn operands_in_turn(&mut self, operands: &[ast::Expr], looks: Looks) -> Result<Vec<Expr>> {
        let mut resolved: Vec<Expr> = Vec::with_capacity(operands.len());
        for operand in operands {
            let operand = match resolved.is_empty() {
                true => self.expression(operand)?,
                false => self.operand_where(operand, |context| {
                    let looked_at = |before: &Expr| match looks {
                        Looks::UnlessFalse => build::is_truth(before.clone(), false, true, context),
                        Looks::UnlessTrue => is_not_true(before, context),
                        Looks::WhileNull => build::is_null(before.clone(), false, context),
                    };
                    resolved.iter().map(looked_at).collect()
                })?,
            };
            resolved.push(operand);
        }
        Ok(resolved)
    }

    /// An operand that is looked at where all of these hold.
    fn operand_where(
        &mut self,
        operand: &ast::Expr,
        conditions: impl FnOnce(&BuildContext<'_>) -> Result<Vec<Expr>>,
    ) -> Result<Expr> {
        let block = self.block();
        let (over_rows, over_groups) = (block.subqueries.len(), block.late_subqueries.len());
        block.sometimes += 1;
        let operand = self.expression(operand);
        self.block().sometimes -= 1;
        let operand = operand?;
        let context = self.build();
        let block = self.block();
        let is_call = |subquery: &&mut SubqueryColumn| matches!(subquery.plan.body, QueryBody::Call(_));
        let over_rows = block.subqueries[over_rows..].iter_mut();
        let mut calls = over_rows.chain(&mut block.late_subqueries[over_groups..]).filter(is_call).peekable();
        if calls.peek().is_none() {
            return Ok(operand);
        }
        let conditions = conditions(context)?;
        if !conditions.iter().all(Expr::is_deterministic) {
            return Ok(operand);
        }
        for call in calls {
            let mut all = conditions.clone();
            all.extend(call.needed.take());
            call.needed = Some(build::and(all, context)?);
        }
        Ok(operand)
    }
}

fn is_true(condition: &Expr, context: &BuildContext<'_>) -> Result<Expr> {
    build::is_truth(condition.clone(), true, false, context)
}

fn is_not_true(condition: &Expr, context: &BuildContext<'_>) -> Result<Expr> {
    build::is_truth(condition.clone(), true, true, context)
}

/// What a WHEN of CASE tests.
fn tested(operand: Option<&Expr>, condition: &Expr, context: &BuildContext<'_>) -> Result<Expr> {
    match operand {
        None => Ok(condition.clone()),
        Some(operand) => build::binary(build::BinaryOperator::Equal, operand.clone(), condition.clone(), context),
    }
}

/// None of these branches is taken.
fn all_fail(operand: Option<&Expr>, branches: &[(Expr, Expr)], context: &BuildContext<'_>) -> Result<Vec<Expr>> {
    let fails = |(condition, _): &(Expr, Expr)| is_not_true(&tested(operand, condition, context)?, context);
    branches.iter().map(fails).collect()
}
