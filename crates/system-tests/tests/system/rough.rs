//! Loads that friendly tests do not have, small: what `make rough` measures, these check. One hot row, skewed keys, deadlocks,
//! clients that vanish, definitions beside writes, statements over many rows, many tables, wide ones, large values.

mod contention;
mod definitions;
mod large;
mod vanish;

use std::thread;

use shoal_testkit::Client;

use shoal_system_tests::TestServer;

/// Runs `work` on so many connections at a time and returns what each came to.
fn at_once<T: Send>(server: &TestServer, clients: usize, work: impl Fn(usize, &mut Client) -> T + Sync) -> Vec<T> {
    // All are connected before the first begins.
    let connected: Vec<Client> = (0..clients).map(|_| server.client()).collect();
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = connected
            .into_iter()
            .enumerate()
            .map(|(number, mut client)| scope.spawn(move || work(number, &mut client)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn number(client: &mut Client, sql: &str) -> i64 {
    client.text(sql).unwrap()[0].parse().unwrap()
}
