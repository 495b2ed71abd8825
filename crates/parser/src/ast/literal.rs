//! Constants as the statement writes them.

/// A constant. `ordinal` is set by `parse_parameterised` alone: the position of this literal in the digest's literal list.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    pub value: LiteralValue,
    pub ordinal: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LiteralValue {
    Null,
    Boolean(bool),
    Integer(u64),
    /// Digits with an optional point; also integers beyond `u64`.
    Decimal(String),
    /// The text of a number with an exponent.
    Float(String),
    String(StringLiteral),
    /// The value of `0x..` or `x'..'`, with the introducer it may carry.
    Hex(BinaryLiteral),
    /// The value of `0b..` or `b'..'`, left-padded with zero bits to whole bytes.
    Bit(BinaryLiteral),
}

#[derive(Debug, Clone, PartialEq)]
pub struct StringLiteral {
    /// The bytes after escapes are resolved, in the statement's character set.
    pub bytes: Vec<u8>,
    /// `_charset`, without the underscore.
    pub introducer: Option<String>,
    /// `N'..'`.
    pub national: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BinaryLiteral {
    pub bytes: Vec<u8>,
    pub introducer: Option<String>,
}
