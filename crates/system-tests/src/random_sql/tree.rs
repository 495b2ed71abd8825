//! Statements as trees: written for either server, with literals or parameters, and made smaller piece by piece.

use super::value_kind::Kind;
use crate::Value;

/// A literal that can be a parameter as well.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Int(i64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Text(String),
    Literal(Literal),
    /// What MySQL and MariaDB call by different words.
    Dialect {
        mysql: &'static str,
        mariadb: &'static str,
    },
    Sequence(Vec<Tree>),
    /// The statement is one without it, too.
    Optional(Box<Tree>),
    /// Items of which at least so many must stay.
    List {
        separator: &'static str,
        items: Vec<Tree>,
        at_least: usize,
    },
    /// May become any expression of its kind inside it, or a literal.
    Expression(Box<Tree>, Option<Kind>),
    /// A table or view under an alias, with its index hint.
    Table {
        name: String,
        alias: String,
        hint: Box<Tree>,
        is_view: bool,
    },
}

/// Pieces of a statement, one after the other.
#[macro_export]
macro_rules! sql {
    ($($piece:expr),* $(,)?) => {
        $crate::random_sql::Tree::Sequence(vec![$($crate::random_sql::Tree::from($piece)),*])
    };
}

impl From<&str> for Tree {
    fn from(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Tree {
        Tree::Text(text)
    }
}

impl From<&Tree> for Tree {
    fn from(tree: &Tree) -> Tree {
        tree.clone()
    }
}

/// For whom a statement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    MySql,
    MariaDb,
}

/// How the tables of a statement are written.
#[derive(Clone, Copy, Debug)]
pub enum Tables<'a> {
    AsGiven,
    WithoutIndexes,
    /// Of these aliases the one row with that `id`.
    Only(&'a [(String, String)]),
}

struct Writer<'a> {
    dialect: Dialect,
    tables: Tables<'a>,
    sql: String,
    parameters: Option<Vec<Value>>,
}

impl Tree {
    pub fn nothing() -> Tree {
        Tree::Sequence(Vec::new())
    }

    pub fn optional(self) -> Tree {
        Tree::Optional(Box::new(self))
    }

    /// An expression of no kind in particular: a condition.
    pub fn expression(self) -> Tree {
        Tree::Expression(Box::new(self), None)
    }

    /// The expression, now known to be of that kind.
    pub fn of(self, kind: Kind) -> Tree {
        match self {
            Tree::Expression(tree, _) => Tree::Expression(tree, Some(kind)),
            other => Tree::Expression(Box::new(other), Some(kind)),
        }
    }

    /// A list with commas of which one item must stay.
    pub fn list(items: Vec<Tree>) -> Tree {
        Tree::List { separator: ", ", items, at_least: 1 }
    }

    pub fn int(value: i64) -> Tree {
        Tree::Literal(Literal::Int(value)).expression()
    }

    pub fn text(value: &str) -> Tree {
        Tree::Literal(Literal::Text(value.to_owned())).expression()
    }

    pub fn null() -> Tree {
        Tree::Literal(Literal::Null).expression()
    }

    /// The statement with its literals in it.
    pub fn sql(&self, dialect: Dialect) -> String {
        self.sql_with(dialect, Tables::AsGiven)
    }

    pub fn sql_with(&self, dialect: Dialect, tables: Tables<'_>) -> String {
        let mut writer = Writer { dialect, tables, sql: String::new(), parameters: None };
        writer.write(self);
        writer.sql
    }

    /// The statement with `?` for its literals, and their values.
    pub fn with_parameters(&self, dialect: Dialect) -> (String, Vec<Value>) {
        let parameters = Some(Vec::new());
        let mut writer = Writer { dialect, tables: Tables::AsGiven, sql: String::new(), parameters };
        writer.write(self);
        (writer.sql, writer.parameters.unwrap_or_default())
    }

    /// All trees that are this one with one piece less, those that lose most first.
    pub fn smaller(&self) -> Vec<Tree> {
        match self {
            Tree::Text(_) | Tree::Dialect { .. } | Tree::Literal(_) => Vec::new(),
            Tree::Table { name, alias, hint, is_view } => {
                let table = |hint| {
                    let (name, alias) = (name.clone(), alias.clone());
                    Tree::Table { name, alias, hint: Box::new(hint), is_view: *is_view }
                };
                hint.smaller().into_iter().map(table).collect()
            }
            Tree::Optional(tree) => {
                let mut all = vec![Tree::nothing()];
                all.extend(tree.smaller().into_iter().map(Tree::optional));
                all
            }
            Tree::Expression(tree, kind) => {
                let mut all = Vec::new();
                if !matches!(**tree, Tree::Literal(_)) {
                    tree.expressions_inside(*kind, &mut all);
                    all.push(Tree::Expression(Box::new(Tree::Literal(Literal::Null)), *kind));
                    if matches!(kind, None | Some(Kind::Int)) {
                        all.push(Tree::Expression(Box::new(Tree::Literal(Literal::Int(1))), *kind));
                    }
                }
                let inside = tree.smaller().into_iter();
                all.extend(inside.map(|tree| Tree::Expression(Box::new(tree), *kind)));
                all
            }
            Tree::Sequence(pieces) => each_smaller(pieces).into_iter().map(Tree::Sequence).collect(),
            Tree::List { separator, items, at_least } => {
                let list = |items| Tree::List { separator, items, at_least: *at_least };
                let mut all = Vec::new();
                if items.len() > *at_least {
                    for number in 0..items.len() {
                        let mut fewer = items.clone();
                        fewer.remove(number);
                        all.push(list(fewer));
                    }
                }
                all.extend(each_smaller(items).into_iter().map(list));
                all
            }
        }
    }

