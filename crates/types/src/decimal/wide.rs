//! Unsigned integers of 256 and 512 bits, as little-endian limbs: just what decimals need.
//!
//! Magnitudes of decimals stay below 10^76 (less than 2^253), so sums of two of them and one digit more never
//! overflow 256 bits; products and scaled numerators are 512 bits wide.

use std::cmp::Ordering;

pub(super) type Wide = [u64; 4];
pub(super) type Double = [u64; 8];

/// Most decimal digits of a magnitude.
pub(super) const MAX_DIGITS: u32 = 76;

/// Powers of ten up to 10^19, the greatest that fits u64.
pub(super) const POWERS_OF_TEN_64: [u64; 20] = {
    let mut powers = [1u64; 20];
    let mut exponent = 1;
    while exponent < 20 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// Powers of ten up to 10^76.
pub(super) const POWERS_OF_TEN: [Wide; MAX_DIGITS as usize + 1] = {
    let mut powers = [[0u64; 4]; MAX_DIGITS as usize + 1];
    powers[0][0] = 1;
    let mut exponent = 1;
    while exponent <= MAX_DIGITS as usize {
        let mut carry = 0u128;
        let mut limb = 0;
        while limb < 4 {
            let product = powers[exponent - 1][limb] as u128 * 10 + carry;
            powers[exponent][limb] = product as u64;
            carry = product >> 64;
            limb += 1;
        }
        exponent += 1;
    }
    powers
};

pub(super) fn from_u128(number: u128) -> Wide {
    [number as u64, (number >> 64) as u64, 0, 0]
}

/// The number as u128, if it fits.
pub(super) fn to_u128(number: &Wide) -> Option<u128> {
    (number[2] | number[3] == 0).then_some(u128::from(number[1]) << 64 | u128::from(number[0]))
}

pub(super) fn widen(number: &Wide) -> Double {
    [number[0], number[1], number[2], number[3], 0, 0, 0, 0]
}

/// The number as 256 bits, if it fits.
pub(super) fn narrow(number: &Double) -> Option<Wide> {
    (number[4..] == [0; 4]).then_some([number[0], number[1], number[2], number[3]])
}

pub(super) fn compare<const N: usize>(first: &[u64; N], second: &[u64; N]) -> Ordering {
    first.iter().rev().cmp(second.iter().rev())
}

pub(super) fn add(first: &Wide, second: &Wide) -> Wide {
    let mut sum = [0; 4];
    let mut carry = 0u128;
    for limb in 0..4 {
        let total = u128::from(first[limb]) + u128::from(second[limb]) + carry;
        sum[limb] = total as u64;
        carry = total >> 64;
    }
    sum
}

/// `first` must not be less than `second`.
pub(super) fn subtract(first: &Wide, second: &Wide) -> Wide {
    let mut difference = [0; 4];
    let mut borrow = false;
    for limb in 0..4 {
        let (partial, borrowed) = first[limb].overflowing_sub(second[limb]);
        let (partial, borrowed_again) = partial.overflowing_sub(u64::from(borrow));
        difference[limb] = partial;
        borrow = borrowed | borrowed_again;
    }
    difference
}

/// `number * factor + addend` in place; returns what does not fit.
pub(super) fn multiply_add_small<const N: usize>(number: &mut [u64; N], factor: u64, addend: u64) -> u64 {
    let mut carry = u128::from(addend);
    for limb in number.iter_mut() {
        let product = u128::from(*limb) * u128::from(factor) + carry;
        *limb = product as u64;
        carry = product >> 64;
    }
    carry as u64
}

/// Divides in place and returns the remainder.
pub(super) fn divide_small<const N: usize>(number: &mut [u64; N], divisor: u64) -> u64 {
    let mut remainder = 0u64;
    for limb in number.iter_mut().rev() {
        let dividend = u128::from(remainder) << 64 | u128::from(*limb);
        *limb = (dividend / u128::from(divisor)) as u64;
        remainder = (dividend % u128::from(divisor)) as u64;
    }
    remainder
}

pub(super) fn multiply(first: &Wide, second: &Wide) -> Double {
    let mut product = [0u64; 8];
    for (position, &factor) in second.iter().enumerate() {
        let mut carry = 0u128;
        for limb in 0..4 {
            let total =
                u128::from(first[limb]) * u128::from(factor) + u128::from(product[position + limb]) + carry;
            product[position + limb] = total as u64;
            carry = total >> 64;
        }
        product[position + 4] = carry as u64;
    }
    product
}

/// `number * 10^exponent`, if it fits 512 bits.
pub(super) fn scale_up(number: &Double, exponent: u32) -> Option<Double> {
    let mut scaled = *number;
    let mut left = exponent;
    while left > 0 {
        let step = left.min(19);
        if multiply_add_small(&mut scaled, POWERS_OF_TEN_64[step as usize], 0) != 0 {
            return None;
        }
        left -= step;
    }
    Some(scaled)
}

/// `number / 10^exponent` cut off, and whether anything but zeros was cut.
pub(super) fn scale_down<const N: usize>(number: &[u64; N], exponent: u32) -> ([u64; N], bool) {
    let mut scaled = *number;
    let mut lost = false;
    let mut left = exponent;
    while left > 0 && scaled != [0; N] {
        let step = left.min(19);
        lost |= divide_small(&mut scaled, POWERS_OF_TEN_64[step as usize]) != 0;
        left -= step;
    }
    (scaled, lost)
}

/// Decimal digits; 0 for zero. The number must be below 10^77.
pub(super) fn digit_count(number: &Wide) -> u32 {
    let Some(top) = number.iter().rposition(|&limb| limb != 0) else {
        return 0;
    };
    let bits = top as u32 * 64 + (64 - number[top].leading_zeros());
    // log10(2) is 1233/4096 within one digit over the whole range.
    let estimate = (bits * 1233) >> 12;
    match POWERS_OF_TEN.get(estimate as usize) {
        Some(power) if compare(number, power) != Ordering::Less => estimate + 1,
        _ => estimate,
    }
}

/// Decimal digits of a 512-bit number, at most one too many.
pub(super) fn digit_count_at_most(number: &Double) -> u32 {
    match number.iter().rposition(|&limb| limb != 0) {
        None => 0,
        Some(top) => {
            let bits = top as u32 * 64 + (64 - number[top].leading_zeros());
            ((bits * 1233) >> 12) + 1
        }
    }
}

/// Quotient and remainder (Knuth's algorithm D). The divisor must not be zero.
pub(super) fn divide(dividend: &Double, divisor: &Wide) -> (Double, Wide) {
    let divisor_limbs = divisor.iter().rposition(|&limb| limb != 0).map_or(1, |top| top + 1);
    if divisor_limbs == 1 {
        let mut quotient = *dividend;
        let remainder = divide_small(&mut quotient, divisor[0].max(1));
        return (quotient, [remainder, 0, 0, 0]);
    }
    let shift = divisor[divisor_limbs - 1].leading_zeros();
    let divisor = shift_left(divisor, shift);
    let mut remainder = shift_left_into_nine(dividend, shift);
    let mut quotient = [0u64; 8];
    for position in (0..=8 - divisor_limbs).rev() {
        let digit = estimate_digit(&remainder, &divisor, divisor_limbs, position);
        quotient[position] = subtract_multiple(&mut remainder, &divisor, divisor_limbs, position, digit);
    }
    let mut low = [0u64; 4];
    for limb in 0..4 {
        let high = if shift == 0 { 0 } else { remainder[limb + 1] << (64 - shift) };
        low[limb] = remainder[limb] >> shift | high;
    }
    for limb in &mut low[divisor_limbs..] {
        *limb = 0;
    }
    (quotient, low)
}

fn shift_left(number: &Wide, shift: u32) -> Wide {
    let mut shifted = [0; 4];
    for limb in 0..4 {
        let low = if shift == 0 || limb == 0 { 0 } else { number[limb - 1] >> (64 - shift) };
        shifted[limb] = number[limb] << shift | low;
    }
    shifted
}

fn shift_left_into_nine(number: &Double, shift: u32) -> [u64; 9] {
    let mut shifted = [0; 9];
    for limb in 0..9 {
        let high = if limb < 8 { number[limb] << shift } else { 0 };
        let low = if shift == 0 || limb == 0 { 0 } else { number[limb - 1] >> (64 - shift) };
        shifted[limb] = high | low;
    }
    shifted
}

/// The quotient digit at `position`, at most two too great.
fn estimate_digit(remainder: &[u64; 9], divisor: &Wide, limbs: usize, position: usize) -> u64 {
    let head = u128::from(remainder[position + limbs]) << 64 | u128::from(remainder[position + limbs - 1]);
    let top = u128::from(divisor[limbs - 1]);
    let mut digit = (head / top).min(u128::from(u64::MAX));
    let mut rest = head - digit * top;
    while rest <= u128::from(u64::MAX)
        && digit * u128::from(divisor[limbs - 2]) > (rest << 64 | u128::from(remainder[position + limbs - 2]))
    {
        digit -= 1;
        rest += top;
    }
    digit as u64
}

/// Subtracts `digit * divisor` at `position`; puts one divisor back if that was too much. Returns the true digit.
fn subtract_multiple(remainder: &mut [u64; 9], divisor: &Wide, limbs: usize, position: usize, digit: u64) -> u64 {
    let mut borrow = 0u128;
    for limb in 0..=limbs {
        let factor = if limb < limbs { divisor[limb] } else { 0 };
        let product = u128::from(digit) * u128::from(factor) + borrow;
        let (difference, borrowed) = remainder[position + limb].overflowing_sub(product as u64);
        remainder[position + limb] = difference;
        borrow = (product >> 64) + u128::from(borrowed);
    }
    if borrow == 0 {
        return digit;
    }
    let mut carry = 0u128;
    for limb in 0..=limbs {
        let addend = if limb < limbs { divisor[limb] } else { 0 };
        let sum = u128::from(remainder[position + limb]) + u128::from(addend) + carry;
        remainder[position + limb] = sum as u64;
        carry = sum >> 64;
    }
    digit - 1
}
