//! Oracles that need one server: what must be equal whatever the rows are.

use super::Tree;
use super::answer::{Answer, Outcome, run};
use super::generator::Generator;
use super::kind::Kind;
use super::schema::stable;
use super::tree::{Dialect, Tables, each_smaller};
use crate::{Client, Value, sql};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Rows where a predicate is true, false and unknown are all rows (TLP).
    Partition,
    /// The same of distinct rows.
    PartitionDistinct,
    /// The same of an aggregate.
    PartitionAggregate,
    /// As many rows are found by a predicate as it is true for (NoREC).
    Count,
    /// A row for which the predicate is true is found (PQS).
    Pivot,
    /// Indexes, the order of joins and what surrounds the query do not matter.
    Plans,
    /// Literals and parameters do the same.
    Parameters,
    /// Changes of one's own are seen before they are committed as they are afterwards.
    Uncommitted,
    /// The rows of an outer join are those of the inner join, and those that meet no other.
    OuterJoin,
}

const ORACLES: [Oracle; 12] = [
    Oracle::Partition,
    Oracle::PartitionDistinct,
    Oracle::PartitionAggregate,
    Oracle::Count,
    Oracle::Count,
    Oracle::Pivot,
    Oracle::Plans,
    Oracle::Plans,
    Oracle::Parameters,
    Oracle::Uncommitted,
    Oracle::OuterJoin,
    Oracle::OuterJoin,
];

#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub oracle: Oracle,
    items: Tree,
    from: Tree,
    predicate: Tree,
    /// What is done before the query, in the same transaction; the inner side of an outer join.
    second: Tree,
    /// Aliases whose `id` tells the rows of `from` apart.
    row_aliases: Vec<String>,
    /// Which of the rows is to be found.
    pivot: usize,
}

/// Why a check fails, or nothing is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    None,
    /// An error hides what could be compared.
    Undecided,
    /// A known difference between MySQL and the server beside.
    Explained(&'static str),
    Difference {
        label: String,
        text: String,
    },
}

pub fn check(generator: &mut Generator) -> Check {
    let oracle = generator.chance.one_of(&ORACLES);
    let mut from = generator.from(if oracle == Oracle::OuterJoin { 1 } else { 3 });
    let mut second = Tree::nothing();
    if oracle == Oracle::OuterJoin {
        let inner = generator.from(1);
        from.scope = from.scope.with(&inner.scope);
        second = inner.tree;
    }
    let row_aliases: Vec<String> =
        from.total_order.iter().flatten().map(|id| id.trim_end_matches(".id").to_owned()).collect();
    let items = match oracle {
        Oracle::PartitionDistinct => {
            let column = generator.chance.pick(&from.scope.columns).clone();
            stable(&column.sql, column.kind).into()
        }
        Oracle::PartitionAggregate => {
            let kind = generator.chance.one_of(&[Kind::Int, Kind::Decimal, Kind::Date]);
            generator.value(&from.scope, kind, 1)
        }
        _ => {
            let mut items = Vec::new();
            for number in 0..generator.chance.between(1, 3) {
                let kind = generator.kind();
                items.push(sql![generator.value(&from.scope, kind, 1), format!(" AS i{number}")]);
            }
            Tree::list(items)
        }
    };
    let predicate = generator.condition(&from.scope, 3);
    if oracle == Oracle::Uncommitted {
        second = generator.change();
    }
    let pivot = generator.chance.below(10);
    Check { oracle, items, from: from.tree, predicate, second, row_aliases, pivot }
}

impl Check {
    pub fn smaller(&self) -> Vec<Check> {
        let parts = [&self.items, &self.from, &self.predicate, &self.second].map(Tree::clone);
        let changed = each_smaller(&parts).into_iter().filter_map(|parts| {
            let [items, from, predicate, second] = <[Tree; 4]>::try_from(parts).ok()?;
            Some(Check { items, from, predicate, second, ..self.clone() })
        });
        changed.collect()
    }

    fn is_partition(&self) -> bool {
        matches!(self.oracle, Oracle::Partition | Oracle::PartitionDistinct | Oracle::PartitionAggregate)
    }

    /// Whether it leaves something behind.
    pub fn changes(&self) -> bool {
        self.oracle == Oracle::Uncommitted
    }

    pub fn script(&self) -> String {
        let (whole, changed) = (self.select(self.predicate_sql()), self.second.sql(Dialect::MySql));
        let change = match self.changes() {
            true => format!("BEGIN;\n{changed};\n"),
            false => String::new(),
        };
        format!("{change}-- oracle {:?}\n{whole};\n", self.oracle)
    }

    fn predicate_sql(&self) -> String {
        self.predicate.sql(Dialect::MySql)
    }

    /// Rows where `condition` holds.
    fn select(&self, condition: String) -> String {
        self.select_with(&condition, Tables::AsGiven)
    }

