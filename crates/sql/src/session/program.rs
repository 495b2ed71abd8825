//! What of a session stored programs replace while they run.

use super::Session;
use crate::program::settings::ProgramSettings;
use crate::variables::registry;

impl Session {
    pub fn program_settings(&self) -> ProgramSettings {
        let settings = &self.variables.settings;
        ProgramSettings {
            modes: self.variables.sql_mode,
            character_set_client: settings.character_set_client,
            collation_connection: settings.collation_connection,
        }
    }

    /// The stored program that is running has a variable of this name in sight.
    pub fn has_local(&self, name: &str) -> bool {
        let inside = self.inside.as_ref();
        inside.is_some_and(|inside| inside.slots.with_locals(&inside.scope, |locals| locals.slot(name).is_some()))
    }

    /// Settings that a program brings along, or those of before it. Plans do not outlive the difference: it is in their key.
    pub fn set_program_settings(&mut self, wanted: ProgramSettings) {
        let present = self.program_settings();
        if present == wanted {
            return;
        }
        let (client, collation) = (wanted.character_set_client, wanted.collation_connection);
        let changes = [
            ("sql_mode", (present.modes != wanted.modes).then(|| wanted.modes.text())),
            ("character_set_client", (present.character_set_client != client).then(|| client.name().to_owned())),
            (
                "collation_connection",
                (present.collation_connection != collation).then(|| collation.name().to_owned()),
            ),
        ];
        for (name, text) in changes {
            if let (Some(definition), Some(text)) = (registry::find(name), text) {
                // It was checked when the session or the program got it.
                let _ = self.variables.assign(definition, &text);
            }
        }
    }
}
