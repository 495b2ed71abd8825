//! Numbers from and to text, as MySQL reads and prints them.
//!
//! Reading takes the longest number that a text begins with and says whether anything was left over. Printing of
//! floating point numbers gives the shortest digits that read back as the same number, laid out as MySQL lays them
//! out: plain up to 15 digits before the point and 14 zeros after it, with an exponent beyond.

use std::io::Write;

/// What became of a value that was converted to another type: the nearest value, and what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted<T> {
    /// The nearest value of the target type.
    pub value: T,
    /// The text was not wholly a value of the target type (MySQL's warning 1292, error 1366).
    pub truncated: bool,
    /// The value had to be clamped (MySQL's 1264 or 1690).
    pub out_of_range: bool,
    /// Digits other than zero were lost after the point (MySQL's note 1265).
    pub rounded: bool,
}

impl<T> Converted<T> {
    /// Converted without loss.
    pub fn exact(value: T) -> Converted<T> {
        Converted { value, truncated: false, out_of_range: false, rounded: false }
    }

    /// Clamped to `value`.
    pub fn clamped(value: T) -> Converted<T> {
        Converted { out_of_range: true, ..Converted::exact(value) }
    }

    /// Not wholly a value of the target type.
    pub fn truncated(value: T) -> Converted<T> {
        Converted { truncated: true, ..Converted::exact(value) }
    }

    /// The same marks on another value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Converted<U> {
        Converted {
            value: convert(self.value),
            truncated: self.truncated,
            out_of_range: self.out_of_range,
            rounded: self.rounded,
        }
    }

    /// A conversion of the converted value: the marks of both.
    pub fn and_then<U>(self, convert: impl FnOnce(T) -> Converted<U>) -> Converted<U> {
        let next = convert(self.value);
        Converted {
            value: next.value,
            truncated: self.truncated | next.truncated,
            out_of_range: self.out_of_range | next.out_of_range,
            rounded: self.rounded | next.rounded,
        }
    }

    /// Nothing was lost.
    pub fn is_exact(&self) -> bool {
        !(self.truncated || self.out_of_range || self.rounded)
    }
}

/// The parts of the number that a text begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberPrefix<'a> {
    pub negative: bool,
    pub integer: &'a [u8],
    pub fraction: &'a [u8],
    pub exponent: i32,
    /// The number itself, from its sign to its exponent.
    pub text: &'a [u8],
    /// There is a number, and nothing but blanks around it.
    pub is_whole: bool,
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn digits_end(text: &[u8], start: usize) -> usize {
    start + text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

impl<'a> NumberPrefix<'a> {
    pub(crate) fn of(text: &'a [u8]) -> NumberPrefix<'a> {
        let start = text.iter().take_while(|&&byte| is_blank(byte)).count();
        let signed = matches!(text.get(start), Some(b'+' | b'-'));
        let negative = text.get(start) == Some(&b'-');
        let integer_start = start + usize::from(signed);
        let integer_end = digits_end(text, integer_start);
        let mut end = integer_end;
        let mut fraction: &[u8] = &[];
        if text.get(integer_end) == Some(&b'.') {
            let fraction_end = digits_end(text, integer_end + 1);
            fraction = &text[integer_end + 1..fraction_end];
            if !fraction.is_empty() || integer_end > integer_start {
                end = fraction_end;
            }
        }
        let integer = &text[integer_start..integer_end];
        let has_digits = !integer.is_empty() || !fraction.is_empty();
        let mut exponent = 0;
        if has_digits && let Some((value, exponent_end)) = read_exponent(text, end) {
            exponent = value;
            end = exponent_end;
        }
        let is_whole = has_digits && text[end..].iter().all(|&byte| is_blank(byte));
        let number = if has_digits { &text[start..end] } else { &text[start..start] };
        NumberPrefix { negative, integer, fraction, exponent, text: number, is_whole }
    }
}

impl NumberPrefix<'_> {
    pub(crate) fn has_digits(&self) -> bool {
        !self.integer.is_empty() || !self.fraction.is_empty()
    }
}

/// `e` with an optional sign and digits at `start`: the exponent (clamped) and where it ends.
fn read_exponent(text: &[u8], start: usize) -> Option<(i32, usize)> {
    const EXPONENT_MAX: i32 = 1_000_000;
    if !matches!(text.get(start), Some(b'e' | b'E')) {
        return None;
    }
    let signed = matches!(text.get(start + 1), Some(b'+' | b'-'));
    let digits_start = start + 1 + usize::from(signed);
    let end = digits_end(text, digits_start.min(text.len()));
    if end <= digits_start {
        return None;
    }
    let magnitude = text[digits_start..end]
        .iter()
        .fold(0i32, |value, digit| (value * 10 + i32::from(digit - b'0')).min(EXPONENT_MAX));
    Some((if text[start + 1] == b'-' { -magnitude } else { magnitude }, end))
}

/// The digits as an integer, clamped to u64.
fn parse_digits(digits: &[u8]) -> Converted<u64> {
    let mut value = 0u64;
    for digit in digits {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) => value = next,
            None => return Converted::clamped(u64::MAX),
        }
    }
    Converted::exact(value)
}

