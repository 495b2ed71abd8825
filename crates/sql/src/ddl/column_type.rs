//! Data types as written, as types of columns and as targets of CAST: defaults, ranges, character sets.

use std::collections::HashSet;
use std::sync::Arc;

use shoal_parser::ast::{CharsetChoice, DataType, DataTypeKind};
use shoal_types::sql_type::DECIMALS_NOT_FIXED;
use shoal_types::{BaseType, Charset, Collation, Error, ErrorCode, Result, SqlType, Warning, WarningLevel};

use super::errors;

/// Digits of a number's display width.
const DISPLAY_WIDTH_MAX: u64 = 255;
const DECIMAL_PRECISION_MAX: u64 = 65;
const SCALE_MAX: u64 = 30;
const FSP_MAX: u64 = 6;
const CHAR_LENGTH_MAX: u64 = 255;
/// Bytes of a VARCHAR or VARBINARY.
const VARCHAR_BYTES_MAX: u64 = 65_535;
const TINY_TEXT_BYTES: u64 = 255;
const TEXT_BYTES: u64 = 65_535;
const MEDIUM_TEXT_BYTES: u64 = (1 << 24) - 1;
const LONG_TEXT_BYTES: u64 = u32::MAX as u64;
const ENUM_LABELS_MAX: usize = 65_535;
const SET_LABELS_MAX: usize = 64;
/// Characters of one ENUM or SET label.
const LABEL_LENGTH_MAX: usize = 255;
/// Precision up to which FLOAT(p) is a FLOAT.
const FLOAT_PRECISION_MAX: u64 = 24;
const DOUBLE_PRECISION_MAX: u64 = 53;

/// What the meaning of a column's type depends on.
pub struct TypeContext<'a> {
    pub column: &'a str,
    /// The table's default.
    pub table: Collation,
    pub strict: bool,
}

/// The target of CAST and CONVERT, in the form that `shoal_expr::build::cast` wants: a length of `u32::MAX` for text whose
/// length was not given.
pub fn cast_type(data_type: &DataType, connection: Collation) -> Result<SqlType> {
    use DataTypeKind::*;
    let small = |value: Option<u64>| u32::try_from(value.unwrap_or(0)).unwrap_or(u32::MAX);
    let digits = |value: Option<u64>| u8::try_from(value.unwrap_or(0)).unwrap_or(u8::MAX);
    let base = match data_type.kind {
        TinyInt | SmallInt | MediumInt | Int | BigInt => {
            return Ok(SqlType { unsigned: data_type.unsigned, ..SqlType::bigint(data_type.unsigned) });
        }
        Decimal => {
            return Ok(SqlType::decimal(small(data_type.length), digits(data_type.scale)));
        }
        Char | VarChar => {
            let collation = match charset_of(data_type, connection)? {
                Some(collation) => collation,
                None if data_type.binary_collation => connection.charset().bin_collation(),
                None => connection,
            };
            return Ok(text_target(data_type.length, collation));
        }
        Binary | VarBinary => return Ok(text_target(data_type.length, Collation::BINARY)),
        Float => match data_type.length {
            Some(precision) if precision > DOUBLE_PRECISION_MAX => {
                return Err(too_big_precision(precision, "CAST", DOUBLE_PRECISION_MAX));
            }
            Some(precision) if precision > FLOAT_PRECISION_MAX => BaseType::Double,
            _ => BaseType::Float,
        },
        Double => BaseType::Double,
        Date => BaseType::Date,
        Time => BaseType::Time,
        DateTime | Timestamp => BaseType::DateTime,
        Year => BaseType::Year,
        Json => BaseType::Json,
        Geometry | Point | LineString | Polygon | MultiPoint | MultiLineString | MultiPolygon
        | GeometryCollection => return Err(Error::unsupported("spatial types")),
        Bit | TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Enum | Set
        | Serial => return Err(errors::syntax(data_type.kind.keyword())),
    };
    let decimals = match base {
        BaseType::Float | BaseType::Double => DECIMALS_NOT_FIXED,
        BaseType::Time | BaseType::DateTime => digits(data_type.length),
        _ => 0,
    };
    Ok(SqlType { decimals, unsigned: base == BaseType::Year, ..SqlType::new(base) })
}

