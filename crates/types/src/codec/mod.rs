//! Schemas and values as bytes, for the log, checkpoints and the dictionary.
//!
//! Reading never panics: damaged bytes are an error.

use crate::Result;
use crate::schema::TableSchema;
use crate::value::Value;

impl TableSchema {
    pub fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }
    pub fn decode(_bytes: &[u8]) -> Result<TableSchema> {
        unimplemented!()
    }
}

/// Appends a value in a compact form that tells its own class.
pub fn append_value(_value: &Value, _out: &mut Vec<u8>) {
    unimplemented!()
}

/// Takes one value off the front of `bytes`.
pub fn read_value(_bytes: &mut &[u8]) -> Result<Value> {
    unimplemented!()
}
