//! The grammar of `config.ini`: lines to sections, without knowing what a name means.
//!
//! - `[name]` opens a section, `[name default]` the defaults of a kind; case does not count;
//! - `Name=Value` or `Name: Value`, split at whichever sign comes first; blanks around both parts are dropped, and so is
//!   a pair of double quotes around the value;
//! - a line that starts with `#` or `;` is a comment; `#` also ends a value;
//! - anything else is a mistake of that line, and reading goes on after it.

use crate::defect::{Findings, nearest};

/// The kinds of section, each under NDB's older and newer name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// `[system]`: the cluster's name.
    System,
    /// `[computer]`: a host under an id.
    Computer,
    /// `[ndbd]`, `[db]`: a node that stores rows.
    Data,
    /// `[ndb_mgmd]`, `[mgm]`: a management node.
    Management,
    /// `[mysqld]`, `[api]`: a node for MySQL clients, or a slot for tools and native clients.
    Api,
    /// `[tcp]`: links over TCP between two nodes.
    Tcp,
    /// `[shm]`: links through shared memory between two nodes.
    SharedMemory,
    /// `[sci]`: links over SCI, as old files of NDB have them.
    Sci,
}

/// Every word that may stand in brackets.
const SECTION_WORDS: &[(&str, SectionKind)] = &[
    ("system", SectionKind::System),
    ("computer", SectionKind::Computer),
    ("ndbd", SectionKind::Data),
    ("db", SectionKind::Data),
    ("ndb_mgmd", SectionKind::Management),
    ("mgm", SectionKind::Management),
    ("mysqld", SectionKind::Api),
    ("api", SectionKind::Api),
    ("tcp", SectionKind::Tcp),
    ("shm", SectionKind::SharedMemory),
    ("sci", SectionKind::Sci),
];

impl SectionKind {
    /// The name that messages use.
    pub fn word(self) -> &'static str {
        match self {
            SectionKind::System => "system",
            SectionKind::Computer => "computer",
            SectionKind::Data => "ndbd",
            SectionKind::Management => "ndb_mgmd",
            SectionKind::Api => "mysqld",
            SectionKind::Tcp => "tcp",
            SectionKind::SharedMemory => "shm",
            SectionKind::Sci => "sci",
        }
    }
}

/// A section as it was written.
#[derive(Debug)]
pub(crate) struct RawSection {
    pub kind: SectionKind,
    /// The word in the brackets, in lower case: `mysqld` and `api` are one kind but not one role.
    pub word: &'static str,
    pub is_default: bool,
    pub line: usize,
    pub entries: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub value: String,
    pub line: usize,
}

/// The sections of a file. Those with an unknown name are reported and left out, with everything in them.
pub(crate) fn sections(text: &str, findings: &mut Findings) -> Vec<RawSection> {
    let mut sections: Vec<RawSection> = Vec::new();
    // Names in a section that is not known have nothing to be checked against.
    let mut skipping = false;
    for (position, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = position + 1;
        let text = text.trim();
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        if text.starts_with('[') {
            let section = header(text, line, findings);
            skipping = section.is_none();
            sections.extend(section);
            continue;
        }
        match (entry(text, line), sections.last_mut()) {
            (None, _) => findings.defect(line, format!("`{text}`: expected [section] or Name=Value")),
            (Some(_), _) if skipping => {}
            (Some(entry), Some(section)) => section.entries.push(entry),
            (Some(entry), None) => {
                let message = format!(
                    "`{}` stands before any section; put it under one, such as [ndbd default]",
                    entry.name
                );
                findings.defect(line, message);
            }
        }
    }
    sections
}

/// `[ndbd default]`, with or without a comment behind it.
fn header(text: &str, line: usize, findings: &mut Findings) -> Option<RawSection> {
    let Some((inside, rest)) = text[1..].split_once(']') else {
        findings.defect(line, format!("`{text}`: the closing ] is missing"));
        return None;
    };
    let rest = rest.trim();
    if !rest.is_empty() && !rest.starts_with(['#', ';']) {
        findings.defect(line, format!("`{rest}` after the section's name; put it on a line of its own"));
    }
    let words: Vec<String> = inside.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let (word, is_default) = match words.as_slice() {
        [word] => (word.as_str(), false),
        [word, default] if default == "default" => (word.as_str(), true),
        _ => {
            findings.defect(line, format!("[{inside}] is no section; write [ndbd] or [ndbd default]"));
            return None;
        }
    };
    match SECTION_WORDS.iter().find(|(known, _)| *known == word) {
        Some((word, kind)) => Some(RawSection { kind: *kind, word, is_default, line, entries: Vec::new() }),
        None => {
            let hint = match nearest(word, SECTION_WORDS.iter().map(|(known, _)| *known)) {
                Some(known) => format!("did you mean [{known}]?"),
                None => {
                    let known: Vec<String> = SECTION_WORDS.iter().map(|(known, _)| format!("[{known}]")).collect();
                    format!("known are {}", known.join(" "))
                }
            };
            findings.defect(line, format!("unknown section [{inside}]: {hint}"));
            None
        }
    }
}

fn entry(text: &str, line: usize) -> Option<Entry> {
    let (name, value) = text.split_once(['=', ':'])?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let value = value.split('#').next().unwrap_or_default().trim();
    let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    Some(Entry { name: name.to_owned(), value: unquoted.unwrap_or(value).to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<RawSection>, Vec<String>) {
        let mut findings = Findings::default();
        let sections = sections(text, &mut findings);
        (sections, findings.defects.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_signs_comments_quotes_and_case_are_read() {
        let (sections, defects) = read(
            "\u{feff}# a comment\n; another\n[NDBD DEFAULT]  # here too\r\n  NoOfReplicas : 2\n\
             DataDir= \"/var/lib/my data\"\nThreadConfig=ldm={count=4},main={cpubind=1} # pinned\n\n[MySQLd]\n",
        );
        assert_eq!(defects, Vec::<String>::new());
        assert_eq!(sections.len(), 2);
        assert_eq!((sections[0].kind, sections[0].is_default, sections[0].line), (SectionKind::Data, true, 3));
        let entries: Vec<(&str, &str, usize)> =
            sections[0].entries.iter().map(|entry| (&*entry.name, &*entry.value, entry.line)).collect();
        assert_eq!(
            entries,
            [
                ("NoOfReplicas", "2", 4),
                ("DataDir", "/var/lib/my data", 5),
                ("ThreadConfig", "ldm={count=4},main={cpubind=1}", 6)
            ]
        );
        assert_eq!(
            (sections[1].kind, sections[1].word, sections[1].is_default),
            (SectionKind::Api, "mysqld", false)
        );
    }

    #[test]
    fn every_bad_line_is_reported_and_reading_goes_on() {
        let (sections, defects) =
            read("NodeId=1\n[nbdd]\nWhatever=1\n[ndbd\n[ndbd] NodeId=3\nthis is no setting\n[a b c]\n[mgm]\n=5\n");
        assert_eq!(sections.len(), 2);
        assert_eq!(
            defects,
            [
                "line 1: `NodeId` stands before any section; put it under one, such as [ndbd default]",
                "line 2: unknown section [nbdd]: did you mean [ndbd]?",
                "line 4: `[ndbd`: the closing ] is missing",
                "line 5: `NodeId=3` after the section's name; put it on a line of its own",
                "line 6: `this is no setting`: expected [section] or Name=Value",
                "line 7: [a b c] is no section; write [ndbd] or [ndbd default]",
                "line 9: `=5`: expected [section] or Name=Value",
            ]
        );
    }
}
