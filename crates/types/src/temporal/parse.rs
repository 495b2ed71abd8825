//! Temporal values from text.
//!
//! A datetime is either digits alone (YYYYMMDDhhmmss and its shorter forms) or up to six numbers with any punctuation
//! between them, with blanks or a T between day and hour, a fraction after the seconds and at its end perhaps an
//! offset from UTC. What follows after that is marked as truncated.

use super::calendar::{EPOCH_DAY_NUMBER, full_year};
use super::zone::parse_offset;
use super::{DateRules, DateTime, FSP_MAX, MICROS_PER_DAY, MICROS_PER_SECOND, TemporalContext, Time};
use crate::number::{Converted, is_blank};

/// What a text said, before it is checked against the calendar.
#[derive(Default)]
struct Fields {
    /// Year, month, day, hour, minute, second.
    parts: [u32; 6],
    /// How many of the parts were written.
    count: usize,
    year_digits: usize,
    fraction: Fraction,
    offset_seconds: Option<i32>,
    /// A blank or T stood between date and time, or nothing did.
    is_clearly_datetime: bool,
    has_trailing_text: bool,
}

/// The digits after the point of a second.
#[derive(Clone, Copy, Default)]
struct Fraction {
    micros: u32,
    digits: u8,
    /// A seventh digit of 5 or more.
    round_up: bool,
}

struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    fn peek_is(&self, test: impl Fn(u8) -> bool) -> bool {
        self.peek().is_some_and(test)
    }

    /// The byte `ahead` of the position is a digit.
    fn digit_ahead(&self, ahead: usize) -> bool {
        self.text.get(self.position + ahead).is_some_and(u8::is_ascii_digit)
    }

    fn skip_blanks(&mut self) {
        while self.peek_is(is_blank) {
            self.position += 1;
        }
    }

    /// At most `digits_max` digits as a number (saturating), and how many there were.
    fn number(&mut self, digits_max: usize) -> (u64, usize) {
        let start = self.position;
        let mut value = 0u64;
        while self.position - start < digits_max
            && let Some(digit) = self.peek().filter(u8::is_ascii_digit)
        {
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.position += 1;
        }
        (value, self.position - start)
    }

    fn fraction(&mut self) -> Fraction {
        let (value, digits) = self.number(usize::from(FSP_MAX));
        let micros = value as u32 * 10u32.pow(u32::from(FSP_MAX) - digits as u32);
        let round_up = self.peek_is(|byte| (b'5'..=b'9').contains(&byte));
        self.number(usize::MAX);
        Fraction { micros, digits: digits as u8, round_up: round_up && digits == usize::from(FSP_MAX) }
    }

    fn rest_is_blank(&self) -> bool {
        self.text[self.position..].iter().all(|&byte| is_blank(byte))
    }
}

fn refused<T>() -> Converted<Option<T>> {
    Converted::truncated(None)
}

pub(super) fn datetime(text: &[u8], context: &TemporalContext) -> Converted<Option<DateTime>> {
    let Some(fields) = read_datetime_fields(text) else {
        return refused();
    };
    assemble_datetime(&fields, context)
}

