//! Texts in other notations: HEX, base 64, QUOTE, SOUNDEX, FORMAT, CHAR, WEIGHT_STRING.

use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use shoal_types::{Collation, ErrorCode, Result, SqlType, Value};

use super::argument::{integer, text};
use super::{Derivation, Function, MANY, ResultType};
use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("HEX", 1, 1, hex_type, hex),
    Function::new(
        "UNHEX",
        1,
        1,
        |d| {
            let length = d.length_of(0).div_ceil(2);
            Ok(d.bytes(length)?.nullable())
        },
        unhex,
    ),
    Function::new(
        "TO_BASE64",
        1,
        1,
        |d| {
            let length = d.length_of(0).saturating_mul(2).saturating_add(4);
            d.ascii_text(length)
        },
        to_base64,
    ),
    Function::new(
        "FROM_BASE64",
        1,
        1,
        |d| {
            let length = d.length_of(0);
            Ok(d.bytes(length)?.nullable())
        },
        from_base64,
    ),
    Function::new(
        "QUOTE",
        1,
        1,
        |d| {
            let length = d.length_of(0).saturating_mul(2).saturating_add(2);
            Ok(d.text(&[0], length)?.not_null())
        },
        quote,
    )
    .takes_nulls(),
    Function::new(
        "SOUNDEX",
        1,
        1,
        |d| {
            let length = d.length_of(0).max(4);
            d.text(&[0], length)
        },
        soundex,
    ),
    Function::new(
        "FORMAT",
        2,
        3,
        |d| {
            let length = d.length_of(0).saturating_mul(2).saturating_add(32);
            d.ascii_text(length)
        },
        format,
    )
    .takes_nulls(),
    Function::new("CHAR", 1, MANY, |d| Ok(codes_type(d, 4)?.not_null()), char_codes).takes_nulls(),
    Function::new(
        "CHAR USING UTF16",
        1,
        MANY,
        |d| Ok(codes_type(d, 2)?.with_collation(Collation::UTF8MB4_0900_AI_CI).nullable()),
        utf16_characters,
    )
    .takes_nulls(),
    Function::new("WEIGHT_STRING", 1, 1, weight_type, weight),
    Function::new("FORMAT_BYTES", 1, 1, |d| d.ascii_text(16), format_bytes),
    Function::new("FORMAT_PICO_TIME", 1, 1, |d| d.ascii_text(17), format_pico_time),
    Function::new("LOAD_FILE", 1, 1, |d| Ok(d.bytes(u64::from(u32::MAX))?.nullable()), |_, _, _| Ok(Value::Null)),
];

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Upper-case hexadecimal digits of bytes.
pub(super) fn hex_of(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|byte| [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]])
        .collect()
}

fn hex_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let sql_type = derivation.type_of(0).cloned().unwrap_or_default();
    let bytes = if sql_type.is_string() {
        sql_type.length as u64 * sql_type.collation.charset().char_bytes_max() as u64
    } else {
        8
    };
    derivation.ascii_text(bytes.saturating_mul(2))
}

fn hex(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let is_number = call.arguments.first().is_some_and(|argument| argument.sql_type().is_numeric());
    if is_number {
        let number = match &values[0] {
            Value::Double(number) if *number < 0.0 => *number as i64 as u64,
            other => convert::to_bits(other, ctx)?,
        };
        return Ok(Value::Str(format!("{number:X}").into_bytes()));
    }
    let bytes = text(call, values, 0);
    if bytes.len() * 2 > ctx.settings.max_allowed_packet {
        return ctx.too_long("hex");
    }
    Ok(Value::Str(hex_of(&bytes)))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The bytes that hexadecimal digits spell; an odd first digit stands alone. `None`: another character.
pub(super) fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    for digit in odd {
        bytes.push(hex_digit(*digit)?);
    }
    for pair in pairs.chunks_exact(2) {
        bytes.push(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?);
    }
    Some(bytes)
}

fn unhex(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(bytes_of_hex(&text(call, values, 0)).map_or(Value::Null, Value::Str))
}

const BASE64_LINE: usize = 76;

/// What FROM_BASE64 takes: padding is needed, bits behind the last byte do not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

