//! Character sets and collations.

/// A collation by its MySQL id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collation(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    Binary,
    Ascii,
    Latin1,
    Utf8mb3,
    Utf8mb4,
}

impl Collation {
    pub const BINARY: Collation = Collation(63);
    pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);

    /// Appends the memcomparable sort key, with its terminator, of `text` or of its first `limit` characters
    /// (bytes for binary).
    pub fn append_sort_key(&self, text: &[u8], _limit: Option<usize>, out: &mut Vec<u8>) {
        out.extend_from_slice(text);
    }
}
