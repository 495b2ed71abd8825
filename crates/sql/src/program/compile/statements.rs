//! The SQL statements of a program, and those that no program may have.

use std::cell::RefCell;
use std::rc::Rc;

use shoal_cluster::ProgramKind;
use shoal_parser::ast::{self, IntoTarget, SelectInto, SetAssignment, SetValue, Statement};
use shoal_types::{Error, ErrorCode, Result};

use super::Compiler;
use crate::diagnostics;
use crate::program::code::{Argument, CallStep, DiagnosticsCode, SignalCode, Step};
use crate::program::computed::{Computed, Planned};
use crate::program::condition::HandlerFor;
use crate::program::place::Target;
use crate::program::set_inside::no_autocommit;
use crate::resolve::Locals;
use crate::session::plans;

impl Compiler<'_> {
    pub(super) fn sql(&mut self, statement: &Statement) -> Result<()> {
        self.check_allowed(statement)?;
        match statement {
            Statement::Query(query) => {
                let Some(SelectInto::Variables(targets)) = &query.into else { return self.planned(statement) };
                let into = targets.iter().map(|target| self.target(target)).collect::<Result<Vec<_>>>()?;
                let query = ast::Query { into: None, ..ast::Query::clone(query) };
                let query = Planned::new(Statement::Query(Box::new(query)), &self.scope);
                self.step(Step::Select { query, into });
                Ok(())
            }
            Statement::Set(assignments) => assignments.iter().try_for_each(|one| self.set(one)),
            Statement::Call(call) => {
                let arguments = call.arguments.iter().map(|argument| self.argument(argument));
                let arguments = arguments.collect::<Result<Vec<Argument>>>()?;
                let procedure = call.procedure.clone();
                self.step(Step::Call(CallStep { procedure, arguments, known: RefCell::default() }));
                Ok(())
            }
            Statement::Do(expressions) => {
                for expression in expressions {
                    let value = self.computed(expression);
                    self.step(Step::Compute(value));
                }
                Ok(())
            }
            Statement::Signal(signal) => self.signal(signal),
            Statement::GetDiagnostics(get) => self.get_diagnostics(get),
            _ if plans::is_planned(statement) => self.planned(statement),
            _ => {
                self.step(Step::Other { statement: statement.clone(), scope: Rc::clone(&self.scope) });
                Ok(())
            }
        }
    }

    fn planned(&mut self, statement: &Statement) -> Result<()> {
        let planned = Planned::new(statement.clone(), &self.scope);
        self.step(Step::Run(planned));
        Ok(())
    }

    fn locals(&self) -> Locals<'_> {
        Locals { variables: &self.scope, rows: &self.rows, types: &self.types }
    }

    pub(super) fn local(&self, name: &ast::Ident) -> Result<Target> {
        self.locals()
            .slot(&name.value)
            .map(Target::Slot)
            .ok_or_else(|| Error::new(ErrorCode::SpUndeclaredVar, format!("Undeclared variable: {}", name.value)))
    }

    fn target(&self, target: &IntoTarget) -> Result<Target> {
        match target {
            IntoTarget::UserVariable(name) => Ok(Target::User(name.clone())),
            IntoTarget::Local(name) => self.local(name),
        }
    }

    fn set(&mut self, assignment: &SetAssignment) -> Result<()> {
        let (target, value) = match assignment {
            SetAssignment::UserVariable { name, value } => (Target::User(name.clone()), value.clone()),
            SetAssignment::NewColumn { column, value } => (self.new_column(column)?, value.clone()),
            SetAssignment::Variable { variable, value } => {
                let local = match (variable.scope, &variable.component) {
                    (None, None) => self.locals().slot(&variable.name.value),
                    (None, Some(row)) if row.is("OLD") && self.source.trigger.is_some() => {
                        let message = "Updating of OLD row is not allowed in trigger";
                        return Err(Error::new(ErrorCode::TrgCantChangeRow, message));
                    }
                    _ => None,
                };
                let is_inside_statement = matches!(self.source.kind, ProgramKind::Function | ProgramKind::Trigger);
                if local.is_none() && is_inside_statement && variable.name.is("autocommit") {
                    return Err(no_autocommit());
                }
                match (local, value) {
                    (Some(slot), SetValue::Expr(value)) => (Target::Slot(slot), value.clone()),
                    (Some(_), SetValue::Default) => {
                        let message = "DEFAULT is not allowed for a variable of a stored program";
                        return Err(Error::new(ErrorCode::Parse, message));
                    }
                    _ => return self.other_set(assignment),
                }
            }
            SetAssignment::Names { .. } | SetAssignment::CharacterSet(_) => return self.other_set(assignment),
        };
        let value = self.computed(&value);
        self.step(Step::Assign { target, value });
        Ok(())
    }

    fn other_set(&mut self, assignment: &SetAssignment) -> Result<()> {
        let statement = Statement::Set(vec![assignment.clone()]);
        self.step(Step::Other { statement, scope: Rc::clone(&self.scope) });
        Ok(())
    }

    /// A column of NEW. Errors: 1362, it is too late to change it; 1363, there is none.
    fn new_column(&self, column: &ast::Ident) -> Result<Target> {
        let unknown = || {
            let message = "There is no NEW row in on DELETE trigger";
            Error::new(ErrorCode::TrgNoSuchRow, message)
        };
        let slot = self.locals().column("NEW", &column.value)?.ok_or_else(unknown)?;
        if self.source.trigger.as_ref().is_some_and(|place| !place.is_before) {
            let message = "Updating of NEW row is not allowed in after trigger";
            return Err(Error::new(ErrorCode::TrgCantChangeRow, message));
        }
        Ok(Target::Slot(slot))
    }

    fn argument(&self, argument: &ast::Expr) -> Result<Argument> {
        let target = match argument {
            ast::Expr::UserVariable(name) => Some(Target::User(name.clone())),
            ast::Expr::Column(name) if name.table.is_none() => {
                self.locals().slot(&name.column.value).map(Target::Slot)
            }
            ast::Expr::Column(name) if name.schema.is_none() => match &name.table {
                Some(row) if row.is("NEW") => self.new_column(&name.column).ok(),
                _ => None,
            },
            _ => None,
        };
        Ok(Argument { value: self.computed(argument), target })
    }

    fn signal(&mut self, signal: &ast::Signal) -> Result<()> {
        let state = match &signal.condition {
            None => None,
            Some(condition) => match self.condition(condition)? {
                HandlerFor::State(state) => Some(state),
                _ => {
                    let message = "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
                    return Err(Error::new(ErrorCode::SignalBadConditionType, message));
                }
            },
        };
        diagnostics::check_items(&signal.items)?;
        let items = signal.items.iter().map(|(name, value)| (name.clone(), self.computed(value))).collect();
        self.step(Step::Signal(Box::new(SignalCode { resignal: signal.resignal, state, items })));
        Ok(())
    }

    fn get_diagnostics(&mut self, get: &ast::GetDiagnostics) -> Result<()> {
        let items = get.items.iter().map(|(target, name)| Ok((self.target(target)?, name.clone())));
        let items = items.collect::<Result<Vec<_>>>()?;
        let number = get.condition.as_ref().map(|number| self.computed(number));
        self.step(Step::Diagnostics(Box::new(DiagnosticsCode { stacked: get.stacked, number, items })));
        Ok(())
    }

    /// Keeps the value that the branches of a CASE are compared with; the name that it has.
    pub(super) fn case_operand(&mut self, operand: &ast::Expr) -> String {
        let name = format!("CASE operand {}", self.types.len());
        let value = self.computed(operand);
        let slot = self.slot(&name, shoal_types::SqlType::null());
        self.step(Step::Keep { slot, value });
        let mut scope = self.scope.to_vec();
        scope.push((Rc::clone(&self.names[slot]), slot));
        self.scope = scope.into();
        name
    }

    /// Errors: 1303, 1314; in functions and triggers 1336, 1415, 1422.
    fn check_allowed(&self, statement: &Statement) -> Result<()> {
        let bad = |name: &str| {
            let message = format!("{name} is not allowed in stored procedures");
            Err(Error::new(ErrorCode::SpBadStatement, message))
        };
        match statement {
            Statement::Use(_) => return bad("USE"),
            Statement::LoadData(_) => return bad("LOAD DATA"),
            Statement::LockTables(_) | Statement::UnlockTables => return bad("LOCK"),
            Statement::AlterView(_) => return bad("ALTER VIEW"),
            Statement::CreateProcedure(_)
            | Statement::CreateFunction(_)
            | Statement::CreateTrigger(_)
            | Statement::CreateEvent(_) => {
                let word = match statement {
                    Statement::CreateProcedure(_) => "PROCEDURE",
                    Statement::CreateFunction(_) => "FUNCTION",
                    Statement::CreateTrigger(_) => "TRIGGER",
                    _ => "EVENT",
                };
                let message = format!("Can't create a {word} from within another stored routine");
                return Err(Error::new(ErrorCode::SpNoRecursiveCreate, message));
            }
            _ => {}
        }
        match self.source.kind {
            ProgramKind::Function => self.check_inside_statement(statement, "function"),
            ProgramKind::Trigger => self.check_inside_statement(statement, "trigger"),
            ProgramKind::Procedure | ProgramKind::Event => Ok(()),
        }
    }

    fn check_inside_statement(&self, statement: &Statement, word: &str) -> Result<()> {
        let result_set = || {
            let message = format!("Not allowed to return a result set from a {word}");
            Err(Error::new(ErrorCode::SpNoResultSet, message))
        };
        match statement {
            Statement::Query(query) if query.into.is_none() => result_set(),
            Statement::Show(_)
            | Statement::Describe(_)
            | Statement::Explain(_)
            | Statement::TableMaintenance(_) => result_set(),
            Statement::Prepare(_) | Statement::Execute(_) | Statement::Deallocate(_) => {
                let message = "Dynamic SQL is not allowed in stored function or trigger";
                Err(Error::new(ErrorCode::StmtNotAllowedInSfOrTrg, message))
            }
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Set(_)
            | Statement::Do(_)
            | Statement::Call(_)
            | Statement::Signal(_)
            | Statement::GetDiagnostics(_) => Ok(()),
            Statement::Flush(_) => Err(Error::new(
                ErrorCode::StmtNotAllowedInSfOrTrg,
                "FLUSH is not allowed in stored function or trigger",
            )),
            _ => Err(crate::program::condition::no_commit()),
        }
    }
}

/// Arguments of a CALL that stands in no program.
pub fn outer_argument(argument: &ast::Expr) -> Argument {
    let target = match argument {
        ast::Expr::UserVariable(name) => Some(Target::User(name.clone())),
        ast::Expr::Parameter(ordinal) => Some(Target::Parameter(*ordinal as usize)),
        _ => None,
    };
    Argument { value: Computed::new(argument.clone(), &Rc::from([])), target }
}
