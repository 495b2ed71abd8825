//! MySQL's DECIMAL: up to 65 digits, 30 of them after the point, exact.
//!
//! A decimal is a binary magnitude of up to 76 decimal digits, a scale (digits after the point) and a sign, in a
//! fixed-size value that is copied, never allocated. Intermediate results may carry up to [`WORK_SCALE`] digits after
//! the point, as MySQL's do; what a column or an expression shows is rounded to its declared scale by whoever knows
//! that. Where integer and fraction together would need more than 76 digits the fraction is cut off; an integer of
//! more digits is an overflow. Magnitudes below 2^128 take paths without multi-limb arithmetic.
//!
//! `arithmetic` calculates, `binary` is the form at rest, `text` parses and prints, `wide` is the integer arithmetic.

mod arithmetic;
mod binary;
mod text;
mod wide;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::number::Converted;
use wide::{MAX_DIGITS, POWERS_OF_TEN, Wide};

pub use binary::binary_size;

/// Most digits of a DECIMAL column.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point of a DECIMAL column.
pub const MAX_SCALE: u8 = 30;
/// Most digits after the point between operations: four groups of nine.
pub const WORK_SCALE: u8 = 36;

/// A decimal number that carries its own scale: `magnitude / 10^scale`, with a sign. Zero is never negative.
#[derive(Clone, Copy)]
pub struct Decimal {
    /// The magnitude, below 10^76, least significant limb first.
    limbs: Wide,
    scale: u8,
    negative: bool,
}

impl Decimal {
    /// Zero, with no digits after the point.
    pub const ZERO: Decimal = Decimal { limbs: [0; 4], scale: 0, negative: false };
    /// One, with no digits after the point.
    pub const ONE: Decimal = Decimal { limbs: [1, 0, 0, 0], scale: 0, negative: false };

    /// `unscaled / 10^scale`; the scale is at most [`WORK_SCALE`].
    pub fn new(unscaled: i128, scale: u8) -> Decimal {
        debug_assert!(scale <= WORK_SCALE);
        Decimal {
            limbs: wide::from_u128(unscaled.unsigned_abs()),
            scale: scale.min(WORK_SCALE),
            negative: unscaled < 0,
        }
    }

