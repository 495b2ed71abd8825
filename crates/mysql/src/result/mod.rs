//! Results as packets: column definitions, rows in both formats, and the packets that end them.

mod binary;
mod column;
mod outcome;
mod reply;
mod text;

pub use outcome::{SessionStatus, write_end_of_rows, write_eof, write_ok};
pub use reply::{NET_TIMEOUT_S, Reply, ReplyParts, Shape, flush, receive};

pub(crate) use column::write_definition;

use shoal_types::{BaseType, Charset, Collation, SqlType};

/// What a row needs to know of one of its columns.
#[derive(Clone, Debug)]
pub struct ColumnEncoder {
    sql_type: SqlType,
    /// The text has to be converted from the first character set to the second.
    conversion: Option<(Charset, Charset)>,
}

impl ColumnEncoder {
    pub fn new(sql_type: &SqlType, result_collation: Option<Collation>) -> ColumnEncoder {
        ColumnEncoder { sql_type: sql_type.clone(), conversion: conversion(sql_type, result_collation) }
    }

    /// Appends a text with its length, converted if need be.
    fn append_string(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.conversion {
            None => crate::packet::append_length_bytes(out, text),
            Some((from, to)) => crate::packet::append_length_bytes(out, &Charset::convert(text, from, to).bytes),
        }
    }
}

fn conversion(sql_type: &SqlType, result_collation: Option<Collation>) -> Option<(Charset, Charset)> {
    let to = result_collation?.charset();
    let from = match sql_type.base {
        BaseType::Json => Charset::Utf8mb4,
        _ if sql_type.is_string() => sql_type.collation.charset(),
        _ => return None,
    };
    match (from, to) {
        (Charset::Binary, _) | (_, Charset::Binary) => None,
        (Charset::Ascii, _) | (Charset::Utf8mb3, Charset::Utf8mb4) => None,
        (from, to) if from == to => None,
        pair => Some(pair),
    }
}

/// Appends what `append` appends, with its size in one byte before it (or more, where it turns out to be long).
fn append_measured(out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    append(out);
    let size = out.len() - at - 1;
    if size <= 250 {
        out[at] = size as u8;
    } else {
        let mut prefix = Vec::with_capacity(9);
        crate::packet::append_length(&mut prefix, size as u64);
        out.splice(at..=at, prefix);
    }
}

/// The bytes of a BIT value, the most significant first.
fn bit_bytes(bits: u64, width: u8) -> ([u8; 8], usize) {
    (bits.to_be_bytes(), 8 - usize::from(width.clamp(1, 64)).div_ceil(8))
}

#[cfg(test)]
mod tests;
