//! Queries: joins of all kinds, subqueries, groups, set operations, common table expressions.

use super::Tree;
use super::generator::Generator;
use super::kind::Kind;
use super::schema::{Scope, Table, stable};
use crate::sql;

/// No subqueries deeper than this.
const NESTING_MAX: usize = 2;

/// FROM with its tables.
#[derive(Clone, Debug)]
pub struct From {
    pub tree: Tree,
    pub scope: Scope,
    /// What orders the rows totally, if something does.
    pub total_order: Option<Vec<String>>,
}

impl Generator {
    /// A whole statement.
    pub fn query(&mut self) -> Tree {
        match self.chance.below(12) {
            0 => self.set_operation(),
            1 => self.common_table(),
            2..=4 => self.grouped(&Scope::default()),
            5 => self.distinct(),
            _ => self.plain(),
        }
    }

    /// Rows of a join, ordered if they are limited.
    fn plain(&mut self) -> Tree {
        let from = self.from(3);
        let mut items = Vec::new();
        for number in 0..self.chance.between(1, 3) {
            let kind = self.kind();
            let value = self.value(&from.scope, kind, 2);
            items.push(sql![value, format!(" AS i{number}")]);
        }
        let condition = self.where_clause(&from.scope);
        let tail = match &from.total_order {
            Some(columns) if self.chance.percent(40) => self.order_and_limit(columns, &from.scope),
            _ => Tree::nothing(),
        };
        sql!["SELECT ", Tree::list(items), " FROM ", from.tree, condition, tail.optional()]
    }

    fn order_and_limit(&mut self, columns: &[String], scope: &Scope) -> Tree {
        let mut keys = Vec::new();
        if self.chance.percent(50) {
            let kind = self.kind();
            if let Some(column) = self.column(scope, kind) {
                keys.push(sql![column, self.chance.one_of(&["", " DESC"])]);
            }
        }
        for column in columns {
            keys.push(sql![column.as_str(), self.chance.one_of(&["", " DESC"])]);
        }
        let at_least = columns.len();
        let keys = Tree::List { separator: ", ", items: keys, at_least };
        let limit = match self.chance.below(3) {
            0 => String::new(),
            1 => format!(" LIMIT {}", self.chance.below(8)),
            _ => format!(" LIMIT {} OFFSET {}", self.chance.between(1, 6), self.chance.below(5)),
        };
        sql![" ORDER BY ", keys, limit]
    }

    pub fn where_clause(&mut self, scope: &Scope) -> Tree {
        match self.chance.percent(75) {
            true => {
                let condition = self.condition(scope, 2);
                sql![" WHERE ", condition].optional()
            }
            false => Tree::nothing(),
        }
    }

    /// Up to `most` tables, joined.
    pub fn from(&mut self, most: usize) -> From {
        let (mut tree, mut scope, mut order) = self.source();
        let count = match self.chance.below(10) {
            0..=4 => 1,
            5..=8 => 2,
            _ => 3,
        };
        for _ in 1..count.min(most) {
            let (right, columns, more) = self.source();
            let all = scope.with(&columns);
            let join = match self.chance.below(8) {
                0..=2 => " JOIN ",
                3..=5 => " LEFT JOIN ",
                6 => " RIGHT JOIN ",
                _ => " STRAIGHT_JOIN ",
            };
            let on = match self.chance.percent(70) {
                true => self.join_equality(&scope, &columns),
                false => self.condition(&all, 1),
            };
            tree = sql![tree, join, right, " ON ", on];
            scope = all;
            order = order.zip(more).map(|(mut order, more)| {
                order.extend(more);
                order
            });
        }
        From { tree, scope, total_order: order }
    }

    fn join_equality(&mut self, left: &Scope, right: &Scope) -> Tree {
        let one = self.chance.pick(&right.columns).clone();
        match self.column(left, one.kind) {
            Some(other) => sql![other, " = ", one.sql.as_str()].expression(),
            None => self.condition(&left.with(right), 0),
        }
    }

    /// A table, a view or a derived table, its columns and its total order.
    fn source(&mut self) -> (Tree, Scope, Option<Vec<String>>) {
        let alias = self.alias();
        if self.nesting < NESTING_MAX && self.chance.percent(10) {
            return self.derived(&alias);
        }
        let (tables, views) = self.readable();
        let table = match views.is_empty() || self.chance.percent(85) {
            true => self.chance.pick(&tables).clone(),
            false => self.chance.pick(&views).clone(),
        };
        let hint = self.index_hint(&table);
        let order = table.has_id_key.then(|| vec![format!("{alias}.id")]);
        let scope = table.scope(&alias);
        (Tree::Table { name: table.name, alias, hint: Box::new(hint), is_view: table.is_view }, scope, order)
    }

