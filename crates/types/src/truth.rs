//! Truth as SQL has it, true, false or unknown (`None`), wherever conditions are evaluated: in expressions, and in filters
//! that are pushed down to where rows lie.

use std::cmp::Ordering;

/// How two values are compared, neither of which is NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    #[default]
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison is true of two values in this order.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// AND (`all`) or OR of terms, from the first one on, until the result is certain: AND is false with the first false term, OR
/// true with the first true one, and otherwise unknown if any term is. Without terms AND is true and OR is false.
///
/// # Errors
/// The first one of a term.
#[inline]
pub fn conjunction<E>(all: bool, terms: impl Iterator<Item = Result<Option<bool>, E>>) -> Result<Option<bool>, E> {
    let mut is_unknown = false;
    for term in terms {
        match term? {
            Some(truth) if truth != all => return Ok(Some(truth)),
            Some(_) => {}
            None => is_unknown = true,
        }
    }
    Ok(if is_unknown { None } else { Some(all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_decides_nothing_unless_the_others_leave_it_open() {
        let of =
            |all, terms: &[Option<bool>]| conjunction(all, terms.iter().map(|&term| Ok::<_, ()>(term))).unwrap();
        assert_eq!((of(true, &[]), of(false, &[])), (Some(true), Some(false)));
        assert_eq!(of(true, &[None, Some(false)]), Some(false));
        assert_eq!(of(true, &[None, Some(true)]), None);
        assert_eq!(of(false, &[None, Some(true)]), Some(true));
        assert_eq!(of(false, &[Some(false), None]), None);
        // What comes behind a certain result is not looked at.
        let terms = [Ok(Some(false)), Err("evaluated")];
        assert_eq!(conjunction(true, terms.into_iter()), Ok(Some(false)));
    }
}