fn text_target(length: Option<u64>, collation: Collation) -> SqlType {
    let length = length.map_or(u32::MAX, |length| u32::try_from(length).unwrap_or(u32::MAX - 1));
    SqlType { length, collation, ..SqlType::new(BaseType::Char) }
}

/// The type of a column. Deprecated notations and silent changes are added to `notes`.
pub fn column_type(data_type: &DataType, context: &TypeContext<'_>, notes: &mut Vec<Warning>) -> Result<SqlType> {
    use DataTypeKind::*;
    note_deprecated(data_type, notes);
    match data_type.kind {
        TinyInt => integer(data_type, BaseType::TinyInt, context, (4, 3), notes),
        SmallInt => integer(data_type, BaseType::SmallInt, context, (6, 5), notes),
        MediumInt => integer(data_type, BaseType::MediumInt, context, (9, 8), notes),
        Int => integer(data_type, BaseType::Int, context, (11, 10), notes),
        BigInt => integer(data_type, BaseType::BigInt, context, (20, 20), notes),
        Serial => Ok(SqlType { length: 20, ..SqlType::bigint(true) }),
        Bit => bit(data_type, context),
        Decimal => decimal(data_type, context),
        Float | Double => floating(data_type, context),
        Date => Ok(SqlType { length: 10, ..SqlType::new(BaseType::Date) }),
        Time => temporal(data_type, BaseType::Time, 10, context),
        DateTime => temporal(data_type, BaseType::DateTime, 19, context),
        Timestamp => temporal(data_type, BaseType::Timestamp, 19, context),
        Year => match data_type.length {
            None | Some(4) => Ok(SqlType { length: 4, unsigned: true, ..SqlType::new(BaseType::Year) }),
            Some(_) => {
                Err(Error::new(ErrorCode::InvalidYearColumnLength, "Supports only YEAR or YEAR(4) column."))
            }
        },
        Char | VarChar | Binary | VarBinary => character(data_type, context, notes),
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob => {
            text(data_type, context)
        }
        Enum | Set => labelled(data_type, context, notes),
        Json => Ok(SqlType { length: u32::MAX, ..SqlType::new(BaseType::Json) }),
        Geometry | Point | LineString | Polygon | MultiPoint | MultiLineString | MultiPolygon
        | GeometryCollection => Err(Error::unsupported("spatial types")),
    }
}

/// The character set and collation that a type names; `None`: nothing is said. `default` is what DEFAULT means.
fn charset_of(data_type: &DataType, default: Collation) -> Result<Option<Collation>> {
    let charset = match &data_type.charset {
        None => None,
        Some(CharsetChoice::Named(name)) => Some(Charset::resolve(name)?),
        Some(CharsetChoice::National) => Some(Charset::Utf8mb3),
        Some(CharsetChoice::Default) => Some(default.charset()),
    };
    let collation = data_type.collation.as_deref().map(Collation::resolve).transpose()?;
    Ok(match (charset, collation) {
        (Some(charset), Some(collation)) => {
            collation.check_charset(charset)?;
            Some(collation)
        }
        (Some(charset), None) if data_type.binary_collation => Some(charset.bin_collation()),
        (Some(charset), None)
            if data_type.charset == Some(CharsetChoice::Default) && charset == default.charset() =>
        {
            Some(default)
        }
        (Some(charset), None) => Some(charset.default_collation()),
        (None, collation) => collation,
    })
}

fn collation_of(data_type: &DataType, table: Collation) -> Result<Collation> {
    Ok(match charset_of(data_type, table)? {
        Some(collation) => collation,
        None if data_type.binary_collation => table.charset().bin_collation(),
        None => table,
    })
}

