//! From a program's syntax tree to its steps.

mod statements;

pub use statements::outer_argument;

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Program, ProgramKind};
use shoal_parser::ast::{self, ConditionValue, Declaration, HandlerAction, Ident, RoutineStatement};
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::code::{BlockCode, Compiled, CursorCode, HandlerCode, Parameter, Step};
use super::computed::{Computed, Planned};
use super::condition::HandlerFor;
use super::scope::{Scope, Slots};
use super::settings::ProgramSettings;
use super::text;
use crate::ddl::column_type::{TypeContext, column_type};
use crate::diagnostics;
use crate::resolve::locals::LocalRow;
use crate::variables::sql_mode::SqlModes;

/// Compiles a program. `row`: names and types of the columns of a trigger's table.
pub fn compile(source: &Arc<Program>, row: &[(String, SqlType)]) -> Result<Compiled> {
    let modes = SqlModes::parse(&source.sql_mode)?;
    let parsed = text::parse(source, modes)?;
    let mut compiler = Compiler::new(source, modes);
    compiler.rows(row);
    if let Some(routine) = parsed.routine() {
        compiler.parameters(&routine.parameters)?;
        if let Some(returns) = &routine.returns {
            let sql_type = compiler.sql_type(returns, &source.name)?;
            compiler.result = Some(compiler.slot(&source.name, sql_type));
        }
    }
    compiler.scope = compiler.parameters.iter().map(|one| (Rc::clone(&one.name), one.slot)).collect();
    compiler.statement(parsed.body())?;
    compiler.finish()
}

/// What a call of a routine has to know.
pub struct Signature {
    /// Name, direction and type.
    pub parameters: Vec<(String, &'static str, SqlType)>,
    /// Of a function.
    pub returns: Option<SqlType>,
}

impl Signature {
    pub fn of(source: &Arc<Program>) -> Result<Signature> {
        let modes = SqlModes::parse(&source.sql_mode)?;
        let parsed = text::parse(source, modes)?;
        let compiler = Compiler::new(source, modes);
        let routine = parsed.routine();
        let returns = routine.and_then(|routine| routine.returns.as_ref());
        let mut parameters = Vec::new();
        for parameter in routine.iter().flat_map(|routine| &routine.parameters) {
            let name = &parameter.name.value;
            let direction = match parameter.direction {
                ast::ParameterDirection::In => "IN",
                ast::ParameterDirection::Out => "OUT",
                ast::ParameterDirection::InOut => "INOUT",
            };
            parameters.push((name.clone(), direction, compiler.sql_type(&parameter.data_type, name)?));
        }
        Ok(Signature {
            parameters,
            returns: returns.map(|returns| compiler.sql_type(returns, &source.name)).transpose()?,
        })
    }
}

/// A block or a loop that statements inside can name.
struct Label {
    name: String,
    /// Of a loop: where ITERATE goes on.
    start: Option<usize>,
    /// Steps that go on behind it.
    leaves: Vec<usize>,
    /// How many blocks are around it.
    depth: usize,
    /// No label further out is in sight: a handler's body begins here.
    is_wall: bool,
}

struct Condition {
    name: String,
    value: HandlerFor,
}

struct Compiler<'a> {
    source: &'a Arc<Program>,
    modes: SqlModes,
    parameters: Vec<Parameter>,
    result: Option<usize>,
    types: Vec<SqlType>,
    names: Vec<Rc<str>>,
    rows: Rc<[LocalRow]>,
    steps: Vec<Step>,
    resume: Vec<usize>,
    blocks: Vec<BlockCode>,
    cursors: Vec<CursorCode>,
    /// Variables in sight.
    scope: Scope,
    conditions: Vec<Condition>,
    /// Cursors in sight, the innermost last.
    cursors_named: Vec<(String, usize)>,
    labels: Vec<Label>,
    /// Blocks around.
    depth: usize,
    returns: bool,
}