/// The integer that a text begins with, up to the first byte that is not a digit, as CAST and integer arguments of
/// functions read strings ('1.9' is 1, truncated). Clamped to -2^63 .. 2^64-1.
pub fn parse_integer(text: &[u8]) -> Converted<i128> {
    let prefix = NumberPrefix::of(text);
    let end = prefix.integer.as_ptr() as usize - text.as_ptr() as usize + prefix.integer.len();
    let truncated = prefix.integer.is_empty() || !text[end..].iter().all(|&byte| is_blank(byte));
    let magnitude = parse_digits(prefix.integer);
    let mut result = magnitude.map(|value| if prefix.negative { -i128::from(value) } else { i128::from(value) });
    if result.value < i128::from(i64::MIN) {
        result = Converted::clamped(i128::from(i64::MIN));
    }
    Converted { truncated, ..result }
}

/// [`parse_integer`] clamped to i64.
pub fn parse_i64(text: &[u8]) -> Converted<i64> {
    parse_integer(text).and_then(integer_to_i64)
}

/// [`parse_integer`] clamped to u64.
pub fn parse_u64(text: &[u8]) -> Converted<u64> {
    parse_integer(text).and_then(integer_to_u64)
}

/// Clamped to the range of i64.
pub fn integer_to_i64(number: i128) -> Converted<i64> {
    match i64::try_from(number) {
        Ok(number) => Converted::exact(number),
        Err(_) => Converted::clamped(if number < 0 { i64::MIN } else { i64::MAX }),
    }
}

/// Clamped to the range of u64.
pub fn integer_to_u64(number: i128) -> Converted<u64> {
    match u64::try_from(number) {
        Ok(number) => Converted::exact(number),
        Err(_) => Converted::clamped(if number < 0 { 0 } else { u64::MAX }),
    }
}

/// The double that a text begins with; clamped to the greatest finite numbers.
pub fn parse_f64(text: &[u8]) -> Converted<f64> {
    let prefix = NumberPrefix::of(text);
    let number = std::str::from_utf8(prefix.text).ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let value = number.clamp(f64::MIN, f64::MAX);
    Converted { truncated: !prefix.is_whole, out_of_range: value != number, ..Converted::exact(value) }
}

