//! Table schemas as protobuf messages.

use std::sync::Arc;

use prost::Message;

use super::{append_value, damaged, read_value};
use crate::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::error::Result;
use crate::schema::{
    CheckConstraint, Column, ColumnDefault, ForeignKey, Index, IndexColumn, IndexMethod, PastColumn, PastRows,
    ReferentialAction, TableOptions, TableSchema,
};
use crate::sql_type::{BaseType, DECIMALS_NOT_FIXED, SqlType};
use crate::{Collation, IndexId, TableId};

/// Raised when old readers could misread a message; added fields do not need it.
const FORMAT_VERSION: u32 = 1;
/// Of tables with rows of earlier versions.
const FORMAT_OF_PAST_ROWS: u32 = 2;
/// The same with columns of multi-valued key parts.
const FORMAT_OF_ARRAYS: u32 = 3;

#[derive(Clone, PartialEq, Message)]
struct TableMessage {
    #[prost(uint32, tag = "1")]
    format_version: u32,
    #[prost(uint32, tag = "2")]
    id: u32,
    #[prost(uint32, tag = "3")]
    version: u32,
    #[prost(string, tag = "4")]
    database: String,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(message, repeated, tag = "6")]
    columns: Vec<ColumnMessage>,
    #[prost(message, repeated, tag = "7")]
    indexes: Vec<IndexMessage>,
    #[prost(uint32, repeated, tag = "8")]
    partition_columns: Vec<u32>,
    #[prost(message, optional, tag = "9")]
    options: Option<OptionsMessage>,
    #[prost(message, repeated, tag = "10")]
    checks: Vec<CheckMessage>,
    #[prost(message, repeated, tag = "11")]
    foreign_keys: Vec<ForeignKeyMessage>,
    #[prost(message, repeated, tag = "12")]
    past_rows: Vec<PastRowsMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct PastRowsMessage {
    /// One a column, 255 if it is of variable size.
    #[prost(bytes = "vec", tag = "1")]
    widths: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    columns: Vec<PastColumnMessage>,
}

/// Neither is set: NULL.
#[derive(Clone, PartialEq, Message)]
struct PastColumnMessage {
    #[prost(uint32, optional, tag = "1")]
    position: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "2")]
    value: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct ForeignKeyMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, repeated, tag = "2")]
    columns: Vec<String>,
    #[prost(string, tag = "3")]
    parent_database: String,
    #[prost(string, tag = "4")]
    parent_table: String,
    #[prost(string, repeated, tag = "5")]
    parent_columns: Vec<String>,
    #[prost(uint32, tag = "6")]
    on_delete: u32,
    #[prost(uint32, tag = "7")]
    on_update: u32,
}

#[derive(Clone, PartialEq, Message)]
struct CheckMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    expression: String,
    #[prost(bool, tag = "3")]
    enforced: bool,
}

#[derive(Clone, PartialEq, Message)]
struct OptionsMessage {
    #[prost(string, tag = "1")]
    engine: String,
    #[prost(uint32, tag = "2")]
    collation: u32,
    #[prost(string, tag = "3")]
    comment: String,
    #[prost(uint64, tag = "4")]
    auto_increment: u64,
    #[prost(bool, tag = "5")]
    partitioned_by_key: bool,
    #[prost(uint32, tag = "6")]
    partitions: u32,
    #[prost(message, repeated, tag = "7")]
    other: Vec<OptionMessage>,
    #[prost(uint64, tag = "8")]
    created_at_s: u64,
}

