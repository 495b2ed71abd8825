//! MySQL's DECIMAL: up to 65 digits, 30 of them after the point, exact.

/// A decimal number that carries its own scale.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    negative: bool,
    /// Digits before and after the point.
    integer_digits: u8,
    scale: u8,
    words: [u32; 9],
}

/// Bytes that DECIMAL(precision, scale) takes at rest (MySQL's binary decimal format).
pub fn binary_size(precision: usize, scale: usize) -> usize {
    const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let integer = precision.saturating_sub(scale);
    integer / 9 * 4 + LEFTOVER_BYTES[integer % 9] + scale / 9 * 4 + LEFTOVER_BYTES[scale % 9]
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.words == other.words
    }
}

impl Decimal {
    pub fn write_binary(&self, _precision: usize, _scale: usize, _out: &mut [u8]) {}
    pub fn read_binary(_raw: &[u8], _precision: usize, _scale: usize) -> Decimal {
        Decimal { negative: false, integer_digits: 0, scale: 0, words: [0; 9] }
    }
}
