use super::edit::edit;
use super::way::{Asked, Demands, Way, choose, least};
use crate::ddl::build::{BuiltTable, build, keep_ids};
use crate::ddl::show_create::create_table_text;
use crate::ddl::tests::{alter_statement, context, schema};
use shoal_types::{Result, TableId, TableSchema};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10) DEFAULT 'x', c INT NOT NULL, KEY by_a (a), \
                     UNIQUE KEY by_b (b), KEY by_ac (a, c))";

fn altered(table: &TableSchema, actions: &str) -> Result<(BuiltTable, Way)> {
    let statement = alter_statement(&format!("ALTER TABLE t {actions}"));
    let mut notes = Vec::new();
    let edited = edit(table, &statement.actions, &context(), &mut notes)?;
    let force = edited.force;
    let mut built = build(edited.draft, &mut notes)?;
    if table.has_hidden_key() && built.schema.has_hidden_key() {
        built.index_origins[0] = Some(0);
        *built.column_origins.last_mut().unwrap() = Some(table.columns.len() - 1);
    }
    let asked = Asked { algorithm: statement.algorithm, lock: statement.lock };
    let way = choose(least(table, &built, Demands { force, parents: false }), ("test", "t"), asked)?;
    Ok((built, way))
}

fn way(actions: &str) -> Way {
    altered(&schema(TABLE), actions).unwrap_or_else(|error| panic!("{actions}: {error}")).1
}

fn shown(actions: &str) -> String {
    let (built, _) = altered(&schema(TABLE), actions).unwrap_or_else(|error| panic!("{actions}: {error}"));
    let text = create_table_text(&built.schema);
    let body: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).map(str::trim).collect();
    body.join("\n")
}

fn refused(actions: &str) -> u16 {
    match altered(&schema(TABLE), actions) {
        Ok((built, _)) => panic!("{actions} made {}", create_table_text(&built.schema)),
        Err(error) => error.errno(),
    }
}

#[test]
fn columns_come_and_go_and_move() {
    assert_eq!(
        shown("ADD d INT FIRST, ADD e INT AFTER a, DROP c, MODIFY b CHAR(3) AFTER id"),
        "`d` int DEFAULT NULL,\n`id` int NOT NULL,\n`b` char(3) DEFAULT NULL,\n`a` int DEFAULT NULL,\n\
         `e` int DEFAULT NULL,\nPRIMARY KEY (`id`),\nUNIQUE KEY `by_b` (`b`),\nKEY `by_a` (`a`),\nKEY `by_ac` (`a`)"
    );
}

#[test]
fn names_are_those_before_the_statement() {
    let text = shown("CHANGE a b2 INT, RENAME COLUMN b TO a, RENAME INDEX by_a TO by_b2");
    assert_eq!(
        text,
        "`id` int NOT NULL,\n`b2` int DEFAULT NULL,\n`a` varchar(10) DEFAULT 'x',\n`c` int NOT NULL,\n\
         PRIMARY KEY (`id`),\nUNIQUE KEY `by_b` (`a`),\nKEY `by_b2` (`b2`),\nKEY `by_ac` (`b2`,`c`)"
    );
    let swapped = shown("RENAME COLUMN a TO c, RENAME COLUMN c TO a");
    assert!(swapped.contains("KEY `by_ac` (`c`,`a`)"), "{swapped}");
}

