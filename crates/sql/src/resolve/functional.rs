//! Indexed generated columns in the place of the expressions that they are.
//!
//! A condition or an order by `lower(name)` can use an index of that: the expression is read from the column that holds it. Only
//! conditions, and what ORDER BY sorts by, are looked at; both mean rows as they are stored.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{Expr, build};
use shoal_types::{Column, SqlType};

use super::from::JoinTree;
use super::multi_valued::{Wanted, tests_of};
use super::row_rules::computed_by_part;
use super::scope::{Scope, ScopeTable};
use super::{BlockState, Resolver};

/// A generated column that some index has.
pub struct Indexed {
    /// What it is computed from, over virtual positions.
    definition: Expr,
    /// The column, over these.
    column: Expr,
    /// It keeps elements of this type out of the array that is computed.
    array_of: Option<SqlType>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    Different,
    Same,
    /// It would be if its parameters were the definition's literals.
    UpToParameters,
}

impl Resolver<'_> {
    /// The indexed generated columns of the present scope's tables. Empty for most statements, without looking at anything twice.
    pub fn indexed_expressions(&mut self) -> Vec<Indexed> {
        let generates = |table: &ScopeTable| {
            !table.nullable && table.base.as_ref().is_some_and(|base| base.has_row_rules && has_indexed(base))
        };
        let scope = self.scope();
        let found: Vec<(usize, Arc<Table>)> = scope
            .tables
            .iter()
            .enumerate()
            .filter(|(_, table)| generates(table))
            .filter_map(|(place, table)| Some((place, Arc::clone(table.base.as_ref()?))))
            .collect();
        let mut indexed = Vec::new();
        for (table, base) in found {
            for column in indexed_columns(&base) {
                let Some(definition) = self.definition_of(&base, column) else { continue };
                let first = self.scope().tables[table].first;
                let definition = definition.map_columns(&mut |position| position + first);
                let Column { name, sql_type, nullable, generated, hidden, array_of, .. } =
                    &base.schema.columns[column];
                // Where plans are shown, a functional part has its expression for a name.
                let shown = generated.as_ref().filter(|_| *hidden).map_or(name, |(text, _)| text);
                let column = Expr::column(first + column, sql_type.clone(), *nullable, shown);
                indexed.push(Indexed { definition, column, array_of: array_of.clone() });
            }
        }
        indexed
    }

    /// What a generated column is computed from, over the positions of its table; as this session would write it.
    fn definition_of(&mut self, table: &Arc<Table>, column: usize) -> Option<Expr> {
        let (text, _) = table.schema.columns[column].generated.as_ref()?;
        let parsed = shoal_parser::parse_expression(text.as_bytes(), Default::default()).ok()?;
        let parsed = if table.schema.columns[column].hidden { computed_by_part(parsed) } else { parsed };
        let state = (self.uncacheable, self.names_variables, self.warnings.len(), self.temporal_parameters.len());
        // Reading what it is made of is nothing that the statement does.
        self.scopes.push(Scope::default());
        self.blocks.push(BlockState::default());
        let resolved = self.scope().add_table(ScopeTable::of_base(table, table.name()));
        let resolved = resolved.and_then(|_| self.expression(&parsed));
        self.blocks.pop();
        self.scopes.pop();
        (self.uncacheable, self.names_variables) = (state.0, state.1);
        self.warnings.truncate(state.2);
        self.temporal_parameters.truncate(state.3);
        resolved.ok().filter(Expr::is_deterministic)
    }

    /// Puts indexed columns in the place of what is the same.
    pub fn use_indexed(&mut self, indexed: &[Indexed], expression: &mut Expr) {
        for one in indexed {
            if let Some(element) = &one.array_of {
                if self.bound_elements(one, element, expression) {
                    return;
                }
                continue;
            }
            if !is_held_by(expression.sql_type(), one.column.sql_type()) {
                continue;
            }
            match likeness(expression, &one.definition) {
                Likeness::Different => {}
                Likeness::UpToParameters => self.wants_literals = true,
                Likeness::Same => {
                    *expression = one.column.clone();
                    return;
                }
            }
        }
        if let Expr::Call(call) = expression {
            for argument in &mut call.arguments {
                self.use_indexed(indexed, argument);
            }
        }
    }

    /// Notes at a predicate about the array that a multi-valued key part keeps which elements a row must have.
    fn bound_elements(&mut self, indexed: &Indexed, element: &SqlType, expression: &mut Expr) -> bool {
        let Expr::Call(call) = &*expression else { return false };
        for test in tests_of(call) {
            match likeness(&call.arguments[test.array], &indexed.definition) {
                Likeness::Different => continue,
                Likeness::UpToParameters => self.wants_literals = true,
                Likeness::Same => {
                    let ctx = self.build();
                    match test.wanted(call, element, ctx) {
                        Ok(Wanted::Elements(elements)) => {
                            let (predicate, column) = (expression.clone(), indexed.column.clone());
                            let Ok(bounded) = build::of_elements(predicate, column, elements, ctx) else {
                                return false;
                            };
                            *expression = bounded;
                            return true;
                        }
                        Ok(Wanted::OfLiterals) => self.wants_literals = true,
                        Ok(Wanted::Unknown) | Err(_) => {}
                    }
                }
            }
        }
        false
    }

    /// The same in the conditions of joins.
    pub fn use_indexed_in_joins(&mut self, indexed: &[Indexed], tree: &mut JoinTree) {
        if let JoinTree::Join { left, right, condition, .. } = tree {
            if let Some(condition) = condition {
                self.use_indexed(indexed, condition);
            }
            self.use_indexed_in_joins(indexed, left);
            self.use_indexed_in_joins(indexed, right);
        }
    }
}

fn has_indexed(table: &Table) -> bool {
    table.schema.columns.iter().any(|column| column.generated.is_some()) && indexed_columns(table).next().is_some()
}

fn indexed_columns(table: &Table) -> impl Iterator<Item = usize> + '_ {
    let schema = &table.schema;
    let is_indexed = |position: usize| {
        schema
            .indexes
            .iter()
            .any(|index| !index.invisible && index.columns.iter().any(|part| part.column == position))
    };
    (0..schema.columns.len()).filter(move |&at| schema.columns[at].generated.is_some() && is_indexed(at))
}

/// The column has exactly the values that the expression would have.
fn is_held_by(expression: &SqlType, column: &SqlType) -> bool {
    let integers = expression.is_integer() && column.is_integer();
    expression.unsigned == column.unsigned
        && (integers
            || expression.base == column.base
                && expression.decimals == column.decimals
                && expression.collation == column.collation
                && expression.length <= column.length)
}

/// Whether two expressions do the same with the same columns, whatever is known of their being NULL.
fn likeness(expression: &Expr, definition: &Expr) -> Likeness {
    match (expression, definition) {
        (Expr::Column(one), Expr::Column(other)) if one.position == other.position => Likeness::Same,
        (Expr::Literal(one), Expr::Literal(other)) if one.value == other.value => Likeness::Same,
        (Expr::Parameter(_), Expr::Literal(_)) => Likeness::UpToParameters,
        (Expr::Call(one), Expr::Call(other))
            if one.operation == other.operation && one.arguments.len() == other.arguments.len() =>
        {
            let mut whole = Likeness::Same;
            for (one, other) in one.arguments.iter().zip(&other.arguments) {
                match likeness(one, other) {
                    Likeness::Different => return Likeness::Different,
                    Likeness::UpToParameters => whole = Likeness::UpToParameters,
                    Likeness::Same => {}
                }
            }
            whole
        }
        _ => Likeness::Different,
    }
}
