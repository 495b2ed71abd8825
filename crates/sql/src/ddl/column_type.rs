//! Data types of syntax as column types.

use shoal_parser::ast::DataType;
use shoal_types::{Collation, Error, Result, SqlType};

pub fn cast_type(_data_type: &DataType, _connection: Collation) -> Result<SqlType> {
    Err(Error::unsupported("CAST"))
}
