//! Parameters of prepared statements, and the query attributes that travel like them.
//!
//! Decoding trusts no length: whatever is shorter than it claims is an error, and no client can make it allocate more
//! than it sent.

use shoal_types::temporal::DateRules;
use shoal_types::{Charset, Date, DateTime, Decimal, Time, Value};

use crate::constants::column_type;
use crate::packet::{Malformed, Payload};
use crate::refusal::Refusal;

type Result<T, E = Malformed> = std::result::Result<T, E>;

/// The flag in a parameter's type.
const UNSIGNED: u8 = 0x80;
const MICROSECOND_DIGITS: u8 = 6;

/// The type that a client gave a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    code: u8,
    unsigned: bool,
}

/// What the protocol server remembers of a prepared statement between executions.
#[derive(Debug, Default)]
pub struct BoundParameters {
    types: Vec<ParameterType>,
    /// Values sent by COM_STMT_SEND_LONG_DATA, by parameter.
    long_data: Vec<Option<Vec<u8>>>,
    /// Why there is no value where one was sent; told when the statement is executed.
    refusal: Option<Refusal>,
    /// Of `long_data`.
    long_data_bytes: usize,
    /// The name of the query attribute that is not dropped.
    wanted: Option<&'static str>,
    /// Its position among the values, as the types have told.
    wanted_position: Option<usize>,
    /// Its text.
    attribute: Option<Vec<u8>>,
}

impl BoundParameters {
    /// Appends to a long value of at most `limit` bytes; one that grows beyond is reported by the next execution.
    pub fn append_long_data(&mut self, parameter: usize, count: usize, data: &[u8], limit: usize) {
        if parameter >= count {
            return;
        }
        if self.long_data.len() < count {
            self.long_data.resize(count, None);
        }
        let value = self.long_data[parameter].get_or_insert_default();
        self.long_data_bytes -= value.capacity();
        if value.len() + data.len() > limit {
            self.refusal = Some(Refusal::long_data_too_large());
            *value = Vec::new();
        } else {
            value.extend_from_slice(data);
        }
        self.long_data_bytes += value.capacity();
    }

    /// Which query attribute the next execution is to keep, for [`BoundParameters::take_attribute`].
    pub fn want_attribute(&mut self, name: Option<&'static str>) {
        self.wanted = name;
        self.attribute = None;
    }

    /// The text of the wanted attribute, if the execution came with it.
    pub fn take_attribute(&mut self) -> Option<Vec<u8>> {
        self.attribute.take()
    }

    /// What the long values take.
    pub fn long_data_bytes(&self) -> usize {
        self.long_data_bytes
    }

    /// There is no memory for the long values.
    pub fn refuse_long_data(&mut self, refusal: Refusal) {
        self.clear_long_data();
        self.refusal = Some(refusal);
    }

    pub fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Forgets the long values: COM_STMT_RESET, and after every execution.
    pub fn clear_long_data(&mut self) {
        self.long_data.clear();
        self.long_data_bytes = 0;
        self.refusal = None;
    }

    /// Decodes the parameters of COM_STMT_EXECUTE into `values`, whose buffers are reused. `count` is the statement's
    /// number of parameters. With `attributes` (CLIENT_QUERY_ATTRIBUTES) the packet says how many values it holds and
    /// types carry names; values beyond `count` are attributes and dropped, but for the wanted one. Long values are used up.
    pub fn decode(
        &mut self,
        fields: &mut Payload<'_>,
        count: usize,
        attributes: bool,
        values: &mut Vec<Value>,
    ) -> Result<()> {
        let sent = match attributes {
            true => usize::try_from(fields.length()?).map_err(|_| Malformed)?,
            false => count,
        };
        if sent < count {
            return Err(Malformed);
        }
        if sent == 0 {
            values.clear();
            return Ok(());
        }
        let nulls = fields.take(sent.div_ceil(8))?;
        values.resize(count, Value::Null);
        let types_follow = fields.u8()?;
        if types_follow == 1 {
            let wanted = self.wanted.filter(|_| attributes);
            self.wanted_position = read_types(fields, sent, attributes, wanted, &mut self.types)?;
        } else if self.types.len() < count {
            return Err(Malformed);
        }
        for position in 0..sent {
            let is_null = nulls[position / 8] & (1 << (position % 8)) != 0;
            let long_data = self.long_data.get_mut(position).and_then(Option::take);
            let parameter = *self.types.get(position).ok_or(Malformed)?;
            match (values.get_mut(position), long_data) {
                (Some(value), Some(data)) => *value = Value::Str(data),
                (Some(value), None) if is_null => *value = Value::Null,
                (Some(value), None) => parameter.read(fields, value)?,
                (None, _) if is_null => {}
                (None, _) => {
                    let mut value = Value::Null;
                    parameter.read(fields, &mut value)?;
                    if let (Value::Str(text), true) = (value, self.wanted_position == Some(position)) {
                        self.attribute = self.wanted.map(|_| text);
                    }
                }
            }
        }
        Ok(())
    }

