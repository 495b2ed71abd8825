//! Decimals from and to text.

use std::fmt;

use super::wide::{self, MAX_DIGITS, POWERS_OF_TEN_64, Wide};
use super::{Decimal, MAX_PRECISION, WORK_SCALE};
use crate::number::{Converted, NumberPrefix};

impl Decimal {
    /// The longest decimal number that a text begins with (blanks before it are skipped). `truncated`: something other
    /// than blanks follows, or there is no number; `rounded`: digits beyond the capacity were cut off;
    /// `out_of_range`: clamped to 65 nines.
    pub fn parse(text: &[u8]) -> Converted<Decimal> {
        let prefix = NumberPrefix::of(text);
        let truncated = !prefix.is_whole;
        let mut digits = Accumulator::default();
        for &digit in prefix.integer {
            digits.push(digit, false);
        }
        for &digit in prefix.fraction {
            digits.push(digit, true);
        }
        let scale = digits.fraction_taken as i64 - digits.integer_dropped as i64 - i64::from(prefix.exponent);
        let lost = digits.lost;
        let limbs = digits.finish();
        match place_point(limbs, scale) {
            Some((limbs, scale, cut)) => Converted {
                truncated,
                rounded: lost || cut,
                ..Converted::exact(Decimal::with_sign(limbs, scale, prefix.negative))
            },
            None => {
                let greatest = Decimal::max_value(MAX_PRECISION, 0);
                let value = if prefix.negative { -greatest } else { greatest };
                Converted { truncated, ..Converted::clamped(value) }
            }
        }
    }

    /// As SQL shows it: all digits of the scale, and a minus sign for negative numbers.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        let mut buffer = [b'0'; 80];
        let mut start = buffer.len();
        let mut limbs = self.limbs;
        loop {
            let last = limbs[1..] == [0; 3];
            let mut chunk = if last { limbs[0] } else { wide::divide_small(&mut limbs, POWERS_OF_TEN_64[18]) };
            // The lower chunks have 18 digits, with their zeros; the last has what it has.
            let chunk_end = start;
            while chunk > 0 {
                start -= 1;
                buffer[start] = b'0' + (chunk % 10) as u8;
                chunk /= 10;
            }
            if last {
                break;
            }
            start = chunk_end - 18;
        }
        let scale = usize::from(self.scale);
        start = start.min(buffer.len() - scale - 1);
        if self.negative {
            out.push(b'-');
        }
        let point = buffer.len() - scale;
        out.extend_from_slice(&buffer[start..point]);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&buffer[point..]);
        }
    }
}

/// The significant digits of a number while they are read.
#[derive(Default)]
struct Accumulator {
    limbs: Wide,
    /// Up to 18 digits that `limbs` does not have yet.
    pending: u64,
    pending_digits: u32,
    significant: u32,
    fraction_taken: usize,
    integer_dropped: usize,
    lost: bool,
}

impl Accumulator {
    fn push(&mut self, digit: u8, is_fraction: bool) {
        let digit = u64::from(digit - b'0');
        if self.significant >= MAX_DIGITS {
            self.lost |= digit != 0;
            self.integer_dropped += usize::from(!is_fraction);
            return;
        }
        self.fraction_taken += usize::from(is_fraction);
        if self.significant > 0 || digit != 0 {
            self.significant += 1;
            self.pending = self.pending * 10 + digit;
            self.pending_digits += 1;
            if self.pending_digits == 18 {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        wide::multiply_add_small(&mut self.limbs, POWERS_OF_TEN_64[self.pending_digits as usize], self.pending);
        self.pending = 0;
        self.pending_digits = 0;
    }

    fn finish(mut self) -> Wide {
        self.flush();
        self.limbs
    }
}

/// `limbs / 10^scale` as a magnitude with a scale from 0 to WORK_SCALE, and whether digits were cut off.
fn place_point(limbs: Wide, scale: i64) -> Option<(Wide, u8, bool)> {
    if limbs == [0; 4] {
        return Some((limbs, scale.clamp(0, i64::from(WORK_SCALE)) as u8, false));
    }
    if scale < 0 {
        let zeros = u32::try_from(-scale).ok().filter(|zeros| wide::digit_count(&limbs) + zeros <= MAX_DIGITS)?;
        let scaled = wide::scale_up(&wide::widen(&limbs), zeros)?;
        return Some((wide::narrow(&scaled)?, 0, false));
    }
    if scale > i64::from(WORK_SCALE) {
        let excess = (scale - i64::from(WORK_SCALE)).min(i64::from(MAX_DIGITS) + 1) as u32;
        let (cut, lost) = wide::scale_down(&limbs, excess);
        return Some((cut, WORK_SCALE, lost));
    }
    Some((limbs, scale as u8, false))
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(80);
        self.append_text(&mut text);
        f.pad(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
