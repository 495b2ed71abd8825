//! Tables and views as the generator knows them.

use super::kind::Kind;

/// A column as a statement names it.
#[derive(Clone, Debug)]
pub struct Reference {
    pub sql: String,
    pub kind: Kind,
}

/// What an expression may name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub columns: Vec<Reference>,
}

impl Scope {
    pub fn with(&self, other: &Scope) -> Scope {
        let columns = self.columns.iter().chain(&other.columns).cloned().collect();
        Scope { columns }
    }
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub sql_type: &'static str,
    pub is_generated: bool,
}

impl Column {
    pub fn is_long(&self) -> bool {
        self.sql_type.contains("TEXT") || self.sql_type.contains("BLOB")
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub keys: Vec<String>,
    pub is_view: bool,
    /// A row is found by `id` alone.
    pub has_id_key: bool,
}

impl Table {
    /// The columns of the table under an alias.
    pub fn scope(&self, alias: &str) -> Scope {
        let reference = |column: &Column| Reference { sql: format!("{alias}.{}", column.name), kind: column.kind };
        Scope { columns: self.columns.iter().map(reference).collect() }
    }

    /// The columns that a statement can write.
    pub fn written(&self) -> Vec<Column> {
        self.columns.iter().filter(|column| !column.is_generated).cloned().collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub tables: Vec<Table>,
    pub views: Vec<Table>,
}

/// Texts that are equal by a collation are different rows: grouped or made distinct, which of them shows is nobody's promise.
pub fn stable(sql: &str, kind: Kind) -> String {
    match kind {
        Kind::Text => format!("TRIM(LOWER({sql}))"),
        _ => sql.to_owned(),
    }
}
