//! MySQL's DECIMAL: up to 65 digits, 30 of them after the point, exact.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::number::Converted;

/// Most digits of a DECIMAL column.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point of a DECIMAL column.
pub const MAX_SCALE: u8 = 30;

/// A decimal number that carries its own scale: `magnitude / 10^scale`, with a sign. Zero is never negative.
#[derive(Clone, Copy)]
pub struct Decimal {
    /// The magnitude as a 256-bit integer, least significant limb first.
    limbs: [u64; 4],
    scale: u8,
    negative: bool,
}

/// Bytes that DECIMAL(precision, scale) takes at rest (MySQL's binary decimal format).
pub fn binary_size(precision: usize, scale: usize) -> usize {
    const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let integer = precision.saturating_sub(scale);
    integer / 9 * 4 + LEFTOVER_BYTES[integer % 9] + scale / 9 * 4 + LEFTOVER_BYTES[scale % 9]
}

impl Decimal {
    pub const ZERO: Decimal = Decimal { limbs: [0; 4], scale: 0, negative: false };
    pub const ONE: Decimal = Decimal { limbs: [1, 0, 0, 0], scale: 0, negative: false };

    /// `unscaled / 10^scale`.
    pub fn new(_unscaled: i128, _scale: u8) -> Decimal {
        unimplemented!()
    }
    /// The longest decimal number that a text begins with (blanks before it are skipped).
    pub fn parse(_text: &[u8]) -> Converted<Decimal> {
        unimplemented!()
    }
    pub fn from_f64(_number: f64) -> Converted<Decimal> {
        unimplemented!()
    }
    /// Rounded half away from zero, clamped to the range.
    pub fn to_i64(&self) -> Converted<i64> {
        unimplemented!()
    }
    pub fn to_u64(&self) -> Converted<u64> {
        unimplemented!()
    }
    /// The integer nearest to the value, `None` outside the range.
    pub fn to_i128(&self) -> Option<i128> {
        unimplemented!()
    }
    pub fn to_f64(&self) -> f64 {
        unimplemented!()
    }
    pub fn append_text(&self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    pub fn is_zero(&self) -> bool {
        self.limbs == [0; 4]
    }
    pub fn is_negative(&self) -> bool {
        self.negative
    }
    /// Digits after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }
    /// Digits in all, leading zeros not counted, at least 1 (and at least the scale).
    pub fn precision(&self) -> u8 {
        unimplemented!()
    }
    /// The greatest value of DECIMAL(precision, scale).
    pub fn max_value(_precision: u8, _scale: u8) -> Decimal {
        unimplemented!()
    }
    /// Has at most `precision - scale` digits before the point.
    pub fn fits(&self, _precision: u8, _scale: u8) -> bool {
        unimplemented!()
    }
    /// Exactly `scale` digits after the point, rounded half away from zero; a negative scale rounds before the point.
    pub fn round(&self, _scale: i32) -> Decimal {
        unimplemented!()
    }
    /// Exactly `scale` digits after the point, cut off; a negative scale cuts before the point.
    pub fn truncate(&self, _scale: i32) -> Decimal {
        unimplemented!()
    }
    pub fn ceiling(&self) -> Decimal {
        unimplemented!()
    }
    pub fn floor(&self) -> Decimal {
        unimplemented!()
    }
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }
    pub fn checked_add(&self, _other: &Decimal) -> Option<Decimal> {
        unimplemented!()
    }
    pub fn checked_sub(&self, _other: &Decimal) -> Option<Decimal> {
        unimplemented!()
    }
    pub fn checked_mul(&self, _other: &Decimal) -> Option<Decimal> {
        unimplemented!()
    }
    /// The quotient with at least `scale + scale_increment` digits after the point (more, in whole groups of nine, as
    /// MySQL keeps them between operations; round to the result type's scale when it is shown). `None`: zero divisor
    /// or out of range.
    pub fn checked_div(&self, _other: &Decimal, _scale_increment: u8) -> Option<Decimal> {
        unimplemented!()
    }
    /// The remainder, with the sign of `self`. `None`: zero divisor.
    pub fn checked_rem(&self, _other: &Decimal) -> Option<Decimal> {
        unimplemented!()
    }
    /// The quotient cut to an integer (DIV). `None`: zero divisor.
    pub fn checked_integer_div(&self, _other: &Decimal) -> Option<Decimal> {
        unimplemented!()
    }
    pub fn write_binary(&self, _precision: usize, _scale: usize, _out: &mut [u8]) {
        unimplemented!()
    }
    pub fn read_binary(_raw: &[u8], _precision: usize, _scale: usize) -> Decimal {
        unimplemented!()
    }
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
    fn cmp(&self, _other: &Decimal) -> Ordering {
        unimplemented!()
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, _state: &mut H) {
        unimplemented!()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(72);
        self.append_text(&mut text);
        f.pad(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
