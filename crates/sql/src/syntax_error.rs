//! What the parser finds wrong, as MySQL tells it.

use shoal_parser::{ParseError, ParseErrorKind};
use shoal_types::{Error, ErrorCode};

/// 1064 with the place, or 1065.
pub fn syntax_error(error: &ParseError) -> Error {
    if error.kind == ParseErrorKind::EmptyQuery {
        return Error::new(ErrorCode::EmptyQuery, "Query was empty");
    }
    Error::new(ErrorCode::from_errno(error.errno()).unwrap_or(ErrorCode::Parse), error.to_string())
}
