//! Files on the server: INTO OUTFILE, INTO DUMPFILE and LOAD DATA INFILE, where `secure_file_priv` permits them and nowhere else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use shoal_system_tests::{Client, Login, SmallDisk, TestServer};

fn server(directory: &Path) -> TestServer {
    let server = TestServer::start_with(&["--set", &format!("secure_file_priv={}", directory.display())]);
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(100), n DECIMAL(10,2), at DATETIME, bytes VARBINARY(50));
         INSERT INTO t VALUES (1, 'one', 1.5, '2026-01-02 03:04:05', x'00ff5c'), (2, NULL, NULL, NULL, NULL),
           (3, 'a\\tb\\nc\\\\d\"e,f', -3, '2026-01-02', 'x')",
    );
    server
}

fn errno(client: &mut Client, sql: &str) -> u16 {
    client.run(sql).map_or_else(
        |error| error.errno(),
        |mut replies| replies.pop().unwrap().done().map_or_else(|error| error.errno(), |_| 0),
    )
}

#[test]
fn what_is_written_is_read_back_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    let mut client = server.client();
    let path = |name: &str| directory.path().join(name);
    let formats = [
        "",
        "FIELDS TERMINATED BY ',' ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n'",
        "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'",
        "FIELDS TERMINATED BY ';' ESCAPED BY '#' LINES STARTING BY '>>'",
        "CHARACTER SET utf8mb4 FIELDS TERMINATED BY '||'",
    ];
    for (number, format) in formats.iter().enumerate() {
        let file = path(&format!("{number}.txt"));
        let written =
            client.execute(&format!("SELECT * FROM t ORDER BY id INTO OUTFILE '{}' {format}", file.display()));
        assert_eq!(written.unwrap().affected_rows, 3, "{format}");
        client.execute("CREATE TABLE back LIKE t").unwrap();
        let read =
            client.execute(&format!("LOAD DATA INFILE '{}' INTO TABLE back {format}", file.display())).unwrap();
        assert_eq!(
            (read.affected_rows, read.warnings),
            (3, 0),
            "{format}: {}",
            fs::read_to_string(&file).unwrap_or_default()
        );
        let all = |table: &str| format!("SELECT id, HEX(text), n, at, HEX(bytes) FROM {table} ORDER BY id");
        assert_eq!(client.text(&all("t")).unwrap(), client.text(&all("back")).unwrap(), "{format}");
        client.execute("DROP TABLE back").unwrap();
    }
    let text = |name: &str| fs::read(path(name)).unwrap();
    let plain = b"1\tone\t1.50\t2026-01-02 03:04:05\t\\0\xff\\\\\n2\t\\N\t\\N\t\\N\t\\N\n3\ta\\\tb\\\nc\\\\d\"e,f\t-3.00\t2026-01-02 00:00:00\tx\n";
    assert_eq!(text("0.txt"), plain);
    assert!(text("2.txt").starts_with(b"1,\"one\",1.50,\"2026-01-02 03:04:05\",\"\\0"), "numbers have no quotes");
    // One value as it is.
    let dump = path("dump");
    client.execute(&format!("SELECT bytes FROM t WHERE id = 1 INTO DUMPFILE '{}'", dump.display())).unwrap();
    assert_eq!(fs::read(&dump).unwrap(), [0, 0xff, 0x5c]);
    let two = path("two");
    assert_eq!(errno(&mut client, &format!("SELECT id FROM t INTO DUMPFILE '{}'", two.display())), 1172);
    assert!(!two.exists(), "what failed leaves nothing");
    // Many rows, which other sessions do not wait for.
    client.execute("INSERT INTO t SELECT a.id * 10000 + b.id * 1000 + c.id * 100 + d.id * 10 + e.id, a.text, 1, NULL, REPEAT('y', 50) FROM t a, t b, t c, t d, t e").unwrap();
    let large = path("large.txt");
    let written =
        client.execute(&format!("SELECT x.*, y.id FROM t x, t y INTO OUTFILE '{}'", large.display())).unwrap();
    assert_eq!(written.affected_rows, 246 * 246);
    assert!(fs::read(&large).unwrap().split(|byte| *byte == b'\n').count() > 246 * 246);
    // A duplicate without LOCAL is an error, and nothing of the file stays.
    client.execute("CREATE TABLE twice (id INT PRIMARY KEY)").unwrap();
    fs::write(path("twice.txt"), "1\n2\n1\n").unwrap();
    let load = format!("LOAD DATA INFILE '{}' INTO TABLE twice", path("twice.txt").display());
    assert_eq!(errno(&mut client, &load), 1062);
    assert_eq!(client.text("SELECT COUNT(*) FROM twice").unwrap(), ["0"]);
}

