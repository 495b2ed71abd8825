//! Names of objects, columns and variables; nothing is looked up yet.

/// A name with its case preserved. Equality looks at the exact text only.
#[derive(Clone)]
pub struct Ident {
    /// The name, quotes and escapes resolved.
    pub value: String,
    /// Byte offset of the name's first byte (or opening quote) in the source.
    pub offset: u32,
    /// Written in backticks, or in double quotes under ANSI_QUOTES.
    pub quoted: bool,
}

impl Ident {
    /// A name that stands nowhere in a source.
    pub fn new(value: impl Into<String>) -> Ident {
        Ident { value: value.into(), offset: 0, quoted: false }
    }

    /// True when the name is `other` without regard to ASCII case.
    pub fn is(&self, other: &str) -> bool {
        self.value.eq_ignore_ascii_case(other)
    }
}

impl std::fmt::Debug for Ident {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Ident({})", crate::quote_identifier(&self.value))
    }
}

impl PartialEq for Ident {
    fn eq(&self, other: &Ident) -> bool {
        self.value == other.value
    }
}

impl Eq for Ident {}

/// The name of a table, view, routine, trigger or event, with its schema when the statement gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// `None`: the current schema.
    pub schema: Option<Ident>,
    /// The name within the schema.
    pub name: Ident,
}

/// The name of a column, with what was written before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// Given only with a table.
    pub schema: Option<Ident>,
    /// The table's name or alias. `None`: any table in reach that has the column.
    pub table: Option<Ident>,
    /// The column's name; a select item's alias in ORDER BY, GROUP BY and HAVING.
    pub column: Ident,
}

/// `@@[scope.][component.]name`, and the left side of SET.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemVariable {
    /// None for `@@name`: the session's value if there is one, else the global value.
    pub scope: Option<VariableScope>,
    /// The part before the dot in `key_cache.key_buffer_size` or `component.variable`.
    pub component: Option<Ident>,
    /// The variable's name.
    pub name: Ident,
}

/// Whose value of a system variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    /// `GLOBAL`: the server's, until it stops.
    Global,
    /// `SESSION` and `LOCAL`: this session's.
    Session,
    /// `PERSIST`: the server's, and kept over a restart.
    Persist,
    /// `PERSIST_ONLY`: kept for the next start, without a change now.
    PersistOnly,
}
