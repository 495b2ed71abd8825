//! The parts of MySQL's `sql_mode` that change how bytes become a tree.

use std::ops::BitOr;

/// A set of the lexical and grammatical SQL modes; the empty set is MySQL's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SqlMode(u8);

impl SqlMode {
    pub const NONE: SqlMode = SqlMode(0);
    /// `"` quotes identifiers, not strings.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1);
    /// `||` concatenates instead of meaning OR.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(2);
    /// A backslash in a string is an ordinary byte.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(4);
    /// White space is allowed between a built-in function's name and its parenthesis.
    pub const IGNORE_SPACE: SqlMode = SqlMode(8);
    /// `NOT` binds like `!`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(16);

    pub const fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn with(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }

    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for SqlMode {
    type Output = SqlMode;

    fn bitor(self, other: SqlMode) -> SqlMode {
        self.with(other)
    }
}
