//! Stored programs under clients that work against each other, through both protocols, beside definitions, in dumps and crashes.

use std::thread;

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{Client, Login, Reply, TestServer, Value, wait_until};

const CLIENTS: u64 = 8;
const SERVER_PS_OUT_PARAMS: u16 = 1 << 12;

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// The errors of a CALL that come of others who do the same.
fn attempt(client: &mut Client, sql: &str) -> bool {
    match client.execute(sql) {
        Ok(_) => true,
        Err(error) => {
            assert!([1205, 1213].contains(&error.errno()), "{sql}: {error}");
            false
        }
    }
}

#[test]
fn procedures_of_many_clients_move_money_and_lose_none() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL, CHECK (balance >= 0))",
            "INSERT INTO account VALUES (0,100),(1,100),(2,100),(3,100),(4,100)",
            "CREATE PROCEDURE move(source INT, target INT, amount INT, OUT moved BOOL) \
             BEGIN \
               DECLARE EXIT HANDLER FOR 3819 BEGIN ROLLBACK; SET moved = FALSE; END; \
               DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; \
               START TRANSACTION; \
               UPDATE account SET balance = balance - amount WHERE id = source; \
               UPDATE account SET balance = balance + amount WHERE id = target; \
               COMMIT; \
               SET moved = TRUE; \
             END",
        ],
    );
    thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for round in 0..100 {
                    let (source, target) = ((seed + round) % 5, (seed * 3 + round * 7 + 1) % 5);
                    attempt(&mut client, &format!("CALL move({source}, {target}, {}, @m)", round % 50));
                }
            });
        }
    });
    assert_eq!(client.text("SELECT SUM(balance), MIN(balance) >= 0 FROM account").unwrap(), ["500,1"]);
}

#[test]
fn triggers_of_many_clients_count_every_row_that_stays() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE item (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT, v INT)",
            "CREATE TABLE sums (k INT PRIMARY KEY, n BIGINT NOT NULL, total BIGINT NOT NULL)",
            "INSERT INTO sums VALUES (0,0,0),(1,0,0),(2,0,0)",
            "CREATE TRIGGER added AFTER INSERT ON item FOR EACH ROW \
             UPDATE sums SET n = n + 1, total = total + NEW.v WHERE k = NEW.k",
            "CREATE TRIGGER changed AFTER UPDATE ON item FOR EACH ROW \
             UPDATE sums SET total = total + NEW.v - OLD.v WHERE k = NEW.k",
            "CREATE TRIGGER gone AFTER DELETE ON item FOR EACH ROW \
             UPDATE sums SET n = n - 1, total = total - OLD.v WHERE k = OLD.k",
        ],
    );
    thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                for round in 0..40 {
                    let k = (seed + round) % 3;
                    attempt(&mut client, &format!("INSERT INTO item (k, v) VALUES ({k}, {round}), ({k}, 1)"));
                    attempt(&mut client, &format!("UPDATE item SET v = v + 1 WHERE k = {k} ORDER BY id LIMIT 3"));
                    attempt(&mut client, &format!("DELETE FROM item WHERE k = {k} ORDER BY id LIMIT 1"));
                    // What is taken back is taken back in both tables.
                    run(&mut client, &["BEGIN"]);
                    attempt(&mut client, &format!("INSERT INTO item (k, v) VALUES ({k}, 1000)"));
                    run(&mut client, &["ROLLBACK"]);
                }
            });
        }
    });
    let differ = "SELECT COUNT(*) FROM sums LEFT JOIN (SELECT k, COUNT(*) AS n, SUM(v) AS total FROM item GROUP BY k) AS i \
                  ON i.k = sums.k WHERE sums.n <> IFNULL(i.n, 0) OR sums.total <> IFNULL(i.total, 0)";
    assert_eq!(client.text(differ).unwrap(), ["0"]);
    assert_eq!(client.text("SELECT SUM(n) > 100 FROM sums").unwrap(), ["1"]);
}

