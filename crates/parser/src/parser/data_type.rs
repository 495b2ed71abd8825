//! Data types.

use super::{Parser, Result};
use crate::ast::{CharsetChoice, DataType, DataTypeKind};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// The type of a column, parameter or variable.
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        use DataTypeKind::*;
        let word = self.upper();
        let plain = |kind| DataType::new(kind);
        let (mut data_type, shape) = match word.as_str() {
            "BIT" => (plain(Bit), Shape::Length),
            "TINYINT" | "INT1" => (plain(TinyInt), Shape::Integer),
            "SMALLINT" | "INT2" => (plain(SmallInt), Shape::Integer),
            "MEDIUMINT" | "MIDDLEINT" | "INT3" => (plain(MediumInt), Shape::Integer),
            "INT" | "INTEGER" | "INT4" => (plain(Int), Shape::Integer),
            "BIGINT" | "INT8" => (plain(BigInt), Shape::Integer),
            "BOOL" | "BOOLEAN" => {
                let mut boolean = plain(TinyInt);
                boolean.length = Some(1);
                (boolean, Shape::Bare)
            }
            "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => (plain(Decimal), Shape::Number),
            "FLOAT" | "FLOAT4" => (plain(Float), Shape::Number),
            "DOUBLE" | "REAL" | "FLOAT8" => (plain(Double), Shape::Number),
            "DATE" => (plain(Date), Shape::Bare),
            "TIME" => (plain(Time), Shape::Length),
            "DATETIME" => (plain(DateTime), Shape::Length),
            "TIMESTAMP" => (plain(Timestamp), Shape::Length),
            "YEAR" => (plain(Year), Shape::Integer),
            "VARBINARY" => (plain(VarBinary), Shape::Length),
            "BINARY" => (plain(Binary), Shape::Length),
            "TINYBLOB" => (plain(TinyBlob), Shape::Bare),
            "BLOB" => (plain(Blob), Shape::Length),
            "MEDIUMBLOB" => (plain(MediumBlob), Shape::Bare),
            "LONGBLOB" => (plain(LongBlob), Shape::Bare),
            "TINYTEXT" => (plain(TinyText), Shape::Text),
            "TEXT" => (plain(Text), Shape::LengthAndText),
            "MEDIUMTEXT" => (plain(MediumText), Shape::Text),
            "LONGTEXT" => (plain(LongText), Shape::Text),
            "ENUM" => (plain(Enum), Shape::Labels),
            "SET" => (plain(Set), Shape::Labels),
            "JSON" => (plain(Json), Shape::Bare),
            "SERIAL" => (plain(Serial), Shape::Bare),
            "GEOMETRY" => (plain(Geometry), Shape::Bare),
            "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" => (plain(GeometryCollection), Shape::Bare),
            "POINT" => (plain(Point), Shape::Bare),
            "LINESTRING" => (plain(LineString), Shape::Bare),
            "POLYGON" => (plain(Polygon), Shape::Bare),
            "MULTIPOINT" => (plain(MultiPoint), Shape::Bare),
            "MULTILINESTRING" => (plain(MultiLineString), Shape::Bare),
            "MULTIPOLYGON" => (plain(MultiPolygon), Shape::Bare),
            _ => return self.character_type(),
        };
        self.advance();
        if data_type.kind == Double {
            self.eat("PRECISION");
        }
        self.type_shape(&mut data_type, shape)?;
        Ok(data_type)
    }

    /// CHAR and VARCHAR with their many spellings, and LONG.
    fn character_type(&mut self) -> Result<DataType> {
        let word = self.upper();
        let mut national = false;
        let varying;
        match word.as_str() {
            "CHAR" | "CHARACTER" => {
                self.advance();
                varying = self.eat("VARYING");
            }
            "VARCHAR" | "VARCHARACTER" => {
                self.advance();
                varying = true;
            }
            "NVARCHAR" => {
                self.advance();
                (national, varying) = (true, true);
            }
            "NATIONAL" | "NCHAR" => {
                national = true;
                varying = self.national_varies()?;
            }
            "LONG" => {
                self.advance();
                return self.long_type();
            }
            _ => return Err(self.unexpected()),
        }
        let kind = if varying { DataTypeKind::VarChar } else { DataTypeKind::Char };
        let mut data_type = DataType::new(kind);
        self.type_shape(&mut data_type, Shape::LengthAndText)?;
        if national {
            data_type.charset = Some(CharsetChoice::National);
        }
        if data_type.charset == Some(CharsetChoice::Named("binary".to_owned())) {
            // CHAR BYTE and CHARACTER SET binary make a byte string of a character string.
            data_type.kind = if varying { DataTypeKind::VarBinary } else { DataTypeKind::Binary };
            data_type.charset = None;
        }
        Ok(data_type)
    }

    /// NATIONAL CHAR | CHARACTER | VARCHAR [VARYING] and NCHAR [VARCHAR | VARYING]; whether the length varies.
    fn national_varies(&mut self) -> Result<bool> {
        if self.eat("NCHAR") {
            return Ok(self.eat_any(&["VARCHAR", "VARCHARACTER", "VARYING"]));
        }
        self.expect("NATIONAL")?;
        if self.eat_any(&["VARCHAR", "VARCHARACTER"]) {
            return Ok(true);
        }
        self.expect_any(&["CHAR", "CHARACTER"])?;
        Ok(self.eat("VARYING"))
    }

    /// What follows LONG: VARBINARY, or VARCHAR in any spelling, or nothing.
    fn long_type(&mut self) -> Result<DataType> {
        if self.eat("VARBINARY") {
            return Ok(DataType::new(DataTypeKind::MediumBlob));
        }
        if self.eat_any(&["CHAR", "CHARACTER"]) {
            self.expect("VARYING")?;
        } else {
            self.eat_any(&["VARCHAR", "VARCHARACTER"]);
        }
        let mut data_type = DataType::new(DataTypeKind::MediumText);
        self.type_shape(&mut data_type, Shape::Text)?;
        Ok(data_type)
    }

    fn type_shape(&mut self, data_type: &mut DataType, shape: Shape) -> Result<()> {
        match shape {
            Shape::Bare => {}
            Shape::Length => data_type.length = self.optional_length()?,
            Shape::Integer => {
                data_type.length = self.optional_length()?;
                self.number_attributes(data_type);
            }
            Shape::Number => {
                self.optional_precision(data_type)?;
                self.number_attributes(data_type);
            }
            Shape::Text => self.charset_attributes(data_type)?,
            Shape::LengthAndText => {
                data_type.length = self.optional_length()?;
                self.charset_attributes(data_type)?;
            }
            Shape::Labels => {
                data_type.labels = self.paren_list(Self::text_or_binary)?;
                self.charset_attributes(data_type)?;
            }
        }
        Ok(())
    }

    /// `(n)`.
    pub(super) fn optional_length(&mut self) -> Result<Option<u64>> {
        if !self.eat_kind(TokenKind::LeftParen) {
            return Ok(None);
        }
        let length = self.integer()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Some(length))
    }

    /// `(precision)` or `(precision, scale)`.
    fn optional_precision(&mut self, data_type: &mut DataType) -> Result<()> {
        if !self.eat_kind(TokenKind::LeftParen) {
            return Ok(());
        }
        data_type.length = Some(self.integer()?);
        if self.eat_kind(TokenKind::Comma) {
            data_type.scale = Some(self.integer()?);
        }
        self.expect_kind(TokenKind::RightParen)
    }

    fn number_attributes(&mut self, data_type: &mut DataType) {
        loop {
            if self.eat("UNSIGNED") {
                data_type.unsigned = true;
            } else if self.eat("ZEROFILL") {
                // ZEROFILL implies UNSIGNED.
                data_type.zerofill = true;
                data_type.unsigned = true;
            } else if !self.eat("SIGNED") {
                return;
            }
        }
    }

    /// CHARACTER SET, ASCII, UNICODE, BYTE, BINARY behind a character type. COLLATE is left to the column's attributes.
    fn charset_attributes(&mut self, data_type: &mut DataType) -> Result<()> {
        loop {
            if let Some(charset) = self.optional_charset_clause()? {
                data_type.charset = Some(charset);
            } else if self.eat("ASCII") {
                data_type.charset = Some(CharsetChoice::Named("latin1".to_owned()));
            } else if self.eat("UNICODE") {
                data_type.charset = Some(CharsetChoice::Named("ucs2".to_owned()));
            } else if self.eat("BYTE") {
                data_type.charset = Some(CharsetChoice::Named("binary".to_owned()));
            } else if self.eat("BINARY") {
                data_type.binary_collation = true;
            } else {
                return Ok(());
            }
        }
    }

    /// `CHARACTER SET name` or `CHARSET name`.
    pub(super) fn optional_charset_clause(&mut self) -> Result<Option<CharsetChoice>> {
        if self.eat_pair("CHARACTER", "SET") || self.eat_pair("CHAR", "SET") || self.eat("CHARSET") {
            return self.charset_choice().map(Some);
        }
        Ok(None)
    }

    pub(super) fn charset_choice(&mut self) -> Result<CharsetChoice> {
        if self.eat("DEFAULT") {
            return Ok(CharsetChoice::Default);
        }
        self.charset_name().map(CharsetChoice::Named)
    }

    /// A character set's name in lower case; BINARY is one though reserved.
    pub(super) fn charset_name(&mut self) -> Result<String> {
        if self.eat("BINARY") {
            return Ok("binary".to_owned());
        }
        Ok(self.ident_or_string()?.value.to_ascii_lowercase())
    }

    /// A collation's name in lower case.
    pub(super) fn collation_name(&mut self) -> Result<String> {
        self.charset_name()
    }

    /// The type after CAST .. AS and CONVERT(.., ).
    pub(super) fn cast_type(&mut self) -> Result<DataType> {
        let mut data_type = DataType::new(DataTypeKind::BigInt);
        if self.at_any(&["SIGNED", "UNSIGNED"]) {
            data_type.unsigned = self.at("UNSIGNED");
            self.advance();
            self.eat_any(&["INTEGER", "INT"]);
            return Ok(data_type);
        }
        let castable = [
            "BINARY",
            "CHAR",
            "CHARACTER",
            "NCHAR",
            "NATIONAL",
            "DATE",
            "DATETIME",
            "TIME",
            "DECIMAL",
            "DEC",
            "DOUBLE",
            "FLOAT",
            "REAL",
            "JSON",
            "YEAR",
            "POINT",
            "LINESTRING",
            "POLYGON",
            "MULTIPOINT",
            "MULTILINESTRING",
            "MULTIPOLYGON",
            "GEOMETRYCOLLECTION",
            "GEOMCOLLECTION",
        ];
        if !self.at_any(&castable) {
            return Err(self.unexpected());
        }
        self.data_type()
    }
}

/// What may follow a type's name.
#[derive(Clone, Copy)]
enum Shape {
    Bare,
    Length,
    Integer,
    Number,
    Text,
    LengthAndText,
    Labels,
}
