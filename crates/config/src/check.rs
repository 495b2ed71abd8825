//! Holds every written name and value against the table of parameters.

use crate::defect::{Findings, nearest};
use crate::parameters::{self, Effect, Parameter, SectionKind, ValueKind};
use crate::text::{Entry, RawSection};

/// Between a parameter's name and the reason why it does nothing.
pub(crate) const NO_EFFECT: &str = " has no effect: ";

/// A section whose names and values are known to be good.
#[derive(Debug)]
pub(crate) struct Section {
    pub kind: SectionKind,
    pub word: &'static str,
    pub is_default: bool,
    pub line: usize,
    settings: Vec<Setting>,
}

#[derive(Debug)]
pub(crate) struct Setting {
    /// As the table spells it.
    pub name: &'static str,
    pub value: Value,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Bool(bool),
    Text(String),
}

impl Value {
    /// Whether a switch with this value is switched on.
    fn is_on(&self) -> bool {
        match self {
            Value::Number(number) => *number != 0,
            Value::Bool(is_on) => *is_on,
            Value::Text(text) => !text.is_empty(),
        }
    }
}

impl Section {
    /// What is written in this very section.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        debug_assert!(
            parameters::find(self.kind, name).is_some_and(|parameter| parameter.effect == Effect::Used),
            "{name} is read, so the table must say that it is used"
        );
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The same for a name that not every kind of section has.
    pub fn get_if_known(&self, name: &str) -> Option<&Setting> {
        parameters::find(self.kind, name)?;
        self.get(name)
    }

    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
}

pub(crate) fn sections(raw: Vec<RawSection>, findings: &mut Findings) -> Vec<Section> {
    raw.into_iter().map(|section| check(section, findings)).collect()
}

fn check(raw: RawSection, findings: &mut Findings) -> Section {
    let RawSection { kind, word, is_default, line, entries } = raw;
    let mut settings: Vec<Setting> = Vec::new();
    for entry in entries {
        let Some(parameter) = parameters::find(kind, &entry.name) else {
            let header = if is_default { format!("[{word} default]") } else { format!("[{word}]") };
            findings.defect(entry.line, unknown(kind, &header, &entry.name));
            continue;
        };
        if let Some(first) = settings.iter().find(|setting| setting.name == parameter.name) {
            let message =
                format!("{} is given twice in one section, first in line {}", parameter.name, first.line);
            findings.defect(entry.line, message);
            continue;
        }
        let value = match value(parameter, &entry) {
            Ok(value) => value,
            Err(message) => {
                findings.defect(entry.line, message);
                continue;
            }
        };
        match parameter.effect {
            Effect::Used => {}
            Effect::None(reason) => findings.note(entry.line, format!("{}{NO_EFFECT}{reason}", parameter.name)),
            Effect::Refused(reason) if value.is_on() => {
                findings.defect(entry.line, format!("{}={}: {reason}", parameter.name, entry.value));
            }
            Effect::Refused(_) => {}
        }
        settings.push(Setting { name: parameter.name, value, line: entry.line });
    }
    Section { kind, word, is_default, line, settings }
}

/// What to say about a name that the section's kind does not have: perhaps it belongs elsewhere, perhaps it is misspelt.
fn unknown(kind: SectionKind, header: &str, name: &str) -> String {
    let elsewhere = parameters::all().find(|parameter| parameter.name.eq_ignore_ascii_case(name));
    if let Some(parameter) = elsewhere {
        return format!(
            "{} does not belong in {header}; it is a parameter of [{}]",
            parameter.name,
            parameter.section.word()
        );
    }
    let of_kind = parameters::all().filter(|parameter| parameter.section == kind).map(|parameter| parameter.name);
    match nearest(name, of_kind) {
        Some(known) => format!("unknown parameter {name} in {header}; did you mean {known}?"),
        None => format!("unknown parameter {name} in {header}; nothing of that kind has a similar name"),
    }
}

fn value(parameter: &Parameter, entry: &Entry) -> Result<Value, String> {
    let (name, text) = (parameter.name, entry.value.as_str());
    match parameter.value {
        ValueKind::Text => Ok(Value::Text(text.to_owned())),
        ValueKind::Bool => boolean(text)
            .map(Value::Bool)
            .ok_or_else(|| format!("{name}={text}: expected true or false (1, 0, Y, N)")),
        ValueKind::Choice(words) => words
            .iter()
            .find(|word| word.eq_ignore_ascii_case(text))
            .map(|word| Value::Text((*word).to_owned()))
            .ok_or_else(|| format!("{name}={text}: expected {}", words.join(" or "))),
        ValueKind::Number { min, max } => {
            let number = number(text).ok_or_else(|| {
                format!("{name}={text}: expected a whole number, with K, M or G behind it if need be")
            })?;
            if (min..=max).contains(&number) {
                return Ok(Value::Number(number));
            }
            Err(format!("{name}={text} is out of range; it takes {} to {}", size(min), size(max)))
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    let is_any = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_any(&["1", "y", "yes", "true", "on"]) {
        Some(true)
    } else if is_any(&["0", "n", "no", "false", "off"]) {
        Some(false)
    } else {
        None
    }
}

/// Decimal digits and one of K, M, G, T, with or without a B behind it.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits_end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let number: u64 = digits.parse().ok()?;
    let shift = match unit.trim_start().to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// The shortest way to write a number so that [`number`] reads it back.
pub(crate) fn size(number: u64) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "K")] {
        if number > 0 && number.trailing_zeros() >= shift {
            return format!("{}{unit}", number >> shift);
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_units_and_nothing_else() {
        assert_eq!(number("4096"), Some(4096));
        assert_eq!(number("64k"), Some(64 << 10));
        assert_eq!(number("512 M"), Some(512 << 20));
        assert_eq!(number("16GB"), Some(16 << 30));
        assert_eq!(number("1T"), Some(1 << 40));
        for wrong in ["", "M", "-1", "1.5G", "1 000", "8 bits", "99999999999999999999", "99999999T"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_written_size_reads_back() {
        for value in [0, 1, 1023, 1024, 1536, 98 << 20, 3 << 29, 16 << 40, u64::from(u32::MAX)] {
            assert_eq!(number(&size(value)), Some(value));
        }
        assert_eq!(size(98 << 20), "98M");
    }

    #[test]
    fn booleans_come_in_many_words() {
        for (text, meaning) in
            [("1", true), ("Y", true), ("True", true), ("n", false), ("FALSE", false), ("0", false)]
        {
            assert_eq!(boolean(text), Some(meaning), "{text}");
        }
        assert_eq!(boolean("2"), None);
    }
}
