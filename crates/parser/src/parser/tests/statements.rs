//! Statements and clauses that the corpus does not sample: each must parse, and a few must have exactly the shape given.

use super::dump::dump;
use super::{error, statement};

/// Forms of statements beside those of the corpus.
const ACCEPTED: &[&str] = &[
    // Queries.
    "WITH a AS (SELECT 1), b (x, y) AS (SELECT 1, 2) SELECT * FROM a JOIN b",
    "WITH a AS (SELECT 1) UPDATE t JOIN a SET t.x = 1",
    "WITH a AS (SELECT 1) DELETE FROM t WHERE x IN (SELECT * FROM a)",
    "SELECT * FROM ((a JOIN b ON 1) LEFT JOIN (c, d) ON 2)",
    "SELECT * FROM ((SELECT 1) UNION (SELECT 2)) AS x (a)",
    "SELECT * FROM (((SELECT 1))) x",
    "SELECT * FROM ((SELECT 1) x JOIN t)",
    "SELECT * FROM (VALUES ROW(1, 2)) v (a, b)",
    "SELECT * FROM (TABLE t) v",
    "SELECT DISTINCT SQL_BIG_RESULT a FROM t PROCEDURE_",
    "SELECT a FROM t WINDOW w AS (), v AS (w ORDER BY a RANGE INTERVAL 1 DAY PRECEDING)",
    "SELECT LAG(a, 1) RESPECT NULLS OVER (w), NTH_VALUE(a, 2) FROM LAST IGNORE NULLS OVER () FROM t",
    "SELECT a FROM t FOR UPDATE OF t SKIP LOCKED FOR SHARE OF u",
    "SELECT a FROM t INTO DUMPFILE 'x'",
    "SELECT a FROM t LIMIT 1 FOR UPDATE INTO @a",
    "SELECT a FROM t INTO OUTFILE 'x' CHARACTER SET latin1 FIELDS TERMINATED BY '\\t' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES STARTING BY 'x'",
    "SELECT JSON_VALUE(a, '$.b' RETURNING DECIMAL(4,2) DEFAULT 1 ON EMPTY ERROR ON ERROR) FROM t",
    "SELECT * FROM JSON_TABLE(a, '$' COLUMNS (NESTED PATH '$.x[*]' COLUMNS (b INT EXISTS PATH '$', c VARCHAR(10) PATH '$'))) j",
    "SELECT MAX(a) OVER (PARTITION BY b), COUNT(*) OVER () FROM t",
    "SELECT JSON_ARRAYAGG(a), JSON_OBJECTAGG(a, b), BIT_XOR(ALL a) FROM t GROUP BY 1",
    "SELECT .t.a, t .a, t. a FROM .t",
    "(SELECT 1 LIMIT 1) ORDER BY 1",
    "SELECT 1 UNION DISTINCT (SELECT 2 ORDER BY 1) EXCEPT ALL TABLE t INTERSECT VALUES ROW(1)",
    "SELECT STRAIGHT_JOIN a FROM t FORCE KEY FOR JOIN (PRIMARY, b) IGNORE INDEX FOR GROUP BY (c)",
    "SELECT * FROM t USE INDEX ()",
    // Rows.
    "INSERT INTO t () VALUES (), ()",
    "INSERT t VALUE (1)",
    "INSERT DELAYED IGNORE db.t (t.a) VALUES (DEFAULT(a)), (DEFAULT)",
    "INSERT INTO t (a) (SELECT 1) UNION (SELECT 2)",
    "INSERT INTO t (SELECT 1)",
    "INSERT INTO t TABLE u ON DUPLICATE KEY UPDATE a = 1",
    "INSERT INTO t VALUES ROW(1, 2), ROW(3, 4)",
    "INSERT INTO t SELECT * FROM a JOIN b ON a.x = b.x ON DUPLICATE KEY UPDATE y = 1",
    "INSERT INTO t SELECT * FROM a JOIN b ON DUPLICATE KEY UPDATE y = 1",
    "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
    "INSERT INTO t SET a := 1 AS n (m) ON DUPLICATE KEY UPDATE a = m",
    "DELETE FROM db.t AS x PARTITION (p0) WHERE 1",
    "DELETE LOW_PRIORITY a.*, db.b.* FROM a, db.b",
    "LOAD XML CONCURRENT INFILE 'x' IGNORE INTO TABLE t ROWS IDENTIFIED BY '<r>' IGNORE 2 ROWS",
    "LOAD DATA LOW_PRIORITY INFILE 'x' INTO TABLE t COLUMNS TERMINATED BY 0x09 ()",
    "IMPORT TABLE FROM 'a', 'b'",
    "HANDLER t READ FIRST",
    "HANDLER t READ i PREV LIMIT 1",
    "HANDLER db.t READ `PRIMARY` = (1)",
    "CALL p",
    "DO 1 AS a, SLEEP(1) b",
    // Definitions.
    "CREATE TABLE t (LIKE u)",
    "CREATE TABLE IF NOT EXISTS t AS SELECT 1",
    "CREATE TABLE t (SELECT 1)",
    "CREATE TABLE t (a INT) IGNORE AS (SELECT 1)",
    "CREATE TABLE t (a INT DEFAULT -1, b INT DEFAULT (1 + 2), c BIT DEFAULT b'1', d DATETIME DEFAULT NOW() ON UPDATE NOW(), e DATE DEFAULT DATE '2020-01-01', f BOOL DEFAULT TRUE NOT NULL)",
    "CREATE TABLE t (a VARCHAR(10) BINARY, b CHAR VARYING (5) CHARSET ascii, c LONG VARCHAR, d NCHAR VARCHAR(3), e CHAR BYTE, f TEXT(10) ASCII, g ENUM('a', X'62') COLLATE utf8mb4_bin, h DOUBLE PRECISION, i DEC(5,2) UNSIGNED ZEROFILL, j INT SIGNED, k GEOMETRYCOLLECTION, l LONG)",
    "CREATE TABLE t (a INT REFERENCES u (b) MATCH FULL ON DELETE NO ACTION, b INT CHECK (b > 1) ENFORCED, c INT CONSTRAINT x CHECK (c), UNIQUE (a), FOREIGN KEY (a) REFERENCES u, KEY ((a + 1) DESC) INVISIBLE KEY_BLOCK_SIZE=4 WITH PARSER p, CONSTRAINT PRIMARY KEY (a) COMMENT 'x')",
    "CREATE TABLE t (a INT) ENGINE 'ndb', AUTO_INCREMENT=5 AVG_ROW_LENGTH=1 CHECKSUM=1 PACK_KEYS=DEFAULT ROW_FORMAT=COMPRESSED UNION=(a, b) INSERT_METHOD=LAST DATA DIRECTORY='/x' INDEX DIRECTORY '/y' STATS_PERSISTENT=DEFAULT KEY_BLOCK_SIZE=8 COMPRESSION='zlib' ENCRYPTION='Y' CONNECTION='c' MIN_ROWS=1 CHARACTER SET = DEFAULT START TRANSACTION AUTOEXTEND_SIZE=4M SECONDARY_ENGINE=NULL",
    "CREATE TABLE t (a INT) PARTITION BY RANGE COLUMNS (a, b) SUBPARTITION BY LINEAR HASH (a) SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN (1, MAXVALUE) ENGINE = x COMMENT 'y' DATA DIRECTORY = '/z' (SUBPARTITION s0, SUBPARTITION s1 NODEGROUP 1))",
    "CREATE TABLE t (a INT) PARTITION BY LIST COLUMNS (a, b) (PARTITION p VALUES IN ((1, 2), (3, NULL)) STORAGE ENGINE NDB MAX_ROWS 5)",
    "ALTER TABLE t",
    "ALTER TABLE t RENAME u, ADD (a INT, KEY (a)), ADD COLUMN (b INT), DROP PRIMARY KEY, DROP FOREIGN KEY f, DROP CHECK c, DROP CONSTRAINT d, DROP COLUMN e, DROP f, FORCE",
    "ALTER TABLE t ALTER a SET DEFAULT 1, ALTER COLUMN b DROP DEFAULT, ALTER INDEX i INVISIBLE, ALTER CHECK c NOT ENFORCED, ALTER COLUMN d SET VISIBLE, ALTER COLUMN e SET DEFAULT (NOW())",
    "ALTER TABLE t ADD CONSTRAINT x UNIQUE KEY (a), ADD CONSTRAINT FOREIGN KEY (a) REFERENCES b (c), ADD CHECK (a), ADD SPATIAL INDEX (g), ORDER BY a, b DESC",
    "ALTER TABLE t ENGINE=NDB COMMENT='x' PARTITION BY HASH (a)",
    "ALTER TABLE t REMOVE PARTITIONING",
    "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u WITHOUT VALIDATION",
    "ALTER TABLE t CHECK PARTITION ALL QUICK EXTENDED",
    "ALTER TABLE t DISCARD PARTITION p TABLESPACE",
    "ALTER TABLE t IMPORT TABLESPACE",
    "ALTER TABLE t ADD COLUMN a INT, WITH VALIDATION, LOCK DEFAULT",
    "ALTER TABLE t RENAME KEY a TO b, RENAME TO db.c",
    "DROP TEMPORARY TABLES IF EXISTS a",
    "DROP INDEX `PRIMARY` ON t",
    "CREATE INDEX i USING HASH ON t (a)",
    "ALTER DATABASE READ ONLY = 1",
    "ALTER SCHEMA d DEFAULT CHARACTER SET utf8mb4 ENCRYPTION 'N'",
    "CREATE ALGORITHM=TEMPTABLE VIEW v (a, b) AS SELECT 1, 2 WITH LOCAL CHECK OPTION",
    "ALTER VIEW v AS TABLE t",
    "DROP VIEW IF EXISTS a, b RESTRICT",
    "CREATE UNDO TABLESPACE u ADD DATAFILE 'x.ibu'",
    "ALTER UNDO TABLESPACE u SET INACTIVE",
    "ALTER TABLESPACE a RENAME TO b",
    "DROP LOGFILE GROUP lg ENGINE = NDB",
    "CREATE OR REPLACE SPATIAL REFERENCE SYSTEM 4120 NAME 'x' ORGANIZATION 'o' IDENTIFIED BY 4120 DEFINITION 'd'",
    "DROP SPATIAL REFERENCE SYSTEM IF EXISTS 4120",
    "CREATE RESOURCE GROUP g TYPE = USER VCPU = 0-1, 3 THREAD_PRIORITY = -5 DISABLE",
    "ALTER RESOURCE GROUP g VCPU 1 ENABLE FORCE",
    "SET RESOURCE GROUP g FOR 1, 2",
    "DROP RESOURCE GROUP g FORCE",
    "ALTER SERVER s OPTIONS (USER 'x', PORT 3306)",
    "DROP SERVER IF EXISTS s",
    // Stored programs.
    "CREATE FUNCTION f () RETURNS VARCHAR(10) CHARSET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC READS SQL DATA COMMENT 'x' RETURN 'a'",
    "CREATE AGGREGATE FUNCTION f RETURNS REAL SONAME 'x.so'",
    "CREATE FUNCTION IF NOT EXISTS f RETURNS STRING SONAME 'x.so'",
    "CREATE PROCEDURE p() a: BEGIN DECLARE c CONDITION FOR SQLSTATE VALUE '42000'; DECLARE EXIT HANDLER FOR c, 1062, SQLWARNING BEGIN END; b: WHILE 1 DO LEAVE a; END WHILE b; REPEAT SET @x = 1; UNTIL 1 END REPEAT; END a",
    "CREATE PROCEDURE p() BEGIN START TRANSACTION; COMMIT; BEGIN END; CASE WHEN 1 THEN SELECT 1; END CASE; GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT, b = RETURNED_SQLSTATE; END",
    "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1; FETCH NEXT FROM c INTO a, b; FETCH FROM c INTO a; END",
    "ALTER PROCEDURE p SQL SECURITY DEFINER COMMENT 'x'",
    "DROP FUNCTION IF EXISTS db.f",
    "CREATE DEFINER = CURRENT_USER() TRIGGER IF NOT EXISTS t BEFORE DELETE ON u FOR EACH ROW PRECEDES v SET @a = OLD.b",
    "CREATE EVENT IF NOT EXISTS e ON SCHEDULE AT NOW() + INTERVAL 1 DAY ON COMPLETION NOT PRESERVE DISABLE ON REPLICA COMMENT 'x' DO BEGIN END",
    "ALTER DEFINER = 'a'@'b' EVENT e ON SCHEDULE EVERY '1:1' HOUR_MINUTE STARTS NOW() ENDS NOW() RENAME TO f ENABLE",
    "SIGNAL c SET MYSQL_ERRNO = 1, MESSAGE_TEXT = CONCAT('a', 'b')",
    "GET STACKED DIAGNOSTICS @n = NUMBER",
    // Session.
    "SET @@session.a = 1, GLOBAL b = ON, LOCAL c = DEFAULT, d = BINARY, @@persist_only.e = ALL, f.g = 'x', sql_mode = ANSI",
    "SET NAMES DEFAULT",
    "SET NAMES 'utf8mb4', @a = 1",
    "SET TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE",
    "SET ROLE ALL EXCEPT a, 'b'@'c'",
    "SET PASSWORD TO RANDOM RETAIN CURRENT PASSWORD",
    "SET PASSWORD = 'x' REPLACE 'y'",
    "SET transaction_isolation = 'READ-COMMITTED', autocommit = 1",
    "BEGIN WORK",
    "ROLLBACK AND NO CHAIN",
    "ROLLBACK WORK TO a",
    "SAVEPOINT a",
    "XA END 'x' SUSPEND FOR MIGRATE",
    "XA RECOVER CONVERT XID",
    "XA COMMIT 0x01, 'b', 5 ONE PHASE",
    "LOCK TABLE t x WRITE",
    "LOCK INSTANCE FOR BACKUP",
    "UNLOCK INSTANCE",
    "DROP PREPARE s",
    // SHOW and EXPLAIN.
    "SHOW DATABASES LIKE 'x'",
    "SHOW EXTENDED FULL TABLES IN d WHERE 1",
    "SHOW EXTENDED INDEXES IN t WHERE Key_name = 'x'",
    "SHOW OPEN TABLES",
    "SHOW TRIGGERS FROM d",
    "SHOW EVENTS",
    "SHOW FIELDS FROM t IN d",
    "SHOW CREATE USER CURRENT_USER",
    "SHOW CREATE EVENT e",
    "SHOW COUNT(*) WARNINGS",
    "SHOW ERRORS LIMIT 1, 2",
    "SHOW GRANTS",
    "SHOW GRANTS FOR a USING b, c",
    "SHOW BINARY LOGS",
    "SHOW MASTER STATUS",
    "SHOW BINLOG EVENTS IN 'x' FROM 4 LIMIT 2",
    "SHOW RELAYLOG EVENTS FOR CHANNEL 'c'",
    "SHOW REPLICAS",
    "SHOW ENGINE ALL MUTEX",
    "SHOW PROCEDURE STATUS LIKE 'x'",
    "SHOW FUNCTION CODE f",
    "SHOW PROFILE CPU, BLOCK IO FOR QUERY 2 LIMIT 1",
    "SHOW PROFILES",
    "SHOW PRIVILEGES",
    "SHOW PARSE_TREE SELECT 1",
    "SHOW INDEX FROM db.t",
    "SHOW CHARSET",
    "EXPLAIN EXTENDED SELECT 1",
    "EXPLAIN ANALYZE FORMAT=TREE SELECT 1",
    "EXPLAIN FORMAT=JSON INTO @x FOR SCHEMA d DELETE FROM t",
    "EXPLAIN (SELECT 1) UNION (SELECT 2)",
    "EXPLAIN REPLACE INTO t VALUES (1)",
    "DESCRIBE db.t a",
    "DESC partitions",
    // Accounts.
    "CREATE USER a, 'b'@'%' IDENTIFIED WITH p AS 'hash', c@d IDENTIFIED BY RANDOM PASSWORD DEFAULT ROLE r REQUIRE SUBJECT 's' AND ISSUER 'i' WITH MAX_USER_CONNECTIONS 5 PASSWORD EXPIRE INTERVAL 5 DAY PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL 5 DAY PASSWORD REQUIRE CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED ACCOUNT LOCK COMMENT 'x'",
    "CREATE USER a IDENTIFIED WITH p BY 'x' AND IDENTIFIED WITH q",
    "ALTER USER IF EXISTS USER() IDENTIFIED BY 'x' REPLACE 'y' RETAIN CURRENT PASSWORD",
    "ALTER USER a DISCARD OLD PASSWORD",
    "ALTER USER a ADD 2 FACTOR IDENTIFIED WITH p DROP 3 FACTOR",
    "ALTER USER a ATTRIBUTE '{}'",
    "DROP USER IF EXISTS a, b@c",
    "RENAME USER a TO b, c@d TO e@f",
    "DROP ROLE r",
    "GRANT r, 's'@'%' TO a WITH ADMIN OPTION",
    "GRANT PROXY ON a TO b WITH GRANT OPTION",
    "GRANT EXECUTE ON PROCEDURE d.p TO a",
    "GRANT ALL ON * TO a AS b WITH ROLE NONE",
    "REVOKE SELECT (a) ON d.t FROM a",
    "REVOKE r FROM a",
    "REVOKE PROXY ON a FROM b",
    // Administration.
    "REPAIR NO_WRITE_TO_BINLOG TABLE t QUICK USE_FRM",
    "CHECK TABLE t FOR UPGRADE FAST",
    "CHECKSUM TABLES t EXTENDED",
    "ANALYZE LOCAL TABLE t DROP HISTOGRAM ON a, b",
    "ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 5 BUCKETS AUTO UPDATE",
    "ANALYZE TABLE t UPDATE HISTOGRAM ON a USING DATA '{}'",
    "FLUSH LOCAL BINARY LOGS, STATUS, RELAY LOGS FOR CHANNEL 'c'",
    "FLUSH TABLES a, b FOR EXPORT",
    "KILL CONNECTION @a",
    "KILL 5",
    "RESET REPLICA ALL FOR CHANNEL 'x', BINARY LOGS AND GTIDS TO 5",
    "RESET PERSIST IF EXISTS a.b",
    "PURGE BINARY LOGS BEFORE NOW()",
    "CACHE INDEX t INDEX (a, b), u PARTITION (ALL) IN hot",
    "LOAD INDEX INTO CACHE t PARTITION (p0) INDEX (a) IGNORE LEAVES, u",
    "UNINSTALL PLUGIN p",
    "INSTALL COMPONENT 'file://x' SET GLOBAL a.b = 1",
    "UNINSTALL COMPONENT 'a', 'b'",
    "ALTER INSTANCE ROTATE INNODB MASTER KEY",
    "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main NO ROLLBACK ON ERROR",
    "RESTART",
    "CLONE LOCAL DATA DIRECTORY = '/x'",
    "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY 'p' REQUIRE NO SSL",
    "CHANGE REPLICATION SOURCE TO IGNORE_SERVER_IDS = (1, 2), PRIVILEGE_CHECKS_USER = NULL, REQUIRE_TABLE_PRIMARY_KEY_CHECK = ON",
    "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a, b), REPLICATE_WILD_DO_TABLE = ('a.%'), REPLICATE_REWRITE_DB = ((a, b)), REPLICATE_DO_TABLE = ()",
    "START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = 'x' USER = 'u' PASSWORD = 'p' FOR CHANNEL 'c'",
    "START REPLICA UNTIL SQL_AFTER_MTS_GAPS",
    "STOP REPLICA IO_THREAD, SQL_THREAD",
    "START GROUP_REPLICATION USER = 'u', PASSWORD = 'p'",
    "STOP GROUP_REPLICATION",
    "BINLOG 'abc'",
    "HELP contents",
];

