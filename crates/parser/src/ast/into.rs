//! Where rows go or come from beside tables: INTO, and the format of the files of INTO OUTFILE and LOAD DATA.

use super::Ident;

#[derive(Debug, Clone, PartialEq)]
pub enum SelectInto {
    Variables(Vec<IntoTarget>),
    OutFile { path: Vec<u8>, charset: Option<String>, fields: FieldFormat, lines: LineFormat },
    DumpFile(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum IntoTarget {
    UserVariable(String),
    /// A local variable or parameter of a stored program.
    Local(Ident),
}

/// FIELDS (or COLUMNS) of LOAD DATA and INTO OUTFILE. None: MySQL's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldFormat {
    pub terminated_by: Option<Vec<u8>>,
    pub enclosed_by: Option<Vec<u8>>,
    pub optionally_enclosed: bool,
    pub escaped_by: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineFormat {
    pub starting_by: Option<Vec<u8>>,
    pub terminated_by: Option<Vec<u8>>,
}
