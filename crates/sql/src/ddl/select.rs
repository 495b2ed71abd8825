//! CREATE TABLE ... SELECT: the result's columns as columns of the table.

use shoal_cluster::Catalog;
use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Collation, Column, ColumnDefault, Result, SqlType, TableSchema};

use super::draft::{DraftColumn, TableDraft};
use super::errors;
use crate::dml::row::implicit_default;
use crate::dml::rules::refuse_value;
use crate::frontend::ResultColumn;

/// Bytes of a VARCHAR in a row that has nothing else.
const VARCHAR_BYTES_MAX: u64 = 65_532;
/// An integer expression with fewer characters than this becomes an INT.
const INT_LENGTH_MAX: u32 = 10;

/// Adds the columns of a result behind those that are declared. A declared column of the same name keeps its definition and
/// moves to the result's place. The names of the result's columns, in its order. Errors: 1060, two of them are called the same.
pub fn add_columns(draft: &mut TableDraft, columns: &[ResultColumn], catalog: &Catalog) -> Result<Vec<String>> {
    for (place, result) in columns.iter().enumerate() {
        if columns[..place].iter().any(|other| other.name.eq_ignore_ascii_case(&result.name)) {
            return Err(errors::duplicate_column(&result.name));
        }
        match draft.column_position(&result.name) {
            Some(position) => {
                let declared = draft.columns.remove(position);
                draft.columns.push(declared);
            }
            None => {
                let column = column_of(result, catalog);
                draft.columns.push(DraftColumn { column, origin: None, null_written: false });
            }
        }
    }
    Ok(columns.iter().map(|column| column.name.clone()).collect())
}

/// The positions of the result's columns in the table. Errors: 3105, one of them is generated.
pub fn targets(schema: &TableSchema, names: &[String]) -> Result<Vec<usize>> {
    let targets: Vec<usize> = names.iter().filter_map(|name| schema.column_position(name)).collect();
    targets.iter().try_for_each(|&column| refuse_value(schema, column))?;
    Ok(targets)
}

/// A column of the result: of a table, it is like its original; of an expression, it is NULL or has the type's zero as default.
fn column_of(result: &ResultColumn, catalog: &Catalog) -> Column {
    let original = catalog.table(&result.database, &result.original_table).and_then(|table| {
        let position = table.schema.column_position(&result.original_name)?;
        Some(&table.schema.columns[position])
    });
    let sql_type = match original {
        Some(original) => original.sql_type.clone(),
        // What is known to be true or false is a number like any other.
        None if result.table.is_empty() && result.sql_type.base == BaseType::TinyInt => {
            stored_type(&SqlType { length: 1, ..SqlType::bigint(false) })
        }
        None => stored_type(&result.sql_type),
    };
    let nullable = !result.flags.not_null;
    let default = match original {
        Some(original) if original.auto_increment => ColumnDefault::Value(implicit_default(&sql_type)),
        Some(original) => original.default.clone(),
        None if nullable || sql_type.is_blob() || sql_type.is_temporal() => ColumnDefault::None,
        None => ColumnDefault::Value(implicit_default(&sql_type)),
    };
    Column {
        name: result.name.clone(),
        sql_type,
        nullable,
        default,
        auto_increment: false,
        on_update_now: original.is_some_and(|original| original.on_update_now),
        comment: original.map(|original| original.comment.clone()).unwrap_or_default(),
        invisible: false,
        hidden: false,
        generated: None,
        array_of: None,
    }
}

/// The type that a column needs to hold an expression's values.
fn stored_type(sql_type: &SqlType) -> SqlType {
    let collation = sql_type.collation;
    match sql_type.base {
        BaseType::Null => SqlType { length: 0, ..SqlType::new(BaseType::Char) },
        BaseType::BigInt if sql_type.length > 0 && sql_type.length < INT_LENGTH_MAX => {
            let length = if sql_type.unsigned { 10 } else { 11 };
            SqlType { unsigned: sql_type.unsigned, length, ..SqlType::new(BaseType::Int) }
        }
        BaseType::BigInt => SqlType { length: 20, ..SqlType::bigint(sql_type.unsigned) },
        BaseType::Decimal => SqlType::decimal(sql_type.length.clamp(1, 65), sql_type.decimals.min(30)),
        BaseType::Double | BaseType::Float => {
            let length = if sql_type.base == BaseType::Double { 22 } else { 12 };
            SqlType { length, decimals: DECIMALS_NOT_FIXED, ..sql_type.clone() }
        }
        BaseType::Char | BaseType::VarChar | BaseType::Text => {
            text_type(sql_type.length, sql_type.base, collation)
        }
        BaseType::Json => SqlType { length: u32::MAX, ..SqlType::new(BaseType::Json) },
        _ => sql_type.clone(),
    }
}

fn text_type(length: u32, base: BaseType, collation: Collation) -> SqlType {
    let char_bytes = collation.charset().char_bytes_max() as u64;
    let bytes = match base {
        BaseType::Text => u64::from(length),
        _ => u64::from(length) * char_bytes,
    };
    if base != BaseType::Text && bytes <= VARCHAR_BYTES_MAX {
        return SqlType::varchar(length, collation);
    }
    let length = match bytes {
        0..=0xFFFF => 0xFFFF,
        0x1_0000..=0xFF_FFFF => 0xFF_FFFF,
        _ => u32::MAX,
    };
    SqlType { length, collation, ..SqlType::new(BaseType::Text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_get_columns_that_hold_them() {
        let collation = Collation::UTF8MB4_0900_AI_CI;
        let small = SqlType { length: 2, ..SqlType::bigint(false) };
        assert_eq!(stored_type(&small).base, BaseType::Int);
        assert_eq!(stored_type(&SqlType::bigint(false)).base, BaseType::BigInt);
        assert_eq!(stored_type(&SqlType::varchar(1, collation)), SqlType::varchar(1, collation));
        let long = stored_type(&SqlType::varchar(100_000, collation));
        assert_eq!((long.base, long.length), (BaseType::Text, 0xFF_FFFF));
        assert_eq!(stored_type(&SqlType::null()).length, 0);
    }
}
