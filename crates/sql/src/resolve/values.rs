//! Names that mean something only in statements that write: DEFAULT, VALUES(column).

use shoal_expr::{Expr, build};
use shoal_parser::ast;
use shoal_types::{ColumnDefault, Error, ErrorCode, Result, TableSchema};

use super::Resolver;

/// The scope name under which the new row of INSERT ... ON DUPLICATE KEY UPDATE can be named when no alias is given.
/// Not writable in SQL.
pub const NEW_ROW: &str = "\u{0}new row";

impl Resolver<'_> {
    /// DEFAULT(column); a bare DEFAULT is the business of INSERT and UPDATE, which know the column.
    pub fn default_value(&mut self, column: Option<&ast::ColumnName>) -> Result<Expr> {
        let Some(name) = column else {
            return Err(Error::new(ErrorCode::Parse, "DEFAULT is not allowed here"));
        };
        let table = name.table.as_ref().map(|ident| ident.value.clone());
        let clause = self.block().clause;
        let scope = self.scope();
        let found = scope.find(None, table.as_deref(), &name.column.value, clause.text())?;
        let base = found.and_then(|found| scope.tables[found.table].base.clone().map(|base| (base, found.column)));
        match base {
            Some((table, column)) => self.column_default(&table.schema, column),
            None => {
                let message = format!("Unknown column '{}' in '{}'", name.column.value, clause.text());
                Err(Error::new(ErrorCode::BadField, message))
            }
        }
    }

    /// What a column takes when nothing is said. Errors: 1364, no default.
    pub fn column_default(&mut self, schema: &TableSchema, position: usize) -> Result<Expr> {
        let column = &schema.columns[position];
        match &column.default {
            ColumnDefault::Value(value) => Ok(Expr::literal(value.clone(), column.sql_type.clone())),
            ColumnDefault::Now => {
                let fsp = super::expression::integer_literal(u64::from(column.sql_type.decimals));
                build::function("now", vec![fsp], self.build())
            }
            ColumnDefault::Expression(text) => {
                let parsed = shoal_parser::parse_expression(text.as_bytes(), Default::default())
                    .map_err(|error| Error::unknown(format!("default of column '{}': {error}", column.name)))?;
                self.expression(&parsed)
            }
            ColumnDefault::None if column.nullable || column.auto_increment => Ok(Expr::null()),
            ColumnDefault::None => Err(Error::new(
                ErrorCode::NoDefaultForField,
                format!("Field '{}' doesn't have a default value", column.name),
            )),
        }
    }

    /// VALUES(column): the value that INSERT wanted to write.
    pub fn inserted_value(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let column = name.column.value.as_str();
        let scope = self.scope();
        match scope.find(None, Some(NEW_ROW), column, "field list")? {
            Some(found) => Ok(scope.column_expr(found)),
            // Outside ON DUPLICATE KEY UPDATE it is NULL.
            None => Ok(Expr::null()),
        }
    }
}
