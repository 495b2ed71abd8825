//! What is wrong with a file, or worth knowing about it, and where.

use std::fmt;

/// One mistake. `line` counts from 1; 0 stands for the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// In the file, from 1 on; 0: the whole file.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// Something accepted that the reader may not expect. `line` as in [`Defect`].
pub type Note = Defect;

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

/// Every mistake that was found, in the order of their lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one.
    pub defects: Vec<Defect>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, defect) in self.defects.iter().enumerate() {
            let line_break = if position > 0 { "\n" } else { "" };
            write!(f, "{line_break}{defect}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Collects mistakes and notes while a file is worked through.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub defects: Vec<Defect>,
    pub notes: Vec<Note>,
}

impl Findings {
    pub fn defect(&mut self, line: usize, message: impl Into<String>) {
        self.defects.push(Defect { line, message: message.into() });
    }

    pub fn note(&mut self, line: usize, message: impl Into<String>) {
        self.notes.push(Note { line, message: message.into() });
    }

    /// The notes, or every mistake: each once, although a default is looked at once for every node that it holds for.
    pub fn finish(mut self) -> Result<Vec<Note>, ConfigError> {
        for findings in [&mut self.defects, &mut self.notes] {
            findings.sort_by_key(|finding| finding.line);
            let mut seen: Vec<Defect> = Vec::new();
            findings.retain(|finding| {
                let is_first = !seen.contains(finding);
                seen.extend(is_first.then(|| finding.clone()));
                is_first
            });
        }
        if self.defects.is_empty() { Ok(self.notes) } else { Err(ConfigError { defects: self.defects }) }
    }
}

/// The candidate that `word` most likely was meant to be: few edits away, relative to its length. Case does not count.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, candidate)| (*distance, candidate.len()))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near_or_nothing() {
        let names = ["DataMemory", "DataDir", "IndexMemory"];
        assert_eq!(nearest("datamemmory", names.into_iter()), Some("DataMemory"));
        assert_eq!(nearest("DatDir", names.into_iter()), Some("DataDir"));
        assert_eq!(nearest("Frobnicate", names.into_iter()), None);
    }
}
