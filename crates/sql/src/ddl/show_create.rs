//! Tables and databases as the statements that make them, in MySQL 8.4's format; dump tools replay the text.

use std::borrow::Cow;
use std::fmt::Write;

use shoal_parser::{is_reserved, quote_identifier, quote_string};
use shoal_txn::foreign_keys::constraint_text;
use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{
    BaseType, Charset, CheckConstraint, Collation, Column, ColumnDefault, Index, IndexMethod, SqlType,
    TableSchema, Value,
};

use super::draft::PRIMARY;
use super::options::KEPT_OPTIONS;

/// SHOW CREATE TABLE. AUTO_INCREMENT is what the schema's options say: whoever wants the present value sets it there first.
pub fn create_table_text(schema: &TableSchema) -> String {
    let mut lines: Vec<String> = Vec::new();
    for column in schema.columns.iter().filter(|column| !column.hidden) {
        lines.push(column_line(column, schema.options.collation));
    }
    for index in schema.declared_indexes() {
        lines.push(index_line(schema, index));
    }
    lines.extend(schema.foreign_keys.iter().map(|key| constraint_text(key, &schema.database)));
    lines.extend(schema.checks.iter().map(check_line));
    let mut text = format!("CREATE TABLE {} (\n  {}\n)", quote_identifier(&schema.name), lines.join(",\n  "));
    append_options(schema, &mut text);
    text
}

/// SHOW CREATE DATABASE.
pub fn create_database_text(name: &str, collation: Collation, if_not_exists: bool) -> String {
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = collation.charset().name();
    let collate = match names_collation(collation) {
        true => format!(" COLLATE {}", collation.name()),
        false => String::new(),
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {charset}{collate} */ /*!80016 DEFAULT \
         ENCRYPTION='N' */",
        quote_identifier(name)
    )
}

/// A default collation is left out, but for the one whose character set has had another default.
fn names_collation(collation: Collation) -> bool {
    !collation.is_default() || collation == Collation::UTF8MB4_0900_AI_CI
}

fn column_line(column: &Column, table: Collation) -> String {
    let mut line = format!("{} {}", quote_identifier(&column.name), type_text(&column.sql_type));
    let sql_type = &column.sql_type;
    if sql_type.is_string() && !sql_type.is_binary_string() {
        if sql_type.collation != table {
            let _ = write!(line, " CHARACTER SET {}", sql_type.collation.charset().name());
            let _ = write!(line, " COLLATE {}", sql_type.collation.name());
        } else if !table.is_default() {
            let _ = write!(line, " COLLATE {}", table.name());
        }
    }
    if let Some((text, stored)) = &column.generated {
        let _ = write!(line, " GENERATED ALWAYS AS ({text}) {}", if *stored { "STORED" } else { "VIRTUAL" });
    }
    if !column.nullable {
        line.push_str(" NOT NULL");
    } else if sql_type.base == BaseType::Timestamp {
        line.push_str(" NULL");
    }
    if let Some(default) = default_clause(column) {
        let _ = write!(line, " DEFAULT {default}");
    }
    if column.on_update_now {
        let _ = write!(line, " ON UPDATE {}", now_text(sql_type));
    }
    if column.auto_increment {
        line.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        line.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", quoted(column.comment.as_bytes()));
    }
    line
}

/// What stands behind DEFAULT, if anything does.
fn default_clause(column: &Column) -> Option<String> {
    match &column.default {
        ColumnDefault::None if column.generated.is_some() => None,
        ColumnDefault::None => {
            let says_null = column.nullable && !column.auto_increment && column.sql_type.base != BaseType::Text;
            says_null.then(|| "NULL".to_owned())
        }
        ColumnDefault::Value(Value::Null) => Some("NULL".to_owned()),
        ColumnDefault::Value(Value::Bit(bits, _)) => Some(format!("b'{bits:b}'")),
        ColumnDefault::Value(value) => Some(constant_text(value, &column.sql_type)),
        ColumnDefault::Now => Some(now_text(&column.sql_type)),
        ColumnDefault::Expression(text) => Some(format!("({text})")),
    }
}

