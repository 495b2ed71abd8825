//! A step of a case, and steps by chance.

use super::Tree;
use super::check::{Check, check};
use super::generator::{Generator, Oracles};
use super::kind::Edges;
use super::tree::Dialect;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Run { tree: Tree, is_prepared: bool },
    Check(Box<Check>),
}

impl Step {
    fn run(tree: Tree) -> Step {
        Step::Run { tree, is_prepared: false }
    }

    /// Whether it leaves everything as it was.
    pub fn is_query(&self) -> bool {
        match self {
            Step::Run { tree, .. } => {
                let sql = tree.sql(Dialect::MySql);
                sql.starts_with("SELECT") || sql.starts_with("WITH")
            }
            Step::Check(check) => !check.changes(),
        }
    }

    /// The same step with one piece less, in all ways.
    pub fn smaller(&self) -> Vec<Step> {
        match self {
            Step::Run { tree, is_prepared } => {
                let mut all = Vec::new();
                if *is_prepared {
                    all.push(Step::Run { tree: tree.clone(), is_prepared: false });
                }
                let prepared = *is_prepared;
                all.extend(tree.smaller().into_iter().map(|tree| Step::Run { tree, is_prepared: prepared }));
                all
            }
            Step::Check(check) => check.smaller().into_iter().map(|check| Step::Check(Box::new(check))).collect(),
        }
    }

    /// As lines of a script for people.
    pub fn script(&self) -> String {
        match self {
            Step::Run { tree, is_prepared: false } => format!("{};\n", tree.sql(Dialect::MySql)),
            Step::Run { tree, is_prepared: true } => {
                let (sql, values) = tree.with_parameters(Dialect::MySql);
                let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                format!("-- prepared: {sql}\n-- with {}\n{};\n", values.join(", "), tree.sql(Dialect::MySql))
            }
            Step::Check(check) => check.script(),
        }
    }
}

impl Generator {
    /// The steps that make tables and fill them.
    pub fn setup(&mut self) -> Vec<Step> {
        let mut steps: Vec<Step> = self.schema().into_iter().map(Step::run).collect();
        for table in self.schema.tables.clone() {
            steps.push(Step::run(self.first_rows(&table)));
        }
        steps
    }

    /// A definition was refused: what it was to make or change is not used any more.
    pub fn forget(&mut self, step: &Step) {
        let Step::Run { tree, .. } = step else { return };
        let sql = tree.sql(Dialect::MySql);
        let mut words = sql.split_ascii_whitespace();
        let (verb, what, name) = (words.next(), words.next(), words.next().unwrap_or_default());
        match (verb, what) {
            (Some("CREATE"), Some("TABLE")) => self.schema.tables.retain(|table| table.name != name),
            (Some("CREATE"), Some("VIEW")) => self.schema.views.retain(|view| view.name != name),
            (Some("ALTER"), _) => {
                if let Some(before) = self.altered.take() {
                    self.schema = before;
                }
            }
            _ => {}
        }
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        let number = self.chance.below(100);
        let is_prepared = self.chance.percent(25);
        let tree = match (self.oracles, number) {
            (_, 0..=1) => {
                self.altered = Some(self.schema.clone());
                self.alteration()
            }
            (_, 2..=7) => self.transaction(),
            (_, 8..=24) => self.change(),
            (Oracles::MariaDb, 25..=44) => {
                self.edges = Edges::Some;
                self.constant()
            }
            (Oracles::MariaDb, _) => {
                // Where rows decide what is evaluated, errors would depend on the plan.
                self.edges = Edges::None;
                self.query()
            }
            (Oracles::Own, _) => {
                self.edges = Edges::None;
                let step = check(self);
                self.edges = Edges::Some;
                return Step::Check(Box::new(step));
            }
        };
        self.edges = Edges::Some;
        // The type of a parameter is settled at PREPARE in MySQL, at EXECUTE in MariaDB: set operations show that.
        let sql = tree.sql(Dialect::MySql);
        let is_united = [" UNION ", " EXCEPT ", " INTERSECT "].iter().any(|operator| sql.contains(operator));
        Step::Run { tree, is_prepared: is_prepared && number >= 25 && !is_united }
    }
}
