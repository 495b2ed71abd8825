//! SHOW PROFILES and SHOW PROFILE.

use shoal_system_tests::{Client, TestServer};

fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn the_stages_of_statements_are_timed_while_profiling_is_on() {
    let server = TestServer::start();
    let mut client = server.client_in("test");
    client.execute("CREATE TABLE t (a INT PRIMARY KEY)").unwrap();
    assert_eq!(rows(&mut client, "SHOW PROFILES"), Vec::<String>::new());
    client.execute("SET profiling = 1").unwrap();
    client.execute("INSERT INTO t VALUES (1)").unwrap();
    client.text("SELECT a FROM t WHERE a = 1").unwrap();
    client.text("SELECT SLEEP(0.05)").unwrap();
    client.execute("SELECT * FROM nothing").unwrap_err();
    let texts: Vec<String> = rows(&mut client, "SHOW PROFILES")
        .iter()
        .map(|row| row.splitn(3, ',').nth(2).unwrap().to_owned())
        .collect();
    assert_eq!(
        texts,
        ["INSERT INTO t VALUES (1)", "SELECT a FROM t WHERE a = 1", "SELECT SLEEP(0.05)", "SELECT * FROM nothing"]
    );
    let stages = |client: &mut Client, query: u32| -> Vec<(String, f64)> {
        let shown = rows(client, &format!("SHOW PROFILE FOR QUERY {query}"));
        let split = |row: &String| {
            let (name, seconds) = row.rsplit_once(',').unwrap();
            (name.to_owned(), seconds.parse().unwrap())
        };
        shown.iter().map(split).collect()
    };
    let names =
        |stages: &[(String, f64)]| stages.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" > ");
    assert_eq!(
        names(&stages(&mut client, 1)),
        "starting > checking permissions > Opening tables > executing > end > waiting for handler commit > query end"
    );
    assert_eq!(names(&stages(&mut client, 2)), "starting > checking permissions > executing > end");
    // The time is where it was spent, and the stages are all of it.
    let slept = stages(&mut client, 3);
    let executing = slept.iter().find(|(name, _)| name == "executing").unwrap().1;
    let total: f64 = slept.iter().map(|(_, seconds)| seconds).sum();
    assert!(executing >= 0.05 && executing / total > 0.9, "{slept:?}");
    let duration = rows(&mut client, "SELECT SUM(DURATION) FROM information_schema.PROFILING WHERE QUERY_ID = 3");
    assert!((duration[0].parse::<f64>().unwrap() - total).abs() < 1e-4, "{duration:?} {total}");
    // More columns on demand, and LIMIT. What was asked last is the newest that is no SHOW PROFILE.
    assert_eq!(client.query("SHOW PROFILE ALL FOR QUERY 1").unwrap().columns.len(), 16);
    let cpu = client.query("SHOW PROFILE CPU, BLOCK IO FOR QUERY 1 LIMIT 2 OFFSET 1").unwrap();
    assert_eq!((cpu.columns.len(), cpu.rows.len()), (6, 2));
    // Passwords are not shown, and only so many are kept; without profiling nothing is added.
    client.execute("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'hidden'").unwrap();
    assert!(!rows(&mut client, "SHOW PROFILES").concat().contains("hidden"));
    client.execute("SET profiling_history_size = 2").unwrap();
    client.execute("SET profiling = 0").unwrap();
    client.text("SELECT 1").unwrap();
    let kept = rows(&mut client, "SHOW PROFILES");
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].ends_with(",SET profiling = 0"), "{kept:?}");
    // Others have their own.
    assert_eq!(rows(&mut server.client(), "SHOW PROFILES"), Vec::<String>::new());
}
