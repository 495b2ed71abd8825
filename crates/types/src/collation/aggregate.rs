//! Which collation an operation on several strings uses (MySQL 8.4 manual, "Collation Coercibility in Expressions").

use super::Collation;
use crate::charset::Charset;
use crate::{Error, ErrorCode, Result};

/// How firmly an expression holds on to its collation; the lower value wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Coercibility {
    /// A COLLATE clause.
    Explicit = 0,
    /// The concatenation of strings of different collations.
    NoCollation = 1,
    /// A column or a stored routine's variable.
    Implicit = 2,
    /// A system constant such as USER().
    SysConst = 3,
    /// A literal.
    Coercible = 4,
    /// A number or a temporal value turned to text.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

impl Coercibility {
    /// The word in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::NoCollation => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SysConst => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// What the aggregation of collations needs to know of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringAttributes {
    /// Under which the expression's values are compared.
    pub collation: Collation,
    /// How strongly the expression insists on its collation.
    pub coercibility: Coercibility,
    /// The value cannot hold anything but ASCII (a literal without other bytes, a number, a temporal value).
    pub ascii_only: bool,
}

impl StringAttributes {
    /// Of an expression whose values may hold any character.
    pub fn new(collation: Collation, coercibility: Coercibility) -> StringAttributes {
        StringAttributes { collation, coercibility, ascii_only: false }
    }

    /// A number or a temporal value as text in the connection's collation.
    pub fn numeric(connection: Collation) -> StringAttributes {
        StringAttributes { collation: connection, coercibility: Coercibility::Numeric, ascii_only: true }
    }
}

impl Collation {
    /// The collation of an operation on two strings; error 1267 if there is none to compare them by. The caller
    /// converts the side that has another character set, and raises the same error when a constant cannot be
    /// converted without loss.
    pub fn aggregate(
        left: StringAttributes,
        right: StringAttributes,
        operation: &str,
    ) -> Result<StringAttributes> {
        Collation::aggregate_for_comparison(&[left, right], operation)
    }

    /// The collation by which several strings are compared (=, IN, BETWEEN, LIKE, FIND_IN_SET ...). Errors: 1267,
    /// 1270 or 1271, by the number of the strings.
    pub fn aggregate_for_comparison(sides: &[StringAttributes], operation: &str) -> Result<StringAttributes> {
        match aggregate_all(sides) {
            Some(result) if result.coercibility != Coercibility::NoCollation => Ok(result),
            _ => Err(illegal_mix(sides, operation)),
        }
    }

    /// The collation of a string put together from several (CONCAT, IF, COALESCE, UNION ...): a mix of equally
    /// firm collations of one set has no collation, but is no error as long as nobody compares by it.
    pub fn aggregate_for_result(sides: &[StringAttributes], operation: &str) -> Result<StringAttributes> {
        aggregate_all(sides).ok_or_else(|| illegal_mix(sides, operation))
    }
}

/// Error 1267, 1270 or 1271 for these operands.
pub(crate) fn illegal_mix(sides: &[StringAttributes], operation: &str) -> Error {
    let side = |side: &StringAttributes| format!("({},{})", side.collation.name(), side.coercibility.name());
    match sides {
        [first, second] => Error::new(
            ErrorCode::CantAggregate2Collations,
            format!("Illegal mix of collations {} and {} for operation '{operation}'", side(first), side(second)),
        ),
        [first, second, third] => Error::new(
            ErrorCode::CantAggregate3Collations,
            format!(
                "Illegal mix of collations {}, {}, {} for operation '{operation}'",
                side(first),
                side(second),
                side(third)
            ),
        ),
        _ => Error::new(
            ErrorCode::CantAggregateNCollations,
            format!("Illegal mix of collations for operation '{operation}'"),
        ),
    }
}

fn aggregate_all(sides: &[StringAttributes]) -> Option<StringAttributes> {
    let (first, others) = sides.split_first()?;
    others.iter().try_fold(*first, |left, right| aggregate_two(left, *right))
}

fn aggregate_two(left: StringAttributes, right: StringAttributes) -> Option<StringAttributes> {
    let chosen = if left.collation.charset() != right.collation.charset() {
        choose_between_charsets(left, right)?
    } else if left.coercibility != right.coercibility {
        if left.coercibility < right.coercibility { left } else { right }
    } else if left.collation == right.collation {
        left
    } else if left.coercibility == Coercibility::Explicit {
        return None;
    } else if left.collation.is_bin() {
        left
    } else if right.collation.is_bin() {
        right
    } else {
        let collation = left.collation.charset().bin_collation();
        StringAttributes { collation, coercibility: Coercibility::NoCollation, ascii_only: false }
    };
    Some(StringAttributes { ascii_only: left.ascii_only && right.ascii_only, ..chosen })
}

fn choose_between_charsets(left: StringAttributes, right: StringAttributes) -> Option<StringAttributes> {
    // A byte string wins over characters of the same coercibility.
    if left.collation.is_binary() {
        return Some(if left.coercibility <= right.coercibility { left } else { right });
    }
    if right.collation.is_binary() {
        return Some(if right.coercibility <= left.coercibility { right } else { left });
    }
    if converts_without_loss(left, right) {
        return Some(left);
    }
    if converts_without_loss(right, left) {
        return Some(right);
    }
    if left.coercibility < right.coercibility && right.coercibility >= Coercibility::SysConst {
        return Some(left);
    }
    if right.coercibility < left.coercibility && left.coercibility >= Coercibility::SysConst {
        return Some(right);
    }
    None
}