fn integer(
    data_type: &DataType,
    base: BaseType,
    context: &TypeContext<'_>,
    (signed, unsigned): (u32, u32),
    notes: &mut Vec<Warning>,
) -> Result<SqlType> {
    let width = match data_type.length {
        None if data_type.unsigned => unsigned,
        None => signed,
        Some(width) => {
            check_width(width, DISPLAY_WIDTH_MAX, context)?;
            if !(base == BaseType::TinyInt && width == 1) {
                let message = "Integer display width is deprecated and will be removed in a future release.";
                note(notes, ErrorCode::WarnDeprecatedSyntaxNoReplacement, message);
            }
            width as u32
        }
    };
    Ok(SqlType { unsigned: data_type.unsigned, zerofill: data_type.zerofill, length: width, ..SqlType::new(base) })
}

fn bit(data_type: &DataType, context: &TypeContext<'_>) -> Result<SqlType> {
    let length = data_type.length.unwrap_or(1);
    check_width(length, 64, context)?;
    if length == 0 {
        return Err(Error::new(
            ErrorCode::InvalidFieldSize,
            format!("Invalid size for column '{}'.", context.column),
        ));
    }
    Ok(SqlType { length: length as u32, unsigned: true, ..SqlType::new(BaseType::Bit) })
}

