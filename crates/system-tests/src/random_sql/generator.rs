//! What makes a case: the seed's choices, and the schema as it is after the steps made so far.

use super::chance::Chance;
use super::kind::{COMMON_KINDS, Edges, Kind};
use super::schema::{Schema, Table};

/// Who judges the answers: that decides what may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracles {
    /// MariaDB beside the server: only what it does as MySQL does.
    MariaDb,
    /// The server itself.
    Own,
}

pub struct Generator {
    pub chance: Chance,
    pub oracles: Oracles,
    pub schema: Schema,
    /// The schema before the last change of a definition.
    pub altered: Option<Schema>,
    pub edges: Edges,
    aliases: usize,
    /// The table that the statement changes: MySQL does not read it in a subquery (1093).
    pub changed_table: Option<String>,
    /// How many queries the one that is being made lies in.
    pub nesting: usize,
}

impl Generator {
    pub fn new(seed: u64, oracles: Oracles) -> Generator {
        Generator {
            chance: Chance::new(seed),
            oracles,
            schema: Schema::default(),
            altered: None,
            edges: Edges::Some,
            aliases: 0,
            changed_table: None,
            nesting: 0,
        }
    }

    /// The kinds that columns and expressions may have.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = COMMON_KINDS.to_vec();
        // What is asked for most.
        kinds.extend([Kind::Int, Kind::Int, Kind::Text, Kind::Text]);
        if self.oracles == Oracles::Own {
            kinds.push(Kind::Json);
        }
        kinds
    }

    /// Tables and views that a query may read.
    pub fn readable(&self) -> (Vec<Table>, Vec<Table>) {
        let mut tables = self.schema.tables.clone();
        match &self.changed_table {
            None => (tables, self.schema.views.clone()),
            Some(name) => {
                tables.retain(|table| table.name != *name);
                (tables, Vec::new())
            }
        }
    }

    /// A name that nothing else in the case has.
    pub fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }
}