    fn index_hint(&mut self, table: &Table) -> Tree {
        if table.keys.is_empty() || !self.chance.percent(12) {
            return Tree::nothing();
        }
        let key = self.chance.pick(&table.keys).clone();
        let verb = self.chance.one_of(&["USE", "FORCE", "IGNORE"]);
        Tree::from(format!(" {verb} INDEX ({key})")).optional()
    }

    fn derived(&mut self, alias: &str) -> (Tree, Scope, Option<Vec<String>>) {
        let (tables, _) = self.readable();
        let table = self.chance.pick(&tables).clone();
        let inner = self.alias();
        let scope = table.scope(&inner);
        self.nesting += 1;
        let condition = self.where_clause(&scope);
        self.nesting -= 1;
        let items: Vec<String> =
            table.columns.iter().map(|column| format!("{inner}.{0} AS {0}", column.name)).collect();
        let order = table.has_id_key.then(|| vec![format!("{alias}.id")]);
        let tree = sql![
            format!("(SELECT {} FROM {} AS {inner}", items.join(", "), table.name),
            condition,
            format!(") AS {alias}")
        ];
        (tree, table.scope(alias), order)
    }

    /// An aggregate of some column.
    pub fn aggregate(&mut self, scope: &Scope) -> Tree {
        let number = self.chance.one_of(&[Kind::Int, Kind::Decimal]);
        let any = self.kind();
        let is_there = |kind| scope.columns.iter().any(|column| column.kind == kind);
        if !is_there(number) || !is_there(any) {
            return Tree::from("COUNT(*)").expression();
        }
        let text = |value: Tree, kind| match kind {
            Kind::Text => sql!["TRIM(LOWER(", value, "))"],
            _ => value,
        };
        let distinct = self.chance.one_of(&["", "", "DISTINCT "]);
        match self.chance.below(9) {
            0..=1 => "COUNT(*)".into(),
            2 => sql!["COUNT(", distinct, self.value(scope, any, 1), ")"],
            3 => sql!["SUM(", distinct, self.value(scope, number, 1), ")"],
            4 => sql!["AVG(", distinct, self.value(scope, number, 1), ")"],
            5 => sql!["MIN(", text(self.value(scope, any, 1), any), ")"],
            6 => sql!["MAX(", text(self.value(scope, any, 1), any), ")"],
            7 => {
                let function = self.chance.one_of(&["BIT_AND", "BIT_OR", "BIT_XOR"]);
                sql![function, "(", self.value(scope, Kind::Int, 0), ")"]
            }
            _ => {
                let of = self.chance.one_of(&[Kind::Int, Kind::Date]);
                let value = self.leaf_of(scope, of);
                sql!["GROUP_CONCAT(DISTINCT ", &value, " ORDER BY ", &value, " SEPARATOR '|')"]
            }
        }
        .expression()
    }

    fn leaf_of(&mut self, scope: &Scope, kind: Kind) -> Tree {
        match self.column(scope, kind) {
            Some(column) => sql![column],
            None => "1".into(),
        }
    }

    /// Groups, with HAVING and ROLLUP.
    pub fn grouped(&mut self, outer: &Scope) -> Tree {
        let from = self.from(2);
        let scope = outer.with(&from.scope);
        let condition = self.where_clause(&scope);
        let mut items = Vec::new();
        let mut keys = Vec::new();
        for number in 0..self.chance.below(3) {
            let key = self.chance.pick(&from.scope.columns).clone();
            let is_there = keys.iter().any(|other: &Tree| *other == Tree::from(key.sql.as_str()));
            if key.kind != Kind::Json && !is_there {
                items.push(sql![stable(&key.sql, key.kind), format!(" AS k{number}")].optional());
                keys.push(Tree::from(key.sql));
            }
        }
        for number in 0..self.chance.between(1, 2) {
            items.push(sql![self.aggregate(&from.scope), format!(" AS a{number}")]);
        }
        let head = sql!["SELECT ", Tree::list(items), " FROM ", from.tree, condition];
        if keys.is_empty() {
            return head;
        }
        let rollup = if self.chance.percent(15) { " WITH ROLLUP" } else { "" };
        let having = match self.chance.percent(30) {
            true => {
                let operator = self.chance.one_of(&[" > ", " <= ", " = "]);
                let aggregate = self.aggregate(&from.scope);
                sql![" HAVING ", aggregate, operator, Tree::int(self.chance.below(4) as i64)].optional()
            }
            false => Tree::nothing(),
        };
        sql![head, sql![" GROUP BY ", Tree::list(keys), Tree::from(rollup).optional()], having]
    }