#[test]
fn out_parameters_come_through_the_binary_protocol_behind_the_results() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &["CREATE PROCEDURE p(IN a INT, OUT b VARCHAR(20), INOUT c DECIMAL(10,2)) \
           BEGIN SELECT a, a + 1; SET b = CONCAT('b', a), c = c * 2; SELECT 'last'; END"],
    );
    let statement = client.prepare("CALL p(?, ?, ?)").unwrap();
    let values = [Value::Int(4), Value::Null, Value::text("1.25")];
    for _ in 0..2 {
        let replies = client.run_to_the_end(&statement, &values).unwrap();
        assert_eq!(replies.len(), 4, "{replies:?}");
        let texts: Vec<Vec<String>> = replies
            .iter()
            .map(|reply| match reply {
                Reply::Rows(rows) => rows.text(),
                Reply::Done(_) => Vec::new(),
            })
            .collect();
        assert_eq!(texts, [vec!["4,5".to_owned()], vec!["last".into()], vec!["b4,2.50".into()], vec![]]);
        assert_eq!(replies[1].status() & SERVER_PS_OUT_PARAMS, 0);
        assert_ne!(replies[2].status() & SERVER_PS_OUT_PARAMS, 0);
    }
    // By text it is the variables that get them.
    run(&mut client, &["PREPARE s FROM 'CALL p(?, ?, @c)'", "SET @a = 7, @b = NULL, @c = 10"]);
    client.run("EXECUTE s USING @a, @b").unwrap();
    assert_eq!(client.text("SELECT @a, @b, @c").unwrap(), ["7,b7,20.00"]);
    // Other statements that are not planned have parameters as well.
    let set = client.prepare("SET @x = ? + 1").unwrap();
    client.run_to_the_end(&set, &[Value::Int(41)]).unwrap();
    assert_eq!(client.text("SELECT @x").unwrap(), ["42"]);
}

#[test]
fn programs_outlive_a_crash_and_come_back_from_a_dump() {
    let mut server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, m VARCHAR(50))",
            "CREATE PROCEDURE `odd name`(IN a INT, OUT b INT)\n    COMMENT 'it''s odd'\nBEGIN\n  -- a comment\n  SET b = a * 2;\nEND",
            "CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN a * 2",
            "CREATE TRIGGER t_ai AFTER INSERT ON t FOR EACH ROW INSERT INTO log (m) VALUES (CONCAT('new ', NEW.id))",
            "CREATE TRIGGER t_bi BEFORE INSERT ON t FOR EACH ROW SET NEW.v = twice(NEW.v)",
            "CREATE EVENT later ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' COMMENT 'far' DO DELETE FROM log",
            "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'",
            "CREATE FUNCTION \"quoted\"(a VARCHAR(10)) RETURNS VARCHAR(20) DETERMINISTIC RETURN \"a\" || '!'",
            "CREATE DATABASE copy",
        ],
    );
    server.kill();
    server.restart();
    let mut client = server.client();
    assert_eq!(client.text("SELECT twice(4), quoted('x')").unwrap(), ["8,x!"]);
    run(&mut client, &["INSERT INTO t VALUES (1, 5)"]);
    assert_eq!(client.text("SELECT v, m FROM t, log").unwrap(), ["10,new 1"]);
    let options = ["--routines", "--triggers", "--events"];
    let before = server.dump(&options, "test");
    server.restore("copy", &before);
    let after = server.dump(&options, "copy");
    assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&before));
    let mut copy = server.client_in("copy");
    run(&mut copy, &["INSERT INTO t VALUES (2, 7)", "CALL `odd name`(4, @b)"]);
    assert_eq!(copy.text("SELECT v, @b, quoted('y') FROM t WHERE id = 2").unwrap(), ["14,8,y!"]);
    assert_eq!(client.text("SELECT COUNT(*) FROM test.log").unwrap(), ["1"]);
}

#[test]
fn an_endless_program_is_ended_and_others_have_their_turn() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE PROCEDURE forever() BEGIN DECLARE i BIGINT DEFAULT 0; \
             DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET i = 0; LOOP SET i = i + 1; END LOOP; END",
            "CREATE FUNCTION spins() RETURNS INT DETERMINISTIC BEGIN DECLARE i INT DEFAULT 0; \
             WHILE i >= 0 DO SET i = i + 1 - i; END WHILE; RETURN i; END",
            "CREATE PROCEDURE calls_forever() CALL forever()",
            "CREATE PROCEDURE calls_spins() BEGIN DECLARE x INT; \
             DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET x = 0; SET x = 1 + spins(); END",
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "INSERT INTO t VALUES (1, 1)",
            "CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE PROCEDURE asks() BEGIN DECLARE x INT; REPEAT SELECT n INTO x FROM t WHERE id = one(); UNTIL x > one() END REPEAT; END",
        ],
    );
    for sql in ["CALL forever()", "SELECT spins()", "CALL calls_forever()", "CALL calls_spins()", "CALL asks()"] {
        let mut victim = server.client();
        let id = victim.connection_id();
        let runs = thread::spawn(move || (victim.run(sql).unwrap_err().errno(), victim));
        let shown = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = '{sql}'");
        wait_until("the program to run", || client.text(&shown).unwrap() == ["1"]);
        run(&mut client, &[&format!("KILL QUERY {id}")]);
        let (errno, mut victim) = runs.join().unwrap();
        assert_eq!(errno, 1317, "{sql}");
        assert_eq!(victim.text("SELECT 1").unwrap(), ["1"]);
    }
}

