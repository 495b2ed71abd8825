//! System variables that functions and triggers of the running statement have set.

use std::rc::Rc;

use super::SessionVariables;
use super::registry::Definition;

/// See the module.
pub struct SetInside {
    /// All of the session's variables, as they are now.
    pub variables: Rc<SessionVariables>,
    /// Plans depend on it: it differs after each SET.
    pub key: u64,
    /// What the session is given when the statement has ended.
    pub set: Vec<(&'static Definition, String)>,
}
