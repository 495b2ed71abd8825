//! The examples of the MySQL Cluster performance whitepaper, as written there, through the mariadb client.

use shoal_system_tests::{TestServer, skip, target_is_mariadb};

const SUBSCRIBERS: &str = "\
CREATE TABLE sub_name (sub_id INT NOT NULL PRIMARY KEY, name VARCHAR(30)) engine=ndb;
CREATE TABLE sub_age (sub_id INT NOT NULL PRIMARY KEY, age INT) engine=ndb;
INSERT INTO sub_name VALUES (1,'Bill'),(2,'Fred'),(3,'Bill'),(4,'Jane'),(5,'Andrew'),(6,'Anne'),(7,'Juliette'),(8,'Awen'),(9,'Leo'),(10,'Bill');
INSERT INTO sub_age VALUES (1,40),(2,23),(3,33),(4,19),(5,21),(6,50),(7,31),(8,65),(9,18),(10,101);
";
const NAMED_BILL: &str = "SELECT sub_age.age FROM sub_name, sub_age \
    WHERE sub_name.sub_id=sub_age.sub_id AND sub_name.name='Bill' ORDER BY sub_age.age";

#[test]
fn slap_joins_two_tables_from_five_clients() {
    let server = TestServer::start();
    let folder = tempfile::tempdir().unwrap();
    let (create, query) = (folder.path().join("create.sql"), folder.path().join("query.sql"));
    std::fs::write(&create, SUBSCRIBERS).unwrap();
    std::fs::write(&query, NAMED_BILL).unwrap();
    let mut command = server.program("mariadb-slap");
    command
        .args(["--concurrency=5", "--iterations=100"])
        .arg(format!("--query={}", query.display()))
        .arg(format!("--create={}", create.display()));
    let output = server.finish(command, b"");
    let text = output.text();
    assert!(output.status.success(), "{text}{}", output.errors());
    assert!(text.contains("Number of clients running queries: 5"), "{text}");
}

#[test]
fn the_ages_of_all_bills_come_in_order() {
    let server = TestServer::start();
    server.sql(SUBSCRIBERS);
    assert_eq!(server.sql(NAMED_BILL), "33\n40\n101\n");
}

const FRIENDS: &str = "\
CREATE TABLE friends (name VARCHAR(30), friend VARCHAR(30), PRIMARY KEY (name, friend)) ENGINE=NDB;
CREATE TABLE birthday (name VARCHAR(30) PRIMARY KEY, day INT, month INT, year INT) ENGINE=NDB;
INSERT INTO friends VALUES ('Andrew','Matt'),('Andrew','Rob'),('Andrew','Jane'),('Bill','Anne');
INSERT INTO birthday VALUES ('Matt',3,6,1969),('Rob',12,11,1975),('Jane',30,6,1980),('Anne',1,6,1981);
";
const BORN_IN_JUNE: &str = "SELECT friends.friend FROM friends, birthday \
    WHERE friends.name='Andrew' AND friends.friend=birthday.name AND birthday.month=6 \
    ORDER BY friends.friend";

#[test]
fn friends_of_andrew_born_in_june_are_found() {
    let server = TestServer::start();
    server.sql(FRIENDS);
    assert_eq!(server.sql(BORN_IN_JUNE), "Jane\nMatt\n");
}

#[test]
fn the_round_trips_of_a_join_do_not_grow_with_the_friends() {
    if target_is_mariadb() {
        return skip("MariaDB has no Ndb_execute_count");
    }
    let server = TestServer::start();
    server.sql(FRIENDS);
    let few = round_trips(&server, BORN_IN_JUNE);
    let mut more = String::new();
    for number in 0..200 {
        more += &format!("INSERT INTO friends VALUES ('Andrew','f{number}');");
        more += &format!("INSERT INTO birthday VALUES ('f{number}',1,6,1990);");
    }
    server.sql(&more);
    let many = round_trips(&server, BORN_IN_JUNE);
    assert!(few >= 1, "a join costs at least one round trip, {few} were counted");
    assert_eq!(few, many, "round trips with 3 and with 203 friends");
    assert!(many <= 4, "{many} round trips for two levels");
}

/// The growth of `Ndb_execute_count` by `sql`, seen by the same session through the mariadb client.
fn round_trips(server: &TestServer, sql: &str) -> i64 {
    counted(server, "Ndb_execute_count", sql)
}

fn counted(server: &TestServer, counter: &str, sql: &str) -> i64 {
    let show = format!("SHOW STATUS LIKE '{counter}'");
    let output = server.sql(&format!("{show}; {sql}; {show}"));
    let mut values = output.lines().filter_map(|line| line.strip_prefix(counter)?.trim().parse::<i64>().ok());
    let (before, after) = (values.next(), values.next());
    after.expect("the counter after") - before.expect("the counter before")
}