/// A function that reads no tables was a query of its own for every call.
#[test]
fn a_program_counts_as_statements_what_it_reads_and_not_what_it_computes() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "INSERT INTO t VALUES (1, 1)",
            "CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE FUNCTION n_of(i INT) RETURNS INT READS SQL DATA BEGIN DECLARE x INT; SELECT n INTO x FROM t WHERE id = i; RETURN x; END",
            "CREATE PROCEDURE computes() BEGIN DECLARE x INT DEFAULT 0; WHILE x < 50 DO SET x = x + one(); END WHILE; END",
            "CREATE PROCEDURE asks() BEGIN DECLARE x, y INT DEFAULT 0; WHILE x < 50 DO SET x = x + one(); SELECT n INTO y FROM t WHERE id = x; END WHILE; END",
            "CREATE PROCEDURE asks_within() BEGIN DECLARE x, y INT DEFAULT 0; WHILE x < 50 DO SET x = x + 1, y = n_of(1); END WHILE; END",
        ],
    );
    let mut counts = |sql: &str| {
        let shown = "SELECT GROUP_CONCAT(VARIABLE_VALUE ORDER BY VARIABLE_NAME) FROM performance_schema.session_status \
                     WHERE VARIABLE_NAME IN ('Com_select', 'Handler_read_key')";
        let read = |client: &mut Client| {
            let text = client.text(shown).unwrap().remove(0);
            text.split(',').map(|number| number.parse::<u64>().unwrap()).collect::<Vec<u64>>()
        };
        let before = read(&mut client);
        run(&mut client, &[sql]);
        let after = read(&mut client);
        // Reading the counters is a SELECT itself.
        (after[0] - before[0] - 1, after[1] - before[1])
    };
    assert_eq!(counts("CALL computes()"), (0, 0));
    assert_eq!(counts("CALL asks()"), (50, 50));
    assert_eq!(counts("CALL asks_within()"), (50, 50));
    assert_eq!(counts("SET autocommit = 0"), (0, 0));
    assert_eq!(counts("CALL asks()"), (50, 50));
}

#[test]
fn programs_call_each_other_as_deep_as_they_may() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
            "CREATE PROCEDURE down(n INT) BEGIN INSERT INTO t (n) VALUES (n); IF n > 0 THEN CALL down(n - 1); END IF; END",
            "SET max_sp_recursion_depth = 255",
            "CALL down(255)",
        ],
    );
    assert_eq!(client.text("SELECT COUNT(*), MIN(n) FROM t").unwrap(), ["256,0"]);
    // The same of programs that only compute.
    let sinks = "CREATE PROCEDURE sinks(n INT, OUT m INT) BEGIN SET m = n; IF n > 0 THEN CALL sinks(n - 1, m); END IF; END";
    run(&mut client, &[sinks, "CALL sinks(255, @m)"]);
    assert_eq!(client.text("SELECT @m").unwrap(), ["0"]);
    run(&mut client, &["CREATE FUNCTION f0(n INT) RETURNS INT DETERMINISTIC RETURN n"]);
    // Programs that call others go on until the stack is used up, and the worker lives.
    for number in 0..600 {
        let next = number + 1;
        run(&mut client, &[&format!("CREATE PROCEDURE p{number}() CALL p{next}()")]);
        let body = format!("RETURN f{number}(n) + 1");
        run(&mut client, &[&format!("CREATE FUNCTION f{next}(n INT) RETURNS INT DETERMINISTIC {body}")]);
    }
    run(&mut client, &["CREATE PROCEDURE calls(OUT m INT) SET m = f63(1)", "CALL calls(@m)"]);
    assert_eq!(client.text("SELECT @m, f63(1)").unwrap(), ["64,64"]);
    run(&mut client, &["CREATE PROCEDURE calls_deeper(OUT m INT) SET m = f600(1)"]);
    for sql in ["CALL p0()", "CALL calls_deeper(@m)", "SELECT f600(1)"] {
        let error = client.execute(sql).unwrap_err();
        assert_eq!(error.errno(), 1436, "{sql}");
        assert!(error.to_string().contains("call each other less deeply"), "{error}");
    }
    run(&mut client, &["SET max_sp_recursion_depth = 4"]);
    assert_eq!(client.execute("CALL down(5)").unwrap_err().errno(), 1456);
    run(&mut client, &["CALL down(4)"]);
}