#[test]
fn forms_beside_the_corpus_parse() {
    for sql in ACCEPTED {
        statement(sql);
    }
}

/// What clients, drivers, dump tools and benchmarks send.
const FROM_THE_WILD: &[&str] = &[
    "select @@version_comment limit 1",
    "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
    "SET SQL_QUOTE_SHOW_CREATE=1/*!40102 ,SQL_MODE=concat(@@sql_mode, _utf8 ',NO_KEY_OPTIONS,NO_TABLE_OPTIONS') */",
    "/*!40100 SET @@SQL_MODE='' */",
    "/*!40103 SET TIME_ZONE='+00:00' */",
    "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
    "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET NEW.a = 1 */",
    "/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 DEFINER=`a`@`b` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1 AS `1` */",
    "/*!40000 DROP DATABASE IF EXISTS `d`*/",
    "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */",
    "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */",
    "FLUSH /*!40101 LOCAL */ TABLES",
    "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
    "CREATE TABLE sbtest1(\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) /*! ENGINE = innodb */ ",
    "CREATE INDEX k_1 ON sbtest1(k)",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "/* mysql-connector-j-8 */SELECT @@session.auto_increment_increment AS auto_increment_increment, @@license AS license",
    "SET character_set_results = NULL",
    "SET autocommit=1, sql_mode=concat(@@sql_mode,',STRICT_TRANS_TABLES')",
    "SHOW FULL COLUMNS FROM `t` FROM `d` LIKE '%'",
    "CREATE TABLE sub_name(sub_id INT NOT NULL PRIMARY KEY, name VARCHAR(30)) engine=ndb",
    "SELECT sub_age.age FROM sub_name, sub_age WHERE sub_name.sub_id=sub_age.sub_id AND sub_name.name='Bill' ORDER BY sub_age.age",
    "SET transaction_allow_batching=1",
];

