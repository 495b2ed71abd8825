//! The rows of a JSON_TABLE.

use std::borrow::Cow;

use shoal_expr::{EvalContext, parse_json};
use shoal_types::json::{JsonItem, JsonRef, JsonValue};
use shoal_types::{
    BaseType, Collation, Error, ErrorCode, Json, Result, SqlType, StoreOptions, StoreTarget, TemporalContext,
    Value, WarningLevel, store_value,
};

use super::{ExecContext, Flow, RowConsumer};
use crate::plan::JsonTable;
use crate::plan::json_table::{JsonColumn, JsonResponse, JsonRows};

/// Steps through a document between two looks at the interrupt.
const STEPS_PER_CHECK: usize = 4096;

/// Makes the rows of a table for an outer row.
///
/// # Errors
/// 3141, 3144, 3146, 3157: it is no document; 3156, 3665, 3666, 3669: what is in it does not fit and ON ERROR says so.
pub async fn json_rows(
    table: &JsonTable,
    outer: &[Value],
    consumer: &mut dyn RowConsumer,
    ctx: &mut ExecContext<'_>,
) -> Result<()> {
    let value = table.document.eval(outer, &mut ctx.eval)?;
    let document = match &value {
        Value::Null => return Ok(()),
        Value::Json(document) => Cow::Borrowed(document),
        Value::Str(text) if table.document.sql_type().is_binary_string() && !text.is_empty() => {
            let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
            return Err(Error::new(ErrorCode::InvalidJsonCharset, message));
        }
        Value::Str(text) => Cow::Owned(parse_json(text, 1, "json_table")?),
        _ => return Err(no_document()),
    };
    let mut rows = RowsOfDocument {
        row: vec![Value::Null; table.width],
        options: store_options(&ctx.eval),
        consumer,
        made: 0,
        levels: vec![Level::new(&table.rows, document.root())],
    };
    let mut steps = 0usize;
    while rows.step()? == Flow::Continue {
        steps += 1;
        if steps.is_multiple_of(STEPS_PER_CHECK) {
            ctx.check_between_batches().await?;
        }
    }
    Ok(())
}

fn no_document() -> Error {
    let message = "Invalid data type for JSON data in argument 1 to function json_table; a JSON string or JSON type is \
                   required.";
    Error::new(ErrorCode::InvalidTypeForJson, message)
}

/// The walk through a document. Paths within paths can make many rows of a small one, so it goes in steps, with a stack of its own.
struct RowsOfDocument<'d, 'a> {
    row: Vec<Value>,
    options: StoreOptions,
    consumer: &'a mut dyn RowConsumer,
    made: usize,
    /// The levels around the present part, outermost first.
    levels: Vec<Level<'d>>,
}

/// What a level's path has found, and where the walk is in it.
struct Level<'d> {
    rows: &'d JsonRows,
    parts: Vec<JsonRef<'d>>,
    next: usize,
    /// How many of its nested levels the present part has been through; `None`: there is no present part.
    nested: Option<usize>,
    /// Rows that there were before it.
    made_before: usize,
}

impl<'d> Level<'d> {
    fn new(rows: &'d JsonRows, part: JsonRef<'d>) -> Level<'d> {
        Level { rows, parts: part.find(&rows.path), next: 0, nested: None, made_before: 0 }
    }
}

impl RowsOfDocument<'_, '_> {
    /// Takes the next part of the innermost level, or goes into a level within it, or makes the row of a part that has none.
    fn step(&mut self) -> Result<Flow> {
        let made = self.made;
        let Some(level) = self.levels.last_mut() else { return Ok(Flow::Stop) };
        let rows = level.rows;
        let Some(nested) = level.nested else {
            let Some(&part) = level.parts.get(level.next) else {
                self.levels.pop();
                return Ok(Flow::Continue);
            };
            level.next += 1;
            (level.nested, level.made_before) = (Some(0), made);
            let number = level.next as u64;
            for &position in &rows.ordinals {
                self.row[position] = Value::UInt(number);
            }
            for column in &rows.columns {
                self.row[column.position] = column_value(column, part, &self.options)?;
            }
            return Ok(Flow::Continue);
        };
        if let Some(within) = rows.nested.get(nested) {
            level.nested = Some(nested + 1);
            let inner = Level::new(within, level.parts[level.next - 1]);
            self.levels.push(inner);
            if let Some(done) = nested.checked_sub(1) {
                self.forget(&rows.nested[done]);
            }
            return Ok(Flow::Continue);
        }
        level.nested = None;
        let is_single = level.made_before == made;
        if let Some(done) = rows.nested.last() {
            self.forget(done);
        }
        if !is_single {
            return Ok(Flow::Continue);
        }
        self.made += 1;
        self.consumer.push(&self.row)
    }

    /// Columns of a level are NULL in rows of its siblings.
    fn forget(&mut self, level: &JsonRows) {
        let columns = level.columns.iter().map(|column| column.position);
        for position in columns.chain(level.ordinals.iter().copied()) {
            self.row[position] = Value::Null;
        }
        level.nested.iter().for_each(|nested| self.forget(nested));
    }
}

