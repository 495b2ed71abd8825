//! The programs that a session has compiled.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Program, ProgramKind};
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::code::Compiled;
use super::compile::compile;
use super::stack::check_stack;

/// Programs that one session keeps.
const PROGRAMS_MAX: usize = 256;

/// Programs that are found without their names.
const RECENT_MAX: usize = 8;

type Name = (ProgramKind, String, String);

/// Names and types of the columns of a trigger's table.
pub type Row = Arc<[(String, SqlType)]>;

struct Recent {
    program: Arc<Program>,
    /// Of a trigger.
    row: Option<Row>,
    compiled: Rc<Compiled>,
}

/// See the module.
#[derive(Default)]
pub struct ProgramCache {
    programs: RefCell<HashMap<Name, Rc<Compiled>>>,
    /// Those that were asked for last, with the columns of triggers' tables.
    recent: RefCell<Vec<Recent>>,
    /// Those that run, the innermost last.
    running: RefCell<Vec<Arc<Program>>>,
}

impl ProgramCache {
    /// A program, compiled.
    pub fn get(&self, program: &Arc<Program>) -> Result<Rc<Compiled>> {
        let is_it = |recent: &&Recent| Arc::ptr_eq(&recent.program, program) && recent.row.is_none();
        if let Some(recent) = self.recent.borrow().iter().find(is_it) {
            return Ok(Rc::clone(&recent.compiled));
        }
        let compiled = self.known(program, &[])?;
        self.note(Recent { program: Arc::clone(program), row: None, compiled: Rc::clone(&compiled) });
        Ok(compiled)
    }

    /// A trigger of a table with these columns, compiled.
    pub fn trigger(&self, program: &Arc<Program>, row: &Row) -> Result<Rc<Compiled>> {
        let is_it = |recent: &&Recent| {
            Arc::ptr_eq(&recent.program, program)
                && recent.row.as_ref().is_some_and(|known| Arc::ptr_eq(known, row))
        };
        if let Some(recent) = self.recent.borrow().iter().find(is_it) {
            return Ok(Rc::clone(&recent.compiled));
        }
        let compiled = self.known(program, row)?;
        let row = Some(Arc::clone(row));
        self.note(Recent { program: Arc::clone(program), row, compiled: Rc::clone(&compiled) });
        Ok(compiled)
    }

    fn note(&self, recent: Recent) {
        let mut all = self.recent.borrow_mut();
        all.truncate(RECENT_MAX - 1);
        all.insert(0, recent);
    }

    fn known(&self, program: &Arc<Program>, row: &[(String, SqlType)]) -> Result<Rc<Compiled>> {
        let name = (program.kind, program.database.clone(), program.name.to_lowercase());
        let mut programs = self.programs.borrow_mut();
        if let Some(known) = programs.get(&name)
            && (Arc::ptr_eq(&known.source, program) || known.source == *program)
            && known.slots.has_row(row)
        {
            return Ok(Rc::clone(known));
        }
        let compiled = Rc::new(compile(program, row)?);
        if programs.len() >= PROGRAMS_MAX {
            programs.clear();
        }
        programs.insert(name, Rc::clone(&compiled));
        Ok(compiled)
    }

    /// A program begins. Errors: 1424, 1456, it runs already; 1436, there is no stack left.
    pub fn begin(self: &Rc<Self>, program: &Arc<Program>, recursion_max: impl FnOnce() -> u64) -> Result<Running> {
        let mut running = self.running.borrow_mut();
        let is_same = |other: &&Arc<Program>| {
            Arc::ptr_eq(other, program)
                || other.kind == program.kind && other.database == program.database && other.name == program.name
        };
        let times = running.iter().filter(is_same).count() as u64;
        if times > 0 && program.kind != ProgramKind::Procedure {
            let message = "Recursive stored functions and triggers are not allowed.";
            return Err(Error::new(ErrorCode::SpNoRecursion, message));
        }
        if times > 0
            && let recursion_max = recursion_max()
            && times > recursion_max
        {
            let message = format!(
                "Recursive limit {recursion_max} (as set by the max_sp_recursion_depth variable) was exceeded for routine {}",
                program.name
            );
            return Err(Error::new(ErrorCode::SpRecursionLimit, message));
        }
        check_stack(running.len())?;
        running.push(Arc::clone(program));
        drop(running);
        Ok(Running(Rc::clone(self)))
    }

    /// Some function or trigger runs.
    pub fn is_inside_statement(&self) -> bool {
        let is_inside =
            |program: &Arc<Program>| matches!(program.kind, ProgramKind::Function | ProgramKind::Trigger);
        self.running.borrow().iter().any(is_inside)
    }
}

/// A program that runs, until this is dropped.
pub struct Running(Rc<ProgramCache>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.borrow_mut().pop();
    }
}