#[test]
fn what_clients_and_dumps_send_parses() {
    for sql in FROM_THE_WILD {
        statement(sql);
    }
}

#[test]
fn comments_for_other_servers_are_skipped() {
    let sql = "/*M!999999\\- enable the sandbox mode */ /*!100100 SET @@MAX_STATEMENT_TIME=0 */ SELECT 1";
    assert!(matches!(statement(sql), crate::ast::Statement::Query(_)));
}

/// SQL, and its tree without what is absent.
const SHAPES: &[(&str, &str)] = &[
    (
        "SELECT * FROM a LEFT JOIN b JOIN c ON 1 ON 2 JOIN d",
        "Query(Query { body: Select(Select { options: SelectOptions { }, items: [Wildcard], from: [TableReference { base: Table { name: ObjectName { name: (a) } }, \
         joins: [Join { kind: Left, right: TableReference { base: Table { name: ObjectName { name: (b) } }, \
         joins: [Join { kind: Inner, right: TableReference { base: Table { name: ObjectName { name: (c) } } }, \
         condition: Some(On(Literal(Literal { value: Integer(1) }))) }] }, condition: Some(On(Literal(Literal { value: Integer(2) }))) }, \
         Join { kind: Inner, right: TableReference { base: Table { name: ObjectName { name: (d) } } } }] }] }) })",
    ),
    (
        "SELECT * FROM a JOIN b JOIN c USING (x)",
        "Query(Query { body: Select(Select { options: SelectOptions { }, items: [Wildcard], from: [TableReference { base: Table { name: ObjectName { name: (a) } }, \
         joins: [Join { kind: Inner, right: TableReference { base: Table { name: ObjectName { name: (b) } } } }, \
         Join { kind: Inner, right: TableReference { base: Table { name: ObjectName { name: (c) } } }, condition: Some(Using([(x)])) }] }] }) })",
    ),
    (
        "TABLE a UNION TABLE b INTERSECT TABLE c EXCEPT ALL TABLE d LIMIT 2",
        "Query(Query { body: SetOperations(SetOperations { first: Table(ObjectName { name: (a) }), rest: [\
         SetOperationTerm { operator: Union, body: SetOperations(SetOperations { first: Table(ObjectName { name: (b) }), \
         rest: [SetOperationTerm { operator: Intersect, body: Table(ObjectName { name: (c) }) }] }) }, \
         SetOperationTerm { operator: Except, all: true, body: Table(ObjectName { name: (d) }) }] }), \
         limit: Some(Limit { count: Literal(Literal { value: Integer(2) }) }) })",
    ),
    (
        "SET sql_mode = ANSI, GLOBAL x = ON, y = DEFAULT",
        "Set([Variable { variable: SystemVariable { name: (sql_mode) }, value: Expr(Column(ColumnName { column: (ANSI) })) }, \
         Variable { variable: SystemVariable { scope: Some(Global), name: (x) }, value: Expr(Literal(Literal { value: String(StringLiteral { bytes: b\"ON\" }) })) }, \
         Variable { variable: SystemVariable { name: (y) }, value: Default }])",
    ),
    (
        "GRANT r, 's'@'h' TO a",
        "Grant(Grant { what: Roles([Named { user: b\"r\" }, Named { user: b\"s\", host: Some(b\"h\") }]), to: [Named { user: b\"a\" }] })",
    ),
    (
        "INSERT INTO t (value, status) VALUES (?, ?)",
        "Insert(Insert { table: ObjectName { name: (t) }, columns: Some([ColumnName { column: (value) }, ColumnName { column: (status) }]), \
         source: Values([[Parameter(0), Parameter(1)]]) })",
    ),
    (
        "CREATE TABLE t (a CHAR(5) BYTE, b LONG, c NCHAR(3))",
        "CreateTable(CreateTable { name: ObjectName { name: (t) }, columns: [\
         ColumnDefinition { name: (a), data_type: DataType { kind: Binary, length: Some(5) } }, \
         ColumnDefinition { name: (b), data_type: DataType { kind: MediumText } }, \
         ColumnDefinition { name: (c), data_type: DataType { kind: Char, length: Some(3), charset: Some(National) } }], duplicates: Error })",
    ),
];

#[test]
fn trees_have_the_shape_that_the_grammar_gives() {
    for (sql, expected) in SHAPES {
        assert_eq!(&dump(&statement(sql)), expected, "{sql}");
    }
}

#[test]
fn a_label_behind_end_must_be_the_one_before_begin() {
    assert_eq!(error("CREATE PROCEDURE p() a: BEGIN END b").offset, 34);
    statement("CREATE PROCEDURE p() A: BEGIN END a");
}

#[test]
fn a_size_may_have_a_unit_and_must_fit() {
    assert_eq!(error("CREATE TABLESPACE t INITIAL_SIZE 99999999999999999999G").offset, 33);
    assert_eq!(error("CREATE TABLESPACE t INITIAL_SIZE 5X").offset, 33);
}
