//! Multi-valued key parts, `INDEX ((CAST(document AS type ARRAY)))`.
//!
//! The hidden column of such a part keeps the distinct elements of an array as keys ([`shoal_types::array_elements`]), and the index
//! has an entry for each of them. A document that is no array is its own only element; an empty array has none.

use shoal_parser::ast::{Cast, DataType, DataTypeKind, Expr};
use shoal_types::{BaseType, Collation, Error, ErrorCode, Result, SqlType};

use super::column_type::{TypeContext, column_type};
use super::draft::{DraftKey, TableDraft};

/// Characters of a CHAR or BINARY element; MySQL makes a BLOB of longer ones.
const ELEMENT_LENGTH_MAX: u64 = 512;

/// The type of the column that keeps the elements.
pub fn stored_type() -> SqlType {
    SqlType { length: u32::MAX, ..SqlType::new(BaseType::Text) }
}

/// The type of a key part's elements, if it is multi-valued. Errors: 1235.
pub fn element_type(text: &str) -> Result<Option<SqlType>> {
    match shoal_parser::parse_expression(text.as_bytes(), Default::default()) {
        Ok(Expr::Cast(cast)) if cast.array => of_cast(&cast).map(Some),
        _ => Ok(None),
    }
}

fn of_cast(cast: &Cast) -> Result<SqlType> {
    use DataTypeKind::*;
    let data_type = &cast.data_type;
    let refused = |name: &str| Err(Error::unsupported(format!("CAST-ing data to array of {name}")));
    match data_type.kind {
        TinyInt | SmallInt | MediumInt | Int | BigInt => Ok(SqlType::bigint(data_type.unsigned)),
        Char | VarChar if data_type.charset.is_some() || data_type.collation.is_some() => {
            Err(Error::unsupported("specifying charset for multi-valued index"))
        }
        Char | VarChar => text_type(data_type, Collation::UTF8MB4_0900_BIN),
        Binary | VarBinary => text_type(data_type, Collation::BINARY),
        Decimal | Date | Time | DateTime => {
            let context = TypeContext { column: "CAST", table: Collation::BINARY, strict: true };
            column_type(data_type, &context, &mut Vec::new())
        }
        Float => refused("FLOAT"),
        Double => refused("DOUBLE"),
        Year => refused("YEAR"),
        Json => refused("JSON"),
        other => refused(&other.keyword().to_uppercase()),
    }
}

fn text_type(data_type: &DataType, collation: Collation) -> Result<SqlType> {
    match data_type.length {
        Some(length) if length <= ELEMENT_LENGTH_MAX => Ok(SqlType::varchar(length as u32, collation)),
        _ => Err(Error::unsupported("CAST-ing data to array of char/binary BLOBs")),
    }
}

/// One more part of a key is multi-valued. Errors: 1221, 1235.
pub fn check_part(draft: &TableDraft, key: &DraftKey, part: usize, added: &[shoal_types::Column]) -> Result<()> {
    if key.parts[part].descending {
        let message = "Incorrect usage of multi-valued index and explicit index order";
        return Err(Error::new(ErrorCode::WrongUsage, message));
    }
    let known = draft.columns.iter().map(|draft| &draft.column).chain(added);
    let mut arrays = known.filter(|column| column.array_of.is_some());
    match arrays.any(|column| key.parts[..part].iter().any(|part| part.column == column.name)) {
        true => Err(Error::unsupported("more than one multi-valued key part per index")),
        false => Ok(()),
    }
}
