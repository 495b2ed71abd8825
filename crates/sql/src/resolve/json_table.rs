//! JSON_TABLE in FROM: its document, and its columns of all levels.

use shoal_expr::{Expr, build};
use shoal_parser::ast;
use shoal_types::json::JsonPath;
use shoal_types::{BaseType, Charset, Error, ErrorCode, Json, Result, SqlType, StoreOptions};

use super::scope::SUBQUERY_BASE;
use super::{Clause, Resolver};
use crate::ddl::column_type::{TypeContext, column_type};
use crate::execute::json_table::{convert, json_default_options};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::plan::JsonTable;
use crate::plan::json_table::{JsonColumn, JsonResponse, JsonRows};

/// NESTED PATHs of one table (MySQL's limit).
const NESTED_MAX: usize = 16;

/// The columns while they are gathered.
struct Columns {
    shown: Vec<ResultColumn>,
    options: StoreOptions,
    nested: usize,
    table: String,
}

impl Resolver<'_> {
    /// A JSON_TABLE with the columns that it shows. Its document sees the tables before it.
    ///
    /// # Errors
    /// 1060, a name that is there twice; 1067, a default that does not fit; 3143, a path that is none; 3667; 3670.
    pub(super) fn json_table(&mut self, table: &ast::JsonTable) -> Result<(JsonTable, Vec<ResultColumn>)> {
        let Some(alias) = &table.alias else {
            return Err(Error::new(ErrorCode::TfMustHaveAlias, "Every table function must have an alias"));
        };
        let document = self.document(&table.document)?;
        let mut columns =
            Columns { shown: Vec::new(), options: json_default_options(), nested: 0, table: alias.value.clone() };
        let rows = self.json_level(&table.path, &table.columns, &mut columns)?;
        let width = columns.shown.len();
        Ok((JsonTable { document, rows, width }, columns.shown))
    }

    fn document(&mut self, document: &ast::Expr) -> Result<Expr> {
        let clause = std::mem::replace(&mut self.block().clause, Clause::TableFunction);
        let resolved = self.expression(document);
        self.block().clause = clause;
        let resolved = resolved?;
        if resolved.columns_used().iter().any(|&position| position >= SUBQUERY_BASE) {
            return Err(Error::unsupported("a subquery that depends on a row as the document of JSON_TABLE"));
        }
        let sql_type = resolved.sql_type();
        if matches!(sql_type.base, BaseType::Json | BaseType::Null) || sql_type.is_binary_string() {
            return Ok(resolved);
        }
        if !sql_type.is_string() {
            let message = "Invalid data type for JSON data in argument 1 to function json_table; a JSON string or JSON \
                           type is required.";
            return Err(Error::new(ErrorCode::InvalidTypeForJson, message));
        }
        match sql_type.collation.charset() {
            Charset::Utf8mb4 => Ok(resolved),
            _ => build::convert_using(resolved, Charset::Utf8mb4, self.build()),
        }
    }

    fn json_level(
        &mut self,
        path: &[u8],
        columns: &[ast::JsonTableColumn],
        all: &mut Columns,
    ) -> Result<JsonRows> {
        let mut level =
            JsonRows { path: json_path(path)?, ordinals: Vec::new(), columns: Vec::new(), nested: Vec::new() };
        for column in columns {
            match column {
                ast::JsonTableColumn::Ordinality(name) => {
                    let sql_type = SqlType { length: 10, unsigned: true, ..SqlType::new(BaseType::Int) };
                    level.ordinals.push(all.show(&name.value, sql_type)?);
                }
                ast::JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error } => {
                    let context = TypeContext {
                        column: &name.value,
                        table: self.build().settings.collation_connection,
                        strict: true,
                    };
                    let sql_type = column_type(data_type, &context, &mut Vec::new())?;
                    let position = all.show(&name.value, sql_type.clone())?;
                    let mut column = JsonColumn {
                        position,
                        name: name.value.clone(),
                        sql_type,
                        path: json_path(path)?,
                        exists: *exists,
                        on_empty: JsonResponse::Null,
                        on_error: JsonResponse::Null,
                    };
                    column.on_empty = response(on_empty.as_ref(), &column, &all.options)?;
                    column.on_error = response(on_error.as_ref(), &column, &all.options)?;
                    level.columns.push(column);
                }
                ast::JsonTableColumn::Nested { path, columns } => {
                    all.nested += 1;
                    if all.nested > NESTED_MAX {
                        let message = format!(
                            "More than supported {NESTED_MAX} NESTED PATHs were found in JSON_TABLE '{}'",
                            all.table
                        );
                        return Err(Error::new(ErrorCode::JtMaxNestedPath, message));
                    }
                    level.nested.push(self.json_level(path, columns, all)?);
                }
            }
        }
        Ok(level)
    }
}

impl Columns {
    /// The position of a column. Errors: 1060.
    fn show(&mut self, name: &str, sql_type: SqlType) -> Result<usize> {
        if self.shown.iter().any(|known| known.name.eq_ignore_ascii_case(name)) {
            return Err(Error::new(ErrorCode::DupFieldName, format!("Duplicate column name '{name}'")));
        }
        self.shown.push(ResultColumn {
            name: name.to_owned(),
            sql_type,
            flags: ColumnFlags::default(),
            ..ResultColumn::default()
        });
        Ok(self.shown.len() - 1)
    }
}

fn json_path(text: &[u8]) -> Result<JsonPath> {
    JsonPath::parse(text).map_err(|error| {
        let message =
            format!("Invalid JSON path expression. The error is around character position {}.", error.position);
        Error::new(ErrorCode::InvalidJsonPath, message)
    })
}

/// What ON EMPTY or ON ERROR says: a default is the text of a JSON value.
fn response(
    response: Option<&ast::JsonResponse>,
    column: &JsonColumn,
    options: &StoreOptions,
) -> Result<JsonResponse> {
    let default = match response {
        None | Some(ast::JsonResponse::Null) => return Ok(JsonResponse::Null),
        Some(ast::JsonResponse::Error) => return Ok(JsonResponse::Error),
        Some(ast::JsonResponse::Default(default)) => default,
    };
    let text = match default {
        ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::String(text), .. }) => text.bytes.clone(),
        other => other.to_string().into_bytes(),
    };
    let converted = Json::parse(&text).ok().map(|value| convert(column, value.root(), options));
    match converted {
        Some(Ok(value)) => Ok(JsonResponse::Default(value)),
        _ => {
            let message = format!("Invalid default value for '{}'", column.name);
            Err(Error::new(ErrorCode::InvalidDefault, message))
        }
    }
}