    fn select_with(&self, condition: &str, tables: Tables<'_>) -> String {
        let [items, from] = [&self.items, &self.from].map(|tree| tree.sql_with(Dialect::MySql, tables));
        format!("SELECT {items} FROM {from} WHERE {condition}")
    }

    /// The conditions that every row meets exactly one of.
    fn parts(&self) -> [String; 3] {
        let predicate = self.predicate_sql();
        [predicate.clone(), format!("NOT ({predicate})"), format!("({predicate}) IS NULL")]
    }

    pub fn run(&self, client: &mut Client) -> Finding {
        match self.oracle {
            Oracle::Partition => self.partition(client),
            Oracle::PartitionDistinct => self.partition_distinct(client),
            Oracle::PartitionAggregate => self.partition_aggregate(client),
            Oracle::Count => self.count(client),
            Oracle::Pivot => self.pivot(client),
            Oracle::Plans => self.plans(client),
            Oracle::Parameters => self.parameters(client),
            Oracle::Uncommitted => self.uncommitted(client),
            Oracle::OuterJoin => self.outer_join(client),
        }
    }

    fn partition(&self, client: &mut Client) -> Finding {
        let whole = self.select("TRUE".into());
        let parts = self.parts().map(|part| self.select(part));
        self.equal(client, &[whole], &parts)
    }

    fn partition_distinct(&self, client: &mut Client) -> Finding {
        let distinct = |condition| self.select(condition).replacen("SELECT ", "SELECT DISTINCT ", 1);
        let whole = distinct("TRUE".into());
        let parts = self.parts().map(distinct);
        self.equal(client, &[whole], &[parts.join(" UNION ")])
    }

    fn partition_aggregate(&self, client: &mut Client) -> Finding {
        let [items, from] = [&self.items, &self.from].map(|tree| tree.sql(Dialect::MySql));
        let part = |condition| format!("SELECT {items} AS v FROM {from} WHERE {condition}");
        let parts = self.parts().map(part).join(" UNION ALL ");
        let whole = format!("SELECT COUNT({items}), MIN({items}), MAX({items}) FROM {from}");
        let sum = format!("SELECT COUNT(v), MIN(v), MAX(v) FROM ({parts}) AS d");
        self.equal(client, &[whole], &[sum])
    }

    fn outer_join(&self, client: &mut Client) -> Finding {
        let [items, from, second] = [&self.items, &self.from, &self.second].map(|tree| tree.sql(Dialect::MySql));
        let predicate = self.predicate_sql();
        let outer = format!("SELECT {items} FROM {from} LEFT JOIN {second} ON {predicate}");
        let inner = format!("SELECT {items} FROM {from} JOIN {second} ON {predicate}");
        let alone = format!(
            "SELECT {items} FROM {from} LEFT JOIN {second} ON FALSE \
             WHERE NOT EXISTS (SELECT 1 FROM {second} WHERE {predicate})"
        );
        self.equal(client, &[outer], &[inner, alone])
    }

    fn count(&self, client: &mut Client) -> Finding {
        let (predicate, from) = (self.predicate_sql(), self.from.sql(Dialect::MySql));
        let found = format!("SELECT COUNT(*) FROM {from} WHERE {predicate}");
        let counted = format!("SELECT COUNT(IF({predicate}, 1, NULL)) FROM {from}");
        self.equal(client, &[found], &[counted])
    }

    fn plans(&self, client: &mut Client) -> Finding {
        let predicate = self.predicate_sql();
        let base = self.select(predicate.clone());
        let others = [
            self.select_with(
                &self.predicate.sql_with(Dialect::MySql, Tables::WithoutIndexes),
                Tables::WithoutIndexes,
            ),
            self.select(format!("({predicate}) IS TRUE")),
            base.replacen("SELECT ", "SELECT STRAIGHT_JOIN ", 1),
            format!("WITH q AS ({base}) SELECT * FROM q"),
            format!("SELECT * FROM ({base} LIMIT 100000) AS q"),
            self.select(format!("({predicate}) AND ({predicate})")),
        ];
        for other in others {
            let finding = self.equal(client, std::slice::from_ref(&base), &[other]);
            if finding != Finding::None {
                return finding;
            }
        }
        Finding::None
    }

    /// By PREPARE and EXECUTE, so that the rows are texts either way.
    fn parameters(&self, client: &mut Client) -> Finding {
        let tree = sql!["SELECT ", &self.items, " FROM ", &self.from, " WHERE ", &self.predicate];
        let (sql, values) = tree.with_parameters(Dialect::MySql);
        let mut names = Vec::new();
        for (number, value) in values.iter().enumerate() {
            let value = match value {
                Value::Bytes(bytes) => {
                    super::tree::Literal::Text(String::from_utf8_lossy(bytes).into_owned()).sql()
                }
                other => other.to_string(),
            };
            run(client, &format!("SET @p{number} = {value}"), None);
            names.push(format!("@p{number}"));
        }
        let text = super::tree::Literal::Text(sql).sql();
        let prepared = run(client, &format!("PREPARE s FROM {text}"), None);
        if prepared.errno().is_some() {
            return Finding::Undecided;
        }
        let using = if names.is_empty() { String::new() } else { format!(" USING {}", names.join(", ")) };
        let executed = format!("EXECUTE s{using}");
        self.equal(client, &[tree.sql(Dialect::MySql)], &[executed])
    }

