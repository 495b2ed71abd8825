//! MySQL's binary JSON layout.
//!
//! ```text
//! document  type value
//! type      00 small object, 01 large object, 02 small array, 03 large array, 04 literal, 05 int16, 06 uint16,
//!           07 int32, 08 uint32, 09 int64, 0a uint64, 0b double, 0c string, 0f opaque
//! object    count size key-entry* value-entry* key* value*        (keys sorted by length, then bytes)
//! array     count size value-entry* value*
//! key-entry offset, length (2 bytes)
//! value-entry  type, and the offset or, for literals and integers that fit, the value itself
//! string    length (7 bits a byte, least significant first) bytes
//! opaque    MySQL field type, length, bytes
//! ```
//! Counts, sizes and offsets have 2 bytes in small containers and 4 in large ones; offsets count from the container's
//! `count`. Everything is little-endian. A container is large when it does not fit 65535 bytes.

use super::{DEPTH_MAX, JsonKind, JsonRef, JsonValue};
use crate::decimal::binary_size;
use crate::{Date, DateTime, Decimal, Time};

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

const LITERAL_NULL: u8 = 0;
const LITERAL_TRUE: u8 = 1;
const LITERAL_FALSE: u8 = 2;

/// MySQL's field types of opaque values.
const FIELD_TYPE_TIMESTAMP: u8 = 7;
const FIELD_TYPE_DATE: u8 = 10;
const FIELD_TYPE_TIME: u8 = 11;
const FIELD_TYPE_DATETIME: u8 = 12;
pub(super) const FIELD_TYPE_BIT: u8 = 16;
const FIELD_TYPE_DECIMAL: u8 = 246;

/// Longest key of an object.
pub(super) const KEY_LENGTH_MAX: usize = u16::MAX as usize;
const SMALL_SIZE_MAX: usize = u16::MAX as usize;

/// The order of keys in objects.
pub(super) fn compare_keys(first: &[u8], second: &[u8]) -> std::cmp::Ordering {
    first.len().cmp(&second.len()).then_with(|| first.cmp(second))
}

/// A value of a document as it is read; containers are looked into through their [`JsonRef`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonItem<'a> {
    /// The JSON literal `null`, which is not SQL's NULL.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a fraction that fits i64.
    Int(i64),
    /// A number without a fraction that fits u64 and not i64.
    UInt(u64),
    /// Any other number of a JSON text.
    Double(f64),
    /// From an SQL DECIMAL.
    Decimal(Decimal),
    /// UTF-8, without quotes and escapes.
    String(&'a [u8]),
    /// Its elements are read through the [`JsonRef`].
    Array,
    /// Its members are read through the [`JsonRef`].
    Object,
    /// From an SQL DATE.
    Date(Date),
    /// From an SQL TIME.
    Time(Time),
    /// From an SQL DATETIME.
    DateTime(DateTime),
    /// From an SQL TIMESTAMP.
    Timestamp(DateTime),
    /// A value of another MySQL type: the type's protocol number and its bytes.
    Opaque(u8, &'a [u8]),
}

fn length_width(length: usize) -> usize {
    (usize::BITS - length.leading_zeros()).div_ceil(7).max(1) as usize
}

fn append_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// A length at the front of `bytes`, and what follows it. `None`: more than 5 bytes or cut off.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0usize;
    for (position, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Some((length, &bytes[position + 1..]));
        }
    }
    None
}

/// Which containers must be large, in the order in which they are written.
struct Sizes {
    large: Vec<bool>,
}