fn decimal(data_type: &DataType, context: &TypeContext<'_>) -> Result<SqlType> {
    let scale = data_type.scale.unwrap_or(0);
    let precision = match data_type.length {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    if scale > SCALE_MAX {
        return Err(too_big_scale(scale, context.column));
    }
    if precision > DECIMAL_PRECISION_MAX {
        return Err(too_big_precision(precision, context.column, DECIMAL_PRECISION_MAX));
    }
    check_scale(precision, scale, context.column)?;
    Ok(SqlType {
        unsigned: data_type.unsigned,
        zerofill: data_type.zerofill,
        ..SqlType::decimal(precision as u32, scale as u8)
    })
}

fn floating(data_type: &DataType, context: &TypeContext<'_>) -> Result<SqlType> {
    let mut base = if data_type.kind == DataTypeKind::Float { BaseType::Float } else { BaseType::Double };
    let (length, decimals) = match (data_type.length, data_type.scale) {
        (Some(width), Some(scale)) => {
            if scale > SCALE_MAX {
                return Err(too_big_scale(scale, context.column));
            }
            check_width(width, DISPLAY_WIDTH_MAX, context)?;
            check_scale(width, scale, context.column)?;
            (width as u32, scale as u8)
        }
        (Some(precision), None) => {
            if base == BaseType::Double || precision > DOUBLE_PRECISION_MAX {
                return Err(errors::wrong_specifier(context.column));
            }
            if precision > FLOAT_PRECISION_MAX {
                base = BaseType::Double;
            }
            (float_width(base), DECIMALS_NOT_FIXED)
        }
        (None, _) => (float_width(base), DECIMALS_NOT_FIXED),
    };
    Ok(SqlType {
        unsigned: data_type.unsigned,
        zerofill: data_type.zerofill,
        length,
        decimals,
        ..SqlType::new(base)
    })
}

fn float_width(base: BaseType) -> u32 {
    if base == BaseType::Float { 12 } else { 22 }
}

fn temporal(data_type: &DataType, base: BaseType, length: u32, context: &TypeContext<'_>) -> Result<SqlType> {
    let fsp = data_type.length.unwrap_or(0);
    if fsp > FSP_MAX {
        return Err(too_big_precision(fsp, context.column, FSP_MAX));
    }
    let length = if fsp == 0 { length } else { length + 1 + fsp as u32 };
    Ok(SqlType { decimals: fsp as u8, length, ..SqlType::new(base) })
}

fn character(data_type: &DataType, context: &TypeContext<'_>, notes: &mut Vec<Warning>) -> Result<SqlType> {
    let varying = matches!(data_type.kind, DataTypeKind::VarChar | DataTypeKind::VarBinary);
    let binary = matches!(data_type.kind, DataTypeKind::Binary | DataTypeKind::VarBinary);
    let collation = if binary { Collation::BINARY } else { collation_of(data_type, context.table)? };
    let char_bytes = collation.charset().char_bytes_max() as u64;
    let length = match data_type.length {
        Some(length) => length,
        None if varying => return Err(errors::syntax("")),
        None => 1,
    };
    let limit = if varying { VARCHAR_BYTES_MAX / char_bytes } else { CHAR_LENGTH_MAX };
    if length > limit {
        if context.strict || !varying {
            let message = format!(
                "Column length too big for column '{}' (max = {limit}); use BLOB or TEXT instead",
                context.column
            );
            return Err(Error::new(ErrorCode::TooBigFieldLength, message));
        }
        let (from, to) = if binary { ("VARBINARY", "BLOB") } else { ("VARCHAR", "TEXT") };
        let message = format!("Converting column '{}' from {from} to {to}", context.column);
        note_level(notes, WarningLevel::Note, ErrorCode::AutoConvert, message);
        return text_of_bytes(length.saturating_mul(char_bytes), collation, context);
    }
    let base = if varying { BaseType::VarChar } else { BaseType::Char };
    Ok(SqlType { length: length as u32, collation, ..SqlType::new(base) })
}

fn text(data_type: &DataType, context: &TypeContext<'_>) -> Result<SqlType> {
    use DataTypeKind::*;
    let binary = matches!(data_type.kind, TinyBlob | Blob | MediumBlob | LongBlob);
    let collation = if binary { Collation::BINARY } else { collation_of(data_type, context.table)? };
    let bytes = match (data_type.kind, data_type.length) {
        (TinyText | TinyBlob, _) => TINY_TEXT_BYTES,
        (MediumText | MediumBlob, _) => MEDIUM_TEXT_BYTES,
        (LongText | LongBlob, _) => LONG_TEXT_BYTES,
        (_, None | Some(0)) => TEXT_BYTES,
        (_, Some(length)) => length.saturating_mul(collation.charset().char_bytes_max() as u64),
    };
    text_of_bytes(bytes, collation, context)
}

/// The smallest TEXT or BLOB for this many bytes.
fn text_of_bytes(bytes: u64, collation: Collation, context: &TypeContext<'_>) -> Result<SqlType> {
    let sizes = [TINY_TEXT_BYTES, TEXT_BYTES, MEDIUM_TEXT_BYTES, LONG_TEXT_BYTES];
    match sizes.into_iter().find(|&size| bytes <= size) {
        Some(size) => Ok(SqlType { length: size as u32, collation, ..SqlType::new(BaseType::Text) }),
        None => Err(too_wide(context, LONG_TEXT_BYTES)),
    }
}

fn labelled(data_type: &DataType, context: &TypeContext<'_>, notes: &mut Vec<Warning>) -> Result<SqlType> {
    let is_set = data_type.kind == DataTypeKind::Set;
    let collation = collation_of(data_type, context.table)?;
    if is_set && data_type.labels.len() > SET_LABELS_MAX {
        let message = format!("Too many strings for column {} and SET", context.column);
        return Err(Error::new(ErrorCode::TooBigSet, message));
    }
    if data_type.labels.len() > ENUM_LABELS_MAX {
        return Err(Error::new(
            ErrorCode::TooBigEnum,
            format!("Too many enumeration values for column {}.", context.column),
        ));
    }
    let mut labels: Vec<Box<[u8]>> = Vec::with_capacity(data_type.labels.len());
    let mut seen = HashSet::new();
    for label in &data_type.labels {
        let label = convert_label(label, collation, is_set, context)?;
        let mut sort_key = Vec::new();
        collation.append_sort_key(&label, None, &mut sort_key);
        if !seen.insert(sort_key) {
            let kind = if is_set { "SET" } else { "ENUM" };
            let shown = String::from_utf8_lossy(&label);
            let message = format!("Column '{}' has duplicated value '{shown}' in {kind}", context.column);
            if context.strict {
                return Err(Error::new(ErrorCode::DuplicatedValueInType, message));
            }
            note_level(notes, WarningLevel::Note, ErrorCode::DuplicatedValueInType, message);
        }
        labels.push(label);
    }
    let characters = labels.iter().map(|label| collation.charset().char_count(label) as u32);
    let length = match is_set {
        true => (characters.sum::<u32>() + labels.len() as u32).saturating_sub(1),
        false => characters.max().unwrap_or(0),
    };
    let base = if is_set { BaseType::Set } else { BaseType::Enum };
    let labels: Arc<[Box<[u8]>]> = labels.into();
    Ok(SqlType { length, collation, labels: Some(labels), ..SqlType::new(base) })
}

/// A label in the column's character set, without trailing spaces.
fn convert_label(
    label: &[u8],
    collation: Collation,
    is_set: bool,
    context: &TypeContext<'_>,
) -> Result<Box<[u8]>> {
    let converted = Charset::convert(label, Charset::Utf8mb4, collation.charset());
    if !converted.is_exact() {
        let message =
            format!("Invalid {} character string in column '{}'", collation.charset().name(), context.column);
        return Err(Error::new(ErrorCode::InvalidCharacterString, message));
    }
    let mut bytes = converted.bytes.into_owned();
    while !collation.is_binary() && bytes.last() == Some(&b' ') {
        bytes.pop();
    }
    if is_set && bytes.contains(&b',') {
        let message = format!("Illegal set '{}' value found during parsing", String::from_utf8_lossy(&bytes));
        return Err(Error::new(ErrorCode::IllegalValueForType, message));
    }
    if collation.charset().char_count(&bytes) > LABEL_LENGTH_MAX {
        return Err(Error::new(
            ErrorCode::TooLongSetEnumValue,
            format!("Too long enumeration/set value for column {}.", context.column),
        ));
    }
    Ok(bytes.into_boxed_slice())
}

fn check_width(width: u64, limit: u64, context: &TypeContext<'_>) -> Result<()> {
    if width > limit { Err(too_wide(context, limit)) } else { Ok(()) }
}

fn too_wide(context: &TypeContext<'_>, limit: u64) -> Error {
    Error::new(
        ErrorCode::TooBigDisplaywidth,
        format!("Display width out of range for column '{}' (max = {limit})", context.column),
    )
}

fn too_big_precision(precision: u64, column: &str, limit: u64) -> Error {
    Error::new(
        ErrorCode::TooBigPrecision,
        format!("Too-big precision {precision} specified for '{column}'. Maximum is {limit}."),
    )
}

fn too_big_scale(scale: u64, column: &str) -> Error {
    Error::new(
        ErrorCode::TooBigScale,
        format!("Too big scale {scale} specified for column '{column}'. Maximum is {SCALE_MAX}."),
    )
}

fn check_scale(precision: u64, scale: u64, column: &str) -> Result<()> {
    if scale <= precision {
        return Ok(());
    }
    let message = format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').");
    Err(Error::new(ErrorCode::MBiggerThanD, message))
}

fn note_deprecated(data_type: &DataType, notes: &mut Vec<Warning>) {
    use DataTypeKind::*;
    let no_replacement = ErrorCode::WarnDeprecatedSyntaxNoReplacement;
    let floating = matches!(data_type.kind, Float | Double);
    if data_type.zerofill {
        let message = "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD \
                       function to zero-pad numbers, or store the formatted numbers in a CHAR column.";
        note(notes, no_replacement, message);
    }
    if data_type.unsigned && (floating || data_type.kind == Decimal) {
        let message = "UNSIGNED for decimal and floating point data types is deprecated and support for it will be \
                       removed in a future release.";
        note(notes, no_replacement, message);
    }
    if floating && data_type.scale.is_some() {
        let message = "Specifying number of digits for floating point data types is deprecated and will be removed in a \
                       future release.";
        note(notes, no_replacement, message);
    }
    if data_type.kind == Year && data_type.length == Some(4) {
        let message = "'YEAR(4)' is deprecated and will be removed in a future release. Please use YEAR instead";
        note(notes, ErrorCode::WarnDeprecatedSyntax, message);
    }
    if data_type.binary_collation {
        let message = "'BINARY as attribute of a type' is deprecated and will be removed in a future release. Please use \
                       a CHARACTER SET clause with _bin collation instead";
        note(notes, ErrorCode::WarnDeprecatedSyntax, message);
    }
}

fn note(notes: &mut Vec<Warning>, code: ErrorCode, message: &str) {
    note_level(notes, WarningLevel::Warning, code, message.to_owned());
}

fn note_level(notes: &mut Vec<Warning>, level: WarningLevel, code: ErrorCode, message: String) {
    notes.push(Warning { level, code, message });
}
