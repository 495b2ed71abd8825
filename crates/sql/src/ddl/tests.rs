//! Definitions from their statements to SHOW CREATE TABLE, without a server.

use shoal_expr::Settings;
use shoal_parser::ast::{AlterTable, CreateTable, Statement};
use shoal_parser::{ParserMode, parse};
use shoal_types::{Collation, Date, DateRules, Result, TableSchema, TimeZone, Warning};

use super::build::{BuiltTable, assign_new_ids, build};
use super::create::draft_of;
use super::draft::DraftContext;
use super::show_create::create_table_text;

pub fn context() -> DraftContext {
    DraftContext {
        settings: Settings::default(),
        zone: TimeZone::UTC,
        today: Date::new(2024, 1, 2, DateRules::default()).unwrap(),
        now_s: 1_700_000_000,
        default_engine: "InnoDB".to_owned(),
        substitute_engine: false,
        database_collation: Collation::UTF8MB4_0900_AI_CI,
    }
}

fn statement(sql: &str) -> CreateTable {
    let parsed = parse(sql.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match parsed.into_iter().next() {
        Some(Statement::CreateTable(statement)) => *statement,
        other => panic!("{sql}: {other:?}"),
    }
}

pub fn alter_statement(sql: &str) -> AlterTable {
    let parsed = parse(sql.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match parsed.into_iter().next() {
        Some(Statement::AlterTable(statement)) => *statement,
        other => panic!("{sql}: {other:?}"),
    }
}

fn built(sql: &str, notes: &mut Vec<Warning>) -> Result<BuiltTable> {
    let statement = statement(sql);
    let name = statement.name.name.value.clone();
    build(draft_of(&statement, "d", &name, &context(), notes)?, notes)
}

pub fn schema(sql: &str) -> TableSchema {
    let mut next = 0;
    let mut schema = built(sql, &mut Vec::new()).unwrap_or_else(|error| panic!("{sql}: {error}")).schema;
    assign_new_ids(&mut schema, || {
        next += 1;
        shoal_types::TableId(next)
    });
    schema
}

fn shown(sql: &str) -> String {
    create_table_text(&schema(sql))
}

fn refused(sql: &str) -> u16 {
    match built(sql, &mut Vec::new()) {
        Ok(table) => panic!("{sql} made {}", create_table_text(&table.schema)),
        Err(error) => error.errno(),
    }
}

fn notes(sql: &str) -> Vec<u16> {
    let mut notes = Vec::new();
    built(sql, &mut notes).unwrap_or_else(|error| panic!("{sql}: {error}"));
    notes.iter().map(|note| note.code.errno()).collect()
}

/// The line of the only column of a table.
fn column(definition: &str) -> String {
    let text = shown(&format!("CREATE TABLE t ({definition})"));
    text.lines().nth(1).unwrap().trim().trim_end_matches(',').to_owned()
}

#[test]
fn a_table_is_shown_as_mysql_shows_it() {
    let text = shown(
        "CREATE TABLE fish (id INT NOT NULL AUTO_INCREMENT, name VARCHAR(30) NOT NULL DEFAULT 'none', \
         length_cm DECIMAL(5,1) DEFAULT NULL, kind ENUM('pike','it''s') NOT NULL, \
         seen DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, note TEXT, secret INT INVISIBLE COMMENT 'a\\'b', \
         KEY by_kind (kind, length_cm DESC) COMMENT 'k', UNIQUE by_name (name(10)), PRIMARY KEY (id)) \
         ENGINE=ndb AUTO_INCREMENT=50 COMMENT='where fish live' ROW_FORMAT=DYNAMIC MAX_ROWS=10",
    );
    assert_eq!(
        text,
        "CREATE TABLE `fish` (\n  \
         `id` int NOT NULL AUTO_INCREMENT,\n  \
         `name` varchar(30) NOT NULL DEFAULT 'none',\n  \
         `length_cm` decimal(5,1) DEFAULT NULL,\n  \
         `kind` enum('pike','it''s') NOT NULL,\n  \
         `seen` datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,\n  \
         `note` text,\n  \
         `secret` int DEFAULT NULL /*!80023 INVISIBLE */ COMMENT 'a''b',\n  \
         PRIMARY KEY (`id`),\n  \
         UNIQUE KEY `by_name` (`name`(10)),\n  \
         KEY `by_kind` (`kind`,`length_cm` DESC) COMMENT 'k'\n\
         ) ENGINE=ndbcluster AUTO_INCREMENT=50 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci MAX_ROWS=10 \
         ROW_FORMAT=DYNAMIC COMMENT='where fish live'"
    );
}

#[test]
fn what_is_shown_makes_the_same_table() {
    for sql in [
        "CREATE TABLE t (a INT, b INT UNSIGNED ZEROFILL, c TINYINT(1), d BIGINT UNSIGNED DEFAULT 18446744073709551615)",
        "CREATE TABLE t (a CHAR(9) DEFAULT 'x''y\\\\z\\n', b BINARY(3) DEFAULT 'ab', c VARBINARY(9), d BLOB, e LONGTEXT)",
        "CREATE TABLE t (a CHAR(3) CHARACTER SET latin1, b VARCHAR(9) COLLATE utf8mb4_bin, c TEXT CHARACTER SET ascii)",
        "CREATE TABLE t (a VARCHAR(9), b TEXT) COLLATE utf8mb4_general_ci",
        "CREATE TABLE t (a VARCHAR(9)) CHARSET latin1",
        "CREATE TABLE t (a FLOAT, b FLOAT(7,3), c DOUBLE, d FLOAT(30), e DECIMAL UNSIGNED, f DECIMAL(65,30) DEFAULT -1.5)",
        "CREATE TABLE t (a BIT(12) DEFAULT b'101', b YEAR DEFAULT 1999, c DATE DEFAULT '2020-01-31', d TIME(3) DEFAULT '1:2:3.5')",
        "CREATE TABLE t (a TIMESTAMP(3) NULL, b TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, c DATETIME(6) DEFAULT NOW(6))",
        "CREATE TABLE t (a SET('x','y') DEFAULT 'x,y', b ENUM('ä','ö') CHARACTER SET latin1 DEFAULT 'ö', c JSON)",
        "CREATE TABLE t (a INT DEFAULT (1 + 2), b VARCHAR(36) DEFAULT (uuid()), c TEXT DEFAULT ('x'))",
        "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b) USING HASH, UNIQUE u (b) USING HASH) ENGINE=NDB PARTITION BY KEY (a)",
        "CREATE TABLE t (`a``b` INT PRIMARY KEY, `select` INT, KEY `odd key` (`select`)) PARTITION BY KEY (`a``b`) PARTITIONS 4",
        "CREATE TABLE t (a INT NOT NULL, UNIQUE (a), KEY k (a) INVISIBLE)",
    ] {
        let first = shown(sql);
        assert_eq!(shown(&first), first, "{sql}");
    }
}

#[test]
fn types_have_their_defaults_and_their_names() {
    for (definition, expected) in [
        ("a INTEGER(5)", "`a` int DEFAULT NULL"),
        ("a BOOL", "`a` tinyint(1) DEFAULT NULL"),
        ("a TINYINT(1) UNSIGNED", "`a` tinyint unsigned DEFAULT NULL"),
        ("a INT(5) ZEROFILL", "`a` int(5) unsigned zerofill DEFAULT NULL"),
        ("a DECIMAL", "`a` decimal(10,0) DEFAULT NULL"),
        ("a NUMERIC(0)", "`a` decimal(10,0) DEFAULT NULL"),
        ("a FLOAT(24)", "`a` float DEFAULT NULL"),
        ("a FLOAT(25)", "`a` double DEFAULT NULL"),
        ("a BIT", "`a` bit(1) DEFAULT NULL"),
        ("a YEAR(4)", "`a` year DEFAULT NULL"),
        ("a CHAR", "`a` char(1) DEFAULT NULL"),
        ("a BINARY", "`a` binary(1) DEFAULT NULL"),
        ("a NVARCHAR(5)", "`a` varchar(5) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci DEFAULT NULL"),
        ("a TEXT(10)", "`a` tinytext"),
        ("a TEXT(300)", "`a` text"),
        ("a TEXT(20000)", "`a` mediumtext"),
        ("a BLOB(70000)", "`a` mediumblob"),
        ("a LONG", "`a` mediumtext"),
        ("a TIMESTAMP", "`a` timestamp NULL DEFAULT NULL"),
        ("a CHAR(3) BINARY", "`a` char(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL"),
        ("a INT DEFAULT '7'", "`a` int DEFAULT '7'"),
        ("a INT DEFAULT -7", "`a` int DEFAULT '-7'"),
        ("a INT DEFAULT 0x41", "`a` int DEFAULT '65'"),
        ("a INT DEFAULT TRUE", "`a` int DEFAULT '1'"),
        ("a DECIMAL(5,1) DEFAULT 1.25", "`a` decimal(5,1) DEFAULT '1.3'"),
        ("a SERIAL", "`a` bigint unsigned NOT NULL AUTO_INCREMENT"),
        ("a JSON", "`a` json DEFAULT NULL"),
        ("a INT NOT NULL REFERENCES other (id)", "`a` int NOT NULL"),
    ] {
        assert_eq!(column(definition), expected, "{definition}");
    }
}

#[test]
fn definitions_that_cannot_be_are_refused_with_mysqls_numbers() {
    for (definition, errno) in [
        ("a INT, a INT", 1060),
        ("a INT, A INT", 1060),
        ("a INT, KEY k (a), KEY k (a)", 1061),
        ("a INT DEFAULT 'x'", 1067),
        ("a INT DEFAULT '5x'", 1067),
        ("a TINYINT DEFAULT 300", 1067),
        ("a VARCHAR(2) DEFAULT 'abc'", 1067),
        ("a INT NOT NULL DEFAULT NULL", 1067),
        ("a DATETIME DEFAULT '0000-00-00 00:00:00'", 1067),
        ("a DATETIME DEFAULT CURRENT_TIMESTAMP(3)", 1067),
        ("a INT DEFAULT CURRENT_TIMESTAMP", 1067),
        ("a ENUM('x') DEFAULT 'y'", 1067),
        ("id INT AUTO_INCREMENT PRIMARY KEY DEFAULT 5", 1067),
        ("a INT PRIMARY KEY, b INT PRIMARY KEY", 1068),
        ("a INT, KEY (b)", 1072),
        ("a CHAR(255), b CHAR(255), c CHAR(255), d CHAR(255), KEY (a, b, c, d)", 1071),
        ("a TEXT, KEY (a(1000))", 1071),
        ("a CHAR(256)", 1074),
        ("a VARCHAR(16384)", 1074),
        ("a INT AUTO_INCREMENT", 1075),
        ("a INT AUTO_INCREMENT KEY, b INT AUTO_INCREMENT UNIQUE", 1075),
        ("a INT, b INT AUTO_INCREMENT, KEY (a, b)", 1075),
        ("a INT, KEY (a(5))", 1089),
        ("a CHAR(5), KEY (a(6))", 1089),
        ("a SET('x','y,z')", 1367),
        ("a TEXT DEFAULT 'x'", 1101),
        ("a VARCHAR(16383), b INT", 1118),
        ("a TEXT, KEY (a)", 1170),
        ("a BLOB PRIMARY KEY", 1170),
        ("a INT NULL PRIMARY KEY", 1171),
        ("a INT NULL, PRIMARY KEY (a)", 1171),
        ("a INT, KEY `PRIMARY` (a)", 1280),
        ("a ENUM('x','X')", 1291),
        ("a DATETIME ON UPDATE CURRENT_TIMESTAMP(2)", 1294),
        ("a INT ON UPDATE CURRENT_TIMESTAMP", 1294),
        ("a DECIMAL(31,31)", 1425),
        ("a DECIMAL(66,2)", 1426),
        ("a DATETIME(7)", 1426),
        ("a DECIMAL(5,6)", 1427),
        ("a CHAR(5), KEY (a(0))", 1391),
        ("a INT(256)", 1439),
        ("a YEAR(3)", 1818),
        ("a BIT(0)", 3013),
        ("a BIT(65)", 1439),
        ("a JSON, KEY (a)", 3152),
        ("a INT, PRIMARY KEY (a) INVISIBLE", 3522),
        ("a INT INVISIBLE", 4028),
        ("a VARCHAR(10) AUTO_INCREMENT KEY", 1063),
        ("a FLOAT(54)", 1063),
        ("a VARCHAR(5) CHARACTER SET latin1 COLLATE utf8mb4_bin", 1253),
        ("a VARCHAR(5) COLLATE no_such_collation", 1273),
        ("a VARCHAR(5) CHARACTER SET klingon", 1115),
        ("a POINT", 1235),
        ("a INT, b INT AS (a + 1) DEFAULT 2", 1221),
        ("a INT, b INT AS (a + 1), PRIMARY KEY (b)", 3106),
        ("a INT, FOREIGN KEY (a) REFERENCES p (a) ON DELETE SET DEFAULT", 1215),
        ("a TEXT, FULLTEXT (a)", 1235),
    ] {
        let refused = refused(&format!("CREATE TABLE t ({definition})"));
        assert_eq!(refused, errno, "{definition}");
    }
    assert_eq!(refused("CREATE TABLE t (a INT) ENGINE=turtle"), 1286);
    let long = "x".repeat(2049);
    assert_eq!(refused(&format!("CREATE TABLE t (a INT COMMENT '{long}')")), 1629);
    assert_eq!(refused(&format!("CREATE TABLE t (a INT) COMMENT '{long}'")), 1628);
    assert_eq!(refused(&format!("CREATE TABLE t (a INT, KEY (a) COMMENT '{long}')")), 1688);
    assert_eq!(refused(&format!("CREATE TABLE t (a ENUM('{long}'))")), 3505);
    assert_eq!(refused("CREATE TABLE t (a INT KEY) PARTITION BY KEY (a) PARTITIONS 9000"), 1499);
    assert_eq!(refused("CREATE TABLE t (a INT KEY) PARTITION BY KEY (a) PARTITIONS 2 (PARTITION p)"), 1484);
    let long_name = "x".repeat(65);
    assert_eq!(refused(&format!("CREATE TABLE t (`{long_name}` INT)")), 1059);
    assert_eq!(refused("CREATE TABLE t (`a ` INT)"), 1166);
    let parts: Vec<String> = (0..17).map(|number| format!("c{number}")).collect();
    let columns: Vec<String> = parts.iter().map(|part| format!("{part} INT")).collect();
    assert_eq!(refused(&format!("CREATE TABLE t ({}, KEY ({}))", columns.join(","), parts.join(","))), 1070);
}

#[test]
fn keys_get_names_and_mysqls_order() {
    let schema = schema(
        "CREATE TABLE t (a INT, b INT NOT NULL, c INT, KEY (a), KEY (a, c), UNIQUE (c), UNIQUE (b), PRIMARY KEY (b, a))",
    );
    let names: Vec<&str> = schema.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "b", "c", "a", "a_2"]);
    let ids: Vec<u32> = schema.indexes.iter().map(|index| index.id.0).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    let hidden: Vec<bool> = schema.indexes.iter().map(|index| index.unique_table.is_some()).collect();
    assert_eq!(hidden, [false, true, true, false, false]);
    assert!(!schema.columns[0].nullable && schema.columns[2].nullable);
    assert_eq!(schema.partition_columns, [1, 0]);
}