impl Sizes {
    /// Bytes that the value takes when it is not inlined.
    fn measure(&mut self, value: &JsonValue) -> usize {
        let string_size = |length: usize| length_width(length) + length;
        match value {
            JsonValue::Null | JsonValue::Bool(_) => 1,
            JsonValue::Int(_) | JsonValue::UInt(_) => match integer_type(value) {
                INT16 | UINT16 => 2,
                INT32 | UINT32 => 4,
                _ => 8,
            },
            JsonValue::Double(_) => 8,
            JsonValue::String(text) => string_size(text.len()),
            JsonValue::Decimal(decimal) => {
                let (precision, scale) = decimal_shape(decimal);
                1 + string_size(2 + binary_size(precision, scale))
            }
            JsonValue::Date(_) | JsonValue::Time(_) | JsonValue::DateTime(_) | JsonValue::Timestamp(_) => {
                1 + string_size(8)
            }
            JsonValue::Opaque(_, bytes) => 1 + string_size(bytes.len()),
            JsonValue::Array(elements) => self.measure_container(elements.iter(), elements.len(), 0, 0),
            JsonValue::Object(members) => {
                let keys = members.iter().map(|(key, _)| key.len()).sum();
                self.measure_container(members.iter().map(|(_, value)| value), members.len(), members.len(), keys)
            }
        }
    }

    fn measure_container<'v>(
        &mut self,
        values: impl Iterator<Item = &'v JsonValue>,
        count: usize,
        key_count: usize,
        key_bytes: usize,
    ) -> usize {
        let place = self.large.len();
        self.large.push(false);
        let (mut small, mut large) =
            (4 + count * 3 + key_count * 4 + key_bytes, 8 + count * 5 + key_count * 6 + key_bytes);
        for value in values {
            let size = self.measure(value);
            small += if is_inlined(value, false) { 0 } else { size };
            large += if is_inlined(value, true) { 0 } else { size };
        }
        self.large[place] = small > SMALL_SIZE_MAX;
        if small > SMALL_SIZE_MAX { large } else { small }
    }
}

/// The narrowest integer type.
fn integer_type(value: &JsonValue) -> u8 {
    match *value {
        JsonValue::Int(number) if i16::try_from(number).is_ok() => INT16,
        JsonValue::Int(number) if i32::try_from(number).is_ok() => INT32,
        JsonValue::UInt(number) if number <= u64::from(u16::MAX) => UINT16,
        JsonValue::UInt(number) if number <= u64::from(u32::MAX) => UINT32,
        JsonValue::UInt(_) => UINT64,
        _ => INT64,
    }
}

fn is_inlined(value: &JsonValue, large: bool) -> bool {
    match value {
        JsonValue::Null | JsonValue::Bool(_) => true,
        JsonValue::Int(_) | JsonValue::UInt(_) => match integer_type(value) {
            INT16 | UINT16 => true,
            INT32 | UINT32 => large,
            _ => false,
        },
        _ => false,
    }
}

/// Precision and scale under which a decimal is kept: its own, within what DECIMAL allows.
fn decimal_shape(decimal: &Decimal) -> (usize, usize) {
    let scale = decimal.scale().min(crate::decimal::MAX_SCALE);
    let precision = decimal.precision().saturating_sub(decimal.scale() - scale).max(scale).max(1);
    (usize::from(precision.min(crate::decimal::MAX_PRECISION)), usize::from(scale))
}

pub(super) fn append_document(tree: &JsonValue, out: &mut Vec<u8>) {
    let mut sizes = Sizes { large: Vec::new() };
    out.reserve(1 + sizes.measure(tree));
    let mut large = sizes.large.into_iter();
    out.push(0);
    let type_at = out.len() - 1;
    let kind = append_value(tree, &mut large, out);
    out[type_at] = kind;
}

