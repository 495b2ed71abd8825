//! What DESCRIBE and information_schema.COLUMNS say of a column.

use shoal_types::schema::ColumnDefault;
use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, SqlType, TableSchema, Value};

use crate::ddl::show_create::{now_text, type_text};

/// A column in the words of MySQL.
#[derive(Debug, Default)]
pub(crate) struct ColumnFacts {
    pub name: String,
    /// `varchar(30)`, `int unsigned`.
    pub column_type: String,
    /// `varchar`, `int`.
    pub data_type: String,
    pub nullable: bool,
    /// PRI, UNI, MUL or nothing.
    pub key: &'static str,
    pub default: Option<String>,
    pub extra: String,
    pub comment: String,
    pub charset: Option<&'static str>,
    pub collation: Option<&'static str>,
    pub character_length: Option<u64>,
    pub octet_length: Option<u64>,
    pub numeric_precision: Option<u64>,
    pub numeric_scale: Option<u64>,
    pub datetime_precision: Option<u64>,
    pub generation: String,
}

/// Everything about the column at `position` of a base table.
pub(crate) fn column_facts(schema: &TableSchema, position: usize) -> ColumnFacts {
    let column = &schema.columns[position];
    ColumnFacts {
        name: column.name.clone(),
        nullable: column.nullable,
        key: key_of(schema, position),
        default: default_text(&column.default, &column.sql_type),
        extra: extra(column),
        comment: column.comment.clone(),
        generation: column.generated.as_ref().map(|(text, _)| text.clone()).unwrap_or_default(),
        ..type_facts(&column.sql_type)
    }
}

/// What follows from the type alone.
pub(crate) fn type_facts(sql_type: &SqlType) -> ColumnFacts {
    let column_type = type_text(sql_type);
    let data_type = column_type.chars().take_while(char::is_ascii_alphabetic).collect();
    let textual = sql_type.is_string() && !sql_type.is_binary_string();
    let (character_length, octet_length) = lengths(sql_type);
    let (numeric_precision, numeric_scale) = numeric(sql_type);
    let has_fsp = matches!(sql_type.base, BaseType::Time | BaseType::DateTime | BaseType::Timestamp);
    ColumnFacts {
        column_type,
        data_type,
        charset: textual.then(|| sql_type.collation.charset().name()),
        collation: textual.then(|| sql_type.collation.name()),
        character_length,
        octet_length,
        numeric_precision,
        numeric_scale,
        datetime_precision: has_fsp.then_some(u64::from(sql_type.decimals)),
        ..ColumnFacts::default()
    }
}

/// PRI for the primary key, or for the first unique key without NULLs where none was declared.
fn key_of(schema: &TableSchema, position: usize) -> &'static str {
    let hidden = schema.has_hidden_key();
    let holds = |index: &shoal_types::Index| index.columns.iter().any(|part| part.column == position);
    let never_null =
        |index: &&shoal_types::Index| index.columns.iter().all(|part| !schema.columns[part.column].nullable);
    let primary = match hidden {
        false => Some(schema.primary_key()),
        true => schema.indexes.iter().skip(1).filter(|index| index.unique).find(never_null),
    };
    if primary.is_some_and(holds) {
        return "PRI";
    }
    let secondary = || schema.indexes.iter().skip(1);
    let leads = |index: &shoal_types::Index| index.columns.first().is_some_and(|part| part.column == position);
    if secondary().any(|index| index.unique && index.columns.len() == 1 && leads(index)) {
        return "UNI";
    }
    if secondary().any(leads) { "MUL" } else { "" }
}

fn default_text(default: &ColumnDefault, sql_type: &SqlType) -> Option<String> {
    match default {
        ColumnDefault::None | ColumnDefault::Value(Value::Null) => None,
        ColumnDefault::Value(Value::Bit(bits, _)) => Some(format!("b'{bits:b}'")),
        ColumnDefault::Value(value) => {
            let mut text = Vec::new();
            value.append_text_as(sql_type, &mut text);
            let charset = sql_type.collation.charset();
            let text = match charset {
                shoal_types::Charset::Binary => text,
                charset => {
                    shoal_types::Charset::convert(&text, charset, shoal_types::Charset::Utf8mb4).bytes.into_owned()
                }
            };
            Some(String::from_utf8_lossy(&text).into_owned())
        }
        ColumnDefault::Now => Some(now_text(sql_type)),
        ColumnDefault::Expression(text) => Some(text.clone()),
    }
}

fn extra(column: &shoal_types::Column) -> String {
    let mut words: Vec<String> = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    match &column.generated {
        Some((_, true)) => words.push("STORED GENERATED".to_owned()),
        Some((_, false)) => words.push("VIRTUAL GENERATED".to_owned()),
        None if matches!(column.default, ColumnDefault::Now | ColumnDefault::Expression(_)) => {
            words.push("DEFAULT_GENERATED".to_owned());
        }
        None => {}
    }
    if column.on_update_now {
        words.push(format!("on update {}", now_text(&column.sql_type)));
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// Greatest length in characters and in bytes.
fn lengths(sql_type: &SqlType) -> (Option<u64>, Option<u64>) {
    let wide = |characters: u64| {
        (Some(characters), Some(characters * sql_type.collation.charset().char_bytes_max() as u64))
    };
    let labels = || {
        let labels = sql_type.labels.iter().flat_map(|labels| labels.iter());
        labels.map(|label| sql_type.collation.charset().char_count(label) as u64)
    };
    match sql_type.base {
        BaseType::Char | BaseType::VarChar => wide(u64::from(sql_type.length)),
        BaseType::Text => (Some(u64::from(sql_type.length)), Some(u64::from(sql_type.length))),
        BaseType::Enum => wide(labels().max().unwrap_or(0)),
        BaseType::Set => wide(labels().map(|length| length + 1).sum::<u64>().saturating_sub(1)),
        _ => (None, None),
    }
}

fn numeric(sql_type: &SqlType) -> (Option<u64>, Option<u64>) {
    let length = u64::from(sql_type.length);
    let fixed = (sql_type.decimals != DECIMALS_NOT_FIXED).then_some(u64::from(sql_type.decimals));
    match sql_type.base {
        BaseType::TinyInt => (Some(3), Some(0)),
        BaseType::SmallInt => (Some(5), Some(0)),
        BaseType::MediumInt => (Some(7), Some(0)),
        BaseType::Int => (Some(10), Some(0)),
        BaseType::BigInt => (Some(if sql_type.unsigned { 20 } else { 19 }), Some(0)),
        BaseType::Decimal => (Some(length), fixed),
        BaseType::Float => (Some(fixed.map_or(12, |_| length)), fixed),
        BaseType::Double => (Some(fixed.map_or(22, |_| length)), fixed),
        BaseType::Bit => (Some(length), None),
        _ => (None, None),
    }
}