#[test]
fn a_table_without_a_primary_key_is_stored_by_a_unique_key_or_by_a_hidden_column() {
    let unique = schema("CREATE TABLE t (a INT NOT NULL, b INT, UNIQUE u (b), UNIQUE v (a))");
    assert_eq!(unique.primary_key().name, "v");
    assert!(!unique.has_hidden_key() && unique.primary_key().unique_table.is_none());
    for sql in [
        "CREATE TABLE t (a INT UNIQUE)",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t (a VARCHAR(20) NOT NULL, UNIQUE (a(5)))",
    ] {
        let hidden = schema(sql);
        assert!(hidden.has_hidden_key(), "{sql}");
        assert_eq!(hidden.primary_key().columns[0].column, hidden.columns.len() - 1);
        assert_eq!(hidden.partition_columns, [hidden.columns.len() - 1]);
        assert!(!create_table_text(&hidden).contains("$PK"), "{sql}");
    }
}

#[test]
fn partitioning_by_key_needs_columns_of_the_primary_key() {
    let services = schema(
        "CREATE TABLE services (sub_id INT, name VARCHAR(30), parm INT, PRIMARY KEY (sub_id, name)) ENGINE=NDB \
         PARTITION BY KEY (sub_id)",
    );
    assert_eq!(services.partition_columns, [0]);
    assert!(create_table_text(&services).ends_with("\n/*!50100 PARTITION BY KEY (sub_id) */"));
    let text = shown("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY LINEAR KEY () PARTITIONS 3");
    assert!(text.ends_with("\n/*!50100 PARTITION BY KEY (a)\nPARTITIONS 3 */"), "{text}");
    for (sql, errno) in [
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT) PARTITION BY KEY (b)", 1503),
        ("CREATE TABLE t (a INT) PARTITION BY KEY (a)", 1503),
        ("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY KEY (b)", 1488),
        ("CREATE TABLE t (a INT) PARTITION BY KEY ()", 1488),
        ("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 0", 1504),
        ("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY HASH (a)", 1235),
        ("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9))", 1235),
    ] {
        assert_eq!(refused(sql), errno, "{sql}");
    }
}

#[test]
fn old_notations_and_other_engines_are_noted() {
    assert_eq!(notes("CREATE TABLE t (a INT)"), Vec::<u16>::new());
    assert_eq!(notes("CREATE TABLE t (a INT(5))"), [1681]);
    assert_eq!(notes("CREATE TABLE t (a TINYINT(1))"), Vec::<u16>::new());
    assert_eq!(notes("CREATE TABLE t (a FLOAT(5,2))"), [1681]);
    assert_eq!(notes("CREATE TABLE t (a INT) ENGINE=MyISAM"), [1266]);
    assert_eq!(notes("CREATE TABLE t (a INT) ENGINE=ndbcluster"), Vec::<u16>::new());
    assert_eq!(notes("CREATE TABLE t (a INT) CHARSET utf8"), [3719]);
    let hash = notes("CREATE TABLE t (a INT, KEY (a) USING HASH)");
    assert_eq!(hash, [3502]);
}