impl<'a> Compiler<'a> {
    fn new(source: &'a Arc<Program>, modes: SqlModes) -> Compiler<'a> {
        Compiler {
            source,
            modes,
            parameters: Vec::new(),
            result: None,
            types: Vec::new(),
            names: Vec::new(),
            rows: Rc::from([]),
            steps: Vec::new(),
            resume: Vec::new(),
            blocks: Vec::new(),
            cursors: Vec::new(),
            scope: Rc::from([]),
            conditions: Vec::new(),
            cursors_named: Vec::new(),
            labels: Vec::new(),
            depth: 0,
            returns: false,
        }
    }

    fn slot(&mut self, name: &str, sql_type: SqlType) -> usize {
        self.types.push(sql_type);
        self.names.push(Rc::from(name));
        self.types.len() - 1
    }

    /// NEW and OLD. The slots of NEW come first, of INSERT and UPDATE.
    fn rows(&mut self, row: &[(String, SqlType)]) {
        let Some(place) = &self.source.trigger else { return };
        let columns: Rc<[String]> = row.iter().map(|(name, _)| name.clone()).collect();
        let named: &[&'static str] = match place.event.as_str() {
            "INSERT" => &["NEW"],
            "DELETE" => &["OLD"],
            _ => &["NEW", "OLD"],
        };
        let mut rows = Vec::new();
        for name in named {
            rows.push(LocalRow { name, first: self.types.len(), columns: Rc::clone(&columns) });
            for (column, sql_type) in row {
                self.slot(column, sql_type.clone());
            }
        }
        self.rows = rows.into();
    }

    fn parameters(&mut self, parameters: &[ast::RoutineParameter]) -> Result<()> {
        for parameter in parameters {
            let name = &parameter.name.value;
            if self.parameters.iter().any(|known| known.name.eq_ignore_ascii_case(name)) {
                return Err(Error::new(ErrorCode::SpDupParam, format!("Duplicate parameter: {name}")));
            }
            let sql_type = self.sql_type(&parameter.data_type, name)?;
            let slot = self.slot(name, sql_type);
            let name = Rc::clone(&self.names[slot]);
            self.parameters.push(Parameter { name, direction: parameter.direction, slot });
        }
        Ok(())
    }

    fn sql_type(&self, data_type: &ast::DataType, name: &str) -> Result<SqlType> {
        let strict = self.modes.for_evaluation().strict;
        let context = TypeContext { column: name, table: self.source.database_collation, strict };
        column_type(data_type, &context, &mut Vec::new())
    }

    fn computed(&self, expression: &ast::Expr) -> Computed {
        Computed::new(expression.clone(), &self.scope)
    }

    fn step(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.resume.push(self.steps.len());
        self.steps.len() - 1
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    /// Makes a jump lead to here.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.steps[jump] {
            Step::JumpUnless { to, .. } | Step::Jump(to) => *to = here,
            _ => {}
        }
    }

    fn jump_unless(&mut self, condition: &ast::Expr) -> usize {
        let condition = self.computed(condition);
        self.step(Step::JumpUnless { condition, to: usize::MAX })
    }

    fn finish(mut self) -> Result<Compiled> {
        if self.source.kind == ProgramKind::Function {
            if !self.returns {
                let name = format!("{}.{}", self.source.database, self.source.name);
                return Err(Error::new(ErrorCode::SpNoReturn, format!("No RETURN found in FUNCTION {name}")));
            }
            self.step(Step::NoReturn);
        }
        Ok(Compiled {
            source: Arc::clone(self.source),
            settings: ProgramSettings::keyed(self.source, self.modes),
            parameters: self.parameters,
            result: self.result,
            slots: Rc::new(Slots {
                types: std::cell::RefCell::new(self.types.into()),
                names: self.names,
                rows: self.rows,
            }),
            steps: self.steps,
            resume: self.resume,
            blocks: self.blocks,
            cursors: self.cursors,
        })
    }

