//! Statements that change rows, and transactions.

use super::Tree;
use super::generator::Generator;
use super::kind::{Edges, Kind, stored};
use super::schema::{Column, Table};
use crate::sql;

const IDS: usize = 30;

impl Generator {
    /// The first rows of a table.
    pub fn first_rows(&mut self, table: &Table) -> Tree {
        let columns = table.written();
        let mut rows = Vec::new();
        for id in 1..=self.chance.between(4, 14) {
            rows.push(self.row(&columns, Some(id as i64), Edges::None));
        }
        sql!["INSERT IGNORE INTO ", target(table, &columns), " VALUES ", Tree::list(rows)]
    }

    fn row(&mut self, columns: &[Column], id: Option<i64>, edges: Edges) -> Tree {
        let mut values = Vec::new();
        for column in columns {
            values.push(match column.name.as_str() {
                "id" => Tree::int(id.unwrap_or_else(|| self.chance.between(1, IDS) as i64)),
                // A parent that there is, mostly.
                "p" if self.chance.percent(80) => Tree::int(self.chance.between(1, 9) as i64),
                _ if edges == Edges::Some && self.chance.percent(5) => Tree::from("DEFAULT"),
                _ if column.sql_type == "YEAR" => Tree::int(self.chance.one_of(&[2020, 1999, 0, 69, 2155])),
                _ => stored(&mut self.chance, column.kind, edges),
            });
        }
        let at_least = values.len();
        sql!["(", Tree::List { separator: ", ", items: values, at_least }, ")"]
    }

    /// Some columns of the table: those without which a row cannot be, and others by chance.
    fn some_columns(&mut self, table: &Table) -> Vec<Column> {
        let all = self.chance.percent(60);
        let mut columns = table.written();
        columns.retain(|column| column.name == "id" || all || self.chance.percent(70));
        columns
    }

    /// A statement that changes rows.
    pub fn change(&mut self) -> Tree {
        let table = self.chance.pick(&self.schema.tables).clone();
        self.changed_table = Some(table.name.clone());
        let tree = self.change_of(&table);
        self.changed_table = None;
        tree
    }

    fn change_of(&mut self, table: &Table) -> Tree {
        match self.chance.below(20) {
            0..=7 => self.insert(table),
            8..=9 => self.insert_select(table),
            10..=14 => self.update(table),
            15..=17 => self.delete(table),
            18 => self.joined_update(table),
            _ => self.joined_delete(table),
        }
    }

