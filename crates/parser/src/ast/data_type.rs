//! Data types of columns, routine parameters and casts.

/// A type as written; defaults (length 1 of CHAR, scale 0 of DECIMAL ..) are not filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// The word that names it.
    pub kind: DataTypeKind,
    /// Display width, length, precision or fractional seconds digits, by kind.
    pub length: Option<u64>,
    /// Digits after the point of DECIMAL, FLOAT and DOUBLE.
    pub scale: Option<u64>,
    /// UNSIGNED, also where ZEROFILL says it.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// CHARACTER SET; `None`: the table's.
    pub charset: Option<CharsetChoice>,
    /// COLLATE, in lower case; `None`: the table's, or the default one of `charset`.
    pub collation: Option<String>,
    /// The `BINARY` attribute of a character type: the `_bin` collation of its character set.
    pub binary_collation: bool,
    /// The labels of ENUM and SET.
    pub labels: Vec<Vec<u8>>,
}

impl DataType {
    /// The type by its word alone.
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

/// The types. Synonyms are folded: INTEGER and INT4 are `Int`, BOOL is `TinyInt` with length 1, NUMERIC, DEC and FIXED
/// are `Decimal`, REAL is `Double`, CHARACTER VARYING is `VarChar`, LONG VARCHAR is `MediumText`, `CHAR BYTE` is
/// `Binary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataTypeKind {
    /// `BIT[(bits)]`.
    Bit,
    /// `TINYINT[(width)]`.
    TinyInt,
    /// `SMALLINT[(width)]`.
    SmallInt,
    /// `MEDIUMINT[(width)]`.
    MediumInt,
    /// `INT[(width)]`.
    Int,
    /// `BIGINT[(width)]`.
    BigInt,
    /// `DECIMAL[(precision[, scale])]`.
    Decimal,
    /// `FLOAT[(precision[, scale])]`.
    Float,
    /// `DOUBLE[(precision, scale)]`.
    Double,
    /// `DATE`.
    Date,
    /// `TIME[(digits)]`.
    Time,
    /// `DATETIME[(digits)]`.
    DateTime,
    /// `TIMESTAMP[(digits)]`.
    Timestamp,
    /// `YEAR[(4)]`.
    Year,
    /// `CHAR[(characters)]`.
    Char,
    /// `VARCHAR(characters)`.
    VarChar,
    /// `BINARY[(bytes)]`.
    Binary,
    /// `VARBINARY(bytes)`.
    VarBinary,
    /// `TINYTEXT`.
    TinyText,
    /// `TEXT[(characters)]`.
    Text,
    /// `MEDIUMTEXT`.
    MediumText,
    /// `LONGTEXT`.
    LongText,
    /// `TINYBLOB`.
    TinyBlob,
    /// `BLOB[(bytes)]`.
    Blob,
    /// `MEDIUMBLOB`.
    MediumBlob,
    /// `LONGBLOB`.
    LongBlob,
    /// `ENUM('label', ..)`.
    Enum,
    /// `SET('label', ..)`.
    Set,
    /// `JSON`.
    Json,
    /// `SERIAL`: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    /// `GEOMETRY`.
    Geometry,
    /// `POINT`.
    Point,
    /// `LINESTRING`.
    LineString,
    /// `POLYGON`.
    Polygon,
    /// `MULTIPOINT`.
    MultiPoint,
    /// `MULTILINESTRING`.
    MultiLineString,
    /// `MULTIPOLYGON`.
    MultiPolygon,
    /// `GEOMETRYCOLLECTION` and `GEOMCOLLECTION`.
    GeometryCollection,
}

/// The character set of a column, table or schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CharsetChoice {
    /// `CHARACTER SET name`, in lower case; `ASCII` is latin1, `UNICODE` is ucs2, `BYTE` and `BINARY` are binary.
    Named(String),
    /// NATIONAL CHAR, NCHAR, NVARCHAR: utf8mb3.
    National,
    /// `CHARACTER SET DEFAULT`.
    Default,
}