    fn uncommitted(&self, client: &mut Client) -> Finding {
        run(client, "BEGIN", None);
        let changed = run(client, &self.second.sql(Dialect::MySql), None);
        let query = self.select(self.predicate_sql());
        let before = run(client, &query, None);
        run(client, "COMMIT", None);
        if changed.errno() == Some(1213) {
            return Finding::Undecided;
        }
        let after = run(client, &query, None);
        let query = std::slice::from_ref(&query);
        self.judge(query, &[before], query, &[after])
    }

    fn pivot(&self, client: &mut Client) -> Finding {
        if self.row_aliases.is_empty() {
            return Finding::Undecided;
        }
        let ids: Vec<String> = self.row_aliases.iter().map(|alias| format!("{alias}.id")).collect();
        let (ids, from) = (ids.join(", "), self.from.sql(Dialect::MySql));
        let row =
            run(client, &format!("SELECT {ids} FROM {from} ORDER BY {ids} LIMIT 1 OFFSET {}", self.pivot), None);
        let Some(row) = row.sorted_rows().and_then(|rows| rows.into_iter().next()) else {
            return Finding::Undecided;
        };
        if row.iter().any(|id| id == "NULL") {
            return Finding::Undecided;
        }
        let chosen: Vec<(String, String)> =
            self.row_aliases.iter().cloned().zip(row.iter().map(|id| id.trim_matches('\'').to_owned())).collect();
        let alone = self.from.sql_with(Dialect::MySql, Tables::Only(&chosen));
        let predicate = self.predicate_sql();
        let evaluated = format!("SELECT ({predicate}) IS TRUE, ({predicate}) IS FALSE FROM {alone}");
        let evaluation = run(client, &evaluated, None).sorted_rows().unwrap_or_default();
        let [truth] = evaluation.as_slice() else { return Finding::Undecided };
        let condition = match (truth[0].as_str(), truth[1].as_str()) {
            ("'1'", _) => predicate,
            (_, "'1'") => format!("NOT ({predicate})"),
            _ => format!("({predicate}) IS NULL"),
        };
        let query = format!("SELECT {ids} FROM {from} WHERE {condition}");
        match run(client, &query, None).sorted_rows() {
            Some(rows) if !rows.contains(&row) => {
                let text = format!("{query}\ndoes not find {row:?}, though by\n{evaluated}\nit is {truth:?}");
                Finding::Difference { label: format!("{:?}", self.oracle), text }
            }
            Some(_) => Finding::None,
            None => Finding::Undecided,
        }
    }

    /// The rows of some queries together are those of others together.
    fn equal(&self, client: &mut Client, left: &[String], right: &[String]) -> Finding {
        let mut answers =
            |queries: &[String]| queries.iter().map(|sql| run(client, sql, None)).collect::<Vec<_>>();
        let (one, other) = (answers(left), answers(right));
        self.judge(left, &one, right, &other)
    }

    fn judge(&self, left: &[String], one: &[Answer], right: &[String], other: &[Answer]) -> Finding {
        let label = format!("{:?}", self.oracle);
        let queries = left.iter().chain(right);
        for (sql, answer) in queries.zip(one.iter().chain(other)) {
            if let Outcome::Lost(message) = &answer.outcome {
                let text = format!("{sql}\nended the connection: {message}");
                return Finding::Difference { label: "lost".into(), text };
            }
        }
        if one.iter().chain(other).any(Answer::fails_by_value) {
            return Finding::Undecided;
        }
        let errno = |answers: &[Answer]| answers.iter().find_map(Answer::errno);
        // What is partitioned lacks the predicate, and so its errors.
        if self.is_partition() && errno(other).is_some() {
            return Finding::Undecided;
        }
        match (errno(one), errno(other)) {
            (None, None) => {}
            (Some(_), Some(_)) => return Finding::Undecided,
            (one, other) => {
                let (left, right) = (left.join(";\n"), right.join(";\n"));
                let text = format!("{left}\nfails with {one:?}\n{right}\nwith {other:?}");
                return Finding::Difference { label: format!("{label} errno"), text };
            }
        }
        let rows = |answers: &[Answer]| {
            let mut all: Vec<_> = answers.iter().filter_map(Answer::sorted_rows).flatten().collect();
            all.sort();
            all
        };
        let (one, other) = (rows(one), rows(other));
        if one == other {
            return Finding::None;
        }
        let text = format!("{}\ngives {one:?}\n{}\ngives {other:?}", left.join(";\n"), right.join(";\n"));
        Finding::Difference { label, text }
    }
}
