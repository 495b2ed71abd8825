//! What the construction of expressions depends on besides the operands.

use shoal_types::TimeZone;

use crate::context::{EvalContext, Settings};

/// What the rules of construction depend on besides the operands.
#[derive(Clone, Debug)]
pub struct BuildContext<'a> {
    /// Of the session when the statement is resolved.
    pub settings: Settings,
    /// The default database, named in error 1305.
    pub database: Option<&'a str>,
}

impl<'a> BuildContext<'a> {
    /// Without a current database.
    pub fn new(settings: Settings) -> BuildContext<'a> {
        BuildContext { settings, database: None }
    }

    /// A context for folding. Nothing that is folded looks at the clock, the zone or the session.
    pub(crate) fn evaluation(&self) -> EvalContext<'static> {
        EvalContext::new(&[], &TimeZone::UTC, 0, self.settings)
    }
}

impl Default for BuildContext<'_> {
    fn default() -> Self {
        BuildContext::new(Settings::default())
    }
}