fn constant_text(value: &Value, sql_type: &SqlType) -> String {
    let mut text = Vec::new();
    value.append_text_as(sql_type, &mut text);
    let text = in_utf8(&text, sql_type.collation);
    if std::str::from_utf8(&text).is_ok() {
        return quoted(&text);
    }
    let hex: String = text.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("x'{hex}'")
}

/// A text of a column's character set, for the statement's text.
fn in_utf8(text: &[u8], collation: Collation) -> Cow<'_, [u8]> {
    match collation.charset() {
        Charset::Binary => Cow::Borrowed(text),
        charset => Charset::convert(text, charset, Charset::Utf8mb4).bytes,
    }
}

pub fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&quote_string(text)).into_owned()
}

/// CURRENT_TIMESTAMP with the column's precision.
pub fn now_text(sql_type: &SqlType) -> String {
    match sql_type.decimals {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// A column's type as SHOW CREATE TABLE and COLUMN_TYPE have it, without its character set.
pub fn type_text(sql_type: &SqlType) -> String {
    use BaseType::*;
    let binary = sql_type.is_binary_string();
    let length = sql_type.length;
    let mut text = match sql_type.base {
        TinyInt if length == 1 && !sql_type.unsigned => "tinyint(1)".to_owned(),
        TinyInt => integer_text("tinyint", sql_type),
        SmallInt => integer_text("smallint", sql_type),
        MediumInt => integer_text("mediumint", sql_type),
        Int => integer_text("int", sql_type),
        BigInt => integer_text("bigint", sql_type),
        Float => float_text("float", sql_type),
        Double => float_text("double", sql_type),
        Decimal => format!("decimal({length},{})", sql_type.decimals),
        Bit => format!("bit({length})"),
        Year => return "year".to_owned(),
        Date => "date".to_owned(),
        Time => fsp_text("time", sql_type.decimals),
        DateTime => fsp_text("datetime", sql_type.decimals),
        Timestamp => fsp_text("timestamp", sql_type.decimals),
        Char => format!("{}({length})", if binary { "binary" } else { "char" }),
        VarChar => format!("{}({length})", if binary { "varbinary" } else { "varchar" }),
        Text => format!("{}{}", text_size(length), if binary { "blob" } else { "text" }),
        Enum => labels_text("enum", sql_type),
        Set => labels_text("set", sql_type),
        Json => "json".to_owned(),
        Geometry => "geometry".to_owned(),
        Null => "binary(0)".to_owned(),
    };
    if sql_type.is_numeric() && sql_type.base != Bit {
        if sql_type.unsigned {
            text.push_str(" unsigned");
        }
        if sql_type.zerofill {
            text.push_str(" zerofill");
        }
    }
    text
}

/// The display width shows only where zeros fill it.
fn integer_text(name: &str, sql_type: &SqlType) -> String {
    if sql_type.zerofill { format!("{name}({})", sql_type.length) } else { name.to_owned() }
}

fn float_text(name: &str, sql_type: &SqlType) -> String {
    match sql_type.decimals {
        DECIMALS_NOT_FIXED => name.to_owned(),
        decimals => format!("{name}({},{decimals})", sql_type.length),
    }
}

fn fsp_text(name: &str, fsp: u8) -> String {
    if fsp == 0 { name.to_owned() } else { format!("{name}({fsp})") }
}

fn text_size(length: u32) -> &'static str {
    match length {
        0..=0xFF => "tiny",
        0x100..=0xFFFF => "",
        0x1_0000..=0xFF_FFFF => "medium",
        _ => "long",
    }
}

fn labels_text(name: &str, sql_type: &SqlType) -> String {
    let labels = sql_type.labels.iter().flat_map(|labels| labels.iter());
    let labels: Vec<String> = labels.map(|label| quoted(&in_utf8(label, sql_type.collation))).collect();
    format!("{name}({})", labels.join(","))
}

fn index_line(schema: &TableSchema, index: &Index) -> String {
    let mut line = match (index.name.as_str(), index.unique) {
        (PRIMARY, _) => "PRIMARY KEY".to_owned(),
        (name, true) => format!("UNIQUE KEY {}", quote_identifier(name)),
        (name, false) => format!("KEY {}", quote_identifier(name)),
    };
    let parts: Vec<String> = index
        .columns
        .iter()
        .map(|part| {
            let column = &schema.columns[part.column];
            let name = match &column.generated {
                Some((text, _)) if column.hidden => format!("({text})"),
                _ => quote_identifier(&column.name),
            };
            let prefix = if part.prefix_length > 0 { format!("({})", part.prefix_length) } else { String::new() };
            format!("{name}{prefix}{}", if part.descending { " DESC" } else { "" })
        })
        .collect();
    let _ = write!(line, " ({})", parts.join(","));
    if index.method == IndexMethod::Hash {
        line.push_str(" USING HASH");
    }
    if !index.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", quoted(index.comment.as_bytes()));
    }
    if index.invisible {
        line.push_str(" /*!80000 INVISIBLE */");
    }
    line
}

