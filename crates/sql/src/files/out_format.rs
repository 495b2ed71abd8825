//! Rows as text in files, as INTO OUTFILE writes and LOAD DATA reads them.

use shoal_parser::ast::{FieldFormat, LineFormat};
use shoal_types::{BaseType, Charset, Error, ErrorCode, Result, SqlType, Value};

/// Separators and quotes.
pub struct OutFormat {
    field_end: Vec<u8>,
    enclosure: Option<u8>,
    encloses_texts_alone: bool,
    escape: Option<u8>,
    line_start: Vec<u8>,
    line_end: Vec<u8>,
    /// `None`: texts are written as they are.
    charset: Option<Charset>,
}

impl OutFormat {
    /// # Errors
    /// 1083: a quote or an escape that is no single byte; 1115: an unknown character set.
    pub fn of(fields: &FieldFormat, lines: &LineFormat, charset: Option<&str>) -> Result<OutFormat> {
        let or_default = |text: &Option<Vec<u8>>, default: &[u8]| text.clone().unwrap_or_else(|| default.to_vec());
        Ok(OutFormat {
            field_end: or_default(&fields.terminated_by, b"\t"),
            enclosure: single(fields.enclosed_by.as_deref().unwrap_or_default())?,
            encloses_texts_alone: fields.optionally_enclosed,
            escape: single(fields.escaped_by.as_deref().unwrap_or(b"\\"))?,
            line_start: or_default(&lines.starting_by, b""),
            line_end: or_default(&lines.terminated_by, b"\n"),
            charset: charset.map(Charset::resolve).transpose()?,
        })
    }

    /// A row as a line.
    pub fn append_row<'t>(&self, row: &[Value], types: impl Iterator<Item = &'t SqlType>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line_start);
        let mut text = Vec::new();
        for (position, (value, sql_type)) in row.iter().zip(types).enumerate() {
            if position > 0 {
                out.extend_from_slice(&self.field_end);
            }
            if value.is_null() {
                match self.escape {
                    Some(escape) => out.extend_from_slice(&[escape, b'N']),
                    None => out.extend_from_slice(b"NULL"),
                }
                continue;
            }
            text.clear();
            append_text(value, sql_type, self.charset, &mut text);
            let enclosure = self.enclosure.filter(|_| !self.encloses_texts_alone || !is_number(sql_type));
            out.extend(enclosure);
            self.append_escaped(&text, enclosure, out);
            out.extend(enclosure);
        }
        out.extend_from_slice(&self.line_end);
    }

    fn append_escaped(&self, text: &[u8], enclosure: Option<u8>, out: &mut Vec<u8>) {
        let Some(escape) = self.escape else {
            // Within quotes a quote is told by two of them.
            for &byte in text {
                out.extend(enclosure.filter(|&quote| quote == byte));
                out.push(byte);
            }
            return;
        };
        let field_end = enclosure.or_else(|| self.field_end.first().copied());
        let line_end = self.line_end.first().copied();
        for &byte in text {
            match byte {
                0 => out.extend_from_slice(&[escape, b'0']),
                byte if byte == escape || Some(byte) == field_end || Some(byte) == line_end => {
                    out.extend_from_slice(&[escape, byte]);
                }
                byte => out.push(byte),
            }
        }
    }
}

/// A value as INTO OUTFILE and INTO DUMPFILE write it.
pub fn append_text(value: &Value, sql_type: &SqlType, charset: Option<Charset>, out: &mut Vec<u8>) {
    let text: Vec<u8> = match value {
        Value::Str(text) => text.clone(),
        Value::Enum(_) | Value::Set(_) | Value::Bit(..) => value.to_text().to_vec(),
        other => {
            let mut text = Vec::new();
            other.append_text_as(sql_type, &mut text);
            text
        }
    };
    match charset {
        Some(charset) => {
            out.extend_from_slice(&Charset::convert(&text, sql_type.collation.charset(), charset).bytes);
        }
        None => out.extend_from_slice(&text),
    }
}

fn is_number(sql_type: &SqlType) -> bool {
    matches!(
        sql_type.base,
        BaseType::TinyInt
            | BaseType::SmallInt
            | BaseType::MediumInt
            | BaseType::Int
            | BaseType::BigInt
            | BaseType::Decimal
            | BaseType::Float
            | BaseType::Double
            | BaseType::Year
    )
}

fn single(text: &[u8]) -> Result<Option<u8>> {
    match text {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => {
            let message = "Field separator argument is not what is expected; check the manual";
            Err(Error::new(ErrorCode::WrongFieldTerminators, message))
        }
    }
}