fn to_base64(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let bytes = text(call, values, 0);
    if bytes.len().saturating_mul(2) > ctx.settings.max_allowed_packet {
        return ctx.too_long("to_base64");
    }
    let digits = BASE64.encode(&bytes).into_bytes();
    Ok(Value::Str(digits.chunks(BASE64_LINE).collect::<Vec<_>>().join(&b'\n')))
}

fn from_base64(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Ok(BASE64.decode(&digits).map_or(Value::Null, Value::Str))
}

fn quote(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::str("NULL"));
    }
    let text = text(call, values, 0);
    if text.len().saturating_mul(2) > ctx.settings.max_allowed_packet {
        return ctx.too_long("quote");
    }
    let mut result = vec![b'\''];
    for byte in text.iter() {
        match byte {
            b'\'' | b'\\' => result.extend_from_slice(&[b'\\', *byte]),
            0 => result.extend_from_slice(b"\\0"),
            0x1A => result.extend_from_slice(b"\\Z"),
            other => result.push(*other),
        }
    }
    result.push(b'\'');
    Ok(Value::Str(result))
}

/// SOUNDEX codes of A to Z; 0 for vowels and H, W, Y.
const SOUNDEX_CODES: &[u8; 26] = b"01230120022455012623010202";

fn soundex(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    let code_of = |character: char| match character.to_ascii_uppercase() {
        letter @ 'A'..='Z' => SOUNDEX_CODES[letter as usize - 'A' as usize],
        _ => b'0',
    };
    let charset = call.collation.charset();
    let mut letters = charset.symbols(&text).filter_map(|symbol| symbol.to_char()).filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else {
        return Ok(Value::Str(Vec::new()));
    };
    let mut result = Vec::new();
    charset.encode(u32::from(first), &mut result);
    result = call.collation.to_upper(&result).into_owned();
    let mut count = 1;
    let mut last = code_of(first);
    // The original algorithm, which MySQL keeps: vowels go first, then neighbours of one code count once.
    for code in letters.map(code_of) {
        if code != b'0' && code != last {
            result.push(code);
            count += 1;
            last = code;
        }
    }
    while count < 4 {
        result.push(b'0');
        count += 1;
    }
    Ok(Value::Str(result))
}

/// The digit group separator and the decimal point of a locale; `None` for one that is not known.
fn separators(locale: &[u8]) -> Option<(&'static str, char)> {
    let locale = String::from_utf8_lossy(locale).to_ascii_lowercase();
    Some(match locale.as_str() {
        "en_us" | "en_gb" | "en_au" | "en_ca" | "en_in" | "ja_jp" | "zh_cn" | "zh_tw" | "ko_kr" | "he_il" => {
            (",", '.')
        }
        "de_de" | "da_dk" | "es_ar" | "id_id" | "nb_no" | "no_no" | "ro_ro" | "tr_tr" | "is_is" => (".", ','),
        "de_ch" => ("'", '.'),
        "fr_fr" | "es_es" | "it_it" | "nl_nl" | "pt_pt" | "pl_pl" | "de_at" | "el_gr" | "bg_bg" => ("", ','),
        "ru_ru" | "uk_ua" | "be_by" => (".", ','),
        "sv_se" | "fi_fi" | "cs_cz" | "sk_sk" | "hu_hu" => (" ", ','),
        _ => return None,
    })
}

/// FORMAT(number, places, locale): rounded, with groups of three digits.
fn format(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() || values[1].is_null() {
        return Ok(Value::Null);
    }
    let places = integer(values, 1, ctx)?.clamp(0, 30);
    let (group, point) = match values.get(2) {
        Some(Value::Null) | None => (",", '.'),
        Some(_) => separators(&text(call, values, 2)).unwrap_or((",", '.')),
    };
    let mut digits = Vec::new();
    match &values[0] {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => {
            convert::to_decimal(&values[0], ctx)?.round(places as i32).append_text(&mut digits);
        }
        other => {
            let number = convert::to_f64(other, ctx)?;
            let rounded = shoal_types::number::round_f64(number, places as i32, false);
            shoal_types::number::append_f64_fixed(rounded, places as u8, &mut digits);
        }
    }
    Ok(Value::Str(group_digits(&digits, group, point)))
}

