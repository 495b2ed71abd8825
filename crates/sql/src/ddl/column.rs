//! Column and key definitions of the syntax as parts of a draft: types, NULL, defaults, attributes.

use shoal_parser::ast::{self, ColumnDefinition, KeyDefinition, KeyKind, KeyPartExpr};
use shoal_types::{
    BaseType, Collation, Column, ColumnDefault, Error, ErrorCode, IndexMethod, Result, SqlType, StoreTarget,
    Value, Warning, WarningLevel, store_value,
};

use super::column_type::{TypeContext, column_type};
use super::draft::{DraftColumn, DraftContext, DraftKey, DraftKeyKind, DraftPart};
use super::{errors, functional, options};
use crate::resolve::expression::literal_value;

/// Characters of a column's comment.
const COLUMN_COMMENT_MAX: usize = 1024;
/// Characters of a key's comment.
const KEY_COMMENT_MAX: usize = 1024;

/// A column as written, and the keys that its attributes declare.
pub fn draft_column(
    definition: &ColumnDefinition,
    table: Collation,
    context: &DraftContext,
    notes: &mut Vec<Warning>,
) -> Result<(DraftColumn, Vec<DraftKey>)> {
    refuse(definition)?;
    let name = definition.name.value.as_str();
    let strict = context.settings.sql_mode.strict;
    let type_context = TypeContext { column: name, table, strict };
    let sql_type = column_type(&definition.data_type, &type_context, notes)?;
    if definition.auto_increment {
        check_auto_increment(definition, &sql_type)?;
    }
    let nullable = definition.nullable.unwrap_or(true) && !definition.auto_increment && !definition.primary_key;
    let default = match &definition.default {
        Some(default) => {
            column_default(default, definition.default_is_expression, name, &sql_type, nullable, context)?
        }
        None => ColumnDefault::None,
    };
    if let Some(fsp) = definition.on_update_now {
        check_on_update(name, &sql_type, fsp)?;
    }
    let comment = match &definition.comment {
        Some(text) => options::comment(text, COLUMN_COMMENT_MAX, ErrorCode::TooLongFieldComment, name)?,
        None => String::new(),
    };
    let column = Column {
        name: name.to_owned(),
        sql_type,
        nullable,
        default,
        auto_increment: definition.auto_increment,
        on_update_now: definition.on_update_now.is_some(),
        comment,
        invisible: definition.visible == Some(false),
        hidden: false,
        generated: definition.generated.as_ref().map(|generated| (generated.expr.to_string(), generated.stored)),
        array_of: None,
    };
    let mut keys = Vec::new();
    if definition.primary_key {
        keys.push(DraftKey::on_column(DraftKeyKind::Primary, name));
    }
    if definition.unique_key {
        keys.push(DraftKey::on_column(DraftKeyKind::Unique, name));
    }
    let null_written = definition.nullable == Some(true);
    Ok((DraftColumn { column, origin: None, null_written }, keys))
}

/// What a column may ask for and cannot get.
fn refuse(definition: &ColumnDefinition) -> Result<()> {
    if definition.generated.is_some() {
        let clause = match definition {
            ColumnDefinition { default: Some(_), .. } => Some("DEFAULT"),
            ColumnDefinition { auto_increment: true, .. } => Some("AUTO_INCREMENT"),
            ColumnDefinition { on_update_now: Some(_), .. } => Some("ON UPDATE"),
            _ => None,
        };
        if let Some(clause) = clause {
            let message = format!("Incorrect usage of {clause} and generated column");
            return Err(Error::new(ErrorCode::WrongUsage, message));
        }
    }
    if definition.storage == Some(ast::StorageMedium::Disk) {
        return Err(Error::unsupported("STORAGE DISK"));
    }
    if definition.srid.is_some() {
        return Err(Error::unsupported("SRID"));
    }
    Ok(())
}

fn check_auto_increment(definition: &ColumnDefinition, sql_type: &SqlType) -> Result<()> {
    use BaseType::*;
    let name = &definition.name.value;
    if !matches!(sql_type.base, TinyInt | SmallInt | MediumInt | Int | BigInt | Float | Double) {
        return Err(errors::wrong_specifier(name));
    }
    if definition.default.is_some() {
        return Err(errors::invalid_default(name));
    }
    Ok(())
}

/// ON UPDATE CURRENT_TIMESTAMP needs a DATETIME or TIMESTAMP of the same precision. Errors: 1294.
fn check_on_update(name: &str, sql_type: &SqlType, fsp: u32) -> Result<()> {
    let fits =
        matches!(sql_type.base, BaseType::DateTime | BaseType::Timestamp) && u32::from(sql_type.decimals) == fsp;
    if fits {
        return Ok(());
    }
    Err(Error::new(ErrorCode::InvalidOnUpdate, format!("Invalid ON UPDATE clause for '{name}' column")))
}