    fn statements(&mut self, statements: &[RoutineStatement]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &RoutineStatement) -> Result<()> {
        match statement {
            RoutineStatement::Sql(statement) => self.sql(statement),
            RoutineStatement::Block(block) => self.block(block),
            RoutineStatement::If { branches, otherwise } => {
                self.branches(branches, otherwise.as_deref().unwrap_or(&[]))
            }
            RoutineStatement::Case { operand, branches, otherwise } => {
                self.case(operand.as_ref(), branches, otherwise.as_deref())
            }
            RoutineStatement::Loop { label, body } => self.repeated(label.as_ref(), None, body, None),
            RoutineStatement::While { label, condition, body } => {
                self.repeated(label.as_ref(), Some(condition), body, None)
            }
            RoutineStatement::Repeat { label, body, until } => {
                self.repeated(label.as_ref(), None, body, Some(until))
            }
            RoutineStatement::Leave(label) => {
                let place = self.label(label, "LEAVE", |_| true)?;
                self.leave_blocks(self.labels[place].depth);
                let jump = self.step(Step::Jump(usize::MAX));
                self.labels[place].leaves.push(jump);
                Ok(())
            }
            RoutineStatement::Iterate(label) => {
                let place = self.label(label, "ITERATE", |label| label.start.is_some())?;
                self.leave_blocks(self.labels[place].depth);
                let start = self.labels[place].start.unwrap_or_default();
                self.step(Step::Jump(start));
                Ok(())
            }
            RoutineStatement::Return(value) => {
                if self.source.kind != ProgramKind::Function {
                    let message = "RETURN is only allowed in a FUNCTION";
                    return Err(Error::new(ErrorCode::SpBadReturn, message));
                }
                self.returns = true;
                let value = self.computed(value);
                self.step(Step::Return(value));
                Ok(())
            }
            RoutineStatement::OpenCursor(name) => {
                let cursor = self.cursor(name)?;
                self.step(Step::Open(cursor));
                Ok(())
            }
            RoutineStatement::FetchCursor { cursor, into } => {
                let cursor = self.cursor(cursor)?;
                let into = into.iter().map(|name| self.local(name)).collect::<Result<Vec<_>>>()?;
                self.step(Step::Fetch { cursor, into });
                Ok(())
            }
            RoutineStatement::CloseCursor(name) => {
                let cursor = self.cursor(name)?;
                self.step(Step::Close(cursor));
                Ok(())
            }
        }
    }

    fn leave_blocks(&mut self, depth: usize) {
        if self.depth > depth {
            self.step(Step::Leave(self.depth - depth));
        }
    }

    fn cursor(&self, name: &Ident) -> Result<usize> {
        let found = self.cursors_named.iter().rev().find(|(known, _)| name.is(known));
        found
            .map(|(_, cursor)| *cursor)
            .ok_or_else(|| Error::new(ErrorCode::SpCursorMismatch, format!("Undefined CURSOR: {}", name.value)))
    }

    fn label(&self, name: &Ident, word: &str, fits: impl Fn(&Label) -> bool) -> Result<usize> {
        for (place, label) in self.labels.iter().enumerate().rev() {
            if label.is_wall {
                break;
            }
            if name.is(&label.name) && fits(label) {
                return Ok(place);
            }
        }
        let message = format!("{word} with no matching label: {}", name.value);
        Err(Error::new(ErrorCode::SpLilabelMismatch, message))
    }

    fn begin_label(&mut self, name: Option<&Ident>, start: Option<usize>) -> Result<()> {
        if let Some(name) = name {
            let known = self.labels.iter().rev().take_while(|label| !label.is_wall);
            if known.into_iter().any(|label| name.is(&label.name)) {
                let message = format!("Redefining label {}", name.value);
                return Err(Error::new(ErrorCode::SpLabelRedefine, message));
            }
        }
        let name = name.map_or_else(String::new, |name| name.value.clone());
        self.labels.push(Label { name, start, leaves: Vec::new(), depth: self.depth, is_wall: false });
        Ok(())
    }

    fn end_label(&mut self) {
        if let Some(label) = self.labels.pop() {
            label.leaves.into_iter().for_each(|leave| self.land(leave));
        }
    }

    /// Steps that were added since `first`, and failed, go on behind the whole statement.
    fn resume_behind(&mut self, steps: &[usize]) {
        let here = self.here();
        steps.iter().for_each(|&step| self.resume[step] = here);
    }

