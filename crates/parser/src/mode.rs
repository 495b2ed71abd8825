//! The parts of MySQL's `sql_mode` that change how bytes become a tree.

use std::ops::BitOr;

/// A set of the lexical and grammatical SQL modes; the empty set is MySQL's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ParserMode(u8);

impl ParserMode {
    /// MySQL's default, as far as the parser is concerned.
    pub const NONE: ParserMode = ParserMode(0);
    /// `"` quotes identifiers, not strings.
    pub const ANSI_QUOTES: ParserMode = ParserMode(1);
    /// `||` concatenates instead of meaning OR.
    pub const PIPES_AS_CONCAT: ParserMode = ParserMode(2);
    /// A backslash in a string is an ordinary byte.
    pub const NO_BACKSLASH_ESCAPES: ParserMode = ParserMode(4);
    /// White space is allowed between a built-in function's name and its parenthesis.
    pub const IGNORE_SPACE: ParserMode = ParserMode(8);
    /// `NOT` binds like `!`.
    pub const HIGH_NOT_PRECEDENCE: ParserMode = ParserMode(16);

    /// All bits of `other` are set.
    pub const fn contains(self, other: ParserMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    pub const fn with(self, other: ParserMode) -> ParserMode {
        ParserMode(self.0 | other.0)
    }

    /// One bit a mode, for keys of plans.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for ParserMode {
    type Output = ParserMode;

    fn bitor(self, other: ParserMode) -> ParserMode {
        self.with(other)
    }
}
