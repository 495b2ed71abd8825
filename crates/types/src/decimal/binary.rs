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
        let limbs = if usize::from(self.scale) == scale { self.limbs } else { self.round(scale as i32).limbs };
        let fits = self.write_groups(limbs, integer, scale, out);
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
        const U64_DIGITS: usize = 18;
        let integer = precision.saturating_sub(scale);
        let mut groups = Groups::new(raw);
        let first = integer % DIGITS_PER_GROUP;
        let whole_groups = integer / DIGITS_PER_GROUP + scale / DIGITS_PER_GROUP;
        let last = scale % DIGITS_PER_GROUP;
        let mut limbs = [0u64; 4];
        if precision <= U64_DIGITS {
            let mut magnitude = groups.next(first);
            for _ in 0..whole_groups {
                magnitude = magnitude.wrapping_mul(GROUP).wrapping_add(groups.next(DIGITS_PER_GROUP));
            }
            limbs[0] = magnitude.wrapping_mul(wide::POWERS_OF_TEN_64[last]).wrapping_add(groups.next(last));
        } else {
            limbs[0] = groups.next(first);
            for _ in 0..whole_groups {
                wide::multiply_add_small(&mut limbs, GROUP, groups.next(DIGITS_PER_GROUP));
            }
            wide::multiply_add_small(&mut limbs, wide::POWERS_OF_TEN_64[last], groups.next(last));
        }
        Decimal::with_sign(limbs, scale as u8, groups.negative)
    }
}

/// The groups of a binary decimal, from the front.
struct Groups<'a> {
    rest: &'a [u8],
    negative: bool,
    /// The turned sign bit, until the first byte is read.
    sign_bit: u8,
}

impl<'a> Groups<'a> {
    fn new(raw: &'a [u8]) -> Groups<'a> {
        Groups { rest: raw, negative: raw.first().is_some_and(|first| first & 0x80 == 0), sign_bit: 0x80 }
    }

    /// The number of the next `digits` digits; 0 beyond the end.
    fn next(&mut self, digits: usize) -> u64 {
        let width = GROUP_BYTES[digits].min(self.rest.len());
        let (head, rest) = self.rest.split_at(width);
        self.rest = rest;
        let mut word = [0u8; 4];
        word[4 - width..].copy_from_slice(head);
        if width > 0 {
            word[4 - width] ^= std::mem::take(&mut self.sign_bit);
        }
        let group = u32::from_be_bytes(word);
        let used = (1u64 << (8 * width)) - 1;
        u64::from(if self.negative { !group } else { group }) & used
    }
}