    fn distinct(&mut self) -> Tree {
        let from = self.from(2);
        let mut items = Vec::new();
        for _ in 0..self.chance.between(1, 2) {
            let column = self.chance.pick(&from.scope.columns).clone();
            items.push(Tree::from(stable(&column.sql, column.kind)));
        }
        let condition = self.where_clause(&from.scope);
        sql!["SELECT DISTINCT ", Tree::list(items), " FROM ", from.tree, condition]
    }

    fn set_operation(&mut self) -> Tree {
        let kinds = [self.kind(), Kind::Int];
        let count = self.chance.between(1, 2);
        let mut tree = self.branch(&kinds[..count]);
        for _ in 0..self.chance.between(1, 2) {
            let operator =
                self.chance.one_of(&[" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " UNION DISTINCT "]);
            tree = sql![tree, sql![operator, self.branch(&kinds[..count])].optional()];
        }
        tree
    }

    fn branch(&mut self, kinds: &[Kind]) -> Tree {
        let from = self.from(1);
        let mut items = Vec::new();
        for &kind in kinds {
            let value = self.value(&from.scope, kind, 1);
            items.push(match kind {
                Kind::Text => sql!["TRIM(LOWER(", value, "))"],
                _ => value,
            });
        }
        let at_least = items.len();
        let items = Tree::List { separator: ", ", items, at_least };
        let condition = self.where_clause(&from.scope);
        sql!["SELECT ", items, " FROM ", from.tree, condition]
    }

    fn common_table(&mut self) -> Tree {
        let name = self.alias();
        self.nesting += 1;
        let table = self.chance.pick(&self.schema.tables).clone();
        let inner = self.alias();
        let condition = self.where_clause(&table.scope(&inner));
        self.nesting -= 1;
        let [one, other] = [self.alias(), self.alias()];
        let scope = table.scope(&one).with(&table.scope(&other));
        let on = self.join_equality(&table.scope(&one), &table.scope(&other));
        let kind = self.kind();
        let item = self.value(&scope, kind, 1);
        sql![
            format!("WITH {name} AS (SELECT * FROM {} AS {inner}", table.name),
            condition,
            ") SELECT ",
            item,
            format!(" FROM {name} AS {one} JOIN {name} AS {other} ON "),
            on,
            self.where_clause(&scope)
        ]
    }

    /// One value out of a query.
    pub fn scalar_subquery(&mut self, outer: &Scope, kind: Kind) -> Tree {
        if self.nesting >= NESTING_MAX || self.readable().0.is_empty() {
            return self.literal(kind);
        }
        self.nesting += 1;
        let from = self.from(1);
        let scope = outer.with(&from.scope);
        let function = self.chance.one_of(&["MIN", "MAX"]);
        let value = self.value(&from.scope, kind, 0);
        let value = match kind {
            Kind::Text => sql!["TRIM(LOWER(", value, "))"],
            _ => value,
        };
        let condition = self.where_clause(&scope);
        self.nesting -= 1;
        sql!["(SELECT ", function, "(", value, ") FROM ", from.tree, condition, ")"].expression()
    }

    pub fn subquery_condition(&mut self, outer: &Scope) -> Tree {
        if self.nesting >= NESTING_MAX || self.readable().0.is_empty() {
            return self.condition(outer, 0);
        }
        self.nesting += 1;
        let from = self.from(1);
        let scope = outer.with(&from.scope);
        let condition = self.where_clause(&scope);
        let kind = self.kind();
        let not = self.chance.one_of(&["", "NOT "]);
        let tree = match self.chance.below(4) {
            0..=1 => sql!["(", not, "EXISTS (SELECT 1 FROM ", from.tree, condition, "))"],
            2 => {
                let (left, item) = (self.value(outer, kind, 0), self.value(&from.scope, kind, 0));
                sql!["(", left, " ", not, "IN (SELECT ", item, " FROM ", from.tree, condition, "))"]
            }
            _ => {
                let (left, item) = (self.value(outer, kind, 0), self.value(&from.scope, kind, 0));
                let operator = self.chance.one_of(&["= ANY", "> ALL", "< ANY", "<> ALL", ">= ANY", "<= ALL"]);
                sql!["(", left, " ", operator, " (SELECT ", item, " FROM ", from.tree, condition, "))"]
            }
        };
        self.nesting -= 1;
        tree.expression()
    }
}