const SERVICES: &str = "\
CREATE TABLE services (sub_id INT, service_name VARCHAR(30), service_parm INT, \
PRIMARY KEY (sub_id, service_name)) ENGINE=NDB PARTITION BY KEY (sub_id);
INSERT INTO services VALUES (1,'IM',1),(1,'ssh',0),(1,'voip',20),(2,'IM',10),(2,'email',1),(3,'IM',3);
";

#[test]
fn a_query_by_partition_key_is_pruned_to_one_partition() {
    let server = TestServer::start();
    server.sql(SERVICES);
    let rows = "SELECT * FROM services WHERE sub_id=1 ORDER BY service_name";
    assert_eq!(server.sql(rows), "1\tIM\t1\n1\tssh\t0\n1\tvoip\t20\n");
    let partitions = partitions_of(&server, "SELECT * FROM services WHERE sub_id=1");
    assert_eq!(partitions.len(), 1, "{partitions:?}");
    if target_is_mariadb() {
        return skip("MariaDB has no Ndb_pruned_scan_count");
    }
    let everything = partitions_of(&server, "SELECT * FROM services");
    assert!(everything.len() > 1, "{everything:?}");
    let pruned = |sql| counted(&server, "Ndb_pruned_scan_count", sql);
    assert_eq!(pruned("SELECT * FROM services WHERE sub_id=1"), 1);
    assert_eq!(pruned("SELECT * FROM services WHERE service_parm=1"), 0);
}

#[test]
fn rows_with_equal_partition_keys_of_two_tables_are_neighbours() {
    if target_is_mariadb() {
        return skip("MariaDB partitions every table for itself");
    }
    let server = TestServer::start();
    server.sql(SERVICES);
    server.sql(
        "CREATE TABLE names (sub_id INT, nick VARCHAR(30), PRIMARY KEY (sub_id, nick)) \
         ENGINE=NDB PARTITION BY KEY (sub_id)",
    );
    let mut used = std::collections::BTreeSet::new();
    for sub_id in 1..40 {
        let services = partitions_of(&server, &format!("SELECT * FROM services WHERE sub_id={sub_id}"));
        let names = partitions_of(&server, &format!("SELECT * FROM names WHERE sub_id={sub_id}"));
        assert_eq!(services, names, "sub_id {sub_id}");
        assert_eq!(services.len(), 1, "sub_id {sub_id}");
        used.extend(services);
    }
    assert!(used.len() > 1, "all of 39 subscribers in {used:?}");
}

#[test]
fn altering_the_partition_key_keeps_the_rows() {
    let server = TestServer::start();
    server.sql(&SERVICES.replace("PARTITION BY KEY (sub_id)", ""));
    let rows = "SELECT * FROM services ORDER BY sub_id, service_name";
    let before = server.sql(rows);
    server.sql("ALTER TABLE services PARTITION BY KEY(sub_id)");
    assert_eq!(server.sql(rows), before);
    assert_eq!(before.lines().count(), 6);
    let partitions = partitions_of(&server, "SELECT * FROM services WHERE sub_id=2");
    assert_eq!(partitions.len(), 1, "{partitions:?}");
    let definition = server.sql("SHOW CREATE TABLE services");
    let shown = definition.replace('`', "").replace(" (", "(").to_uppercase();
    assert!(shown.contains("PARTITION BY KEY(SUB_ID)"), "{definition}");
}

/// The `partitions` column of EXPLAIN PARTITIONS.
fn partitions_of(server: &TestServer, sql: &str) -> Vec<String> {
    let partitions = explain(server, &format!("PARTITIONS {sql}"), "partitions");
    partitions.split(',').map(str::to_string).collect()
}

/// One column of the first line of an explanation.
fn explain(server: &TestServer, sql: &str, name: &str) -> String {
    let output = server.mariadb(&["--batch"], format!("EXPLAIN {sql}").as_bytes());
    let text = output.text();
    assert!(output.status.success(), "{}", output.errors());
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let heading = lines.next().expect("a heading");
    let column = heading.iter().position(|found| *found == name);
    let column = column.unwrap_or_else(|| panic!("no column {name} in {heading:?}"));
    lines.next().expect("a row")[column].to_string()
}

#[test]
fn one_insert_of_sixteen_rows_costs_fewer_round_trips_than_sixteen_inserts() {
    let server = TestServer::start();
    server.sql("CREATE TABLE numbers (id INT PRIMARY KEY, value INT) ENGINE=NDB");
    let values: Vec<String> = (0..16).map(|id| format!("({id},{id})")).collect();
    let together = format!("INSERT INTO numbers VALUES {}", values.join(","));
    let apart: Vec<String> = (16..32).map(|id| format!("INSERT INTO numbers VALUES ({id},{id})")).collect();
    if target_is_mariadb() {
        server.sql(&together);
        server.sql(&apart.join(";"));
    } else {
        let one = round_trips(&server, &together);
        let sixteen = round_trips(&server, &apart.join(";"));
        assert!(sixteen >= 16, "{sixteen}");
        assert!(one * 4 <= sixteen, "{one} against {sixteen}");
    }
    assert_eq!(server.sql("SELECT COUNT(*), SUM(value) FROM numbers"), "32\t496\n");
}

