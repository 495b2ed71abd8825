//! WITH RECURSIVE: a table whose query reads what it has found so far.

use shoal_types::SqlType;

use super::{Limit, QueryPlan};

/// A UNION some of whose parts read the table that it makes.
#[derive(Debug)]
pub struct Recursion {
    /// The name of the table.
    pub name: String,
    /// Run once, in order; at least one.
    pub seeds: Vec<RecursionPart>,
    /// Run until they find nothing more. Each is a block whose first input is [`super::Input::Working`].
    pub members: Vec<RecursionPart>,
    /// The columns of the table: what rows of all parts are converted to.
    pub columns: Vec<(String, SqlType)>,
    /// LIMIT of the whole ends the recursion.
    pub limit: Option<Limit>,
}

/// One part of the UNION.
#[derive(Debug)]
pub struct RecursionPart {
    pub query: QueryPlan,
    /// Rows that the table has already are left out: a UNION DISTINCT stands at this part or behind it.
    pub distinct: bool,
}
