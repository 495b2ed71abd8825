//! Data types, as SHOW CREATE TABLE writes them.

use std::fmt::{self, Display, Formatter};

use super::{join, write_string};
use crate::ast::{CharsetChoice, DataType, DataTypeKind};

impl DataTypeKind {
    /// The type's name in lower case.
    pub fn keyword(self) -> &'static str {
        match self {
            DataTypeKind::Bit => "bit",
            DataTypeKind::TinyInt => "tinyint",
            DataTypeKind::SmallInt => "smallint",
            DataTypeKind::MediumInt => "mediumint",
            DataTypeKind::Int => "int",
            DataTypeKind::BigInt => "bigint",
            DataTypeKind::Decimal => "decimal",
            DataTypeKind::Float => "float",
            DataTypeKind::Double => "double",
            DataTypeKind::Date => "date",
            DataTypeKind::Time => "time",
            DataTypeKind::DateTime => "datetime",
            DataTypeKind::Timestamp => "timestamp",
            DataTypeKind::Year => "year",
            DataTypeKind::Char => "char",
            DataTypeKind::VarChar => "varchar",
            DataTypeKind::Binary => "binary",
            DataTypeKind::VarBinary => "varbinary",
            DataTypeKind::TinyText => "tinytext",
            DataTypeKind::Text => "text",
            DataTypeKind::MediumText => "mediumtext",
            DataTypeKind::LongText => "longtext",
            DataTypeKind::TinyBlob => "tinyblob",
            DataTypeKind::Blob => "blob",
            DataTypeKind::MediumBlob => "mediumblob",
            DataTypeKind::LongBlob => "longblob",
            DataTypeKind::Enum => "enum",
            DataTypeKind::Set => "set",
            DataTypeKind::Json => "json",
            DataTypeKind::Serial => "serial",
            DataTypeKind::Geometry => "geometry",
            DataTypeKind::Point => "point",
            DataTypeKind::LineString => "linestring",
            DataTypeKind::Polygon => "polygon",
            DataTypeKind::MultiPoint => "multipoint",
            DataTypeKind::MultiLineString => "multilinestring",
            DataTypeKind::MultiPolygon => "multipolygon",
            DataTypeKind::GeometryCollection => "geomcollection",
        }
    }
}

impl Display for DataType {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.keyword())?;
        if !self.labels.is_empty() {
            formatter.write_str("(")?;
            join(formatter, &self.labels, ",", |formatter, label| write_string(formatter, label))?;
            formatter.write_str(")")?;
        }
        self.write_length(formatter)?;
        if self.unsigned {
            formatter.write_str(" unsigned")?;
        }
        if self.zerofill {
            formatter.write_str(" zerofill")?;
        }
        self.write_charset(formatter, " character set ")?;
        if self.binary_collation {
            formatter.write_str(" binary")?;
        }
        match &self.collation {
            Some(collation) => write!(formatter, " collate {collation}"),
            None => Ok(()),
        }
    }
}

impl DataType {
    fn write_length(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match (self.length, self.scale) {
            (Some(length), Some(scale)) => write!(formatter, "({length},{scale})"),
            (Some(length), None) => write!(formatter, "({length})"),
            _ => Ok(()),
        }
    }

    fn write_charset(&self, formatter: &mut Formatter<'_>, words: &str) -> fmt::Result {
        match &self.charset {
            Some(CharsetChoice::Named(name)) => write!(formatter, "{words}{name}"),
            Some(CharsetChoice::National) => write!(formatter, "{words}utf8mb3"),
            Some(CharsetChoice::Default) | None => Ok(()),
        }
    }

    /// The type as CAST names it.
    pub(super) fn write_for_cast(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            DataTypeKind::BigInt => formatter.write_str(if self.unsigned { "unsigned" } else { "signed" }),
            kind => {
                formatter.write_str(kind.keyword())?;
                self.write_length(formatter)?;
                self.write_charset(formatter, " charset ")?;
                formatter.write_str(if self.binary_collation { " binary" } else { "" })
            }
        }
    }
}
