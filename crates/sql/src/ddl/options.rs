//! Options of tables and databases: character sets, engines, AUTO_INCREMENT, and those that are only kept.

use shoal_parser::ast::{CharsetChoice, DatabaseOptions, OptionValue, StorageMedium, TableOption};
use shoal_parser::quote_string;
use shoal_types::schema::TableOptions;
use shoal_types::{Charset, Collation, Error, ErrorCode, Result, Warning, WarningLevel};

use super::draft::DraftContext;
use super::engine;

/// Characters of a table's comment.
const TABLE_COMMENT_MAX: usize = 2048;

/// Options that are kept and shown, in the order of SHOW CREATE TABLE.
pub const KEPT_OPTIONS: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
    "COMPRESSION",
];

/// The options of a table of which nothing is said.
pub fn default_options(context: &DraftContext) -> TableOptions {
    TableOptions {
        created_at_s: context.now_s,
        ..TableOptions::new(context.default_engine.clone(), context.database_collation)
    }
}

/// Applies written options. Errors: 1286, 1115, 1273, 1253, 1628; 1235 for options whose promise cannot be kept.
pub fn apply(
    written: &[TableOption],
    table: &str,
    options: &mut TableOptions,
    context: &DraftContext,
    notes: &mut Vec<Warning>,
) -> Result<()> {
    let mut charset: Option<Charset> = None;
    let mut collation: Option<Collation> = None;
    for option in written {
        match option {
            TableOption::Engine(name) => {
                options.engine = engine::choose(name, table, context.substitute_engine, notes)?.to_owned();
            }
            TableOption::AutoIncrement(value) => options.auto_increment = (*value).max(1),
            TableOption::Charset(name) if name == "default" => {
                charset = Some(context.database_collation.charset())
            }
            TableOption::Charset(name) => charset = Some(charset_by_name(name, notes)?),
            TableOption::Collate(name) => collation = Some(Collation::resolve(name)?),
            TableOption::Comment(text) => {
                options.comment = comment(text, TABLE_COMMENT_MAX, ErrorCode::TooLongTableComment, table)?
            }
            other => keep(other, options, notes)?,
        }
    }
    options.collation = combine(charset, collation, options.collation)?;
    Ok(())
}

/// The default collation that a character set and a collation clause mean together.
fn combine(charset: Option<Charset>, collation: Option<Collation>, present: Collation) -> Result<Collation> {
    Ok(match (charset, collation) {
        (Some(charset), Some(collation)) => {
            collation.check_charset(charset)?;
            collation
        }
        (Some(charset), None) => charset.default_collation(),
        (None, Some(collation)) => collation,
        (None, None) => present,
    })
}

/// A character set by name; its old names are accepted with a warning.
fn charset_by_name(name: &str, notes: &mut Vec<Warning>) -> Result<Charset> {
    let charset = Charset::resolve(name)?;
    let message = match name.to_ascii_lowercase().as_str() {
        "utf8" => {
            "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future \
             release. Please consider using UTF8MB4 in order to be unambiguous."
        }
        "utf8mb3" => "'utf8mb3' is deprecated and will be removed in a future release. Please use utf8mb4 instead",
        _ => return Ok(charset),
    };
    let code =
        if name.len() == 4 { ErrorCode::UnsupportedCollationForUtf8 } else { ErrorCode::WarnDeprecatedSyntax };
    notes.push(Warning { level: WarningLevel::Warning, code, message: message.to_owned() });
    Ok(charset)
}

/// A comment as text. `code`: what a comment that is too long is refused with.
pub fn comment(text: &[u8], limit: usize, code: ErrorCode, name: &str) -> Result<String> {
    let comment = String::from_utf8_lossy(text).into_owned();
    if comment.chars().count() > limit {
        let what = match code {
            ErrorCode::TooLongTableComment => "table",
            ErrorCode::TooLongFieldComment => "field",
            _ => "index",
        };
        return Err(Error::new(code, format!("Comment for {what} '{name}' is too long (max = {limit})")));
    }
    Ok(comment)
}