/// A default, converted to the column's type. Errors: 1067, 1101.
pub fn column_default(
    default: &ast::Expr,
    is_expression: bool,
    name: &str,
    sql_type: &SqlType,
    nullable: bool,
    context: &DraftContext,
) -> Result<ColumnDefault> {
    if is_expression {
        return Ok(ColumnDefault::Expression(default.to_string()));
    }
    if let Some(fsp) = now_precision(default) {
        let fits = matches!(sql_type.base, BaseType::DateTime | BaseType::Timestamp)
            && u64::from(sql_type.decimals) == fsp;
        return if fits { Ok(ColumnDefault::Now) } else { Err(errors::invalid_default(name)) };
    }
    let (value, source) = constant(default, name, sql_type, context)?;
    if value.is_null() {
        // A nullable column without a default has NULL as its default.
        return if nullable { Ok(ColumnDefault::None) } else { Err(errors::invalid_default(name)) };
    }
    if sql_type.is_blob() {
        let message = format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value");
        return Err(Error::new(ErrorCode::BlobCantHaveDefault, message));
    }
    let target = StoreTarget { sql_type, column: name, row: 1 };
    match store_value(value, source, target, &context.store_options()) {
        Ok((stored, None)) => Ok(ColumnDefault::Value(stored)),
        Ok((stored, Some(warning))) if warning.level == WarningLevel::Note => Ok(ColumnDefault::Value(stored)),
        Ok(_) | Err(_) => Err(errors::invalid_default(name)),
    }
}

/// `NOW(n)`: its precision.
fn now_precision(expr: &ast::Expr) -> Option<u64> {
    let ast::Expr::Function(call) = expr else { return None };
    if !call.name.is("NOW") {
        return None;
    }
    match &call.arguments[..] {
        [] => Some(0),
        [ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Integer(fsp), .. })] => Some(*fsp),
        _ => None,
    }
}

/// A literal, perhaps with a sign, and the collation of its text.
fn constant(expr: &ast::Expr, name: &str, target: &SqlType, context: &DraftContext) -> Result<(Value, Collation)> {
    match expr {
        ast::Expr::Literal(literal) => {
            if let ast::LiteralValue::Hex(bytes) | ast::LiteralValue::Bit(bytes) = &literal.value
                && target.is_numeric()
                && bytes.introducer.is_none()
            {
                return Ok((Value::UInt(number_of_bytes(&bytes.bytes, name)?), Collation::BINARY));
            }
            let (value, sql_type) = literal_value(&context.build(), &literal.value)?;
            Ok((value, sql_type.collation))
        }
        ast::Expr::Temporal { text, .. } => Ok((Value::Str(text.clone()), context.settings.collation_connection)),
        ast::Expr::Unary { operator: ast::UnaryOperator::Plus, operand } => {
            constant(operand, name, target, context)
        }
        ast::Expr::Unary { operator: ast::UnaryOperator::Minus, operand } => {
            let (value, collation) = constant(operand, name, target, context)?;
            let negative = match value {
                Value::Int(number) => Value::Int(-number),
                Value::UInt(number) if number == 1 << 63 => Value::Int(i64::MIN),
                Value::UInt(_) => Value::Decimal(-value.to_decimal().value),
                Value::Decimal(number) => Value::Decimal(-number),
                Value::Double(number) => Value::Double(-number),
                _ => return Err(errors::invalid_default(name)),
            };
            Ok((negative, collation))
        }
        _ => Err(errors::invalid_default(name)),
    }
}

/// The number that x'..' or b'..' means where a number is wanted.
fn number_of_bytes(bytes: &[u8], name: &str) -> Result<u64> {
    let significant = bytes.iter().skip_while(|&&byte| byte == 0);
    if significant.clone().count() > 8 {
        return Err(errors::invalid_default(name));
    }
    Ok(significant.fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// A key as written. Errors: 1235 for kinds that do not exist here.
pub fn draft_key(definition: &KeyDefinition) -> Result<DraftKey> {
    let is_functional = definition.parts.iter().any(|part| matches!(part.expr, KeyPartExpr::Expression(_)));
    if is_functional {
        functional::check_kind(definition.kind)?;
    }
    let kind = match definition.kind {
        KeyKind::Primary => DraftKeyKind::Primary,
        KeyKind::Unique => DraftKeyKind::Unique,
        KeyKind::Index => DraftKeyKind::Index,
        KeyKind::FullText => return Err(Error::unsupported("FULLTEXT indexes")),
        KeyKind::Spatial => return Err(Error::unsupported("SPATIAL indexes")),
    };
    let name = definition.name.as_ref().or(definition.constraint.as_ref()).map(|name| name.value.clone());
    let method = match definition.options.method {
        None => None,
        Some(ast::IndexMethod::BTree) => Some(IndexMethod::BTree),
        Some(ast::IndexMethod::Hash) => Some(IndexMethod::Hash),
        Some(ast::IndexMethod::RTree) => return Err(Error::unsupported("USING RTREE")),
    };
    let comment = match &definition.options.comment {
        Some(text) => {
            options::comment(text, KEY_COMMENT_MAX, ErrorCode::TooLongIndexComment, name.as_deref().unwrap_or(""))?
        }
        None => String::new(),
    };
    Ok(DraftKey {
        kind,
        name: if kind == DraftKeyKind::Primary { None } else { name },
        parts: definition.parts.iter().map(draft_part).collect(),
        method,
        invisible: definition.options.visible == Some(false),
        building: false,
        comment,
        origin: None,
    })
}

fn draft_part(part: &ast::KeyPart) -> DraftPart {
    let descending = part.descending;
    match &part.expr {
        KeyPartExpr::Column { name, prefix_length } => {
            DraftPart { column: name.value.clone(), expression: None, prefix_length: *prefix_length, descending }
        }
        KeyPartExpr::Expression(expression) => DraftPart {
            column: String::new(),
            expression: Some(expression.to_string()),
            prefix_length: None,
            descending,
        },
    }
}
