//! Order, equality, containment and overlap of JSON values.

use std::cmp::Ordering;

use super::{DEPTH_MAX, JsonItem, JsonKind, JsonRef};
use crate::Decimal;

/// Kinds in the order of their values: everything of a greater rank is greater.
fn rank(kind: JsonKind) -> u8 {
    match kind {
        JsonKind::Null => 0,
        JsonKind::Integer | JsonKind::UnsignedInteger | JsonKind::Double | JsonKind::Decimal => 1,
        JsonKind::String => 2,
        JsonKind::Object => 3,
        JsonKind::Array => 4,
        JsonKind::Boolean => 5,
        JsonKind::Date => 6,
        JsonKind::Time => 7,
        JsonKind::DateTime | JsonKind::Timestamp => 8,
        JsonKind::Opaque => 9,
    }
}

/// Numbers of any class by their values.
fn compare_numbers(first: JsonItem<'_>, second: JsonItem<'_>) -> Ordering {
    use JsonItem::{Decimal as Dec, Double, Int, UInt};
    match (first, second) {
        (Int(a), Int(b)) => a.cmp(&b),
        (UInt(a), UInt(b)) => a.cmp(&b),
        (Int(a), UInt(b)) => i128::from(a).cmp(&i128::from(b)),
        (UInt(a), Int(b)) => i128::from(a).cmp(&i128::from(b)),
        (Double(a), Double(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)),
        (Double(a), b) => compare_double(a, number_to_decimal(b)),
        (a, Double(b)) => compare_double(b, number_to_decimal(a)).reverse(),
        (a @ (Dec(_) | Int(_) | UInt(_)), b) => number_to_decimal(a).cmp(&number_to_decimal(b)),
        _ => Ordering::Equal,
    }
}

fn number_to_decimal(item: JsonItem<'_>) -> Decimal {
    match item {
        JsonItem::Int(number) => Decimal::from(number),
        JsonItem::UInt(number) => Decimal::from(number),
        JsonItem::Decimal(decimal) => decimal,
        _ => Decimal::ZERO,
    }
}

fn compare_double(double: f64, decimal: Decimal) -> Ordering {
    let converted = Decimal::from_f64(double);
    if converted.out_of_range {
        return if double < 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    converted.value.cmp(&decimal)
}

impl JsonRef<'_> {
    /// MySQL's total order of JSON values: by kind (NULL, numbers, strings, objects, arrays, booleans, temporal
    /// values, others), and within a kind by value.
    pub fn compare(&self, other: &JsonRef<'_>) -> Ordering {
        self.compare_within(other, DEPTH_MAX + 1)
    }

    fn compare_within(&self, other: &JsonRef<'_>, depth: usize) -> Ordering {
        let ranks = (rank(self.kind()), rank(other.kind()));
        if ranks.0 != ranks.1 || depth == 0 {
            return ranks.0.cmp(&ranks.1);
        }
        match (self.item(), other.item()) {
            (JsonItem::Bool(a), JsonItem::Bool(b)) => a.cmp(&b),
            (JsonItem::String(a), JsonItem::String(b)) => a.cmp(b),
            (JsonItem::Date(a), JsonItem::Date(b)) => a.cmp(&b),
            (JsonItem::Time(a), JsonItem::Time(b)) => a.cmp(&b),
            (JsonItem::DateTime(a) | JsonItem::Timestamp(a), JsonItem::DateTime(b) | JsonItem::Timestamp(b)) => {
                a.cmp(&b)
            }
            (JsonItem::Opaque(a_type, a), JsonItem::Opaque(b_type, b)) => {
                a_type.cmp(&b_type).then_with(|| a.cmp(b))
            }
            (JsonItem::Array, JsonItem::Array) => self.compare_arrays(other, depth),
            (JsonItem::Object, JsonItem::Object) => self.compare_objects(other, depth),
            (first, second) => compare_numbers(first, second),
        }
    }

    fn compare_arrays(&self, other: &JsonRef<'_>, depth: usize) -> Ordering {
        for (first, second) in self.elements().zip(other.elements()) {
            let order = first.compare_within(&second, depth - 1);
            if order != Ordering::Equal {
                return order;
            }
        }
        self.length().cmp(&other.length())
    }

    fn compare_objects(&self, other: &JsonRef<'_>, depth: usize) -> Ordering {
        let lengths = self.length().cmp(&other.length());
        if lengths != Ordering::Equal {
            return lengths;
        }
        for ((first_key, first), (second_key, second)) in self.members().zip(other.members()) {
            let order = first_key.cmp(second_key).then_with(|| first.compare_within(&second, depth - 1));
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    fn is_equal(&self, other: &JsonRef<'_>) -> bool {
        self.compare(other) == Ordering::Equal
    }

    /// JSON_CONTAINS: a candidate array is in an array if each of its elements is, an object in an object if each of
    /// its members is, anything else in an array if it is in one of the elements, and a scalar in an equal one.
    pub fn contains(&self, candidate: &JsonRef<'_>) -> bool {
        self.contains_within(candidate, DEPTH_MAX + 1)
    }

    fn contains_within(&self, candidate: &JsonRef<'_>, depth: usize) -> bool {
        if depth == 0 {
            return false;
        }
        if self.is_object() {
            return candidate.is_object()
                && candidate.members().all(|(key, wanted)| {
                    self.get(key).is_some_and(|value| value.contains_within(&wanted, depth - 1))
                });
        }
        if !self.is_array() {
            return candidate.is_scalar() && self.is_equal(candidate);
        }
        if candidate.is_array() {
            return candidate.elements().all(|wanted| self.has_element_with(&wanted, depth));
        }
        self.has_element_with(candidate, depth)
    }

    fn has_element_with(&self, wanted: &JsonRef<'_>, depth: usize) -> bool {
        self.elements().any(|element| {
            // An array element matches a candidate element only as a whole or by containing it.
            element.contains_within(wanted, depth - 1)
        })
    }

    /// JSON_OVERLAPS: a common element of two arrays, a common member of two objects, an element of an array equal to
    /// the other value, two equal scalars.
    pub fn overlaps(&self, other: &JsonRef<'_>) -> bool {
        match (self.is_array(), other.is_array()) {
            (true, true) => self.elements().any(|first| other.elements().any(|second| first.is_equal(&second))),
            (true, false) => self.elements().any(|element| element.is_equal(other)),
            (false, true) => other.overlaps(self),
            (false, false) if self.is_object() && other.is_object() => self
                .members()
                .any(|(key, value)| other.get(key).is_some_and(|other_value| value.is_equal(&other_value))),
            (false, false) => self.is_equal(other),
        }
    }
}