    /// The magnitude in little-endian bytes, the scale, and whether the number is negative.
    pub(crate) fn to_parts(self) -> ([u8; 32], u8, bool) {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.limbs) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        (bytes, self.scale, self.negative)
    }

    /// What `to_parts` gave; `None` for a magnitude or scale beyond the bounds of decimals.
    pub(crate) fn from_parts(magnitude: &[u8; 32], scale: u8, negative: bool) -> Option<Decimal> {
        let mut limbs = [0; 4];
        for (limb, chunk) in limbs.iter_mut().zip(magnitude.chunks_exact(8)) {
            *limb = crate::bytes::little_endian_word(chunk);
        }
        let is_bounded = wide::compare(&limbs, &POWERS_OF_TEN[MAX_DIGITS as usize]) == Ordering::Less;
        (is_bounded && scale <= WORK_SCALE).then(|| Decimal::with_sign(limbs, scale, negative))
    }

    fn with_sign(limbs: Wide, scale: u8, negative: bool) -> Decimal {
        Decimal { limbs, scale, negative: negative && limbs != [0; 4] }
    }

    fn small_magnitude(&self) -> Option<u128> {
        wide::to_u128(&self.limbs)
    }

    /// The unscaled number, `value * 10^scale`, if it fits.
    pub fn unscaled(&self) -> Option<i128> {
        let magnitude = i128::try_from(self.small_magnitude()?).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Rounded half away from zero, clamped to the range.
    pub fn to_i64(&self) -> Converted<i64> {
        let rounded = self.scale > 0 && self.round(0) != *self;
        match self.to_i128().map(i64::try_from) {
            Some(Ok(number)) => Converted { rounded, ..Converted::exact(number) },
            _ => Converted::clamped(if self.negative { i64::MIN } else { i64::MAX }),
        }
    }

    /// Rounded half away from zero, clamped to the range.
    pub fn to_u64(&self) -> Converted<u64> {
        let rounded = self.scale > 0 && self.round(0) != *self;
        match self.to_i128().map(u64::try_from) {
            Some(Ok(number)) => Converted { rounded, ..Converted::exact(number) },
            _ => Converted::clamped(if self.negative { 0 } else { u64::MAX }),
        }
    }

    /// The integer nearest to the value, `None` outside the range.
    pub fn to_i128(&self) -> Option<i128> {
        if self.scale == 0 { self.unscaled() } else { self.round(0).unscaled() }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        const EXACT_INTEGER_MAX: u64 = 1 << 53;
        const EXACT_POWER_MAX: u8 = 19;
        if self.limbs[1..] == [0; 3] && self.limbs[0] <= EXACT_INTEGER_MAX && self.scale <= EXACT_POWER_MAX {
            // Both operands are exact, so the one division rounds correctly.
            let magnitude = self.limbs[0] as f64 / wide::POWERS_OF_TEN_64[self.scale as usize] as f64;
            return if self.negative { -magnitude } else { magnitude };
        }
        let mut text = Vec::with_capacity(96);
        self.append_text(&mut text);
        crate::number::parse_f64(&text).value
    }

    /// The decimal that the shortest text of the double denotes. Not a number: zero, marked as truncated.
    pub fn from_f64(number: f64) -> Converted<Decimal> {
        if number.is_nan() {
            return Converted { truncated: true, ..Converted::exact(Decimal::ZERO) };
        }
        if number.is_infinite() {
            let greatest = Decimal::max_value(MAX_PRECISION, 0);
            return Converted::clamped(if number < 0.0 { -greatest } else { greatest });
        }
        let mut text = Vec::with_capacity(32);
        crate::number::append_f64(number, &mut text);
        Decimal::parse(&text)
    }

    /// Zero of any scale.
    pub fn is_zero(&self) -> bool {
        self.limbs == [0; 4]
    }

    /// Less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Digits in all, leading zeros not counted, at least 1 and at least the scale.
    pub fn precision(&self) -> u8 {
        (wide::digit_count(&self.limbs) as u8).max(self.scale).max(1)
    }

    /// The greatest value of DECIMAL(precision, scale).
    pub fn max_value(precision: u8, scale: u8) -> Decimal {
        let precision = u32::from(precision).clamp(1, MAX_DIGITS);
        let limbs = wide::subtract(&POWERS_OF_TEN[precision as usize], &[1, 0, 0, 0]);
        Decimal { limbs, scale: scale.min(WORK_SCALE), negative: false }
    }

    /// Has at most `precision - scale` digits before the point.
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        let integer_digits = wide::digit_count(&self.limbs).saturating_sub(u32::from(self.scale));
        integer_digits <= u32::from(precision.saturating_sub(scale))
    }

    /// The magnitude with as many digits after the point as said, at most 76 digits in all; cut off when fewer.
    fn rescaled(&self, scale: u8) -> Option<Wide> {
        match scale.cmp(&self.scale) {
            Ordering::Equal => Some(self.limbs),
            Ordering::Less => Some(wide::scale_down(&self.limbs, u32::from(self.scale - scale)).0),
            Ordering::Greater => {
                let exponent = scale - self.scale;
                if let Some(small) = self.small_magnitude()
                    && exponent < 20
                    && let Some(scaled) = small.checked_mul(u128::from(wide::POWERS_OF_TEN_64[exponent as usize]))
                {
                    return Some(wide::from_u128(scaled));
                }
                if wide::digit_count(&self.limbs) + u32::from(exponent) > MAX_DIGITS {
                    return None;
                }
                wide::scale_up(&wide::widen(&self.limbs), u32::from(exponent))
                    .and_then(|scaled| wide::narrow(&scaled))
            }
        }
    }

    /// Exactly `scale` digits after the point, rounded half away from zero; a negative scale rounds before the point
    /// and leaves none after it. Fewer digits than asked for are kept if 76 in all would not do.
    pub fn round(&self, scale: i32) -> Decimal {
        self.adjust(scale, Rounding::HalfUp)
    }

    /// Exactly `scale` digits after the point, cut off; a negative scale cuts before the point.
    pub fn truncate(&self, scale: i32) -> Decimal {
        self.adjust(scale, Rounding::Down)
    }

    /// The smallest whole number that is not less.
    pub fn ceiling(&self) -> Decimal {
        self.adjust(0, if self.negative { Rounding::Down } else { Rounding::Up })
    }

    /// The greatest whole number that is not greater.
    pub fn floor(&self) -> Decimal {
        self.adjust(0, if self.negative { Rounding::Up } else { Rounding::Down })
    }

    /// Without its sign; the scale stays.
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }

    fn adjust(&self, scale: i32, rounding: Rounding) -> Decimal {
        let own_scale = i32::from(self.scale);
        if scale >= own_scale {
            return self.extended(scale.min(i32::from(WORK_SCALE)) as u8);
        }
        let cut = own_scale.saturating_sub(scale).unsigned_abs();
        let mut limbs =
            if cut > MAX_DIGITS + 1 { [0; 4] } else { cut_digits(&self.limbs, cut, rounding, self.is_zero()) };
        if scale < 0 {
            let restored = Decimal { limbs, scale: 0, negative: false };
            let zeros = scale.unsigned_abs().min(MAX_DIGITS + 1);
            limbs = if restored.is_zero() {
                [0; 4]
            } else {
                wide::scale_up(&wide::widen(&limbs), zeros)
                    .and_then(|scaled| wide::narrow(&scaled))
                    .filter(|scaled| wide::digit_count(scaled) <= MAX_DIGITS)
                    .unwrap_or(Decimal::max_value(MAX_DIGITS as u8, 0).limbs)
            };
        }
        Decimal::with_sign(limbs, scale.max(0) as u8, self.negative)
    }

    /// The same value with trailing zeros up to `scale`, or as many as fit.
    fn extended(&self, scale: u8) -> Decimal {
        let spare = MAX_DIGITS - wide::digit_count(&self.limbs);
        let scale = scale.min(self.scale.saturating_add(spare as u8));
        match self.rescaled(scale) {
            Some(limbs) => Decimal { limbs, scale, negative: self.negative },
            None => *self,
        }
    }

    /// Magnitude and scale without trailing zeros after the point: the same for equal values.
    fn canonical(&self) -> (Wide, u8) {
        let (mut limbs, mut scale) = (self.limbs, self.scale);
        if self.is_zero() {
            return (limbs, 0);
        }
        while scale > 0 {
            let mut shorter = limbs;
            if wide::divide_small(&mut shorter, 10) != 0 {
                break;
            }
            limbs = shorter;
            scale -= 1;
        }
        (limbs, scale)
    }

    fn compare_magnitude(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return wide::compare(&self.limbs, &other.limbs);
        }
        if self.is_zero() || other.is_zero() {
            return other.is_zero().cmp(&self.is_zero());
        }
        let integer_digits = |number: &Decimal| wide::digit_count(&number.limbs) as i32 - i32::from(number.scale);
        integer_digits(self).cmp(&integer_digits(other)).then_with(|| {
            // With as many digits before the point, the longer scale fits both.
            let scale = self.scale.max(other.scale);
            match (self.rescaled(scale), other.rescaled(scale)) {
                (Some(first), Some(second)) => wide::compare(&first, &second),
                _ => Ordering::Equal,
            }
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Towards zero.
    Down,
    /// To the nearest, halves away from zero.
    HalfUp,
    /// Away from zero.
    Up,
}

/// Cuts the last `count` (at least one) digits off.
fn cut_digits(limbs: &Wide, count: u32, rounding: Rounding, is_zero: bool) -> Wide {
    if is_zero {
        return [0; 4];
    }
    let (kept, round_up) = match rounding {
        Rounding::Down => (wide::scale_down(limbs, count).0, false),
        Rounding::Up => wide::scale_down(limbs, count),
        Rounding::HalfUp => {
            let (mut kept, _) = wide::scale_down(limbs, count - 1);
            let last = wide::divide_small(&mut kept, 10);
            (kept, last >= 5)
        }
    };
    if round_up { wide::add(&kept, &[1, 0, 0, 0]) } else { kept }
}

impl std::ops::Neg for Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..self }
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Decimal {
        Decimal::new(i128::from(number), 0)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Decimal {
        Decimal::new(i128::from(number), 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (limbs, scale) = self.canonical();
        limbs.hash(state);
        scale.hash(state);
        self.negative.hash(state);
    }
}
