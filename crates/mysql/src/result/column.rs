//! Column definitions: an SQL type as the protocol describes it.

use shoal_sql::frontend::ResultColumn;
use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Charset, Collation, SqlType};

use crate::constants::{column_flag, column_type};
use crate::packet::{PacketWriter, append_length_bytes};

const CATALOG: &[u8] = b"def";
/// Size of the fixed part that follows the names.
const FIXED_FIELDS_SIZE: u8 = 0x0c;
/// What MySQL reports for LONGTEXT, JSON and geometries.
const LENGTH_UNBOUNDED: u32 = u32::MAX;

/// The number of the column's type on the wire.
pub fn type_code(sql_type: &SqlType) -> u8 {
    match sql_type.base {
        BaseType::Null => column_type::NULL,
        BaseType::TinyInt => column_type::TINY,
        BaseType::SmallInt => column_type::SHORT,
        BaseType::MediumInt => column_type::INT24,
        BaseType::Int => column_type::LONG,
        BaseType::BigInt => column_type::LONGLONG,
        BaseType::Float => column_type::FLOAT,
        BaseType::Double => column_type::DOUBLE,
        BaseType::Decimal => column_type::NEWDECIMAL,
        BaseType::Bit => column_type::BIT,
        BaseType::Year => column_type::YEAR,
        BaseType::Date => column_type::DATE,
        BaseType::Time => column_type::TIME,
        BaseType::DateTime => column_type::DATETIME,
        BaseType::Timestamp => column_type::TIMESTAMP,
        BaseType::Char | BaseType::Enum | BaseType::Set => column_type::STRING,
        BaseType::VarChar => column_type::VAR_STRING,
        BaseType::Text => column_type::BLOB,
        BaseType::Json => column_type::JSON,
        BaseType::Geometry => column_type::GEOMETRY,
    }
}

/// The collation that the client sees: its own for texts, binary for everything else.
fn wire_collation(sql_type: &SqlType, result_collation: Option<Collation>) -> Collation {
    if !sql_type.is_string() || sql_type.collation.is_binary() {
        return Collation::BINARY;
    }
    result_collation.unwrap_or(sql_type.collation)
}

/// The greatest length in bytes (digits and signs for numbers) of a value as it is sent.
fn wire_length(sql_type: &SqlType, collation: Collation) -> u32 {
    let or_default = |default: u32| if sql_type.length == 0 { default } else { sql_type.length };
    let sign = u32::from(!sql_type.unsigned);
    let fraction = if sql_type.decimals == 0 { 0 } else { 1 + u32::from(sql_type.decimals) };
    let character_size = collation.charset().char_bytes_max() as u32;
    match sql_type.base {
        BaseType::Null => 0,
        BaseType::TinyInt => or_default(3 + sign),
        BaseType::SmallInt => or_default(5 + sign),
        BaseType::MediumInt => or_default(8 + sign),
        BaseType::Int => or_default(10 + sign),
        BaseType::BigInt => or_default(20),
        BaseType::Float => or_default(12),
        BaseType::Double => or_default(22),
        BaseType::Decimal => sql_type.length + u32::from(sql_type.decimals > 0) + sign,
        BaseType::Bit => or_default(1),
        BaseType::Year => 4,
        BaseType::Date | BaseType::Time => 10 + if sql_type.base == BaseType::Time { fraction } else { 0 },
        BaseType::DateTime | BaseType::Timestamp => 19 + fraction,
        BaseType::Char | BaseType::VarChar | BaseType::Text => sql_type.length.saturating_mul(character_size),
        BaseType::Enum | BaseType::Set => labels_length(sql_type).saturating_mul(character_size),
        BaseType::Json | BaseType::Geometry => LENGTH_UNBOUNDED,
    }
}

/// Characters of the longest ENUM member, or of a SET with all its members.
fn labels_length(sql_type: &SqlType) -> u32 {
    let Some(labels) = &sql_type.labels else { return sql_type.length };
    let charset = sql_type.collation.charset();
    let sizes = labels.iter().map(|label| charset.char_count(label) as u32);
    match sql_type.base {
        BaseType::Enum => sizes.max().unwrap_or(0),
        _ => sizes.sum::<u32>() + labels.len().saturating_sub(1) as u32,
    }
}

fn wire_flags(column: &ResultColumn) -> u16 {
    let sql_type = &column.sql_type;
    let is_expression = column.original_name.is_empty();
    let is_blob = sql_type.is_blob();
    let is_binary = match sql_type.base {
        BaseType::Json | BaseType::Geometry | BaseType::Null => true,
        _ if sql_type.is_string() => sql_type.collation.is_bin() || sql_type.collation.is_binary(),
        _ if sql_type.is_temporal() => true,
        // A number in a table has no binary flag; the result of an expression has.
        _ => is_expression,
    };
    let given = &column.flags;
    let flags = [
        (given.not_null, column_flag::NOT_NULL),
        (given.primary_key, column_flag::PRIMARY_KEY | column_flag::PART_KEY),
        (given.unique_key, column_flag::UNIQUE_KEY | column_flag::PART_KEY),
        (given.multiple_key, column_flag::MULTIPLE_KEY | column_flag::PART_KEY),
        (is_blob, column_flag::BLOB),
        (sql_type.unsigned || matches!(sql_type.base, BaseType::Bit | BaseType::Year), column_flag::UNSIGNED),
        (sql_type.zerofill || sql_type.base == BaseType::Year, column_flag::ZEROFILL),
        (is_binary, column_flag::BINARY),
        (sql_type.base == BaseType::Enum, column_flag::ENUM),
        (sql_type.base == BaseType::Set, column_flag::SET),
        (given.auto_increment, column_flag::AUTO_INCREMENT),
        (sql_type.base == BaseType::Timestamp && given.on_update_now, column_flag::TIMESTAMP),
        (given.no_default, column_flag::NO_DEFAULT_VALUE),
        (given.on_update_now, column_flag::ON_UPDATE_NOW),
    ];
    flags.iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag)
}

