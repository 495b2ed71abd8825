//! Every parameter that a `config.ini` may hold: NDB's, by the kind of their section, and our own additions.
//!
//! Names, defaults and ranges are those of NDB's manual, so that a file written for NDB passes as it is. Defaults are what
//! NDB documents; where Shoal has another one, the reader of that parameter says so. A parameter that Shoal has no
//! use for is accepted, checked against its range, and answered with a note that says why it has no effect.

mod additions;
mod connections;
mod data;
mod limits;
mod nodes;
mod storage;

pub use crate::text::SectionKind;

/// One parameter of one kind of section.
#[derive(Debug)]
pub struct Parameter {
    /// As NDB spells it, or as Shoal does where NDB has none.
    pub name: &'static str,
    /// Where it may stand.
    pub section: SectionKind,
    /// What it may be set to.
    pub value: ValueKind,
    /// As NDB documents it; empty where there is none.
    pub default: &'static str,
    /// What Shoal does with it.
    pub effect: Effect,
}

/// What may stand on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An unsigned number; K, M and G multiply it by powers of 1024.
    Number {
        /// The least that is taken.
        min: u64,
        /// The most that is taken.
        max: u64,
    },
    /// 1, Y, yes, true, on, and their opposites.
    Bool,
    /// Anything.
    Text,
    /// One of a few words; case does not count.
    Choice(&'static [&'static str]),
}

/// What Shoal does with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does what its documentation says.
    Used,
    /// Accepted without effect, because of this.
    None(&'static str),
    /// Asks for a protection that Shoal does not give, as said here: refused when it is switched on, because running without would be
    /// a broken promise.
    Refused(&'static str),
}

/// The whole table.
pub fn all() -> impl Iterator<Item = &'static Parameter> {
    let tables = [additions::TABLE, data::TABLE, limits::TABLE, storage::TABLE, nodes::TABLE, connections::TABLE];
    tables.into_iter().flatten()
}

/// The parameter that `name` means in a section of this kind, by its present or an older name. Case does not count.
pub fn find(section: SectionKind, name: &str) -> Option<&'static Parameter> {
    let of_section = |name: &str| {
        all().find(|parameter| parameter.section == section && parameter.name.eq_ignore_ascii_case(name))
    };
    of_section(name).or_else(|| {
        let renamed =
            OLDER_NAMES.iter().find(|(kind, older, _)| *kind == section && older.eq_ignore_ascii_case(name));
        renamed.and_then(|(_, _, present)| of_section(present))
    })
}

/// Names that NDB once used for what has another name now.
const OLDER_NAMES: &[(SectionKind, &str, &str)] = &[
    (SectionKind::Data, "Id", "NodeId"),
    (SectionKind::Management, "Id", "NodeId"),
    (SectionKind::Api, "Id", "NodeId"),
    (SectionKind::Computer, "NodeId", "Id"),
    (SectionKind::Api, "ndb-cluster-connection-pool", "ConnectionPool"),
];

const USED: Effect = Effect::Used;
/// The largest of NDB's 32-bit numbers that a file may give.
const MAX: u64 = 0xffff_feff;
const MAX_32: u64 = 0xffff_ffff;
const PORT_MAX: u64 = 65_535;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
/// How threads wait, in NDB's words; the first three are one.
pub const SPIN_METHODS: &[&str] =
    &["StaticSpinning", "CostBasedSpinning", "LatencyOptimisedSpinning", NEVER_SLEEPS];
/// Each thread has a core of its own, and polls for ever.
pub const NEVER_SLEEPS: &str = "DatabaseMachineSpinning";

const fn number(
    section: SectionKind,
    name: &'static str,
    default: &'static str,
    (min, max): (u64, u64),
    effect: Effect,
) -> Parameter {
    Parameter { name, section, value: ValueKind::Number { min, max }, default, effect }
}

const fn flag(section: SectionKind, name: &'static str, default: &'static str, effect: Effect) -> Parameter {
    Parameter { name, section, value: ValueKind::Bool, default, effect }
}

const fn text(section: SectionKind, name: &'static str, default: &'static str, effect: Effect) -> Parameter {
    Parameter { name, section, value: ValueKind::Text, default, effect }
}

const fn choice(
    section: SectionKind,
    name: &'static str,
    words: &'static [&'static str],
    effect: Effect,
) -> Parameter {
    Parameter { name, section, value: ValueKind::Choice(words), default: words[0], effect }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::check;

    #[test]
    fn a_name_means_one_thing_in_a_section_and_older_names_lead_somewhere() {
        let mut seen = HashSet::new();
        for parameter in all() {
            assert!(
                seen.insert((parameter.section, parameter.name.to_ascii_lowercase())),
                "{} twice",
                parameter.name
            );
            assert_eq!(
                find(parameter.section, &parameter.name.to_ascii_uppercase()).map(|p| p.name),
                Some(parameter.name)
            );
        }
        for (section, older, present) in OLDER_NAMES {
            assert_eq!(find(*section, older).map(|parameter| parameter.name), Some(*present));
        }
    }

    #[test]
    fn defaults_are_values_of_their_kind() {
        for Parameter { name, value, default, .. } in all().filter(|parameter| !parameter.default.is_empty()) {
            match value {
                // Zero means "as the system sees fit" even where a file may not say so.
                ValueKind::Number { min, max } => {
                    let default = check::number(default).unwrap_or_else(|| panic!("{name}: {default}"));
                    assert!(default == 0 || (*min..=*max).contains(&default), "{name}: {default}");
                }
                ValueKind::Bool => assert!(["true", "false"].contains(default), "{name}"),
                ValueKind::Choice(words) => assert!(words.contains(default), "{name}"),
                ValueKind::Text => {}
            }
        }
    }

    #[test]
    fn reasons_are_sentences_that_follow_a_colon() {
        for parameter in all() {
            if let Effect::None(reason) | Effect::Refused(reason) = parameter.effect {
                assert!(reason.len() > 10 && !reason.ends_with('.'), "{}: {reason}", parameter.name);
            }
        }
    }
}