#[test]
fn only_what_changes_rows_copies_them() {
    for actions in [
        "",
        "ALTER a SET DEFAULT 5",
        "ALTER b DROP DEFAULT",
        "RENAME COLUMN a TO z",
        "RENAME INDEX by_a TO z",
        "ALTER INDEX by_a INVISIBLE",
        "ALTER a SET INVISIBLE",
        "COMMENT='x'",
        "ENGINE=MyISAM",
        "AUTO_INCREMENT=7",
        "DEFAULT CHARSET latin1",
        "MODIFY a INT COMMENT 'x'",
        "MODIFY b VARCHAR(20)",
        "DISABLE KEYS",
        "RENAME TO u",
        "MODIFY c INT(5) NOT NULL",
        "ADD d INT",
        "ADD d TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP FIRST, ADD e TEXT",
        "MODIFY a INT FIRST",
    ] {
        assert_eq!(way(actions), Way::Instant, "{actions}");
    }
    for actions in
        ["ADD KEY (c)", "ADD UNIQUE (c)", "DROP KEY by_a", "DROP KEY by_a, ADD KEY by_a (c)", "DROP a", "DROP b"]
    {
        assert_eq!(way(actions), Way::InPlace, "{actions}");
    }
    for actions in [
        "ADD d DATE NOT NULL",
        "ADD d INT AUTO_INCREMENT UNIQUE",
        "ADD d INT DEFAULT (a + 1)",
        "ADD d INT AS (a + 1)",
        "FORCE",
        "DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
        "MODIFY a INT NOT NULL",
        "MODIFY c INT NULL",
    ] {
        assert_eq!(way(actions), Way::Rebuild, "{actions}");
    }
    for actions in [
        "DROP PRIMARY KEY",
        "MODIFY a BIGINT",
        "MODIFY b VARCHAR(5)",
        "CONVERT TO CHARACTER SET latin1",
        "MODIFY a INT UNSIGNED",
    ] {
        assert_eq!(way(actions), Way::Copy, "{actions}");
    }
}

#[test]
fn enumerations_grow_in_place_at_their_end_alone() {
    let table = schema("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b'))");
    assert_eq!(altered(&table, "MODIFY e ENUM('a','b','c')").unwrap().1, Way::Instant);
    assert_eq!(altered(&table, "MODIFY e ENUM('b','a')").unwrap().1, Way::Copy);
}

#[test]
fn partitioning_by_other_columns_copies_and_by_the_same_does_not() {
    let table = schema("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))");
    let (built, way) = altered(&table, "PARTITION BY KEY (a)").unwrap();
    assert_eq!((way, built.schema.partition_columns), (Way::Copy, vec![0]));
    assert_eq!(altered(&table, "PARTITION BY KEY ()").unwrap().1, Way::Instant);
    assert_eq!(altered(&table, "REMOVE PARTITIONING").unwrap_err().errno(), 1505);
    let partitioned = schema("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b)) PARTITION BY KEY (a)");
    assert_eq!(altered(&partitioned, "REMOVE PARTITIONING").unwrap().1, Way::Copy);
    let (built, way) = altered(&partitioned, "ADD PARTITION PARTITIONS 3").unwrap();
    assert_eq!((way, built.schema.options.partitions), (Way::Instant, 4));
    let (built, _) = altered(&partitioned, "RENAME COLUMN a TO z").unwrap();
    assert!(create_table_text(&built.schema).contains("KEY (z)"));
}