#[test]
fn definitions_come_beside_programs_that_run() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "INSERT INTO t VALUES (1, 0)",
            "CREATE PROCEDURE adds() UPDATE t SET n = n + 1 WHERE id = 1",
            "CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN 1",
        ],
    );
    let calls = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut done) = (server.client(), 0);
                    for _ in 0..150 {
                        match client.execute("CALL adds()") {
                            Ok(_) => done += 1,
                            Err(error) => assert!([1205, 1213, 1305].contains(&error.errno()), "{error}"),
                        }
                        match client.text("SELECT one() + n - n FROM t") {
                            Ok(rows) => assert!(["1", "2"].contains(&rows[0].as_str()), "{rows:?}"),
                            Err(error) => assert_eq!(error.errno(), 1305, "{error}"),
                        }
                    }
                    done
                })
            })
            .collect();
        for round in 0..15 {
            let one = 1 + round % 2;
            run(
                &mut client,
                &[
                    "DROP PROCEDURE adds",
                    "CREATE PROCEDURE adds() BEGIN DECLARE x INT DEFAULT 1; UPDATE t SET n = n + x WHERE id = 1; END",
                    "DROP FUNCTION one",
                    &format!("CREATE FUNCTION one() RETURNS INT DETERMINISTIC RETURN {one}"),
                    "ALTER TABLE t ADD COLUMN extra INT",
                    "ALTER TABLE t DROP COLUMN extra",
                ],
            );
        }
        workers.into_iter().map(|worker| worker.join().unwrap()).sum::<u32>()
    });
    assert_eq!(client.text("SELECT n FROM t").unwrap(), [calls.to_string()]);
}

#[test]
fn a_program_runs_with_its_definers_rights_or_the_callers() {
    let server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); \
         CREATE PROCEDURE shows() SELECT COUNT(*) FROM t; \
         CREATE PROCEDURE own() SQL SECURITY INVOKER SELECT COUNT(*) FROM t; \
         CREATE FUNCTION who() RETURNS VARCHAR(100) DETERMINISTIC RETURN CONCAT(CURRENT_USER(), ' ', USER()); \
         CREATE FUNCTION own_count() RETURNS INT SQL SECURITY INVOKER RETURN (SELECT COUNT(*) FROM t); \
         CREATE USER reader IDENTIFIED WITH mysql_native_password BY 'x'; \
         GRANT EXECUTE ON PROCEDURE test.shows TO reader; GRANT EXECUTE ON PROCEDURE test.own TO reader; \
         GRANT EXECUTE, ALTER ROUTINE ON FUNCTION test.who TO reader; GRANT EXECUTE ON FUNCTION test.own_count TO reader",
    );
    let mut reader = Client::log_in(server.port(), &Login::user("reader", "x")).unwrap();
    assert_eq!(reader.run("CALL test.shows()").unwrap().len(), 2);
    assert_eq!(reader.run("CALL test.own()").unwrap_err().errno(), 1142);
    assert_eq!(reader.text("SELECT test.own_count()").unwrap_err().errno(), 1142);
    assert_eq!(reader.text("SELECT test.who()").unwrap(), ["root@localhost reader@localhost"]);
    let grants = reader.text("SHOW GRANTS").unwrap();
    assert!(
        grants.contains(&"GRANT EXECUTE ON PROCEDURE `test`.`shows` TO `reader`@`%`".to_owned()),
        "{grants:?}"
    );
    assert_eq!(reader.execute("DROP PROCEDURE test.shows").unwrap_err().errno(), 1370);
    assert_eq!(reader.execute("CREATE PROCEDURE test.mine() SELECT 1").unwrap_err().errno(), 1044);
    server.sql("REVOKE EXECUTE ON PROCEDURE test.shows FROM reader");
    assert_eq!(reader.run("CALL test.shows()").unwrap_err().errno(), 1370);
    run(&mut reader, &["DROP FUNCTION test.who"]);
    assert!(!server.sql("SHOW GRANTS FOR reader").contains("who"));
    // A definer that is gone.
    server.sql(
        "CREATE USER maker IDENTIFIED BY 'y'; GRANT ALL ON test.* TO maker; \
         CREATE DEFINER=maker PROCEDURE orphan() SELECT 1; \
         CREATE DEFINER=maker TRIGGER orphan BEFORE INSERT ON t FOR EACH ROW SET @x = 1; DROP USER maker",
    );
    let mut root = server.client();
    assert_eq!(root.run("CALL orphan()").unwrap_err().errno(), 1449);
    assert_eq!(root.execute("INSERT INTO t VALUES (2)").unwrap_err().errno(), 1449);
    assert_eq!(root.text("SELECT COUNT(*) FROM t").unwrap(), ["1"]);
}

