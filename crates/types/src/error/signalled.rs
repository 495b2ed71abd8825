//! Conditions that a statement raises on purpose (SIGNAL): their numbers and states need not be in the table of errors.

/// A condition of SIGNAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// MYSQL_ERRNO.
    pub errno: u16,
    /// RETURNED_SQLSTATE.
    pub sqlstate: [u8; 5],
    /// MESSAGE_TEXT.
    pub message: String,
    /// The other items that were set: name in upper case, text.
    pub items: Vec<(String, String)>,
}

impl Signalled {
    /// The text of an item that was set by its name.
    pub fn item(&self, name: &str) -> Option<&str> {
        self.items.iter().find(|(item, _)| item == name).map(|(_, text)| text.as_str())
    }
}