#[test]
fn nothing_outside_of_the_directory_is_read_or_written_and_nothing_is_overwritten() {
    let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = server(directory.path());
    let mut client = server.client();
    let secret = outside.path().join("secret.txt");
    fs::write(&secret, "1\tsecret\n").unwrap();
    symlink(&secret, directory.path().join("link.txt")).unwrap();
    symlink(outside.path(), directory.path().join("way")).unwrap();
    fs::write(directory.path().join("there.txt"), "there").unwrap();
    symlink(outside.path().join("made.txt"), directory.path().join("dangling.txt")).unwrap();
    let (own, other) = (directory.path().display().to_string(), outside.path().display().to_string());
    for path in [
        format!("{other}/new.txt"),
        format!("{own}/../new.txt"),
        format!("{own}/way/new.txt"),
        "relative.txt".to_owned(),
        "/etc/shoal-was-here".to_owned(),
        String::new(),
    ] {
        let outcome = errno(&mut client, &format!("SELECT 1 INTO OUTFILE '{path}'"));
        assert_eq!(outcome, 1290, "{path}");
    }
    for name in ["there.txt", "link.txt", "dangling.txt"] {
        assert_eq!(errno(&mut client, &format!("SELECT 1 INTO OUTFILE '{own}/{name}'")), 1086, "{name}");
    }
    assert_eq!(errno(&mut client, &format!("SELECT 1 INTO OUTFILE '{own}'")), 1290);
    assert_eq!(fs::read_to_string(directory.path().join("there.txt")).unwrap(), "there");
    assert!(!outside.path().join("made.txt").exists());
    for path in [
        format!("{other}/secret.txt"),
        format!("{own}/link.txt"),
        format!("{own}/way/secret.txt"),
        "/etc/passwd".to_owned(),
        format!("{other}/not there"),
    ] {
        let outcome = errno(&mut client, &format!("LOAD DATA INFILE '{path}' INTO TABLE t (id, text)"));
        assert_eq!(outcome, 1290, "{path}");
    }
    assert_eq!(errno(&mut client, &format!("LOAD DATA INFILE '{own}/not there' INTO TABLE t (id, text)")), 13);
    assert_eq!(errno(&mut client, &format!("LOAD DATA INFILE '{own}' INTO TABLE t (id, text)")), 1085);
    // The privilege is for all files at once.
    server.sql("CREATE USER plain; GRANT ALL ON test.* TO plain");
    let login = Login { user: "plain".into(), database: "test".into(), ..Login::default() };
    let mut plain = Client::log_in(server.port(), &login).unwrap();
    assert_eq!(errno(&mut plain, &format!("SELECT 1 INTO OUTFILE '{own}/mine.txt'")), 1045);
    assert_eq!(errno(&mut plain, &format!("LOAD DATA INFILE '{own}/there.txt' INTO TABLE t (id)")), 1045);
    server.sql("GRANT FILE ON *.* TO plain");
    assert_eq!(errno(&mut plain, &format!("SELECT 1 INTO OUTFILE '{own}/mine.txt'")), 0);
}

#[test]
fn by_default_no_file_is_read_or_written_neither_the_servers_nor_a_clients() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    assert_eq!(client.text("SELECT @@secure_file_priv, @@local_infile").unwrap(), ["NULL,0"]);
    assert_eq!(errno(&mut client, "SELECT 1 INTO OUTFILE '/tmp/shoal-never'"), 1290);
    assert_eq!(errno(&mut client, "LOAD DATA INFILE '/etc/passwd' INTO TABLE t"), 1290);
    let local = server.mariadb(&["--local-infile=1"], b"LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t");
    assert!(local.errors().contains("3948"), "{}", local.errors());
    let setup = shoal_system_tests::harness_setup(&["--set", "secure_file_priv=/not/there"]);
    let error = setup.start().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("secure_file_priv"), "{error}");
}

#[test]
fn a_disk_that_is_full_ends_the_statement_and_leaves_no_file() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let server = server(disk.path());
    let mut client = server.client();
    let large = disk.path().join("large.txt");
    let sql = format!("SELECT REPEAT('x', 1000000) FROM t a, t b, t c, t d INTO OUTFILE '{}'", large.display());
    assert_eq!(errno(&mut client, &sql), 1021);
    assert!(!large.exists());
    let small = disk.path().join("small.txt");
    assert_eq!(errno(&mut client, &format!("SELECT 1 INTO OUTFILE '{}'", small.display())), 0);
    assert_eq!(fs::read_to_string(&small).unwrap(), "1\n");
}
