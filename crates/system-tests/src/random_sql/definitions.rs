//! Schemas: tables with all types, keys and constraints, views, triggers; and how they change.

use super::Tree;
use super::generator::{Generator, Oracles};
use super::kind::{Edges, Kind, stored};
use super::schema::{Column, Table, stable};
use crate::sql;

/// Beside texts of other sets it is converted, or not, by rules in which MariaDB and MySQL differ.
const LATIN1: &str = "VARCHAR(8) CHARACTER SET latin1 COLLATE latin1_swedish_ci";
const SET: &str = "SET('a','b','c','ab')";

const TYPES: [(Kind, &[&str]); 9] = [
    (
        Kind::Int,
        &[
            "INT",
            "INT",
            "TINYINT",
            "TINYINT UNSIGNED",
            "SMALLINT",
            "MEDIUMINT",
            "INT UNSIGNED",
            "BIGINT",
            "BIGINT UNSIGNED",
            "YEAR",
        ],
    ),
    (Kind::Decimal, &["DECIMAL(5,2)", "DECIMAL(10,0)", "DECIMAL(20,6)", "DECIMAL(30,10)"]),
    (Kind::Double, &["DOUBLE", "FLOAT"]),
    (
        Kind::Text,
        &[
            "VARCHAR(10)",
            "VARCHAR(30)",
            "CHAR(5)",
            "VARCHAR(20) COLLATE utf8mb4_bin",
            "VARCHAR(10) COLLATE utf8mb4_unicode_ci",
            LATIN1,
            "TEXT",
            "TINYTEXT COLLATE utf8mb4_bin",
            "ENUM('a','b','zz','10','Abc')",
            SET,
        ],
    ),
    (Kind::Binary, &["VARBINARY(8)", "BINARY(4)", "BLOB"]),
    (Kind::Date, &["DATE"]),
    (Kind::DateTime, &["DATETIME", "DATETIME(3)", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(2) NULL"]),
    (Kind::Time, &["TIME", "TIME(1)", "TIME(6)"]),
    (Kind::Json, &["JSON"]),
];

/// Generated columns: what is in them, and their type.
const GENERATED: [(Kind, &str, &str, Kind); 8] = [
    (Kind::Int, "{} + 1", "BIGINT", Kind::Int),
    (Kind::Int, "{} % 5", "BIGINT", Kind::Int),
    (Kind::Decimal, "{} * 2", "DECIMAL(40,10)", Kind::Decimal),
    (Kind::Text, "UPPER({})", "VARCHAR(40)", Kind::Text),
    (Kind::Text, "LENGTH({})", "INT", Kind::Int),
    (Kind::Date, "YEAR({})", "INT", Kind::Int),
    (Kind::Date, "{} + INTERVAL 1 DAY", "DATE", Kind::Date),
    (Kind::Time, "HOUR({})", "INT", Kind::Int),
];

const ACTIONS: [&str; 6] = [
    "",
    " ON DELETE CASCADE",
    " ON DELETE SET NULL",
    " ON UPDATE CASCADE",
    " ON UPDATE SET NULL",
    " ON DELETE RESTRICT",
];

impl Generator {
    /// The statements that make the schema.
    pub fn schema(&mut self) -> Vec<Tree> {
        let mut statements = Vec::new();
        for number in 1..=self.chance.between(2, 4) {
            statements.push(self.table(number));
        }
        for number in 1..=self.chance.below(3) {
            statements.push(self.view(number));
        }
        statements.push("CREATE TABLE audit (what VARCHAR(10), k BIGINT)".into());
        for number in 1..=self.chance.below(3) {
            statements.push(self.trigger(number));
        }
        statements
    }

    fn table(&mut self, number: usize) -> Tree {
        let name = format!("t{number}");
        let id = Column { name: "id".into(), kind: Kind::Int, sql_type: "INT", is_generated: false };
        let counts = self.chance.percent(30);
        let mut table = Table { name, columns: vec![id], keys: Vec::new(), is_view: false, has_id_key: true };
        let mut parts = vec![Tree::from(if counts { "id INT AUTO_INCREMENT" } else { "id INT NOT NULL" })];
        let mut required = Vec::new();
        for at in 1..=self.chance.between(3, 6) {
            let column = self.stored_column(format!("c{at}"));
            let (definition, is_required) = self.column_definition(&column);
            if is_required && !column.is_long() {
                required.push(column.name.clone());
            }
            parts.push(definition);
            table.columns.push(column);
        }
        // Who counts is found by its number alone, and so is a parent.
        parts.push(match self.chance.below(10) {
            0..=1 if !counts && number > 1 && !required.is_empty() => {
                table.has_id_key = false;
                sql!["PRIMARY KEY (id, ", self.chance.pick(&required).as_str(), ")"]
            }
            2 if !counts && number > 1 => {
                table.has_id_key = false;
                Tree::from("KEY kid (id)")
            }
            3 => "PRIMARY KEY (id DESC)".into(),
            _ => "PRIMARY KEY (id)".into(),
        });
        if self.chance.percent(40) {
            parts.extend(self.generated_column(&mut table));
        }
        if number > 1 && self.chance.percent(40) {
            parts.extend(self.foreign_key(&mut table));
        }
        for key in 1..=self.chance.below(4) {
            parts.extend(self.key(&mut table, format!("k{key}")));
        }
        if self.chance.percent(30) {
            parts.push(self.check(&table).optional());
        }
        let head = format!("CREATE TABLE {} (", table.name);
        self.schema.tables.push(table);
        sql![head, Tree::list(parts), ")"]
    }

    fn stored_column(&mut self, name: String) -> Column {
        let kind = self.kind();
        let types = TYPES.iter().find(|(of, _)| *of == kind).map_or(["INT"].as_slice(), |(_, types)| types);
        let sql_type = match self.chance.one_of(types) {
            LATIN1 if self.oracles == Oracles::MariaDb => "VARCHAR(8)",
            // MariaDB keeps the low bits of numbers that are no SET, and knows other years by two digits in doubles and rows.
            SET if self.oracles == Oracles::MariaDb => "VARCHAR(12)",
            "YEAR" if self.oracles == Oracles::MariaDb => "SMALLINT UNSIGNED",
            sql_type => sql_type,
        };
        Column { name, kind, sql_type, is_generated: false }
    }

    /// The definition, and whether it takes no NULL.
    fn column_definition(&mut self, column: &Column) -> (Tree, bool) {
        // With IGNORE a NULL becomes a date of zeros there, which IS NULL finds in MySQL and MariaDB alone.
        let is_date = matches!(column.kind, Kind::Date | Kind::DateTime);
        let is_required = !column.sql_type.ends_with(" NULL") && !is_date && self.chance.percent(25);
        let not_null = if is_required { Tree::from(" NOT NULL").optional() } else { Tree::nothing() };
        let has_default = !column.is_long() && column.kind != Kind::Json && self.chance.percent(30);
        let default = match has_default {
            true => match column.kind {
                Kind::Int if column.sql_type != "YEAR" => self.chance.one_of(&[" DEFAULT 7", " DEFAULT (1 + 2)"]),
                Kind::Decimal => " DEFAULT 7",
                Kind::Text if column.sql_type.starts_with("VARCHAR") => {
                    self.chance.one_of(&[" DEFAULT 'b'", " DEFAULT (UPPER('ab'))"])
                }
                Kind::Text => " DEFAULT 'a'",
                Kind::Date => " DEFAULT '2020-02-29'",
                Kind::DateTime => " DEFAULT '2020-01-01 12:30:00'",
                _ => "",
            },
            false => "",
        };
        let definition =
            sql![format!("{} {}", column.name, column.sql_type), not_null, Tree::from(default).optional()];
        (definition, is_required)
    }

    fn generated_column(&mut self, table: &mut Table) -> Option<Tree> {
        let (of, expression, sql_type, kind) = *self.chance.pick(&GENERATED);
        let base = table.columns.iter().skip(1).find(|column| column.kind == of && column.sql_type != "YEAR")?;
        let expression = expression.replace("{}", &base.name);
        let stored = self.chance.one_of(&["STORED", "VIRTUAL"]);
        table.columns.push(Column { name: "g".into(), kind, sql_type, is_generated: true });
        Some(format!("g {sql_type} AS ({expression}) {stored}").into())
    }

    fn foreign_key(&mut self, table: &mut Table) -> Option<Tree> {
        let parent = "t1";
        let [first, second] = [self.chance.one_of(&ACTIONS), self.chance.one_of(&ACTIONS)];
        let actions = match (first.get(..10), second.get(..10)) {
            (one, other) if one == other => first.to_owned(),
            _ => format!("{first}{second}"),
        };
        table.columns.push(Column { name: "p".into(), kind: Kind::Int, sql_type: "INT", is_generated: false });
        Some(format!("p INT, FOREIGN KEY (p) REFERENCES {parent} (id){actions}").into())
    }

    /// A key of one column or two.
    pub fn key(&mut self, table: &mut Table, name: String) -> Option<Tree> {
        let mut parts = Vec::new();
        let mut named: Vec<String> = Vec::new();
        for _ in 0..=self.chance.below(2) {
            let column = self.chance.pick(&table.columns).clone();
            if column.kind == Kind::Json || named.contains(&column.name) {
                continue;
            }
            let is_cut = column.is_long() || column.sql_type.starts_with("VARCHAR") && self.chance.percent(20);
            let prefix = if is_cut && !column.is_generated { "(2)" } else { "" };
            // MariaDB finds other rows than there are by a descending index of doubles and a parameter.
            let is_ascending = column.kind == Kind::Double && self.oracles == Oracles::MariaDb;
            let order = if is_ascending { "" } else { self.chance.one_of(&["", "", "", " DESC"]) };
            parts.push(Tree::from(format!("{}{prefix}{order}", column.name)));
            named.push(column.name);
        }
        if parts.is_empty() {
            return None;
        }
        let unique = if self.chance.percent(20) { "UNIQUE " } else { "" };
        let hidden = match self.chance.percent(8) {
            true => Tree::Dialect { mysql: " INVISIBLE", mariadb: " IGNORED" },
            false => {
                table.keys.push(name.clone());
                Tree::nothing()
            }
        };
        Some(sql![format!("{unique}KEY {name} ("), Tree::list(parts), ")", hidden.optional()].optional())
    }

    fn check(&mut self, table: &Table) -> Tree {
        let column = self.chance.pick(&table.columns[1..]).clone();
        let value = match column.kind {
            Kind::Json => return "CHECK (id <> 13)".into(),
            kind => stored(&mut self.chance, kind, Edges::None),
        };
        let name = match self.chance.percent(50) {
            true => format!("CONSTRAINT {}_check ", table.name),
            false => String::new(),
        };
        sql![format!("{name}CHECK ({} <> ", column.name), value, ")"]
    }

    /// A view that is merged into statements, or one that is made before them.
    fn view(&mut self, number: usize) -> Tree {
        let name = format!("v{number}");
        let table = self.chance.pick(&self.schema.tables).clone();
        let mut columns = table.columns.clone();
        columns.iter_mut().for_each(|column| column.is_generated = false);
        let scope = table.scope("x");
        let nesting = std::mem::replace(&mut self.nesting, usize::MAX);
        let body = match self.chance.below(3) {
            0 => {
                columns.truncate(2);
                let key = columns[1].clone();
                columns[0].name = "n".into();
                columns[1].name = "k".into();
                let key = stable(&format!("x.{}", key.name), key.kind);
                sql![format!(
                    "SELECT COUNT(*) AS n, {key} AS k FROM {} AS x GROUP BY x.{}",
                    table.name, table.columns[1].name
                )]
            }
            _ => {
                let names: Vec<String> =
                    columns.iter().map(|column| format!("x.{0} AS {0}", column.name)).collect();
                let condition = sql![" WHERE ", self.condition(&scope, 1)].optional();
                sql![format!("SELECT {} FROM {} AS x", names.join(", "), table.name), condition]
            }
        };
        self.nesting = nesting;
        self.schema.views.push(Table {
            name: name.clone(),
            columns,
            keys: Vec::new(),
            is_view: true,
            has_id_key: false,
        });
        sql![format!("CREATE VIEW {name} AS "), body]
    }

    fn trigger(&mut self, number: usize) -> Tree {
        let table = self.chance.pick(&self.schema.tables).clone();
        let event = self.chance.one_of(&["INSERT", "UPDATE", "DELETE"]);
        let row = if event == "DELETE" { "OLD" } else { "NEW" };
        let written = table.written();
        let columns: Vec<&Column> = written.iter().filter(|column| column.name.starts_with('c')).collect();
        let body = match event != "DELETE" && self.chance.percent(50) && !columns.is_empty() {
            true => {
                let column = (*self.chance.pick(&columns)).clone();
                let nesting = std::mem::replace(&mut self.nesting, usize::MAX);
                self.changed_table = Some(table.name.clone());
                let value = self.value(&table.scope("NEW"), column.kind, 1);
                self.changed_table = None;
                self.nesting = nesting;
                sql![format!("BEFORE {event} ON {} FOR EACH ROW SET NEW.{} = ", table.name, column.name), value]
            }
            false => format!(
                "AFTER {event} ON {} FOR EACH ROW INSERT INTO audit VALUES ('{event}', {row}.id)",
                table.name
            )
            .into(),
        };
        sql![format!("CREATE TRIGGER g{number} "), body]
    }

    /// A change of a table's definition.
    pub fn alteration(&mut self) -> Tree {
        let at = self.chance.below(self.schema.tables.len());
        let mut table = self.schema.tables[at].clone();
        let name = self.alias();
        let action = match self.chance.below(5) {
            0..=1 => {
                let column = self.stored_column(name);
                let (definition, _) = self.column_definition(&column);
                table.columns.push(column);
                let place = self.chance.one_of(&["", " FIRST", " AFTER id"]);
                sql!["ADD COLUMN ", definition, Tree::from(place).optional()]
            }
            2..=3 => match self.key(&mut table, name) {
                Some(key) => sql!["ADD ", key],
                None => "ENGINE=InnoDB".into(),
            },
            _ => match table.columns.iter().position(|column| column.name.starts_with('x')) {
                Some(place) => {
                    let column = table.columns.remove(place);
                    table.keys.clear();
                    sql![format!("DROP COLUMN {}", column.name)]
                }
                None => "COMMENT 'c'".into(),
            },
        };
        let head = format!("ALTER TABLE {} ", table.name);
        self.schema.tables[at] = table;
        sql![head, action]
    }
}
