//! MySQL's binary decimal format: groups of nine digits as big-endian integers, a shorter group at each end, the sign
//! bit turned and negative numbers inverted, so that the order of the bytes is the order of the values.

use super::wide::{self, Wide};
use super::{Decimal, MAX_PRECISION};

const DIGITS_PER_GROUP: usize = 9;
const GROUP: u64 = 1_000_000_000;
/// Bytes of a group of so many digits.
const GROUP_BYTES: [usize; DIGITS_PER_GROUP + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes that DECIMAL(precision, scale) takes at rest.
pub fn binary_size(precision: usize, scale: usize) -> usize {
    let integer = precision.saturating_sub(scale);
    integer / DIGITS_PER_GROUP * 4
        + GROUP_BYTES[integer % DIGITS_PER_GROUP]
        + scale / DIGITS_PER_GROUP * 4
        + GROUP_BYTES[scale % DIGITS_PER_GROUP]
}

/// A magnitude from which groups are taken, least significant first; the narrower forms divide faster.
enum Digits {
    Small(u64),
    Middle(u128),
    Large(Wide),
}

impl Digits {
    fn new(limbs: &Wide) -> Digits {
        match wide::to_u128(limbs) {
            Some(small) if small >> 64 == 0 => Digits::Small(small as u64),
            Some(middle) => Digits::Middle(middle),
            None => Digits::Large(*limbs),
        }
    }

    fn take(&mut self, base: u64) -> u64 {
        match self {
            Digits::Small(number) => {
                let group = *number % base;
                *number /= base;
                group
            }
            Digits::Middle(number) => {
                let group = (*number % u128::from(base)) as u64;
                *number /= u128::from(base);
                if *number >> 64 == 0 {
                    *self = Digits::Small(*number as u64);
                }
                group
            }
            Digits::Large(limbs) => wide::divide_small(limbs, base),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Digits::Small(number) => *number == 0,
            Digits::Middle(number) => *number == 0,
            Digits::Large(limbs) => *limbs == [0; 4],
        }
    }
}

impl Decimal {
    /// Writes the value as DECIMAL(precision, scale) into the `binary_size` bytes of `out`: rounded to the scale,
    /// clamped to the precision.
    pub fn write_binary(&self, precision: usize, scale: usize, out: &mut [u8]) {
        let integer = precision.saturating_sub(scale);
        let fits = self.write_groups(self.round(scale as i32).limbs, integer, scale, out);
        if !fits {
            let greatest = Decimal::max_value(precision.min(usize::from(MAX_PRECISION)) as u8, scale as u8);
            self.write_groups(greatest.limbs, integer, scale, out);
        }
    }

    /// Whether the magnitude had room.
    fn write_groups(&self, limbs: Wide, integer: usize, scale: usize, out: &mut [u8]) -> bool {
        let inversion = if self.negative { 0xff } else { 0 };
        let mut digits = Digits::new(&limbs);
        let mut end = out.len();
        let mut put = |group: u64, width: usize| {
            let start = end - width;
            let bytes = (group as u32).to_be_bytes();
            for (target, byte) in out[start..end].iter_mut().zip(&bytes[4 - width..]) {
                *target = byte ^ inversion;
            }
            end = start;
        };
        let last = scale % DIGITS_PER_GROUP;
        if last > 0 {
            put(digits.take(wide::POWERS_OF_TEN_64[last]), GROUP_BYTES[last]);
        }
        for _ in 0..scale / DIGITS_PER_GROUP + integer / DIGITS_PER_GROUP {
            put(digits.take(GROUP), 4);
        }
        let first = integer % DIGITS_PER_GROUP;
        if first > 0 {
            put(digits.take(wide::POWERS_OF_TEN_64[first]), GROUP_BYTES[first]);
        }
        if let Some(first) = out.first_mut() {
            *first ^= 0x80;
        }
        digits.is_zero()
    }

    /// Reads `binary_size(precision, scale)` bytes. Damaged groups give some number, never a panic.
    pub fn read_binary(raw: &[u8], precision: usize, scale: usize) -> Decimal {
        let negative = raw.first().is_some_and(|first| first & 0x80 == 0);
        let inversion = if negative { 0xff } else { 0 };
        let integer = precision.saturating_sub(scale);
        let mut position = 0;
        let mut next_group = |width: usize| {
            let mut group = 0u64;
            for byte in raw.iter().skip(position).take(width) {
                group = group << 8 | u64::from(byte ^ inversion);
            }
            if position == 0 {
                group ^= 0x80 << (8 * (width - 1));
            }
            position += width;
            group
        };
        let sizes = std::iter::once(integer % DIGITS_PER_GROUP)
            .chain(std::iter::repeat_n(DIGITS_PER_GROUP, integer / DIGITS_PER_GROUP + scale / DIGITS_PER_GROUP))
            .chain(std::iter::once(scale % DIGITS_PER_GROUP))
            .filter(|&digits| digits > 0);
        if precision <= 18 {
            let magnitude = sizes.fold(0u64, |magnitude, digits| {
                let group = next_group(GROUP_BYTES[digits]);
                magnitude.wrapping_mul(wide::POWERS_OF_TEN_64[digits]).wrapping_add(group)
            });
            return Decimal::with_sign([magnitude, 0, 0, 0], scale as u8, negative);
        }
        let mut limbs = [0u64; 4];
        for digits in sizes {
            let group = next_group(GROUP_BYTES[digits]);
            wide::multiply_add_small(&mut limbs, wide::POWERS_OF_TEN_64[digits], group);
        }
        Decimal::with_sign(limbs, scale as u8, negative)
    }
}