fn check_line(check: &CheckConstraint) -> String {
    let unenforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){unenforced}", quote_identifier(&check.name), check.expression)
}

fn append_options(schema: &TableSchema, text: &mut String) {
    let options = &schema.options;
    let _ = write!(text, " ENGINE={}", options.engine);
    if options.auto_increment > 1 && schema.auto_increment_column().is_some() {
        let _ = write!(text, " AUTO_INCREMENT={}", options.auto_increment);
    }
    let _ = write!(text, " DEFAULT CHARSET={}", options.collation.charset().name());
    if names_collation(options.collation) {
        let _ = write!(text, " COLLATE={}", options.collation.name());
    }
    for name in KEPT_OPTIONS {
        if let Some((_, value)) = options.other.iter().find(|(known, _)| known == name) {
            let _ = write!(text, " {name}={value}");
        }
    }
    if !options.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", quoted(options.comment.as_bytes()));
    }
    if options.partitioned_by_key {
        let columns: Vec<Cow<'_, str>> =
            schema.partition_columns.iter().map(|&column| plain_or_quoted(&schema.columns[column].name)).collect();
        let _ = write!(text, "\n/*!50100 PARTITION BY KEY ({})", columns.join(","));
        if options.partitions > 0 {
            let _ = write!(text, "\nPARTITIONS {}", options.partitions);
        }
        text.push_str(" */");
    }
}

/// Names of partitioning columns are quoted only where they must be.
fn plain_or_quoted(name: &str) -> Cow<'_, str> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
        && !name.bytes().all(|byte| byte.is_ascii_digit())
        && !is_reserved(name.as_bytes());
    if plain { Cow::Borrowed(name) } else { Cow::Owned(quote_identifier(name)) }
}

/// A statement's text with quotes around those names alone that need them.
pub fn with_plain_names(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\'']) {
        plain.push_str(&rest[..at]);
        let (quoted, after) = rest[at..].split_at(quoted_length(&rest[at..]));
        match quoted.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            Some(name) => plain.push_str(&plain_or_quoted(&name.replace("``", "`"))),
            None => plain.push_str(quoted),
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// How long the name or string is that a text begins with.
fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        let escapes = byte == b'\\' && bytes[0] == b'\'';
        let doubles = byte == bytes[0] && bytes.get(at + 1) == Some(&byte);
        match escapes || doubles {
            true => at += 2,
            false if byte == bytes[0] => return at + 1,
            false => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::with_plain_names;

    #[test]
    fn names_lose_quotes_that_they_do_not_need_and_strings_keep_theirs() {
        for (text, plain) in [
            ("CREATE TABLE `t` (\n  `a b` int,\n  `key` int", "CREATE TABLE t (\n  `a b` int,\n  `key` int"),
            ("`x` char(9) DEFAULT 'it''s `x`', `y`", "x char(9) DEFAULT 'it''s `x`', y"),
            ("COMMENT='a\\'`b`' `c`", "COMMENT='a\\'`b`' c"),
            ("`a``b` `12` `n1`", "`a``b` `12` n1"),
            ("((lower(`name`))) `", "((lower(name))) `"),
        ] {
            assert_eq!(with_plain_names(text), plain);
        }
    }
}