/// `source` may always be converted to the character set of `target`, and `target` is at least as firm.
fn converts_without_loss(target: StringAttributes, source: StringAttributes) -> bool {
    let firmer = target.coercibility < source.coercibility;
    let as_firm = target.coercibility == source.coercibility;
    let (to, from) = (target.collation.charset(), source.collation.charset());
    let wider = !from.is_unicode() || (to == Charset::Utf8mb4 && from == Charset::Utf8mb3);
    if to.is_unicode() && (firmer || (as_firm && wider)) {
        return true;
    }
    source.ascii_only && (firmer || (as_firm && !target.ascii_only))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(collation: Collation, coercibility: Coercibility) -> StringAttributes {
        StringAttributes::new(collation, coercibility)
    }

    #[test]
    fn a_literal_yields_to_a_column_and_a_column_to_a_collate_clause() {
        let column = side(Collation::UTF8MB4_BIN, Coercibility::Implicit);
        let literal = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Coercible);
        let clause = side(Collation::UTF8MB4_GENERAL_CI, Coercibility::Explicit);
        assert_eq!(Collation::aggregate(column, literal, "=").unwrap(), column);
        assert_eq!(Collation::aggregate(literal, column, "=").unwrap(), column);
        assert_eq!(Collation::aggregate(clause, column, "=").unwrap(), clause);
    }

    #[test]
    fn two_collate_clauses_that_differ_are_an_illegal_mix() {
        let left = side(Collation::UTF8MB4_BIN, Coercibility::Explicit);
        let right = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Explicit);
        let error = Collation::aggregate(left, right, "=").unwrap_err();
        assert_eq!(error.errno(), 1267);
        assert_eq!(
            error.message(),
            "Illegal mix of collations (utf8mb4_bin,EXPLICIT) and (utf8mb4_0900_ai_ci,EXPLICIT) for operation '='"
        );
        assert!(Collation::aggregate_for_result(&[left, right], "concat").is_err());
    }

    #[test]
    fn two_columns_of_different_collations_concatenate_but_do_not_compare() {
        let left = side(Collation::UTF8MB4_GENERAL_CI, Coercibility::Implicit);
        let right = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit);
        assert_eq!(Collation::aggregate(left, right, "=").unwrap_err().errno(), 1267);
        let mixed = Collation::aggregate_for_result(&[left, right], "concat").unwrap();
        assert_eq!((mixed.collation, mixed.coercibility), (Collation::UTF8MB4_BIN, Coercibility::NoCollation));
        let bin = side(Collation::UTF8MB4_BIN, Coercibility::Implicit);
        assert_eq!(Collation::aggregate(left, bin, "=").unwrap(), bin);
    }

    #[test]
    fn narrow_columns_are_converted_to_wider_sets() {
        let latin1 = side(Collation::LATIN1_SWEDISH_CI, Coercibility::Implicit);
        let utf8mb4 = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit);
        let utf8mb3 = side(Collation::UTF8MB3_GENERAL_CI, Coercibility::Implicit);
        assert_eq!(Collation::aggregate(latin1, utf8mb4, "=").unwrap(), utf8mb4);
        assert_eq!(Collation::aggregate(utf8mb3, utf8mb4, "=").unwrap(), utf8mb4);
        assert_eq!(Collation::aggregate(utf8mb3, latin1, "=").unwrap(), utf8mb3);
    }

    #[test]
    fn a_literal_of_a_wider_set_yields_to_a_narrow_column() {
        let latin1 = side(Collation::LATIN1_SWEDISH_CI, Coercibility::Implicit);
        let literal = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Coercible);
        assert_eq!(Collation::aggregate(latin1, literal, "=").unwrap(), latin1);
    }

    #[test]
    fn bytes_win_over_characters_that_are_as_firm() {
        let bytes = side(Collation::BINARY, Coercibility::Implicit);
        let text = side(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit);
        let literal = side(Collation::BINARY, Coercibility::Coercible);
        assert_eq!(Collation::aggregate(text, bytes, "=").unwrap(), bytes);
        assert_eq!(Collation::aggregate(text, literal, "=").unwrap(), text);
    }

    #[test]
    fn numbers_do_not_disturb() {
        let latin1 = side(Collation::LATIN1_SWEDISH_CI, Coercibility::Implicit);
        let number = StringAttributes::numeric(Collation::UTF8MB4_0900_AI_CI);
        let result = Collation::aggregate_for_result(&[number, latin1, number], "concat").unwrap();
        assert_eq!(result.collation, Collation::LATIN1_SWEDISH_CI);
    }

    #[test]
    fn the_number_of_operands_chooses_the_error() {
        let one = side(Collation::LATIN1_SWEDISH_CI, Coercibility::Explicit);
        let two = side(Collation::LATIN1_BIN, Coercibility::Explicit);
        let errno =
            |sides: &[StringAttributes]| Collation::aggregate_for_comparison(sides, "in").unwrap_err().errno();
        assert_eq!(errno(&[one, two]), 1267);
        assert_eq!(errno(&[one, two, one]), 1270);
        assert_eq!(errno(&[one, two, one, two]), 1271);
    }
}
