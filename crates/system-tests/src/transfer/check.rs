//! What is in the tables against what the clients were told.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use super::{BALANCE, History, Told, told};
use crate::cluster::Nodes;
use crate::{Client, Error};

/// Transactions in doubt are settled, and their locks gone, within this time.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// Judges a quiet, healed cluster. Panics with everything that is wrong.
pub fn check(nodes: &Nodes, history: &History) {
    let sql_nodes = nodes.sql_nodes();
    locks_are_gone(nodes, sql_nodes[0], history);
    let mut violations = Vec::new();
    let tables = Tables::read(nodes, sql_nodes[0]);
    tables.judge(history, &mut violations);
    for &node in &sql_nodes {
        if Tables::read(nodes, node) != tables {
            violations.push(format!("node {node} answers otherwise than node {}", sql_nodes[0]));
        }
        indexes_agree(nodes, node, &tables, &mut violations);
    }
    old_names_are_free(nodes, sql_nodes[0], history, &tables, &mut violations);
    assert!(violations.is_empty(), "SHOAL_TEST_SEED={}: {}", history.plan.seed, told(&violations));
}

/// A client of a cluster that has just been healed: temporary errors pass.
fn patiently<T>(nodes: &Nodes, node: u32, what: &str, mut work: impl FnMut(&mut Client) -> Result<T, Error>) -> T {
    let deadline = Instant::now() + SETTLED_WITHIN;
    loop {
        let error = match nodes.try_client(node).and_then(|mut client| work(&mut client)) {
            Ok(done) => return done,
            Err(error) => error,
        };
        assert!(Instant::now() < deadline, "node {node}, {what}: {error}\n{}", nodes.logs());
        thread::sleep(RETRY_AFTER);
    }
}

/// Every row can be locked without waiting: nothing that ended has left a lock.
fn locks_are_gone(nodes: &Nodes, node: u32, history: &History) {
    patiently(nodes, node, "a lock was left behind", |client| {
        client.execute("BEGIN")?;
        let accounts = client.text("SELECT id FROM accounts FOR UPDATE NOWAIT")?;
        client.text("SELECT id FROM counters FOR UPDATE NOWAIT")?;
        client.text("SELECT id FROM journal FOR UPDATE NOWAIT")?;
        client.execute("ROLLBACK")?;
        assert_eq!(accounts.len() as u64, history.plan.accounts, "accounts are missing");
        Ok(())
    });
}

/// The tables as one node shows them.
#[derive(PartialEq, Eq)]
struct Tables {
    /// Balance and tag by account.
    accounts: BTreeMap<u64, (i64, String)>,
    /// Source, target and amount by id.
    journal: BTreeMap<u64, (u64, u64, i64)>,
    counters: BTreeMap<u64, u64>,
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("`{text}` is no number"))
}

impl Tables {
    fn read(nodes: &Nodes, node: u32) -> Tables {
        patiently(nodes, node, "reading the tables", |client| {
            let split = |row: &String| row.split(',').map(str::to_owned).collect::<Vec<_>>();
            let accounts = client.text("SELECT id, balance, tag FROM accounts")?;
            let accounts =
                accounts.iter().map(split).map(|row| (number(&row[0]), (number(&row[1]), row[2].clone())));
            let journal = client.text("SELECT id, source, target, amount FROM journal")?;
            let journal = journal.iter().map(split);
            let journal =
                journal.map(|row| (number(&row[0]), (number(&row[1]), number(&row[2]), number(&row[3]))));
            let counters = client.text("SELECT id, n FROM counters")?;
            let counters = counters.iter().map(split).map(|row| (number(&row[0]), number(&row[1])));
            Ok(Tables { accounts: accounts.collect(), journal: journal.collect(), counters: counters.collect() })
        })
    }