/// Options that have no effect are kept to be shown; what would be a broken promise is refused.
fn keep(option: &TableOption, options: &mut TableOptions, notes: &mut Vec<Warning>) -> Result<()> {
    let number = |value: &u64| if *value == 0 { String::new() } else { value.to_string() };
    let (name, value) = match option {
        TableOption::MaxRows(rows) => ("MAX_ROWS", number(rows)),
        TableOption::MinRows(rows) => ("MIN_ROWS", number(rows)),
        TableOption::AverageRowLength(bytes) => ("AVG_ROW_LENGTH", number(bytes)),
        TableOption::KeyBlockSize(size) => ("KEY_BLOCK_SIZE", number(size)),
        TableOption::RowFormat(format) if format.eq_ignore_ascii_case("DEFAULT") => ("ROW_FORMAT", String::new()),
        TableOption::RowFormat(format) => ("ROW_FORMAT", format.to_ascii_uppercase()),
        TableOption::SecondaryEngine(None)
        | TableOption::Storage(StorageMedium::Default | StorageMedium::Memory) => {
            return Ok(());
        }
        TableOption::SecondaryEngine(Some(_)) => return Err(Error::unsupported("SECONDARY_ENGINE")),
        TableOption::Storage(StorageMedium::Disk) => return Err(Error::unsupported("STORAGE DISK")),
        // Where InnoDB's files are is of no consequence here.
        TableOption::Tablespace(name) if name.value.to_ascii_lowercase().starts_with("innodb_") => return Ok(()),
        TableOption::Tablespace(_) => return Err(Error::unsupported("TABLESPACE")),
        TableOption::Union(tables) if tables.is_empty() => return Ok(()),
        TableOption::Union(_) => return Err(Error::unsupported("MERGE tables")),
        TableOption::StartTransaction => return Err(Error::unsupported("START TRANSACTION in CREATE TABLE")),
        TableOption::Other { name, value } => return keep_other(name, value, options, notes),
        _ => return Ok(()),
    };
    put(options, name, value);
    Ok(())
}

fn keep_other(
    name: &str,
    value: &OptionValue,
    options: &mut TableOptions,
    notes: &mut Vec<Warning>,
) -> Result<()> {
    let text = match value {
        OptionValue::Integer(number) => number.to_string(),
        OptionValue::Decimal(text) => text.clone(),
        OptionValue::Word(word) => word.to_ascii_uppercase(),
        OptionValue::Text(text) => String::from_utf8_lossy(&quote_string(text)).into_owned(),
    };
    match name {
        "ENCRYPTION" if !matches!(text.as_str(), "'N'" | "'n'") => Err(Error::unsupported("table encryption")),
        "CONNECTION" => Err(Error::unsupported("CONNECTION")),
        "DATA DIRECTORY" | "INDEX DIRECTORY" => {
            let message = format!("<{name}> option ignored");
            notes.push(Warning { level: WarningLevel::Warning, code: ErrorCode::OptionIgnored, message });
            Ok(())
        }
        _ => {
            let name = if name == "TABLE_CHECKSUM" { "CHECKSUM" } else { name };
            if KEPT_OPTIONS.contains(&name) {
                put(options, name, if text == "DEFAULT" { String::new() } else { text });
            }
            Ok(())
        }
    }
}

/// An empty value takes the option away.
fn put(options: &mut TableOptions, name: &str, value: String) {
    options.other.retain(|(known, _)| known != name);
    if !value.is_empty() {
        options.other.push((name.to_owned(), value));
    }
}

/// The collation of a database's definition; `present` is what it is if nothing is said. Errors: 1115, 1273, 1253.
pub fn database_collation(
    written: &DatabaseOptions,
    present: Collation,
    server: Collation,
    notes: &mut Vec<Warning>,
) -> Result<Collation> {
    if written.encryption.as_ref().is_some_and(|text| !text.eq_ignore_ascii_case(b"N")) {
        return Err(Error::unsupported("database encryption"));
    }
    if written.read_only == Some(true) {
        return Err(Error::unsupported("READ ONLY databases"));
    }
    let charset = match &written.charset {
        None => None,
        Some(CharsetChoice::Named(name)) => Some(charset_by_name(name, notes)?),
        Some(CharsetChoice::National) => Some(Charset::Utf8mb3),
        Some(CharsetChoice::Default) => Some(server.charset()),
    };
    let collation = written.collation.as_deref().map(Collation::resolve).transpose()?;
    combine(charset, collation, present)
}
