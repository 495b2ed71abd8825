//! The 196 statements of `testscripts/mysql-statements.txt`, each against the tree in `testscripts/mysql-statements.golden`.
//!
//! The golden file was read line by line against the statements when it was made; `UPDATE_GOLDEN=1` writes it anew.

use std::path::PathBuf;

use super::dump::dump;
use crate::{Digester, ParserMode, parse, parse_first};

pub(super) struct Entry {
    pub name: String,
    pub sql: String,
}

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testscripts", name].iter().collect()
}

pub(super) fn entries() -> Vec<Entry> {
    let text = std::fs::read_to_string(path("mysql-statements.txt")).expect("the corpus is part of the crate");
    let lines: Vec<&str> = text.lines().collect();
    lines
        .chunks_exact(2)
        .map(|pair| Entry {
            name: pair[0].strip_prefix('#').expect("a name line").to_owned(),
            sql: pair[1].to_owned(),
        })
        .collect()
}

fn trees() -> String {
    let mut text = String::new();
    for entry in entries() {
        let statements = parse(entry.sql.as_bytes(), ParserMode::NONE)
            .unwrap_or_else(|error| panic!("{}: {}: {error}", entry.name, entry.sql));
        text.push_str(&format!("#{}\n{}\n", entry.name, entry.sql));
        for statement in statements {
            text.push_str(&format!("  {}\n", dump(&statement)));
        }
    }
    text
}

#[test]
fn the_corpus_has_196_statements() {
    assert_eq!(entries().len(), 196);
}

#[test]
fn every_statement_of_the_corpus_parses_into_its_tree() {
    let trees = trees();
    let golden = path("mysql-statements.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &trees).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&golden).expect("the golden file is part of the crate");
    for (actual, expected) in trees.lines().zip(expected.lines()) {
        assert_eq!(actual, expected);
    }
    assert_eq!(trees.lines().count(), expected.lines().count());
}

#[test]
fn cutting_a_statement_anywhere_never_panics() {
    for entry in entries() {
        for end in 0..entry.sql.len() {
            let _ = parse(&entry.sql.as_bytes()[..end], ParserMode::NONE);
        }
    }
}

#[test]
fn the_digest_ends_a_statement_where_the_parser_does() {
    let mut literals = Vec::new();
    for entry in entries() {
        if entry.name.starts_with("proc-")
            || entry.name.starts_with("create-proc")
            || entry.name.contains("trigger")
        {
            // The digest knows no compound statements: their inner semicolons end it.
            continue;
        }
        let parsed = parse_first(entry.sql.as_bytes(), 0, ParserMode::NONE).expect("the corpus parses");
        let digest = Digester::default().digest(entry.sql.as_bytes(), 0, ParserMode::NONE, &mut literals);
        assert_eq!(
            (parsed.start, parsed.end, parsed.next),
            (digest.start, digest.end, digest.next),
            "{}",
            entry.sql
        );
    }
}