#[test]
fn an_in_list_costs_fewer_round_trips_than_single_selects() {
    let server = TestServer::start();
    server.sql("CREATE TABLE numbers (id INT PRIMARY KEY, value INT) ENGINE=NDB");
    let values: Vec<String> = (1..=50).map(|id| format!("({id},{})", id * id)).collect();
    server.sql(&format!("INSERT INTO numbers VALUES {}", values.join(",")));
    let list = "SELECT value FROM numbers WHERE id IN (3,5,7,11,13,17,19,23,29,999) ORDER BY id";
    assert_eq!(server.sql(list).lines().collect::<Vec<_>>().join(" "), "9 25 49 121 169 289 361 529 841");
    if target_is_mariadb() {
        return skip("MariaDB has no Ndb_execute_count");
    }
    let single: Vec<String> = [3, 5, 7, 11, 13, 17, 19, 23, 29, 999]
        .iter()
        .map(|id| format!("SELECT value FROM numbers WHERE id={id}"))
        .collect();
    let (together, apart) = (round_trips(&server, list), round_trips(&server, &single.join(";")));
    assert_eq!(apart, 10);
    assert!(together <= 2, "{together}");
}

#[test]
fn batching_can_be_allowed_inside_a_transaction() {
    let server = TestServer::start();
    server.sql("CREATE TABLE numbers (id INT PRIMARY KEY, value INT) ENGINE=NDB");
    let mut script = String::new();
    if !target_is_mariadb() {
        script += "SET transaction_allow_batching=1;";
    }
    script += "BEGIN;";
    for id in 0..10 {
        script += &format!("INSERT INTO numbers VALUES ({id},0);");
    }
    script += "UPDATE numbers SET value=value+id; COMMIT;";
    if !target_is_mariadb() {
        script += "SELECT @@transaction_allow_batching;";
    }
    let output = server.sql(&script);
    assert_eq!(output, if target_is_mariadb() { "" } else { "1\n" });
    assert_eq!(server.sql("SELECT SUM(value) FROM numbers"), "45\n");
}

#[test]
fn force_index_chooses_the_index() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE cars (id INT PRIMARY KEY, make VARCHAR(20), price INT, \
         KEY by_make (make), KEY by_price (price)) ENGINE=NDB",
    );
    let values: Vec<String> = (0..200).map(|id| format!("({id},'make{}',{})", id % 10, id * 7 % 100)).collect();
    server.sql(&format!("INSERT INTO cars VALUES {}", values.join(",")));
    let query =
        |hint: &str| format!("SELECT COUNT(*) FROM cars {hint} WHERE make='make3' AND price BETWEEN 0 AND 50");
    let expected = server.sql(&query(""));
    for index in ["by_make", "by_price"] {
        let hint = format!("FORCE INDEX ({index})");
        assert_eq!(server.sql(&query(&hint)), expected);
        let plan = explain(&server, &query(&hint), "key");
        assert_eq!(plan, index);
    }
    let unknown = server.sql_error(&query("FORCE INDEX (by_colour)"));
    assert!(unknown.contains("1176"), "{unknown}");
}

#[test]
fn long_texts_and_rows_above_ndbs_limit_come_back_whole() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE documents (id INT PRIMARY KEY, title VARCHAR(255), body TEXT, picture BLOB, \
         note VARCHAR(12000)) ENGINE=NDB DEFAULT CHARSET=utf8mb4;
         INSERT INTO documents VALUES (1,'short','x',x'00ff','n'), \
         (2,'long',REPEAT('body-',5000),REPEAT(x'0001feff',4000),REPEAT('é',12000));",
    );
    let sizes = "SELECT id, LENGTH(body), LENGTH(picture), CHAR_LENGTH(note), MD5(body), MD5(picture), \
        MD5(note) FROM documents ORDER BY id";
    let expected = format!(
        "1\t1\t2\t1\t{}\n2\t25000\t16000\t12000\t{}\n",
        server.sql("SELECT MD5('x'), MD5(x'00ff'), MD5('n')").trim(),
        server
            .sql("SELECT MD5(REPEAT('body-',5000)), MD5(REPEAT(x'0001feff',4000)), MD5(REPEAT('é',12000))")
            .trim()
    );
    assert_eq!(server.sql(sizes), expected);
    server.sql("UPDATE documents SET body=CONCAT(body,'!') WHERE id=2");
    assert_eq!(server.sql("SELECT LENGTH(body) FROM documents WHERE id=2"), "25001\n");
}