    /// Converts the values that [`BoundParameters::decode`] has read as texts; those read as bytes stay what they are.
    pub fn convert_texts(&self, from: Charset, to: Charset, values: &mut [Value]) {
        for (parameter, value) in self.types.iter().zip(values) {
            if let Value::Str(text) = value
                && parameter.is_text()
            {
                *text = Charset::convert(text, from, to).bytes.into_owned();
            }
        }
    }
}

/// Reads the query attributes before the text of COM_QUERY, and yields the text of the one that is `wanted` if it is there.
pub fn query_attribute(fields: &mut Payload<'_>, wanted: Option<&str>) -> Result<Option<Vec<u8>>> {
    let count = usize::try_from(fields.length()?).map_err(|_| Malformed)?;
    let _parameter_sets = fields.length()?;
    if count == 0 {
        return Ok(None);
    }
    let nulls = fields.take(count.div_ceil(8))?;
    if fields.u8()? != 1 {
        return Err(Malformed);
    }
    let mut types = Vec::new();
    let wanted_position = read_types(fields, count, true, wanted, &mut types)?;
    let mut found = None;
    for (position, parameter) in types.iter().enumerate() {
        if nulls[position / 8] & (1 << (position % 8)) == 0 {
            let mut value = Value::Null;
            parameter.read(fields, &mut value)?;
            if let (Value::Str(text), true) = (value, wanted_position == Some(position)) {
                found = Some(text);
            }
        }
    }
    Ok(found)
}

/// Reads the types into `types`, which is empty after an error, and yields the position of the one with the `wanted` name.
fn read_types(
    fields: &mut Payload<'_>,
    count: usize,
    named: bool,
    wanted: Option<&str>,
    types: &mut Vec<ParameterType>,
) -> Result<Option<usize>> {
    types.clear();
    // Each type takes two bytes, so a count that the packet cannot hold allocates nothing.
    if fields.rest().len() / 2 < count {
        return Err(Malformed);
    }
    let mut found = None;
    for position in 0..count {
        let read = read_type(fields, named);
        if read.is_err() {
            types.clear();
        }
        let (parameter, name) = read?;
        types.push(parameter);
        if wanted.is_some_and(|wanted| wanted.as_bytes() == name) {
            found = Some(position);
        }
    }
    Ok(found)
}

/// A type, and its name if it has one.
fn read_type<'a>(fields: &mut Payload<'a>, named: bool) -> Result<(ParameterType, &'a [u8])> {
    let code = fields.u8()?;
    let unsigned = fields.u8()? & UNSIGNED != 0;
    let name = if named { fields.length_bytes()? } else { &[] };
    Ok((ParameterType { code, unsigned }, name))
}

impl ParameterType {
    fn is_text(self) -> bool {
        matches!(self.code, column_type::VARCHAR | column_type::VAR_STRING | column_type::STRING)
    }

