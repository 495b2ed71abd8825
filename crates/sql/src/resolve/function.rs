//! Calls of stored functions.
//!
//! They are subqueries of a kind: what they yield is a column of the row, or a constant of the statement where the function says
//! that it is DETERMINISTIC and reads no column.

use std::sync::Arc;

use shoal_cluster::ProgramKind;
use shoal_expr::{Coercibility, Expr};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::{ResolvedQuery, Resolver};
use crate::frontend::ResultColumn;
use crate::plan::{FunctionCall, QueryBody, QueryPlan, SubqueryKind};
use crate::program::compile::Signature;

impl Resolver<'_> {
    /// A call of a stored function; `None`: there is no such function. Errors: 1318.
    pub fn stored_function(&mut self, database: Option<&str>, call: &ast::FunctionCall) -> Result<Option<Expr>> {
        let Some(database) = database.or_else(|| self.context()) else { return Ok(None) };
        let found = self.environment.catalog.program(database, ProgramKind::Function, &call.name.value);
        let Some(function) = found.cloned() else { return Ok(None) };
        let signature = Signature::of(&function)?;
        if signature.parameters.len() != call.arguments.len() {
            let message = format!(
                "Incorrect number of arguments for FUNCTION {}.{}; expected {}, got {}",
                function.database,
                function.name,
                signature.parameters.len(),
                call.arguments.len()
            );
            return Err(Error::new(ErrorCode::SpWrongNoOfArgs, message));
        }
        self.calls_programs = true;
        let (mut outer, mut arguments) = (Vec::new(), Vec::with_capacity(call.arguments.len()));
        for argument in self.expressions(&call.arguments)? {
            if argument.columns_used().is_empty() {
                arguments.push(argument);
                continue;
            }
            let slot = self.next_slot;
            self.next_slot += 1;
            let sql_type = argument.sql_type().clone();
            arguments.push(Expr::parameter(slot, sql_type, true, Coercibility::Implicit));
            outer.push((slot, argument));
        }
        let sql_type = signature.returns.unwrap_or_default();
        let name = call.name.value.clone();
        let columns = vec![ResultColumn { name, sql_type: sql_type.clone(), ..ResultColumn::default() }];
        let body = QueryBody::Call(Box::new(FunctionCall { function: Arc::clone(&function), arguments }));
        let plan = QueryPlan { columns, body, constants: Vec::new() };
        let resolved = ResolvedQuery { plan, outer, dependences: Vec::new() };
        Ok(Some(self.place(resolved, SubqueryKind::Scalar, sql_type, true)))
    }
}
