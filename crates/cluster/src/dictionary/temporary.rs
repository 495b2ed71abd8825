//! Temporary tables: the dictionary as a session with some of them sees it.
//!
//! The rows of all temporary tables of a process are in a node of their own (`NodeOptions::for_temporary_tables`), under ids that no
//! other table has. That node knows them as hidden tables, without names. A session knows its own ones by name: it lays them over the
//! dictionary that everybody shares, where they hide tables and views of the same name, and nothing else is different.

use std::sync::Arc;

use shoal_types::{TableId, TableSchema};

use crate::dictionary::catalog::Catalog;
use crate::dictionary::table::Table;

/// The first id of temporary tables, and how many ids there are for them. Others count up from 1.
const FIRST_ID: u32 = 1 << 31;
const IDS: u32 = 1 << 30;

/// The versions of dictionaries with temporary tables: no shared one becomes so old.
const FIRST_VERSION: u64 = 1 << 63;

/// Ids of temporary tables: the number of those that were given out before leads to the next one.
pub fn temporary_table_id(given: u32) -> TableId {
    TableId(FIRST_ID + given % IDS)
}

impl Table {
    /// What a session knows of a temporary table that is hidden in its node: with its names.
    pub fn temporary(hidden: &Table, schema: TableSchema) -> Table {
        let mut table = Table::new(schema, Arc::clone(&hidden.next_auto_increment));
        table.is_temporary = true;
        table
    }
}

impl Catalog {
    /// The dictionary `shared` with temporary tables over it. `number` tells it from others of the same session. Tables of a database
    /// that was dropped are out of reach.
    pub fn with_temporary(shared: &Arc<Catalog>, tables: &[Arc<Table>], number: u64) -> Catalog {
        let mut catalog = Catalog::clone(shared);
        catalog.version = FIRST_VERSION + number;
        catalog.beneath = Some(Arc::clone(shared));
        tables.iter().for_each(|table| catalog.lay_over(table));
        catalog
    }

    /// This dictionary with temporary tables, and one more.
    pub fn with_one_more(&self, table: &Arc<Table>, number: u64) -> Catalog {
        let mut catalog = Catalog { version: FIRST_VERSION + number, ..self.clone() };
        catalog.lay_over(table);
        catalog
    }

    /// This dictionary with temporary tables, but for one: what that has hidden is in sight again.
    pub fn with_one_less(&self, table: &Arc<Table>, number: u64) -> Catalog {
        let mut catalog = Catalog { version: FIRST_VERSION + number, ..self.clone() };
        let Some(database) = catalog.databases.get_mut(&table.schema.database) else { return catalog };
        let database = Arc::make_mut(database);
        database.tables.remove(table.name());
        catalog.tables_by_id.remove(&table.id());
        if let Some(hidden) = self.shared().databases.get(&database.name) {
            if let Some(table) = hidden.tables.get(table.name()) {
                database.tables.insert(Arc::clone(table));
            }
            if let Some(view) = hidden.views.get(table.name()) {
                database.views.insert(view.name.clone(), Arc::clone(view));
            }
        }
        catalog
    }

    fn lay_over(&mut self, table: &Arc<Table>) {
        let Some(database) = self.databases.get_mut(&table.schema.database) else { return };
        let database = Arc::make_mut(database);
        database.views.remove(table.name());
        database.tables.insert(Arc::clone(table));
        self.tables_by_id.insert(Arc::clone(table));
    }

    /// What all sessions see: what there is without temporary tables.
    pub fn shared(&self) -> &Catalog {
        self.beneath.as_deref().unwrap_or(self)
    }

    /// There are temporary tables.
    pub fn has_temporary(&self) -> bool {
        self.beneath.is_some()
    }
}

#[cfg(test)]
mod tests {
    use shoal_types::Collation;

    use super::*;
    use crate::dictionary::catalog::Change;
    use crate::dictionary::meta_rows::changes_schema;
    use crate::dictionary::sequence::Sequence;

    #[test]
    fn a_temporary_table_hides_the_table_of_its_name_from_its_session_alone() {
        let mut shared = Catalog::default();
        let collation = Collation::UTF8MB4_0900_AI_CI;
        shared.apply(&Change::PutDatabase { name: "d".into(), collation }).unwrap();
        let mut schema = TableSchema { database: "d".into(), name: "t".into(), ..changes_schema() };
        schema.id = TableId(7);
        shared.apply(&Change::PutTable(schema.clone())).unwrap();
        let shared = Arc::new(shared);
        schema.id = temporary_table_id(IDS + 3);
        assert_eq!(schema.id, temporary_table_id(3), "ids come again");
        let hidden =
            Table::new(TableSchema { database: String::new(), ..schema.clone() }, Arc::new(Sequence::new(1)));
        let temporary = Arc::new(Table::temporary(&hidden, schema.clone()));
        let lost = Arc::new(Table::temporary(&hidden, TableSchema { database: "gone".into(), ..schema.clone() }));
        let seen = Catalog::with_temporary(&shared, &[Arc::clone(&temporary), lost], 1);
        assert!(seen.table("d", "t").is_some_and(|table| table.is_temporary && table.id() == schema.id));
        assert!(seen.table("gone", "t").is_none());
        assert!(seen.table_by_id(TableId(7)).is_some(), "foreign keys find it by its id");
        assert!(seen.shared().table("d", "t").is_some_and(|table| table.id() == TableId(7)));
        assert!(seen.version > shared.version && seen.has_temporary() && !shared.has_temporary());
        let bare = seen.with_one_less(&temporary, 2);
        assert!(bare.table("d", "t").is_some_and(|table| table.id() == TableId(7)) && bare.version > seen.version);
        assert!(bare.table_by_id(temporary.id()).is_none());
        let again = bare.with_one_more(&temporary, 3);
        assert!(
            again.table("d", "t").is_some_and(|table| Arc::ptr_eq(table, &temporary)) && again.has_temporary()
        );
    }
}
