//! Data types of columns, routine parameters and casts.

/// A type as written; defaults (length 1 of CHAR, scale 0 of DECIMAL ..) are not filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    pub kind: DataTypeKind,
    /// Display width, length, precision or fractional seconds digits, by kind.
    pub length: Option<u64>,
    /// Digits after the point of DECIMAL, FLOAT and DOUBLE.
    pub scale: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    pub charset: Option<CharsetChoice>,
    pub collation: Option<String>,
    /// The `BINARY` attribute of a character type: the `_bin` collation of its character set.
    pub binary_collation: bool,
    /// The labels of ENUM and SET.
    pub labels: Vec<Vec<u8>>,
}

impl DataType {
    pub fn new(kind: DataTypeKind) -> DataType {
        DataType {
            kind,
            length: None,
            scale: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            collation: None,
            binary_collation: false,
            labels: Vec::new(),
        }
    }
}

/// Synonyms are folded: INTEGER and INT4 are `Int`, BOOL is `TinyInt` with length 1, NUMERIC, DEC and FIXED are `Decimal`, REAL is `Double`,
/// CHARACTER VARYING is `VarChar`, LONG VARCHAR is `MediumText`, `CHAR BYTE` is `Binary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataTypeKind {
    Bit,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    /// `SERIAL`: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CharsetChoice {
    /// `CHARACTER SET name`; `ASCII` is latin1, `UNICODE` is ucs2, `BYTE` and `BINARY` are binary.
    Named(String),
    /// NATIONAL CHAR, NCHAR, NVARCHAR: utf8mb3.
    National,
    /// `CHARACTER SET DEFAULT`.
    Default,
}