    fn judge(&self, history: &History, violations: &mut Vec<String>) {
        self.judge_journal(history, violations);
        let mut expected: BTreeMap<u64, i64> = (0..history.plan.accounts).map(|id| (id, BALANCE)).collect();
        for (source, target, amount) in self.journal.values() {
            *expected.entry(*source).or_default() -= amount;
            *expected.entry(*target).or_default() += amount;
        }
        for (id, balance) in expected {
            let found = self.accounts.get(&id).map(|(balance, _)| *balance);
            if found != Some(balance) {
                violations.push(format!("account {id} has {found:?}, its journal says {balance}"));
            }
        }
        for (id, &(acknowledged, possible)) in history.counters.iter().enumerate() {
            let found = self.counters.get(&(id as u64)).copied().unwrap_or(0);
            if !(acknowledged..=possible).contains(&found) {
                violations.push(format!(
                    "counter {id} is {found}: {acknowledged} increments were acknowledged, {possible} are possible"
                ));
            }
        }
    }

    fn judge_journal(&self, history: &History, violations: &mut Vec<String>) {
        let mut known = BTreeSet::new();
        for transfer in &history.transfers {
            known.insert(transfer.id);
            let found = self.journal.get(&transfer.id);
            let wanted = (transfer.source, transfer.target, transfer.amount);
            match (transfer.told, found) {
                (Told::Committed, None) => violations.push(format!("lost although acknowledged: {transfer:?}")),
                (Told::NotCommitted, Some(_)) => {
                    violations.push(format!("there although it was said to have failed: {transfer:?}"));
                }
                (_, Some(found)) if *found != wanted => {
                    violations.push(format!("the journal has {found:?} for {transfer:?}"));
                }
                _ => {}
            }
        }
        let invented = self.journal.keys().filter(|id| !known.contains(*id));
        violations.extend(invented.map(|id| format!("the journal has {id}, which nobody has written")));
    }
}

fn indexes_agree(nodes: &Nodes, node: u32, tables: &Tables, violations: &mut Vec<String>) {
    let (by_tag, by_balance, by_source) = patiently(nodes, node, "reading the indexes", |client| {
        let mut by_tag = BTreeMap::new();
        for (id, (_, tag)) in &tables.accounts {
            by_tag.insert(*id, client.text(&format!("SELECT id FROM accounts WHERE tag='{tag}'"))?);
        }
        let by_balance =
            client.text("SELECT balance, id FROM accounts FORCE INDEX (by_balance) ORDER BY balance, id")?;
        let by_source = client.text("SELECT COUNT(*) FROM journal FORCE INDEX (by_source) WHERE source >= 0")?;
        Ok((by_tag, by_balance, by_source))
    });
    for (id, found) in by_tag {
        if found != [id.to_string()] {
            violations.push(format!("node {node}: the unique index finds {found:?} for the name of account {id}"));
        }
    }
    let mut sorted: Vec<(i64, u64)> = tables.accounts.iter().map(|(id, (balance, _))| (*balance, *id)).collect();
    sorted.sort_unstable();
    let sorted: Vec<String> = sorted.iter().map(|(balance, id)| format!("{balance},{id}")).collect();
    if by_balance != sorted {
        violations.push(format!("node {node}: the index of balances has {by_balance:?}, the table {sorted:?}"));
    }
    if by_source != [tables.journal.len().to_string()] {
        violations.push(format!(
            "node {node}: the journal's index has {by_source:?}, the table {}",
            tables.journal.len()
        ));
    }
}

/// Names that no account has any more can be taken again: the unique index holds nothing of the past. Rolled back.
fn old_names_are_free(nodes: &Nodes, node: u32, history: &History, tables: &Tables, violations: &mut Vec<String>) {
    let used: BTreeSet<&String> = tables.accounts.values().map(|(_, tag)| tag).collect();
    let old: Vec<&String> = history.tags.iter().filter(|tag| !used.contains(tag)).collect();
    let taken = patiently(nodes, node, "taking old names", |client| {
        let mut taken = Vec::new();
        client.execute("BEGIN")?;
        for (place, tag) in old.iter().enumerate() {
            let id = 1_000_000 + place;
            match client.execute(&format!("INSERT INTO accounts VALUES ({id},0,'{tag}')")) {
                Ok(_) => {}
                Err(Error::Server { errno: 1062, message, .. }) => taken.push(message),
                Err(error) => return Err(error),
            }
        }
        client.execute("ROLLBACK")?;
        Ok(taken)
    });
    violations.extend(taken.into_iter().map(|message| format!("a name of the past is still taken: {message}")));
}