/// `None`: no year, a blank where none may be, or a number beyond every part.
fn read_datetime_fields(text: &[u8]) -> Option<Fields> {
    const PART_MAX: u64 = 999_999;
    let mut scanner = Scanner { text, position: 0 };
    scanner.skip_blanks();
    let run = text[scanner.position..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let run_end = text.get(scanner.position + run);
    let is_compact = matches!(run_end, None | Some(b'.'));
    let mut fields = Fields { is_clearly_datetime: is_compact, ..Fields::default() };
    let compact_year = if matches!(run, 4 | 8) || run >= 14 { 4 } else { 2 };
    while fields.count < 6 && scanner.digit_ahead(0) {
        let part = fields.count;
        let digits_max = match (is_compact, part) {
            (false, _) => usize::MAX,
            (true, 0) => compact_year,
            (true, _) => 2,
        };
        let (value, digits) = scanner.number(digits_max);
        if value > PART_MAX {
            return None;
        }
        fields.parts[part] = value as u32;
        fields.count += 1;
        if part == 0 {
            fields.year_digits = if is_compact { compact_year } else { digits };
        }
        if part == 2 && scanner.peek() == Some(b'T') {
            scanner.position += 1;
            fields.is_clearly_datetime = true;
        } else if part == 5 {
            read_after_seconds(&mut scanner, &mut fields);
        } else {
            skip_delimiters(&mut scanner, part, &mut fields)?;
        }
    }
    fields.has_trailing_text = !scanner.rest_is_blank();
    (fields.count > 0).then_some(fields)
}

fn read_after_seconds(scanner: &mut Scanner<'_>, fields: &mut Fields) {
    if scanner.peek() == Some(b'.') {
        scanner.position += 1;
        fields.fraction = scanner.fraction();
    }
    if scanner.peek_is(|byte| matches!(byte, b'+' | b'-')) {
        let suffix = scanner.text[scanner.position..].trim_ascii_end();
        if let Some(offset) = parse_offset(suffix) {
            fields.offset_seconds = Some(offset);
            scanner.position = scanner.text.len();
        }
    }
}

/// Blanks may stand only between day and hour.
fn skip_delimiters(scanner: &mut Scanner<'_>, part: usize, fields: &mut Fields) -> Option<()> {
    let start = scanner.position;
    while let Some(byte) = scanner.peek().filter(|&byte| byte.is_ascii_punctuation() || is_blank(byte)) {
        if is_blank(byte) {
            if part != 2 {
                // Blanks at the end are no delimiter.
                return scanner.rest_is_blank().then_some(());
            }
            fields.is_clearly_datetime = true;
        }
        scanner.position += 1;
    }
    if !scanner.digit_ahead(0) && scanner.position < scanner.text.len() {
        scanner.position = start;
    }
    Some(())
}

fn assemble_datetime(fields: &Fields, context: &TemporalContext) -> Converted<Option<DateTime>> {
    if fields.count < 3 {
        return refused();
    }
    let mut parts = fields.parts;
    let is_zero = parts == [0; 6] && fields.fraction.micros == 0;
    if fields.year_digits == 2 && !is_zero && parts[0] < 100 {
        parts[0] = full_year(parts[0]);
    }
    let fsp = fields.fraction.digits;
    let Some(mut value) = DateTime::new(parts, fields.fraction.micros, fsp, context.rules) else {
        // A day that the calendar does not have, or a zero that the rules refuse, against what no date could be.
        let [_, month, day, hour, minute, second] = parts;
        let out_of_range = month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
        return Converted { out_of_range, ..refused() };
    };
    if fields.fraction.round_up {
        match add_micro(value) {
            Some(rounded) => value = rounded,
            None => return Converted { out_of_range: true, ..refused() },
        }
    }
    if let Some(offset) = fields.offset_seconds {
        match shift_to_zone(value, offset, context) {
            Some(shifted) => value = shifted,
            None => return refused(),
        }
    }
    Converted {
        truncated: fields.has_trailing_text,
        rounded: fields.fraction.round_up,
        ..Converted::exact(Some(value))
    }
}

fn add_micro(value: DateTime) -> Option<DateTime> {
    if value.microsecond() < 999_999 {
        return Some(DateTime { packed: value.packed + 1, ..value });
    }
    DateTime::from_micros_since_year_zero(value.micros_since_year_zero() + 1, value.fsp)
}

/// The same moment in the context's zone.
fn shift_to_zone(value: DateTime, offset_seconds: i32, context: &TemporalContext) -> Option<DateTime> {
    if !value.date().is_complete() {
        return None;
    }
    let epoch = EPOCH_DAY_NUMBER * MICROS_PER_DAY;
    let utc = value.micros_since_year_zero() - epoch - i64::from(offset_seconds) * MICROS_PER_SECOND;
    context.zone.local_time(utc, value.fsp)
}

pub(super) fn time(text: &[u8]) -> Converted<Option<Time>> {
    const SHORTEST_DATETIME_TEXT: usize = 12;
    let mut scanner = Scanner { text, position: 0 };
    scanner.skip_blanks();
    let negative = scanner.peek() == Some(b'-');
    if negative {
        scanner.position += 1;
    } else if text.len() - scanner.position >= SHORTEST_DATETIME_TEXT
        && let Some(time) = time_of_datetime(text)
    {
        return time;
    }
    let Some(parts) = read_time_parts(&mut scanner) else {
        return refused();
    };
    let fraction = read_time_fraction(&mut scanner);
    if has_exponent(&scanner) {
        return refused();
    }
    let [days, hours, minutes, seconds] = parts;
    if minutes > 59 || seconds > 59 {
        return Converted { out_of_range: true, ..refused() };
    }
    let hours = days.saturating_mul(24).saturating_add(hours);
    let micros = u64::from(fraction.micros) + u64::from(fraction.round_up);
    let time = Time::from_parts(negative, hours, minutes, seconds, micros, fraction.digits);
    Converted { truncated: !scanner.rest_is_blank(), rounded: fraction.round_up, ..time.map(Some) }
}

/// The time of a text that is a whole datetime; `None` if it is not.
fn time_of_datetime(text: &[u8]) -> Option<Converted<Option<Time>>> {
    let fields = read_datetime_fields(text)?;
    if !fields.is_clearly_datetime || fields.count < 3 {
        return None;
    }
    let rules = DateRules { allow_invalid_dates: true, ..DateRules::default() };
    let parsed = assemble_datetime(&fields, &TemporalContext { rules, ..TemporalContext::default() });
    parsed.value?;
    Some(parsed.map(|value| value.map(DateTime::time)))
}

/// Days, hours, minutes and seconds. `None`: no digits.
fn read_time_parts(scanner: &mut Scanner<'_>) -> Option<[u64; 4]> {
    let (first, digits) = scanner.number(usize::MAX);
    if digits == 0 && !(scanner.peek() == Some(b'.') && scanner.digit_ahead(1)) {
        return None;
    }
    if first > u64::from(u32::MAX) {
        return None;
    }
    let end_of_first = scanner.position;
    scanner.skip_blanks();
    let mut parts = [0u64; 4];
    // A single digit after a blank is not taken for hours.
    let has_more = scanner.position + 1 < scanner.text.len();
    let mut next = if scanner.position > end_of_first && scanner.digit_ahead(0) && has_more {
        parts[0] = first;
        1
    } else if scanner.peek() == Some(b':') && scanner.digit_ahead(1) {
        parts[1] = first;
        scanner.position += 1;
        2
    } else {
        scanner.position = end_of_first;
        return Some([0, first / 10_000, first / 100 % 100, first % 100]);
    };
    loop {
        parts[next] = scanner.number(usize::MAX).0;
        next += 1;
        if next == 4 || scanner.peek() != Some(b':') || !scanner.digit_ahead(1) {
            return Some(parts);
        }
        scanner.position += 1;
    }
}

fn read_time_fraction(scanner: &mut Scanner<'_>) -> Fraction {
    if scanner.peek() != Some(b'.') {
        return Fraction::default();
    }
    if scanner.digit_ahead(1) {
        scanner.position += 1;
        return scanner.fraction();
    }
    if scanner.position + 1 == scanner.text.len() {
        scanner.position += 1;
    }
    Fraction::default()
}

/// A number printed with an exponent is not a time.
fn has_exponent(scanner: &Scanner<'_>) -> bool {
    scanner.peek_is(|byte| matches!(byte, b'e' | b'E'))
        && (scanner.digit_ahead(1)
            || (matches!(scanner.text.get(scanner.position + 1), Some(b'+' | b'-')) && scanner.digit_ahead(2)))
}