    /// The outermost expressions of a kind beneath this tree.
    fn expressions_inside(&self, wanted: Option<Kind>, found: &mut Vec<Tree>) {
        match self {
            Tree::Text(_) | Tree::Dialect { .. } | Tree::Literal(_) | Tree::Table { .. } => {}
            Tree::Expression(_, kind) if *kind == wanted => found.push(self.clone()),
            Tree::Optional(tree) | Tree::Expression(tree, _) => tree.expressions_inside(wanted, found),
            Tree::Sequence(pieces) => pieces.iter().for_each(|piece| piece.expressions_inside(wanted, found)),
            Tree::List { items, .. } => items.iter().for_each(|item| item.expressions_inside(wanted, found)),
        }
    }
}

/// The list with one of its trees made smaller, in all ways.
pub fn each_smaller(trees: &[Tree]) -> Vec<Vec<Tree>> {
    let mut all = Vec::new();
    for (number, tree) in trees.iter().enumerate() {
        for smaller in tree.smaller() {
            let mut changed = trees.to_vec();
            changed[number] = smaller;
            all.push(changed);
        }
    }
    all
}

impl Writer<'_> {
    fn write(&mut self, tree: &Tree) {
        match tree {
            Tree::Text(text) => self.sql.push_str(text),
            Tree::Literal(literal) => match &mut self.parameters {
                // NULL has no type; a parameter has one.
                Some(values) if *literal != Literal::Null => {
                    self.sql.push('?');
                    values.push(literal.value());
                }
                _ => literal.write(&mut self.sql),
            },
            Tree::Dialect { mysql, mariadb } => self.sql.push_str(match self.dialect {
                Dialect::MySql => mysql,
                Dialect::MariaDb => mariadb,
            }),
            Tree::Sequence(pieces) => pieces.iter().for_each(|piece| self.write(piece)),
            Tree::Optional(tree) | Tree::Expression(tree, _) => self.write(tree),
            Tree::List { separator, items, .. } => {
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        self.sql.push_str(separator);
                    }
                    self.write(item);
                }
            }
            Tree::Table { name, alias, hint, is_view } => self.write_table(name, alias, hint, *is_view),
        }
    }

    fn write_table(&mut self, name: &str, alias: &str, hint: &Tree, is_view: bool) {
        match self.tables {
            Tables::Only(rows) => {
                if let Some((_, id)) = rows.iter().find(|(of, _)| of == alias) {
                    self.sql += &format!("(SELECT * FROM {name} WHERE id = {id}) AS {alias}");
                    return;
                }
                self.sql += &format!("{name} AS {alias}");
            }
            Tables::WithoutIndexes if !is_view => self.sql += &format!("{name} AS {alias} USE INDEX ()"),
            _ => {
                self.sql += &format!("{name} AS {alias}");
                self.write(hint);
            }
        }
    }
}

impl Literal {
    pub fn sql(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn value(&self) -> Value {
        match self {
            Literal::Null => Value::Null,
            Literal::Int(value) => Value::Int(*value),
            Literal::Text(text) => Value::text(text),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Literal::Null => out.push_str("NULL"),
            // An operator may stand before it.
            Literal::Int(value) if *value < 0 => *out += &format!("({value})"),
            Literal::Int(value) => *out += &value.to_string(),
            Literal::Text(text) => {
                let escaped = text.replace('\\', "\\\\").replace('\'', "''");
                *out += &format!("'{escaped}'");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_written_with_literals_or_with_parameters() {
        let tree = sql!["SELECT ", sql![Tree::int(-1), " + ", Tree::text("it's")].expression()];
        assert_eq!(tree.sql(Dialect::MySql), "SELECT (-1) + 'it''s'");
        let (sql, values) = tree.with_parameters(Dialect::MySql);
        assert_eq!((sql.as_str(), values), ("SELECT ? + ?", vec![Value::Int(-1), Value::text("it's")]));
    }

    #[test]
    fn smaller_trees_lose_one_clause_or_become_an_expression_inside() {
        let condition = sql!["f(", Tree::text("x"), ")"].expression();
        let tree = sql!["DELETE FROM t", sql![" WHERE ", condition].optional()];
        let texts: Vec<String> = tree.smaller().iter().map(|tree| tree.sql(Dialect::MySql)).collect();
        let expected = ["", " WHERE 'x'", " WHERE NULL", " WHERE 1"];
        assert_eq!(texts, expected.map(|tail| format!("DELETE FROM t{tail}")));
    }
}
