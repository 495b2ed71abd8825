//! JSON documents in MySQL's binary format.

#[derive(Clone, Debug, PartialEq)]
pub struct Json(Vec<u8>);

impl Json {
    /// Takes bytes that were a document's `as_bytes` before.
    pub fn from_bytes(bytes: Vec<u8>) -> Json {
        Json(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
