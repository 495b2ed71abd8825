//! The type of a column or of an expression.

use std::sync::Arc;

use crate::collation::Collation;

/// Storage and arithmetic class. Sizes and signs live in [`SqlType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseType {
    /// The type of the literal NULL; no column has it.
    Null,
    /// One byte.
    TinyInt,
    /// Two bytes.
    SmallInt,
    /// Three bytes.
    MediumInt,
    /// Four bytes.
    Int,
    /// Eight bytes.
    BigInt,
    /// Four bytes, binary.
    Float,
    /// Eight bytes, binary.
    Double,
    /// Exact: `length` digits, `decimals` of them after the point.
    Decimal,
    /// 1 to 64 bits.
    Bit,
    /// 0, or 1901 to 2155.
    Year,
    /// Day, month and year.
    Date,
    /// A signed duration, -838:59:59 to 838:59:59.
    Time,
    /// Date and time of day, without a zone.
    DateTime,
    /// A moment: stored in UTC, shown in the session's zone.
    Timestamp,
    /// CHAR and BINARY: of fixed length.
    Char,
    /// VARCHAR and VARBINARY: up to `length`.
    VarChar,
    /// TINYTEXT to LONGTEXT, and with the binary collation TINYBLOB to LONGBLOB; `length` tells them apart.
    Text,
    /// One of `labels`.
    Enum,
    /// Any of up to 64 `labels`.
    Set,
    /// A document in binary form.
    Json,
    /// Bytes of a geometry.
    Geometry,
}

/// `decimals` of a FLOAT or DOUBLE that was declared without a number of decimals (MySQL's NOT_FIXED_DEC).
pub const DECIMALS_NOT_FIXED: u8 = 31;

/// A column's declared type or an expression's result type.
///
/// BINARY, VARBINARY and the BLOB family are CHAR, VARCHAR and TEXT with `Collation::BINARY`.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlType {
    /// The class; the other fields refine it.
    pub base: BaseType,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL; such a column is unsigned as well.
    pub zerofill: bool,
    /// Characters for strings (bytes for binary ones and for TEXT/BLOB columns), bits for BIT, total digits
    /// for DECIMAL, display width for other numbers.
    pub length: u32,
    /// Digits after the point for DECIMAL, FLOAT and DOUBLE (or [`DECIMALS_NOT_FIXED`]); fractional seconds
    /// digits (fsp) for temporal types.
    pub decimals: u8,
    /// Of strings, ENUM and SET; binary for everything else.
    pub collation: Collation,
    /// The members of ENUM and SET, in the type's character set.
    pub labels: Option<Arc<[Box<[u8]>]>>,
}

impl SqlType {
    /// The class alone: signed, of no length, binary.
    pub fn new(base: BaseType) -> SqlType {
        SqlType {
            base,
            unsigned: false,
            zerofill: false,
            length: 0,
            decimals: 0,
            collation: Collation::BINARY,
            labels: None,
        }
    }

    /// The type of the literal NULL.
    pub fn null() -> SqlType {
        SqlType::new(BaseType::Null)
    }

    /// BIGINT, signed or not: the type of integer expressions.
    pub fn bigint(unsigned: bool) -> SqlType {
        SqlType { unsigned, length: if unsigned { 20 } else { 21 }, ..SqlType::new(BaseType::BigInt) }
    }

    /// DOUBLE without a fixed number of decimals: the type of floating-point expressions.
    pub fn double() -> SqlType {
        SqlType { length: 23, decimals: DECIMALS_NOT_FIXED, ..SqlType::new(BaseType::Double) }
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u32, scale: u8) -> SqlType {
        SqlType { length: precision, decimals: scale, ..SqlType::new(BaseType::Decimal) }
    }

    /// VARCHAR of `length` characters.
    pub fn varchar(length: u32, collation: Collation) -> SqlType {
        SqlType { length, collation, ..SqlType::new(BaseType::VarChar) }
    }

    /// DATETIME with `fsp` fractional digits.
    pub fn datetime(fsp: u8) -> SqlType {
        SqlType { decimals: fsp, ..SqlType::new(BaseType::DateTime) }
    }

    /// CHAR, VARCHAR, TEXT and their binary kin, ENUM and SET.
    pub fn is_string(&self) -> bool {
        matches!(self.base, BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Enum | BaseType::Set)
    }

    /// TINYINT to BIGINT.
    pub fn is_int(&self) -> bool {
        use BaseType::{BigInt, Int, MediumInt, SmallInt, TinyInt};
        matches!(self.base, TinyInt | SmallInt | MediumInt | Int | BigInt)
    }

    /// [`SqlType::is_int`], and the types that are numbers of that kind in arithmetic.
    pub fn is_integer(&self) -> bool {
        matches!(
            self.base,
            BaseType::TinyInt
                | BaseType::SmallInt
                | BaseType::MediumInt
                | BaseType::Int
                | BaseType::BigInt
                | BaseType::Year
                | BaseType::Bit
        )
    }

    /// Integers, YEAR and BIT, FLOAT, DOUBLE and DECIMAL.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self.base, BaseType::Float | BaseType::Double | BaseType::Decimal)
    }

    /// DATE, TIME, DATETIME and TIMESTAMP; not YEAR.
    pub fn is_temporal(&self) -> bool {
        matches!(self.base, BaseType::Date | BaseType::Time | BaseType::DateTime | BaseType::Timestamp)
    }

    /// A TEXT or BLOB of any size, or JSON or a geometry: not usable as a key without a prefix length.
    pub fn is_blob(&self) -> bool {
        matches!(self.base, BaseType::Text | BaseType::Json | BaseType::Geometry)
    }

    /// A string of bytes rather than characters.
    pub fn is_binary_string(&self) -> bool {
        self.is_string() && self.collation == Collation::BINARY
    }
}

impl Default for SqlType {
    fn default() -> SqlType {
        SqlType::null()
    }
}
