//! JSON paths.

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLeg {
    Member(Vec<u8>),
    AnyMember,
    Element(ArrayIndex),
    /// `[from to to]`
    Range(ArrayIndex, ArrayIndex),
    AnyElement,
    /// `**`
    AnyDepth,
}

/// `[n]`, `[last]` or `[last-n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayIndex {
    pub index: u32,
    pub from_last: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    pub legs: Vec<PathLeg>,
}

/// Errno 3143: the 1-based character position at which the path stopped making sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonPathError {
    pub position: usize,
}

impl JsonPath {
    pub fn parse(_text: &[u8]) -> Result<JsonPath, JsonPathError> {
        unimplemented!()
    }
    /// Has a wildcard or a range: may name several parts.
    pub fn can_match_many(&self) -> bool {
        unimplemented!()
    }
}
