//! The settings that a program keeps from when it was made.

use std::hash::{Hash, Hasher};

use shoal_cluster::Program;
use shoal_types::{Charset, Collation};

use crate::variables::sql_mode::SqlModes;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSettings {
    pub modes: SqlModes,
    pub character_set_client: Charset,
    pub collation_connection: Collation,
}

impl ProgramSettings {
    /// The program's, and their key.
    pub fn keyed(program: &Program, modes: SqlModes) -> (ProgramSettings, u64) {
        let settings = ProgramSettings {
            modes,
            character_set_client: Charset::resolve(&program.character_set_client).unwrap_or(Charset::Utf8mb4),
            collation_connection: program.collation_connection,
        };
        (settings, settings.key(&program.database))
    }

    /// A number that differs wherever plans may: never 0.
    pub fn key(&self, database: &str) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        (self.modes.text(), self.collation_connection.0, self.character_set_client.name(), database)
            .hash(&mut hasher);
        hasher.finish() | 1
    }
}
