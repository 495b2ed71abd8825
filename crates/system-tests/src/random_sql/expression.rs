//! Expressions and conditions over the columns in scope.

use super::Tree;
use super::generator::{Generator, Oracles};
use super::kind::{Kind, literal};
use super::schema::{Reference, Scope};
use super::templates::{COMMON, CONDITIONS, OWN, UNITS, placeholder};
use crate::sql;

const COMPARISONS: [&str; 8] = ["=", "=", "=", "<>", "<", "<=", ">", ">="];
/// In a template: it makes a number of a text.
const CONVERSIONS: [&str; 4] = ["{S} AS ", "{S} + 0", "{S} * 1e0", "CONV({S}"];
const NUMBERS: [Kind; 4] = [Kind::Int, Kind::Decimal, Kind::Double, Kind::Text];

impl Generator {
    pub fn kind(&mut self) -> Kind {
        let kinds = self.kinds();
        self.chance.one_of(&kinds)
    }

    /// Whether values may be of another kind than what is wanted. In a change MySQL makes an error of a conversion that loses
    /// something, also in WHERE; MariaDB warns.
    fn converts(&self) -> bool {
        self.oracles == Oracles::Own || self.changed_table.is_none()
    }

    pub fn column(&mut self, scope: &Scope, kind: Kind) -> Option<Tree> {
        let fitting: Vec<&Reference> = scope.columns.iter().filter(|column| column.kind == kind).collect();
        if fitting.is_empty() {
            return None;
        }
        Some(Tree::from(self.chance.pick(&fitting).sql.as_str()).of(kind))
    }

    pub fn literal(&mut self, kind: Kind) -> Tree {
        literal(&mut self.chance, kind, self.edges)
    }

    fn leaf(&mut self, scope: &Scope, kind: Kind) -> Tree {
        match self.chance.percent(75) {
            true => self.column(scope, kind).unwrap_or_else(|| self.literal(kind)),
            false => self.literal(kind),
        }
    }

    /// An expression of that kind, or of one that is converted to it.
    pub fn value(&mut self, scope: &Scope, kind: Kind, depth: usize) -> Tree {
        self.value_of(scope, kind, depth).of(kind)
    }

    fn value_of(&mut self, scope: &Scope, kind: Kind, depth: usize) -> Tree {
        if depth == 0 || self.chance.percent(30) {
            return self.leaf(scope, kind);
        }
        match self.chance.below(100) {
            0..=11 => self.choice(scope, kind, depth),
            12..=15 => self.scalar_subquery(scope, kind),
            16..=19 if NUMBERS.contains(&kind) && self.converts() => {
                let other = self.chance.one_of(&NUMBERS);
                self.value(scope, other, depth - 1)
            }
            _ => match self.template(kind) {
                Some(template) => self.fill(template, scope, depth - 1),
                None => self.leaf(scope, kind),
            },
        }
    }