fn wire_decimals(column: &ResultColumn) -> u8 {
    let sql_type = &column.sql_type;
    match sql_type.base {
        BaseType::Char | BaseType::VarChar | BaseType::Text if column.original_name.is_empty() => {
            DECIMALS_NOT_FIXED
        }
        _ => sql_type.decimals,
    }
}

/// Writes one column definition; `with_default` adds the (unknown) default value that COM_FIELD_LIST wants.
pub fn write_definition(
    column: &ResultColumn,
    result_collation: Option<Collation>,
    with_default: bool,
    out: &mut PacketWriter,
) {
    let collation = wire_collation(&column.sql_type, result_collation);
    let names = [&column.database, &column.table, &column.original_table, &column.name, &column.original_name];
    let payload = out.begin();
    append_length_bytes(payload, CATALOG);
    for name in names {
        append_name(name, result_collation, payload);
    }
    let [charset_low, charset_high] = collation.id().to_le_bytes();
    let length = wire_length(&column.sql_type, collation).to_le_bytes();
    let [flags_low, flags_high] = wire_flags(column).to_le_bytes();
    payload.extend_from_slice(&[
        FIXED_FIELDS_SIZE,
        charset_low,
        charset_high,
        length[0],
        length[1],
        length[2],
        length[3],
        type_code(&column.sql_type),
        flags_low,
        flags_high,
        wire_decimals(column),
        0,
        0,
    ]);
    if with_default {
        payload.push(0xfb);
    }
    out.end();
}

/// Names are UTF-8; the client gets them in its own character set.
fn append_name(name: &str, result_collation: Option<Collation>, out: &mut Vec<u8>) {
    match result_collation.map(Collation::charset) {
        None | Some(Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary) => {
            append_length_bytes(out, name.as_bytes());
        }
        Some(charset) => {
            append_length_bytes(out, &Charset::convert(name.as_bytes(), Charset::Utf8mb4, charset).bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_sql::frontend::ColumnFlags;
    use std::sync::Arc;

    fn column(sql_type: SqlType) -> ResultColumn {
        ResultColumn { name: "c".into(), original_name: "c".into(), sql_type, ..ResultColumn::default() }
    }

    fn described(sql_type: SqlType) -> (u16, u32, u8, u16, u8) {
        let column = column(sql_type);
        let collation = wire_collation(&column.sql_type, Some(Collation::UTF8MB4_0900_AI_CI));
        let length = wire_length(&column.sql_type, collation);
        (collation.id(), length, type_code(&column.sql_type), wire_flags(&column), wire_decimals(&column))
    }

    #[test]
    fn a_definition_is_the_documented_bytes() {
        let mut out = PacketWriter::default();
        let column = ResultColumn {
            database: "test".into(),
            table: "t".into(),
            original_table: "t1".into(),
            name: "n".into(),
            original_name: "id".into(),
            sql_type: SqlType { length: 11, ..SqlType::new(BaseType::Int) },
            flags: ColumnFlags { not_null: true, primary_key: true, ..ColumnFlags::default() },
        };
        write_definition(&column, Some(Collation::UTF8MB4_0900_AI_CI), false, &mut out);
        let body = b"\x03def\x04test\x01t\x02t1\x01n\x02id\x0c\x3f\0\x0b\0\0\0\x03\x03\x40\0\0\0";
        let mut expected = vec![body.len() as u8, 0, 0, 0];
        expected.extend_from_slice(body);
        assert_eq!(out.unsent(), expected);
    }

    #[test]
    fn strings_are_measured_in_bytes_of_the_clients_character_set() {
        let utf8 = Collation::UTF8MB4_0900_AI_CI;
        assert_eq!(described(SqlType::varchar(30, Collation::LATIN1_SWEDISH_CI)), (255, 120, 253, 0, 0));
        assert_eq!(described(SqlType::varchar(30, Collation::BINARY)), (63, 30, 253, 128, 0));
        let text = SqlType { length: 65_535, collation: utf8, ..SqlType::new(BaseType::Text) };
        assert_eq!(described(text), (255, 262_140, 252, 16, 0));
        let long_text = SqlType { length: u32::MAX, collation: utf8, ..SqlType::new(BaseType::Text) };
        assert_eq!(described(long_text).1, u32::MAX);
    }

    #[test]
    fn numbers_and_temporal_values_are_described_as_mysql_does() {
        assert_eq!(described(SqlType::decimal(10, 2)), (63, 12, 246, 0, 2));
        assert_eq!(described(SqlType::datetime(6)), (63, 26, 12, 128, 6));
        assert_eq!(described(SqlType::new(BaseType::Year)), (63, 4, 13, 96, 0));
        assert_eq!(described(SqlType::new(BaseType::Json)), (63, u32::MAX, 245, 144, 0));
        assert_eq!(described(SqlType { length: 9, ..SqlType::new(BaseType::Bit) }), (63, 9, 16, 32, 0));
    }

    #[test]
    fn enums_and_sets_have_the_type_of_strings_and_a_flag() {
        let labels: Arc<[Box<[u8]>]> = [&b"a"[..], b"abc"].map(Box::from).into();
        let member = |base| SqlType {
            labels: Some(labels.clone()),
            collation: Collation::UTF8MB4_0900_AI_CI,
            ..SqlType::new(base)
        };
        assert_eq!(described(member(BaseType::Enum)), (255, 12, 254, 256, 0));
        assert_eq!(described(member(BaseType::Set)), (255, 20, 254, 2048, 0));
    }
}
