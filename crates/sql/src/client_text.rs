//! Text on its way in: the parser reads UTF-8 whatever character_set_client is, and strings become
//! character_set_connection's.
//!
//! A latin1 statement is converted as a whole, so that names in it are right as well; a string with an introducer goes back
//! to the bytes that the client wrote. What a binary client sends is taken as it is.

use std::borrow::Cow;

use shoal_expr::Settings;
use shoal_types::Charset;

/// The statements as the parser wants them.
pub fn for_parser<'s>(sql: &'s [u8], settings: &Settings) -> Cow<'s, [u8]> {
    match is_converted(settings) {
        true => Charset::convert(sql, settings.character_set_client, Charset::Utf8mb4).bytes,
        false => Cow::Borrowed(sql),
    }
}

/// What the parser's strings have to be converted to, unless they carry an introducer.
pub fn string_charset(settings: &Settings) -> Option<Charset> {
    match (settings.character_set_client, settings.collation_connection.charset()) {
        (Charset::Binary, _) | (_, Charset::Utf8mb4) => None,
        (Charset::Latin1, Charset::Binary) => Some(Charset::Latin1),
        (_, Charset::Binary) => None,
        (client, connection) if client == connection && client != Charset::Latin1 => None,
        (_, connection) => Some(connection),
    }
}

/// A string of the parser's, in the connection's character set.
pub fn string(bytes: &[u8], settings: &Settings) -> Vec<u8> {
    convert(bytes, string_charset(settings))
}

/// A string of the parser's with an introducer: as the client wrote it.
pub fn introduced(bytes: &[u8], settings: &Settings) -> Vec<u8> {
    convert(bytes, is_converted(settings).then_some(settings.character_set_client))
}

/// How texts among a prepared statement's parameters have to be converted.
pub fn parameter_conversion(settings: &Settings) -> Option<(Charset, Charset)> {
    match (settings.character_set_client, settings.collation_connection.charset()) {
        (Charset::Binary, _) | (_, Charset::Binary) | (Charset::Utf8mb3, Charset::Utf8mb4) => None,
        (client, connection) if client == connection => None,
        pair => Some(pair),
    }
}

fn is_converted(settings: &Settings) -> bool {
    match settings.character_set_client {
        Charset::Latin1 => true,
        Charset::Ascii => settings.collation_connection.charset() != Charset::Ascii,
        Charset::Binary | Charset::Utf8mb3 | Charset::Utf8mb4 => false,
    }
}

fn convert(bytes: &[u8], charset: Option<Charset>) -> Vec<u8> {
    match charset {
        Some(charset) => Charset::convert(bytes, Charset::Utf8mb4, charset).bytes.into_owned(),
        None => bytes.to_vec(),
    }
}