    fn template(&mut self, kind: Kind) -> Option<&'static str> {
        let of = |all: &'static [(Kind, &'static [&'static str])]| {
            all.iter().find(|(of, _)| *of == kind).map(|(_, templates)| *templates)
        };
        let own = match self.oracles {
            Oracles::Own if self.chance.percent(25) || kind == Kind::Json => of(&OWN),
            _ => None,
        };
        let template = own.or_else(|| of(&COMMON)).map(|templates| self.chance.one_of(templates));
        template.filter(|template| self.converts() || !CONVERSIONS.iter().any(|one| template.contains(one)))
    }

    /// A template with expressions in its places.
    pub fn fill(&mut self, template: &str, scope: &Scope, depth: usize) -> Tree {
        let mut pieces = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            pieces.push(Tree::from(before));
            let letter = name.chars().next().unwrap_or('i');
            pieces.push(match (letter, placeholder(letter)) {
                ('B', _) => self.condition(scope, depth),
                ('u', _) => Tree::from(self.chance.one_of(&UNITS)),
                (_, Some(kind)) => self.value(scope, kind, depth),
                _ => Tree::from(self.chance.below(6).to_string()),
            });
            rest = behind;
        }
        pieces.push(Tree::from(rest));
        Tree::Sequence(pieces).expression()
    }

    /// One of several values.
    fn choice(&mut self, scope: &Scope, kind: Kind, depth: usize) -> Tree {
        let depth = depth - 1;
        let form = self.chance.below(8);
        // MariaDB compares texts with numbers as numbers: no conversions there.
        let depth = if matches!(form, 3 | 4) { 0 } else { depth };
        let first = self.value(scope, kind, depth);
        let second = self.value(scope, kind, depth);
        match form {
            0 => sql!["COALESCE(", first, ", ", second, ")"],
            1 => sql!["IFNULL(", first, ", ", second, ")"],
            2 => sql!["NULLIF(", first, ", ", second, ")"],
            3 => sql!["GREATEST(", first, ", ", second, ")"],
            4 => sql!["LEAST(", first, ", ", second, ")"],
            5 => {
                let condition = self.condition(scope, depth);
                sql!["IF(", condition, ", ", first, ", ", second, ")"]
            }
            6 => {
                let of = self.kind();
                let (value, when) = (self.value(scope, of, depth), self.value(scope, of, 0));
                let default = sql![" ELSE ", second].optional();
                sql!["CASE ", value, " WHEN ", when, " THEN ", first, default, " END"]
            }
            _ => {
                let condition = self.condition(scope, depth);
                let default = sql![" ELSE ", second].optional();
                sql!["CASE WHEN ", condition, " THEN ", first, default, " END"]
            }
        }
        .expression()
    }

    /// Something that is true, false or unknown.
    pub fn condition(&mut self, scope: &Scope, depth: usize) -> Tree {
        if depth == 0 || self.chance.percent(30) {
            return self.comparison(scope, 0);
        }
        match self.chance.below(24) {
            0..=3 => {
                let (left, right) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
                sql!["(", left, " AND ", right, ")"].expression()
            }
            4..=7 => {
                let (left, right) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
                sql!["(", left, " OR ", right, ")"].expression()
            }
            8..=9 => {
                let inner = self.condition(scope, depth - 1);
                sql!["(NOT ", inner, ")"].expression()
            }
            10..=12 => {
                let template = self.chance.one_of(&CONDITIONS);
                self.fill(template, scope, depth - 1)
            }
            13..=15 => self.subquery_condition(scope),
            _ => self.comparison(scope, depth - 1),
        }
    }

    fn comparison(&mut self, scope: &Scope, depth: usize) -> Tree {
        // Mostly of a kind that a column has.
        let kind = match scope.columns.is_empty() || self.chance.percent(15) {
            true => self.kind(),
            false => self.chance.pick(&scope.columns).kind,
        };
        let other = match NUMBERS.contains(&kind) && self.converts() && self.chance.percent(12) {
            true => self.chance.one_of(&NUMBERS),
            false => kind,
        };
        let left = self.value(scope, kind, depth);
        let right = self.value(scope, other, depth);
        match self.chance.below(12) {
            0 => sql!["(", left, " IS NULL)"],
            1 => sql!["(", left, " IS NOT NULL)"],
            2 => {
                let end = self.value(scope, other, 0);
                let not = if self.chance.percent(25) { " NOT" } else { "" };
                sql!["(", left, not, " BETWEEN ", right, " AND ", end, ")"]
            }
            3..=4 => {
                let mut items = vec![right];
                for _ in 0..self.chance.below(4) {
                    items.push(self.value(scope, kind, 0));
                }
                let not = if self.chance.percent(25) { " NOT" } else { "" };
                sql!["(", left, not, " IN (", Tree::list(items), "))"]
            }
            5 => sql!["(", left, " <=> ", right, ")"],
            _ => {
                let operator = self.chance.one_of(&COMPARISONS);
                sql!["(", left, format!(" {operator} "), right, ")"]
            }
        }
        .expression()
    }
}