    fn branches(
        &mut self,
        branches: &[(ast::Expr, Vec<RoutineStatement>)],
        otherwise: &[RoutineStatement],
    ) -> Result<()> {
        let (mut ends, mut conditions) = (Vec::new(), Vec::new());
        for (condition, statements) in branches {
            let next = self.jump_unless(condition);
            conditions.push(next);
            self.statements(statements)?;
            ends.push(self.step(Step::Jump(usize::MAX)));
            self.land(next);
        }
        self.statements(otherwise)?;
        ends.into_iter().for_each(|end| self.land(end));
        self.resume_behind(&conditions);
        Ok(())
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, Vec<RoutineStatement>)],
        otherwise: Option<&[RoutineStatement]>,
    ) -> Result<()> {
        let (mut ends, mut conditions) = (Vec::new(), Vec::new());
        let outside = Rc::clone(&self.scope);
        let operand = operand.map(|operand| self.case_operand(operand));
        for (condition, statements) in branches {
            let next = match &operand {
                None => self.jump_unless(condition),
                Some(name) => self.jump_unless(&equal(name, condition)),
            };
            conditions.push(next);
            self.statements(statements)?;
            ends.push(self.step(Step::Jump(usize::MAX)));
            self.land(next);
        }
        self.scope = outside;
        match otherwise {
            Some(statements) => self.statements(statements)?,
            None => conditions.push(self.step(Step::CaseNotFound)),
        }
        ends.into_iter().for_each(|end| self.land(end));
        self.resume_behind(&conditions);
        Ok(())
    }

    fn repeated(
        &mut self,
        label: Option<&Ident>,
        condition: Option<&ast::Expr>,
        body: &[RoutineStatement],
        until: Option<&ast::Expr>,
    ) -> Result<()> {
        let start = self.here();
        self.begin_label(label, Some(start))?;
        let end = condition.map(|condition| self.jump_unless(condition));
        self.statements(body)?;
        match until {
            Some(until) => {
                let again = self.jump_unless(until);
                if let Step::JumpUnless { to, .. } = &mut self.steps[again] {
                    *to = start;
                }
            }
            None => drop(self.step(Step::Jump(start))),
        }
        if let Some(end) = end {
            self.land(end);
            self.resume_behind(&[end]);
        }
        self.end_label();
        Ok(())
    }

    fn block(&mut self, block: &ast::Block) -> Result<()> {
        self.begin_label(block.label.as_ref(), None)?;
        let outside = Rc::clone(&self.scope);
        let (conditions, cursors) = (self.conditions.len(), self.cursors_named.len());
        let number = self.blocks.len();
        self.blocks.push(BlockCode::default());
        self.step(Step::Enter(number));
        self.depth += 1;
        self.declarations(number, &block.declarations)?;
        self.statements(&block.statements)?;
        self.depth -= 1;
        self.step(Step::Leave(1));
        self.blocks[number].end = self.here();
        self.scope = outside;
        self.conditions.truncate(conditions);
        self.cursors_named.truncate(cursors);
        self.end_label();
        Ok(())
    }

    /// DECLARE: variables and conditions, then cursors, then handlers. Errors: 1331 to 1333, 1337, 1338.
    fn declarations(&mut self, block: usize, declarations: &[Declaration]) -> Result<()> {
        let outer = self.scope.len();
        let (conditions, cursors) = (self.conditions.len(), self.cursors_named.len());
        let first_cursor = self.cursors.len();
        let (mut cursor_seen, mut handler_seen) = (false, false);
        for declaration in declarations {
            let is_late = cursor_seen || handler_seen;
            match declaration {
                Declaration::Variables { .. } | Declaration::Condition { .. } if is_late => {
                    let message = "Variable or condition declaration after cursor or handler declaration";
                    return Err(Error::new(ErrorCode::SpVarCondAfterCursorHandler, message));
                }
                Declaration::Cursor { .. } if handler_seen => {
                    let message = "Cursor declaration after handler declaration";
                    return Err(Error::new(ErrorCode::SpCursorAfterHandler, message));
                }
                Declaration::Variables { names, data_type, default } => {
                    self.variables(outer, names, data_type, default.as_ref())?
                }
                Declaration::Condition { name, value } => {
                    if self.conditions[conditions..].iter().any(|known| name.is(&known.name)) {
                        let message = format!("Duplicate condition: {}", name.value);
                        return Err(Error::new(ErrorCode::SpDupCond, message));
                    }
                    let value = self.condition(value)?;
                    self.conditions.push(Condition { name: name.value.clone(), value });
                }
                Declaration::Cursor { name, query } => {
                    cursor_seen = true;
                    if self.cursors_named[cursors..].iter().any(|(known, _)| name.is(known)) {
                        let message = format!("Duplicate cursor: {}", name.value);
                        return Err(Error::new(ErrorCode::SpDupCursor, message));
                    }
                    let statement = ast::Statement::Query(query.clone());
                    self.cursors.push(CursorCode { query: Planned::new(statement, &self.scope) });
                    self.cursors_named.push((name.value.clone(), self.cursors.len() - 1));
                }
                Declaration::Handler { action, conditions, body } => {
                    handler_seen = true;
                    self.handler(block, *action, conditions, body)?;
                }
            }
        }
        self.blocks[block].cursors = first_cursor..self.cursors.len();
        Ok(())
    }

    fn variables(
        &mut self,
        outer: usize,
        names: &[Ident],
        data_type: &ast::DataType,
        default: Option<&ast::Expr>,
    ) -> Result<()> {
        let mut scope = self.scope.to_vec();
        let mut slots = Vec::with_capacity(names.len());
        for name in names {
            if scope[outer..].iter().any(|(known, _)| known.eq_ignore_ascii_case(&name.value)) {
                let message = format!("Duplicate variable: {}", name.value);
                return Err(Error::new(ErrorCode::SpDupVar, message));
            }
            let sql_type = self.sql_type(data_type, &name.value)?;
            let slot = self.slot(&name.value, sql_type);
            scope.push((Rc::clone(&self.names[slot]), slot));
            slots.push(slot);
        }
        // A default does not see the variables that it is for.
        for slot in slots {
            let default = default
                .cloned()
                .unwrap_or(ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Null, ordinal: None }));
            let value = self.computed(&default);
            self.step(Step::Assign { target: super::place::Target::Slot(slot), value });
        }
        self.scope = scope.into();
        Ok(())
    }

    fn condition(&self, value: &ConditionValue) -> Result<HandlerFor> {
        Ok(match value {
            ConditionValue::ErrorCode(code) => match u16::try_from(*code) {
                Ok(code) if code > 0 => HandlerFor::Code(code),
                _ => {
                    let message = format!("Incorrect CONDITION value: '{code}'");
                    return Err(Error::new(ErrorCode::WrongValue, message));
                }
            },
            ConditionValue::SqlState(text) => HandlerFor::State(diagnostics::sqlstate(text)?),
            ConditionValue::Named(name) => {
                let found = self.conditions.iter().rev().find(|known| name.is(&known.name));
                let undefined = || {
                    let message = format!("Undefined CONDITION: {}", name.value);
                    Error::new(ErrorCode::SpCondMismatch, message)
                };
                found.ok_or_else(undefined)?.value.clone()
            }
            ConditionValue::SqlWarning => HandlerFor::SqlWarning,
            ConditionValue::NotFound => HandlerFor::NotFound,
            ConditionValue::SqlException => HandlerFor::SqlException,
        })
    }

    fn handler(
        &mut self,
        block: usize,
        action: HandlerAction,
        conditions: &[ConditionValue],
        body: &RoutineStatement,
    ) -> Result<()> {
        if action == HandlerAction::Undo {
            return Err(Error::unsupported("UNDO handlers"));
        }
        let mut handled: Vec<HandlerFor> = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let condition = self.condition(condition)?;
            let others = self.blocks[block].handlers.iter().flat_map(|handler| &handler.conditions);
            if others.chain(&handled).any(|known| *known == condition) {
                let message = "Duplicate handler declared in the same block";
                return Err(Error::new(ErrorCode::SpDupHandler, message));
            }
            handled.push(condition);
        }
        let around = self.step(Step::Jump(usize::MAX));
        let start = self.here();
        let is_wall = true;
        let depth = self.depth;
        self.labels.push(Label { name: String::new(), start: None, leaves: Vec::new(), depth, is_wall });
        self.statement(body)?;
        self.labels.pop();
        self.step(Step::EndHandler);
        self.land(around);
        let exits = action == HandlerAction::Exit;
        self.blocks[block].handlers.push(HandlerCode { conditions: handled, exits, start });
        Ok(())
    }
}

/// `name = value`.
fn equal(name: &str, value: &ast::Expr) -> ast::Expr {
    let column = Ident::new(name);
    let name = ast::ColumnName { schema: None, table: None, column };
    ast::Expr::Binary {
        operator: ast::BinaryOperator::Equal,
        left: Box::new(ast::Expr::Column(Box::new(name))),
        right: Box::new(value.clone()),
    }
}