fn group_digits(digits: &[u8], group: &str, point: char) -> Vec<u8> {
    let (sign, digits) = match digits.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    let end = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let mut result = Vec::with_capacity(digits.len() * 2);
    if sign {
        result.push(b'-');
    }
    for (index, digit) in digits[..end].iter().enumerate() {
        if index > 0 && (end - index) % 3 == 0 {
            result.extend_from_slice(group.as_bytes());
        }
        result.push(*digit);
    }
    if let Some(fraction) = digits.get(end + 1..) {
        result.push(point as u8);
        result.extend_from_slice(fraction);
    }
    result
}

fn codes_type(derivation: &mut Derivation<'_>, length_of_each: u64) -> Result<ResultType> {
    for position in 0..derivation.arguments.len() {
        derivation.expect(position, &SqlType::bigint(true));
    }
    derivation.bytes(derivation.arguments.len() as u64 * length_of_each)
}

/// CHAR(n, ..): the bytes of each number, leading zero bytes left out.
fn char_codes(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut result = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        let number = convert::to_bits(value, ctx)? as u32;
        let bytes = number.to_be_bytes();
        let zeros = (number.leading_zeros() / 8).min(3) as usize;
        result.extend_from_slice(&bytes[zeros..]);
    }
    Ok(Value::Str(result))
}

/// CHAR(n, .. USING utf16): each number is one or two units of UTF-16. NULL where they are no characters.
fn utf16_characters(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut units = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let number = convert::to_bits(value, ctx)? as u32;
        let high = (number >> 16) as u16;
        units.extend((high != 0).then_some(high));
        units.push(number as u16);
    }
    match String::from_utf16(&units) {
        Ok(text) => Ok(Value::Str(text.into_bytes())),
        Err(_) => {
            let hex: String = units.iter().take(3).map(|unit| format!("{unit:04X}")).collect();
            ctx.warn(ErrorCode::InvalidCharacterString, || format!("Invalid utf16 character string: '{hex}'"));
            Ok(Value::Null)
        }
    }
}

fn weight_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let sql_type = derivation.type_of(0).cloned().unwrap_or_default();
    let collation = if sql_type.is_string() { sql_type.collation } else { Collation::BINARY };
    let length = derivation.length_of(0).saturating_mul(8);
    let is_string = sql_type.is_string();
    let mut result = derivation.bytes(length)?.with_collation(collation);
    result.nullable |= !is_string;
    Ok(result)
}

/// The bytes by which the text is compared; NULL for anything but a string.
fn weight(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    if !call.arguments.first().is_some_and(|argument| argument.sql_type().is_string()) {
        return Ok(Value::Null);
    }
    let text = text(call, values, 0);
    if call.collation == Collation::BINARY {
        return Ok(Value::Str(text.into_owned()));
    }
    let (mut key, mut terminator) = (Vec::new(), Vec::new());
    call.collation.append_sort_key(&text, None, &mut key);
    call.collation.append_sort_key(b"", None, &mut terminator);
    if key.ends_with(&terminator) {
        key.truncate(key.len() - terminator.len());
    }
    Ok(Value::Str(key))
}

/// Picoseconds in the largest unit that fits.
fn format_pico_time(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let number = convert::to_f64(&values[0], ctx)?;
    let units =
        [(86_400e12, "d"), (3600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];
    let shown = match units.into_iter().find(|(size, _)| number.abs() >= *size) {
        None => format!("{:3} ps", number as i64),
        Some((size, unit)) if (number / size).abs() >= 100_000.0 => format!("{:.2e} {unit}", number / size),
        Some((size, unit)) => format!("{:.2} {unit}", number / size),
    };
    Ok(Value::str(shown))
}

const BYTE_UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

fn format_bytes(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut number = convert::to_f64(&values[0], ctx)?;
    let mut unit = 0;
    while number.abs() >= 1024.0 && unit + 1 < BYTE_UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    let shown = match unit {
        0 => format!("{:4} {}", number as i64, BYTE_UNITS[0]),
        _ if number.abs() >= 100_000.0 => format!("{number:.2e} {}", BYTE_UNITS[unit]),
        _ => format!("{number:.2} {}", BYTE_UNITS[unit]),
    };
    Ok(Value::str(shown))
}
