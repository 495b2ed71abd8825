//! Where rows go or come from beside tables: INTO, and the format of the files of INTO OUTFILE and LOAD DATA.

use super::Ident;

/// Where the rows of a query go instead of to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectInto {
    /// `INTO @a, b`: one row, one target for each column.
    Variables(Vec<IntoTarget>),
    /// `INTO OUTFILE 'path' [CHARACTER SET ..] [FIELDS ..] [LINES ..]`.
    OutFile {
        /// A file on the server.
        path: Vec<u8>,
        /// `None`: columns are written as they are.
        charset: Option<String>,
        /// FIELDS.
        fields: FieldFormat,
        /// LINES.
        lines: LineFormat,
    },
    /// `INTO DUMPFILE 'path'`: one row, without any format.
    DumpFile(Vec<u8>),
}

/// A variable that takes a value.
#[derive(Debug, Clone, PartialEq)]
pub enum IntoTarget {
    /// `@name`, without the `@`.
    UserVariable(String),
    /// A local variable or parameter of a stored program.
    Local(Ident),
}

/// FIELDS (or COLUMNS) of LOAD DATA and INTO OUTFILE. `None`: MySQL's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldFormat {
    /// TERMINATED BY; by default a tab.
    pub terminated_by: Option<Vec<u8>>,
    /// `[OPTIONALLY] ENCLOSED BY`; by default nothing.
    pub enclosed_by: Option<Vec<u8>>,
    /// OPTIONALLY: only texts are enclosed.
    pub optionally_enclosed: bool,
    /// ESCAPED BY; by default a backslash.
    pub escaped_by: Option<Vec<u8>>,
}

/// LINES of LOAD DATA and INTO OUTFILE. `None`: MySQL's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineFormat {
    /// STARTING BY; by default nothing.
    pub starting_by: Option<Vec<u8>>,
    /// TERMINATED BY; by default a newline.
    pub terminated_by: Option<Vec<u8>>,
}
