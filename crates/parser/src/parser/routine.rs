//! Stored procedures, functions and triggers, and the compound statements of their bodies.

use super::object::DefinitionPrefix;
use super::{Parser, Result};
use crate::ast::{
    AlterRoutine, Block, ConditionValue, CreateLoadableFunction, CreateRoutine, CreateTrigger, DataAccess,
    DataType, Declaration, Expr, GetDiagnostics, HandlerAction, Ident, ParameterDirection, RoutineCharacteristics,
    RoutineParameter, RoutineStatement, Signal, Statement, TriggerEvent, TriggerOrder, TriggerTime,
};
use crate::lexer::TokenKind;
use crate::{ParseError, ParseErrorKind};

/// Nesting levels that a compound statement takes.
const COMPOUND_LEVELS: u32 = 3;

impl Parser<'_> {
    /// CREATE PROCEDURE, the words taken.
    pub(super) fn create_procedure(&mut self, prefix: DefinitionPrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let (parameters, parameters_text) = self.routine_parameters(true)?;
        let characteristics = self.routine_characteristics()?;
        let (body, body_text) = self.routine_body()?;
        Ok(Statement::CreateProcedure(Box::new(CreateRoutine {
            definer: prefix.definer,
            if_not_exists,
            name,
            parameters,
            parameters_text,
            returns: None,
            returns_text: Vec::new(),
            characteristics,
            body,
            body_text,
        })))
    }

    /// CREATE FUNCTION, the words taken.
    pub(super) fn create_function(&mut self, prefix: DefinitionPrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if self.at("RETURNS") && name.schema.is_none() {
            return self.loadable_function(false, if_not_exists, name.name);
        }
        let (parameters, parameters_text) = self.routine_parameters(false)?;
        self.expect("RETURNS")?;
        let start = self.here();
        let returns = Some(self.program_type()?);
        let returns_text = self.text_since(start);
        let characteristics = self.routine_characteristics()?;
        let (body, body_text) = self.routine_body()?;
        Ok(Statement::CreateFunction(Box::new(CreateRoutine {
            definer: prefix.definer,
            if_not_exists,
            name,
            parameters,
            parameters_text,
            returns,
            returns_text,
            characteristics,
            body,
            body_text,
        })))
    }

    /// CREATE AGGREGATE, the words taken.
    pub(super) fn create_aggregate(&mut self) -> Result<Statement> {
        self.expect("FUNCTION")?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        self.loadable_function(true, if_not_exists, name)
    }

    fn loadable_function(&mut self, aggregate: bool, if_not_exists: bool, name: Ident) -> Result<Statement> {
        self.expect("RETURNS")?;
        if !self.at_any(&["STRING", "INTEGER", "INT", "REAL", "DECIMAL"]) {
            return Err(self.unexpected());
        }
        let returns = self.any_word()?;
        self.expect("SONAME")?;
        let library = self.string()?;
        Ok(Statement::CreateLoadableFunction(CreateLoadableFunction {
            aggregate,
            if_not_exists,
            name,
            returns,
            library,
        }))
    }

    /// The parameters with their source.
    fn routine_parameters(&mut self, directions: bool) -> Result<(Vec<RoutineParameter>, Vec<u8>)> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.eat_kind(TokenKind::RightParen) {
            return Ok((Vec::new(), Vec::new()));
        }
        let start = self.here();
        let parameters = self.comma_list(|parser| {
            let direction = match parser.upper().as_str() {
                "IN" if directions => Some(ParameterDirection::In),
                "OUT" if directions => Some(ParameterDirection::Out),
                "INOUT" if directions => Some(ParameterDirection::InOut),
                _ => None,
            };
            if direction.is_some() {
                parser.advance();
            }
            let name = parser.ident()?;
            let data_type = parser.program_type()?;
            Ok(RoutineParameter { direction: direction.unwrap_or(ParameterDirection::In), name, data_type })
        })?;
        let text = self.text_since(start);
        self.expect_kind(TokenKind::RightParen)?;
        Ok((parameters, text))
    }

    /// A type with the COLLATE that may follow it.
    fn program_type(&mut self) -> Result<DataType> {
        let mut data_type = self.data_type()?;
        if self.eat("COLLATE") {
            data_type.collation = Some(self.collation_name()?);
        }
        Ok(data_type)
    }

    fn routine_characteristics(&mut self) -> Result<RoutineCharacteristics> {
        let mut found = RoutineCharacteristics::default();
        loop {
            match self.upper().as_str() {
                "COMMENT" => {
                    self.advance();
                    found.comment = Some(self.string()?);
                }
                "LANGUAGE" => {
                    self.advance();
                    found.language = Some(self.any_word()?);
                }
                "DETERMINISTIC" => {
                    self.advance();
                    found.deterministic = Some(true);
                }
                "NOT" => {
                    self.expect_all(&["NOT", "DETERMINISTIC"])?;
                    found.deterministic = Some(false);
                }
                "CONTAINS" => {
                    self.expect_all(&["CONTAINS", "SQL"])?;
                    found.data_access = Some(DataAccess::ContainsSql);
                }
                "NO" => {
                    self.expect_all(&["NO", "SQL"])?;
                    found.data_access = Some(DataAccess::NoSql);
                }
                "READS" => {
                    self.expect_all(&["READS", "SQL", "DATA"])?;
                    found.data_access = Some(DataAccess::ReadsSqlData);
                }
                "MODIFIES" => {
                    self.expect_all(&["MODIFIES", "SQL", "DATA"])?;
                    found.data_access = Some(DataAccess::ModifiesSqlData);
                }
                "SQL" => found.security = Some(self.sql_security()?),
                _ => return Ok(found),
            }
        }
    }

    /// ALTER PROCEDURE and ALTER FUNCTION, the words taken.
    pub(super) fn alter_routine(&mut self, function: bool) -> Result<Statement> {
        let name = self.object_name()?;
        let characteristics = self.routine_characteristics()?;
        Ok(Statement::AlterRoutine(AlterRoutine { function, name, characteristics }))
    }

    /// CREATE TRIGGER, the words taken.
    pub(super) fn create_trigger(&mut self, prefix: DefinitionPrefix) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let time = if self.eat("BEFORE") {
            TriggerTime::Before
        } else {
            self.expect("AFTER")?;
            TriggerTime::After
        };
        let event = match self.any_word()?.as_str() {
            "INSERT" => TriggerEvent::Insert,
            "UPDATE" => TriggerEvent::Update,
            "DELETE" => TriggerEvent::Delete,
            _ => return Err(self.unexpected()),
        };
        self.expect("ON")?;
        let table = self.object_name()?;
        self.expect_all(&["FOR", "EACH", "ROW"])?;
        let order = if self.eat("FOLLOWS") {
            Some(TriggerOrder::Follows(self.ident()?))
        } else if self.eat("PRECEDES") {
            Some(TriggerOrder::Precedes(self.ident()?))
        } else {
            None
        };
        let (body, body_text) = self.routine_body()?;
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            definer: prefix.definer,
            if_not_exists,
            name,
            time,
            event,
            table,
            order,
            body,
            body_text,
        })))
    }

    /// The body of a stored program with its source.
    pub(super) fn routine_body(&mut self) -> Result<(RoutineStatement, Vec<u8>)> {
        let outside = std::mem::replace(&mut self.in_routine, true);
        let start = self.here();
        let body = self.routine_statement();
        self.in_routine = outside;
        let body = body?;
        Ok((body, self.text_since(start)))
    }

    fn routine_statement(&mut self) -> Result<RoutineStatement> {
        self.enter_levels(COMPOUND_LEVELS, |parser| {
            let label = parser.optional_label()?;
            parser.labelled_statement(label)
        })
    }

    /// `label:`.
    fn optional_label(&mut self) -> Result<Option<Ident>> {
        if !self.at_ident() || self.peek(1).kind != TokenKind::Colon {
            return Ok(None);
        }
        let label = self.ident()?;
        self.expect_kind(TokenKind::Colon)?;
        Ok(Some(label))
    }

    #[inline(never)]
    fn labelled_statement(&mut self, label: Option<Ident>) -> Result<RoutineStatement> {
        let upper = self.upper();
        match upper.as_str() {
            "BEGIN" => self.block(label),
            "LOOP" => {
                self.advance();
                let body = self.statements_before(&["END"])?;
                self.end_of("LOOP", label.as_ref())?;
                Ok(RoutineStatement::Loop { label, body })
            }
            "WHILE" => {
                self.advance();
                let condition = self.expr()?;
                self.expect("DO")?;
                let body = self.statements_before(&["END"])?;
                self.end_of("WHILE", label.as_ref())?;
                Ok(RoutineStatement::While { label, condition, body })
            }
            "REPEAT" => {
                self.advance();
                let body = self.statements_before(&["UNTIL"])?;
                self.expect("UNTIL")?;
                let until = self.expr()?;
                self.end_of("REPEAT", label.as_ref())?;
                Ok(RoutineStatement::Repeat { label, body, until })
            }
            _ if label.is_some() => Err(self.unexpected()),
            "IF" => self.if_statement(),
            "CASE" => self.case_statement(),
            "LEAVE" => {
                self.advance();
                self.ident().map(RoutineStatement::Leave)
            }
            "ITERATE" => {
                self.advance();
                self.ident().map(RoutineStatement::Iterate)
            }
            "RETURN" => {
                self.advance();
                self.expr().map(RoutineStatement::Return)
            }
            "OPEN" => {
                self.advance();
                self.ident().map(RoutineStatement::OpenCursor)
            }
            "CLOSE" => {
                self.advance();
                self.ident().map(RoutineStatement::CloseCursor)
            }
            "FETCH" => self.fetch(),
            _ => Ok(RoutineStatement::Sql(Box::new(self.statement()?))),
        }
    }

    /// `END word [label]`.
    fn end_of(&mut self, word: &str, label: Option<&Ident>) -> Result<()> {
        self.expect("END")?;
        if !word.is_empty() {
            self.expect(word)?;
        }
        self.optional_end_label(label)
    }

    /// A label behind END must be the one before BEGIN.
    fn optional_end_label(&mut self, label: Option<&Ident>) -> Result<()> {
        if self.at_ident() && !self.at_any(&["END", "UNTIL"]) {
            let start = self.here();
            let end_label = self.ident()?;
            if !label.is_some_and(|label| label.is(&end_label.value)) {
                return Err(ParseError::new(ParseErrorKind::Syntax, self.source, start));
            }
        }
        Ok(())
    }

    /// Statements, each with its semicolon, up to one of `stops`.
    fn statements_before(&mut self, stops: &[&str]) -> Result<Vec<RoutineStatement>> {
        let mut statements = Vec::new();
        while !self.at_any(stops) {
            statements.push(self.routine_statement()?);
            self.expect_kind(TokenKind::Semicolon)?;
        }
        Ok(statements)
    }

    #[inline(never)]
    fn block(&mut self, label: Option<Ident>) -> Result<RoutineStatement> {
        self.expect("BEGIN")?;
        let mut declarations = Vec::new();
        while self.eat("DECLARE") {
            declarations.push(self.declaration()?);
            self.expect_kind(TokenKind::Semicolon)?;
        }
        let statements = self.statements_before(&["END"])?;
        self.end_of("", label.as_ref())?;
        Ok(RoutineStatement::Block(Box::new(Block { label, declarations, statements })))
    }

    #[inline(never)]
    fn declaration(&mut self) -> Result<Declaration> {
        let action = match self.upper().as_str() {
            "CONTINUE" => Some(HandlerAction::Continue),
            "EXIT" => Some(HandlerAction::Exit),
            "UNDO" => Some(HandlerAction::Undo),
            _ => None,
        };
        if let Some(action) = action {
            self.advance();
            self.expect_all(&["HANDLER", "FOR"])?;
            let conditions = self.comma_list(Self::condition_value)?;
            let body = Box::new(self.routine_statement()?);
            return Ok(Declaration::Handler { action, conditions, body });
        }
        let name = self.ident()?;
        if self.eat("CONDITION") {
            self.expect("FOR")?;
            let value = self.condition_value()?;
            return Ok(Declaration::Condition { name, value });
        }
        if self.eat("CURSOR") {
            self.expect("FOR")?;
            let query = self.query()?;
            return Ok(Declaration::Cursor { name, query });
        }
        let mut names = vec![name];
        while self.eat_kind(TokenKind::Comma) {
            names.push(self.ident()?);
        }
        let data_type = self.program_type()?;
        let default = if self.eat("DEFAULT") { Some(self.expr()?) } else { None };
        Ok(Declaration::Variables { names, data_type, default })
    }

    fn condition_value(&mut self) -> Result<ConditionValue> {
        match self.upper().as_str() {
            "SQLSTATE" => {
                self.advance();
                self.eat("VALUE");
                self.string().map(ConditionValue::SqlState)
            }
            "SQLWARNING" => {
                self.advance();
                Ok(ConditionValue::SqlWarning)
            }
            "SQLEXCEPTION" => {
                self.advance();
                Ok(ConditionValue::SqlException)
            }
            "NOT" => {
                self.expect_all(&["NOT", "FOUND"])?;
                Ok(ConditionValue::NotFound)
            }
            _ if self.at_kind(TokenKind::Integer) => self.integer().map(ConditionValue::ErrorCode),
            _ => self.ident().map(ConditionValue::Named),
        }
    }

    #[inline(never)]
    fn if_statement(&mut self) -> Result<RoutineStatement> {
        self.expect("IF")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect("THEN")?;
            let body = self.statements_before(&["ELSEIF", "ELSE", "END"])?;
            branches.push((condition, body));
            if !self.eat("ELSEIF") {
                break;
            }
        }
        let otherwise = if self.eat("ELSE") { Some(self.statements_before(&["END"])?) } else { None };
        self.expect_all(&["END", "IF"])?;
        Ok(RoutineStatement::If { branches, otherwise })
    }

    #[inline(never)]
    fn case_statement(&mut self) -> Result<RoutineStatement> {
        self.expect("CASE")?;
        let operand: Option<Expr> = if self.at("WHEN") { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        while self.eat("WHEN") {
            let condition = self.expr()?;
            self.expect("THEN")?;
            let body = self.statements_before(&["WHEN", "ELSE", "END"])?;
            branches.push((condition, body));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat("ELSE") { Some(self.statements_before(&["END"])?) } else { None };
        self.expect_all(&["END", "CASE"])?;
        Ok(RoutineStatement::Case { operand, branches, otherwise })
    }

    /// `FETCH [[NEXT] FROM] cursor INTO a, ..`.
    fn fetch(&mut self) -> Result<RoutineStatement> {
        self.expect("FETCH")?;
        if !self.eat("FROM") {
            self.eat_pair("NEXT", "FROM");
        }
        let cursor = self.ident()?;
        self.expect("INTO")?;
        let into = self.comma_list(Self::ident)?;
        Ok(RoutineStatement::FetchCursor { cursor, into })
    }

    /// SIGNAL and RESIGNAL, the word taken.
    pub(super) fn signal(&mut self, resignal: bool) -> Result<Statement> {
        let condition = if self.at("SQLSTATE") || (self.at_ident() && !self.at("SET")) {
            Some(self.condition_value()?)
        } else if resignal {
            None
        } else {
            return Err(self.unexpected());
        };
        let items = if self.eat("SET") {
            self.comma_list(|parser| {
                let name = parser.any_word()?;
                parser.expect_kind(TokenKind::Equal)?;
                Ok((name, parser.expr()?))
            })?
        } else {
            Vec::new()
        };
        Ok(Statement::Signal(Signal { resignal, condition, items }))
    }

    /// GET, the word taken: [CURRENT | STACKED] DIAGNOSTICS.
    pub(super) fn get_diagnostics(&mut self) -> Result<Statement> {
        let stacked = self.eat("STACKED");
        if !stacked {
            self.eat("CURRENT");
        }
        self.expect("DIAGNOSTICS")?;
        let condition =
            if self.eat("CONDITION") { Some(self.expression(super::expression::power::UNARY)?) } else { None };
        let items = self.comma_list(|parser| {
            let target = parser.value_target()?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok((target, parser.any_word()?))
        })?;
        Ok(Statement::GetDiagnostics(GetDiagnostics { stacked, condition, items }))
    }
}