    fn read(self, fields: &mut Payload<'_>, value: &mut Value) -> Result<()> {
        *value = match self.code {
            column_type::TINY | column_type::BOOL => {
                let byte = fields.u8()?;
                self.integer(u64::from(byte), i64::from(byte as i8))
            }
            column_type::SHORT | column_type::YEAR => {
                let number = fields.u16()?;
                self.integer(u64::from(number), i64::from(number as i16))
            }
            column_type::LONG | column_type::INT24 => {
                let number = fields.u32()?;
                self.integer(u64::from(number), i64::from(number as i32))
            }
            column_type::LONGLONG => {
                let number = fields.u64()?;
                self.integer(number, number as i64)
            }
            column_type::FLOAT => Value::Float(f32::from_bits(fields.u32()?)),
            column_type::DOUBLE => Value::Double(f64::from_bits(fields.u64()?)),
            column_type::NULL => Value::Null,
            column_type::DATE | column_type::NEWDATE => Value::Date(read_datetime(fields)?.date()),
            column_type::DATETIME | column_type::TIMESTAMP => Value::DateTime(read_datetime(fields)?),
            column_type::TIME => Value::Time(read_time(fields)?),
            column_type::DECIMAL | column_type::NEWDECIMAL => {
                Value::Decimal(Decimal::parse(fields.length_bytes()?).value)
            }
            column_type::VARCHAR
            | column_type::BIT
            | column_type::VECTOR
            | column_type::JSON
            | column_type::ENUM
            | column_type::SET
            | column_type::TINY_BLOB
            | column_type::MEDIUM_BLOB
            | column_type::LONG_BLOB
            | column_type::BLOB
            | column_type::VAR_STRING
            | column_type::STRING
            | column_type::GEOMETRY => return read_string(fields, value),
            _ => return Err(Malformed),
        };
        Ok(())
    }

    fn integer(self, unsigned: u64, signed: i64) -> Value {
        if self.unsigned { Value::UInt(unsigned) } else { Value::Int(signed) }
    }
}

/// Reads a string into the buffer that `value` may have from the last execution.
fn read_string(fields: &mut Payload<'_>, value: &mut Value) -> Result<()> {
    let text = fields.length_bytes()?;
    match value {
        Value::Str(buffer) => {
            buffer.clear();
            buffer.extend_from_slice(text);
        }
        other => *other = Value::Str(text.to_vec()),
    }
    Ok(())
}

/// A DATE, DATETIME or TIMESTAMP of 0, 4, 7 or 11 bytes. One out of range is the zero datetime, as in MySQL.
fn read_datetime(fields: &mut Payload<'_>) -> Result<DateTime> {
    let size = fields.u8()?;
    let mut parts = Payload::new(fields.take(usize::from(size))?);
    if !matches!(size, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    let mut numbers = [0u32; 6];
    let mut micros = 0;
    if size >= 4 {
        numbers[0] = u32::from(parts.u16()?);
        numbers[1] = u32::from(parts.u8()?);
        numbers[2] = u32::from(parts.u8()?);
    }
    if size >= 7 {
        for number in &mut numbers[3..] {
            *number = u32::from(parts.u8()?);
        }
    }
    if size >= 11 {
        micros = parts.u32()?;
    }
    if numbers == [0; 6] && micros == 0 {
        return Ok(DateTime::ZERO);
    }
    let in_range = Date::new(numbers[0], numbers[1], numbers[2], DateRules::default())
        .and_then(|_| DateTime::new(numbers, micros, digits(micros), DateRules::default()));
    Ok(in_range.unwrap_or(DateTime::ZERO))
}

/// A TIME of 0, 8 or 12 bytes.
fn read_time(fields: &mut Payload<'_>) -> Result<Time> {
    let size = fields.u8()?;
    let mut parts = Payload::new(fields.take(usize::from(size))?);
    if size == 0 {
        return Ok(Time { micros: 0, fsp: 0 });
    }
    if !matches!(size, 8 | 12) {
        return Err(Malformed);
    }
    let negative = parts.u8()? != 0;
    let days = u64::from(parts.u32()?);
    let hours = days * 24 + u64::from(parts.u8()?);
    let (minutes, seconds) = (u64::from(parts.u8()?), u64::from(parts.u8()?));
    let micros = if size == 12 { parts.u32()? } else { 0 };
    Ok(Time::from_parts(negative, hours, minutes, seconds, u64::from(micros), digits(micros)).value)
}

fn digits(micros: u32) -> u8 {
    if micros == 0 { 0 } else { MICROSECOND_DIGITS }
}

#[cfg(test)]
mod tests;
