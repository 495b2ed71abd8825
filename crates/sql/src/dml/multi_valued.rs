//! What a multi-valued key part keeps of a row: the distinct elements of an array, as keys.

use shoal_expr::{EvalContext, Unfit, array_element};
use shoal_types::json::{JsonKind, JsonRef};
use shoal_types::key::KeyPart;
use shoal_types::row::fixed_width;
use shoal_types::{
    Column, Error, ErrorCode, Json, Result, SqlType, TableSchema, TimeZone, Value, WarningLevel, array_elements,
};

/// Bytes of all elements of a row, as in InnoDB: what lies on one page of its undo log.
const ELEMENT_BYTES_MAX: usize = 65_221;
/// The same for the number of elements, each with two bytes besides its own.
const ELEMENT_COUNT_BYTES_MAX: usize = 16_057;
const BYTES_PER_ELEMENT: usize = 2;

/// The column's value for what its expression yields. Errors: 1235, 3141, 3144, 3751, 3752, 3903 to 3908.
pub fn stored_elements(
    schema: &TableSchema,
    column: usize,
    element: &SqlType,
    value: Value,
    is_bytes: bool,
    row: u64,
    eval: &mut EvalContext<'_>,
) -> Result<Value> {
    let definition = &schema.columns[column];
    let place = Place { index: index_name(schema, column, definition), row };
    let json = match value {
        Value::Null => return Ok(Value::Null),
        Value::Json(json) => json,
        Value::Str(_) if is_bytes => {
            let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
            return Err(Error::new(ErrorCode::InvalidJsonCharset, message));
        }
        Value::Str(text) => parsed(&text)?,
        other => Json::from_tree(&shoal_types::json::JsonValue::from_value(&other)),
    };
    let root = json.root();
    let part = KeyPart {
        column,
        sql_type: element.clone(),
        nullable: false,
        prefix_length: 0,
        descending: false,
        multi_valued: true,
    };
    let mut keys = Vec::new();
    let mut add = |one: &JsonRef<'_>| {
        let (value, is_rounded) = array_element(one, element).map_err(|unfit| place.error(unfit))?;
        if is_rounded {
            eval.warnings.push(WarningLevel::Note, ErrorCode::DataTruncatedFunctionalIndex, || place.truncated());
        }
        let mut key = Vec::with_capacity(16);
        part.append_value(&value, &TimeZone::UTC, &mut key)?;
        keys.push(key);
        Ok::<(), Error>(())
    };
    match root.kind() {
        JsonKind::Array => root.elements().try_for_each(|one| add(&one))?,
        JsonKind::Object | JsonKind::Boolean => {
            return Err(Error::unsupported(format!("CAST-ing JSON {} type to array", root.type_name())));
        }
        _ => add(&root)?,
    }
    keys.sort_unstable();
    keys.dedup();
    place.check_limits(&keys, element)?;
    let bytes = array_elements::encode(keys).ok_or_else(|| place.error(Unfit::TooLong))?;
    Ok(Value::Str(bytes))
}

fn index_name<'s>(schema: &'s TableSchema, column: usize, definition: &'s Column) -> &'s str {
    schema.index_of_functional(column).map_or(&definition.name, |index| &index.name)
}

fn parsed(text: &[u8]) -> Result<Json> {
    Json::parse(text).map_err(|error| {
        let message = format!(
            "Invalid JSON text in argument 1 to function cast_as_array: \"{}\" at position {}.",
            error.message, error.position
        );
        Error::new(ErrorCode::InvalidJsonTextInParam, message)
    })
}

/// What messages name.
struct Place<'s> {
    index: &'s str,
    row: u64,
}

impl Place<'_> {
    fn truncated(&self) -> String {
        format!("Data truncated for functional index '{}' at row {}", self.index, self.row)
    }

    fn error(&self, unfit: Unfit) -> Error {
        let Place { index, row } = self;
        let (code, message) = match unfit {
            Unfit::Invalid => (
                ErrorCode::InvalidJsonValueForFuncIndex,
                format!("Invalid JSON value for CAST for functional index '{index}'."),
            ),
            Unfit::NotScalar => (
                ErrorCode::WrongMviValue,
                format!("Cannot store an array or an object in a scalar key part of the index '{index}'."),
            ),
            Unfit::OutOfRange => (
                ErrorCode::DataOutOfRangeFunctionalIndex,
                format!("Value is out of range for functional index '{index}' at row {row}"),
            ),
            Unfit::FarOutOfRange => (
                ErrorCode::JsonValueOutOfRangeForFuncIndex,
                format!("Out of range JSON value for CAST for functional index '{index}'."),
            ),
            Unfit::TooLong => {
                (ErrorCode::FunctionalIndexDataIsTooLong, format!("Data too long for functional index '{index}'."))
            }
            Unfit::Truncated => (ErrorCode::DataTruncatedFunctionalIndex, self.truncated()),
        };
        Error::new(code, message)
    }

    /// Errors: 3905, 3906.
    fn check_limits(&self, keys: &[Vec<u8>], element: &SqlType) -> Result<()> {
        let least = fixed_width(element).unwrap_or(1);
        let count_max = ELEMENT_COUNT_BYTES_MAX / (least + BYTES_PER_ELEMENT);
        if keys.len() > count_max {
            let message = format!(
                "Exceeded max number of values per record for multi-valued index '{}' by {} value(s).",
                self.index,
                keys.len() - count_max
            );
            return Err(Error::new(ErrorCode::ExceededMvKeysNum, message));
        }
        let bytes: usize = keys.iter().map(Vec::len).sum();
        if bytes > ELEMENT_BYTES_MAX {
            let message = format!(
                "Exceeded max total length of values per record for multi-valued index '{}' by {} bytes.",
                self.index,
                bytes - ELEMENT_BYTES_MAX
            );
            return Err(Error::new(ErrorCode::ExceededMvKeysSpace, message));
        }
        Ok(())
    }
}