/// Appends the value without its type byte, and returns that.
fn append_value(value: &JsonValue, large: &mut impl Iterator<Item = bool>, out: &mut Vec<u8>) -> u8 {
    match value {
        JsonValue::Null | JsonValue::Bool(_) => {
            out.push(literal_byte(value));
            LITERAL
        }
        JsonValue::Int(number) => append_integer(*number as u64, integer_type(value), out),
        JsonValue::UInt(number) => append_integer(*number, integer_type(value), out),
        JsonValue::Double(number) => {
            out.extend_from_slice(&number.to_bits().to_le_bytes());
            DOUBLE
        }
        JsonValue::String(text) => {
            append_length(text.len(), out);
            out.extend_from_slice(text);
            STRING
        }
        JsonValue::Decimal(decimal) => {
            let (precision, scale) = decimal_shape(decimal);
            let mut bytes = vec![0; 2 + binary_size(precision, scale)];
            bytes[0] = precision as u8;
            bytes[1] = scale as u8;
            decimal.write_binary(precision, scale, &mut bytes[2..]);
            append_opaque(FIELD_TYPE_DECIMAL, &bytes, out)
        }
        JsonValue::Date(date) => {
            let packed = DateTime::from_date(*date, 0, 0).packed;
            append_opaque(FIELD_TYPE_DATE, &packed.to_le_bytes(), out)
        }
        JsonValue::Time(time) => append_opaque(FIELD_TYPE_TIME, &pack_time(*time).to_le_bytes(), out),
        JsonValue::DateTime(moment) => append_opaque(FIELD_TYPE_DATETIME, &moment.packed.to_le_bytes(), out),
        JsonValue::Timestamp(moment) => append_opaque(FIELD_TYPE_TIMESTAMP, &moment.packed.to_le_bytes(), out),
        JsonValue::Opaque(field_type, bytes) => append_opaque(*field_type, bytes, out),
        JsonValue::Array(elements) => {
            let is_large = large.next().unwrap_or(true);
            append_container(&[], elements.iter(), elements.len(), is_large, large, out);
            if is_large { LARGE_ARRAY } else { SMALL_ARRAY }
        }
        JsonValue::Object(members) => {
            let is_large = large.next().unwrap_or(true);
            let values = members.iter().map(|(_, value)| value);
            append_container(members, values, members.len(), is_large, large, out);
            if is_large { LARGE_OBJECT } else { SMALL_OBJECT }
        }
    }
}

fn literal_byte(value: &JsonValue) -> u8 {
    match value {
        JsonValue::Bool(true) => LITERAL_TRUE,
        JsonValue::Bool(false) => LITERAL_FALSE,
        _ => LITERAL_NULL,
    }
}

fn append_integer(word: u64, kind: u8, out: &mut Vec<u8>) -> u8 {
    let width = match kind {
        INT16 | UINT16 => 2,
        INT32 | UINT32 => 4,
        _ => 8,
    };
    out.extend_from_slice(&word.to_le_bytes()[..width]);
    kind
}