#[test]
fn a_hidden_key_stays_until_a_primary_key_comes() {
    let table = schema("CREATE TABLE t (a INT, b INT)");
    assert_eq!(altered(&table, "ALTER a SET DEFAULT 1").unwrap().1, Way::Instant);
    assert_eq!(altered(&table, "ADD KEY (a)").unwrap().1, Way::InPlace);
    let (built, way) = altered(&table, "ADD PRIMARY KEY (a)").unwrap();
    assert_eq!(way, Way::Rebuild);
    assert!(!built.schema.has_hidden_key());
    let keyed = schema("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    let (built, way) = altered(&keyed, "DROP PRIMARY KEY").unwrap();
    assert_eq!(way, Way::Copy);
    assert!(built.schema.has_hidden_key());
}

#[test]
fn indexes_that_stay_keep_their_ids_and_new_ones_get_others() {
    let table = schema(TABLE);
    let (mut built, way) = altered(&table, "DROP KEY by_a, ADD KEY by_a (c), ADD UNIQUE KEY u (c)").unwrap();
    assert_eq!(way, Way::InPlace);
    let mut next = 100;
    keep_ids(&mut built, &table, || {
        next += 1;
        TableId(next)
    });
    let ids: Vec<(&str, u32)> =
        built.schema.indexes.iter().map(|index| (index.name.as_str(), index.id.0)).collect();
    assert_eq!(ids, [("PRIMARY", 0), ("u", 4), ("by_b", 1), ("by_ac", 3), ("by_a", 5)]);
    let unique = |name| built.schema.index_by_name(name).unwrap().unique_table;
    assert_eq!(unique("by_b"), table.index_by_name("by_b").unwrap().unique_table);
    assert_eq!((unique("u"), unique("by_a")), (Some(TableId(101)), None));
    assert_eq!((built.schema.id, built.schema.version), (table.id, table.version + 1));
}

#[test]
fn an_index_that_loses_a_column_is_built_anew() {
    let table = schema("CREATE TABLE t (a INT, b INT, c INT, UNIQUE KEY u (b, c), KEY k (c))");
    let (built, way) = altered(&table, "DROP b").unwrap();
    assert_eq!(way, Way::InPlace);
    let origins: Vec<(&str, Option<usize>)> =
        built.schema.indexes.iter().map(|index| index.name.as_str()).zip(built.index_origins).collect();
    assert_eq!(origins, [("PRIMARY", Some(0)), ("u", None), ("k", Some(2))]);
}

#[test]
fn what_cannot_be_done_is_refused_with_mysqls_numbers() {
    for (actions, errno) in [
        ("DROP nope", 1091),
        ("DROP KEY nope", 1091),
        ("DROP FOREIGN KEY nope", 1091),
        ("DROP id, DROP a, DROP b, DROP c", 1090),
        ("ADD id INT", 1060),
        ("ADD z INT AFTER nope", 1054),
        ("MODIFY nope INT", 1054),
        ("RENAME COLUMN nope TO x", 1054),
        ("ALTER nope SET DEFAULT 1", 1054),
        ("RENAME INDEX nope TO x", 1176),
        ("RENAME INDEX by_a TO by_b", 1061),
        ("ADD KEY by_a (c)", 1061),
        ("ADD PRIMARY KEY (a)", 1068),
        ("ALTER a SET DEFAULT 'x'", 1067),
        ("ADD FOREIGN KEY (a, b) REFERENCES p (id)", 1239),
        ("ADD FOREIGN KEY (nothing) REFERENCES p (id)", 1072),
        ("DROP CHECK nope", 3821),
        ("ALTER INDEX `PRIMARY` INVISIBLE", 3522),
        ("ENGINE=turtle", 1286),
        ("DISCARD TABLESPACE", 1235),
        ("ADD KEY (c), ALGORITHM=INSTANT", 1845),
        ("DROP a, ALGORITHM=INSTANT", 1845),
        ("ADD d INT AS (a + 1), ALGORITHM=INSTANT", 1845),
        ("ADD CHECK (a > 1), ALGORITHM=INPLACE", 1845),
        ("MODIFY a BIGINT, ALGORITHM=INSTANT", 1846),
        ("ADD d INT, ALGORITHM=INSTANT, LOCK=NONE", 1221),
        ("FORCE, LOCK=NONE", 1846),
        ("DROP PRIMARY KEY, ALGORITHM=INPLACE", 1846),
        ("MODIFY a BIGINT, ALGORITHM=INPLACE", 1846),
        ("MODIFY a BIGINT, LOCK=NONE", 1846),
        ("COMMENT='x', ALGORITHM=COPY, LOCK=NONE", 1846),
    ] {
        assert_eq!(refused(actions), errno, "{actions}");
    }
    assert_eq!(way("ADD KEY (c), ALGORITHM=INPLACE, LOCK=NONE"), Way::InPlace);
    assert_eq!(way("COMMENT='x', ALGORITHM=INSTANT"), Way::Instant);
    assert_eq!(way("ADD d INT, ALGORITHM=INSTANT, LOCK=DEFAULT"), Way::Instant);
    assert_eq!(way("COMMENT='x', ALGORITHM=COPY"), Way::Copy);
}

#[test]
fn converting_the_character_set_converts_types_labels_and_defaults() {
    let table = schema(
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) DEFAULT 'é', b TEXT, c ENUM('é'), d VARBINARY(5)) CHARSET latin1",
    );
    let (built, way) = altered(&table, "CONVERT TO CHARACTER SET utf8mb4").unwrap();
    assert_eq!(way, Way::Copy);
    let text = create_table_text(&built.schema);
    for line in ["`a` varchar(9) DEFAULT 'é'", "`b` mediumtext", "`c` enum('é')", "`d` varbinary(5)"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.contains("DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"), "{text}");
}