/// How values of JSON become values of columns: what does not fit is an error, which ON ERROR deals with.
pub fn store_options(eval: &EvalContext<'_>) -> StoreOptions {
    let rules = shoal_types::DateRules {
        no_zero_date: false,
        no_zero_in_date: false,
        allow_invalid_dates: eval.settings.sql_mode.allow_invalid_dates,
    };
    let temporal = TemporalContext { rules, zone: eval.zone.clone(), today: eval.now(0).date() };
    StoreOptions { strict: true, ignore: false, temporal }
}

/// The same where no session is known: for defaults.
pub fn json_default_options() -> StoreOptions {
    StoreOptions { strict: true, ..StoreOptions::default() }
}

fn column_value(column: &JsonColumn, part: JsonRef<'_>, options: &StoreOptions) -> Result<Value> {
    if column.exists {
        let exists = Value::from(part.find_first(&column.path).is_some());
        return stored(column, exists, options).or_else(|error| respond(&column.on_error, error));
    }
    let converted = match column.path.can_match_many() {
        false => part.find_first(&column.path).map(|found| convert(column, found, options)),
        true => match &part.find(&column.path)[..] {
            [] => None,
            [found] => Some(convert(column, *found, options)),
            several => {
                let all = Json::from_tree(&JsonValue::Array(several.iter().map(JsonRef::to_tree).collect()));
                Some(convert(column, all.root(), options))
            }
        },
    };
    match converted {
        None => {
            let message = format!("Missing value for JSON_TABLE column '{}'", column.name);
            respond(&column.on_empty, Error::new(ErrorCode::MissingJsonTableValue, message))
        }
        Some(converted) => converted.or_else(|error| respond(&column.on_error, error)),
    }
}

fn respond(response: &JsonResponse, error: Error) -> Result<Value> {
    match response {
        JsonResponse::Null => Ok(Value::Null),
        JsonResponse::Error => Err(error),
        JsonResponse::Default(value) => Ok(value.clone()),
    }
}

/// A part of a document as a value of the column.
///
/// # Errors
/// 3666, an array or an object for a scalar; 3156, a value of another kind; 3669, one that does not fit.
pub fn convert(column: &JsonColumn, part: JsonRef<'_>, options: &StoreOptions) -> Result<Value> {
    if column.sql_type.base == BaseType::Json {
        return Ok(Value::Json(part.to_json()));
    }
    let is_text = column.sql_type.is_string();
    let value = match part.item() {
        JsonItem::Null => return Ok(Value::Null),
        JsonItem::Array | JsonItem::Object => {
            let message =
                format!("Can't store an array or an object in the scalar JSON_TABLE column '{}'", column.name);
            return Err(Error::new(ErrorCode::WrongJsonTableValue, message));
        }
        JsonItem::String(text) => Value::Str(text.to_vec()),
        _ if is_text => {
            let mut text = Vec::new();
            part.append_unquoted(&mut text);
            Value::Str(text)
        }
        JsonItem::Bool(truth) => Value::Int(i64::from(truth)),
        JsonItem::Int(number) => Value::Int(number),
        JsonItem::UInt(number) => Value::UInt(number),
        JsonItem::Double(number) => Value::Double(number),
        JsonItem::Decimal(number) => Value::Decimal(number),
        JsonItem::Date(date) => Value::Date(date),
        JsonItem::Time(time) => Value::Time(time),
        JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => Value::DateTime(moment),
        JsonItem::Opaque(_, bytes) => Value::Str(bytes.to_vec()),
    };
    // Numbers are no dates.
    let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_));
    if column.sql_type.is_temporal() && is_number {
        return Err(no_such_value(column));
    }
    stored(column, value, options)
}

fn stored(column: &JsonColumn, value: Value, options: &StoreOptions) -> Result<Value> {
    let target = StoreTarget { sql_type: &column.sql_type, column: &column.name, row: 1 };
    match store_value(value, Collation::UTF8MB4_BIN, target, options) {
        Ok((value, None)) => Ok(value),
        Ok((value, Some(warning))) if warning.level == WarningLevel::Note => Ok(value),
        Err(error) if !is_range(&error) => Err(no_such_value(column)),
        _ => {
            let message = format!("Value is out of range for JSON_TABLE's column '{}'", column.name);
            Err(Error::new(ErrorCode::JtValueOutOfRange, message))
        }
    }
}

fn is_range(error: &Error) -> bool {
    error.is(ErrorCode::WarnDataOutOfRange) || error.is(ErrorCode::DataTooLong)
}

fn no_such_value(column: &JsonColumn) -> Error {
    let message = format!(
        "Invalid JSON value for CAST to {} from column {} at row 1",
        cast_name(&column.sql_type),
        column.name
    );
    Error::new(ErrorCode::InvalidJsonValueForCast, message)
}

fn cast_name(sql_type: &SqlType) -> &'static str {
    match sql_type.base {
        _ if sql_type.is_int() => "INTEGER",
        BaseType::Bit | BaseType::Year => "INTEGER",
        BaseType::Float | BaseType::Double => "DOUBLE",
        BaseType::Decimal => "DECIMAL",
        BaseType::Date => "DATE",
        BaseType::Time => "TIME",
        BaseType::DateTime | BaseType::Timestamp => "DATETIME",
        _ => "CHAR",
    }
}
