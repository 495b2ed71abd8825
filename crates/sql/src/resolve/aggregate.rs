//! Aggregate calls, and the rewriting of expressions from the joined row to the row of groups.

use std::collections::HashSet;

use shoal_expr::{Aggregate, BuildContext, Expr};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::Resolver;
use super::expression::literal_expression;
use super::rollup::{grouping, invalid_use};
use super::scope::{AGGREGATE_BASE, GROUPING_BASE, SUBQUERY_BASE, Scope};

impl Resolver<'_> {
    /// An aggregate by name, registered with the block; `None` for other functions.
    pub fn aggregate_call(&mut self, name: &str, call: &ast::FunctionCall) -> Result<Option<Expr>> {
        if !Aggregate::is_aggregate(name) {
            return Ok(None);
        }
        if call.star {
            self.enter_aggregate()?;
            self.block().inside_aggregate = false;
            return Ok(Some(self.register_aggregate(Aggregate::count_rows())));
        }
        let arguments: Vec<&ast::Expr> = call.arguments.iter().collect();
        self.aggregate_of(&arguments, |resolver| {
            resolver.enter_aggregate()?;
            let arguments = resolver.expressions(&call.arguments);
            resolver.block().inside_aggregate = false;
            let aggregate = Aggregate::new(name, arguments?, call.distinct, resolver.build())?;
            Ok(resolver.register_aggregate(aggregate))
        })
        .map(Some)
    }

    /// Resolves an aggregate in the query that it belongs to. One whose arguments read columns of the queries around alone is
    /// theirs: it is computed over the rows of the innermost of them, if its clause allows aggregates, and is a constant
    /// here (manual, "Aggregate Function Descriptions").
    fn aggregate_of(
        &mut self,
        arguments: &[&ast::Expr],
        resolve: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let Some(depth) = self.depth_of_aggregate(arguments)? else { return resolve(self) };
        let (scopes, blocks) = (self.scopes.split_off(depth + 1), self.blocks.split_off(depth + 1));
        let aggregate = resolve(self);
        self.scopes.extend(scopes);
        self.blocks.extend(blocks);
        let mut aggregate = aggregate?;
        for scope in &mut self.scopes[depth + 1..] {
            aggregate = scope.import(aggregate, &mut self.next_slot);
        }
        Ok(aggregate)
    }

    /// The query around that an aggregate of these arguments belongs to; `None`: to this one. Errors: 1111, it would stand in
    /// another aggregate there.
    fn depth_of_aggregate(&mut self, arguments: &[&ast::Expr]) -> Result<Option<usize>> {
        if self.scopes.len() < 2 || self.blocks.len() != self.scopes.len() || self.is_trial {
            return Ok(None);
        }
        let depth = self.depth_of_arguments(arguments).filter(|&depth| !self.scopes[depth].hidden);
        let Some(depth) = depth else { return Ok(None) };
        let block = &self.blocks[depth];
        if block.inside_aggregate && block.clause.allows_aggregates() {
            return Err(invalid_use());
        }
        Ok(block.takes_aggregates().then_some(depth))
    }

    /// The innermost of the scopes around whose columns the arguments read; `None` if they read this query's, or none.
    fn depth_of_arguments(&mut self, arguments: &[&ast::Expr]) -> Option<usize> {
        let known: Vec<usize> = self.scopes.iter().map(|scope| scope.outer.len()).collect();
        let (next_slot, warnings) = (self.next_slot, self.warnings.len());
        let block = std::mem::take(self.block());
        self.block().inside_aggregate = true;
        self.is_trial = true;
        let arguments: Result<Vec<Expr>> = arguments.iter().map(|argument| self.expression(argument)).collect();
        self.is_trial = false;
        *self.block() = block;
        let depth = arguments
            .ok()
            .filter(|arguments| arguments.iter().all(|one| one.columns_used().is_empty()))
            .and_then(|arguments| {
                let slots: Vec<usize> = arguments.iter().flat_map(Expr::parameters_used).collect();
                let reads = |scope: &Scope| scope.outer.iter().any(|(slot, _)| slots.contains(slot));
                self.scopes.iter().rposition(reads)?.checked_sub(1)
            });
        // Resolving was a trial: what it brought in from the scopes around would be read there for nothing.
        for (scope, known) in self.scopes.iter_mut().zip(known) {
            scope.outer.truncate(known);
        }
        self.warnings.truncate(warnings);
        self.next_slot = next_slot;
        depth
    }

    pub fn group_concat(&mut self, concat: &ast::GroupConcat) -> Result<Expr> {
        let ordered = concat.order_by.iter().map(|item| &item.expr);
        let arguments: Vec<&ast::Expr> = concat.arguments.iter().chain(ordered).collect();
        self.aggregate_of(&arguments, |resolver| resolver.own_group_concat(concat))
    }

    fn own_group_concat(&mut self, concat: &ast::GroupConcat) -> Result<Expr> {
        self.enter_aggregate()?;
        let arguments = self.expressions(&concat.arguments);
        let order: Result<Vec<(Expr, bool)>> = concat
            .order_by
            .iter()
            .map(|item| {
                let position = match &item.expr {
                    ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Integer(position), .. }) => {
                        Some(*position)
                    }
                    _ => None,
                };
                match position.and_then(|position| concat.arguments.get((position as usize).wrapping_sub(1))) {
                    Some(argument) => Ok((self.expression(argument)?, item.descending)),
                    None => Ok((self.expression(&item.expr)?, item.descending)),
                }
            })
            .collect();
        self.block().inside_aggregate = false;
        let aggregate =
            Aggregate::group_concat(arguments?, concat.distinct, order?, concat.separator.clone(), self.build())?;
        Ok(self.register_aggregate(aggregate))
    }

    fn enter_aggregate(&mut self) -> Result<()> {
        let block = self.block();
        if !block.takes_aggregates() {
            return Err(invalid_use());
        }
        block.inside_aggregate = true;
        Ok(())
    }

    fn register_aggregate(&mut self, aggregate: Aggregate) -> Expr {
        let block = self.block();
        let position = match block.aggregates.iter().position(|known| *known == aggregate) {
            Some(position) => position,
            None => {
                block.aggregates.push(aggregate);
                block.aggregates.len() - 1
            }
        };
        let aggregate = &block.aggregates[position];
        Expr::column(AGGREGATE_BASE + position, aggregate.sql_type.clone(), aggregate.nullable, "aggregate")
    }

    /// The position in the select list that an item of GROUP BY or ORDER BY gives.
    pub fn position_of(&self, expression: &ast::Expr) -> Option<u64> {
        match expression {
            ast::Expr::Literal(literal) => {
                match literal_expression(self.build(), &literal.value).ok()?.as_literal()? {
                    shoal_types::Value::Int(position) => u64::try_from(*position).ok(),
                    shoal_types::Value::UInt(position) => Some(*position),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Turns expressions over the joined row into expressions over groups.
pub struct GroupRewriter<'s> {
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    pub scope: &'s Scope,
    pub context: &'s BuildContext<'s>,
    pub only_full_group_by: bool,
    pub grouped: bool,
    /// Where the results of the subqueries that run over groups are, by registration: among themselves first, in the row
    /// of the group after `number_subqueries`.
    pub subquery_positions: Vec<Option<usize>>,
    /// Positions of columns that have one value in every group.
    pub determined: HashSet<usize>,
    /// Arguments of the GROUPING() calls.
    pub groupings: Vec<Vec<Expr>>,
    /// Where the row of a group says how many of its items have values.
    pub level: Option<usize>,
}

impl GroupRewriter<'_> {
    /// The position of the first subquery column is only known when all aggregates are; until then subqueries keep their
    /// virtual positions, which `place_subqueries` replaces.
    pub fn rewrite(&mut self, expression: Expr, clause: super::Clause, item: usize) -> Result<Expr> {
        if let Some(position) = self.keys.iter().position(|key| *key == expression) {
            let key = &self.keys[position];
            return Ok(Expr::column(position, key.sql_type().clone(), true, "group key"));
        }
        match expression {
            Expr::Column(column) if column.position >= GROUPING_BASE => {
                let arguments = &self.groupings[column.position - GROUPING_BASE];
                grouping(arguments, &self.keys, self.context)
            }
            Expr::Column(column) if column.position >= AGGREGATE_BASE => {
                let position = self.keys.len() + (column.position - AGGREGATE_BASE);
                Ok(Expr::column(position, column.sql_type, column.nullable, "aggregate"))
            }
            Expr::Column(column) if column.position >= SUBQUERY_BASE => Ok(Expr::Column(column)),
            Expr::Column(column) => self.bare_column(Expr::Column(column), clause, item),
            Expr::Call(mut call) => {
                let arguments = std::mem::take(&mut call.arguments);
                call.arguments = arguments
                    .into_iter()
                    .map(|argument| self.rewrite(argument, clause, item))
                    .collect::<Result<Vec<Expr>>>()?;
                Ok(Expr::Call(call))
            }
            other => Ok(other),
        }
    }

    fn bare_column(&mut self, column: Expr, clause: super::Clause, item: usize) -> Result<Expr> {
        let position = column.as_column().unwrap_or(0);
        let found = self.scope.at_position(position);
        if self.only_full_group_by && !self.determined.contains(&position) {
            let name = found.map_or_else(String::new, |found| {
                let table = &self.scope.tables[found.table];
                let column = &table.columns[found.column].name;
                if table.database.is_empty() {
                    format!("{}.{column}", table.name)
                } else {
                    format!("{}.{}.{column}", table.database, table.name)
                }
            });
            return Err(if self.grouped {
                not_in_group_by(clause, item, &name)
            } else {
                mixed_without_group_by(clause, item, &name)
            });
        }
        let aggregate = Aggregate::new("ANY_VALUE", vec![column], false, self.context)?;
        let index = match self.aggregates.iter().position(|known| *known == aggregate) {
            Some(index) => index,
            None => {
                self.aggregates.push(aggregate);
                self.aggregates.len() - 1
            }
        };
        let aggregate = &self.aggregates[index];
        Ok(Expr::column(self.keys.len() + index, aggregate.sql_type.clone(), true, "any value"))
    }

    /// All aggregates are known: subquery columns begin at `first`.
    pub fn number_subqueries(&mut self, first: usize) {
        self.subquery_positions.iter_mut().flatten().for_each(|position| *position += first);
    }

    pub fn place_subqueries(&self, expression: &mut Expr) {
        let present = std::mem::replace(expression, Expr::null());
        *expression = present.map_columns(&mut |position| {
            if position == GROUPING_BASE {
                return self.level.unwrap_or(position);
            }
            let registered = position.checked_sub(SUBQUERY_BASE);
            registered.and_then(|registered| self.subquery_positions[registered]).unwrap_or(position)
        });
    }
}

fn not_in_group_by(clause: super::Clause, item: usize, name: &str) -> Error {
    let place = match clause {
        super::Clause::FieldList => format!("Expression #{item} of SELECT list"),
        super::Clause::OrderBy => format!("Expression #{item} of ORDER BY"),
        _ => "HAVING clause".to_owned(),
    };
    Error::new(
        ErrorCode::WrongFieldWithGroup,
        format!(
            "{place} is not in GROUP BY clause and contains nonaggregated column '{name}' which is not functionally \
             dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
        ),
    )
}

fn mixed_without_group_by(clause: super::Clause, item: usize, name: &str) -> Error {
    let place = match clause {
        super::Clause::FieldList => format!("expression #{item} of SELECT list"),
        super::Clause::OrderBy => format!("expression #{item} of ORDER BY"),
        _ => "HAVING clause".to_owned(),
    };
    Error::new(
        ErrorCode::MixOfGroupFuncAndFields,
        format!(
            "In aggregated query without GROUP BY, {place} contains nonaggregated column '{name}'; this is incompatible \
             with sql_mode=only_full_group_by"
        ),
    )
}