#[test]
fn what_does_not_run_triggers_does_not_write_their_table() {
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1",
        ],
    );
    let mut door = ports.writer();
    door.follow(&[("P|1|test|t||id,v", "0|1")]);
    let refused = door.ask("1|+|2|1|5");
    assert!(!refused.starts_with('0'), "{refused}");
    assert_eq!(client.text("SELECT COUNT(*) FROM t").unwrap(), ["0"]);
    run(&mut client, &["DROP TRIGGER tr"]);
    let mut door = ports.writer();
    door.follow(&[("P|1|test|t||id,v", "0|1"), ("1|+|2|1|5", "0|1")]);
    assert_eq!(client.text("SELECT v FROM t").unwrap(), ["5"]);
}

/// As in MySQL: whoever wants one after the other takes a lock.
#[test]
fn an_event_that_goes_on_runs_beside_itself_when_its_time_comes() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE began (id INT AUTO_INCREMENT PRIMARY KEY)",
            "CREATE TABLE gate (id INT PRIMARY KEY)",
            "INSERT INTO gate VALUES (1)",
            "CREATE TABLE ended (id INT AUTO_INCREMENT PRIMARY KEY)",
            "BEGIN",
            "UPDATE gate SET id = 1 WHERE id = 1",
        ],
    );
    let mut other = server.client();
    run(
        &mut other,
        &["CREATE EVENT slow ON SCHEDULE EVERY 1 SECOND DO BEGIN INSERT INTO began VALUES (); \
           INSERT INTO ended SELECT NULL FROM gate WHERE id = 1 FOR SHARE; END"],
    );
    let count = |client: &mut Client, table: &str| -> u32 {
        client.text(&format!("SELECT COUNT(*) FROM {table}")).unwrap()[0].parse().unwrap()
    };
    wait_until("three runs to begin", || count(&mut other, "began") >= 3);
    assert_eq!(count(&mut other, "ended"), 0);
    run(&mut client, &["COMMIT"]);
    wait_until("three runs to end", || count(&mut other, "ended") >= 3);
    run(&mut other, &["DROP EVENT slow"]);
}

#[test]
fn messages_call_variables_by_their_names() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE t (a BIGINT, b BIGINT)",
            "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.b = NEW.a + 1",
            "CREATE PROCEDURE doubled(n BIGINT) BEGIN DECLARE m BIGINT; SET m = n * 2; END",
        ],
    );
    for (sql, shown) in [
        ("CALL doubled(9223372036854775807)", "BIGINT value is out of range in '(n@0 * 2)'"),
        ("INSERT INTO t (a) VALUES (9223372036854775807)", "BIGINT value is out of range in '(NEW.a + 1)'"),
    ] {
        let error = client.execute(sql).unwrap_err();
        assert_eq!(error.errno(), 1690);
        assert!(error.to_string().contains(shown), "{error}");
    }
}

