//! A table that takes a while to define anew, and how far its definition is.

use shoal_system_tests::{Client, TestServer};

/// A table `big` of 2^doublings rows with `k` running from 1 and `v` = 'row' and that, but 'a' in the first.
pub fn big_table(server: &TestServer, doublings: u32) {
    let mut client = server.client();
    client.execute("CREATE TABLE big (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(50))").unwrap();
    client.execute("INSERT INTO big (k,v) VALUES (1,'a')").unwrap();
    for step in 0..doublings {
        let add = 1 << step;
        client.execute(&format!("INSERT INTO big (k,v) SELECT k+{add}, CONCAT('row ',k+{add}) FROM big")).unwrap();
    }
}

/// What the process list says that a connection does.
pub fn state_of(client: &mut Client, id: u32) -> String {
    let sql = format!("SELECT IFNULL(STATE,'') FROM information_schema.processlist WHERE ID={id}");
    client.text(&sql).unwrap().pop().unwrap_or_default()
}
