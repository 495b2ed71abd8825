//! How the type of a call follows from its arguments: what the tables of functions are written with.

use shoal_types::{BaseType, Collation, Result, SqlType};

use crate::build::convert_charset;
use crate::build::types::{self, string_type};
use crate::collate::{self, Coercibility};
use crate::expr::{Derivation, Expr, ResultType};

impl Derivation<'_> {
    pub fn any_nullable(&self) -> bool {
        self.arguments.iter().any(Expr::nullable)
    }

    fn result(&self, sql_type: SqlType) -> ResultType {
        ResultType {
            sql_type,
            nullable: self.any_nullable(),
            coercibility: Coercibility::Numeric,
            collation: Collation::BINARY,
        }
    }

    pub fn typed(&self, sql_type: SqlType) -> ResultType {
        self.result(sql_type)
    }

    /// BIGINT of this display width.
    pub fn integer(&self, length: u32) -> Result<ResultType> {
        Ok(self.result(SqlType { length, ..SqlType::bigint(false) }))
    }

    pub fn unsigned(&self, length: u32) -> Result<ResultType> {
        Ok(self.result(SqlType { length, ..SqlType::bigint(true) }))
    }

    /// A truth value.
    pub fn boolean(&self) -> Result<ResultType> {
        self.integer(1)
    }

    pub fn double(&self) -> Result<ResultType> {
        Ok(self.result(SqlType::double()))
    }

    pub fn date(&self) -> Result<ResultType> {
        Ok(self.result(SqlType { length: 10, ..SqlType::new(BaseType::Date) }).nullable())
    }

    pub fn datetime(&self, fsp: u8) -> Result<ResultType> {
        Ok(self.result(types::datetime(fsp)).nullable())
    }

    pub fn time(&self, fsp: u8) -> Result<ResultType> {
        Ok(self.result(types::time(fsp)).nullable())
    }

    pub fn json(&self) -> Result<ResultType> {
        let sql_type =
            SqlType { length: u32::MAX, collation: Collation::UTF8MB4_BIN, ..SqlType::new(BaseType::Json) };
        let mut result = self.result(sql_type).nullable();
        result.coercibility = Coercibility::Implicit;
        Ok(result)
    }

    /// ASCII text made by the function itself, in the connection's character set.
    pub fn ascii_text(&self, length: u64) -> Result<ResultType> {
        let mut result = self.result(string_type(length, self.ctx.settings.collation_connection));
        result.coercibility = Coercibility::Coercible;
        result.collation = self.ctx.settings.collation_connection;
        Ok(result)
    }

    /// Bytes without a character set.
    pub fn bytes(&self, length: u64) -> Result<ResultType> {
        let mut result = self.result(string_type(length, Collation::BINARY));
        result.coercibility = Coercibility::Coercible;
        Ok(result)
    }

    /// Text of the collation that the arguments at `positions` share; they are converted to its character set.
    pub fn text(&mut self, positions: &[usize], length: u64) -> Result<ResultType> {
        let attributes = self.share_collation(positions, false)?;
        let mut result = self.result(string_type(length, attributes.0));
        result.collation = attributes.0;
        result.coercibility = attributes.1;
        Ok(result)
    }

    /// A text made of arguments that are compared with each other as well: error 1267 or its kin if there is no collation for that.
    pub fn compared_text(&mut self, positions: &[usize], length: u64) -> Result<ResultType> {
        self.compared(positions)?;
        self.text(positions, length)
    }

    /// The collation by which the arguments at `positions` are compared; they are converted to its character set.
    pub fn compared(&mut self, positions: &[usize]) -> Result<Collation> {
        Ok(self.share_collation(positions, true)?.0)
    }

    fn share_collation(&mut self, positions: &[usize], compared: bool) -> Result<(Collation, Coercibility)> {
        let connection = self.ctx.settings.collation_connection;
        let operation = self.name.to_ascii_lowercase();
        let chosen = positions.iter().filter_map(|position| self.arguments.get(*position));
        let attributes = if compared {
            collate::for_comparison(chosen, &operation, connection)?
        } else {
            collate::for_result(chosen, &operation, connection)?
        };
        for position in positions {
            if let Some(argument) = self.arguments.get_mut(*position) {
                convert_charset(argument, attributes.collation, &operation, self.ctx)?;
            }
        }
        Ok((attributes.collation, attributes.coercibility))
    }

    pub fn all_positions(&self) -> Vec<usize> {
        (0..self.arguments.len()).collect()
    }

    /// Characters that the argument's text may have.
    pub fn length_of(&self, position: usize) -> u64 {
        self.arguments.get(position).map_or(0, |argument| types::text_length(argument.sql_type()))
    }

    pub fn type_of(&self, position: usize) -> Option<&SqlType> {
        self.arguments.get(position).map(Expr::sql_type)
    }

    /// The fractional digits that a constant argument asks for: 0 to 6.
    pub fn constant_fsp(&self, position: usize) -> Result<u8> {
        types::fsp_argument(self.arguments.get(position), self.name)
    }

    /// Fractional digits that the argument has when it is read as a temporal value.
    pub fn fsp_of(&self, position: usize) -> u8 {
        self.arguments.get(position).map_or(0, types::fsp_of)
    }

    /// Fractional digits that the argument has as a number of seconds; any text may have six.
    pub fn fsp_of_number(&self, position: usize) -> u8 {
        let is_text = self.type_of(position).is_some_and(SqlType::is_string);
        if is_text { 6 } else { self.fsp_of(position) }
    }

    /// The constant argument as an integer, if it is one.
    pub fn constant_integer(&self, position: usize) -> Option<i64> {
        let value = self.arguments.get(position)?.as_literal()?;
        if value.is_null() { None } else { Some(value.to_i64().value) }
    }

    /// An untyped parameter takes the class that the function expects.
    pub fn expect(&mut self, position: usize, sql_type: &SqlType) {
        if let Some(argument) = self.arguments.get_mut(position) {
            if sql_type.is_numeric() {
                argument.hexadecimal_as_number();
            }
            types::give_type(argument, sql_type);
        }
    }
}