#[test]
fn privileges_on_routines_are_in_their_table() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE PROCEDURE Proc() DO 1",
            "CREATE FUNCTION func() RETURNS INT RETURN 1",
            "CREATE USER app",
            "GRANT EXECUTE ON PROCEDURE Proc TO app WITH GRANT OPTION",
            "GRANT ALTER ROUTINE, EXECUTE ON FUNCTION func TO app",
        ],
    );
    let rows =
        "SELECT Host, Db, User, Routine_name, Routine_type, Proc_priv FROM mysql.procs_priv ORDER BY Routine_name";
    assert_eq!(
        client.text(rows).unwrap(),
        ["%,test,app,func,FUNCTION,Execute,Alter Routine", "%,test,app,proc,PROCEDURE,Execute,Grant"]
    );
    run(&mut client, &["REVOKE ALL ON FUNCTION func FROM app"]);
    assert_eq!(client.text("SELECT COUNT(*) FROM mysql.procs_priv").unwrap(), ["1"]);
    for kind in ["PROCEDURE Proc", "FUNCTION func"] {
        let (word, name) = kind.split_once(' ').unwrap();
        let error = client.execute(&format!("SHOW {word} CODE {name}")).unwrap_err();
        assert_eq!(error.errno(), 1289);
    }
}

#[test]
fn events_run_when_they_are_due_and_end_when_they_are_over() {
    let server = TestServer::start();
    let mut client = server.client();
    run(
        &mut client,
        &[
            "CREATE TABLE ticks (id INT AUTO_INCREMENT PRIMARY KEY, who VARCHAR(20), began VARCHAR(19))",
            "CREATE EVENT ticking ON SCHEDULE EVERY 1 SECOND DO INSERT INTO ticks (who, began) \
             SELECT EVENT_NAME, LAST_EXECUTED FROM information_schema.EVENTS WHERE EVENT_NAME = 'ticking'",
            "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 1 SECOND DO INSERT INTO ticks (who) VALUES ('once')",
            "CREATE EVENT kept ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ON COMPLETION PRESERVE \
             DO INSERT INTO ticks (who) VALUES ('kept')",
            "CREATE EVENT off ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO ticks (who) VALUES ('off')",
            "CREATE EVENT fails ON SCHEDULE EVERY 1 SECOND DO INSERT INTO nosuch VALUES (1)",
        ],
    );
    let count = |client: &mut Client, who: &str| {
        let rows = client.text(&format!("SELECT COUNT(*) FROM ticks WHERE who = '{who}'")).unwrap();
        rows[0].parse::<u32>().unwrap()
    };
    wait_until("three ticks", || count(&mut client, "ticking") >= 3);
    wait_until("those that run once", || count(&mut client, "once") + count(&mut client, "kept") == 2);
    assert_eq!(count(&mut client, "off"), 0);
    let events =
        "SELECT EVENT_NAME, STATUS, LAST_EXECUTED IS NULL FROM information_schema.EVENTS ORDER BY EVENT_NAME";
    let shown = client.text(events).unwrap();
    assert_eq!(shown, ["fails,ENABLED,0", "kept,DISABLED,0", "off,DISABLED,1", "ticking,ENABLED,0"]);
    // Never twice for one second, however late the rows are.
    let doubles = "SELECT COUNT(*) FROM ticks AS a JOIN ticks AS b ON a.id < b.id \
                   WHERE a.who = 'ticking' AND b.who = 'ticking' AND a.began <=> b.began";
    assert_eq!(client.text(doubles).unwrap(), ["0"]);
    run(
        &mut client,
        &["ALTER EVENT ticking DISABLE", "ALTER EVENT off ENABLE", "ALTER EVENT off RENAME TO now_on"],
    );
    let ticks = count(&mut client, "ticking");
    wait_until("the other to tick", || count(&mut client, "off") >= 2);
    assert!(count(&mut client, "ticking") <= ticks + 1);
    run(&mut client, &["SET GLOBAL event_scheduler = OFF"]);
    assert_eq!(client.execute("CREATE EVENT ticking ON SCHEDULE EVERY 1 DAY DO DO 1").unwrap_err().errno(), 1537);
    assert_eq!(client.execute("CREATE EVENT x ON SCHEDULE EVERY 0 DAY DO DO 1").unwrap_err().errno(), 1542);
    assert_eq!(client.execute("DROP EVENT nosuch").unwrap_err().errno(), 1539);
    let past = "CREATE EVENT past ON SCHEDULE AT '2001-01-01 00:00:00' DO DO 1";
    run(&mut client, &[past]);
    assert_eq!(
        client.text("SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_NAME = 'past'").unwrap(),
        ["0"]
    );
    run(&mut client, &["DROP EVENT ticking", "DROP EVENT now_on", "DROP EVENT kept", "DROP EVENT fails"]);
}
