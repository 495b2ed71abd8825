//! Constants as the statement writes them.

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// The value.
    pub value: LiteralValue,
    /// The position of this literal in the digest's literal list. `parse_parameterised` alone sets it.
    pub ordinal: Option<u32>,
}

/// What a constant is, before it has a type.
#[derive(Debug, Clone, PartialEq)]
pub enum LiteralValue {
    /// `NULL`.
    Null,
    /// `TRUE` and `FALSE`.
    Boolean(bool),
    /// Digits that fit; a minus before them is an operator.
    Integer(u64),
    /// Digits with an optional point; also integers beyond `u64`.
    Decimal(String),
    /// The text of a number with an exponent.
    Float(String),
    /// `'text'`, or `"text"` without ANSI_QUOTES; adjacent strings are one.
    String(StringLiteral),
    /// The value of `0x..` or `x'..'`, with the introducer it may carry.
    Hex(BinaryLiteral),
    /// The value of `0b..` or `b'..'`, left-padded with zero bits to whole bytes.
    Bit(BinaryLiteral),
}

/// A string in quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct StringLiteral {
    /// The bytes after escapes are resolved, in the statement's character set.
    pub bytes: Vec<u8>,
    /// `_charset`, without the underscore.
    pub introducer: Option<String>,
    /// `N'..'`.
    pub national: bool,
}

/// A hexadecimal or bit literal.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryLiteral {
    /// The value, most significant byte first.
    pub bytes: Vec<u8>,
    /// `_charset`, without the underscore.
    pub introducer: Option<String>,
}