const DIGIT_PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[number * 2] = b'0' + (number / 10) as u8;
        pairs[number * 2 + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Appends the number in decimal digits.
pub fn append_i64(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    append_u64(number.unsigned_abs(), out);
}

/// Appends the number in decimal digits.
pub fn append_u64(mut number: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut start = buffer.len();
    while number >= 100 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        start -= 2;
        buffer[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = number as usize * 2;
        start -= 2;
        buffer[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    } else {
        start -= 1;
        buffer[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&buffer[start..]);
}

/// `number` in exactly `width` digits (its last ones if it has more).
pub(crate) fn append_padded(mut number: u32, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// The decimal digits of a floating point number: `0.digits * 10^point`.
struct Digits {
    digits: [u8; 17],
    count: usize,
    point: i32,
}

impl Digits {
    /// From Rust's exponent notation, `d.ddde-dd`, without the sign.
    fn read(text: &[u8]) -> Digits {
        let mut digits = Digits { digits: [b'0'; 17], count: 0, point: 0 };
        let mut bytes = text.iter();
        for &byte in bytes.by_ref() {
            match byte {
                b'0'..=b'9' if digits.count < digits.digits.len() => {
                    digits.digits[digits.count] = byte;
                    digits.count += 1;
                }
                b'e' => break,
                _ => {}
            }
        }
        let exponent = std::str::from_utf8(bytes.as_slice()).ok().and_then(|text| text.parse::<i32>().ok());
        digits.point = exponent.unwrap_or(0) + 1;
        while digits.count > 1 && digits.digits[digits.count - 1] == b'0' {
            digits.count -= 1;
        }
        digits
    }

    /// The fewest digits that read back as the same number; of several the nearest, at a tie the even ones.
    fn shortest(number: f64) -> Digits {
        /// With fewer digits there are no ties.
        const TIE_DIGITS_MIN: usize = 16;
        let mut buffer = [0u8; 32];
        let digits = Digits::read(format_into(&mut buffer, format_args!("{number:e}")));
        if digits.count < TIE_DIGITS_MIN { digits } else { Digits::rounded(number, digits.count) }
    }

    /// At most `count` digits, correctly rounded.
    fn rounded(number: f64, count: usize) -> Digits {
        let mut buffer = [0u8; 32];
        Digits::read(format_into(&mut buffer, format_args!("{number:.*e}", count - 1)))
    }

    /// The plain form in the middle of the range and for numbers with a fraction, the exponent form outside.
    fn append(&self, out: &mut Vec<u8>) {
        const PLAIN_POINT_MAX: i32 = 15;
        let digits = &self.digits[..self.count];
        let is_large_integer = self.point > PLAIN_POINT_MAX && digits.len() as i32 <= self.point;
        if is_large_integer || self.point < -PLAIN_POINT_MAX + 1 {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.push(b'e');
            append_i64(i64::from(self.point - 1), out);
        } else if self.point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + self.point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else if digits.len() <= self.point as usize {
            out.extend_from_slice(digits);
            out.resize(out.len() + self.point as usize - digits.len(), b'0');
        } else {
            let (integer, fraction) = digits.split_at(self.point as usize);
            out.extend_from_slice(integer);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    }
}

fn format_into<'a>(buffer: &'a mut [u8; 32], text: std::fmt::Arguments<'_>) -> &'a [u8] {
    let mut rest = &mut buffer[..];
    // Neither 17 digits with an exponent nor fewer can exceed the buffer.
    let _ = rest.write_fmt(text);
    let left = rest.len();
    &buffer[..32 - left]
}

/// The sign, and the texts of what is not a number with digits; true if nothing is left to print.
fn append_special(number: f64, out: &mut Vec<u8>) -> bool {
    if number.is_nan() {
        out.extend_from_slice(b"nan");
        return true;
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    if number.is_infinite() {
        out.extend_from_slice(b"inf");
        return true;
    }
    false
}

/// The shortest text that reads back as the same DOUBLE, in MySQL's layout.
pub fn append_f64(number: f64, out: &mut Vec<u8>) {
    const PLAIN_INTEGER_MAX: f64 = 999_999_999_999_999.0;
    if number.abs() <= PLAIN_INTEGER_MAX
        && number.trunc() == number
        && !(number == 0.0 && number.is_sign_negative())
    {
        append_i64(number as i64, out);
    } else if !append_special(number, out) {
        Digits::shortest(number.abs()).append(out);
    }
}

/// A FLOAT with its 6 significant digits.
pub fn append_f32(number: f32, out: &mut Vec<u8>) {
    const FLOAT_DIGITS: usize = 6;
    let number = f64::from(number);
    if !append_special(number, out) {
        Digits::rounded(number.abs(), FLOAT_DIGITS).append(out);
    }
}

/// With exactly `decimals` digits after the point (columns declared (M,D), FORMAT): the shortest digits where they
/// suffice, else correctly rounded.
pub fn append_f64_fixed(number: f64, decimals: u8, out: &mut Vec<u8>) {
    if append_special(number, out) {
        return;
    }
    let number = number.abs();
    let decimals = usize::from(decimals);
    let shortest = Digits::shortest(number);
    let fraction_digits = shortest.count as i64 - i64::from(shortest.point);
    if fraction_digits > decimals as i64 {
        let _ = write!(out, "{number:.decimals$}");
        return;
    }
    let integer_digits = shortest.point.max(1) as usize;
    let start = out.len();
    out.resize(start + integer_digits + decimals, b'0');
    // A number without digits before the point has as many zeros after it.
    let first = start + if shortest.point > 0 { 0 } else { 1 + shortest.point.unsigned_abs() as usize };
    if number != 0.0 {
        out[first..first + shortest.count].copy_from_slice(&shortest.digits[..shortest.count]);
    }
    if decimals > 0 {
        out.insert(start + integer_digits, b'.');
    }
}

/// Rounds to `decimals` digits after the point (before it when negative), halves to even as the processor does, or
/// truncates.
pub fn round_f64(number: f64, decimals: i32, truncate: bool) -> f64 {
    let power = 10f64.powi(decimals.saturating_abs());
    let scaled = if decimals < 0 { number / power } else { number * power };
    if power.is_infinite() || scaled.is_infinite() {
        return if decimals < 0 { 0.0 } else { number };
    }
    let integral = if truncate { scaled.trunc() } else { scaled.round_ties_even() };
    if decimals < 0 { integral * power } else { integral / power }
}

/// The nearest integer, halves to even (the C library's rint), clamped.
pub fn f64_to_i64(number: f64) -> Converted<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let integral = number.round_ties_even();
    if (-BOUND..BOUND).contains(&integral) {
        Converted { rounded: integral != number, ..Converted::exact(integral as i64) }
    } else {
        Converted::clamped(if number.is_nan() { 0 } else { integral as i64 })
    }
}

/// The nearest integer, halves to even, clamped.
pub fn f64_to_u64(number: f64) -> Converted<u64> {
    const BOUND: f64 = 18_446_744_073_709_551_616.0;
    let integral = number.round_ties_even();
    if (0.0..BOUND).contains(&integral) {
        Converted { rounded: integral != number, ..Converted::exact(integral as u64) }
    } else {
        Converted::clamped(if number.is_nan() { 0 } else { integral as u64 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn double(number: f64) -> String {
        let mut out = Vec::new();
        append_f64(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn fixed(number: f64, decimals: u8) -> String {
        let mut out = Vec::new();
        append_f64_fixed(number, decimals, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_printed_as_mysql_prints_them() {
        let cases = [
            (1e20, "1e20"),
            (1.5e-7, "0.00000015"),
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (123456789012345678.0, "1.2345678901234568e17"),
            (0.0001, "0.0001"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1.5e15, "1.5e15"),
            (-1e-10, "-0.0000000001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.25e-16, "1.25e-16"),
            (123456789012345.6, "123456789012345.6"),
            (123456.789e10, "1.23456789e15"),
            (591687744785796.2, "591687744785796.2"),
            (1089634240258607.9, "1089634240258607.9"),
            (1e100, "1e100"),
            (f64::MAX, "1.7976931348623157e308"),
            (0.0, "0"),
            (-0.0, "-0"),
            (100.0, "100"),
        ];
        for (number, text) in cases {
            assert_eq!(double(number), text);
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (number, text) in [
            (1.1f32, "1.1"),
            (16_777_216.0, "16777200"),
            (1e20, "1e20"),
            (0.1, "0.1"),
            (3.402_823_5e38, "3.40282e38"),
        ] {
            let mut out = Vec::new();
            append_f32(number, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn fixed_digits_pad_the_shortest_form_or_round_the_exact_one() {
        let cases = [
            (0.1, 20, "0.10000000000000000000"),
            (1234.5678, 2, "1234.57"),
            (0.5, 0, "0"),
            (1.5, 0, "2"),
            (1e20, 2, "100000000000000000000.00"),
            (0.0, 3, "0.000"),
            (-2.25, 1, "-2.2"),
            (0.001, 2, "0.00"),
            (0.001, 5, "0.00100"),
            (12.0, 0, "12"),
        ];
        for (number, decimals, text) in cases {
            assert_eq!(fixed(number, decimals), text, "{number}");
        }
    }

    #[test]
    fn integers_of_casts_stop_at_the_point() {
        assert_eq!(parse_i64(b" 42 "), Converted::exact(42));
        assert_eq!(parse_i64(b"1.9"), Converted::truncated(1));
        assert_eq!(parse_i64(b"abc"), Converted::truncated(0));
        assert_eq!(parse_i64(b"9223372036854775808"), Converted::clamped(i64::MAX));
        assert_eq!(parse_i64(b"-9223372036854775808"), Converted::exact(i64::MIN));
        assert_eq!(parse_u64(b"18446744073709551615"), Converted::exact(u64::MAX));
        assert_eq!(parse_u64(b"-1"), Converted::clamped(0));
    }

    #[test]
    fn doubles_are_read_by_their_prefix_and_clamped() {
        assert_eq!(parse_f64(b" 1.5e3xyz"), Converted::truncated(1500.0));
        assert_eq!(parse_f64(b".5"), Converted::exact(0.5));
        assert_eq!(parse_f64(b"inf"), Converted::truncated(0.0));
        assert_eq!(parse_f64(b"-1e999"), Converted::clamped(f64::MIN));
    }

    #[test]
    fn rounding_of_doubles_takes_halves_to_even() {
        assert_eq!(round_f64(2.5, 0, false), 2.0);
        assert_eq!(round_f64(-1.55, 1, true), -1.5);
        assert_eq!(round_f64(1234.0, -2, false), 1200.0);
        assert_eq!(round_f64(1.5, 400, false), 1.5);
        assert_eq!(round_f64(1.5, -400, false), 0.0);
        assert_eq!(f64_to_i64(3.5).value, 4);
        assert!(f64_to_i64(1e19).out_of_range);
        assert_eq!(f64_to_u64(1e19), Converted::exact(10_000_000_000_000_000_000));
    }

    proptest! {
        #[test]
        fn integers_print_as_rust_prints_them(signed in any::<i64>(), unsigned in any::<u64>()) {
            let mut out = Vec::new();
            append_i64(signed, &mut out);
            prop_assert_eq!(std::str::from_utf8(&out).unwrap(), signed.to_string());
            out.clear();
            append_u64(unsigned, &mut out);
            prop_assert_eq!(std::str::from_utf8(&out).unwrap(), unsigned.to_string());
        }

        #[test]
        fn doubles_read_back_as_they_were(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(parse_f64(double(number).as_bytes()), Converted::exact(number));
            let _ = fixed(number, (bits % 31) as u8);
        }

        #[test]
        fn no_bytes_make_parsing_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (parse_i64(&bytes), parse_u64(&bytes), parse_f64(&bytes));
        }
    }
}
