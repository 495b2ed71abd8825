//! JSON documents to text, and quoting.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::{DEPTH_MAX, JsonItem, JsonRef, JsonSyntaxError, parse};
use crate::number::{append_f64, append_i64, append_u64};

/// Appends `text` as a JSON string, in quotes.
pub fn append_quoted(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text;
    while let Some(plain) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(&rest[..plain]);
        let byte = rest[plain];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
        rest = &rest[plain + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// JSON_UNQUOTE of a text: a text in double quotes is read as a JSON string, any other is itself.
pub fn unquote(text: &[u8]) -> Result<Vec<u8>, JsonSyntaxError> {
    match text {
        [b'"', .., b'"'] => parse::parse_string(text),
        _ => Ok(text.to_vec()),
    }
}

/// How containers are laid out.
#[derive(Clone, Copy)]
enum Layout {
    OneLine,
    /// One element a line, indented by two blanks a level.
    Lines,
}

impl JsonRef<'_> {
    /// `{"a": 1, "b": [1, 2]}`
    pub fn append_text(&self, out: &mut Vec<u8>) {
        self.append_within(0, Layout::OneLine, out);
    }

    /// JSON_PRETTY.
    pub fn append_pretty(&self, out: &mut Vec<u8>) {
        self.append_within(0, Layout::Lines, out);
    }

    /// The characters of a string, the text of anything else (JSON_UNQUOTE of a document, `->>`).
    pub fn append_unquoted(&self, out: &mut Vec<u8>) {
        match self.as_str() {
            Some(characters) => out.extend_from_slice(characters),
            None => self.append_text(out),
        }
    }

    fn append_within(&self, depth: usize, layout: Layout, out: &mut Vec<u8>) {
        match self.item() {
            JsonItem::Array | JsonItem::Object if depth > DEPTH_MAX => out.extend_from_slice(b"null"),
            JsonItem::Array => self.append_container(b'[', b']', depth, layout, out),
            JsonItem::Object => self.append_container(b'{', b'}', depth, layout, out),
            scalar => append_scalar(scalar, out),
        }
    }

    fn append_container(&self, open: u8, close: u8, depth: usize, layout: Layout, out: &mut Vec<u8>) {
        out.push(open);
        let count = self.element_count();
        for index in 0..count {
            if index > 0 {
                out.push(b',');
            }
            match layout {
                Layout::OneLine if index > 0 => out.push(b' '),
                Layout::OneLine => {}
                Layout::Lines => append_line_start(depth + 1, out),
            }
            if open == b'{' {
                append_quoted(self.key(index).unwrap_or_default(), out);
                out.extend_from_slice(b": ");
            }
            match self.element_of(index, count) {
                Some(element) => element.append_within(depth + 1, layout, out),
                None => out.extend_from_slice(b"null"),
            }
        }
        if count > 0 && matches!(layout, Layout::Lines) {
            append_line_start(depth, out);
        }
        out.push(close);
    }
}

fn append_line_start(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

fn append_scalar(item: JsonItem<'_>, out: &mut Vec<u8>) {
    match item {
        JsonItem::Null | JsonItem::Array | JsonItem::Object => out.extend_from_slice(b"null"),
        JsonItem::Bool(true) => out.extend_from_slice(b"true"),
        JsonItem::Bool(false) => out.extend_from_slice(b"false"),
        JsonItem::Int(number) => append_i64(number, out),
        JsonItem::UInt(number) => append_u64(number, out),
        JsonItem::Double(number) => append_double(number, out),
        JsonItem::Decimal(decimal) => decimal.append_text(out),
        JsonItem::String(text) => append_quoted(text, out),
        JsonItem::Date(date) => append_in_quotes(out, |out| date.append_text(out)),
        JsonItem::Time(time) => append_in_quotes(out, |out| time.append_text(out)),
        JsonItem::DateTime(moment) | JsonItem::Timestamp(moment) => {
            append_in_quotes(out, |out| moment.append_text(out));
        }
        JsonItem::Opaque(field_type, bytes) => append_in_quotes(out, |out| {
            out.extend_from_slice(b"base64:type");
            append_u64(u64::from(field_type), out);
            out.push(b':');
            out.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes());
        }),
    }
}

/// A double without a fraction keeps `.0`, so that it reads back as a double.
fn append_double(number: f64, out: &mut Vec<u8>) {
    let start = out.len();
    append_f64(number, out);
    if out[start..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        out.extend_from_slice(b".0");
    }
}

fn append_in_quotes(out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    append(out);
    out.push(b'"');
}