fn append_opaque(field_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> u8 {
    out.push(field_type);
    append_length(bytes.len(), out);
    out.extend_from_slice(bytes);
    OPAQUE
}

/// MySQL's packed TIME: `(hour << 12 | minute << 6 | second) << 24 | microsecond`, signed.
fn pack_time(time: Time) -> i64 {
    let clock = i64::from(time.hours() << 12 | time.minutes() << 6 | time.seconds());
    let packed = clock << 24 | i64::from(time.subsecond_micros());
    if time.is_negative() { -packed } else { packed }
}

fn unpack_time(packed: i64) -> Time {
    let magnitude = packed.unsigned_abs();
    let clock = magnitude >> 24;
    let (hours, minutes, seconds) = (clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63);
    Time::from_parts(packed < 0, hours, minutes, seconds, magnitude & 0xff_ffff, 6).value
}

fn put_offset(number: usize, at: usize, width: usize, out: &mut [u8]) {
    out[at..at + width].copy_from_slice(&(number as u32).to_le_bytes()[..width]);
}

fn append_container<'v>(
    members: &[(Vec<u8>, JsonValue)],
    values: impl Iterator<Item = &'v JsonValue>,
    count: usize,
    is_large: bool,
    large: &mut impl Iterator<Item = bool>,
    out: &mut Vec<u8>,
) {
    let width = if is_large { 4 } else { 2 };
    let start = out.len();
    let key_entries = start + 2 * width;
    let value_entries = key_entries + members.len() * (width + 2);
    out.resize(value_entries + count * (width + 1), 0);
    put_offset(count, start, width, out);
    for (position, (key, _)) in members.iter().enumerate() {
        let at = key_entries + position * (width + 2);
        let offset = out.len() - start;
        put_offset(offset, at, width, out);
        put_offset(key.len().min(KEY_LENGTH_MAX), at + width, 2, out);
        out.extend_from_slice(&key[..key.len().min(KEY_LENGTH_MAX)]);
    }
    for (position, value) in values.enumerate() {
        let at = value_entries + position * (width + 1);
        if is_inlined(value, is_large) {
            let (kind, word) = match value {
                JsonValue::Int(number) => (integer_type(value), *number as u32),
                JsonValue::UInt(number) => (integer_type(value), *number as u32),
                literal => (LITERAL, u32::from(literal_byte(literal))),
            };
            // A negative 16-bit integer does not spill into the upper half of a wide entry.
            let word = if matches!(kind, INT16 | UINT16) { word & 0xffff } else { word };
            out[at] = kind;
            put_offset(word as usize, at + 1, width, out);
        } else {
            let offset = out.len() - start;
            put_offset(offset, at + 1, width, out);
            out[at] = append_value(value, large, out);
        }
    }
    let size = out.len() - start;
    put_offset(size, start + width, width, out);
}

fn word_at(bytes: &[u8], at: usize, width: usize) -> usize {
    bytes.get(at..at + width).map_or(0, |word| crate::bytes::little_endian_word(word) as usize)
}

impl<'a> JsonRef<'a> {
    const NULL: JsonRef<'static> = JsonRef { kind: LITERAL, bytes: &[LITERAL_NULL] };

    pub(super) fn of_document(bytes: &'a [u8]) -> JsonRef<'a> {
        bytes.split_first().map_or(JsonRef::NULL, |(&kind, bytes)| JsonRef { kind, bytes })
    }

    /// What JSON_TYPE says of it.
    pub fn kind(&self) -> JsonKind {
        match self.kind {
            SMALL_OBJECT | LARGE_OBJECT => JsonKind::Object,
            SMALL_ARRAY | LARGE_ARRAY => JsonKind::Array,
            LITERAL if matches!(self.bytes.first(), Some(&LITERAL_TRUE | &LITERAL_FALSE)) => JsonKind::Boolean,
            INT16 | INT32 | INT64 => JsonKind::Integer,
            UINT16 | UINT32 | UINT64 => JsonKind::UnsignedInteger,
            DOUBLE => JsonKind::Double,
            STRING => JsonKind::String,
            OPAQUE => match self.bytes.first() {
                Some(&FIELD_TYPE_DECIMAL) => JsonKind::Decimal,
                Some(&FIELD_TYPE_DATE) => JsonKind::Date,
                Some(&FIELD_TYPE_TIME) => JsonKind::Time,
                Some(&FIELD_TYPE_DATETIME) => JsonKind::DateTime,
                Some(&FIELD_TYPE_TIMESTAMP) => JsonKind::Timestamp,
                _ => JsonKind::Opaque,
            },
            _ => JsonKind::Null,
        }
    }

    /// The value, when it is a scalar; for containers only what they are.
    pub fn item(&self) -> JsonItem<'a> {
        let word = |width: usize| crate::bytes::little_endian_word(&self.bytes[..width.min(self.bytes.len())]);
        match self.kind {
            SMALL_OBJECT | LARGE_OBJECT => JsonItem::Object,
            SMALL_ARRAY | LARGE_ARRAY => JsonItem::Array,
            LITERAL => match self.bytes.first() {
                Some(&LITERAL_TRUE) => JsonItem::Bool(true),
                Some(&LITERAL_FALSE) => JsonItem::Bool(false),
                _ => JsonItem::Null,
            },
            INT16 => JsonItem::Int(i64::from(word(2) as u16 as i16)),
            INT32 => JsonItem::Int(i64::from(word(4) as u32 as i32)),
            INT64 => JsonItem::Int(word(8) as i64),
            UINT16 => JsonItem::UInt(word(2)),
            UINT32 => JsonItem::UInt(word(4)),
            UINT64 => JsonItem::UInt(word(8)),
            DOUBLE => JsonItem::Double(f64::from_bits(word(8))),
            STRING => JsonItem::String(read_string(self.bytes)),
            OPAQUE => read_opaque(self.bytes),
            _ => JsonItem::Null,
        }
    }

