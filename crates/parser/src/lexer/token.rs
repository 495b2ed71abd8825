//! What the lexer yields.

/// A piece of the source. Holds positions only; text and values are read from the source when they are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// Of a string or quoted name: it holds backslash escapes or doubled quotes.
    pub escaped: bool,
    pub start: u32,
    pub end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TokenKind {
    /// The end of the source.
    End,
    /// A token that can be no part of a statement: an unterminated string or comment, a stray byte.
    Invalid,
    /// A keyword or unquoted name.
    Word,
    /// A name in backticks, or in double quotes under ANSI_QUOTES.
    QuotedWord,
    /// `'..'` or `".."`.
    String,
    /// `N'..'`.
    NationalString,
    /// Decimal digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `0xFF`.
    HexNumber,
    /// `x'FF'`.
    HexString,
    /// `0b11`.
    BitNumber,
    /// `b'11'`.
    BitString,
    /// `?`
    Parameter,
    /// `@name`, the name possibly empty.
    AtName,
    /// `@` before a quote.
    At,
    /// `@@`
    AtAt,
    /// `/*+ .. */` behind SELECT, INSERT, REPLACE, UPDATE or DELETE.
    Hint,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Semicolon,
    Dot,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Ampersand,
    AmpersandAmpersand,
    Pipe,
    PipePipe,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    Colon,
    /// `:=`
    Assign,
    /// `->`
    Arrow,
    /// `->>`
    DoubleArrow,
}