#[derive(Clone, PartialEq, Message)]
struct OptionMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    sql_type: Option<TypeMessage>,
    #[prost(bool, tag = "3")]
    nullable: bool,
    #[prost(message, optional, tag = "4")]
    default: Option<DefaultMessage>,
    #[prost(bool, tag = "5")]
    auto_increment: bool,
    #[prost(bool, tag = "6")]
    on_update_now: bool,
    #[prost(string, tag = "7")]
    comment: String,
    #[prost(bool, tag = "8")]
    invisible: bool,
    #[prost(bool, tag = "9")]
    hidden: bool,
    #[prost(string, optional, tag = "10")]
    generated: Option<String>,
    #[prost(bool, tag = "11")]
    generated_stored: bool,
    #[prost(message, optional, tag = "12")]
    array_of: Option<TypeMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeMessage {
    #[prost(uint32, tag = "1")]
    base: u32,
    #[prost(bool, tag = "2")]
    unsigned: bool,
    #[prost(bool, tag = "3")]
    zerofill: bool,
    #[prost(uint32, tag = "4")]
    length: u32,
    #[prost(uint32, tag = "5")]
    decimals: u32,
    #[prost(uint32, tag = "6")]
    collation: u32,
    #[prost(bool, tag = "7")]
    has_labels: bool,
    #[prost(bytes = "vec", repeated, tag = "8")]
    labels: Vec<Vec<u8>>,
}

/// One of its fields is set; none for a column without a DEFAULT clause.
#[derive(Clone, PartialEq, Message)]
struct DefaultMessage {
    #[prost(bytes = "vec", optional, tag = "1")]
    value: Option<Vec<u8>>,
    #[prost(bool, tag = "2")]
    now: bool,
    #[prost(string, optional, tag = "3")]
    expression: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct IndexMessage {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    columns: Vec<IndexColumnMessage>,
    #[prost(bool, tag = "4")]
    unique: bool,
    #[prost(bool, tag = "5")]
    hash: bool,
    #[prost(bool, tag = "6")]
    invisible: bool,
    #[prost(string, tag = "7")]
    comment: String,
    #[prost(uint32, optional, tag = "8")]
    unique_table: Option<u32>,
    #[prost(bool, tag = "9")]
    building: bool,
}

#[derive(Clone, PartialEq, Message)]
struct IndexColumnMessage {
    #[prost(uint32, tag = "1")]
    column: u32,
    #[prost(uint32, tag = "2")]
    prefix_length: u32,
    #[prost(bool, tag = "3")]
    descending: bool,
}

impl TableSchema {
    /// The schema as bytes that [`TableSchema::decode`] of this and later versions reads.
    pub fn encode(&self) -> Vec<u8> {
        TableMessage {
            format_version: match self.columns.iter().any(|column| column.array_of.is_some()) {
                true => FORMAT_OF_ARRAYS,
                false if self.past_rows.is_empty() => FORMAT_VERSION,
                false => FORMAT_OF_PAST_ROWS,
            },
            id: self.id.0,
            version: self.version,
            database: self.database.clone(),
            name: self.name.clone(),
            columns: self.columns.iter().map(column_to_message).collect(),
            indexes: self.indexes.iter().map(index_to_message).collect(),
            partition_columns: self.partition_columns.iter().map(|&column| column as u32).collect(),
            options: Some(options_to_message(&self.options)),
            checks: self.checks.iter().map(check_to_message).collect(),
            foreign_keys: self.foreign_keys.iter().map(foreign_key_to_message).collect(),
            past_rows: self.past_rows.iter().map(past_rows_to_message).collect(),
        }
        .encode_to_vec()
    }