    fn insert(&mut self, table: &Table) -> Tree {
        let columns = self.some_columns(table);
        let mut rows = Vec::new();
        for _ in 0..self.chance.between(1, 3) {
            rows.push(self.row(&columns, None, Edges::Some));
        }
        let verb = self.chance.one_of(&["INSERT", "INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let tail = match verb == "INSERT" && self.chance.percent(35) {
            true => {
                // A subquery there cannot read the table's columns: 1235.
                let nesting = std::mem::replace(&mut self.nesting, usize::MAX);
                let assignments = self.assignments(table, "");
                self.nesting = nesting;
                sql![" ON DUPLICATE KEY UPDATE ", assignments].optional()
            }
            false => Tree::nothing(),
        };
        sql![verb, " INTO ", target(table, &columns), " VALUES ", Tree::list(rows), tail]
    }

    fn insert_select(&mut self, table: &Table) -> Tree {
        let columns = table.written();
        let others: Vec<Table> = self
            .schema
            .tables
            .iter()
            .filter(|other| other.has_id_key && other.name != table.name)
            .cloned()
            .collect();
        if others.is_empty() {
            return self.insert(table);
        }
        let other = self.chance.pick(&others).clone();
        let scope = other.scope("x");
        let mut items = Vec::new();
        for column in &columns {
            items.push(match column.name.as_str() {
                "id" => Tree::from(format!("x.id + {}", self.chance.below(IDS))),
                _ => self.value(&scope, column.kind, 1),
            });
        }
        let at_least = items.len();
        let items = Tree::List { separator: ", ", items, at_least };
        let verb = self.chance.one_of(&["INSERT", "INSERT IGNORE", "REPLACE"]);
        let condition = self.where_clause(&scope);
        let head = sql![verb, " INTO ", target(table, &columns), " SELECT ", items];
        sql![head, format!(" FROM {} AS x", other.name), condition, " ORDER BY x.id"]
    }

    /// `SET` of one column or two; `prefix` stands before their names.
    fn assignments(&mut self, table: &Table, prefix: &str) -> Tree {
        let written = table.written();
        let mut items = Vec::new();
        for _ in 0..self.chance.between(1, 2) {
            let column = self.chance.pick(&written).clone();
            let scope = match prefix {
                "" => table.scope(&table.name),
                _ => table.scope(prefix.trim_end_matches('.')),
            };
            let value = match column.name.as_str() {
                "id" if prefix.is_empty() && self.chance.percent(60) => continue,
                "id" | "p" => Tree::int(self.chance.between(1, IDS) as i64),
                _ if self.chance.percent(40) => stored(&mut self.chance, column.kind, Edges::Some),
                _ => self.value(&scope, column.kind, 1),
            };
            items.push(sql![format!("{prefix}{} = ", column.name), value]);
        }
        if items.is_empty() {
            items.push(Tree::from(format!("{prefix}id = {prefix}id")));
        }
        Tree::list(items)
    }

    /// Changes one row after the other, so that errors and limits fall on the same rows everywhere.
    fn in_turn(&mut self, table: &Table) -> Tree {
        match table.has_id_key {
            true if self.chance.percent(50) => {
                format!(" ORDER BY {}.id LIMIT {}", table.name, self.chance.between(1, 5)).into()
            }
            true => format!(" ORDER BY {}.id", table.name).into(),
            false => Tree::nothing(),
        }
    }

    fn update(&mut self, table: &Table) -> Tree {
        let scope = table.scope(&table.name);
        self.nesting += 1;
        let condition = self.condition(&scope, 1);
        let assignments = self.assignments(table, "");
        self.nesting -= 1;
        let tail = self.in_turn(table);
        let ignore = if table.has_id_key && self.chance.percent(15) { "IGNORE " } else { "" };
        sql![
            format!("UPDATE {ignore}{} SET ", table.name),
            assignments,
            sql![" WHERE ", condition].optional(),
            tail.optional()
        ]
    }

    fn delete(&mut self, table: &Table) -> Tree {
        let scope = table.scope(&table.name);
        let condition = self.condition(&scope, 1);
        let tail = self.in_turn(table);
        sql![format!("DELETE FROM {}", table.name), sql![" WHERE ", condition], tail.optional()]
    }

    fn joined_update(&mut self, table: &Table) -> Tree {
        let other = self.chance.pick(&self.schema.tables).clone();
        if !other.has_id_key || !table.has_id_key || other.name == table.name {
            return self.update(table);
        }
        // Literals alone: of several rows that join with one, any may be taken first.
        let columns: Vec<Column> =
            table.written().into_iter().filter(|column| column.name.starts_with('c')).collect();
        let column = self.chance.pick(&columns).clone();
        let value = stored(&mut self.chance, column.kind, Edges::None);
        let on = self.condition(&table.scope("x").with(&other.scope("y")), 1);
        let join = self.chance.one_of(&["JOIN", "LEFT JOIN"]);
        sql![
            format!(
                "UPDATE {} AS x {join} {} AS y ON x.id = y.id SET x.{} = ",
                table.name, other.name, column.name
            ),
            value,
            sql![" WHERE ", on].optional()
        ]
    }

    fn joined_delete(&mut self, table: &Table) -> Tree {
        let other = self.chance.pick(&self.schema.tables).clone();
        let on = self.condition(&table.scope("x").with(&other.scope("y")), 1);
        let form = self.chance.one_of(&["DELETE x FROM", "DELETE FROM x USING"]);
        sql![format!("{form} {} AS x JOIN {} AS y ON ", table.name, other.name), on]
    }

    /// Part of a transaction.
    pub fn transaction(&mut self) -> Tree {
        let point = self.chance.between(1, 2);
        let forms = [
            "BEGIN".to_owned(),
            "START TRANSACTION".to_owned(),
            "COMMIT".to_owned(),
            "COMMIT".to_owned(),
            "ROLLBACK".to_owned(),
            format!("SAVEPOINT p{point}"),
            format!("ROLLBACK TO SAVEPOINT p{point}"),
            format!("RELEASE SAVEPOINT p{point}"),
        ];
        self.chance.pick(&forms).clone().into()
    }

    /// An expression without a table, with edges.
    pub fn constant(&mut self) -> Tree {
        let kind = self.kind();
        let nesting = std::mem::replace(&mut self.nesting, usize::MAX);
        let value = match self.chance.percent(20) {
            true => self.condition(&Default::default(), 2),
            false => self.value(&Default::default(), kind, 3),
        };
        self.nesting = nesting;
        match kind {
            Kind::Json => sql!["SELECT ", value],
            _ => sql!["SELECT ", value, " AS v"],
        }
    }
}

fn target(table: &Table, columns: &[Column]) -> Tree {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    format!("{} ({})", table.name, names.join(", ")).into()
}
