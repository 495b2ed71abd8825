//! Storage engines by name. All tables live in the one memory store; the name that was asked for is kept and shown.

use shoal_types::{Error, ErrorCode, Result, Warning, WarningLevel};

/// Names as SHOW ENGINES writes them, with the other names they go by, and whether the memory store does what people
/// choose the engine for (transactions, durability, crash recovery, its SQL).
const ENGINES: &[(&str, &[&str], bool)] = &[
    ("InnoDB", &["innobase"], true),
    ("ndbcluster", &["ndb"], true),
    ("MyISAM", &[], false),
    ("MRG_MYISAM", &["merge"], false),
    ("MEMORY", &["heap"], false),
    ("CSV", &[], false),
    ("ARCHIVE", &[], false),
    ("BLACKHOLE", &[], false),
    ("FEDERATED", &[], false),
];

pub const DEFAULT_ENGINE: &str = "InnoDB";

/// The engine's name as it is shown; `None`: MySQL has no such engine.
pub fn canonical(name: &str) -> Option<&'static str> {
    find(name).map(|(canonical, ..)| *canonical)
}

pub fn unknown(name: &str) -> Error {
    Error::new(ErrorCode::UnknownStorageEngine, format!("Unknown storage engine '{name}'"))
}

fn find(name: &str) -> Option<&'static (&'static str, &'static [&'static str], bool)> {
    ENGINES.iter().find(|(canonical, others, _)| {
        canonical.eq_ignore_ascii_case(name) || others.iter().any(|other| other.eq_ignore_ascii_case(name))
    })
}

/// The engine of a table that asks for `name`. Notes say where the memory store differs. Errors: 1286 (a warning and the
/// default engine when `substitute`).
pub fn choose(name: &str, table: &str, substitute: bool, notes: &mut Vec<Warning>) -> Result<&'static str> {
    let Some((canonical, _, same)) = find(name) else {
        let error = unknown(name);
        if !substitute {
            return Err(error);
        }
        let (code, message) = (ErrorCode::UnknownStorageEngine, error.message().to_owned());
        notes.push(Warning { level: WarningLevel::Warning, code, message });
        notes.push(using(WarningLevel::Warning, DEFAULT_ENGINE, table));
        return Ok(DEFAULT_ENGINE);
    };
    if !same {
        notes.push(using(WarningLevel::Note, "SHOAL (memory)", table));
    }
    Ok(canonical)
}

fn using(level: WarningLevel, engine: &str, table: &str) -> Warning {
    let message = format!("Using storage engine {engine} for table '{table}'");
    Warning { level, code: ErrorCode::WarnUsingOtherHandler, message }
}

/// USING HASH makes a key without an order there; the others ignore it, as MySQL's do.
pub fn has_hash_keys(engine: &str) -> bool {
    matches!(engine, "ndbcluster" | "MEMORY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_known_by_all_their_names() {
        let mut notes = Vec::new();
        assert_eq!(choose("NDB", "t", false, &mut notes).unwrap(), "ndbcluster");
        assert_eq!(choose("innodb", "t", false, &mut notes).unwrap(), "InnoDB");
        assert!(notes.is_empty());
        assert_eq!(choose("myisam", "t", false, &mut notes).unwrap(), "MyISAM");
        assert_eq!(notes[0].message, "Using storage engine SHOAL (memory) for table 't'");
    }

    #[test]
    fn an_unknown_engine_is_an_error_unless_it_may_be_substituted() {
        let mut notes = Vec::new();
        assert_eq!(choose("turtle", "t", false, &mut notes).unwrap_err().errno(), 1286);
        assert_eq!(choose("turtle", "t", true, &mut notes).unwrap(), "InnoDB");
        assert_eq!(notes.len(), 2);
    }
}