    /// Errors: bytes that are no schema, or one that refers to columns that it does not have.
    pub fn decode(bytes: &[u8]) -> Result<TableSchema> {
        let message = TableMessage::decode(bytes).map_err(|error| damaged(&format!("table schema: {error}")))?;
        if message.format_version == 0 || message.format_version > FORMAT_OF_ARRAYS {
            return Err(damaged(&format!("table schema of the unknown format {}", message.format_version)));
        }
        let columns = message.columns.into_iter().map(column_from_message).collect::<Result<Vec<_>>>()?;
        let position = |column: u32| match column as usize {
            position if position < columns.len() => Ok(position),
            _ => Err(damaged("a key names a column that the table does not have")),
        };
        let indexes = message
            .indexes
            .into_iter()
            .map(|index| index_from_message(index, &position))
            .collect::<Result<Vec<_>>>()?;
        if indexes.is_empty() {
            return Err(damaged("a table without a primary key"));
        }
        let past_rows = message.past_rows.into_iter().map(|rows| past_rows_from_message(rows, columns.len()));
        let past_rows = past_rows.collect::<Result<Vec<_>>>()?;
        Ok(TableSchema {
            past_rows,
            id: TableId(message.id),
            version: message.version,
            database: message.database,
            name: message.name,
            indexes,
            partition_columns: message.partition_columns.into_iter().map(position).collect::<Result<_>>()?,
            options: options_from_message(message.options.unwrap_or_default()),
            checks: message.checks.into_iter().map(check_from_message).collect(),
            foreign_keys: message.foreign_keys.into_iter().map(foreign_key_from_message).collect(),
            columns,
        })
    }
}

/// Every action with its number in messages, which never changes.
const ACTIONS: [(ReferentialAction, u32); 4] = [
    (ReferentialAction::NoAction, 0),
    (ReferentialAction::Restrict, 1),
    (ReferentialAction::Cascade, 2),
    (ReferentialAction::SetNull, 3),
];

fn foreign_key_to_message(key: &ForeignKey) -> ForeignKeyMessage {
    let number = |action| ACTIONS.iter().find(|(known, _)| *known == action).map_or(0, |(_, number)| *number);
    ForeignKeyMessage {
        name: key.name.clone(),
        columns: key.columns.clone(),
        parent_database: key.parent.0.clone(),
        parent_table: key.parent.1.clone(),
        parent_columns: key.parent_columns.clone(),
        on_delete: number(key.on_delete),
        on_update: number(key.on_update),
    }
}

fn foreign_key_from_message(message: ForeignKeyMessage) -> ForeignKey {
    let action =
        |number| ACTIONS.iter().find(|(_, known)| *known == number).map(|(action, _)| *action).unwrap_or_default();
    ForeignKey {
        name: message.name,
        columns: message.columns,
        parent: (message.parent_database, message.parent_table),
        parent_columns: message.parent_columns,
        on_delete: action(message.on_delete),
        on_update: action(message.on_update),
    }
}

const VARIABLE_WIDTH: u8 = 255;

fn past_rows_to_message(rows: &PastRows) -> PastRowsMessage {
    let column = |column: &PastColumn| match column {
        PastColumn::At(position) => PastColumnMessage { position: Some(*position as u32), value: None },
        PastColumn::Value(value) => PastColumnMessage { position: None, value: value.clone() },
    };
    PastRowsMessage {
        widths: rows.widths.iter().map(|width| width.unwrap_or(VARIABLE_WIDTH)).collect(),
        columns: rows.columns.iter().map(column).collect(),
    }
}

fn past_rows_from_message(message: PastRowsMessage, columns: usize) -> Result<PastRows> {
    let stored = message.widths.len();
    let column = |column: PastColumnMessage| match column.position {
        Some(position) if (position as usize) < stored => Ok(PastColumn::At(position as usize)),
        Some(_) => Err(damaged("a column of earlier rows that they do not have")),
        None => Ok(PastColumn::Value(column.value)),
    };
    if message.columns.len() != columns {
        return Err(damaged("earlier rows do not tell of all columns"));
    }
    let width = |&width: &u8| (width != VARIABLE_WIDTH).then_some(width);
    Ok(PastRows {
        widths: message.widths.iter().map(width).collect(),
        columns: message.columns.into_iter().map(column).collect::<Result<_>>()?,
    })
}

fn check_to_message(check: &CheckConstraint) -> CheckMessage {
    let CheckConstraint { name, expression, enforced } = check.clone();
    CheckMessage { name, expression, enforced }
}

fn check_from_message(message: CheckMessage) -> CheckConstraint {
    let CheckMessage { name, expression, enforced } = message;
    CheckConstraint { name, expression, enforced }
}

fn options_to_message(options: &TableOptions) -> OptionsMessage {
    let other = |(name, value): &(String, String)| OptionMessage { name: name.clone(), value: value.clone() };
    OptionsMessage {
        engine: options.engine.clone(),
        collation: u32::from(options.collation.0),
        comment: options.comment.clone(),
        auto_increment: options.auto_increment,
        partitioned_by_key: options.partitioned_by_key,
        partitions: options.partitions,
        other: options.other.iter().map(other).collect(),
        created_at_s: options.created_at_s,
    }
}

fn options_from_message(message: OptionsMessage) -> TableOptions {
    TableOptions {
        engine: message.engine,
        collation: Collation(message.collation as u16),
        comment: message.comment,
        auto_increment: message.auto_increment,
        partitioned_by_key: message.partitioned_by_key,
        partitions: message.partitions,
        other: message.other.into_iter().map(|option| (option.name, option.value)).collect(),
        created_at_s: message.created_at_s,
    }
}

fn column_to_message(column: &Column) -> ColumnMessage {
    let (generated, generated_stored) = match &column.generated {
        Some((expression, stored)) => (Some(expression.clone()), *stored),
        None => (None, false),
    };
    ColumnMessage {
        name: column.name.clone(),
        sql_type: Some(type_to_message(&column.sql_type)),
        nullable: column.nullable,
        default: default_to_message(&column.default),
        auto_increment: column.auto_increment,
        on_update_now: column.on_update_now,
        comment: column.comment.clone(),
        invisible: column.invisible,
        hidden: column.hidden,
        generated,
        generated_stored,
        array_of: column.array_of.as_ref().map(type_to_message),
    }
}

fn column_from_message(message: ColumnMessage) -> Result<Column> {
    let sql_type = message.sql_type.ok_or_else(|| damaged("a column without a type"))?;
    Ok(Column {
        name: message.name,
        sql_type: type_from_message(sql_type)?,
        nullable: message.nullable,
        default: default_from_message(message.default)?,
        auto_increment: message.auto_increment,
        on_update_now: message.on_update_now,
        comment: message.comment,
        invisible: message.invisible,
        hidden: message.hidden,
        generated: message.generated.map(|expression| (expression, message.generated_stored)),
        array_of: message.array_of.map(type_from_message).transpose()?,
    })
}

fn default_to_message(default: &ColumnDefault) -> Option<DefaultMessage> {
    match default {
        ColumnDefault::None => None,
        ColumnDefault::Value(value) => {
            let mut bytes = Vec::new();
            append_value(value, &mut bytes);
            Some(DefaultMessage { value: Some(bytes), ..DefaultMessage::default() })
        }
        ColumnDefault::Now => Some(DefaultMessage { now: true, ..DefaultMessage::default() }),
        ColumnDefault::Expression(text) => {
            Some(DefaultMessage { expression: Some(text.clone()), ..DefaultMessage::default() })
        }
    }
}

fn default_from_message(message: Option<DefaultMessage>) -> Result<ColumnDefault> {
    Ok(match message {
        None => ColumnDefault::None,
        Some(DefaultMessage { now: true, .. }) => ColumnDefault::Now,
        Some(DefaultMessage { expression: Some(text), .. }) => ColumnDefault::Expression(text),
        Some(DefaultMessage { value: Some(bytes), .. }) => {
            ColumnDefault::Value(read_value(&mut bytes.as_slice())?)
        }
        Some(_) => ColumnDefault::None,
    })
}

/// Every base type with its number in messages, which never changes.
const BASE_TYPES: [(BaseType, u32); 22] = [
    (BaseType::Null, 1),
    (BaseType::TinyInt, 2),
    (BaseType::SmallInt, 3),
    (BaseType::MediumInt, 4),
    (BaseType::Int, 5),
    (BaseType::BigInt, 6),
    (BaseType::Float, 7),
    (BaseType::Double, 8),
    (BaseType::Decimal, 9),
    (BaseType::Bit, 10),
    (BaseType::Year, 11),
    (BaseType::Date, 12),
    (BaseType::Time, 13),
    (BaseType::DateTime, 14),
    (BaseType::Timestamp, 15),
    (BaseType::Char, 16),
    (BaseType::VarChar, 17),
    (BaseType::Text, 18),
    (BaseType::Enum, 19),
    (BaseType::Set, 20),
    (BaseType::Json, 21),
    (BaseType::Geometry, 22),
];

fn type_to_message(sql_type: &SqlType) -> TypeMessage {
    let number = BASE_TYPES.iter().find(|(base, _)| *base == sql_type.base).map_or(0, |(_, number)| *number);
    TypeMessage {
        base: number,
        unsigned: sql_type.unsigned,
        zerofill: sql_type.zerofill,
        length: sql_type.length,
        decimals: u32::from(sql_type.decimals),
        collation: u32::from(sql_type.collation.0),
        has_labels: sql_type.labels.is_some(),
        labels: sql_type.labels.iter().flat_map(|labels| labels.iter()).map(|label| label.to_vec()).collect(),
    }
}

fn type_from_message(message: TypeMessage) -> Result<SqlType> {
    let base = BASE_TYPES.iter().find(|(_, number)| *number == message.base).map(|(base, _)| *base);
    let base = base.ok_or_else(|| damaged("a column of an unknown type"))?;
    let length = message.length;
    let decimals = message.decimals;
    let has_valid_size = match base {
        BaseType::Decimal => {
            (1..=u32::from(MAX_PRECISION)).contains(&length) && decimals <= length.min(u32::from(MAX_SCALE))
        }
        BaseType::Bit => (1..=64).contains(&length),
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp => decimals <= 6,
        _ => decimals <= u32::from(DECIMALS_NOT_FIXED),
    };
    if !has_valid_size {
        return Err(damaged("a column type of an impossible size"));
    }
    let labels: Arc<[Box<[u8]>]> = message.labels.into_iter().map(Vec::into_boxed_slice).collect();
    Ok(SqlType {
        base,
        unsigned: message.unsigned,
        zerofill: message.zerofill,
        length,
        decimals: decimals as u8,
        collation: Collation(message.collation as u16),
        labels: message.has_labels.then_some(labels),
    })
}

fn index_to_message(index: &Index) -> IndexMessage {
    let part = |part: &IndexColumn| IndexColumnMessage {
        column: part.column as u32,
        prefix_length: part.prefix_length,
        descending: part.descending,
    };
    IndexMessage {
        id: index.id.0,
        name: index.name.clone(),
        columns: index.columns.iter().map(part).collect(),
        unique: index.unique,
        hash: index.method == IndexMethod::Hash,
        invisible: index.invisible,
        building: index.building,
        comment: index.comment.clone(),
        unique_table: index.unique_table.map(|table| table.0),
    }
}

fn index_from_message(message: IndexMessage, position: &impl Fn(u32) -> Result<usize>) -> Result<Index> {
    let part = |part: IndexColumnMessage| {
        Ok(IndexColumn {
            column: position(part.column)?,
            prefix_length: part.prefix_length,
            descending: part.descending,
        })
    };
    Ok(Index {
        id: IndexId(message.id),
        name: message.name,
        columns: message.columns.into_iter().map(part).collect::<Result<_>>()?,
        unique: message.unique,
        method: if message.hash { IndexMethod::Hash } else { IndexMethod::BTree },
        invisible: message.invisible,
        building: message.building,
        comment: message.comment,
        unique_table: message.unique_table.map(TableId),
    })
}
