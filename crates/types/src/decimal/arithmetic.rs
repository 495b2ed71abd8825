//! Sums, products, quotients and remainders. `None` is an overflow, or a zero divisor.

use std::cmp::Ordering;

use super::wide::{self, Double, MAX_DIGITS, Wide};
use super::{Decimal, WORK_SCALE};

impl Decimal {
    /// The exact sum, with the greater scale of the two. `None`: it has too many digits.
    pub fn checked_add(&self, other: &Decimal) -> Option<Decimal> {
        if self.scale == other.scale
            && let (Some(first), Some(second)) = (self.unscaled(), other.unscaled())
            && let Some(sum) = first.checked_add(second)
        {
            return Some(Decimal::new(sum, self.scale));
        }
        let (first, second, scale) = self.aligned(other);
        if self.negative == other.negative {
            return bounded(wide::widen(&wide::add(&first, &second)), scale, self.negative);
        }
        let (limbs, negative) = match wide::compare(&first, &second) {
            Ordering::Less => (wide::subtract(&second, &first), other.negative),
            _ => (wide::subtract(&first, &second), self.negative),
        };
        Some(Decimal::with_sign(limbs, scale, negative))
    }

    /// The exact difference, with the greater scale of the two. `None`: it has too many digits.
    pub fn checked_sub(&self, other: &Decimal) -> Option<Decimal> {
        self.checked_add(&-*other)
    }

    /// Both magnitudes at the greater scale of the two, or at the greatest at which the sum has room.
    fn aligned(&self, other: &Decimal) -> (Wide, Wide, u8) {
        let wanted = self.scale.max(other.scale);
        let integer_digits =
            |number: &Decimal| wide::digit_count(&number.limbs).saturating_sub(u32::from(number.scale));
        let room = MAX_DIGITS.saturating_sub(integer_digits(self).max(integer_digits(other)));
        let scale = wanted.min(room as u8);
        let rescaled = |number: &Decimal| number.rescaled(scale).unwrap_or(number.limbs);
        (rescaled(self), rescaled(other), scale)
    }

    /// The product, whose scale is the sum of both as far as there is room for it. `None`: it has too many digits.
    pub fn checked_mul(&self, other: &Decimal) -> Option<Decimal> {
        let negative = self.negative != other.negative;
        let scale = self.scale + other.scale;
        if scale <= WORK_SCALE
            && let (Some(first), Some(second)) = (self.small_magnitude(), other.small_magnitude())
            && let Some(product) = first.checked_mul(second)
        {
            return Some(Decimal::with_sign(wide::from_u128(product), scale, negative));
        }
        let product = wide::multiply(&self.limbs, &other.limbs);
        let (product, scale) = match scale.checked_sub(WORK_SCALE) {
            Some(excess) => (wide::scale_down(&product, u32::from(excess)).0, WORK_SCALE),
            None => (product, scale),
        };
        bounded(product, scale, negative)
    }

    /// The quotient with at least `scale + scale_increment` digits after the point: more, in whole groups of nine, as
    /// MySQL keeps them between operations, cut off. Round to the result type's scale when it is shown.
    pub fn checked_div(&self, other: &Decimal, scale_increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = quotient_scale(self.scale, other.scale, scale_increment);
        let negative = self.negative != other.negative;
        let exponent = u32::from(scale + other.scale - self.scale);
        if exponent < 39
            && let (Some(dividend), Some(divisor)) = (self.small_magnitude(), other.small_magnitude())
            && let Some(dividend) = dividend.checked_mul(10u128.pow(exponent))
        {
            return Some(Decimal::with_sign(wide::from_u128(dividend / divisor), scale, negative));
        }
        let dividend = wide::scale_up(&wide::widen(&self.limbs), exponent)?;
        let (quotient, _) = wide::divide(&dividend, &other.limbs);
        bounded(quotient, scale, negative)
    }

    /// The remainder, with the sign of `self`.
    pub fn checked_rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        match self.divide_aligned(other) {
            None => Some(self.extended(scale)),
            Some((_, remainder)) => Some(Decimal::with_sign(remainder, scale, self.negative)),
        }
    }

    /// The quotient cut to an integer (DIV).
    pub fn checked_integer_div(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        match self.divide_aligned(other) {
            None => Some(Decimal::ZERO),
            Some((quotient, _)) => bounded(quotient, 0, self.negative != other.negative),
        }
    }

    /// Quotient and remainder of the magnitudes at the greater scale. `None`: the divisor is the greater by far.
    fn divide_aligned(&self, other: &Decimal) -> Option<(Double, Wide)> {
        let scale = self.scale.max(other.scale);
        let divisor = wide::scale_up(&wide::widen(&other.limbs), u32::from(scale - other.scale))?;
        let dividend = wide::scale_up(&wide::widen(&self.limbs), u32::from(scale - self.scale))?;
        // A divisor beyond 256 bits was scaled up, so the dividend was not and is smaller.
        Some(wide::divide(&dividend, &wide::narrow(&divisor)?))
    }
}

/// Digits after the point that MySQL computes: both operands rounded up to groups of nine, and the increment beyond
/// what that rounding already added.
fn quotient_scale(dividend_scale: u8, divisor_scale: u8, increment: u8) -> u8 {
    let groups = |scale: u8| scale.div_ceil(9) * 9;
    let (first, second) = (groups(dividend_scale), groups(divisor_scale));
    let added = (first - dividend_scale) + (second - divisor_scale);
    groups((first + second).saturating_add(increment.min(MAX_DIGITS as u8).saturating_sub(added))).min(WORK_SCALE)
}

/// A magnitude cut to 76 digits; `None` when its integer part alone has more.
fn bounded(mut magnitude: Double, mut scale: u8, negative: bool) -> Option<Decimal> {
    loop {
        let narrow = wide::narrow(&magnitude);
        if let Some(limbs) = narrow
            && wide::compare(&limbs, &wide::POWERS_OF_TEN[MAX_DIGITS as usize]) == Ordering::Less
        {
            return Some(Decimal::with_sign(limbs, scale, negative));
        }
        let excess = wide::digit_count_at_most(&magnitude).saturating_sub(MAX_DIGITS + 1).max(1);
        scale = u8::try_from(u32::from(scale).checked_sub(excess)?).ok()?;
        magnitude = wide::scale_down(&magnitude, excess).0;
    }
}
