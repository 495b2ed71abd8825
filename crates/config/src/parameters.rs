//! Every parameter that a `config.ini` may hold: NDB's, by the kind of their section, and our own additions.
//!
//! Names, defaults and ranges are those of NDB's manual, so that a file written for NDB passes as it is. Defaults are what
//! NDB documents; where Shoal has another one, the reader of that parameter says so. A parameter that Shoal has no
//! use for is accepted, checked against its range, and answered with a note that says why it has no effect.

mod additions;
mod data;
mod others;

pub use crate::text::SectionKind;

/// One parameter of one kind of section.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub section: SectionKind,
    pub value: ValueKind,
    /// As NDB documents it; empty where there is none.
    pub default: &'static str,
    pub effect: Effect,
}

/// What may stand on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An unsigned number; K, M and G multiply it by powers of 1024.
    Number {
        min: u64,
        max: u64,
    },
    /// 1, Y, yes, true, on, and their opposites.
    Bool,
    Text,
    /// One of a few words; case does not count.
    Choice(&'static [&'static str]),
}

/// What Shoal does with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Used,
    /// Accepted without effect, because of this.
    None(&'static str),
}

/// The whole table.
pub fn all() -> impl Iterator<Item = &'static Parameter> {
    [additions::TABLE, data::TABLE, others::TABLE].into_iter().flatten()
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
/// The largest of NDB's 32-bit numbers.
const MAX: u64 = 0xffff_ff00;

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