    fn is_container(&self) -> bool {
        self.kind <= LARGE_ARRAY
    }

    fn offset_width(&self) -> usize {
        if matches!(self.kind, LARGE_OBJECT | LARGE_ARRAY) { 4 } else { 2 }
    }

    fn key_entry_width(&self) -> usize {
        if matches!(self.kind, SMALL_OBJECT | LARGE_OBJECT) { self.offset_width() + 2 } else { 0 }
    }

    /// Elements or members of a container, 0 for a scalar; never more than its bytes can describe.
    pub(super) fn element_count(&self) -> usize {
        if !self.is_container() {
            return 0;
        }
        let width = self.offset_width();
        let described = self.bytes.len().saturating_sub(2 * width) / (width + 1 + self.key_entry_width());
        word_at(self.bytes, 0, width).min(described)
    }

    /// Where the keys or values of a container of `count` elements may begin.
    fn entries_end(&self, count: usize) -> usize {
        let width = self.offset_width();
        2 * width + count * (width + 1 + self.key_entry_width())
    }

    /// The value of the element or member at `index`, in the order of the container.
    pub fn element(&self, index: usize) -> Option<JsonRef<'a>> {
        let count = self.element_count();
        if index < count { self.element_of(index, count) } else { None }
    }

    /// As [`JsonRef::element`], for an `index` below the `count` of elements.
    pub(super) fn element_of(&self, index: usize, count: usize) -> Option<JsonRef<'a>> {
        let width = self.offset_width();
        let at = 2 * width + count * self.key_entry_width() + index * (width + 1);
        let kind = *self.bytes.get(at)?;
        let inlined = match kind {
            LITERAL | INT16 | UINT16 => true,
            INT32 | UINT32 => width == 4,
            _ => false,
        };
        if inlined {
            return Some(JsonRef { kind, bytes: self.bytes.get(at + 1..at + 1 + width)? });
        }
        // An offset back into the entries could only be damage, and would let documents contain themselves.
        let offset = word_at(self.bytes, at + 1, width);
        let bytes = self.bytes.get(offset..).filter(|_| offset >= self.entries_end(count))?;
        Some(JsonRef { kind, bytes })
    }

    pub(super) fn key(&self, index: usize) -> Option<&'a [u8]> {
        let width = self.offset_width();
        let at = 2 * width + index * (width + 2);
        let offset = word_at(self.bytes, at, width);
        self.bytes.get(offset..offset.checked_add(word_at(self.bytes, at + width, 2))?)
    }

    /// The key and value of an object's member, by its position.
    pub fn member(&self, index: usize) -> Option<(&'a [u8], JsonRef<'a>)> {
        let count = if self.is_object() { self.element_count() } else { 0 };
        if index < count { self.member_of(index, count) } else { None }
    }

    /// As [`JsonRef::member`], for an `index` below the `count` of members.
    pub(super) fn member_of(&self, index: usize, count: usize) -> Option<(&'a [u8], JsonRef<'a>)> {
        Some((self.key(index)?, self.element_of(index, count)?))
    }

    /// The value of an object's member, by its key.
    pub fn get(&self, key: &[u8]) -> Option<JsonRef<'a>> {
        if !self.is_object() {
            return None;
        }
        let count = self.element_count();
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            let found = self.key(middle)?;
            match compare_keys(found, key) {
                std::cmp::Ordering::Equal => return self.element_of(middle, count),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The bytes of this value alone, as a document keeps them after the type byte.
    pub(super) fn own_bytes(&self) -> &'a [u8] {
        let size = match self.kind {
            LITERAL => 1,
            INT16 | UINT16 => 2,
            INT32 | UINT32 => 4,
            INT64 | UINT64 | DOUBLE => 8,
            STRING => read_length(self.bytes).map_or(0, |(length, rest)| self.bytes.len() - rest.len() + length),
            OPAQUE => self
                .bytes
                .get(1..)
                .and_then(read_length)
                .map_or(0, |(length, rest)| self.bytes.len() - rest.len() + length),
            _ => word_at(self.bytes, self.offset_width(), self.offset_width()),
        };
        &self.bytes[..size.min(self.bytes.len())]
    }

    /// The value with all that is in it, as a tree of its own.
    pub fn to_tree(&self) -> JsonValue {
        self.tree_within(DEPTH_MAX + 1)
    }

    fn tree_within(&self, depth: usize) -> JsonValue {
        if depth == 0 {
            return JsonValue::Null;
        }
        match self.item() {
            JsonItem::Null => JsonValue::Null,
            JsonItem::Bool(truth) => JsonValue::Bool(truth),
            JsonItem::Int(number) => JsonValue::Int(number),
            JsonItem::UInt(number) => JsonValue::UInt(number),
            JsonItem::Double(number) => JsonValue::Double(number),
            JsonItem::Decimal(decimal) => JsonValue::Decimal(decimal),
            JsonItem::String(text) => JsonValue::String(text.to_vec()),
            JsonItem::Date(date) => JsonValue::Date(date),
            JsonItem::Time(time) => JsonValue::Time(time),
            JsonItem::DateTime(moment) => JsonValue::DateTime(moment),
            JsonItem::Timestamp(moment) => JsonValue::Timestamp(moment),
            JsonItem::Opaque(field_type, bytes) => JsonValue::Opaque(field_type, bytes.to_vec()),
            JsonItem::Array => {
                JsonValue::Array(self.elements().map(|element| element.tree_within(depth - 1)).collect())
            }
            JsonItem::Object => {
                let member = |(key, value): (&[u8], JsonRef<'_>)| (key.to_vec(), value.tree_within(depth - 1));
                JsonValue::Object(self.members().map(member).collect())
            }
        }
    }
}

