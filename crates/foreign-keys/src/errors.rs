//! What foreign keys refuse, in MySQL's words.

use shoal_types::{Error, ErrorCode, ForeignKey, ReferentialAction, TableSchema};

/// As MySQL shows it in SHOW CREATE TABLE and in errors; `database` is the child's.
pub fn constraint_text(key: &ForeignKey, database: &str) -> String {
    let quoted = |names: &[String]| names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    let parent = match key.parent.0 == database {
        true => quote(&key.parent.1),
        false => format!("{}.{}", quote(&key.parent.0), quote(&key.parent.1)),
    };
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        quote(&key.name),
        quoted(&key.columns),
        quoted(&key.parent_columns)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferentialAction::NoAction {
            text += &format!(" ON {event} {}", action.text());
        }
    }
    text
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Error 1452.
pub fn no_parent(child: &TableSchema, key: &ForeignKey) -> Error {
    let (database, name) = (&child.database, &child.name);
    let message = format!(
        "Cannot add or update a child row: a foreign key constraint fails ({}.{}, {})",
        quote(database),
        quote(name),
        constraint_text(key, database)
    );
    Error::new(ErrorCode::NoReferencedRow, message)
}

/// Error 1451.
pub fn has_children(child: &TableSchema, key: &ForeignKey) -> Error {
    let (database, name) = (&child.database, &child.name);
    let message = format!(
        "Cannot delete or update a parent row: a foreign key constraint fails ({}.{}, {})",
        quote(database),
        quote(name),
        constraint_text(key, database)
    );
    Error::new(ErrorCode::RowIsReferenced, message)
}