fn read_string(bytes: &[u8]) -> &[u8] {
    read_length(bytes).map_or(&[], |(length, rest)| &rest[..length.min(rest.len())])
}

fn read_opaque(bytes: &[u8]) -> JsonItem<'_> {
    let Some((&field_type, rest)) = bytes.split_first() else {
        return JsonItem::Null;
    };
    let payload = read_string(rest);
    let packed = crate::bytes::little_endian_word(payload);
    let moment = DateTime { packed, fsp: 6 };
    match field_type {
        FIELD_TYPE_DECIMAL => match *payload {
            [precision, scale, ref digits @ ..]
                if precision <= crate::decimal::MAX_PRECISION
                    && scale <= precision.min(crate::decimal::MAX_SCALE) =>
            {
                JsonItem::Decimal(Decimal::read_binary(digits, precision.into(), scale.into()))
            }
            _ => JsonItem::Opaque(field_type, payload),
        },
        FIELD_TYPE_DATE => JsonItem::Date(moment.date()),
        FIELD_TYPE_TIME => JsonItem::Time(unpack_time(packed as i64)),
        FIELD_TYPE_DATETIME => JsonItem::DateTime(moment),
        FIELD_TYPE_TIMESTAMP => JsonItem::Timestamp(moment),
        _ => JsonItem::Opaque(field_type, payload),
    }
}
